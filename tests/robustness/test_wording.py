"""Problems in the words of the API server of Kubernetes 1.37; recorded from its validation library."""

import pytest
from support.mappings import CLASS, claim, node, pool, wish

import drasat

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
KEY = f"a valid label key {PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
REQUEST = "spec.devices.requests[0].name: Invalid value: "
ATTRIBUTE = "spec.devices[0].attributes"


def request(name):
    return claim("c", wish(name))


def attribute(name, value=None):
    return pool([{"name": "a", "attributes": {name: value or {"int": 1}}}])


def labels(key, value="x"):
    return claim("c", meta={"labels": {key: value}})


def tainted(**taint):
    return pool([{"name": "a", "taints": [{"key": "k", "effect": "NoSchedule", **taint}]}])


WORDS = [
    ("label", request("A_b"), f'{REQUEST}"A_b": {LABEL}'),
    ("label-umlaut", request("g\u00fc"), f'{REQUEST}"g\u00fc": {LABEL}'),
    ("label-escape", request("g\u00fc\x1b[0m\n\x07"), f'{REQUEST}"g\u00fc\\x1b[0m\\n\\a": {LABEL}'),
    ("label-quote", request('a"\\'), rf'{REQUEST}"a\"\\": {LABEL}'),
    ("label-dots", request("a.b"), f'{REQUEST}"a.b": must not contain dots'),
    ("label-long", request("r" * 64), f'{REQUEST}"{"r" * 64}": must be no more than 63 characters'),
    ("label-empty", request(""), "spec.devices.requests[0].name: Required value"),
    ("subdomain", claim("c_"), f'metadata.name: Invalid value: "c_": {SUBDOMAIN}'),
    ("subdomain-long", claim("c" * 254), "must be no more than 253 characters"),
    ("class", claim("c", wish(deviceClassName="")), "spec.devices.requests[0].exactly.deviceClassName: Required value"),
    ("count", claim("c", wish(count=-1)), "exactly.count: Invalid value: -1: must be greater than zero"),
    ("mode", claim("c", wish(allocationMode="Some")),
     'exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'),
    ("many-requests", claim("c", *(wish(f"r{number}") for number in range(33))),
     "spec.devices.requests: Too many: 33: must have at most 32 items"),
    ("same-request", claim("c", wish(), wish()), 'spec.devices.requests[1].name: Duplicate value: "r"'),
    ("driver-empty", pool(driver=""), "spec.driver: Required value"),
    ("driver-shape", pool(driver="a_b"), f'spec.driver: Invalid value: "a_b": {SUBDOMAIN}'),
    ("driver-long", pool(driver="d" * 64), "spec.driver: Too long: may not be more than 63 bytes"),
    ("pool-name", pool(pool={"name": "a/B", "resourceSliceCount": 1}),
     f'spec.pool.name: Invalid value: "B": {SUBDOMAIN}'),
    ("many-devices", pool(129), "spec.devices: Too many: 129: must have at most 128 items"),
    ("same-device", pool([{"name": "a"}, {"name": "a"}]), 'spec.devices[1].name: Duplicate value: "a"'),
    ("identifier", attribute("a-b"), f'{ATTRIBUTE}[a-b]: Invalid value: "a-b": {IDENTIFIER}'),
    ("identifier-long", attribute("a" * 33), f"{ATTRIBUTE}[{'a' * 33}]: Too long: may not be more than 32 bytes"),
    ("text-long", attribute("a", {"string": "x" * 65}),
     f"{ATTRIBUTE}[a].string: Too long: may not be more than 64 bytes"),
    ("label-key-parts", labels("a/b/c"), f'metadata.labels: Invalid value: "a/b/c": {KEY}'),
    ("label-key-shape", labels("-a"), f'metadata.labels: Invalid value: "-a": name part {PART}'),
    ("label-key-long", labels("k" * 64), "name part must be no more than 63 bytes"),
    ("label-key-prefix", labels("A/b"), f'metadata.labels: Invalid value: "A/b": prefix part {SUBDOMAIN}'),
    ("label-key-prefix-long", labels(f"{'a' * 254}/b"), "prefix part must be no more than 253 bytes"),
    ("label-key-prefix-empty", labels("/b"), 'metadata.labels: Invalid value: "/b": prefix part must be non-empty'),
    ("label-value", labels("k", "-"), f'metadata.labels: Invalid value: "-": {VALUE}'),
    ("label-value-long", labels("k", "v" * 64), "must be no more than 63 bytes"),
    ("taint-effect", tainted(effect=""), "spec.devices[0].taints[0].effect: Required value"),
    ("taint-effect-other", tainted(effect="Prefer"),
     'taints[0].effect: Unsupported value: "Prefer": supported values: "NoExecute", "NoSchedule", "None"'),
    ("expression-long", claim("c", wish(selectors=[{"cel": {"expression": " " * 10240 + "true"}}])),
     "selectors[0].cel.expression: Too long: may not be more than 10240 bytes"),
    ("node-name", node("n_"), f'metadata.name: Invalid value: "n_": {SUBDOMAIN}'),
]  # fmt: skip


@pytest.mark.parametrize(("given", "words"), [row[1:] for row in WORDS], ids=[row[0] for row in WORDS])
def test_problems_are_worded_as_the_api_server_words_them(given, words):
    (problem,) = [one for one in drasat.validate([CLASS, given]).problems if one.severity == "error"]
    assert f"{problem.field}: {problem.message}".endswith(words)
