"""What is left of objects when they are redacted."""

import json

import msgspec
import pytest
from support.clusters_to_read import SECRETS, UID, cluster, made
from support.redaction import both, differences

import drasat
from drasat.integrations.snapshot.redaction import _RULES, Redactor, _known_fields
from drasat.models.kubernetes.extensions import Entry
from drasat.models.kubernetes.kinds import KINDS

# Of Kubernetes 1.36 and later.
FUTURE_FIELDS = {"nodeAllocatableResourceMappings", "capacityKey", "allocationMultiplier"}


def redact(*objects, key=b"key"):
    return Redactor(objects, key).redacted()


def test_no_secret_is_left():
    _, redacted, _ = both(cluster())
    text = json.dumps(redacted).lower()
    assert [word for word in SECRETS if word in text] == []
    assert all(word in json.dumps(cluster()).lower() for word in SECRETS)


def test_the_same_key_gives_the_same_names_and_another_one_others():
    assert redact(*cluster()) == redact(*cluster())
    assert redact(*cluster()) != redact(*cluster(), key=b"other")


def test_answers_about_the_cluster_are_the_same():
    plain, redacted, redactor = both(cluster())
    before, after = (drasat.plan(drasat.load(one)).to_dict() for one in (plain, redacted))
    assert before["units"]
    assert differences(before, after, redactor.names) == []


def test_the_redacted_objects_are_valid():
    _, redacted, _ = both(cluster())
    assert [str(one) for one in drasat.validate(redacted).problems if one.severity == "error"] == []


def test_words_of_hardware_and_of_kubernetes_stay():
    text = json.dumps(both(cluster())[1])
    for word in ("gpu.example.com", "a100", "40Gi", "topology.kubernetes.io/zone", "NoSchedule", "512Gi", "memory"):
        assert word in text


def node_named(name, **labels):
    return made("v1", "Node", name, metadata={"labels": labels})


def test_a_label_keeps_its_numbers_where_a_selector_compares_them():
    term = {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["1234567"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod = made("v1", "Pod", "p", "n", spec={"affinity": affinity})
    node, pod = redact(node_named("a", rank="7654321", account="7654321"), pod)
    expression = json.dumps(pod).partition("matchExpressions")[2]
    ((rank, number), (_, account)) = node["metadata"]["labels"].items()
    assert (number, account != number) == ("7654321", True)
    assert rank in expression
    assert "1234567" in expression


def test_objects_without_a_namespace_are_in_the_new_default_one():
    pod, namespace, claim = redact(
        made("v1", "Pod", "p"),
        made("v1", "Namespace", "default"),
        made("resource.k8s.io/v1", "ResourceClaim", "c", "default"),
    )
    name = namespace["metadata"]["name"]
    assert name != "default"
    assert pod["metadata"]["namespace"] == claim["metadata"]["namespace"] == name


def expression_of(text, *nodes):
    cel = {"selectors": [{"cel": {"expression": text}}]}
    *_, found = redact(*map(node_named, nodes), made("resource.k8s.io/v1", "DeviceClass", "c", spec=cel))
    return found["spec"]["selectors"][0]["cel"]["expression"]


@pytest.mark.parametrize(
    "text",
    [
        'device.attributes["gpu.example.com"].model == "a100"',
        "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('40Gi'))",
        "device.driver.matches(r'^gpu\\.')",
        "",
    ],
)
def test_expressions_about_hardware_stay_as_they_are(text):
    assert expression_of(text, "other") == text


@pytest.mark.parametrize("text", ['device.driver == "alice', "'alice", "alice $"])
def test_an_expression_that_cannot_be_read_is_replaced(text):
    assert "alice" not in expression_of(text)


def test_comments_are_left_out_and_strings_with_two_slashes_stay():
    found = expression_of('true // alice\n&& device.driver != "http://x"')
    assert "alice" not in found
    assert '"http://x"' in found


def test_names_of_nodes_and_uuids_are_replaced_in_strings():
    found = expression_of(f'device.driver == "GPU-{UID}" || device.driver == "big-node/gpu0"', "big-node")
    assert UID not in found
    assert "big-node" not in found
    assert '"GPU-' in found
    assert "/gpu0" in found


def test_our_own_annotation_keeps_its_meaning():
    entries = '[{"name": "secret", "requests": ["alice"], "matchAttribute": "gpu.example.com/numa", "weight": 3}]'
    claim = made(
        "resource.k8s.io/v1",
        "ResourceClaim",
        "c",
        "n",
        metadata={"annotations": {"drasat.dev/constraints": entries, "other.example/a": "alice"}},
        spec={"devices": {"requests": [{"name": "alice", "exactly": {"deviceClassName": "c"}}]}},
    )
    (found,) = redact(claim)
    (entry,) = json.loads(found["metadata"]["annotations"].pop("drasat.dev/constraints"))
    assert entry["requests"] == [found["spec"]["devices"]["requests"][0]["name"]]
    assert (entry["matchAttribute"], entry["weight"]) == ("gpu.example.com/numa", 3)
    assert "alice" not in json.dumps(found)


def test_amounts_of_limit_ranges_and_runtime_classes_stay():
    item = {"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "1"}}
    overhead = {"podFixed": {"cpu": "250m"}}
    limits, runtime = redact(
        made("v1", "LimitRange", "l", "n", spec={"limits": [item]}),
        {**made("node.k8s.io/v1", "RuntimeClass", "alice"), "handler": "alice", "overhead": overhead},
    )
    assert limits["spec"]["limits"] == [item]
    assert runtime["overhead"] == overhead
    assert "alice" not in json.dumps(runtime)


def test_fields_that_drasat_does_not_read_are_left_out():
    (found,) = redact(made("v1", "Pod", "p", "n", spec={"hostname": "alice", "alice": 1, "nodeName": "x"}))
    assert list(found["spec"]) == ["nodeName"]


@pytest.mark.parametrize("value", [5, None, "alice", ["alice"], [["alice"]], {"alice": "alice"}, True])
@pytest.mark.parametrize(
    "field", ["metadata", "spec", "labels", "annotations", "env", "requests", "attributes", "derivedAttributes", "key"]
)
def test_values_of_a_wrong_type_neither_fail_nor_leak(field, value):
    (found,) = redact(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", field: value}, "spec": {field: value}}
    )
    text = json.dumps(found)
    assert "alice" not in text or field in ("requests", "attributes")


def text_fields():
    """Every field of the models that holds texts or has free keys: those that need a decision."""
    _, definitions = msgspec.json.schema_components([*{known.model for known in KINDS.values()}, Entry])
    for definition in definitions.values():
        for field, schema in definition.get("properties", {}).items():
            forms = [schema, *schema.get("anyOf", ()), *(one.get("items", {}) for one in schema.get("anyOf", ()))]
            if any(form.get("type") == "string" or "additionalProperties" in form for form in forms):
                yield field


def test_every_text_that_drasat_reads_has_a_rule():
    """A text without one would be replaced by a stand-in that nothing else refers to."""
    assert sorted({*text_fields()} - {*_RULES}) == []


def test_every_rule_is_of_a_field():
    known = _known_fields()
    assert [field for field in _RULES if field not in known and field not in FUTURE_FIELDS] == []


def test_quota_stays_and_queues_get_new_names():
    """Resources, amounts and policies decide; names of teams do not."""
    api = "kueue.x-k8s.io/v1beta2"
    quota = {"name": "alice-gpus", "nominalQuota": "8", "lendingLimit": 2}
    groups = [{"coveredResources": ["alice-gpus"], "flavors": [{"name": "alice-nodes", "resources": [quota]}]}]
    queue = {"cohortName": "alice-all", "resourceGroups": groups, "preemption": {"reclaimWithinCohort": "Any"}}
    local = made(api, "LocalQueue", "alice", "alice", spec={"clusterQueue": "alice-q"})
    assignment = {"name": "main", "flavors": {"alice-gpus": "alice-nodes"}, "resourceUsage": {"alice-gpus": "3"}}
    workload = made(
        api,
        "Workload",
        "w",
        "alice",
        spec={"queueName": "alice"},
        status={"admission": {"clusterQueue": "alice-q", "podSetAssignments": [assignment]}},
    )
    found, flavor, own, held = redact(
        made(api, "ClusterQueue", "alice-q", spec=queue),
        made(api, "ResourceFlavor", "alice-nodes", spec={"nodeLabels": {"alice": "alice"}}),
        local,
        workload,
    )
    (group,) = found["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["alice-gpus"]
    assert group["flavors"] == [{"name": flavor["metadata"]["name"], "resources": [quota]}]
    assert found["spec"]["preemption"] == queue["preemption"]
    assert own["spec"]["clusterQueue"] == found["metadata"]["name"] != "alice-q"
    assert held["spec"]["queueName"] == own["metadata"]["name"]
    admission = held["status"]["admission"]
    assert admission["podSetAssignments"][0]["flavors"] == {"alice-gpus": flavor["metadata"]["name"]}
    assert admission["podSetAssignments"][0]["resourceUsage"] == {"alice-gpus": "3"}
    assert "alice" not in json.dumps([flavor, own])
