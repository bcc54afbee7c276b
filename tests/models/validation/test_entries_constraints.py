"""Entries of constraints beyond attributes: expressions, and semantics of attributes (CELC-1, SEM-1)."""

import pytest
from support.validation import assert_problems, problems, rows


def entry(**fields):
    return {"spec devices constraints 0": fields}


def cel(expression="true", **fields):
    return entry(cel={"expression": expression}, **fields)


def match(mode, spelling="matchSemantics", **options):
    return entry(matchAttribute="a/b", **{spelling: {"mode": mode, "options": options}})


def distinct(mode, spelling="distinctSemantics", **options):
    return entry(distinctAttribute="a/b", **{spelling: {"mode": mode, "options": options}})


EXPRESSIONS = rows("validation/constraints", "expressions")
SEMANTICS = rows("validation/constraints", "semantics")


@pytest.mark.parametrize(("edits", "expected"), EXPRESSIONS)
def test_expressions(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), SEMANTICS)
def test_semantics(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)
