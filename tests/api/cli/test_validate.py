"""``drasat validate``: every problem of every file in one run."""

import json

import pytest

GOOD = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec: {}\n"


def device_class(expression):
    return (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\n"
        f"spec: {{selectors: [{{cel: {{expression: {json.dumps(expression)}}}}}]}}\n"
    )


@pytest.fixture
def write(tmp_path):
    def one(text, name="input.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return one


def test_valid_manifests_exit_with_0(drasat, write):
    done = drasat("validate", "-f", write(GOOD))
    assert (done.code, done.out) == (0, "0 errors, 0 warnings\n")


FOLDERS = ["whole-gpus", "mig-partitions", "nic-and-gpu", "pcie-lists", "shared-cpus", "multi-host"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_examples_are_valid_without_a_warning(drasat, examples, folder):
    assert drasat("validate", "-f", examples / folder).out == "0 errors, 0 warnings\n"


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("device.driver ==", "compilation failed: ERROR: <input>:1:17: Syntax error"),
        ("nonsense(1)", "undeclared reference to 'nonsense'"),
        ("device.name == 'x'", "undefined field 'name'"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("'x' > 1", "found no matching overload for '_>_' applied to '(string, int)'"),
    ],
    ids=["CEL-6 syntax", "undeclared", "CEL-1 name", "CEL-5 type", "overload"],
)
def test_expressions_are_compiled(drasat, write, expression, told):
    done = drasat("validate", "-f", write(device_class(expression)))
    assert done.code == 2
    assert "spec.selectors[0].cel.expression: Invalid value:" in done.out
    assert told in done.out
    assert len(done.out.splitlines()) == 2


def test_expressions_that_may_cost_too_much_are_refused(drasat, write):
    loops = "device.attributes.exists(a, " * 6 + "true" + ")" * 6
    done = drasat("validate", "-f", write(device_class(loops)))
    assert (done.code, "Forbidden: too complex, exceeds cost limit" in done.out) == (2, True)


def claim_that_derives(expression):
    return (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: q, namespace: default}\n"
        "spec:\n  devices:\n    requests:\n    - name: r\n"
        "      exactly:\n        deviceClassName: c\n        count: 2\n"
        f"        derivedAttributes: [{{name: derived/domain, expression: {json.dumps(expression)}}}]\n"
        "    constraints: [{matchAttribute: derived/domain}]\n"
    )


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("device.attributes['x.example.com'].bus.split(':')[0]", 0),
        ("device.attributes['x.example.com'].bus.lowerAscii().replace(':', '').substring(0, 4)", 0),
        ("device.attributes.map(d, device.attributes[d].map(n, n + d)).flatten()[0]", 0),
        ("device.attributes['x.example.com'].bus.split(':', -1).map(x, x)[0]", 2),
        ("device.attributes['x.example.com'].bus.split(':').map(x, x + '.').join()", 2),
    ],
)
def test_derived_attributes_are_costed_with_the_sizes_of_devices(drasat, write, expression, code):
    """CON-12, CLM-6: attribute values have 64 characters at most, as for selectors."""
    manifests = write(GOOD + "---\n" + claim_that_derives(expression))
    done = drasat("validate", "--feature-gates", "DRADerivedAttributes=true", "-f", manifests)
    assert (done.code, "too complex" in done.out) == (code, code == 2), done.out


def test_problems_of_all_files_come_in_one_run(drasat, write):
    first = write(device_class("1"), "first.yaml")
    second = write(GOOD.replace("name: c", "name: C_"), "second.yaml")
    third = write("kind: [", "third.yaml")
    done = drasat("validate", "-f", first, "-f", second, "-f", third)
    assert done.code == 2
    assert [name in done.out for name in ("first.yaml", "second.yaml", "third.yaml")] == [True] * 3


def test_skip_validation_leaves_structure(drasat, write):
    path = write(GOOD.replace("name: c", "name: C_") + "---\n" + GOOD.replace("spec: {}", "spec: 7"))
    done = drasat("validate", "-f", path, "--skip-validation", "-o", "json")
    assert [problem["field"] for problem in json.loads(done.out)["problems"]] == ["spec"]


def test_a_negative_request_of_capacity_is_a_warning(drasat, write):
    """CAP-6: the API server takes it, and allocation ends with an error."""
    claim = claim_that_derives("1").replace("count: 2", "count: 2\n        capacity: {requests: {memory: -1Gi}}")
    done = drasat("validate", "--feature-gates", "DRADerivedAttributes=true", "-f", write(GOOD + "---\n" + claim))
    assert (done.code, "0 errors, 1 warning" in done.out, "requests[memory]: negative" in done.out) == (0, True, True)


def test_warnings_only_exit_with_0(drasat, write):
    claim = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n"
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gone}}]}}\n"
    )
    done = drasat("validate", "-f", write(claim))
    assert (done.code, done.out.splitlines()[-1]) == (0, "0 errors, 1 warning")


@pytest.mark.parametrize("output", ["json", "yaml", "name"])
def test_other_outputs_name_the_object(drasat, write, output):
    done = drasat("validate", "-f", write(GOOD.replace("name: c", "name: C_")), "-o", output)
    assert done.code == 2
    assert "C_" in done.out
