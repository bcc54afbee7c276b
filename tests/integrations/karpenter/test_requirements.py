"""The algebra of requirements against the sets of values that it stands for (karpenter-dra 1.2, correction 13)."""

from __future__ import annotations

from itertools import product

import pytest

from drasat.integrations.karpenter.requirements import ANY_VALUE, LabelValues, NodeRequirements, label_values
from drasat.models.kubernetes.core import NodeSelectorRequirement

VALUES = ("a", "b", "0", "1", "2", "3", "4", "7", "007", "-1", "x1", "")
WRITTEN = (
    *(("In", values) for values in (("a",), ("a", "1"), ("0", "1", "2", "3"), ("7", "b"))),
    *(("NotIn", values) for values in (("a",), ("1", "2"), ("b", "7"))),
    ("Exists", ()),
    ("DoesNotExist", ()),
    *((operator, (number,)) for operator in ("Gt", "Lt", "Gte", "Lte") for number in ("0", "2", "3")),
)


def _allowed(operator: str, values: tuple[str, ...], value: str) -> bool:
    """By the definition of the operator, of a label that is there."""
    if operator in ("In", "NotIn"):
        return (value in values) is (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return operator == "Exists"
    if not value.lstrip("-").isdigit():
        return False
    number, bound = int(value), int(values[0])
    return {"Gt": number > bound, "Lt": number < bound, "Gte": number >= bound, "Lte": number <= bound}[operator]


@pytest.mark.parametrize(("operator", "values"), WRITTEN)
def test_a_requirement_has_the_values_that_its_operator_allows(operator: str, values: tuple[str, ...]) -> None:
    made = label_values(operator, values)
    assert [value for value in VALUES if made.has(value)] == [v for v in VALUES if _allowed(operator, values, v)]


def test_an_intersection_has_the_values_that_both_allow() -> None:
    for one, two, three in product(WRITTEN, repeat=3):
        made = label_values(*one) & label_values(*two) & label_values(*three)
        expected = [value for value in VALUES if all(_allowed(*each, value) for each in (one, two, three))]
        assert [value for value in VALUES if made.has(value)] == expected, (one, two, three)


def test_requirements_meet_if_a_value_exists_that_both_allow() -> None:
    universe = (*VALUES, "a value that nobody names", "12345")
    for one, two in product(WRITTEN, repeat=2):
        possible = any(_allowed(*one, value) and _allowed(*two, value) for value in universe)
        assert label_values(*one).meets(label_values(*two)) is possible, (one, two)


def test_the_greater_minimum_of_values_stays() -> None:
    one, two = label_values("In", ("a", "b"), 2), label_values("Exists", (), 5)
    assert (one & two).min_values == (two & one).min_values == 5
    assert (one & ANY_VALUE).min_values == 2


@pytest.mark.parametrize(
    ("operator", "values", "words"),
    [
        ("In", (), "must have a value"),
        ("NotIn", (), "must have a value"),
        ("Gt", (), "single positive integer"),
        ("Gt", ("1", "2"), "single positive integer"),
        ("Lte", ("-1",), "single positive integer"),
        ("Gte", ("one",), "single positive integer"),
        ("Near", ("1",), "unsupported operator Near"),
    ],
)
def test_what_cannot_be_meant_is_refused(operator: str, values: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        label_values(operator, values)
    with pytest.raises(ValueError, match=f"key zone: .*{words}"):
        NodeRequirements.of([NodeSelectorRequirement(key="zone", operator=operator, values=values)])


@pytest.mark.parametrize(
    ("known", "asked", "accepted"),
    [
        ({"zone": ("In", ("a", "b"))}, {"zone": ("In", ("b", "c"))}, True),
        ({"zone": ("In", ("a",))}, {"zone": ("In", ("b",))}, False),
        ({}, {"zone": ("In", ("b",))}, False),
        ({}, {"zone": ("Exists", ())}, False),
        ({}, {"zone": ("Gt", ("1",))}, False),
        ({}, {"zone": ("NotIn", ("b",))}, True),
        ({}, {"zone": ("DoesNotExist", ())}, True),
        ({"zone": ("In", ("a",))}, {"zone": ("DoesNotExist", ())}, False),
        ({"zone": ("DoesNotExist", ())}, {"zone": ("DoesNotExist", ())}, True),
        ({"zone": ("DoesNotExist", ())}, {"zone": ("NotIn", ("a",))}, True),
        ({"zone": ("DoesNotExist", ())}, {"zone": ("In", ("a",))}, False),
        ({"zone": ("NotIn", ("a",))}, {"zone": ("In", ("a",))}, False),
        ({"zone": ("NotIn", ("a",))}, {"zone": ("In", ("a", "b"))}, True),
        ({"cpu": ("In", ("4", "8"))}, {"cpu": ("Gt", ("4",))}, True),
        ({"cpu": ("In", ("4", "8"))}, {"cpu": ("Gt", ("8",))}, False),
        ({"cpu": ("In", ("many",))}, {"cpu": ("Gte", ("0",))}, False),
    ],
)
def test_a_set_accepts_what_it_can_be(
    known: dict[str, tuple[str, tuple[str, ...]]], asked: dict[str, tuple[str, tuple[str, ...]]], accepted: bool
) -> None:
    one, two = (NodeRequirements({key: label_values(*each) for key, each in given.items()}) for given in (known, asked))
    assert one.accepts(two) is accepted
    assert bool(one.refusal(two)) is not accepted


def test_a_label_that_is_not_known_may_be_allowed() -> None:
    asked = NodeRequirements({"zone": label_values("In", ("a",))})
    assert NodeRequirements({}).accepts(asked, frozenset({"zone"}))
    assert 'label "zone"' in NodeRequirements({}).refusal(asked, frozenset({"rack"}))


def test_old_names_of_labels_are_the_new_ones() -> None:
    old = NodeRequirements.of_labels({"beta.kubernetes.io/arch": "arm64"})
    assert old["kubernetes.io/arch"] == LabelValues(frozenset({"arm64"}))
    assert old.single_values() == {"kubernetes.io/arch": "arm64"}
