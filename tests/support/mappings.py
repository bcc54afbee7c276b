"""Small objects to ask about, as mappings: one class ``gpu``, slices of a node, claims, pods."""

from typing import Any

from support.manifests import obj

Mapped = dict[str, Any]

CLASS: Mapped = obj("DeviceClass", "gpu", {})
GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def pool(devices: Any = 2, node: str | None = "n1", name: str = "s", **spec: Any) -> Mapped:
    """A slice; ``devices`` is a number of plain ones, or the devices."""
    made = [{"name": f"gpu-{number}"} for number in range(devices)] if isinstance(devices, int) else devices
    whole = {
        "driver": "gpu.example.com",
        "pool": {"name": node or name, "generation": 1, "resourceSliceCount": 1},
        "devices": made,
        **({"nodeName": node} if node else {}),
        **spec,
    }
    return obj("ResourceSlice", name, whole)


def wish(request: str = "r", **fields: Any) -> Mapped:
    return {"name": request, "exactly": {"deviceClassName": "gpu", **fields}}


def claim(name: str = "c", *requests: Mapped, meta: Mapped | None = None, held: str = "", **devices: Any) -> Mapped:
    """A claim of one device unless it says more; ``held`` is the device it has already."""
    spec = {"devices": {"requests": list(requests or [wish()]), **devices}}
    made = obj("ResourceClaim", name, spec, namespace="default", meta=meta)
    if held:
        result = {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": held}
        made["status"] = {"allocation": {"devices": {"results": [result]}}}
    return made


def template(name: str = "t", *requests: Mapped) -> Mapped:
    spec = {"spec": {"devices": {"requests": list(requests or [wish()])}}}
    return obj("ResourceClaimTemplate", name, spec, namespace="default")


def pod(name: str, *entries: str, meta: Mapped | None = None, phase: str = "", **spec: Any) -> Mapped:
    """A pod with entries ``a``, ``b`` ...; each names a claim, or a template after ``@``."""
    claims = [{"name": chr(ord("a") + number), **_reference(entry)} for number, entry in enumerate(entries)]
    status = {"status": {"phase": phase}} if phase else {}
    return obj("Pod", name, {"resourceClaims": claims, **spec}, namespace="default", meta=meta, **status)


def _reference(entry: str) -> Mapped:
    if entry.startswith("@"):
        return {"resourceClaimTemplateName": entry[1:]}
    return {"resourceClaimName": entry}


def node(name: str = "n1", **spec: Any) -> Mapped:
    return obj("Node", name, spec)


def told(result: Any) -> list[str]:
    """An answer in short: of each unit its outcome, its node, and each claim's devices."""
    return [
        f"{unit.outcome} {'-' if unit.node is None else unit.node}: "
        + "; ".join(f"{one.name}={','.join(_devices(one))}" for one in unit.claims)
        for unit in result.units
    ]


def _devices(answer: Any) -> list[str]:
    return [] if answer.allocation is None else [one.device for one in answer.allocation.devices.results or ()]


DEVICES = 25


def hopeless() -> list[Mapped]:
    """One device more than there are, one request each: every order of devices is tried."""
    middle = claim("hard", *(wish(f"r{number}") for number in range(DEVICES)))
    return [CLASS, pool(DEVICES), claim("easy"), middle, claim("late")]
