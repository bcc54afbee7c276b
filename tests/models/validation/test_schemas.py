"""What the schemas of Kueue's kinds demand beside the webhooks, as the API server words it."""

import pytest
from support.kueue_cases import kueue_cases, read_objects

from drasat.models.kubernetes.schemas import kueue_schemas
from drasat.models.validation.schemas import _RULES, schema_problems
from drasat.models.validation.validate import validate_manifests

API = "kueue.x-k8s.io/v1beta2"
TOLERATIONS = "spec.tolerations"
EFFECTS = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"


def problems(kind, spec, api_version=API, **fields):
    mapping = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec, **fields}
    return [str(problem) for problem in schema_problems(kind, api_version, mapping)]


def pod_set(**fields):
    return {"template": {"spec": {}}, **fields}


def taint(**fields):
    return {"nodeTaints": [{"key": "a", **fields}]}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("LocalQueue", {"clusterQueue": "a" * 254}, ["spec.clusterQueue: Too long: may not be more than 253 bytes"]),
        (
            "ClusterQueue",
            {"stopPolicy": "Stop"},
            ['spec.stopPolicy: Unsupported value: "Stop": supported values: "None", "Hold", "HoldAndDrain"'],
        ),
        (
            "ClusterQueue",
            {"cohortName": "A b"},
            [
                'spec.cohortName: Invalid value: "A b": spec.cohortName in body should match '
                r"'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
            ],
        ),
        (
            "ClusterQueue",
            {"resourceGroups": [{"coveredResources": [], "flavors": [{"name": "f", "resources": []}]}]},
            [
                "spec.resourceGroups[0].coveredResources: Invalid value: 0: "
                "spec.resourceGroups[0].coveredResources in body should have at least 1 items",
                "spec.resourceGroups[0].flavors[0].resources: Invalid value: 0: "
                "spec.resourceGroups[0].flavors[0].resources in body should have at least 1 items",
            ],
        ),
        (
            "ClusterQueue",
            {"resourceGroups": [{"coveredResources": ["a"], "flavors": [{"resources": [{"name": "a"}, {}]}]}]},
            [
                "spec.resourceGroups[0].flavors[0].name: Required value",
                "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Required value",
                "spec.resourceGroups[0].flavors[0].resources[1].name: Required value",
                "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: Required value",
                'spec.resourceGroups[0]: Invalid value: "object": '
                "flavors must have the same number of resources as the coveredResources",
            ],
        ),
        (
            "Workload",
            {"podSets": [pod_set(), pod_set(name="main", count=-1)]},
            [
                'spec.podSets[1]: Duplicate value: {"name":"main"}',
                "spec.podSets[1].count: Invalid value: -1: "
                "spec.podSets[1].count in body should be greater than or equal to 0",
            ],
        ),
        (
            "Workload",
            {"podSets": [pod_set(name=f"p{index}") for index in range(19)]},
            ["spec.podSets: Too many: 19: must have at most 18 items"],
        ),
        (
            "Workload",
            {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "WorkloadPriorityClass", "name": "x"}},
            [
                'spec.priorityClassRef: Invalid value: "object": '
                "only PriorityClass is allowed for the scheduling.k8s.io group",
                'spec: Invalid value: "object": priority should not be nil when priorityClassRef is set',
            ],
        ),
        (
            "ResourceFlavor",
            {"nodeLabels": {str(index): "" for index in range(9)}},
            ["spec.nodeLabels: Too many: 9: must have at most 8 items"],
        ),
        (
            "ResourceFlavor",
            {"topologyName": "t"},
            ['spec: Invalid value: "object": at least one nodeLabel is required when topology is set'],
        ),
        ("ResourceFlavor", taint(effect="Nope"), [f'spec.nodeTaints: Invalid value: "array": {EFFECTS}']),
        ("ResourceFlavor", taint(), ["spec.nodeTaints[0].effect: Required value"]),
        (
            "ResourceFlavor",
            {"tolerations": [{"operator": "Exists", "value": "v", "tolerationSeconds": 5}]},
            [
                f"{TOLERATIONS}: Invalid value: \"array\": effect must be 'NoExecute' when 'tolerationSeconds' is set",
                f"{TOLERATIONS}: Invalid value: \"array\": a value must be empty when 'operator' is 'Exists'",
            ],
        ),
        (
            "Topology",
            {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}]},
            [
                'spec.levels: Invalid value: "array": '
                "the kubernetes.io/hostname label can only be used at the lowest level of topology"
            ],
        ),
        ("Topology", {"levels": [{"nodeLabel": "a"}] * 2}, ['spec.levels: Invalid value: "array": must be unique']),
        (
            "ProvisioningRequestConfig",
            {"provisioningClassName": "c", "managedResources": ["a", "a"]},
            ['spec.managedResources[1]: Duplicate value: "a"'],
        ),
    ],
)
def test_limits_of_the_schemas(kind, spec, expected):
    assert problems(kind, spec) == expected


def test_limits_of_a_provisioning_request():
    """The parameters of both versions have 255 characters at most; classes and pod sets are needed."""
    spec = {"parameters": {"a": "x" * 256}, "podSets": []}
    for version in ("v1", "v1beta1"):
        assert problems("ProvisioningRequest", spec, f"autoscaling.x-k8s.io/{version}") == [
            "spec.parameters.a: Too long: may not be more than 255 bytes",
            "spec.podSets: Invalid value: 0: spec.podSets in body should have at least 1 items",
            "spec.provisioningClassName: Required value",
        ]


def test_each_version_has_its_own_fields():
    """Before v1beta2 a queue that names its cohort in the old field may borrow."""
    quota = {"name": "a", "nominalQuota": 1, "borrowingLimit": 1}
    groups = [{"coveredResources": ["a"], "flavors": [{"name": "f", "resources": [quota]}]}]
    message = 'spec: Invalid value: "object": borrowingLimit must be nil when cohort is empty'
    for version, field in (("v1beta1", "cohort"), ("v1beta2", "cohortName")):
        api_version = f"kueue.x-k8s.io/{version}"
        assert problems("ClusterQueue", {"resourceGroups": groups, field: "c"}, api_version) == []
        assert problems("ClusterQueue", {"resourceGroups": groups}, api_version) == [message]


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [None], [5], {"a": None}, [{"resources": 5}]])
def test_values_of_a_wrong_type_are_left_to_the_reader(value):
    for schema in kueue_schemas():
        api_version, _, kind = schema.rpartition("/")
        assert isinstance(problems(kind, value, api_version, status=value), list)
        for field in kueue_schemas()[schema].fields.get("spec", kueue_schemas()[schema]).fields:
            assert isinstance(problems(kind, {field: value}, api_version), list)


def test_every_rule_about_one_object_is_known():
    """Rules over ``oldSelf`` are about changes."""

    def rules(schema):
        yield from schema.rules
        for inner in (*schema.fields.values(), *filter(None, [schema.items])):
            yield from rules(inner)

    found = {rule for schema in kueue_schemas().values() for rule in rules(schema) if "oldSelf" not in rule}
    assert found == set(_RULES)


def test_recorded_objects_fulfil_the_schemas_but_where_the_case_is_about_that():
    """Kueue's API server would have taken all but those that are wrong on purpose."""
    wrong = {
        case.family
        for file in ("kueue-cases", "provisioning-cases")
        for case in kueue_cases(file)[::3]
        for one in case.objects
        if schema_problems(one["kind"], one["apiVersion"], one)
    }
    assert wrong <= {"objcheck", "provisioning-scenario"}


def test_validation_reports_a_field_once():
    """What the webhooks say about a field is not said again."""
    spec = {"fairSharing": {"weight": "x"}, "stopPolicy": "No", "flavorFungibility": {"preference": "No"}}
    queue = {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "x"}, "spec": spec}
    found = [one.field for one in validate_manifests(read_objects([queue]))]
    assert sorted(found) == sorted(set(found))
    assert {"spec.stopPolicy", "spec.fairSharing.weight", "spec.flavorFungibility.preference"} <= set(found)
