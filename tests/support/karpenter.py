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
