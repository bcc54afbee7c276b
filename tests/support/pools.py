"""Karpenter's pools and instance types for plans that buy, with pods that ask for devices."""

from typing import Any

import drasat

ZONE, KIND = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
CLASSES = [
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{name}.example.com'"}}]},
    }
    for name in ("gpu", "nic")
]


def requirement(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def offering(price: str, zone: str = "z1", kind: str = "on-demand", **more: Any) -> dict[str, Any]:
    return {"requirements": [requirement(ZONE, zone), requirement(KIND, kind)], "price": price, **more}


def devices(*names: str, driver: str = "gpu", **more: Any) -> dict[str, Any]:
    """A slice whose devices have these names, and all else alike."""
    return {"driver": f"{driver}.example.com", "devices": [{"name": name, **more} for name in names]}


def machine(name: str, *offerings: dict[str, Any], slices: Any = (), cpu: str = "8", **spec: Any) -> dict[str, Any]:
    offered = [{one["key"]: one["values"][0] for one in made["requirements"]} for made in offerings]
    given = {
        "requirements": [requirement(key, *sorted({labels[key] for labels in offered})) for key in (ZONE, KIND)],
        "capacity": {"cpu": cpu, "pods": "100"},
        "offerings": list(offerings),
        "slices": list(slices),
        **spec,
    }
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "InstanceType", "metadata": {"name": name}, "spec": given}


def node_pool(
    name: str = "general", *requirements: dict[str, Any], labels: Any = None, taints: Any = None, **spec: Any
) -> dict[str, Any]:
    template = {"metadata": {"labels": labels or {}}, "spec": {"requirements": list(requirements)}}
    for field, given in (taints or {}).items():
        template["spec"][field] = given
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
    return {**head, "spec": {"template": template, **spec}}


def requesting(device_class: str = "gpu", count: int = 1, name: str = "r", **exactly: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": device_class, "count": count, **exactly}}


def claim(name: str, *requests: dict[str, Any], constraints: Any = ()) -> dict[str, Any]:
    spec = {"devices": {"requests": list(requests), "constraints": list(constraints)}}
    head = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
    }
    return {**head, "spec": spec}


def waiting(name: str, *claims: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A pod that names claims."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    entries = [{"name": f"c{number}", "resourceClaimName": one} for number, one in enumerate(claims)]
    pod = {"containers": [container], "resourceClaims": entries, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": pod}


def asking(number: int, *requests: dict[str, Any], constraints: Any = (), cpu: str = "1") -> list[dict[str, Any]]:
    """So many pods with a claim each."""
    return [
        made
        for place in range(number)
        for made in (
            claim(f"claim-{place}", *requests, constraints=constraints),
            waiting(f"pod-{place}", f"claim-{place}", cpu=cpu),
        )
    ]


def buying(*objects: Any, **options: Any) -> drasat.PlanResult:
    """The plan that buys; lists of objects are taken apart."""
    listed = [one for given in objects for one in (given if isinstance(given, list) else [given])]
    return drasat.plan(drasat.load([*CLASSES, *listed]), buy=True, **options)


def nodes_bought(result: drasat.PlanResult) -> dict[str, int]:
    """How many nodes of each type."""
    found: dict[str, int] = {}
    for one in result.document.bought:
        found[one.instance_type] = found.get(one.instance_type, 0) + one.count
    return found


def cost(result: drasat.PlanResult) -> float:
    return round(sum(one.cost for one in result.document.bought), 9)
