"""Objects in memory become plain data, or say why they cannot."""

import datetime
import types

import pytest

from drasat.models.formats.decode import to_builtins
from drasat.models.formats.errors import MAX_DEPTH, TOO_DEEP, Unreadable


class Number(int):
    """An integer of somebody's own type, as numpy or enums have."""


class Text(str):
    __slots__ = ()


def test_plain_data_is_copied():
    value = {"a": [1, 1.5, True, None, "x", {"b": []}]}
    copied = to_builtins(value)
    assert copied == value
    assert copied["a"] is not value["a"]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        pytest.param((1, (2,)), [1, [2]], id="tuples"),
        pytest.param(types.MappingProxyType({"a": 1}), {"a": 1}, id="mapping"),
        pytest.param(range(3), [0, 1, 2], id="sequence"),
        pytest.param(Number(5), 5, id="integer-type"),
        pytest.param(Text("x"), "x", id="string-type"),
        pytest.param(True, True, id="boolean"),
        pytest.param(2**64 - 1, 2**64 - 1, id="largest"),
    ],
)
def test_other_types_become_plain_ones(value, plain):
    assert to_builtins(value) == plain
    assert type(to_builtins(value)) is type(plain)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(float("nan"), "nan is not a finite number", id="nan"),
        pytest.param(float("inf"), "inf is not a finite number", id="infinity"),
        pytest.param(2**64, "number too large", id="too-large"),
        pytest.param(10**5000, "number too large", id="5000-digits"),
        pytest.param("\ud800", "not valid UTF-8", id="surrogate"),
        pytest.param(b"x", "a bytes is not data", id="bytes"),
        pytest.param({1}, "a set is not data", id="set"),
        pytest.param(datetime.date(2001, 1, 1), "a date is not data", id="date"),
        pytest.param({1: 2}, "a key must be a string, not 1", id="integer-key"),
        pytest.param({None: 2}, "a key must be a string, not None", id="null-key"),
        pytest.param({"\ud800": 2}, "not valid UTF-8", id="surrogate-key"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value, told):
    found = to_builtins({"spec": {"items": [0, value]}})
    assert isinstance(found, Unreadable)
    ((path, reason),) = found.reasons
    assert path == "spec.items[1]"
    assert told in reason


def test_deep_and_cyclic_data_is_refused():
    cyclic: list = []
    cyclic.append(cyclic)
    deep: list = []
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    assert [to_builtins(value) for value in (cyclic, deep)] == [Unreadable((("", TOO_DEEP),))] * 2
