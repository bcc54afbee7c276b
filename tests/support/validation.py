"""Objects that break no rule, and rows that break one each.

A row edits such an object and says which problems come of it. An edit is a path of keys and indexes, parted by
spaces, and the value to put there. Expected problems are beginnings of ``field: message``; what follows ``...``
may stand anywhere after it. Warnings begin with ``warning``, errors that are never lifted with ``structure``.
"""

import copy
import json
import re
from typing import Any

import msgspec
import pytest
from support.controllers import SPECS
from support.data import cases
from support.kinds import BY_MODEL

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.kinds import INTEGRATION_MODELS
from drasat.models.validation.findings import FieldProblem
from drasat.models.validation.validate import validate_object

DROP = "<drop>"
# What kinds of Kueue and Karpenter must have.
INTEGRATION_SPECS = {
    "AdmissionCheck": {"controllerName": "example.com/check"},
    "ProvisioningRequestConfig": {"provisioningClassName": "class"},
    "ProvisioningRequest": {
        "provisioningClassName": "class",
        "podSets": [{"podTemplateRef": {"name": "pods"}, "count": 1}],
    },
    "NodeOverlay": {"requirements": [{"key": "zone", "operator": "In", "values": ["a"]}], "price": "1.5"},
    "DRAConfig": {"driver": "gpu.example.com"},
    "InstanceType": {
        "offerings": [{"requirements": [{"key": "zone", "operator": "In", "values": ["a"]}], "price": "1.5"}]
    },
}
Edits = dict[str, Any]


def device(name="gpu-0", **fields):
    return {"name": name, **fields}


def devices(count, **fields):
    return [device(f"gpu-{number}", **fields) for number in range(count)]


SLICE = {
    "metadata": {"name": "node-1-gpu"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-1",
        "devices": [
            device(attributes={"model": {"string": "a"}, "example.com/n": {"int": 1}}, capacity={"mem": {"value": "8"}})
        ],
    },
}
COUNTERS = {
    "metadata": {"name": "node-1-counters"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 2},
        "nodeName": "node-1",
        "sharedCounters": [{"name": "set-0", "counters": {"slices": {"value": "7"}}}],
    },
}
CLASS = {
    "metadata": {"name": "gpu"},
    "spec": {
        "selectors": [{"cel": {"expression": "true"}}],
        "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {"mode": "shared"}}}],
    },
}
EXACTLY = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
CLAIM = {
    "metadata": {"name": "claim", "namespace": "default"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "one", "exactly": EXACTLY},
                {"name": "any", "firstAvailable": [{"name": "a", **EXACTLY}, {"name": "b", **EXACTLY}]},
            ],
            "constraints": [{"requests": ["one", "any/a"], "matchAttribute": "gpu.example.com/model"}],
            "config": [{"requests": ["any"], "opaque": {"driver": "gpu.example.com", "parameters": {}}}],
        }
    },
}
RESULT = {"request": "one", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
ALLOCATED = {**CLAIM, "status": {"allocation": {"devices": {"results": [RESULT]}}}}
TEMPLATE = {
    "metadata": {"name": "template", "namespace": "default"},
    "spec": {"metadata": {"labels": {"app": "x"}}, "spec": CLAIM["spec"]},
}
RULE = {
    "metadata": {"name": "rule"},
    "spec": {
        "deviceSelector": {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"},
        "taint": {"key": "example.com/broken", "value": "yes", "effect": "NoSchedule"},
    },
}
NODE = {
    "metadata": {"name": "node-1", "labels": {"zone": "a"}},
    "spec": {"taints": [{"key": "example.com/gpu", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4"}},
}
POD = {
    "metadata": {"name": "pod", "namespace": "default"},
    "spec": {
        "nodeSelector": {"zone": "a"},
        "resourceClaims": [
            {"name": "one", "resourceClaimName": "claim"},
            {"name": "two", "resourceClaimTemplateName": "template"},
        ],
    },
}
NAMESPACE = {"metadata": {"name": "default"}}
GROUP = {
    "metadata": {"name": "group", "namespace": "default"},
    "spec": {"claims": [{"name": "claim"}], "constraints": [{"matchAttribute": "gpu.example.com/model"}]},
}
TOPOLOGY = {
    "metadata": {"name": "grid"},
    "spec": {
        "driver": "gpu.example.com",
        "scope": "Node",
        "shape": "Grid",
        "coordinates": ["gpu.example.com/row", "gpu.example.com/col"],
        "size": [4, 4],
        "periodic": [False, True],
    },
}
NODE_TEMPLATE = {
    "metadata": {"name": "h100-8"},
    "spec": {
        "price": "12.5",
        "limit": 40,
        "labels": {"zone": "a"},
        "taints": [{"key": "example.com/gpu", "effect": "NoSchedule"}],
        "allocatable": {"cpu": "64", "memory": "512Gi"},
        "slices": [{"driver": "gpu.example.com", "devices": devices(2)}],
    },
}
POD_TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}}],
        "resourceClaims": [{"name": "one", "resourceClaimTemplateName": "template"}],
    },
}
JOB = {
    "metadata": {"name": "job", "namespace": "default"},
    "spec": {"parallelism": 3, "completions": 9, "template": POD_TEMPLATE},
}
DEPLOYMENT = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 3, "template": POD_TEMPLATE}}
PRIORITY_CLASS = {"metadata": {"name": "high"}, "value": 1000}
WORKLOAD = {
    "metadata": {"name": "training", "namespace": "default"},
    "spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 4}}}]},
}
POD_GROUP = {
    "metadata": {"name": "workers", "namespace": "default"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]},
    },
}

# What a row of a kind edits.
BASES: dict[str, dict[str, Any]] = {
    "ResourceSlice": SLICE,
    "DeviceClass": CLASS,
    "ResourceClaim": CLAIM,
    "ResourceClaimTemplate": TEMPLATE,
    "DeviceTaintRule": RULE,
    "Node": NODE,
    "Pod": POD,
    "Namespace": NAMESPACE,
    "ConstraintGroup": GROUP,
    "DeviceTopology": TOPOLOGY,
    "NodeTemplate": NODE_TEMPLATE,
    **{
        model: {
            "metadata": {"name": "x"} | ({"namespace": "default"} if BY_MODEL[model].namespaced else {}),
            "spec": spec,
        }
        for model, (spec, *_) in {
            **SPECS,
            **{one.__name__: (INTEGRATION_SPECS.get(one.__name__, {}),) for one in INTEGRATION_MODELS},
        }.items()
    },
    "Job": JOB,
    "Deployment": DEPLOYMENT,
    "StatefulSet": DEPLOYMENT,
    "ReplicaSet": DEPLOYMENT,
    "PriorityClass": PRIORITY_CLASS,
    "PodDisruptionBudget": {"metadata": {"name": "x", "namespace": "default"}, "spec": {}},
    "Workload": WORKLOAD,
    "PodGroup": POD_GROUP,
    "CompositePodGroup": {"metadata": {"name": "all", "namespace": "default"}, "spec": {}},
}


def row(name: str, edits: Edits, *expected: str):
    """One row of a table; no expected problem means that the edit is fine."""
    return pytest.param(edits, expected, id=name)


def rows(name: str, table: str):
    """A table of rows below ``tests/data``.

    There ``<64*a>`` is a letter so many times, and ``{"<3 times>": "r<#>"}`` the list r0, r1 and r2.
    """
    return [row(*_restored(one)) for one in cases(name, table)]


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"<(\d+)\*(.)>", lambda found: found[2] * int(found[1]), value, flags=re.DOTALL)
    if isinstance(value, list | tuple):
        return [_restored(part) for part in value]
    if not isinstance(value, dict):
        return value
    if many := re.fullmatch(r"<(\d+) times>", next(iter(value), "")):
        text = json.dumps(value[many[0]])
        return [_restored(json.loads(text.replace("<#>", str(number)))) for number in range(int(many[1]))]
    return {key: _restored(part) for key, part in value.items()}


def edited(base: dict[str, Any], edits: Edits) -> dict[str, Any]:
    """A copy of the object with the edits made."""
    result = copy.deepcopy(base)
    for path, value in edits.items():
        *steps, last = (int(step) if step.isdigit() else step for step in path.split(" "))
        place = result
        for step in steps:
            place = place[step] if isinstance(place, list) else place.setdefault(step, {})
        if value == DROP:
            place.pop(last, None)
        else:
            place[last] = value
    return result


def typed(kind: str, mapping: dict[str, Any]):
    """The object as the reader makes it; rows use v1 with defaults filled in."""
    return msgspec.convert(mapping, BY_MODEL[kind].model)


def told(problem: FieldProblem) -> str:
    """A problem as rows expect it."""
    mark = "warning " if problem.severity == "warning" else ""
    return f"{mark}{'structure ' if problem.category == 'structure' else ''}{problem}"


def problems(kind: str, edits: Edits, base: dict[str, Any] | None = None, gates: FeatureGates | None = None):
    """All problems of the edited object, as text."""
    mapping = edited(BASES[kind] if base is None else base, edits)
    return [told(problem) for problem in validate_object(typed(kind, mapping), gates)]


def matches(found: str, expected: str) -> bool:
    """Whether a problem is the expected one."""
    begin, *rest = expected.split("...")
    return found.startswith(begin) and all(part in found for part in rest)


def assert_problems(found: list[str], expected: tuple[str, ...]) -> None:
    """Exactly the expected problems, in any order."""
    assert len(found) == len(expected), found
    for wanted in expected:
        assert any(matches(one, wanted) for one in found), (wanted, found)
