"""Estimated costs, as cel-go and the API server estimate them (cel.md 1.5)."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat.cel.declarations import UNBOUNDED, Range
from drasat.cel.environment import generic_environment

# Variables: their types, and the greatest sizes of them and of what they hold.
VARIABLES: dict[str, tuple[str, dict[str, int]]] = {
    "b": ("bool", {}),
    "i": ("int", {}),
    "x": ("dyn", {"": 70}),
    "s": ("string", {"": 100}),
    "s2": ("string", {"": 50}),
    "by": ("bytes", {"": 40}),
    "l": ("list(int)", {"": 20}),
    "ls": ("list(string)", {"": 20, "@items": 30}),
    "m": ("map(string,string)", {"": 7, "@keys": 60, "@values": 90}),
    "ll": ("list(list(string))", {"": 3, "@items": 5, "@items.@items": 80}),
    "mm": (
        "map(string,map(string,string))",
        {"": 4, "@values": 6, "@keys": 11, "@values.@values": 120, "@values.@keys": 13, "a": 8},
    ),
    "ld": ("list(dyn)", {"": 9, "@items": 33}),
    "o": ("optional(string)", {"": 44}),
    "md": ("map(string,dyn)", {"": 5, "@values": 55, "@keys": 12}),
    "t": ("timestamp", {}),
    "q": ("kubernetes.Quantity", {}),
    "d": ("double", {}),
    "u": ("uint", {}),
    "os": ("optional(list(string))", {"": 5}),
    "lo": ("list(optional(string))", {"": 3}),
}


def sizes(path: tuple[str, ...]) -> Range | None:
    """The declared size at a path."""
    name, *below = path
    limit = VARIABLES[name][1].get(".".join(below)) if name in VARIABLES else None
    return None if limit is None else Range(0, limit)


ENVIRONMENT = generic_environment(
    {name: type_ for name, (type_, _) in VARIABLES.items()} | {"device": "kubernetes.DRADevice"}, sizes=sizes
)
LONG = "'" + "c" * 1000 + "'"


def rows(table: str) -> list[tuple[str, int, int]]:
    """Expressions with least and most cost; %C is a string of 1000 characters."""
    return [
        (expression.replace("%C", LONG), *(UNBOUNDED if cost == "unlimited" else cost for cost in costs))
        for expression, *costs in cases("cel/estimate-vectors", table)
    ]


def short(value: object) -> str:
    """A test's id: the start of the expression."""
    return str(value)[:40]


@pytest.mark.parametrize(("expression", "least", "most"), rows("estimates"), ids=short)
def test_estimate_of_one_thing(expression: str, least: int, most: int) -> None:
    """CLM-6: the estimate is what the API server compares with the limit."""
    assert ENVIRONMENT.estimate(ENVIRONMENT.compile(expression)) == Range(least, most)


@pytest.mark.parametrize(("expression", "least", "most"), rows("combinations"), ids=short)
def test_estimate_of_combinations(expression: str, least: int, most: int) -> None:
    """The same for made-up expressions, which combine everything with everything."""
    assert ENVIRONMENT.estimate(ENVIRONMENT.compile(expression)) == Range(least, most)
