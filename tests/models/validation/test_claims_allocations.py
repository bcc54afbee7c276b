"""Light rules of ``status`` of a claim."""

import pytest
from support.validation import ALLOCATED, assert_problems, problems, rows

ROWS = rows("validation/allocations", "rows")


@pytest.mark.parametrize(("edits", "expected"), ROWS)
def test_status_of_claims(edits, expected):
    assert_problems(problems("ResourceClaim", edits, ALLOCATED), expected)
