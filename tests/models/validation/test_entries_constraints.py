"""Entries of constraints beyond attributes: expressions, and semantics of attributes (CELC-1, SEM-1)."""

import pytest
from support.validation import assert_problems, problems, rows

EXPRESSIONS = rows("validation/constraints", "expressions")
SEMANTICS = rows("validation/constraints", "semantics")


@pytest.mark.parametrize(("edits", "expected"), EXPRESSIONS)
def test_expressions(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), SEMANTICS)
def test_semantics(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)
