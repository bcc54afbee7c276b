"""Fields that Kubernetes publishes, and what is probably meant by one that it does not."""

import gzip

import pytest
from support.published_fields import TABLE, definitions, packed

from drasat.models.kubernetes.kinds import KINDS
from drasat.models.kubernetes.published_fields import (
    MOST_UNKNOWN,
    groups_of_kind,
    unknown_fields_of,
    unknown_fields_of_template,
)


def unknown(kind: str, api_version: str, **fields) -> list[tuple[str, str]]:
    return [(one.path, one.meant) for one in unknown_fields_of(kind, api_version, fields)]


def claim(**spec) -> list[tuple[str, str]]:
    return unknown("ResourceClaim", "resource.k8s.io/v1", spec=spec)


def test_the_table_is_what_the_schemas_give():
    assert gzip.decompress(TABLE.read_bytes()) == gzip.decompress(packed())
    assert TABLE.stat().st_size < 20_000


PROBES = {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 3}
POD = {
    "serviceAccountName": "s",
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"any/label": "x"}}}]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    "securityContext": {"fsGroup": 1, "seccompProfile": {"type": "RuntimeDefault"}},
    "initContainers": [{"name": "i", "restartPolicy": "Always", "volumeDevices": [{"name": "v", "devicePath": "/d"}]}],
    "containers": [{
        "name": "c", "livenessProbe": PROBES, "readinessProbe": PROBES, "startupProbe": PROBES,
        "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}],
        "envFrom": [{"configMapRef": {"name": "c"}}], "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
        "resources": {"limits": {"nvidia.com/gpu": 1}, "claims": [{"name": "g", "request": "r"}]},
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(E)", "recursiveReadOnly": "Enabled"}],
    }],
    "volumes": [
        {"name": "a", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}]}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"x": "y"}},
                                                            "spec": {"resources": {"requests": {"storage": "1Gi"}}}}}},
        {"name": "c", "csi": {"driver": "d", "volumeAttributes": {"any": "thing"}}},
        {"name": "d", "image": {"reference": "r", "pullPolicy": "Always"}},
    ],
    "resources": {"requests": {"cpu": 1}}, "workloadRef": {"name": "w", "podGroup": "g"},
    "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}], "schedulingGates": [{"name": "x.y/z"}],
}  # fmt: skip
META = {
    "name": "x", "labels": {"a": "b"}, "annotations": {"any": "thing"}, "finalizers": ["f"], "resourceVersion": "3",
    "managedFields": [{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}],
}  # fmt: skip
TEMPLATE = {"metadata": META, "spec": POD}
VALID = [
    ("Pod", "v1", {"spec": POD, "status": {"phase": "Running", "qosClass": "Burstable", "resourceClaimStatuses": []}}),
    ("Deployment", "apps/v1", {"spec": {"replicas": 1, "strategy": {"rollingUpdate": {"maxSurge": "25%"}},
                                        "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}),
    ("StatefulSet", "apps/v1", {"spec": {"serviceName": "s", "template": TEMPLATE, "volumeClaimTemplates": [
        {"metadata": {"name": "v"}, "spec": {"storageClassName": "s"}}]}}),
    ("Job", "batch/v1", {"spec": {"backoffLimit": 3, "podFailurePolicy": {"rules": [{"action": "Ignore"}]},
                                  "successPolicy": {"rules": [{"succeededIndexes": "0"}]}, "template": TEMPLATE}}),
    ("Node", "v1", {"spec": {"podCIDRs": [], "providerID": "p"}, "status": {
        "images": [{"names": ["a"], "sizeBytes": 3}], "nodeInfo": {"kubeletVersion": "v1.36.0"}, "addresses": [],
        "allocatable": {"any/thing": 3}, "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}}),
    ("Namespace", "v1", {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
    ("PriorityClass", "scheduling.k8s.io/v1beta1", {"value": 3, "description": "d", "globalDefault": False}),
    ("ResourceClaim", "resource.k8s.io/v1alpha3", {"spec": {"controller": "c", "devices": {"requests": [
        {"name": "r", "deviceClassName": "c", "selectors": []}]}}}),
    ("ResourceClaim", "resource.k8s.io/v1", {"spec": {"devices": {"constraints": [
        {"cel": {"expression": "x"}, "matchSemantics": {"mode": "m", "options": {"identical": {"listMode": "Set"}}}}],
        "config": [{"opaque": {"driver": "d", "parameters": {"any": {"thing": 1}}}}]}}}),
    ("ResourceSlice", "resource.k8s.io/v1beta1", {"spec": {"devices": [
        {"name": "d", "basic": {"attributes": {"a": {"list": {"int": [1]}}}, "capacity": {"m": {"value": "1"}}}}]}}),
    ("NodeTemplate", "drasat.dev/v1alpha1", {"spec": {"any": "thing"}}),
    ("ConfigMap", "v1", {"any": "thing"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "api_version", "fields"), VALID, ids=[row[0] for row in VALID])
def test_valid_fields_are_known_at_any_depth(kind, api_version, fields):
    assert unknown_fields_of(kind, api_version, {"apiVersion": "x", "kind": "y", "metadata": META, **fields}) == []


@pytest.mark.parametrize("one", [one for one in KINDS.values() if not one.is_custom], ids=lambda one: one.name)
def test_every_kind_of_kubernetes_that_is_read_has_a_table(one):
    for api_version in one.api_versions():
        assert unknown(one.name, api_version, metadate={}) == [("metadate", "metadata")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"devices": {"requests": [{"exactly": {"counts": 3}}]}}, ("devices.requests[0].exactly.counts", "count")),
        ({"devices": {"requests": [{}, {"exactly": {"Count": 3}}]}}, ("devices.requests[1].exactly.Count", "count")),
        ({"devices": {"requests": [{"exactly": {"selector": []}}]}},
         ("devices.requests[0].exactly.selector", "selectors")),
        ({"devices": {"requests": [{"exactly": {"pineapple": []}}]}}, ("devices.requests[0].exactly.pineapple", "")),
        ({"requests": []}, ("requests", "spec.devices.requests")),
        ({"constraints": []}, ("constraints", "spec.devices.constraints")),
        ({"devices": {"requests": [{"deviceClassName": "c"}]}},
         ("devices.requests[0].deviceClassName", "spec.devices.requests[0].exactly.deviceClassName")),
        ({"devices": {"requests": [{"exactly": {"constraints": []}}]}},
         ("devices.requests[0].exactly.constraints", "spec.devices.constraints")),
    ],
)  # fmt: skip
def test_what_is_probably_meant(fields, expected):
    assert claim(**fields) == [(f"spec.{expected[0]}", expected[1])]


@pytest.mark.parametrize(
    ("spec", "path", "meant"),
    [
        ({"volumeMounts": []}, "spec.volumeMounts", "spec.containers[].volumeMounts"),
        ({"containers": [{"nodeSelector": {}}]}, "spec.containers[0].nodeSelector", "spec.nodeSelector"),
        ({"containers": [{"resourceClaims": []}]}, "spec.containers[0].resourceClaims", "spec.resourceClaims"),
        ({"containers": [{"resource": {}}]}, "spec.containers[0].resource", "resources"),
        ({"resourceClaims": [{"source": {}}]}, "spec.resourceClaims[0].source", ""),
        ({"phase": "Running"}, "spec.phase", ""),
        ({"name": "x"}, "spec.name", ""),
    ],
)
def test_a_field_of_a_pod_that_stands_elsewhere(spec, path, meant):
    assert unknown("Pod", "v1", spec=spec) == [(path, meant)]
    under = [(one.path, one.meant) for one in unknown_fields_of_template({"spec": spec}, "spec.jobs[0].template")]
    assert under == [(f"spec.jobs[0].template.{path}", meant)]


def test_a_version_has_its_own_fields():
    """VER-3: requests of v1beta1 are flat."""
    requests = {"devices": {"requests": [{"name": "r", "exactly": {}}]}}
    assert unknown("ResourceClaim", "resource.k8s.io/v1beta1", spec=requests) == [
        ("spec.devices.requests[0].exactly", "apiVersion: resource.k8s.io/v1")
    ]


def test_keys_of_maps_are_no_fields():
    device = {"name": "d", "attributes": {"a": {"strin": "x"}}, "capacity": {"c": {"amount": 1}}}
    assert [path for path, _ in unknown("ResourceSlice", "resource.k8s.io/v1", spec={"devices": [device]})] == [
        "spec.devices[0].attributes.a.strin",
        "spec.devices[0].capacity.c.amount",
    ]


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [None], [3], ["text"], [[]], {"a": None}, {"a": 3}])
def test_values_of_other_types_have_no_fields(value):
    """Their types are reported elsewhere."""
    assert unknown("Pod", "v1", spec={"containers": value, "affinity": [value], "volumes": [{"csi": [value]}]}) == []
    assert unknown("ResourceSlice", "resource.k8s.io/v1", spec={"devices": [{"attributes": {"x": value}}]}) in (
        [], [("spec.devices[0].attributes.x.a", "")],
    )  # fmt: skip


def test_very_many_unknown_fields_are_cut():
    fields = {f"x{number}": 1 for number in range(10_000)}
    assert len(claim(**fields)) == MOST_UNKNOWN


def test_names_of_kinds():
    assert (groups_of_kind("Job"), groups_of_kind("ResourceClass")) == (["batch"], ["resource.k8s.io"])
    assert groups_of_kind("ComputeDomain") == []


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34", "1.35", "1.36", "1.37"])
def test_no_published_field_of_a_release_is_unknown(release):
    """Objects with every field of their schema, down to where a type contains itself."""
    schemas = definitions(release)

    def whole(schema: dict, above: tuple[str, ...]) -> object:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return {} if name in above else whole(schemas[name], (*above, name))
        if "properties" in schema:
            return {field: whole(inner, above) for field, inner in schema["properties"].items()}
        if "items" in schema:
            return [whole(schema["items"], above)]
        return {"any": whole(schema["additionalProperties"], above)} if schema.get("additionalProperties") else "x"

    for name, schema in schemas.items():
        for one in schema.get("x-kubernetes-group-version-kind", ()):
            if (one["group"], one["kind"]) in KINDS:
                api_version = f"{one['group']}/{one['version']}".removeprefix("/")
                assert unknown_fields_of(one["kind"], api_version, whole(schema, (name,))) == [], one
