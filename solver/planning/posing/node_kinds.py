"""The nodes of a cluster as kinds that nothing planned can tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import gcd

from ....models.core import HOSTNAME_LABEL, Node
from ....models.identity import PoolId
from ....models.pod_requests import PODS, Requests
from ....models.pools import Pool, PoolIndex
from ....problem.in_use import Ledger
from ....problem.shapes import NodeView
from ....problem.visible import Visible
from ...node_engine import NodeEngine
from .node_rules import NodeRules
from .unit_kinds import UnitKind


@dataclass(frozen=True, slots=True, eq=False)
class NodeKind:
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
    visible: Visible
    shared: tuple[Pool, ...] = ()
    is_in_use: bool = False
    template: str = ""
    limit: int = 0

    @property
    def count(self) -> int:
        """How many nodes there are, or could be."""
        return self.limit if self.template else len(self.nodes)


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that units ask for, and the steps in which they do."""

    names: tuple[str, ...]
    steps: tuple[int, ...]
    most: tuple[int, ...]

    @classmethod
    def of(cls, kinds: Sequence[UnitKind], times: int = 1) -> Resources:
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
class _Seen:
    """A node with the eyes of all kinds of units that it suits, and what it shares with others."""

    node: Node
    view: NodeView
    visible: Visible
    shared: tuple[Pool, ...]


@dataclass
class Survey:
    """Puts nodes together.

    ``rooms`` is what running pods leave of each node, ``sight`` what is seen for the sake of goals, ``domains`` are the
    labels that gangs ask for, ``busy`` nodes that are in use whatever is planned.
    """

    engine: NodeEngine
    pools: PoolIndex
    ledger: Ledger
    kinds: Sequence[UnitKind]
    resources: Resources
    rooms: Mapping[str, Requests | None]
    sight: Visible
    domains: Sequence[str] = ()
    busy: frozenset[str] = frozenset()
    _rules: NodeRules = field(init=False)
    _numbers: dict[Pool, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = NodeRules(self.kinds)
        self._visible: dict[frozenset[int], Visible] = {}

    def node_kinds(self, nodes: Iterable[Node], bought: Mapping[str, int]) -> list[NodeKind]:
        """Find the kinds; ``bought`` holds for each node that stands for a template how many there could be."""
        listed = [node for node in nodes if self._rules.suited(node)]
        shared = self._shared(listed, bought)
        found: dict[Hashable, list[_Seen]] = {}
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

    def _seen(self, node: Node, shared: frozenset[PoolId]) -> _Seen:
        suited = self._rules.suited(node)
        visible = self._visible.get(suited)
        if visible is None:
            questions = (self.engine.compiler.question(self.kinds[index].claims) for index in sorted(suited))
            seen = (question.visible for question in questions)
            visible = self._visible[suited] = reduce(Visible.joined, seen, self.sight)
        view = self.engine.views.of(node, visible)
        return _Seen(node, view, visible, tuple(pool for pool in view.pools if pool.id in shared))

    def _key(self, seen: _Seen, apart: bool) -> Hashable:
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

    def _kind(self, index: int, seen: Sequence[_Seen], bought: Mapping[str, int]) -> NodeKind:
        first = seen[0].node
        name, labels = first.metadata.name, first.metadata.labels or {}
        # Several new nodes have a host name each.
        domains = [label for label in self.domains if label != HOSTNAME_LABEL or bought.get(name, 1) == 1]
        return NodeKind(
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
