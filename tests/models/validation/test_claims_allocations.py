"""Light rules of ``status`` of a claim."""

import pytest
from support.validation import ALLOCATED, RESULT, assert_problems, problems, row

RESULTS = "status allocation devices results"
AT = "status.allocation.devices.results[0]"
CONFIG = {"source": "FromClass", "opaque": {"driver": "d", "parameters": {}}}
CONSUMER = {"resource": "pods", "name": "p", "uid": "u"}
ONE_TERM = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]}

ROWS = [
    row("32 results", {RESULTS: [RESULT] * 32}),
    row(
        "33 results",
        {RESULTS: [RESULT] * 33},
        "status.allocation.devices.results: Too many: 33: must have at most 32 items",
    ),
    row("result request", {f"{RESULTS} 0 request": ""}, f"{AT}.request: Required value"),
    row("result driver", {f"{RESULTS} 0 driver": ""}, f"structure {AT}.driver: Required value"),
    row("result pool", {f"{RESULTS} 0 pool": ""}, f"structure {AT}.pool: Required value"),
    row("result device", {f"{RESULTS} 0 device": ""}, f"structure {AT}.device: Required value"),
    row(
        "result device name",
        {f"{RESULTS} 0 device": "A"},
        f'{AT}.device: Invalid value: "A": a lowercase RFC 1123 label',
    ),
    row(
        "result pool name", {f"{RESULTS} 0 pool": "A"}, f'{AT}.pool: Invalid value: "A": a lowercase RFC 1123 subdomain'
    ),
    row("share id", {f"{RESULTS} 0 shareID": "6a1b2c3d-0000-4000-8000-0123456789ab"}),
    row(
        "share id in upper case",
        {f"{RESULTS} 0 shareID": "6A1B2C3D-0000-4000-8000-0123456789AB"},
        f"{AT}.shareID: Invalid value: ...must be a valid UUID in lower case",
    ),
    row(
        "consumed capacity",
        {f"{RESULTS} 0 consumedCapacity": {"m": "1x"}},
        f'structure {AT}.consumedCapacity[m]: Invalid value: "1x": quantities must',
    ),
    row(
        "result operations",
        {f"{RESULTS} 0 skipNodeOperations": ["x"]},
        f'{AT}.skipNodeOperations[0]: Unsupported value: "x"',
    ),
    row(
        "result toleration",
        {f"{RESULTS} 0 tolerations": [{"operator": "x", "key": "a"}]},
        f'{AT}.tolerations[0].operator: Unsupported value: "x"',
    ),
    row("64 result configs", {"status allocation devices config": [CONFIG] * 64}),
    row(
        "65 result configs",
        {"status allocation devices config": [CONFIG] * 65},
        "status.allocation.devices.config: Too many: 65: must have at most 64 items",
    ),
    row(
        "config source missing",
        {"status allocation devices config": [{**CONFIG, "source": ""}]},
        "status.allocation.devices.config[0].source: Required value",
    ),
    row(
        "config source",
        {"status allocation devices config": [{**CONFIG, "source": "x"}]},
        'status.allocation.devices.config[0].source: Unsupported value: "x": supported values: '
        '"FromClaim", "FromClass"',
    ),
    row("allocation selector", {"status allocation nodeSelector": ONE_TERM}),
    row(
        "allocation selector of no term",
        {"status allocation nodeSelector": {}},
        "status.allocation.nodeSelector.nodeSelectorTerms: Invalid value: 0: must have exactly one",
    ),
    row(
        "allocation time",
        {"status allocation allocationTimestamp": "2026-13-01T00:00:00Z"},
        "status.allocation.allocationTimestamp: Invalid value: ...RFC 3339",
    ),
    row("256 consumers", {"status reservedFor": [{**CONSUMER, "uid": str(i)} for i in range(256)]}),
    row(
        "257 consumers",
        {"status reservedFor": [{**CONSUMER, "uid": str(i)} for i in range(257)]},
        "status.reservedFor: Too many: 257: must have at most 256 items",
    ),
    row(
        "consumer twice",
        {"status reservedFor": [CONSUMER, CONSUMER]},
        'status.reservedFor[1].uid: Duplicate value: "u"',
    ),
    row(
        "consumer name",
        {"status reservedFor": [{**CONSUMER, "name": ""}]},
        "status.reservedFor[0].name: Required value",
    ),
    row(
        "consumer without uid",
        {"status reservedFor": [{**CONSUMER, "uid": ""}] * 2},
        "status.reservedFor[0].uid: Required value",
        "status.reservedFor[1].uid: Required value",
    ),
]


@pytest.mark.parametrize(("edits", "expected"), ROWS)
def test_status_of_claims(edits, expected):
    assert_problems(problems("ResourceClaim", edits, ALLOCATED), expected)
