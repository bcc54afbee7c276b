"""NodeOverlays: effective prices of offerings, capacity and devices of types, per pool, and the answer of ``overlay``.

Overlays are taken by weight, then by name, both descending (karpenter-dra 1.2). The first that writes a price, a
resource or the devices of a driver wins. An overlay that meets another of its own weight is dropped (1.3, 2.4).
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.karpenter import (
    NODE_POOL_LABEL,
    RESTRICTED_RESOURCES,
    AttributeBinding,
    NodeOverlay,
    NodePool,
    ResourceSliceTemplate,
)
from ...models.kubernetes.quantity import Quantity
from ...models.results import overlay as records
from ...models.results.common import ProofKind
from ...models.results.overlay import OverlayReason
from ...models.workload.requests import Requests, integer_amounts
from ...problem.messages import until
from .instance_types import Amounts, Catalogue, CatalogueOffering, CatalogueType, allocatable_amounts, price_text
from .requirements import NodeRequirements

CONFLICT_MESSAGE = "conflict with another overlay"
_PERCENT = 100


class Written(NamedTuple):
    """What an overlay wrote: its name, and the weight of the last overlay that wanted to write the same."""

    overlay: str
    value: object
    weight: int


@dataclass
class _Slots:
    """What overlays have written for one type in one pool, and of the last one its resources and weight."""

    prices: dict[int, Written] = field(default_factory=dict)
    capacity: dict[str, Written] = field(default_factory=dict)
    drivers: dict[str, Written] = field(default_factory=dict)
    last_resources: frozenset[str] = frozenset()
    last_weight: int = 0


@dataclass(frozen=True)
class PricedOffering:
    """An offering of a type in a pool. ``overlay`` set its price, empty if none did."""

    offering: CatalogueOffering
    price: Quantity
    overlay: str


@dataclass(frozen=True)
class PooledType:
    """An instance type as a pool has it, overlays applied. Sources are names of overlays."""

    pool: NodePool
    type: CatalogueType
    offerings: tuple[PricedOffering, ...]
    capacity: Mapping[str, Quantity]
    capacity_sources: Mapping[str, str]
    slices: tuple[ResourceSliceTemplate, ...]
    bindings: tuple[AttributeBinding, ...]
    driver_sources: Mapping[str, str]

    def capacity_of(self, offering: CatalogueOffering) -> Amounts:
        """What a node that is bought so has: resources that overlays set replace those of the offering, too."""
        if not self.capacity_sources:
            return offering.capacity
        return {**offering.capacity, **{name: self.capacity[name] for name in self.capacity_sources}}

    def allocatable_of(self, offering: CatalogueOffering) -> Amounts:
        """What pods have of such a node."""
        if not self.capacity_sources:
            return offering.allocatable
        return allocatable_amounts(self.capacity_of(offering), offering.overhead)

    @cached_property
    def counted_capacity(self) -> Requests:
        """What a node has, in the integers of the scheduler."""
        return _counted(self.capacity)

    @cached_property
    def counted_allocatable(self) -> tuple[Requests, ...]:
        """What pods have of a node of each offering, in the integers of the scheduler."""
        amounts = [self.allocatable_of(way.offering) for way in self.offerings]
        made = {id(one): _counted(one) for one in amounts}
        return tuple(made[id(one)] for one in amounts)


def _counted(amounts: Amounts) -> Requests:
    return integer_amounts({name: str(amount) for name, amount in amounts.items()})


class MissedConflict(NamedTuple):
    """An overlay that writes a resource which one of equal weight writes too, and Karpenter misses it (1.3)."""

    overlay: str
    other: str
    resource: str


@dataclass(frozen=True)
class OverlayVerdict:
    """What became of an overlay; ``reason`` is empty if it counts.

    ``types`` and ``offerings`` are how many it matches, in pairs with pools.
    """

    overlay: NodeOverlay
    reason: OverlayReason
    message: str
    other: str
    types: int
    offerings: int


@dataclass(frozen=True)
class OverlayEvaluation:
    """All types of all pools with overlays applied, and a verdict for each overlay, in the order of evaluation."""

    types: tuple[PooledType, ...]
    verdicts: tuple[OverlayVerdict, ...]
    missed: tuple[MissedConflict, ...]


NOTHING_EVALUATED = OverlayEvaluation((), (), ())


class _Match(NamedTuple):
    pool: str
    type: CatalogueType
    offerings: tuple[CatalogueOffering, ...]


def evaluate_overlays(
    pools: Sequence[NodePool],
    types: Sequence[CatalogueType],
    overlays: Sequence[NodeOverlay],
    deadline: float | None = None,
) -> OverlayEvaluation:
    """Apply overlays to the types of every pool (R1). Raises ``DeadlineExceededError``."""
    known: dict[tuple[str, str], NodeRequirements] = {}
    for name, labels in ((pool.metadata.name, pool_labels(pool)) for pool in pools if overlays):
        known.update(((name, one.name), labels & one.requirements) for one in until(types, deadline))
    slots: defaultdict[tuple[str, str], _Slots] = defaultdict(_Slots)
    verdicts: list[OverlayVerdict] = []
    missed: list[MissedConflict] = []
    for overlay in sorted(overlays, key=lambda one: (one.spec.weight or 0, one.metadata.name), reverse=True):
        try:
            asked = NodeRequirements.of(overlay.spec.requirements or ())
            _check_capacity(overlay)
        except ValueError as error:
            verdicts.append(OverlayVerdict(overlay, "RuntimeValidation", str(error), "", 0, 0))
            continue
        matches = list(until(_matches(known, types, asked), deadline))
        counts = len(matches), sum(len(match.offerings) for match in matches)
        other = next(
            filter(None, (_conflict(slots[match.pool, match.type.name], overlay, match) for match in matches)), ""
        )
        if other:
            verdicts.append(OverlayVerdict(overlay, "Conflict", CONFLICT_MESSAGE, other, *counts))
            continue
        verdicts.append(OverlayVerdict(overlay, "", "", "", *counts))
        for match in matches:
            missed += _write(slots[match.pool, match.type.name], overlay, match)
    plain = {one.name: tuple(PricedOffering(way, way.price, "") for way in one.offerings) for one in types}
    made = tuple(
        _pooled(pool, one, changed)
        if (changed := slots.get((pool.metadata.name, one.name)))
        else PooledType(pool, one, plain[one.name], one.capacity, {}, one.slices, one.bindings, {})
        for pool in pools
        for one in until(types, deadline)
    )
    return OverlayEvaluation(made, tuple(verdicts), tuple(dict.fromkeys(missed)))


def pool_labels(pool: NodePool) -> NodeRequirements:
    """The pool's label and those of its nodes. Requirements of its template are no labels (correction 13)."""
    labels = pool.spec.template.metadata.labels or {}
    return NodeRequirements.of_labels({**labels, NODE_POOL_LABEL: pool.metadata.name})


def pool_requirements(pool: NodePool) -> NodeRequirements:
    """What is known of the labels of a pool's nodes. Raises ``ValueError`` with the pool's name."""
    try:
        return pool_labels(pool).with_written(pool.spec.template.spec.requirements or ())
    except ValueError as error:
        raise ValueError(f"NodePool {pool.metadata.name}: {error}") from None


class OtherTypes(NamedTuple):
    """By the template of a bought node the types that serve all such nodes, cheapest first, and what is to be said."""

    by_template: Mapping[str, tuple[str, ...]]
    notices: tuple[str, ...]


NO_OTHER_TYPES = OtherTypes({}, ())


def has_min_values(pool: NodePool) -> bool:
    """The instance types of a node must show several values of some label."""
    return any(one.min_values is not None for one in pool.spec.template.spec.requirements or ())


def too_few_values(types: Sequence[PooledType], requirements: NodeRequirements) -> Iterator[tuple[str, int, int]]:
    """Yield labels of which the types show fewer values than ``minValues``, with both numbers."""
    for label, values in requirements.by_label.items():
        if values.min_values is not None:
            shown = {value for one in types for value in one.type.requirements[label].values if values.has(value)}
            if len(shown) < values.min_values:
                yield label, len(shown), values.min_values


def _check_capacity(overlay: NodeOverlay) -> None:
    for name in overlay.spec.capacity or ():
        if name in RESTRICTED_RESOURCES:
            raise ValueError(f"invalid capacity: {name} in resource, restricted")


def _matches(
    known: Mapping[tuple[str, str], NodeRequirements], types: Sequence[CatalogueType], asked: NodeRequirements
) -> Iterator[_Match]:
    """The types that the overlay is about: all its labels are known, and at least one offering is compatible."""
    by_name = {one.name: one for one in types}
    # Most types share the requirements of their offerings, which have answers by their identity.
    answers: dict[int, bool] = {}

    def offers(offered: NodeRequirements) -> bool:
        """The overlay's requirements accept the offering's, labels of which it says nothing included."""
        if id(offered) not in answers:
            answers[id(offered)] = asked.accepts(offered, frozenset(offered))
        return answers[id(offered)]

    for (pool, name), requirements in known.items():
        if requirements.accepts(asked):
            found = tuple(one for one in by_name[name].offerings if offers(one.requirements))
            if found:
                yield _Match(pool, by_name[name], found)


def _conflict(slots: _Slots, overlay: NodeOverlay, match: _Match) -> str:
    """Name the overlay of equal weight that wrote the same; empty without one."""
    weight = overlay.spec.weight or 0
    written = [slots.prices.get(one.number) for one in match.offerings if _price_change(overlay)]
    written += [slots.drivers.get(driver) for driver in _drivers(overlay)]
    if slots.last_weight == weight:
        shared = slots.last_resources & set(overlay.spec.capacity or ())
        written += [slots.capacity[name]._replace(weight=weight) for name in sorted(shared)]
    return next((one.overlay for one in written if one is not None and one.weight == weight), "")


def _write(slots: _Slots, overlay: NodeOverlay, match: _Match) -> Iterator[MissedConflict]:
    """Write what nobody has written yet. What is written already only remembers the weight (correction 13)."""
    name, weight = overlay.metadata.name, overlay.spec.weight or 0
    if change := _price_change(overlay):
        for one in match.offerings:
            first = slots.prices.get(one.number)
            slots.prices[one.number] = first._replace(weight=weight) if first else Written(name, change, weight)
    if capacity := overlay.spec.capacity:
        for resource, amount in capacity.items():
            first = slots.capacity.get(resource)
            if first is not None and first.weight == weight:
                yield MissedConflict(name, first.overlay, resource)
            slots.capacity.setdefault(resource, Written(name, Quantity.parse(amount), weight))
        slots.last_resources, slots.last_weight = frozenset(capacity), weight
    for driver in _drivers(overlay):
        first = slots.drivers.get(driver)
        slots.drivers[driver] = first._replace(weight=weight) if first else Written(name, overlay, weight)


def _price_change(overlay: NodeOverlay) -> str:
    return overlay.spec.price or overlay.spec.price_adjustment or ""


def _drivers(overlay: NodeOverlay) -> list[str]:
    given = overlay.spec.dynamic_resources
    return list(dict.fromkeys(one.driver for one in (given.resource_slice_templates or () if given else ())))


def adjusted_price(price: Quantity, change: str) -> Quantity:
    """Give a price after ``12``, ``+1.5``, ``-3`` or ``-10%``; never below zero (1.1)."""
    if not change.startswith(("+", "-")):
        return Quantity.parse(change)
    if change.endswith("%"):
        share = Quantity.parse(change[:-1])
        nano = price.nano + price.nano * share.nano // (_PERCENT * 10**9)
    else:
        nano = price.nano + Quantity.parse(change).nano
    return Quantity.from_nano(max(0, nano))


def _pooled(pool: NodePool, one: CatalogueType, slots: _Slots) -> PooledType:
    offerings = []
    for offering in one.offerings:
        written = slots.prices.get(offering.number)
        price = adjusted_price(offering.price, str(written.value)) if written else offering.price
        offerings.append(PricedOffering(offering, price, written.overlay if written else ""))
    capacity = {name: written.value for name, written in slots.capacity.items() if isinstance(written.value, Quantity)}
    slices, bindings = _devices(one, slots)
    return PooledType(
        pool,
        one,
        tuple(offerings),
        {**one.capacity, **capacity},
        {name: written.overlay for name, written in slots.capacity.items()},
        slices,
        bindings,
        {driver: written.overlay for driver, written in slots.drivers.items()},
    )


def _devices(
    one: CatalogueType, slots: _Slots
) -> tuple[tuple[ResourceSliceTemplate, ...], tuple[AttributeBinding, ...]]:
    """Slices and bindings of a type: an overlay's replace all that the type has of a driver (R1)."""
    slices = [template for template in one.slices if template.driver not in slots.drivers]
    bindings = list(one.bindings)
    for driver, written in slots.drivers.items():
        given = written.value.spec.dynamic_resources if isinstance(written.value, NodeOverlay) else None
        if given is not None:
            slices += [template for template in given.resource_slice_templates or () if template.driver == driver]
            bindings += [binding for binding in given.attribute_bindings or () if binding not in bindings]
    return tuple(slices), tuple(bindings)


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
