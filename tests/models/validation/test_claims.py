"""Rules of claims and templates: requests, constraints, config, tolerations (CLM-1 to CLM-6, CON-12, CELC-1, SEM-1)."""

import pytest
from support.validation import ALLOCATED, assert_problems, problems, rows

ONE = "spec devices requests 0 exactly"
CONSTRAINT = "spec devices constraints 0"


FORM_ROWS = rows("validation/claims", "form_rows")
WISHES = rows("validation/claims", "wishes")


TOLERATIONS = rows("validation/claims", "tolerations")
CONSTRAINTS = rows("validation/claims", "constraints")


DERIVED = rows("validation/claims", "derived")
CONFIG = "spec devices config 0"
CONFIGS = rows("validation/claims", "configs")


@pytest.mark.parametrize(("edits", "expected"), FORM_ROWS)
def test_forms_and_names_of_requests(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), WISHES)
def test_fields_of_requests(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), TOLERATIONS)
def test_tolerations(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), CONSTRAINTS)
def test_constraints(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), DERIVED)
def test_derived_attributes(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), CONFIGS)
def test_configs(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), rows("validation/claims", "templates"))
def test_templates(edits, expected):
    assert_problems(problems("ResourceClaimTemplate", edits), expected)


def test_every_problem_of_a_claim_is_reported():
    found = problems("ResourceClaim", {f"{ONE} count": 0, f"{ONE} deviceClassName": "", CONSTRAINT: {}, CONFIG: {}})
    assert len(found) == 4


ALLOCATIONS = rows("validation/allocations", "rows")


@pytest.mark.parametrize(("edits", "expected"), ALLOCATIONS)
def test_status_of_claims(edits, expected):
    assert_problems(problems("ResourceClaim", edits, ALLOCATED), expected)


# Entries of constraints beyond attributes.
EXPRESSIONS = rows("validation/constraints", "expressions")
SEMANTICS = rows("validation/constraints", "semantics")


@pytest.mark.parametrize(("edits", "expected"), EXPRESSIONS)
def test_expressions_of_constraints(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), SEMANTICS)
def test_semantics_of_constraints(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)
