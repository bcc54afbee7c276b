"""Rules of claims and templates: requests, constraints, config, tolerations (CLM-1 to CLM-6, CON-12)."""

import pytest
from support.validation import EXACTLY, assert_problems, problems, row, rows

ONE = "spec devices requests 0 exactly"
REQUESTS = "spec.devices.requests"
CONSTRAINT = "spec devices constraints 0"
FORMS = "exactly one of `exactly` or `firstAvailable` is required"
WANTED = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def only(**request):
    """One request and nothing that refers to one."""
    return {"spec devices": {"requests": [request]}}


def exact(count):
    return {"spec devices": {"requests": [{"name": f"r{number}", "exactly": EXACTLY} for number in range(count)]}}


def alternatives(*names):
    return only(name="r", firstAvailable=[{"name": name, **EXACTLY} for name in names])


def selectors(count, expression="true"):
    return {f"{ONE} selectors": [{"cel": {"expression": expression}}] * count}


FORM_ROWS = [
    row("32 requests", exact(32)),
    row("33 requests", exact(33), f"{REQUESTS}: Too many: 33: must have at most 32 items"),
    row(
        "request names",
        {"spec devices": {"requests": [{"name": "a", "exactly": EXACTLY}] * 2}},
        f'structure {REQUESTS}[1].name: Duplicate value: "a"',
    ),
    row("request name missing", only(name="", exactly=EXACTLY), f"structure {REQUESTS}[0].name: Required value"),
    row(
        "request name shape",
        only(name="A_b", exactly=EXACTLY),
        f'{REQUESTS}[0].name: Invalid value: "A_b": a lowercase RFC 1123 label',
    ),
    row("request name 63 bytes", only(name="r" * 63, exactly=EXACTLY)),
    row(
        "request name 64 bytes",
        only(name="r" * 64, exactly=EXACTLY),
        f"{REQUESTS}[0].name: Invalid value: ...must be no more than 63 characters",
    ),
    row("VER-6 neither form", only(name="r"), f"structure {REQUESTS}[0]: Required value: {FORMS}"),
    row("VER-6 empty list", only(name="r", firstAvailable=[]), f"structure {REQUESTS}[0]: Required value: {FORMS}"),
    row(
        "VER-6 both forms",
        {f"{ONE}": EXACTLY, "spec devices requests 0 firstAvailable": [{"name": "x", **EXACTLY}]},
        f"structure {REQUESTS}[0]: Invalid value: ...{FORMS}, but both are set",
    ),
    row("8 alternatives", alternatives(*"abcdefgh")),
    row(
        "9 alternatives",
        alternatives(*"abcdefghi"),
        f"{REQUESTS}[0].firstAvailable: Too many: 9: must have at most 8 items",
    ),
    row(
        "alternative names",
        alternatives("a", "a"),
        f'structure {REQUESTS}[0].firstAvailable[1].name: Duplicate value: "a"',
    ),
    row(
        "alternative name missing", alternatives(""), f"structure {REQUESTS}[0].firstAvailable[0].name: Required value"
    ),
    row(
        "alternative name shape",
        alternatives("a/b"),
        f'structure {REQUESTS}[0].firstAvailable[0].name: Invalid value: "a/b": a lowercase RFC 1123 label',
    ),
]
WISHES = rows("validation/claims", "wishes")


TOLERATIONS = rows("validation/claims", "tolerations")
CONSTRAINTS = [
    row("32 constraints", {"spec devices constraints": [{"matchAttribute": "a/b"}] * 32}),
    row(
        "33 constraints",
        {"spec devices constraints": [{"matchAttribute": "a/b"}] * 33},
        "spec.devices.constraints: Too many: 33: must have at most 32 items",
    ),
    row(
        "CLM-2 neither",
        {CONSTRAINT: {}},
        "spec.devices.constraints[0]: Required value: exactly one of `matchAttribute`, `distinctAttribute` or `cel` is",
    ),
    row(
        "CLM-2 both",
        {f"{CONSTRAINT} distinctAttribute": "a/b"},
        "warning spec.devices.constraints[0].distinctAttribute: ignored: only `matchAttribute` is evaluated",
    ),
    row("CLM-2 distinct", {CONSTRAINT: {"distinctAttribute": "a/b"}}),
    row(
        "match without domain",
        {CONSTRAINT: {"matchAttribute": "model"}},
        'spec.devices.constraints[0].matchAttribute: Invalid value: "model": must include a domain',
    ),
    row(
        "distinct without domain",
        {CONSTRAINT: {"distinctAttribute": "model"}},
        'spec.devices.constraints[0].distinctAttribute: Invalid value: "model": must include',
    ),
    row(
        "match empty",
        {CONSTRAINT: {"matchAttribute": ""}},
        "spec.devices.constraints[0].matchAttribute: Required value",
    ),
    row(
        "ATTR-1 match name",
        {CONSTRAINT: {"matchAttribute": "a/b-c"}},
        'spec.devices.constraints[0].matchAttribute: Invalid value: "b-c": a valid C identifier',
    ),
    row(
        "CON-1 unknown request",
        {f"{CONSTRAINT} requests": ["one", "two"]},
        f'spec.devices.constraints[0].requests[1]: Invalid value: "two": {WANTED}',
    ),
    row(
        "CON-1 unknown alternative",
        {f"{CONSTRAINT} requests": ["any/c"]},
        f'spec.devices.constraints[0].requests[0]: Invalid value: "any/c": {WANTED}',
    ),
    row(
        "CON-1 request twice",
        {f"{CONSTRAINT} requests": ["one", "one"]},
        'spec.devices.constraints[0].requests[1]: Duplicate value: "one"',
    ),
    row("CON-1 all requests", {f"{CONSTRAINT} requests": []}),
    row(
        "CON-1 33 references",
        exact(32) | {"spec devices constraints": [{"matchAttribute": "a/b", "requests": [f"r{i}" for i in range(33)]}]},
        "spec.devices.constraints[0].requests: Too many: 33: must have at most 32 items",
        'spec.devices.constraints[0].requests[32]: Invalid value: "r32"',
    ),
]


def derived(*entries, **constraint):
    constraints = [{"matchAttribute": "gpu.example.com/model", **constraint}]
    return {f"{ONE} derivedAttributes": list(entries), "spec devices constraints": constraints}


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
