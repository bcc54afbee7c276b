"""Values in Python: maps, optionals, numbers, time; equality and order between them."""

from __future__ import annotations

import math
import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest

from drasat.cel import types
from drasat.cel.errors import CelRuntimeError
from drasat.cel.program import from_native
from drasat.cel.values import (
    NONE,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    CelMap,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    compare,
    equal,
    runtime_type,
    type_name,
)
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.kubernetes.semver import Version

NAN = math.nan
ONE, MANY = Quantity.parse("1"), Quantity.parse("1Gi")


def nested(depth, leaf):
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


class TestMap:
    def test_true_and_one_are_different_keys(self):
        entries = CelMap([(True, "bool"), (1, "int")])
        assert (entries[True], entries[1], len(entries)) == ("bool", "int", 2)
        assert list(entries) == [True, 1]
        assert True not in CelMap([(1, "int")])

    @pytest.mark.parametrize("key", [1, UInt(1), 1.0], ids=["int", "uint", "double"])
    def test_equal_numbers_find_each_other(self, key):
        assert CelMap([(1, "one")])[key] == "one"
        assert CelMap([(UInt(1), "one")])[key] == "one"

    def test_order_is_that_of_insertion(self):
        assert list(CelMap([("b", 1), ("a", 2), (3, 3)])) == ["b", "a", 3]

    def test_it_equals_a_dict_of_the_same_entries(self):
        assert CelMap([("a", 1)]) == {"a": 1}
        assert CelMap([("a", 1)]) != {"a": 2}
        assert CelMap([("a", 1)]) != [("a", 1)]

    def test_pickling_keeps_bools_apart(self):
        entries = CelMap([(True, 1), (1, 2), (False, 3), (0, 4)])
        copy = pickle.loads(pickle.dumps(entries))
        assert list(copy.items()) == list(entries.items())
        assert copy[True] == 1

    def test_missing_key_is_a_key_error(self):
        with pytest.raises(KeyError):
            CelMap([("a", 1)])["b"]

    def test_it_is_shown_like_a_dict(self):
        assert repr(CelMap([(True, "x"), (2, [1])])) == "{True: 'x', 2: [1]}"


class TestOptional:
    def test_there_is_one_empty_optional_after_pickling_too(self):
        assert pickle.loads(pickle.dumps(NONE)) is NONE
        assert pickle.loads(pickle.dumps(Optional(5))) == Optional(5)

    def test_an_optional_null_is_not_empty(self):
        assert Optional(None).present
        assert Optional(None) != NONE

    def test_it_is_shown(self):
        assert (repr(NONE), repr(Optional("a"))) == ("NONE", "Optional('a')")


EQUAL = [
    ("int-uint", 1, UInt(1)),
    ("int-double", 1, 1.0),
    ("uint-double", UInt(2**63), 2.0**63),
    ("double-int-rounded", 2.0**53, 2**53 + 1),
    ("int-rounded-double", 2**53 + 1, 2.0**53),
    ("negative-zero", -0.0, 0),
    ("null", None, None),
    ("bool", True, True),
    ("bytes", b"a", b"a"),
    ("lists-of-numbers", [1, 2], [1.0, UInt(2)]),
    ("list-and-tuple", [1, 2], (1, 2)),
    ("maps-in-any-order", CelMap([(1, 2), ("a", 3)]), CelMap([("a", 3.0), (UInt(1), 2)])),
    ("types", TypeValue("int"), TypeValue("int")),
    ("durations", Duration(5), Duration(5)),
    ("empty-optionals", NONE, Optional(present=False)),
    ("optionals", Optional([1]), Optional([1.0])),
    ("quantities", Quantity.parse("1"), Quantity.parse("1000m")),
    ("versions-but-for-build", Version.parse("1.0.0+a"), Version.parse("1.0.0+b")),
    ("error-in-a-list", [ONE], [1]),
    ("error-in-a-map", CelMap([("a", ONE)]), CelMap([("a", 1)])),
]
UNEQUAL = [
    ("bool-int", True, 1),
    ("int-bool", 1, True),
    ("zero-false", 0, False),
    ("string-bytes", "a", b"a"),
    ("int-string", 1, "1"),
    ("nan", NAN, NAN),
    ("nan-in-a-list", [NAN], [NAN]),
    ("null-zero", None, 0),
    ("list-lengths", [1], [1, 1]),
    ("list-string", ["a"], "a"),
    ("map-keys", CelMap([("a", 1)]), CelMap([("b", 1)])),
    ("map-bool-key", CelMap([(True, 1)]), CelMap([(1, 1)])),
    ("map-list", CelMap(), []),
    ("timestamp-duration", Timestamp(5), Duration(5)),
    ("optional-none", Optional(1), NONE),
    ("optional-value", Optional(1), 1),
    ("value-quantity", 1, ONE),
    ("quantity-null", ONE, None),
    ("quantities", ONE, MANY),
    ("later-element", [ONE, 1], [1, 2]),
]


@pytest.mark.parametrize(("a", "b"), [pytest.param(*case[1:], id=case[0]) for case in EQUAL])
def test_equal(a, b):
    assert equal(a, b) is True


@pytest.mark.parametrize(("a", "b"), [pytest.param(*case[1:], id=case[0]) for case in UNEQUAL])
def test_unequal(a, b):
    assert equal(a, b) is False


@pytest.mark.parametrize("other", [1, "1", [], Version.parse("1.0.0")], ids=["int", "string", "list", "semver"])
def test_quantity_on_the_left_compares_with_quantities_only(other):
    with pytest.raises(CelRuntimeError, match=r"^no such overload$"):
        equal(ONE, other)


def test_error_of_equality_passes_through_optionals():
    with pytest.raises(CelRuntimeError, match="no such overload"):
        equal(Optional(Optional(ONE)), Optional(Optional(1)))


def test_equality_needs_no_stack():
    assert equal(nested(50_000, 1), nested(50_000, 1.0)) is True
    assert equal(nested(50_000, 1), nested(50_000, 2)) is False


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        (1, 2, -1), (2, 1.5, 1), (UInt(3), 3, 0), (2**53 + 1, 2.0**53, 0), (-1, UInt(0), -1), ("a", "b", -1),
        ("é", "z", 1), ("\U00010000", "\uffff", 1), (b"b", b"a", 1), (False, True, -1), (Duration(1), Duration(2), -1),
        (Timestamp(2), Timestamp(1), 1), (-math.inf, -(2**63), -1),
    ],
)  # fmt: skip
def test_order(a, b, order):
    assert compare(a, b) == order


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, "1"), (True, 1), ([1], [2]), (None, None), (Duration(1), Timestamp(1)), (ONE, ONE), ("a", b"a")],
    ids=["int-string", "bool-int", "lists", "nulls", "times", "quantities", "texts"],
)
def test_other_pairs_have_no_order(a, b):
    with pytest.raises(CelRuntimeError, match=r"^no such overload$"):
        compare(a, b)


@pytest.mark.parametrize(("a", "b"), [(NAN, 1.0), (1, NAN), (NAN, NAN)])
def test_nan_has_no_order(a, b):
    with pytest.raises(CelRuntimeError, match="NaN values cannot be ordered"):
        compare(a, b)


class TestTime:
    @pytest.mark.parametrize("ns", [TIMESTAMP_MIN, TIMESTAMP_MAX, 0])
    def test_timestamps_reach_from_year_1_to_9999(self, ns):
        assert Timestamp.checked(ns).ns == ns

    @pytest.mark.parametrize("ns", [TIMESTAMP_MIN - 1, TIMESTAMP_MAX + 1])
    def test_no_timestamp_is_outside(self, ns):
        with pytest.raises(CelRuntimeError, match="timestamp overflow"):
            Timestamp.checked(ns)

    def test_durations_fit_int64_nanoseconds(self):
        assert Duration.checked(-(2**63)).ns == -(2**63)
        with pytest.raises(CelRuntimeError, match="integer overflow"):
            Duration.checked(2**63)


class TestNative:
    @pytest.mark.parametrize(
        ("native", "value"),
        [
            (datetime(2020, 1, 1, tzinfo=UTC), Timestamp(1_577_836_800 * 10**9)),
            (datetime(2020, 1, 1, 0, 0, 0, 5), Timestamp(1_577_836_800 * 10**9 + 5_000)),
            (datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), Timestamp(1_577_836_800 * 10**9)),
            (timedelta(days=-1, microseconds=1), Duration(-86_400 * 10**9 + 1_000)),
            ((1, [2.5]), [1, [2.5]]),
            ({"a": {1: None}}, CelMap([("a", CelMap([(1, None)]))])),
            (UInt(3), UInt(3)),
            (MANY, MANY),
        ],
        ids=["utc", "naive", "zone", "timedelta", "tuple", "dict", "uint", "quantity"],
    )
    def test_python_objects_become_values(self, native, value):
        converted = from_native(native)
        assert (converted, type(converted)) == (value, type(value))

    def test_any_mapping_is_a_map(self):
        from types import MappingProxyType

        assert from_native(MappingProxyType({True: 1, "x": [()]})) == CelMap([(True, 1), ("x", [[]])])

    @pytest.mark.parametrize(
        ("native", "text"),
        [
            (2**63, "out of int64"),
            (-(2**63) - 1, "out of int64"),
            (10**5000, "a huge number"),
            (UInt(2**64), "unsigned integer overflow"),
            (object(), "unsupported value of type object"),
            ([{1, 2}], "unsupported value of type set"),
            (nested(200, 1), "nested deeper than 100"),
            ({(1,): 2}, "unsupported key type"),
        ],
        ids=["int", "negative", "huge", "uint", "object", "set", "deep", "key"],
    )
    def test_what_is_no_value_is_refused(self, native, text):
        with pytest.raises(CelRuntimeError, match=text):
            from_native(native)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null_type"), (True, "bool"), (1, "int"), (UInt(1), "uint"), (1.0, "double"), ("", "string"),
        (b"", "bytes"), ([], "list"), ((), "list"), (CelMap(), "map"), (Timestamp(0), "google.protobuf.Timestamp"),
        (Duration(0), "google.protobuf.Duration"), (TypeValue("int"), "type"), (NONE, "optional_type"),
        (ONE, "kubernetes.Quantity"),
    ],
)  # fmt: skip
def test_type_names(value, name):
    assert type_name(value) == name


def test_unknown_classes_have_no_type():
    with pytest.raises(CelRuntimeError, match="unsupported value of type complex"):
        runtime_type(complex)
    assert runtime_type(int) is types.INT
