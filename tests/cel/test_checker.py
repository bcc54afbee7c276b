"""Types and complaints of the checker and the validators, as cel-go has them (cel.md 1.3)."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat.cel.environment import generic_environment
from drasat.cel.errors import CelCompileError
from drasat.cel.types import full_name

VARIABLES = {
    "x": "dyn",
    "i": "int",
    "s": "string",
    "l": "list(int)",
    "m": "map(string,int)",
    "ls": "list(string)",
    "d": "double",
    "o": "optional(int)",
    "ld": "list(dyn)",
    "md": "map(string,dyn)",
    "b": "bool",
    "q": "kubernetes.Quantity",
    "ll": "list(list(int))",
    "mm": "map(string,map(string,int))",
    "u": "uint",
    "t": "timestamp",
    "dur": "duration",
    "by": "bytes",
    "n": "null",
    "device": "kubernetes.DRADevice",
}
ENVIRONMENT = generic_environment(VARIABLES)


def short(value: str) -> str:
    """A test's id: the start of the expression."""
    return value[:40]


@pytest.mark.parametrize(("expression", "expected"), cases("cel/checker-vectors", "types"), ids=short)
def test_result_has_the_type(expression: str, expected: str) -> None:
    assert full_name(ENVIRONMENT.compile(expression).type) == expected


@pytest.mark.parametrize(("expression", "expected"), cases("cel/checker-vectors", "complaints"), ids=short)
def test_every_complaint_is_made_where_cel_go_makes_it(expression: str, expected: str) -> None:
    """Complaints are ``line:column: text``, joined by `` ; ``."""
    with pytest.raises(CelCompileError) as caught:
        ENVIRONMENT.compile(expression)
    made = [line for line in str(caught.value).splitlines() if line.startswith("ERROR: <input>:")]
    assert [line.removeprefix("ERROR: <input>:") for line in made] == expected.split(" ; ")
