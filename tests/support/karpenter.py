"""Objects of Karpenter: pools, instance types and pods that ask for devices."""

from __future__ import annotations

from typing import Any

ZONE, CAPACITY_TYPE = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def is_in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def gpus(count: int, driver: str = "gpu.example.com", stem: str = "gpu", **attributes: str) -> dict[str, Any]:
    """A slice of equal devices."""
    published = {name: {"string": value} for name, value in attributes.items()}
    return {"driver": driver, "devices": [{"name": f"{stem}-{i}", "attributes": published} for i in range(count)]}


def instance_type(
    name: str, price: float, *slices: dict[str, Any], cpu: str = "8", zones: tuple[str, ...] = ("z1",), **spec: Any
) -> dict[str, Any]:
    """A type that is sold on demand, at one price in each zone."""
    requirements = [
        is_in(ZONE, *zones),
        is_in(CAPACITY_TYPE, "on-demand"),
        is_in("kubernetes.io/arch", "amd64"),
        is_in("kubernetes.io/os", "linux"),
    ]
    offerings = [
        {"requirements": [is_in(ZONE, zone), is_in(CAPACITY_TYPE, "on-demand")], "price": str(price)} for zone in zones
    ]
    capacity = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    given = {"requirements": requirements, "capacity": capacity, "offerings": offerings, "slices": list(slices), **spec}
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "InstanceType", "metadata": {"name": name}, "spec": given}


def node_pool(name: str = "general", *requirements: dict[str, Any], **spec: Any) -> dict[str, Any]:
    reference = {"group": "karpenter.test.sh", "kind": "TestNodeClass", "name": "default"}
    template = {"spec": {"requirements": list(requirements), "nodeClassRef": reference}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def device_class(name: str = "gpu", driver: str = "gpu.example.com") -> dict[str, Any]:
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [selector]},
    }


def claim_spec(*requests: dict[str, Any], **devices: Any) -> dict[str, Any]:
    return {"devices": {"requests": list(requests), **devices}}


def exactly(name: str = "r", device_class_name: str = "gpu", **more: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": device_class_name, **more}}


def template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": spec},
    }


def claim(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def pod(name: str, source: str = "", *, shared: bool = False, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A pod with a claim from a template, or with a ready-made one that may be ``shared``."""
    entry = {"name": "devices", "resourceClaimName" if shared else "resourceClaimTemplateName": source}
    container: dict[str, Any] = {
        "name": "c",
        "image": "registry.example.com/c",
        "resources": {"requests": {"cpu": cpu}},
    }
    made: dict[str, Any] = {"containers": [container], **spec}
    if source:
        container["resources"]["claims"] = [{"name": "devices"}]
        made["resourceClaims"] = [entry]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": made}


def node(name: str, instance: str = "small", *, cpu: str = "8", taints: Any = (), **labels: str) -> dict[str, Any]:
    """A node of the pool ``general``; labels by their last part, as ``initialized="true"``."""
    known = {
        "karpenter.sh/nodepool": "general",
        INSTANCE_TYPE: instance,
        ZONE: "z1",
        CAPACITY_TYPE: "on-demand",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "karpenter.sh/registered": "true",
        **{f"karpenter.sh/{label}": value for label, value in labels.items()},
    }
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    status = {"allocatable": room, "capacity": room}
    spec = {"taints": list(taints)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": known},
        "spec": spec,
        "status": status,
    }


def node_claim(name: str, *drivers: str, **spec: Any) -> dict[str, Any]:
    """The NodeClaim of the node of this name, with the drivers whose devices its pods ask for."""
    noted = {"karpenter.sh/requested-dra-drivers": ",".join(drivers)} if drivers else {}
    metadata = {"name": f"{name}-claim", "labels": {"karpenter.sh/nodepool": "general"}, "annotations": noted}
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata}
    return {**head, "spec": spec, "status": {"nodeName": name, "providerID": f"cloud://{name}"}}


def published_by(name: str, number: int, *, slices: int = 1, driver: str = "gpu.example.com") -> dict[str, Any]:
    """A slice of so many devices that the node of this name owns, of a pool with ``slices``."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": f"{name}-uid"}
    pool = {"name": name, "generation": 1, "resourceSliceCount": slices}
    devices = [{"name": f"real-{place}"} for place in range(number)]
    spec = {"driver": driver, "nodeName": name, "pool": pool, "devices": devices}
    metadata = {"name": f"{name}-{driver}", "ownerReferences": [owner]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def running(name: str, on: str, device: str = "", *, shared: str = "", cpu: str = "1") -> dict[str, Any]:
    """A pod that a controller makes again, on a node, with a claim of its own name or the ``shared`` one."""
    made = pod(name, shared or (name if device else ""), shared=True, cpu=cpu, nodeName=on)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}
    made["metadata"].update(ownerReferences=[owner], uid=name)
    return {**made, "status": {"phase": "Running"}}


def allocated(
    name: str, pool: str, device: str, *by: str, driver: str = "gpu.example.com", **status: Any
) -> dict[str, Any]:
    """A claim for one device, which these pods use."""
    made = claim(name, claim_spec(exactly()))
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "devices"}
    results = [{"request": "r", "driver": driver, "pool": pool, "device": device}]
    consumers = [{"resource": "pods", "name": one, "uid": one} for one in by]
    made["status"] = {"allocation": {"devices": {"results": results}, **status}, "reservedFor": consumers}
    return made
