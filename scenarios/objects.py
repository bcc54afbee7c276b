"""Short forms of v1 objects, as plain mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Mapped = dict[str, Any]
RESOURCE_API = "resource.k8s.io/v1"
HOSTNAME = "kubernetes.io/hostname"
DRIVER = "gpu.example.com"
# What an attribute value may be written as; a mapping is taken as it is.
AttributeValue = bool | int | str | Sequence[int] | Sequence[str] | Mapped
_ATTRIBUTE_FIELDS: dict[type, str] = {bool: "bool", int: "int", str: "string"}


def present(**fields: Any) -> Mapped:
    """The fields that are given at all."""
    return {name: value for name, value in fields.items() if value not in (None, "", (), [], {})}


def attribute(value: AttributeValue) -> Mapped:
    """An attribute: scalars by their Python type, lists by that of their first element."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return {_ATTRIBUTE_FIELDS[type(value[0])] + "s": list(value)}
    return {_ATTRIBUTE_FIELDS[type(value)]: value}


def version(text: str) -> Mapped:
    """A version attribute."""
    return {"version": text}


def capacities(amounts: Mapping[str, Any]) -> Mapped:
    """Capacities; an amount may also be a whole mapping with its request policy."""
    return {name: amount if isinstance(amount, dict) else {"value": amount} for name, amount in amounts.items()}


def device(
    name: str, attributes: Mapping[str, AttributeValue], capacity: Mapping[str, Any] | None = None, **fields: Any
) -> Mapped:
    """A device; further fields in the API's spelling."""
    values = {key: attribute(value) for key, value in attributes.items()}
    return {"name": name, **present(attributes=values, capacity=capacities(capacity or {})), **fields}


def counters(amounts: Mapping[str, int | str]) -> Mapped:
    """Counters and their values."""
    return {name: {"value": str(amount)} for name, amount in amounts.items()}


def counter_set(name: str, amounts: Mapping[str, int | str]) -> Mapped:
    """A set of counters."""
    return {"name": name, "counters": counters(amounts)}


def consumption(counter_set_name: str, amounts: Mapping[str, int | str]) -> Mapped:
    """What a device takes from a set of counters."""
    return {"counterSet": counter_set_name, "counters": counters(amounts)}


def resource_slice(
    name: str,
    driver: str,
    pool: str,
    where: Mapped,
    devices: Sequence[Mapped] = (),
    *,
    generation: int = 1,
    count: int = 1,
    shared_counters: Sequence[Mapped] = (),
) -> Mapped:
    """A slice; ``where`` is one of the API's four ways to say which nodes it is for."""
    spec = {"driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": count}, **where}
    spec |= present(devices=list(devices), sharedCounters=list(shared_counters))
    return {"apiVersion": RESOURCE_API, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def on_node(name: str) -> Mapped:
    """Where a slice or device is: on one node."""
    return {"nodeName": name}


def on_nodes_with(label: str, *values: str) -> Mapped:
    """Where a slice or device is: on the nodes with one of these label values."""
    return {"nodeSelector": label_selector(label, *values)}


def label_selector(label: str, *values: str) -> Mapped:
    """A node selector by one label."""
    requirement = {"key": label, "operator": "In", "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}


def node(name: str, labels: Mapping[str, str] | None = None, taints: Sequence[Mapped] = ()) -> Mapped:
    """A node with its host name label and others."""
    made = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
    }
    return made | ({"spec": {"taints": list(taints)}} if taints else {})


def namespace(name: str, *, admin: bool = False) -> Mapped:
    """A namespace, perhaps one whose claims may ask for admin access (CLM-5)."""
    labels = {"resource.kubernetes.io/admin-access": "true"} if admin else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **present(labels=labels)}}


def selectors(*expressions: str) -> list[Mapped]:
    """CEL selectors."""
    return [{"cel": {"expression": expression}} for expression in expressions]


def device_class(name: str, *expressions: str, config: Sequence[Mapped] = ()) -> Mapped:
    """A class that selects by expressions."""
    spec = present(selectors=selectors(*expressions), config=list(config))
    return {"apiVersion": RESOURCE_API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def opaque(driver: str, parameters: Mapped) -> Mapped:
    """A driver's parameters, for config entries."""
    return {"opaque": {"driver": driver, "parameters": parameters}}


def wanted(class_name: str, *expressions: str, **fields: Any) -> Mapped:
    """What an exact request or an alternative asks for; further fields in the API's spelling."""
    return {"deviceClassName": class_name, **present(selectors=selectors(*expressions)), **fields}


def exactly(name: str, body: Mapped) -> Mapped:
    """An exact request."""
    return {"name": name, "exactly": body}


def first_available(name: str, bodies: Iterable[tuple[str, Mapped]]) -> Mapped:
    """A request with alternatives, by name."""
    return {"name": name, "firstAvailable": [{"name": key, **body} for key, body in bodies]}


def claim_spec(requests: Sequence[Mapped], constraints: Sequence[Mapped] = (), config: Sequence[Mapped] = ()) -> Mapped:
    """The spec of a claim."""
    return {"devices": present(requests=list(requests), constraints=list(constraints), config=list(config))}


def claim(name: str, spec: Mapped, namespace: str = "default", labels: Mapping[str, str] | None = None) -> Mapped:
    """A claim."""
    metadata = {"name": name, "namespace": namespace, **present(labels=dict(labels or {}))}
    return {"apiVersion": RESOURCE_API, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def template(name: str, spec: Mapped, namespace: str = "default") -> Mapped:
    """A template of claims."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": RESOURCE_API, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": {"spec": spec}}


def result(request: str, driver: str, pool: str, device_name: str, **fields: Any) -> Mapped:
    """A device in an allocation."""
    return {"request": request, "driver": driver, "pool": pool, "device": device_name, **fields}


def allocated(unallocated: Mapped, results: Sequence[Mapped], node_name: str | None = None) -> Mapped:
    """The claim with these devices, perhaps bound to a node."""
    allocation: Mapped = {"devices": {"results": list(results)}}
    if node_name is not None:
        name_is = {"key": "metadata.name", "operator": "In", "values": [node_name]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [name_is]}]}
    return {**unallocated, "status": {"allocation": allocation}}


def pod(name: str, claims: Sequence[Mapped], namespace: str = "default", **spec: Any) -> Mapped:
    """A pod with its entries of ``spec.resourceClaims``; further fields of the spec in the API's spelling."""
    containers = [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": containers, **present(resourceClaims=list(claims)), **spec},
    }


def by_claim(entry: str, claim_name: str) -> Mapped:
    """An entry of a pod that names a claim."""
    return {"name": entry, "resourceClaimName": claim_name}


def by_template(entry: str, template_name: str) -> Mapped:
    """An entry of a pod that names a template."""
    return {"name": entry, "resourceClaimTemplateName": template_name}


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Mapped:
    """A taint of a device or of a node."""
    return {"key": key, **present(value=value), "effect": effect}


def taint_rule(name: str, added: Mapped, **selector: str) -> Mapped:
    """A rule that adds a taint to the devices of a driver, pool or name."""
    spec = {**present(deviceSelector=selector), "taint": added}
    return {"apiVersion": RESOURCE_API, "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec}


@dataclass
class DraftClaim:
    """A claim that asks for devices."""

    name: str
    requests: list[Mapped]
    constraints: list[Mapped] = field(default_factory=list)
    config: list[Mapped] = field(default_factory=list)

    @property
    def request_names(self) -> list[str]:
        """The names of the requests."""
        return [request["name"] for request in self.requests]

    def bodies(self) -> Iterator[Mapped]:
        """What is asked for: exact requests and alternatives alike."""
        for request in self.requests:
            yield from [request["exactly"]] if "exactly" in request else request["firstAvailable"]

    def spec(self) -> Mapped:
        """The spec of the claim."""
        return claim_spec(self.requests, self.constraints, self.config)
