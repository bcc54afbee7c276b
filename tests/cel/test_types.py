"""Types as objects, and assignability with type parameters."""

from __future__ import annotations

import pytest

from drasat.cel.types import (
    ANY,
    BOOL,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    QUANTITY,
    STRING,
    TIMESTAMP,
    UINT,
    Substitution,
    Type,
    TypeTooLarge,
    full_name,
    list_of,
    map_of,
    more_general,
    optional_of,
    parameter,
    type_of,
)

A, B = parameter("A"), parameter("B")


def test_equal_types_are_one_object() -> None:
    assert map_of(STRING, list_of(INT)) is Type("map", (Type("string"), Type("list", (Type("int"),))))
    assert parameter("int") is not INT


@pytest.mark.parametrize(
    ("type_", "text", "full"),
    [
        (INT, "int", "int"),
        (NULL, "null", "null_type"),
        (ANY, "any", "google.protobuf.Any"),
        (list_of(TIMESTAMP), "list(timestamp)", "list(google.protobuf.Timestamp)"),
        (map_of(STRING, DYN), "map(string, dyn)", "map(string, dyn)"),
        (optional_of(DURATION), "optional_type(duration)", "optional_type(google.protobuf.Duration)"),
        (type_of(QUANTITY), "type(kubernetes.Quantity)", "type(kubernetes.Quantity)"),
    ],
)
def test_types_have_two_spellings(type_: Type, text: str, full: str) -> None:
    assert (str(type_), full_name(type_)) == (text, full)


def test_deep_types_compare_and_print_without_deep_recursion() -> None:
    one, other = INT, INT
    for _ in range(200):
        one, other = list_of(one), list_of(other)
    assert one is other
    assert str(one) == "list(" * 200 + "int" + ")" * 200


def test_types_of_too_many_names_are_refused() -> None:
    grown = INT
    for _ in range(12):
        grown = map_of(grown, grown)
    assert grown.size == 8191
    with pytest.raises(TypeTooLarge):
        map_of(grown, grown)


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        (INT, INT, True),
        (INT, UINT, False),
        (DYN, INT, True),
        (INT, DYN, True),
        (INT, ANY, True),
        (INT, ERROR, True),
        (list_of(INT), list_of(INT), True),
        (list_of(INT), list_of(STRING), False),
        (list_of(INT), list_of(DYN), True),
        (list_of(INT), INT, False),
        (map_of(STRING, INT), map_of(STRING, DYN), True),
        (map_of(STRING, INT), map_of(INT, INT), False),
        (optional_of(INT), optional_of(STRING), False),
        (type_of(INT), type_of(STRING), True),
        (type_of(INT), INT, False),
        (NULL, NULL, True),
        (NULL, QUANTITY, True),
        (QUANTITY, NULL, True),
        (TIMESTAMP, NULL, True),
        (optional_of(INT), NULL, True),
        (INT, NULL, False),
        (NULL, STRING, False),
        (list_of(INT), NULL, False),
        (list_of(NULL), list_of(QUANTITY), True),
    ],
    ids=str,
)
def test_assignability_of_plain_types(target: Type, source: Type, expected: bool) -> None:
    assert Substitution().assignable([target], [source]) is expected


@pytest.mark.parametrize(
    ("targets", "sources", "result"),
    [
        ([A, A], [INT, INT], INT),
        ([A, A], [INT, DYN], DYN),
        ([A, A], [DYN, INT], DYN),
        ([A, A], [QUANTITY, NULL], QUANTITY),
        ([A, list_of(A)], [INT, list_of(INT)], INT),
        ([list_of(A), list_of(A)], [list_of(INT), list_of(DYN)], DYN),
        ([map_of(B, A), B], [map_of(STRING, INT), STRING], INT),
        ([A], [list_of(INT)], list_of(INT)),
    ],
)
def test_parameters_take_the_more_general_type(targets: list[Type], sources: list[Type], result: Type) -> None:
    known = Substitution()
    assert known.assignable(targets, sources)
    assert known.resolve(A) is result


@pytest.mark.parametrize(
    ("targets", "sources"),
    [
        ([A, A], [INT, STRING]),
        ([A, list_of(A)], [INT, list_of(STRING)]),
        ([A], [INT, INT]),
        ([list_of(A)], [map_of(INT, INT)]),
    ],
)
def test_what_a_misfit_bound_is_forgotten(targets: list[Type], sources: list[Type]) -> None:
    known = Substitution()
    assert not known.assignable(targets, sources)
    assert known.resolve(A) is A
    assert known.resolve(A, DYN) is DYN


def test_a_misfit_gives_back_what_was_known_before() -> None:
    known = Substitution()
    assert known.assignable([A], [list_of(INT)])
    assert not known.assignable([A, BOOL], [list_of(DYN), INT])
    assert known.resolve(A) is list_of(INT)


def test_parameters_that_fit_each_other_go_together() -> None:
    known = Substitution()
    assert known.assignable([A], [B])
    assert known.assignable([B], [INT])
    assert known.resolve(list_of(A)) is list_of(INT)


def test_a_parameter_never_holds_itself() -> None:
    known = Substitution()
    assert not known.assignable([A], [list_of(A)])
    assert known.assignable([A], [B])
    assert not known.assignable([B], [list_of(A)])


def test_fresh_parameters_replace_those_of_a_declaration_consistently() -> None:
    known = Substitution()
    names: dict[Type, Type] = {}
    one, other = known.instance(map_of(A, B), names), known.instance(A, names)
    assert one.params[0] is other
    assert one.params[1] is not other
    assert known.instance(A, {}) is not other


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        (None, INT, INT),
        (INT, INT, INT),
        (INT, DYN, DYN),
        (INT, STRING, DYN),
        (list_of(INT), list_of(DYN), list_of(DYN)),
    ],
)
def test_elements_of_a_literal_are_joined(one: Type | None, other: Type, joined: Type) -> None:
    assert Substitution().join(one, other) is joined


def test_the_second_is_taken_where_neither_is_more_general() -> None:
    assert more_general(NULL, QUANTITY) is QUANTITY
    assert more_general(DYN, INT) is DYN
    assert more_general(INT, DYN) is DYN
    assert more_general(type_of(INT), type_of(STRING)) is type_of(INT)
