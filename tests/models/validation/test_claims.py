"""Rules of claims and templates: requests, constraints, config, tolerations (CLM-1 to CLM-6, CON-12)."""

import pytest
from support.validation import EXACTLY, assert_problems, problems, row

ONE = "spec devices requests 0 exactly"
AT = "spec.devices.requests[0].exactly"
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
WISHES = [
    row("PRE-6 class missing", {f"{ONE} deviceClassName": ""}, f"{AT}.deviceClassName: Required value"),
    row(
        "class name",
        {f"{ONE} deviceClassName": "Gpu"},
        f'{AT}.deviceClassName: Invalid value: "Gpu": a lowercase RFC 1123 subdomain',
    ),
    row(
        "CLM-1 mode missing",
        {f"{ONE} allocationMode": ""},
        f'{AT}.allocationMode: Unsupported value: "": supported values: "All", "ExactCount"',
    ),
    row(
        "PRE-10 mode unknown",
        {f"{ONE} allocationMode": "Some"},
        f'{AT}.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
    ),
    row("CLM-1 count 0", {f"{ONE} count": 0}, f"{AT}.count: Invalid value: 0: must be greater than zero"),
    row("CLM-1 no count", {f"{ONE} count": None}, f"{AT}.count: Invalid value: 0: must be greater than zero"),
    row(
        "CLM-1 count negative",
        {f"{ONE} count": -1},
        f"structure {AT}.count: Invalid value: -1: must be greater than zero",
    ),
    row(
        "count with All",
        {f"{ONE} allocationMode": "All"},
        f"{AT}.count: Invalid value: 1: must not be specified when allocationMode is 'All'",
    ),
    row("count 0 with All", {f"{ONE} allocationMode": "All", f"{ONE} count": 0}),
    row(
        "count of an alternative",
        {"spec devices requests 1 firstAvailable 1 count": 0},
        f"{REQUESTS}[1].firstAvailable[1].count: Invalid value: 0: must be",
    ),
    row("32 selectors", selectors(32)),
    row("33 selectors", selectors(33), f"{AT}.selectors: Too many: 33: must have at most 32 items"),
    row("PRE-4 selector without CEL", {f"{ONE} selectors": [{}]}, f"{AT}.selectors[0].cel: Required value"),
    row("CLM-6 empty expression", selectors(1, " "), f"{AT}.selectors[0].cel.expression: Required value"),
    row("CLM-6 expression of 10240", selectors(1, "\u00e9" * 5120)),
    row(
        "CLM-6 expression of 10241",
        selectors(1, "\u00e9" * 5120 + "x"),
        f"{AT}.selectors[0].cel.expression: Too long: may not be more than 10240 bytes",
    ),
    row(
        "CLM-4 capacity",
        {f"{ONE} capacity": {"requests": {"a-b": "many"}}},
        f'structure {AT}.capacity.requests[a-b]: Invalid value: "many": quantities must match',
    ),
]


def toleration(**fields):
    return {f"{ONE} tolerations": [fields]}


TOLERATIONS = [
    row("CLM-3 16 tolerations", {f"{ONE} tolerations": [{"operator": "Exists"}] * 16}),
    row(
        "CLM-3 17 tolerations",
        {f"{ONE} tolerations": [{"operator": "Exists"}] * 17},
        f"warning {AT}.tolerations: 17 tolerations: the documented maximum is 16",
    ),
    row(
        "CLM-3 empty key",
        toleration(operator="Equal", value="x"),
        f"warning {AT}.tolerations[0].operator: an empty key with operator Equal",
    ),
    row(
        "CLM-3 key",
        toleration(key="a b", operator="Exists"),
        f'{AT}.tolerations[0].key: Invalid value: "a b": name part must consist of',
    ),
    row("CLM-3 operator missing", toleration(key="a"), f"{AT}.tolerations[0].operator: Required value"),
    row(
        "CLM-3 operator unknown",
        toleration(key="a", operator="Gt"),
        f'{AT}.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists"',
    ),
    row(
        "CLM-3 value of Exists",
        toleration(key="a", operator="Exists", value="x"),
        f'{AT}.tolerations[0].value: Invalid value: "x": must be empty for operator `Exists`',
    ),
    row(
        "CLM-3 value",
        toleration(key="a", operator="Equal", value="x y"),
        f'{AT}.tolerations[0].value: Invalid value: "x y": a valid label must be an empty string or',
    ),
    row(
        "CLM-3 effect",
        toleration(key="a", operator="Exists", effect="Never"),
        f'{AT}.tolerations[0].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule"',
    ),
]
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
MODEL = {"name": "gpu.example.com/model", "expression": "1"}


def derived(*entries, **constraint):
    constraints = [{"matchAttribute": "gpu.example.com/model", **constraint}]
    return {f"{ONE} derivedAttributes": list(entries), "spec devices constraints": constraints}


UNUSED = f'{AT}.derivedAttributes[0].name: Invalid value: "gpu.example.com/model": must be used by a constraint'
DERIVED = [
    row("CON-12 used by all", derived(MODEL)),
    row("CON-12 used by name", derived(MODEL, requests=["one"])),
    row("CON-12 used elsewhere", derived(MODEL, requests=["any"]), UNUSED),
    row("CON-12 other attribute", derived(MODEL, matchAttribute="a/b"), UNUSED),
    row("CON-12 distinct", derived(MODEL, matchAttribute=None, distinctAttribute="gpu.example.com/model")),
    row(
        "CON-12 twice",
        derived(MODEL, MODEL),
        f'structure {AT}.derivedAttributes[1].name: Duplicate value: "gpu.example.com/model"',
    ),
    row(
        "CON-12 no expression",
        derived({**MODEL, "expression": ""}),
        f"{AT}.derivedAttributes[0].expression: Required value",
    ),
    row(
        "CON-12 long expression",
        derived({**MODEL, "expression": "x" * 10241}),
        f"{AT}.derivedAttributes[0].expression: Too long",
    ),
    row(
        "CON-12 name without domain",
        derived({**MODEL, "name": "model"}),
        f'{AT}.derivedAttributes[0].name: Invalid value: "model": must include a domain',
        f'{AT}.derivedAttributes[0].name: Invalid value: "model": must be used',
    ),
    row("CON-12 alternative by its name", {"spec devices requests 1 firstAvailable 0 derivedAttributes": [MODEL]}),
    row(
        "CON-12 other alternative",
        {"spec devices requests 1 firstAvailable 1 derivedAttributes": [MODEL]},
        f"{REQUESTS}[1].firstAvailable[1].derivedAttributes[0].name: Invalid value: ...must be used by a constraint",
    ),
]
CONFIG = "spec devices config 0"
OPAQUE = "spec.devices.config[0].opaque"
CONFIGS = [
    row("32 configs", {"spec devices config": [{"opaque": {"driver": "d", "parameters": {}}}] * 32}),
    row(
        "33 configs",
        {"spec devices config": [{"opaque": {"driver": "d", "parameters": {}}}] * 33},
        "spec.devices.config: Too many: 33: must have at most 32 items",
    ),
    row("config without opaque", {f"{CONFIG} opaque": None}, f"{OPAQUE}: Required value"),
    row("config driver missing", {f"{CONFIG} opaque driver": ""}, f"{OPAQUE}.driver: Required value"),
    row(
        "config driver",
        {f"{CONFIG} opaque driver": "a_b"},
        f'{OPAQUE}.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain',
    ),
    row("parameters missing", {f"{CONFIG} opaque parameters": None}, f"{OPAQUE}.parameters: Required value"),
    row(
        "parameters a list",
        {f"{CONFIG} opaque parameters": [1]},
        f"{OPAQUE}.parameters: Invalid value: [1]: must be a valid JSON object",
    ),
    row("parameters of 10240 bytes", {f"{CONFIG} opaque parameters": {"a": "x" * 10232}}),
    row(
        "parameters of 10241 bytes",
        {f"{CONFIG} opaque parameters": {"a": "x" * 10233}},
        f"{OPAQUE}.parameters: Too long: may not be more than 10240 bytes",
    ),
    row(
        "config of an unknown request",
        {f"{CONFIG} requests": ["two"]},
        f'spec.devices.config[0].requests[0]: Invalid value: "two": {WANTED}',
    ),
    row(
        "config request twice",
        {f"{CONFIG} requests": ["any", "any"]},
        'spec.devices.config[0].requests[1]: Duplicate value: "any"',
    ),
]


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


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        row(
            "template count",
            {"spec spec devices requests 0 exactly count": 0},
            "spec.spec.devices.requests[0].exactly.count: Invalid value: 0",
        ),
        row(
            "template label",
            {"spec metadata labels": {"a b": "x"}},
            'spec.metadata.labels: Invalid value: "a b": name part',
        ),
        row(
            "template annotation",
            {"spec metadata annotations": {"/a": "x"}},
            'spec.metadata.annotations: Invalid value: "/a": prefix part must be',
        ),
        row(
            "template name",
            {"spec metadata name": "x"},
            "spec.metadata.name: Forbidden: cannot be set for a claim template",
        ),
        row("template namespace", {"spec metadata namespace": "x"}, "spec.metadata.namespace: Forbidden"),
        row("template generated name", {"spec metadata generateName": "x"}, "spec.metadata.generateName: Forbidden"),
    ],
)
def test_templates(edits, expected):
    assert_problems(problems("ResourceClaimTemplate", edits), expected)


def test_every_problem_of_a_claim_is_reported():
    found = problems("ResourceClaim", {f"{ONE} count": 0, f"{ONE} deviceClassName": "", CONSTRAINT: {}, CONFIG: {}})
    assert len(found) == 4
