"""What Karpenter can launch, read anew from NodePools, InstanceTypes and NodeOverlays (karpenter-dra 1, 2.4, 4.1).

Requirements are sets of label values. Overlays write prices of offerings, and resources and devices of types. A node
that is bought is made from what its pool, its type and one of its offerings say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import term_matches
from ...models.formats.decode import QuantityText
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node, NodeSelectorRequirement
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectMeta, parse_int64
from ...models.kubernetes.node_templates import NodeTemplate, NodeTemplateSpec, PooledSlice
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.slices import Device, DeviceAttribute, UnknownValue
from ...models.results.plan import BoughtNodes

_OLD_NAMES = {
    "failure-domain.beta.kubernetes.io/zone": karpenter.ZONE_LABEL,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": karpenter.ARCH_LABEL,
    "beta.kubernetes.io/os": karpenter.OS_LABEL,
    "beta.kubernetes.io/instance-type": karpenter.INSTANCE_TYPE_LABEL,
}
# Labels that every node has, whatever its pool says of them.
_ALWAYS_THERE = {*_OLD_NAMES.values(), karpenter.NODE_POOL_LABEL, karpenter.CAPACITY_TYPE_LABEL}
_ALWAYS_THERE |= {"node.kubernetes.io/windows-build"}
_INITIALIZED_LABEL = "karpenter.sh/initialized"


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """Values that a label may have: these, or with ``others`` all but these; with bounds integers alone."""

    values: frozenset[str] = frozenset()
    others: bool = True
    least: int | None = None
    most: int | None = None

    def has(self, value: str) -> bool:
        """Whether the label may have this value."""
        if (value in self.values) is self.others:
            return False
        if self.least is None and self.most is None:
            return True
        number = parse_int64(value)
        low, high = self.least, self.most
        return number is not None and (low is None or number >= low) and (high is None or number <= high)

    def both(self, other: AllowedValues) -> AllowedValues:
        """The values that both allow."""
        if not (self.others and other.others):
            listed = self.values if not self.others else other.values
            return AllowedValues(frozenset(one for one in listed if self.has(one) and other.has(one)), False)
        lows = [one for one in (self.least, other.least) if one is not None]
        highs = [one for one in (self.most, other.most) if one is not None]
        least, most = max(lows, default=None), min(highs, default=None)
        if least is not None and most is not None and least > most:
            return AllowedValues(others=False)
        return AllowedValues(self.values | other.values, True, least, most)

    @property
    def is_possible(self) -> bool:
        """Whether there is a value."""
        return self.others or bool(self.values)

    @property
    def may_lack(self) -> bool:
        """Whether a node without the label passes."""
        return bool(self.values) if self.others else not self.values


Requirements = dict[str, AllowedValues]


def read_requirements(written: Iterable[NodeSelectorRequirement], known: Requirements | None = None) -> Requirements:
    """Requirements that all hold, beside what is known. Raises ``ValueError`` for one that Karpenter refuses (1.1)."""
    found = dict(known or {})
    for one in written:
        name = _OLD_NAMES.get(one.key, one.key)
        found[name] = _allowed(one).both(found[name]) if name in found else _allowed(one)
    return found


def _allowed(one: NodeSelectorRequirement) -> AllowedValues:
    values = frozenset(one.values or ())
    if one.operator in ("In", "NotIn") and values:
        return AllowedValues(values, one.operator == "NotIn")
    if one.operator in ("Exists", "DoesNotExist"):
        return AllowedValues(others=one.operator == "Exists")
    number = parse_int64(next(iter(values))) if len(values) == 1 else None
    if one.operator not in ("Gt", "Gte", "Lt", "Lte") or number is None or number < 0:
        raise ValueError(f"requirement {one.operator} of {one.key} cannot be read")
    if one.operator.startswith("G"):
        return AllowedValues(least=number + (one.operator == "Gt"))
    return AllowedValues(most=number - (one.operator == "Lt"))


def label_requirements(labels: Mapping[str, str] | None) -> Requirements:
    """Labels as requirements."""
    return {_OLD_NAMES.get(key, key): AllowedValues(frozenset({one}), False) for key, one in (labels or {}).items()}


def are_compatible(known: Requirements, asked: Requirements, undefined: Iterable[str] = ()) -> bool:
    """Whether a node of which this is known can be what is asked for; labels in ``undefined`` may be unknown."""
    free = set(undefined)
    for label, values in asked.items():
        if label not in known:
            if label not in free and not values.may_lack:
                return False
        elif not known[label].both(values).is_possible and not (known[label].may_lack and values.may_lack):
            return False
    return True


@dataclass
class OverlaidWay:
    """An offering with its price for a pool; ``overlay`` set it, and ``weight`` is that of the last that wanted to."""

    offering: karpenter.Offering
    requirements: Requirements
    price: Fraction
    overlay: str = ""
    weight: int | None = None


@dataclass
class OverlaidKind:
    """An instance type as a pool has it; ``resources`` and ``drivers`` say which overlay set them."""

    pool: karpenter.NodePool
    type: karpenter.InstanceType
    known: Requirements
    ways: list[OverlaidWay]
    resources: dict[str, tuple[QuantityText, str]] = field(default_factory=dict)
    drivers: dict[str, tuple[karpenter.NodeOverlay, int]] = field(default_factory=dict)
    last: tuple[int, frozenset[str]] = (0, frozenset())


@dataclass(frozen=True, slots=True)
class OverlayJudgement:
    """What becomes of an overlay, in the order of evaluation."""

    overlay: karpenter.NodeOverlay
    reason: str
    other: str
    types: int
    offerings: int


class NodePoolReading:
    """All types of all pools, by both names, with overlays applied, and what becomes of each overlay (R1)."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._cluster = cluster
        self._with_devices = gates.node_overlay_devices
        pools = [pool for _, pool in sorted(cluster.objects(karpenter.NodePool).items())]
        types = sorted(cluster.objects(karpenter.InstanceType).values(), key=lambda one: one.metadata.name)
        self.kinds = {(pool.metadata.name, one.metadata.name): self._kind(pool, one) for pool in pools for one in types}
        overlays = cluster.objects(karpenter.NodeOverlay).values()
        ordered = sorted(overlays, key=lambda one: (one.spec.weight or 0, one.metadata.name), reverse=True)
        self.judgements = [self._apply(one) for one in ordered]

    def _kind(self, pool: karpenter.NodePool, one: karpenter.InstanceType) -> OverlaidKind:
        labels = {**(pool.spec.template.metadata.labels or {}), karpenter.NODE_POOL_LABEL: pool.metadata.name}
        own = {karpenter.INSTANCE_TYPE_LABEL: one.metadata.name}
        known = _joined(
            label_requirements(labels), _joined(read_requirements(one.spec.requirements or ()), label_requirements(own))
        )
        ways = [
            OverlaidWay(way, read_requirements(way.requirements or ()), _price(way.price))
            for way in one.spec.offerings or ()
        ]
        return OverlaidKind(pool, one, known, ways)

    def _apply(self, overlay: karpenter.NodeOverlay) -> OverlayJudgement:
        """Write what an overlay says, unless it meets one of its weight (1.2, 1.3, 2.4)."""
        spec, weight = overlay.spec, overlay.spec.weight or 0
        try:
            asked = read_requirements(spec.requirements or ())
        except ValueError:
            return OverlayJudgement(overlay, "RuntimeValidation", "", 0, 0)
        if set(spec.capacity or ()) & set(karpenter.RESTRICTED_RESOURCES):
            return OverlayJudgement(overlay, "RuntimeValidation", "", 0, 0)
        matches: list[tuple[OverlaidKind, list[OverlaidWay]]] = []
        for kind in self.kinds.values():
            ways = [one for one in kind.ways if are_compatible(asked, one.requirements, one.requirements)]
            if ways and are_compatible(kind.known, asked):
                matches.append((kind, ways))
        counts = len(matches), sum(len(ways) for _, ways in matches)
        change, drivers = spec.price or spec.price_adjustment or "", self._drivers(overlay)
        for kind, ways in matches:
            met = [one.overlay for one in ways if change and one.overlay and one.weight == weight]
            met += [
                kind.drivers[one][0].metadata.name
                for one in drivers
                if one in kind.drivers and kind.drivers[one][1] == weight
            ]
            if kind.last[0] == weight:
                met += [kind.resources[name][1] for name in sorted(kind.last[1] & set(spec.capacity or ()))]
            if met:
                return OverlayJudgement(overlay, "Conflict", met[0], *counts)
        for kind, ways in matches:
            for way in ways if change else ():
                if not way.overlay:
                    way.price, way.overlay = _changed(way.price, change), overlay.metadata.name
                way.weight = weight
            if spec.capacity:
                for name, amount in spec.capacity.items():
                    kind.resources.setdefault(name, (amount, overlay.metadata.name))
                kind.last = weight, frozenset(spec.capacity)
            for driver in drivers:
                first = kind.drivers.get(driver)
                kind.drivers[driver] = (first[0] if first else overlay), weight
        return OverlayJudgement(overlay, "", "", *counts)

    def _drivers(self, overlay: karpenter.NodeOverlay) -> list[str]:
        given = overlay.spec.dynamic_resources if self._with_devices else None
        return list(dict.fromkeys(one.driver for one in (given.resource_slice_templates if given else None) or ()))

    def devices(
        self, kind: OverlaidKind
    ) -> tuple[list[karpenter.ResourceSliceTemplate], list[karpenter.AttributeBinding]]:
        """Slices and bindings of a type: those of an overlay replace all that it has of a driver."""
        spec = kind.type.spec
        slices = [*(spec.slices or ()), *self._configured(kind)]
        slices = [one for one in slices if one.driver not in kind.drivers]
        bindings = list(spec.attribute_bindings or ())
        for driver, (overlay, _) in kind.drivers.items():
            given = overlay.spec.dynamic_resources
            if given is not None:
                slices += [one for one in given.resource_slice_templates or () if one.driver == driver]
                bindings += [one for one in given.attribute_bindings or () if one not in bindings]
        return slices, bindings

    def _configured(self, kind: OverlaidKind) -> Iterator[karpenter.ResourceSliceTemplate]:
        """Slices that DRAConfigs of the test provider give to the type."""
        own = read_requirements(kind.type.spec.requirements or ())
        own = _joined(own, label_requirements({karpenter.INSTANCE_TYPE_LABEL: kind.type.metadata.name}))
        for config in self._cluster.objects(karpenter.DRAConfig).values():
            for pool in config.spec.pools or ():
                terms = (read_requirements(one.match_expressions or ()) for one in pool.node_selector_terms or ())
                if any(are_compatible(own, term) for term in terms):
                    for one in pool.resource_slices or ():
                        yield karpenter.ResourceSliceTemplate(
                            driver=config.spec.driver, devices=one.devices, pool=pool.name
                        )

    def template(self, told: BoughtNodes) -> tuple[NodeTemplate | None, list[str]]:
        """The node that is said to be bought as a NodeTemplate of its name, and what is wrong with it (R2, R5)."""
        kind = self.kinds.get((told.pool, told.instance_type))
        if kind is None:
            known = told.pool in {pool for pool, _ in self.kinds}
            return None, [
                f"there is no InstanceType {told.instance_type}" if known else f"there is no NodePool {told.pool}"
            ]
        pool = kind.pool.spec
        wrong = [f"NodePool {told.pool} has a fixed number of nodes"] if pool.replicas is not None else []
        wrong += [f"NodePool {told.pool} is being deleted"] if kind.pool.metadata.deletion_timestamp else []
        labels = {**(pool.template.metadata.labels or {}), karpenter.NODE_POOL_LABEL: told.pool}
        asked = read_requirements(pool.template.spec.requirements or (), label_requirements(labels))
        own = _joined(
            read_requirements(kind.type.spec.requirements or ()),
            label_requirements({karpenter.INSTANCE_TYPE_LABEL: told.instance_type}),
        )
        if not are_compatible(asked, own, own):
            return None, [*wrong, f"the requirements of NodePool {told.pool} refuse {told.instance_type}"]
        node, found = _joined(asked, own), []
        for way in kind.ways:
            providers = (one for one in way.requirements if "karpenter" in one.partition("/")[0])
            if not are_compatible(asked, way.requirements, {*_ALWAYS_THERE, *own, *providers}):
                continue
            all_ = _joined(node, way.requirements)
            if are_compatible(node, way.requirements, way.requirements) and not _label_flaws(told, all_):
                found.append((way, all_))
        priced = [one for one in found if _same_price(one[0], told)]
        launchable = [one for one in priced if one[0].offering.available and one[0].offering.reservation_capacity != 0]
        if not launchable:
            why = "is not available" if priced else f"costs {_told_prices(found)}" if found else "has other labels"
            if not found:
                flaws = [flaw for way in kind.ways for flaw in _label_flaws(told, _joined(node, way.requirements))]
                why = flaws[0] if flaws else "has no offering that the pool takes"
            return None, [*wrong, f"{told.instance_type} of NodePool {told.pool} {why}"]
        return self._made(told, kind, launchable[0][0]), wrong

    def _made(self, told: BoughtNodes, kind: OverlaidKind, way: OverlaidWay) -> NodeTemplate:
        capacity, kept = _amounts(kind.type.spec.capacity), _overhead(kind.type.spec.overhead)
        if way.offering.capacity or way.offering.overhead is not None:
            capacity.update(_amounts(way.offering.capacity))
            kept.update(_overhead(way.offering.overhead))
        capacity.update({name: Quantity.parse(amount).nano for name, (amount, _) in kind.resources.items()})
        left = {name: amount - kept.get(name, 0) for name, amount in capacity.items()}
        if "memory" in left:
            left["memory"] -= sum(amount for name, amount in capacity.items() if name.startswith("hugepages-"))
        slices, bindings = self.devices(kind)
        local = [one for one in slices if _is_reached(one, told.labels)]
        spec = NodeTemplateSpec(
            price=str(Quantity.from_nano(int(way.price * NANO))),
            limit=way.offering.reservation_capacity,
            labels=dict(told.labels),
            taints=kind.pool.spec.template.spec.taints,
            allocatable={name: _written(max(0, amount)) for name, amount in left.items()},
            capacity={name: _written(amount) for name, amount in capacity.items()},
            slices=tuple(bound_slices(local, bindings)) or None,
        )
        return NodeTemplate(metadata=ObjectMeta(name=told.template), spec=spec)


def starting_nodes(cluster: Cluster) -> set[str]:
    """Nodes of NodeClaims that have joined and are not initialized; plans that buy take them as they will be."""
    claims = cluster.objects(karpenter.NodeClaim).values() if cluster.objects(karpenter.NodePool) else ()
    nodes = (cluster.nodes.get(one.status.node_name) for one in claims if one.status is not None)
    found = (one.metadata for one in nodes if one is not None)
    return {one.name for one in found if (one.labels or {}).get(_INITIALIZED_LABEL) != "true"}


def pool_templates(
    cluster: Cluster, gates: FeatureGates, bought: Iterable[BoughtNodes]
) -> tuple[Mapping[str, NodeTemplate], Mapping[str, Sequence[str]]]:
    """Nodes that Karpenter would launch as NodeTemplates, and what is wrong with each of the purchases.

    Both are empty beside nodes that have joined and are not initialized: their devices are not those that are published
    (3.9).
    """
    asked = [one for one in bought if one.pool]
    if not asked or starting_nodes(cluster):
        return {}, {}
    found: dict[str, NodeTemplate] = {}
    wrong: dict[str, Sequence[str]] = {}
    try:
        read = NodePoolReading(cluster, gates)
        for one in asked:
            template, wrong[one.template] = read.template(one)
            if template is not None:
                found[one.template] = template
    except ValueError as error:
        return {}, {one.template: [f"it cannot be read: {error}"] for one in asked}
    return found, wrong


def _joined(one: Requirements, other: Requirements) -> Requirements:
    return {**one, **{key: one[key].both(values) if key in one else values for key, values in other.items()}}


def _label_flaws(told: BoughtNodes, known: Requirements) -> list[str]:
    """Labels that a node of a pool, type and offering cannot have, and those that it has and lacks."""
    wrong = []
    for label, value in sorted(told.labels.items()):
        if label not in known or not known[label].has(value):
            wrong.append(f"cannot have label {label}={value}")
    for label, values in sorted(known.items()):
        if not values.others and len(values.values) == 1 and label not in told.labels:
            wrong.append(f"has label {label}={min(values.values)}, which is not there")
    zone, capacity_type = told.labels.get(karpenter.ZONE_LABEL, ""), told.labels.get(karpenter.CAPACITY_TYPE_LABEL, "")
    wrong += [] if zone == told.zone else [f"is in zone {zone or 'none'}, not {told.zone}"]
    wrong += [] if capacity_type == told.capacity_type else [f"is {capacity_type}, not {told.capacity_type}"]
    return wrong


def _same_price(way: OverlaidWay, told: BoughtNodes) -> bool:
    return abs(way.price - Fraction(str(told.price))) <= _ROUNDING and way.overlay == told.overlay


_ROUNDING = Fraction(1, 10**9)


def _told_prices(found: Sequence[tuple[OverlaidWay, Requirements]]) -> str:
    written = (f"{float(way.price):g}{f' by {way.overlay}' if way.overlay else ''}" for way, _ in found)
    return " or ".join(dict.fromkeys(written))


def _price(written: QuantityText | None) -> Fraction:
    return Fraction(0 if written is None else Quantity.parse(written).nano, NANO)


def _changed(price: Fraction, change: str) -> Fraction:
    """A price after ``12``, ``+1.5``, ``-3`` or ``-10%``, in billionths, never below zero (1.1)."""
    if not change.startswith(("+", "-")):
        return _price(change)
    nano = int(price * NANO)
    if change.endswith("%"):
        nano += nano * Quantity.parse(change[:-1]).nano // (100 * NANO)
    else:
        nano += Quantity.parse(change).nano
    return Fraction(max(0, nano), NANO)


def _amounts(written: Mapping[str, QuantityText] | None) -> dict[str, int]:
    return {name: Quantity.parse(text).nano for name, text in (written or {}).items()}


def _overhead(written: karpenter.Overhead | None) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for part in (written.kube_reserved, written.system_reserved, written.eviction_threshold) if written else ():
        for name, amount in _amounts(part).items():
            total[name] += amount
    return dict(total)


def _written(nano: int) -> str:
    return str(Quantity.from_nano(nano))


def _is_reached(one: karpenter.ResourceSliceTemplate, labels: Mapping[str, str]) -> bool:
    """Whether the node itself reaches the devices (2.2)."""
    if one.node_selector is None:
        return True
    node = Node(metadata=ObjectMeta(labels=dict(labels)))
    return any(
        set(term.match_label_keys or ()) <= labels.keys()
        and (term_matches(term, node) if term.match_expressions or term.match_fields else bool(term.match_label_keys))
        for term in one.node_selector.node_selector_terms or ()
    )


def bound_slices(
    slices: Sequence[karpenter.ResourceSliceTemplate], bindings: Sequence[karpenter.AttributeBinding]
) -> Iterator[PooledSlice]:
    """Slices of a node; devices that are bound together have one unknown value of the attribute (R10)."""
    groups: dict[str, list[set[tuple[int, int]]]] = defaultdict(list)
    for one in bindings:
        bound = (*(one.device_selectors or ()), *(one.devices or ()))
        places = {place for each in bound for place in _places(slices, each)}
        for attribute in dict.fromkeys(filter(None, (one.attribute, *(one.attributes or ())))):
            meeting = [group for group in groups[attribute] if group & places]
            apart = [group for group in groups[attribute] if not group & places]
            groups[attribute] = [*apart, places.union(*meeting)]
    for number, template in enumerate(slices):
        devices: list[Device] = []
        for place, device in enumerate(template.devices or ()):
            unknown: dict[str, DeviceAttribute] = {}
            names = {name if "/" in name else f"{template.driver}/{name}" for name in device.attributes or ()}
            for attribute, sets in groups.items():
                full = attribute if "/" in attribute else f"{template.driver}/{attribute}"
                for order, group in enumerate(sets):
                    if len(group) > 1 and (number, place) in group and full not in names:
                        unknown[attribute] = UnknownValue(token=f"{attribute} {order}")
            more = {**(device.attributes or {}), **unknown}
            devices.append(replace(device, attributes=more) if unknown else device)
        yield PooledSlice(
            driver=template.driver,
            devices=tuple(devices) or None,
            shared_counters=template.shared_counters,
            partition_type_attribute=template.partition_type_attribute,
            skip_node_operations=template.skip_node_operations,
            pool=template.pool,
        )


def _places(
    slices: Sequence[karpenter.ResourceSliceTemplate], bound: karpenter.BoundDevice
) -> Iterator[tuple[int, int]]:
    for number, one in enumerate(slices):
        named = one.metadata.name == bound.template and bound.driver in ("", one.driver)
        of_pool = one.driver == bound.driver and bound.pool in ("", one.pool)
        if named if bound.template else of_pool:
            yield from (
                (number, place) for place, device in enumerate(one.devices or ()) if device.name == bound.device
            )
