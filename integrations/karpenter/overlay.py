"""The answer of ``overlay``: NodeOverlays of a cluster evaluated, as a document and as objects with their status."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.quantity import Quantity
from ...models.results import overlay as records
from ...models.results.common import ProofKind
from .instance_types import Catalogue, price_text
from .overlays import OverlayEvaluation, OverlayVerdict, PooledType, evaluate_overlays

_VALIDATED, _READY = "ValidationSucceeded", "Ready"


def evaluate(cluster: Cluster, gates: FeatureGates, deadline: float | None = None) -> OverlayEvaluation:
    """Evaluate the cluster's overlays, with their devices if the gate for them is on.

    Raises ``ValueError`` for a bad instance type, or if there is no pool or type, and ``DeadlineExceededError``.
    """
    pools = [pool for _, pool in sorted(cluster.objects(karpenter.NodePool).items())]
    types = Catalogue(cluster, deadline).types
    for found, kind in ((pools, "NodePool"), (types, "InstanceType")):
        if not found:
            raise ValueError(f"there is no {kind} in the input")
    overlays = list(cluster.objects(karpenter.NodeOverlay).values())
    if not gates.node_overlay_devices:
        overlays = [structs.replace(one, spec=structs.replace(one.spec, dynamic_resources=None)) for one in overlays]
    return evaluate_overlays(pools, types, overlays, deadline)


def overlay_document(evaluation: OverlayEvaluation) -> records.OverlayDocument:
    """Write the evaluation as a document."""
    return records.OverlayDocument(
        overlays=tuple(map(_answer, evaluation.verdicts)),
        types=tuple(map(_overlaid, evaluation.types)),
        notices=tuple(_notices(evaluation)),
    )


def _answer(verdict: OverlayVerdict) -> records.OverlayAnswer:
    return records.OverlayAnswer(
        verdict.overlay.metadata.name,
        verdict.overlay.spec.weight or 0,
        not verdict.reason,
        verdict.reason,
        verdict.message,
        verdict.other,
        verdict.types,
        verdict.offerings,
        ProofKind.WITNESS if verdict.reason else None,
    )


def _overlaid(one: PooledType) -> records.OverlaidType:
    offerings = tuple(
        records.OverlaidOffering(
            made.offering.zone,
            made.offering.capacity_type,
            made.offering.launchable,
            price_text(made.offering.price),
            price_text(made.price),
            made.overlay,
        )
        for made in one.offerings
    )
    resources = tuple(
        records.OverlaidResource(name, _amount_text(one.type.capacity.get(name)), str(one.capacity[name]), overlay)
        for name, overlay in sorted(one.capacity_sources.items())
    )
    devices: dict[str, int] = {}
    for template in one.slices:
        devices[template.driver] = devices.get(template.driver, 0) + len(template.devices or ())
    drivers = tuple(
        records.OverlaidDriver(driver, number, one.driver_sources.get(driver, ""))
        for driver, number in sorted(devices.items())
    )
    changed = bool(one.capacity_sources or one.driver_sources or any(made.overlay for made in one.offerings))
    return records.OverlaidType(one.pool.metadata.name, one.type.name, changed, offerings, resources, drivers)


def _amount_text(amount: Quantity | None) -> str:
    return "" if amount is None else str(amount)


def _notices(evaluation: OverlayEvaluation) -> Iterator[str]:
    for verdict in evaluation.verdicts:
        if not verdict.reason and not verdict.types:
            yield f"NodeOverlay {verdict.overlay.metadata.name}: its requirements match no offering of any pool"
    for missed in evaluation.missed:
        yield (
            f"NodeOverlay {missed.overlay}: {missed.resource} is also set by {missed.other} of equal weight; Karpenter "
            f"compares with the last overlay alone and keeps the amount of {missed.other}"
        )


def overlay_manifests(cluster: Cluster, evaluation: OverlayEvaluation) -> list[dict[str, Any]]:
    """Overlays as they were read, with the conditions that Karpenter's controller would set."""
    verdicts = {one.overlay.metadata.name: one for one in evaluation.verdicts}
    manifests = []
    for read in cluster.read:
        if isinstance(read.object, karpenter.NodeOverlay) and read.raw is not None:
            manifest = copy.deepcopy(dict(read.raw))
            manifest["status"] = {"conditions": _conditions(verdicts[read.object.metadata.name])}
            manifests.append(manifest)
    return manifests


def _conditions(verdict: OverlayVerdict) -> list[dict[str, str]]:
    status = "False" if verdict.reason else "True"
    own = {"type": _VALIDATED, "status": status, "reason": verdict.reason or _VALIDATED, "message": verdict.message}
    ready_reason = "UnhealthyDependents" if verdict.reason else _READY
    ready_message = f"{_VALIDATED}=False" if verdict.reason else ""
    return [own, {"type": _READY, "status": status, "reason": ready_reason, "message": ready_message}]
