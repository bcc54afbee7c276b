"""A cluster with an object of every sort of secret, as an API server would give it."""

from typing import Any

# No text of this may be left in a redacted file.
SECRETS = (
    "acmecorp",
    "payments",
    "billing",
    "falcon",
    "hunter2",
    "learner",
    "alice",
    "zonewest",
    "goldtier",
    "workerblue",
    "poolgreen",
    "quotared",
    "supersecret",
    "topsecret",
    "c0ffee00",
)
UID = "c0ffee00-1111-4222-8333-444455556666"


def made(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def cluster(pods: int = 3) -> list[dict[str, Any]]:
    """Two nodes with devices, a class, a claim, a template, pods and their controller, and all around them."""
    api = "resource.k8s.io/v1"
    labels = {"acmecorp.example/team": "falcon", "app": "payments-learner"}
    requests = [
        {
            "name": "learner",
            "exactly": {
                "deviceClassName": "goldtier.acmecorp.example",
                "selectors": [
                    {
                        "cel": {
                            "expression": 'device.attributes["gpu.example.com"].host == "workerblue-1" || '
                            'device.attributes["gpu.example.com"].model.startsWith("a1") // for alice of falcon'
                        }
                    }
                ],
                "tolerations": [{"key": "acmecorp.example/quotared", "operator": "Exists"}],
            },
        }
    ]
    return [
        *(_node(number) for number in (1, 2)),
        *(_slice(number) for number in (1, 2)),
        made(
            api,
            "DeviceClass",
            "goldtier.acmecorp.example",
            spec={
                "selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}],
                "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {"password": "hunter2"}}}],
            },
        ),
        made(api, "ResourceClaimTemplate", "learner", "payments", spec={"spec": {"devices": {"requests": requests}}}),
        made(
            api,
            "ResourceClaim",
            "billing",
            "payments",
            metadata={"labels": labels, "uid": UID, "managedFields": [{"manager": "alice"}]},
            spec={"devices": {"requests": requests}},
        ),
        made(
            api,
            "DeviceTaintRule",
            "drain-acmecorp",
            spec={
                "deviceSelector": {"driver": "gpu.example.com", "pool": "poolgreen-2"},
                "taint": {"key": "acmecorp.example/quotared", "value": "goldtier", "effect": "NoSchedule"},
            },
        ),
        made("v1", "Namespace", "payments", metadata={"labels": {"team": "falcon"}}),
        made("scheduling.k8s.io/v1", "PriorityClass", "goldtier", value=1000, description="for alice"),
        made(
            "apps/v1",
            "Deployment",
            "learner",
            "payments",
            spec={"replicas": pods, "template": {"metadata": {"labels": labels}, "spec": _pod_spec()}},
        ),
        *(
            made("v1", "Pod", f"learner-{number}", "payments", metadata={"labels": labels}, spec=_pod_spec())
            for number in range(pods)
        ),
    ]


def _node(number: int) -> dict[str, Any]:
    name = f"workerblue-{number}"
    return made(
        "v1",
        "Node",
        name,
        metadata={
            "uid": UID,
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "zonewest"},
            "annotations": {"acmecorp.example/owner": "alice@acmecorp.example"},
        },
        spec={"taints": [{"key": "acmecorp.example/quotared", "value": "goldtier", "effect": "NoSchedule"}]},
        status={"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}, "addresses": [{"address": name}]},
    )


def _slice(number: int) -> dict[str, Any]:
    return made(
        "resource.k8s.io/v1",
        "ResourceSlice",
        f"workerblue-{number}-slice",
        spec={
            "driver": "gpu.example.com",
            "nodeName": f"workerblue-{number}",
            "pool": {"name": f"poolgreen-{number}", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"gpu-{index}",
                    "attributes": {
                        "model": {"string": "a100"},
                        "host": {"string": f"workerblue-{number}"},
                        "uuid": {"string": f"GPU-{UID}"},
                    },
                    "capacity": {"memory": {"value": "40Gi"}},
                }
                for index in range(4)
            ],
        },
    )


def _pod_spec() -> dict[str, Any]:
    return {
        "priorityClassName": "goldtier",
        "serviceAccountName": "alice",
        "nodeSelector": {"topology.kubernetes.io/zone": "zonewest"},
        "tolerations": [{"key": "acmecorp.example/quotared", "operator": "Equal", "value": "goldtier"}],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "acmecorp.example/rack", "labelSelector": {"matchLabels": {"team": "falcon"}}}
                ]
            }
        },
        "containers": [
            {
                "name": "learner",
                "image": "registry.acmecorp.example/payments/learner:supersecret",
                "command": ["/bin/learner", "--token=hunter2"],
                "args": ["topsecret"],
                "env": [{"name": "SUPERSECRET", "value": "hunter2"}],
                "resources": {"requests": {"cpu": "4"}, "claims": [{"name": "learner"}]},
            }
        ],
        "resourceClaims": [{"name": "learner", "resourceClaimTemplateName": "learner"}],
    }
