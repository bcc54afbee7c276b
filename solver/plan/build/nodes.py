"""The nodes of a cluster as kinds that nothing planned can tell apart.

Which nodes suit which kinds of units, whatever devices they have: asked once for nodes that look alike to rules.

Nodes that are in use whatever is planned.

Node kinds whose devices are all alike, so that a plan needs no more of them than sums: they are priced far quicker.

On such a node every unit takes some whole devices, or a share of one, or none; no constraint ties them, no counter is
drawn, and no other node reaches them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import gcd

from ....models.cluster.cluster import Cluster
from ....models.cluster.node_fit import pod_fits, selector_test
from ....models.cluster.pools import Pool, PoolIndex
from ....models.kubernetes.core import HOSTNAME_LABEL, Node, NodeSelector, PodSpec
from ....models.kubernetes.gates import FeatureGates
from ....models.kubernetes.meta import DeviceId, PoolId
from ....models.workload.requests import PODS, Requests
from ....models.workload.running import running_pods
from ....problem.asks import VisibleAttributes
from ....problem.in_use import AllocatedState
from ....problem.problem import Demand, InUse, Problem
from ....problem.shapes import NodeView
from ...allocate.nodes import pod_suitability_key
from ...engines.engines import NodeEngine
from ...engines.search import Pick
from ..pricing.bundle import Bundle, BundleQuestion, Picks
from ..pricing.linear import LinearPricer
from ..pricing.linear_question import LinearNode, LinearUnit
from .unit_classes import UnitClass


@dataclass(frozen=True, slots=True, eq=False)
class PlanNodeClass:
    """Equal nodes, by name; each has ``left`` of the resources. ``suited`` are the unit kinds that may go there.

    ``view`` is what these kinds together see of the first node, namely what is ``visible``. ``labels`` holds the values
    of the labels that gangs ask for. ``shared`` are pools that other nodes reach, too. ``template`` and ``limit`` are
    those of nodes that could be bought, of which the first stands for all.
    """

    index: int
    nodes: Sequence[Node]
    suited: frozenset[int]
    left: tuple[int, ...]
    labels: Mapping[str, str]
    view: NodeView
    visible: VisibleAttributes
    shared: tuple[Pool, ...] = ()
    is_in_use: bool = False
    template: str = ""
    limit: int = 0

    @property
    def count(self) -> int:
        """How many nodes there are, or could be."""
        return self.limit if self.template else len(self.nodes)


@dataclass(frozen=True, slots=True)
class ScaledResources:
    """The resources that units ask for, and the steps in which they do."""

    names: tuple[str, ...]
    steps: tuple[int, ...]
    most: tuple[int, ...]

    @classmethod
    def of(cls, kinds: Sequence[UnitClass], times: int = 1) -> ScaledResources:
        """Look at what all units together ask for, so many times; a node's room beyond that is of no use."""
        names = sorted({name for kind in kinds for name in kind.requests})
        asked = [[(kind.requests.get(name, 0), len(kind.entries)) for kind in kinds] for name in names]
        steps = tuple(gcd(*(need for need, _ in needs)) or 1 for needs in asked)
        sums = (sum(need * count for need, count in needs) for needs in asked)
        return cls(tuple(names), steps, tuple(times * total // step for total, step in zip(sums, steps, strict=True)))

    def needs(self, requests: Requests) -> tuple[int, ...]:
        """What is asked for, in steps."""
        return tuple(requests.get(name, 0) // step for name, step in zip(self.names, self.steps, strict=True))

    def left(self, room: Requests | None) -> tuple[int, ...]:
        """What a node has left, in whole steps and no more than all units need; None: it takes anything."""
        if room is None:
            return self.most
        free = (room.get(name) for name in self.names)
        limits = zip(self.names, free, self.steps, self.most, strict=True)
        return tuple(
            most if amount is None and name == PODS else min(most, max(0, amount or 0) // step)
            for name, amount, step, most in limits
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ViewedNode:
    """A node with the eyes of all kinds of units that it suits, and what it shares with others."""

    node: Node
    view: NodeView
    visible: VisibleAttributes
    shared: tuple[Pool, ...]


@dataclass
class NodeClassifier:
    """Puts nodes together.

    ``rooms`` is what running pods leave of each node, ``sight`` what is seen for the sake of goals, ``domains`` are the
    labels that gangs ask for, ``busy`` nodes that are in use whatever is planned.
    """

    engine: NodeEngine
    pools: PoolIndex
    ledger: AllocatedState
    kinds: Sequence[UnitClass]
    resources: ScaledResources
    rooms: Mapping[str, Requests | None]
    sight: VisibleAttributes
    domains: Sequence[str] = ()
    busy: frozenset[str] = frozenset()
    _rules: NodeRules = field(init=False)
    _numbers: dict[Pool, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = NodeRules(self.kinds)
        self._visible: dict[frozenset[int], VisibleAttributes] = {}

    def node_kinds(self, nodes: Iterable[Node], bought: Mapping[str, int]) -> list[PlanNodeClass]:
        """Find the kinds; ``bought`` holds for each node that stands for a template how many there could be."""
        listed = [node for node in nodes if self._rules.suited(node)]
        shared = self._shared(listed, bought)
        found: dict[Hashable, list[_ViewedNode]] = {}
        for node in listed:
            seen = self._seen(node, shared)
            found.setdefault(self._key(seen, node.metadata.name in bought), []).append(seen)
        return [self._kind(index, own, bought) for index, own in enumerate(found.values())]

    def _shared(self, nodes: Sequence[Node], bought: Mapping[str, int]) -> frozenset[PoolId]:
        """Pools that several nodes reach; a pool of a new node's own is named as it is."""
        reached = Counter(pool.id for node in nodes for pool in self.pools.pools_for(node))
        for node in nodes:
            name = node.metadata.name
            if bought.get(name, 1) > 1:
                reached.update(pool.id for pool in self.pools.pools_for(node) if pool.name != name)
        return frozenset(pool for pool, number in reached.items() if number > 1)

    def _seen(self, node: Node, shared: frozenset[PoolId]) -> _ViewedNode:
        suited = self._rules.suited(node)
        visible = self._visible.get(suited)
        if visible is None:
            questions = (self.engine.compiler.question(self.kinds[index].claims) for index in sorted(suited))
            seen = (question.visible for question in questions)
            visible = self._visible[suited] = reduce(VisibleAttributes.joined, seen, self.sight)
        view = self.engine.views.of(node, visible)
        return _ViewedNode(node, view, visible, tuple(pool for pool in view.pools if pool.id in shared))

    def _key(self, seen: _ViewedNode, apart: bool) -> Hashable:
        node, name = seen.node, seen.node.metadata.name
        labels = node.metadata.labels or {}
        return (
            self._rules.suited(node),
            seen.view.shape.index,
            self.ledger.in_use(seen.view).key,
            self.resources.left(self.rooms.get(name)),
            tuple(labels.get(label) for label in self.domains),
            tuple(self._numbers.setdefault(pool, len(self._numbers)) for pool in seen.shared),
            name in self.busy,
            name if apart else "",
        )

    def _kind(self, index: int, seen: Sequence[_ViewedNode], bought: Mapping[str, int]) -> PlanNodeClass:
        first = seen[0].node
        name, labels = first.metadata.name, first.metadata.labels or {}
        # Several new nodes have a host name each.
        domains = [label for label in self.domains if label != HOSTNAME_LABEL or bought.get(name, 1) == 1]
        return PlanNodeClass(
            index,
            sorted((one.node for one in seen), key=lambda node: node.metadata.name),
            self._rules.suited(first),
            self.resources.left(self.rooms.get(name)),
            {label: labels[label] for label in domains if label in labels},
            seen[0].view,
            seen[0].visible,
            seen[0].shared,
            name in self.busy,
            name if name in bought else "",
            bought.get(name, 0),
        )


class NodeRules:
    """Tells the kinds that a node suits (NODE-2, SCHED-2).

    Raises ``SelectorError`` for a claim that is allocated with a node selector that cannot be parsed.
    """

    def __init__(self, kinds: Sequence[UnitClass]) -> None:
        self._rules = {key: _NodeRule(kind) for kind in kinds if (key := _rule_key(kind)) is not None}
        self._kinds = [(kind.index, _rule_key(kind)) for kind in kinds]
        selectors = [selector for rule in self._rules.values() for selector in rule.selectors]
        terms = [term for selector in selectors for term in selector.node_selector_terms or ()]
        written = [one for term in terms for one in term.match_expressions or ()]
        plain = [key for rule in self._rules.values() for spec in rule.specs for key in spec.node_selector or ()]
        self._labels = sorted({*plain, *(one.key for one in written)})
        pins = any(spec.node_name for rule in self._rules.values() for spec in rule.specs)
        self._names = pins or any(term.match_fields for term in terms)
        self._known: dict[Hashable, frozenset[int]] = {}

    def suited(self, node: Node) -> frozenset[int]:
        """Indices of the kinds that may go to the node."""
        face = self._face(node)
        found = self._known.get(face)
        if found is None:
            allowed = {key for key, rule in self._rules.items() if rule.allows(node)}
            suited = frozenset(index for index, key in self._kinds if key is None or key in allowed)
            found = self._known[face] = suited
        return found

    def _face(self, node: Node) -> Hashable:
        """What rules can see of a node."""
        labels = node.metadata.labels or {}
        spec = node.spec
        return (
            node.metadata.name if self._names else None,
            tuple(labels.get(key) for key in self._labels),
            (spec.taints, spec.unschedulable) if spec else None,
        )


class _NodeRule:
    """What all nodes of a kind must be like."""

    def __init__(self, kind: UnitClass) -> None:
        self.specs = kind.specs
        earlier = [made.node_selector for made in kind.earlier if made.node_selector is not None]
        self._tests = [selector_test(selector) for selector in earlier]
        self.selectors = [*earlier, *(one for spec in self.specs for one in _required_affinity(spec))]

    def allows(self, node: Node) -> bool:
        return all(test(node) for test in self._tests) and not any(pod_fits(spec, node) for spec in self.specs)


def _required_affinity(spec: PodSpec) -> Iterator[NodeSelector]:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is not None and affinity.required is not None:
        yield affinity.required


def _rule_key(kind: UnitClass) -> bytes | None:
    """Equal for kinds with equal rules; None for loose claims, which may go anywhere."""
    if not kind.specs and not kind.earlier:
        return None
    return b"".join([pod_suitability_key(None, kind.earlier), *(pod_suitability_key(spec, ()) for spec in kind.specs)])


def busy_nodes(cluster: Cluster, gates: FeatureGates, nodes: Iterable[Node]) -> frozenset[str]:
    """Names of nodes where a pod runs, or a device is held that none other of these nodes reaches.

    Raises ``SelectorError`` (NODE-2).
    """
    usage, pools = cluster.usage(gates), cluster.pools(gates)
    seen = {node.metadata.name: pools.pools_for(node) for node in nodes}
    views = Counter(pool for own in seen.values() for pool in own)
    held = {pool: [one.id for one in pool.devices if one.reachable and usage.in_use(one.id)] for pool in views}
    reaching: Counter[DeviceId] = Counter()
    for pool, number in views.items():
        reaching.update(dict.fromkeys(held[pool], number))
    holding = {name for name, own in seen.items() if any(reaching[id_] == 1 for pool in own for id_ in held[pool])}
    return frozenset(holding.union(pod.spec.node_name or "" for pod in running_pods(cluster).values()))


# With smaller shares of a device than this part of it, tables of its fillings become too large.
_MOST_SHARES = 1000


@dataclass(frozen=True, slots=True)
class _DeviceAmounts:
    """The devices of a node by number with what is free of each, and what one has when all of it is free."""

    free: Mapping[int, int]
    capacity: int

    def in_steps(self, step: int) -> _DeviceAmounts:
        """The same in larger units."""
        return _DeviceAmounts({device: free // step for device, free in self.free.items()}, self.capacity // step)

    def node(self, left: tuple[int, ...], takes: Iterable[int]) -> LinearNode:
        """A node with these devices, which takes these unit classes."""
        free = tuple(self.free[device] for device in sorted(self.free))
        return LinearNode(free, self.capacity, left, frozenset(takes))


@dataclass(frozen=True, slots=True)
class LinearNodes:
    """The linear node kinds of an instance: their pricer, and how what it finds becomes a bundle."""

    pricer: LinearPricer
    devices: Mapping[int, _DeviceAmounts]
    questions: Mapping[int, BundleQuestion]

    def bundle(self, node_class: int, groups: Sequence[Sequence[int]]) -> Bundle:
        """Give devices to the groups of units that the pricer put on one device each, or on several as a whole."""
        question = self.questions[node_class]
        copies: dict[int, list[Picks]] = {unit.index: [] for unit in question.units}
        for group, devices in self._matched(node_class, groups):
            for index in group:
                copies[index].append(tuple(Pick(0, device) for device in devices))
        return Bundle(tuple(tuple(copies[unit.index]) for unit in question.units))

    def _matched(self, node_class: int, groups: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], list[int]]]:
        """The fullest groups get the devices with most left: if there is any way, this is one."""
        there = self.devices[node_class]
        left = sorted(there.free, key=lambda device: (there.free[device], -device))
        for group in sorted(groups, key=lambda group: -self._size(there, group)):
            number = max((self._number(index) for index in group), default=0)
            yield group, sorted(left.pop() for _ in range(number))

    def _size(self, there: _DeviceAmounts, group: Sequence[int]) -> int:
        units = [self.pricer.units[index] for index in group]
        return there.capacity if any(unit.devices for unit in units) else sum(unit.share for unit in units)

    def _number(self, index: int) -> int:
        unit = self.pricer.units[index]
        return unit.devices or int(unit.share > 0)


def linear_nodes(questions: Mapping[int, BundleQuestion], roles: int) -> LinearNodes:
    """Find the node kinds that are linear; ``roles`` is how many unit classes there are."""
    units: dict[int, LinearUnit] = {}
    found: dict[int, _LinearNodeClass] = {}
    for index, question in questions.items():
        linear = None if any(question.meters) or question.measures else _linear_node_class(question)
        if linear is not None and all(units.get(number, own) == own for number, own in linear.units.items()):
            found[index] = linear
            units.update(linear.units)
    step = gcd(*_amounts(found.values())) or 1
    devices = {index: linear.devices.in_steps(step) for index, linear in found.items()}
    resources = max((len(question.left) for question in questions.values()), default=0)
    nowhere = _DeviceAmounts({}, 1).node((0,) * resources, ())
    nodes = (
        devices[index].node(questions[index].left, found[index].units) if index in found else nowhere
        for index in sorted(questions)
    )
    nothing = LinearUnit(needs=(0,) * resources)
    asked = (units.get(number, nothing) for number in range(roles))
    pricer = LinearPricer(tuple(replace(unit, share=unit.share // step) for unit in asked), tuple(nodes))
    return LinearNodes(pricer, devices, {index: questions[index] for index in found})


@dataclass(frozen=True, slots=True)
class _LinearNodeClass:
    """A linear node kind: its devices, and what it may take."""

    devices: _DeviceAmounts
    units: Mapping[int, LinearUnit]


def _amounts(found: Iterable[_LinearNodeClass]) -> Iterator[int]:
    """All amounts of devices."""
    for linear in found:
        yield from (linear.devices.capacity, *linear.devices.free.values())
        yield from (unit.share for unit in linear.units.values())


def _linear_node_class(question: BundleQuestion) -> _LinearNodeClass | None:
    """Say a question in sums, None where these do not say it all."""
    asking = {unit.index: unit.problem for unit in question.units if unit.problem.demands}
    if not all(map(_is_simple, asking.values())):
        return None
    wanted = {index: frozenset(own.demands[0].candidates) - question.in_use.dedicated for index, own in asking.items()}
    sets = {devices: asking[index] for index, devices in wanted.items() if devices}
    if len(sets) > 1:
        return None
    there = next(
        (_device_amounts(own, devices, question.in_use) for devices, own in sets.items()), _DeviceAmounts({}, 1)
    )
    if there is None:
        return None
    units: dict[int, LinearUnit] = {}
    for unit in question.units:
        if not wanted.get(unit.index, True):
            continue
        taken = _unit_take(unit.problem, there) if unit.index in wanted else (0, 0)
        if taken is None:
            return None
        units[unit.index] = LinearUnit(*taken, unit.needs)
    least = min((unit.share for unit in units.values() if unit.share), default=there.capacity)
    return None if there.capacity > _MOST_SHARES * least else _LinearNodeClass(there, units)


def _is_simple(problem: Problem) -> bool:
    """Whether one exact request is all that is asked for."""
    if len(problem.demands) != 1 or problem.constraints or problem.relations:
        return False
    demand = problem.demands[0]
    return not demand.all_devices and not demand.admin and demand.count > 0


def _device_amounts(problem: Problem, devices: frozenset[int], in_use: InUse) -> _DeviceAmounts | None:
    """What is free of the devices; None where they are not alike, or draw on what others draw on."""
    drawing = problem.counters.consumption.keys() | problem.groups.membership.keys()
    if not devices.isdisjoint(drawing):
        return None
    if devices.isdisjoint(problem.shared):
        return _DeviceAmounts(dict.fromkeys(devices, 1), 1)
    if not devices <= problem.shared:
        return None
    rows = {device: problem.capacities.rows.get(device, ()) for device in devices}
    if any(len(own) != 1 for own in rows.values()):
        return None
    totals = {problem.capacities.totals[own[0]] for own in rows.values()}
    left = {device: problem.capacities.totals[own[0]] - in_use.consumed.get(own[0], 0) for device, own in rows.items()}
    total = totals.pop()
    return None if totals or total <= 0 else _DeviceAmounts({d: max(0, free) for d, free in left.items()}, total)


def _unit_take(problem: Problem, there: _DeviceAmounts) -> tuple[int, int] | None:
    """Whole devices and the share of one that a unit takes; None where it is neither."""
    demand = problem.demands[0]
    if not problem.shared.intersection(there.free):
        return demand.count, 0
    amounts = {_amount(demand, device) for device in there.free}
    if len(amounts) != 1:
        return None
    amount = amounts.pop()
    if amount == there.capacity and demand.count > 1:
        return demand.count, 0
    return (0, amount) if amount > 0 and demand.count == 1 else None


def _amount(demand: Demand, device: int) -> int:
    return sum(amount for _, amount in demand.amounts.get(device, ()))
