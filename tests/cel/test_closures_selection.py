"""Selections by field, key and index, plain and optional, on values of every type."""

from __future__ import annotations

import pytest

from drasat.cel.closures import check_key, display_key, go_name, has_field, lookup, select, select_optional
from drasat.cel.errors import CelRuntimeError
from drasat.cel.values import MISSING, NONE, CelMap, Duration, Optional, Timestamp, TypeValue, UInt
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.kubernetes.semver import Version

MAP = CelMap([("a", 1), (2, "two"), (True, "yes"), ("deep", CelMap([("b", None)]))])
LIST = [10, 20, [30]]
SCALARS = [
    None,
    True,
    5,
    UInt(5),
    1.5,
    "text",
    b"bytes",
    Timestamp(0),
    Duration(0),
    TypeValue("int"),
    Quantity.parse("1"),
]


@pytest.mark.parametrize(
    ("value", "key", "found"),
    [
        (MAP, "a", 1), (MAP, 2, "two"), (MAP, UInt(2), "two"), (MAP, 2.0, "two"), (MAP, True, "yes"),
        (MAP, "z", MISSING), (MAP, 1, MISSING), (MAP, False, MISSING), (MAP, 2.5, MISSING),
        (LIST, 0, 10), (LIST, UInt(1), 20),
        (LIST, 2.0, [30]), (LIST, 3, MISSING), (LIST, -1, MISSING), ((7, 8), 1, 8), ([], 0, MISSING),
        *((scalar, "a", MISSING) for scalar in SCALARS), *((scalar, 0, MISSING) for scalar in SCALARS),
    ],
)  # fmt: skip
def test_find(value, key, found):
    assert lookup(value, key) is found or lookup(value, key) == found


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (1.5, "unsupported index value 1.5 in list"),
        (1e30, "unsupported index value 1e+30 in list"),
        (float("nan"), "unsupported index value nan in list"),
        (float("inf"), "unsupported index value inf in list"),
        ("a", "unsupported index type 'string' in list"),
        (True, "unsupported index type 'bool' in list"),
    ],
)
def test_what_is_no_index_is_an_error_on_lists(key, text):
    for choose in (lookup, select, select_optional, has_field):
        with pytest.raises(CelRuntimeError) as raised:
            choose(LIST, key)
        assert str(raised.value) == text


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        (MAP, "z", "no such key: z"),
        (MAP, 7, "no such key: 7"),
        (MAP, False, "no such key: false"),
        (MAP, 1e21, "no such key: 1e+21"),
        (MAP, 1e20, "no such key: 100000000000000000000"),
        (LIST, 3, "index out of bounds: 3"),
        (LIST, -1, "index out of bounds: -1"),
        (LIST, 5.0, "index out of bounds: 5"),
        *((scalar, "a", "no such key: a") for scalar in SCALARS),
    ],
)
def test_selecting_what_is_not_there_is_an_error(value, key, text):
    with pytest.raises(CelRuntimeError) as raised:
        select(value, key)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("value", "key", "found"),
    [
        (MAP, "a", Optional(1)), (MAP, "z", NONE), (LIST, 0, Optional(10)), (LIST, 9, NONE), (5, "a", NONE),
        (Optional(MAP), "a", Optional(1)), (Optional(MAP), "z", NONE), (NONE, "a", NONE), (Optional(5), "a", NONE),
        (Optional(LIST), 1, Optional(20)), (Optional(CelMap([("n", None)])), "n", Optional(None)),
    ],
)  # fmt: skip
def test_optional_selection(value, key, found):
    assert select_optional(value, key) == found


@pytest.mark.parametrize("key", ["a", "z"])
def test_selection_from_an_optional_is_optional(key):
    assert select(Optional(MAP), key) == select_optional(MAP, key)
    assert select(NONE, key) is NONE


@pytest.mark.parametrize(
    ("value", "field", "there"),
    [
        (MAP, "a", True), (MAP, "z", False), (5, "a", False), (None, "a", False), (Optional(MAP), "a", True),
        (Optional(MAP), "z", False), (NONE, "a", False), (CelMap([("n", None)]), "n", True),
    ],
)  # fmt: skip
def test_presence(value, field, there):
    assert has_field(value, field) is there


@pytest.mark.parametrize("key", ["a", 1, UInt(1), 1.5, True])
def test_keys(key):
    assert check_key(key) is key


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (None, "types.Null"), ([1], "*types.baseList"), (CelMap(), "*types.baseMap"), (b"", "types.Bytes"),
        (Timestamp(0), "types.Timestamp"), (Duration(0), "types.Duration"), (TypeValue("int"), "*types.Type"),
        (NONE, "*types.Optional"), (Quantity.parse("1"), "cel.Quantity"), (Version.parse("1.0.0"), "cel.Semver"),
    ],
)  # fmt: skip
def test_other_values_are_no_keys(key, name):
    assert go_name(key) == name
    with pytest.raises(CelRuntimeError, match="invalid qualifier type: ") as raised:
        check_key(key)
    assert str(raised.value).endswith(name)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("x", "x"),
        (5, "5"),
        (UInt(5), "5"),
        (True, "true"),
        (1.0, "1"),
        (2.5, "2.5"),
        (-0.001, "-0.001"),
        (1e-7, "1e-07"),
    ],
)
def test_keys_are_spelled_as_go_does(key, text):
    assert display_key(key) == text
