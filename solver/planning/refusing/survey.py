"""Which nodes have room for a unit, and which have devices for it: equal nodes are asked once.

Nodes come in kinds: those of one kind have equal devices with equal usage, as far as the claims can see. So that a
large cluster stays cheap only the largest kinds are asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from ....models.cluster import Cluster
from ....models.core import Node
from ....models.gates import FeatureGates
from ....models.identity import ObjectKey
from ....problem.visible import Visible
from ...attempts import Attempt, Ending, Session
from ...auto import Auto
from ...engines import effective_policy
from ...failed_nodes import FailedNodes
from ...suitable_nodes import SuitableNodes
from .state import State
from .wish import Wish

# Kinds of nodes that are asked about one unit in one state, the largest first.
MOST_KINDS = 16
# Deterministic units of work of the solver for one question, and for all of them.
WORK = 0.5
WORK_IN_ALL = 30.0

_DEVICELESS = Attempt(Ending.ALLOCATED)
_UNDECIDED = Attempt(Ending.UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Nodes with equal devices, by position, and how an attempt on the first of them ended."""

    nodes: list[int]
    attempt: Attempt

    @property
    def has_devices(self) -> bool:
        """Whether the unit finds its devices there."""
        return self.attempt.ending is Ending.ALLOCATED

    @property
    def lacks_devices(self) -> bool:
        """Whether it finds too few of them, and nothing else went wrong."""
        return self.attempt.ending is Ending.NONE

    @property
    def is_undecided(self) -> bool:
        """Whether the search ended before that was known."""
        return self.attempt.ending in (Ending.UNKNOWN, Ending.TIMEOUT)


@dataclass(slots=True)
class Surveyed:
    """The nodes that suit a unit, as kinds: those with room for it, and those without.

    ``is_cut``: not all kinds were asked, or of some it is not known whether they have the devices.
    """

    roomy: list[Kind] = field(default_factory=list)
    cramped: list[Kind] = field(default_factory=list)
    is_cut: bool = False

    @property
    def fitting(self) -> list[int]:
        """The nodes that have all of it, in order."""
        return sorted(node for kind in self.roomy if kind.has_devices for node in kind.nodes)


class Surveyor:
    """Looks at nodes of a cluster with the eyes of one unit at a time; None: all are ``usable``."""

    def __init__(
        self, cluster: Cluster, gates: FeatureGates, cel_errors: str, seed: int, usable: Container[str] | None
    ) -> None:
        nodes = cluster.nodes.items()
        self.nodes: Sequence[Node] = [node for name, node in nodes if usable is None or name in usable]
        self._engine = Auto(Session(cluster, gates, effective_policy("auto", cel_errors), seed, work=WORK))
        self._suited: dict[Hashable, tuple[SuitableNodes, list[int]]] = {}

    def name(self, position: int) -> str:
        """The name of a node."""
        return self.nodes[position].metadata.name

    def suited(self, wish: Wish) -> tuple[SuitableNodes, list[int]]:
        """Find the nodes that suit the pod and its allocated claims. Raises ``SelectorError``."""
        found = self._suited.get(wish.place)
        if found is None:
            suitable = SuitableNodes(self.nodes, wish.spec, wish.earlier)
            found = self._suited[wish.place] = suitable, list(suitable)
        return found

    def survey(self, wish: Wish, state: State, among: Sequence[int]) -> Surveyed:
        """Look at these nodes. Raises ``SelectorError``."""
        found = Surveyed()
        split: dict[bool, list[int]] = {False: [], True: []}
        for position in among:
            split[bool(state.lacks(self.name(position), wish.requests))].append(position)
        for is_cramped, kept in ((False, found.roomy), (True, found.cramped)):
            kinds = self.kinds(wish, state, split[is_cramped])
            kept += [Kind(nodes, self.attempt(wish, state, nodes[0])) for nodes in kinds[:MOST_KINDS]]
            found.is_cut |= len(kinds) > MOST_KINDS or any(kind.is_undecided for kind in kept)
        return found

    def open_nodes(self, wish: Wish, state: State) -> list[int]:
        """Find the nodes that suit a wish, but for those that surely do not have it. Raises ``SelectorError``."""
        found = state.open.get(wish.key)
        if found is None:
            roomy = [node for node in self.suited(wish)[1] if not state.lacks(self.name(node), wish.requests)]
            kinds = self.kinds(wish, state, roomy)
            asked, others = kinds[:MOST_KINDS], kinds[MOST_KINDS:]
            kept = [nodes for nodes in asked if not Kind(nodes, self.attempt(wish, state, nodes[0])).lacks_devices]
            found = state.open[wish.key] = sorted(node for nodes in (*kept, *others) for node in nodes)
        return found

    def kinds(self, wish: Wish, state: State, among: Iterable[int]) -> list[list[int]]:
        """Put nodes with equal devices together, the largest kinds first. Raises ``SelectorError``."""
        if not wish.claims:
            nodes = list(among)
            return [nodes] if nodes else []
        found: dict[Hashable, list[int]] = defaultdict(list)
        visible = self._engine.compiler.question(wish.claims).visible
        known = state.keys.setdefault(visible, {})
        for position in among:
            said = state.alike.get(self.name(position), position)
            key = known.get(said)
            if key is None:
                key = known[said] = self._key(position, visible, state)
            found[key].append(position)
        return sorted(found.values(), key=lambda nodes: (-len(nodes), nodes[0]))

    def _key(self, position: int, visible: Visible, state: State) -> Hashable:
        view = self._engine.views.of(self.nodes[position], visible)
        return view.shape.index, state.ledger.in_use(view).key

    def attempt(self, wish: Wish, state: State, position: int) -> Attempt:
        """Look for devices on one node; it is not decided any more once the solver has worked enough."""
        if not wish.claims:
            return _DEVICELESS
        if self._engine.decider.counts.work > WORK_IN_ALL:
            return _UNDECIDED
        return self._engine.attempt(self.nodes[position], wish.claims, state.ledger, None)

    def holders(self, position: int, wish: Wish, state: State) -> dict[ObjectKey, int]:
        """Find the claims that have devices which a unit may have on a node, and how many each has.

        If there are none: those that have any devices of the node.
        """
        question = self._engine.compiler.question(wish.claims)
        view = self._engine.views.of(self.nodes[position], question.visible)
        problem = self._engine.compiler.problem(question, view.shape)
        meant = {number for demand in problem.demands for number in demand.candidates}
        usage = state.ledger.usage
        held = [(number, hold.claim) for number, device in enumerate(view.devices) for hold in usage.holds(device.id)]
        return dict(Counter(claim for number, claim in held if number in meant) or Counter(claim for _, claim in held))

    def fits(self, wish: Wish, state: State, position: int) -> bool:
        """Tell whether one node that suits the unit has room and devices for it."""
        if state.lacks(self.name(position), wish.requests):
            return False
        return self.attempt(wish, state, position).ending is Ending.ALLOCATED

    def failed(self, kinds: Iterable[Kind]) -> FailedNodes:
        """Put together how nodes failed that do not have the devices."""
        failed = FailedNodes([node.metadata.name for node in self.nodes])
        for kind in kinds:
            for position in kind.nodes:
                failed.add(position, kind.attempt)
        return failed
