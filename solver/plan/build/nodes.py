"""The nodes of a cluster as node classes that no planned unit can tell apart, and the nodes that could be bought.

Node rules (NODE-2, SCHED-2) are evaluated once for all nodes that look the same to them. One node of each NodeTemplate
stands for all that could be bought, until the plan says how many. New nodes have names that the input mentions nowhere:
slices, claims, pods and selectors that name a node which does not exist never apply to a new one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from itertools import count, islice
from math import gcd
from types import MappingProxyType

import msgspec
from msgspec import structs

from ....models.cluster.cluster import Cluster
from ....models.cluster.node_fit import pod_fits, selector_test
from ....models.cluster.pools import Pool, PoolIndex
from ....models.kubernetes.core import HOSTNAME_LABEL, Node, NodeStatus
from ....models.kubernetes.karpenter import NodePool
from ....models.kubernetes.meta import PoolId
from ....models.kubernetes.node_templates import (
    NodeTemplate,
    PurchaseLimit,
    is_pool_of_node,
    node_from_template,
    slices_from_template,
)
from ....models.kubernetes.slices import ResourceSlice
from ....models.kubernetes.workloads import DaemonSet, pod_specs
from ....models.workload.controller_kinds import daemon_specs
from ....models.workload.node_room import allocatable_of, subtract_requests
from ....models.workload.requests import PODS, Requests, effective_requests, format_amount
from ....problem.messages import check_deadline
from ....problem.node_state import AllocatedState
from ....problem.requests import VisibleAttributes
from ....problem.shapes import NodeView, group_equal, node_class_key
from ...allocate.nodes import pod_suitability_key
from ...engines.engines import NodeCompiler
from ..master_problem import CouplingRow, Terms
from ..pricing.bundle import BundleQuestion, BundleUnit
from .gangs import GangRole
from .pod_rules import NodeLimits, volume_selectors
from .preferences import PreferencePlan
from .units import UnitClass
from .weights import requested_devices

# The size of a unit that takes a whole node, and how much more large units count.
_WHOLE_NODE, _SIZE_EXPONENT = 1 << 20, 1.2


@dataclass(frozen=True, slots=True, eq=False)
class PlanNodeClass:
    """Equal nodes, by name; each has ``left`` of the resources. ``suitable_classes`` may go there, by index.

    ``view`` is what these unit classes together see of the first node, namely what is ``visible``. ``labels`` holds the
    values of the labels that gangs ask for. ``shared`` are pools that other nodes reach, too. ``template`` and
    ``limit`` are those of nodes that could be bought, of which the first stands for all.
    """

    index: int
    nodes: Sequence[Node]
    suitable_classes: frozenset[int]
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

    def takes(self, role: GangRole) -> bool:
        """Whether a role may be played on these nodes: they suit the unit class, and are in the role's domain."""
        if role.unit_class.index not in self.suitable_classes:
            return False
        return all(self.labels.get(key) == value for key, value in (*role.cell, *(role.domain or ())))


@dataclass(frozen=True, slots=True)
class ScaledResources:
    """The resources that units ask for, and the steps in which they do."""

    names: tuple[str, ...]
    steps: tuple[int, ...]
    most: tuple[int, ...]
    limits: NodeLimits | None = None

    @classmethod
    def of(
        cls,
        unit_classes: Sequence[UnitClass],
        times: int = 1,
        limits: NodeLimits | None = None,
        draws: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    ) -> ScaledResources:
        """Look at what all units together ask for, so many times; a node's room beyond that is of no use.

        ``limits`` are what rules of pods add to requests and to nodes, ``draws`` the steps in which devices take of
        resources, and the most that all devices together take.
        """
        made = [{**one.requests, **limits.needs.get(one.index, {})} if limits else one.requests for one in unit_classes]
        names = sorted({name for requests in made for name in requests} | draws.keys())
        pairs = list(zip(unit_classes, made, strict=True))
        requested = [[(requests.get(name, 0), len(one.entries)) for one, requests in pairs] for name in names]
        drawn = [draws.get(name, (0, 0)) for name in names]
        taken = list(zip(requested, drawn, strict=True))
        steps = tuple(gcd(step, *(need for need, _ in needs)) or 1 for needs, (step, _) in taken)
        sums = (sum(need * count for need, count in needs) + most for needs, (_, most) in taken)
        most = tuple(times * total // step for total, step in zip(sums, steps, strict=True))
        return cls(tuple(names), steps, most, limits)

    def needs(self, unit_class: UnitClass) -> tuple[int, ...]:
        """Convert what a unit takes to steps."""
        requests = unit_class.requests
        if self.limits:
            requests = {**requests, **self.limits.needs.get(unit_class.index, {})}
        return tuple(requests.get(name, 0) // step for name, step in zip(self.names, self.steps, strict=True))

    def size(self, role: GangRole, nodes: Sequence[PlanNodeClass]) -> int:
        """What one unit takes of a node that takes it, roughly: more than in proportion, so that large ones count."""
        node = next((node for node in nodes if node.takes(role)), None)
        if node is None:
            return 1
        devices = requested_devices(role.unit_class.shapes) / max(1, len(node.view.devices))
        pairs = zip(self.needs(role.unit_class), node.left, strict=True)
        part = max([devices, *(need / left for need, left in pairs if left)])
        return 1 + int(_WHOLE_NODE * pow(min(1.0, part), _SIZE_EXPONENT))

    def left(self, room: Requests | None, node: Node) -> tuple[int, ...]:
        """Convert the free amounts of a node to whole steps, no more than all units need; None: it takes anything."""
        limited = self.limits.left(node) if self.limits else {}
        if room is None:
            sizes = zip(self.names, self.most, self.steps, strict=True)
            return tuple(min(most, limited[name] // step) if name in limited else most for name, most, step in sizes)
        free = (limited.get(name, room.get(name)) for name in self.names)
        limits = zip(self.names, free, self.steps, self.most, strict=True)
        return tuple(
            most if amount is None and name == PODS else min(most, max(0, amount or 0) // step)
            for name, amount, step, most in limits
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ViewedNode:
    """A node as all unit classes see it that it suits, and the pools that it shares with others."""

    node: Node
    view: NodeView
    visible: VisibleAttributes
    shared: tuple[Pool, ...]


@dataclass
class NodeClassifier:
    """Groups nodes into classes.

    ``room_by_node`` is what running pods leave of each node, ``visible_for_objective`` what stages look at, ``domains``
    labels that gangs ask for, ``busy`` nodes in use whatever is planned. ``homes`` are nodes with pods that may move,
    which need not suit any unit. ``preferences`` say what nodes count for units.
    """

    compiler: NodeCompiler
    pools: PoolIndex
    allocated_state: AllocatedState
    unit_classes: Sequence[UnitClass]
    resources: ScaledResources
    room_by_node: Mapping[str, Requests | None]
    visible_for_objective: VisibleAttributes
    domains: Sequence[str] = ()
    busy: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    preferences: PreferencePlan | None = None
    _rules: NodeRules = field(init=False)
    _numbers: dict[Pool, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = NodeRules(self.unit_classes)
        self._visible: dict[frozenset[int], VisibleAttributes] = {}

    def node_classes(self, nodes: Iterable[Node], bought: Mapping[str, int]) -> list[PlanNodeClass]:
        """Return the classes; ``bought`` holds for each node that stands for a template how many there could be."""
        listed = [node for node in nodes if self._rules.suitable_classes(node) or node.metadata.name in self.homes]
        shared = self._shared(listed, bought)
        seen = [self._seen(node, shared) for node in listed]
        groups = group_equal(seen, lambda one: self._key(one, one.node.metadata.name in bought))
        return [self._node_class(index, own, bought) for index, own in enumerate(groups)]

    def _shared(self, nodes: Sequence[Node], bought: Mapping[str, int]) -> frozenset[PoolId]:
        """Pools that several nodes reach; a pool of a new node's own is named as it is."""
        reached = Counter(pool.id for node in nodes for pool in self.pools.pools_for(node))
        for node in nodes:
            name = node.metadata.name
            if bought.get(name, 1) > 1:
                reached.update(pool.id for pool in self.pools.pools_for(node) if not is_pool_of_node(pool.name, name))
        return frozenset(pool for pool, number in reached.items() if number > 1)

    def _seen(self, node: Node, shared: frozenset[PoolId]) -> _ViewedNode:
        check_deadline(self.compiler.deadline)
        suitable = self._rules.suitable_classes(node)
        visible = self._visible.get(suitable)
        if visible is None:
            questions = (self.compiler.question(self.unit_classes[index].claims) for index in sorted(suitable))
            seen = (question.visible for question in questions)
            visible = self._visible[suitable] = reduce(VisibleAttributes.joined, seen, self.visible_for_objective)
        view = self.compiler.views.of(node, visible)
        return _ViewedNode(node, view, visible, tuple(pool for pool in view.pools if pool.id in shared))

    def _key(self, seen: _ViewedNode, apart: bool) -> Hashable:
        node, name = seen.node, seen.node.metadata.name
        labels = node.metadata.labels or {}
        return (
            self._rules.suitable_classes(node),
            node_class_key(seen.view, self.allocated_state.in_use(seen.view)),
            self.resources.left(self.room_by_node.get(name), node),
            tuple(labels.get(label) for label in self.domains),
            tuple(self._numbers.setdefault(pool, len(self._numbers)) for pool in seen.shared),
            name in self.busy,
            name if apart else "",
            self.preferences.scores(node) if self.preferences else (),
        )

    def _node_class(self, index: int, seen: Sequence[_ViewedNode], bought: Mapping[str, int]) -> PlanNodeClass:
        first = seen[0].node
        name, labels = first.metadata.name, first.metadata.labels or {}
        # Several new nodes have a host name each.
        domains = [label for label in self.domains if label != HOSTNAME_LABEL or bought.get(name, 1) == 1]
        return PlanNodeClass(
            index,
            sorted((one.node for one in seen), key=lambda node: node.metadata.name),
            self._rules.suitable_classes(first),
            self.resources.left(self.room_by_node.get(name), first),
            {label: labels[label] for label in domains if label in labels},
            seen[0].view,
            seen[0].visible,
            seen[0].shared,
            name in self.busy,
            name if name in bought else "",
            bought.get(name, 0),
        )


class NodeRules:
    """Finds the unit classes that a node suits (NODE-2, SCHED-2).

    Raises ``SelectorError`` for a claim that is allocated with a node selector that cannot be parsed.
    """

    def __init__(self, unit_classes: Sequence[UnitClass]) -> None:
        keys = [_rule_key(unit_class) for unit_class in unit_classes]
        pairs = zip(keys, unit_classes, strict=True)
        self._rules = {key: _NodeRule(unit_class) for key, unit_class in pairs if key is not None}
        self._rule_keys = [(unit_class.index, key) for key, unit_class in zip(keys, unit_classes, strict=True)]
        selectors = [selector for rule in self._rules.values() for selector in rule.selectors]
        terms = [term for selector in selectors for term in selector.node_selector_terms or ()]
        written = [one for term in terms for one in term.match_expressions or ()]
        plain = [key for rule in self._rules.values() for spec in rule.specs for key in spec.node_selector or ()]
        self._labels = sorted({*plain, *(one.key for one in written)})
        pins = any(spec.node_name for rule in self._rules.values() for spec in rule.specs)
        self._names = pins or any(term.match_fields for term in terms)
        self._known: dict[Hashable, frozenset[int]] = {}

    def suitable_classes(self, node: Node) -> frozenset[int]:
        """Indices of the unit classes that may go to the node."""
        face = self._face(node)
        found = self._known.get(face)
        if found is None:
            allowed = {key for key, rule in self._rules.items() if rule.allows(node)}
            found = frozenset(index for index, key in self._rule_keys if key is None or key in allowed)
            self._known[face] = found
        return found

    def _face(self, node: Node) -> Hashable:
        """Equal for nodes that look the same to all rules."""
        labels = node.metadata.labels or {}
        spec = node.spec
        return (
            node.metadata.name if self._names else None,
            tuple(labels.get(key) for key in self._labels),
            (spec.taints, spec.unschedulable) if spec else None,
        )


class _NodeRule:
    """The rules for nodes that suit a unit class."""

    def __init__(self, unit_class: UnitClass) -> None:
        self.specs = unit_class.specs
        earlier = [made.node_selector for made in unit_class.earlier if made.node_selector is not None]
        # Nodes from which volumes can be used.
        earlier += volume_selectors(unit_class)
        self._tests = [selector_test(selector) for selector in earlier]
        affinities = (spec.affinity.node_affinity for spec in self.specs if spec.affinity)
        self.selectors = [*earlier, *(one.required for one in affinities if one and one.required is not None)]

    def allows(self, node: Node) -> bool:
        return all(test(node) for test in self._tests) and not any(pod_fits(spec, node) for spec in self.specs)


def _rule_key(unit_class: UnitClass) -> bytes | None:
    """Equal for unit classes with equal rules; None for loose claims, which may go anywhere."""
    if not unit_class.specs and not unit_class.earlier:
        return None
    by_pod = (pod_suitability_key(spec, ()) for spec in unit_class.specs)
    volumes = volume_selectors(unit_class)
    return b"".join(
        [repr(volumes).encode() if volumes else b"", pod_suitability_key(None, unit_class.earlier), *by_pod]
    )


def may_span_nodes(nodes: Sequence[PlanNodeClass], questions: Mapping[int, BundleQuestion]) -> bool:
    """Whether units that share a claim could use its devices from several nodes; they are planned on one node."""
    return any(unit.size > 1 or unit.provides for unit in _units_of_shared_pools(nodes, questions))


def without_spanning_claims(
    nodes: Sequence[PlanNodeClass], questions: Mapping[int, BundleQuestion]
) -> dict[int, BundleQuestion]:
    """Let claims take nothing that could be used from several nodes."""
    gone = {unit.provides for unit in _units_of_shared_pools(nodes, questions) if unit.provides}
    return {
        number: replace(
            question,
            units=tuple(replace(unit, names=unit.names - gone) for unit in question.units if unit.provides not in gone),
        )
        for number, question in questions.items()
    }


def _units_of_shared_pools(
    nodes: Sequence[PlanNodeClass], questions: Mapping[int, BundleQuestion]
) -> Iterator[BundleUnit]:
    for node in nodes:
        pools = {pool.id for pool in node.shared}
        for unit in questions[node.index].units if pools else ():
            devices = {device for demand in unit.problem.demands for device in demand.candidates}
            # Admin access might have been given to others.
            if unit.looks_at or any(node.view.devices[number].id[:2] in pools for number in devices):
                yield unit


@dataclass(frozen=True, slots=True)
class NodeTemplateOffer:
    """A node that could be bought as a template says, after ``before`` others; the last stands for all that follow."""

    template: NodeTemplate
    before: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class NodeCatalogue:
    """A cluster with nodes of each template in it: offers by the names of these nodes.

    ``limits`` are those that templates share.
    """

    cluster: Cluster
    offers: Mapping[str, NodeTemplateOffer]
    limits: Sequence[PurchaseLimit] = ()

    def limit(self, node: str, most: int) -> int:
        """How many could be bought in its place; more than ``most`` of a template are never of use."""
        offer = self.offers[node]
        limit = offer.template.spec.limit
        shared = (one.most // amount for one in self.limits if (amount := self._amount(one, node)))
        left = max(0, min(most if limit is None else min(limit, most), *shared, most) - offer.before)
        return left if offer.is_last else min(1, left)

    def _amount(self, limit: PurchaseLimit, node: str) -> int:
        return limit.amounts.get(self.offers[node].template.metadata.name, 0)

    def limit_rows(self, nodes: Sequence[PlanNodeClass]) -> Iterator[CouplingRow]:
        """Yield the rows of the limits that templates share (R16, R17), where they could be exceeded."""
        bought = [node for node in nodes if node.template]
        for one in self.limits:
            amounts = {node.index: amount for node in bought if (amount := self._amount(one, node.template))}
            if sum(amounts.get(node.index, 0) * node.count for node in bought) > one.most:
                step = gcd(*amounts.values())
                yield CouplingRow(
                    Terms(nodes={index: amount // step for index, amount in amounts.items()}), upper=one.most // step
                )

    def price(self, node: str) -> Fraction:
        """The price of one; nothing where none is given."""
        return Fraction(str(self.offers[node].template.spec.price or 0))


def build_node_catalogue(cluster: Cluster, apart: int = 0, limits: Sequence[PurchaseLimit] = ()) -> NodeCatalogue:
    """Add a node of each template, beside ``apart`` that stand for themselves alone, so that a domain may be one node.

    Raises ``ValueError`` if there is no template, and no NodePool that has no node to offer.
    """
    if not cluster.node_templates and not cluster.objects(NodePool):
        raise ValueError("there is no NodeTemplate to buy nodes from")
    offers: dict[str, NodeTemplateOffer] = {}
    for name, template in cluster.node_templates.items():
        limit = template.spec.limit
        alone = apart if limit is None else min(apart, limit)
        names = new_names(cluster, name, alone + 1)
        offers.update((one, NodeTemplateOffer(template, place, place == alone)) for place, one in enumerate(names))
    nodes = [_new_node(cluster, offer.template, name) for name, offer in offers.items()]
    slices = [made for name, offer in offers.items() for made in slices_from_template(offer.template, name)]
    return NodeCatalogue(_with_new_nodes(cluster, nodes, slices), offers, limits)


def with_bought_nodes(cluster: Cluster, counts: Mapping[str, int]) -> tuple[Cluster, dict[str, tuple[Node, ...]]]:
    """Add so many nodes of each template; return them, too."""
    bought: dict[str, tuple[Node, ...]] = {}
    slices: list[ResourceSlice] = []
    for name, number in counts.items():
        template = cluster.node_templates[name]
        names = new_names(cluster, name, number)
        bought[name] = tuple(_new_node(cluster, template, one) for one in names)
        slices += [made for one in names for made in slices_from_template(template, one)]
    return _with_new_nodes(cluster, [node for own in bought.values() for node in own], slices), bought


def _new_node(cluster: Cluster, template: NodeTemplate, name: str) -> Node:
    """The node with what DaemonSets leave of it: their pods are there before all others."""
    node = node_from_template(template, name)
    amounts = allocatable_of(node)
    if amounts is None or not cluster.objects(DaemonSet):
        return node
    for spec in daemon_specs(cluster, node):
        subtract_requests(amounts, effective_requests(spec))
    left = {resource: format_amount(resource, max(0, amount)) for resource, amount in amounts.items()}
    return structs.replace(node, status=NodeStatus(allocatable=dict(left), capacity=template.spec.capacity))


def _with_new_nodes(cluster: Cluster, nodes: list[Node], slices: list[ResourceSlice]) -> Cluster:
    return cluster.with_nodes(nodes, slices) if nodes else cluster


_encode = msgspec.json.Encoder().encode
_json_strings = re.compile(rb'"([^"]*)"').findall


def new_names(cluster: Cluster, stem: str, number: int) -> list[str]:
    """Return so many unused names, ``STEM-1`` first; the names are the same for every call."""
    said = cluster.memo("names of nodes", lambda: frozenset(_mentioned_names(cluster)))
    return list(islice((name for place in count(1) if (name := f"{stem}-{place}") not in said), number))


def _mentioned_names(cluster: Cluster) -> Iterator[str]:
    yield from cluster.nodes
    for part in {_encode(part) for part in _naming_parts(cluster)}:
        yield from (text.decode() for text in _json_strings(part))


def _naming_parts(cluster: Cluster) -> Iterator[object]:
    """Yield the parts of objects that may name nodes, or pools, which are named like their nodes."""
    for slice_ in cluster.slices:
        spec = slice_.spec
        yield spec.node_name, spec.pool.name, spec.node_selector
        for device in spec.devices or () if spec.per_device_node_selection else ():
            yield device.node_name, device.node_selector
    for claim in cluster.claims.values():
        made = claim.status.allocation if claim.status else None
        if made is not None:
            yield made.node_selector, [result.pool for result in made.devices.results or ()]
    yield from (rule.spec for rule in cluster.taint_rules)
    specs = [pod.spec for pod in cluster.pods.values()]
    makers = (maker for found in cluster.workload_objects.values() for maker in found.values())
    specs += [spec for maker in makers for _, spec in pod_specs(maker)]
    yield from ((spec.node_name, spec.node_selector, spec.affinity) for spec in specs)
