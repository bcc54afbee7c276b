"""Audits of a no: every refusal is decided anew, by formulations of the verifier's own (``existence``).

Units that ConstraintGroups tie have places together or none of them has: which units these are is read here anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.workload.expansion import UnitExpander
from ...models.workload.groups import group_members
from ...models.workload.requested import all_units
from ...models.workload.unit_classes import UnitSet
from ...models.workload.units import Unit
from .audit_rows import NodeFace, most_valuable
from .bundles import NodeBundles, UnitKind
from .existence import Audit, NodeAudit, TiedAudit, TyingGroup
from .payments import SharedPrices
from .reasons import ReasonAudit, ReasonSet, ReasonVerdict
from .state import ExpressionTimeoutError
from .verify import Placement, Replay


@dataclass(frozen=True, slots=True)
class Refusal:
    """A unit that is said to fit none of the nodes: claims to allocate, and those that were allocated before.

    ``reasons`` are what is said to be impossible on some of the nodes.
    """

    nodes: tuple[Node, ...]
    claims: tuple[ResourceClaim, ...]
    pod: Pod | None = None
    earlier: tuple[ResourceClaim, ...] = ()
    reasons: tuple[ReasonSet, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalVerdict:
    """What became of a refusal, in the order of its nodes, and of the sets of reasons, in theirs."""

    nodes: tuple[Audit, ...]
    reasons: tuple[ReasonVerdict, ...] = ()

    @property
    def is_impossible(self) -> bool:
        """Whether no node has a place."""
        return all(one is Audit.IMPOSSIBLE for one in self.nodes)


@dataclass(eq=False, slots=True)
class TiedUnits:
    """Units that have places together or not at all: seats, of which each is on one node, and the groups."""

    seats: list[list[Unit]]
    groups: list[TyingGroup] = field(default_factory=list)
    nodes: tuple[Node, ...] = ()

    @property
    def units(self) -> Iterator[Unit]:
        """Yield all units."""
        for seat in self.seats:
            yield from seat


def tied_units(cluster: Cluster, units: Sequence[Unit], there: Sequence[Unit] | None = None) -> list[TiedUnits]:
    """The units that hard entries of ConstraintGroups tie, or the label of nodes.

    Groups may speak of the units that are ``there``; None: those of the cluster. Units that share a claim to allocate
    have one seat. Raises ``GroupError`` for a group that is wrong.
    """
    seats: dict[int, tuple[set[ObjectKey], list[Unit]]] = {}
    seat_of: dict[ObjectKey, int] = {}
    for number, unit in enumerate(units):
        keys = {ref.key for ref in unit.requested_claims}
        sharing = [seats.pop(place) for place in sorted({seat_of[key] for key in keys if key in seat_of})]
        keys.update(*(own for own, _ in sharing))
        seats[number] = keys, [*(one for _, own in sharing for one in own), unit]
        seat_of.update(dict.fromkeys(keys, number))
    found = [(keys, TiedUnits([own])) for keys, own in seats.values()]
    for group in cluster.constraint_groups.values():
        if group.spec.same_node_label or any(one.weight is None for one in group.spec.constraints or ()):
            members = frozenset(group_members(group, cluster, there))
            tied = [one for one in found if not members.isdisjoint(one[0])]
            if tied:
                whole = TiedUnits([], [*(one for _, own in tied for one in own.groups), (group, members)])
                whole.seats += [seat for _, own in tied for seat in own.seats]
                found = [one for one in found if one not in tied]
                found.append((set[ObjectKey]().union(*(keys for keys, _ in tied)), whole))
    return [one for _, one in found if one.groups]


def without_never_placed(
    cluster: Cluster,
    sets: Sequence[UnitSet],
    replay: Replay,
    caller_constraints: Sequence[extensions.CallerConstraint],
    deadline: float | None,
) -> Sequence[UnitSet]:
    """The queue of a plan without units that are tied and have no places together, whatever else is planned."""
    expander = UnitExpander(cluster, replay.context.gates)
    # Pods of DaemonSets have their places before all others.
    free = [(place, number) for place, one in enumerate(sets) if not one.node for number in one.numbers]
    units = [expander.unit(sets[place], number) for place, number in free]
    queued = {(unit.pod is None, unit.namespace, unit.name) for unit in units}
    others = [one for one in all_units(cluster) if (one.pod is None, one.namespace, one.name) not in queued]
    names, never = {id(unit): name for unit, name in zip(units, free, strict=True)}, set[tuple[int, int]]()
    nodes = tuple(cluster.nodes.values())
    for tied in tied_units(cluster, units, [*others, *units]):
        if TiedAudit(replay, nodes, caller_constraints, deadline).is_impossible(tied.seats, tied.groups):
            never.update(names[id(unit)] for unit in tied.units)
    return [
        one._replace(numbers=[number for number in one.numbers if (place, number) not in never])
        for place, one in enumerate(sets)
    ]


def audit(
    cluster: Cluster,
    steps: Iterable[Placement | Refusal | TiedUnits],
    gates: FeatureGates,
    *,
    cel_errors: str = "strict",
    caller_constraints: Sequence[extensions.CallerConstraint] = (),
    deadline: float | None = None,
) -> list[RefusalVerdict]:
    """Decide anew, for every refusal and each of its nodes, whether the claims have no allocation there.

    Its sets of reasons are audited as well (``reasons``). Of units that are tied the verdict is about all nodes, and
    says no more than that they have no places together. The other arguments are as for ``verify``; what is refused
    sees what placements before it leave. Nodes for which there is no time are undecided. What devices take of
    nodes, and what couples units, is left aside: it could only refuse more.
    """
    replay = Replay(cluster, gates, cel_errors, caller_constraints, deadline=deadline)
    found: list[RefusalVerdict] = []
    for step in steps:
        if isinstance(step, Refusal):
            found.append(_RefusalAudit(replay, step, caller_constraints, deadline).verdict())
        elif isinstance(step, TiedUnits):
            own = TiedAudit(replay, step.nodes, caller_constraints, deadline)
            never = own.is_impossible(step.seats, step.groups)
            found.append(RefusalVerdict((Audit.IMPOSSIBLE if never else Audit.UNDECIDED,) * len(step.nodes)))
        elif deadline is None or monotonic() <= deadline:
            # Later nothing is decided, whatever is there.
            replay.enter(step)
    return found


class _RefusalAudit:
    """Whether a unit, beside all that was placed so far, has no place on each of its nodes.

    Most refusals follow from rows that are the same for many nodes: these are decided once.
    """

    def __init__(
        self,
        replay: Replay,
        refusal: Refusal,
        caller_constraints: Sequence[extensions.CallerConstraint],
        deadline: float | None,
    ) -> None:
        self._replay = replay
        self._refusal = refusal
        self._caller_constraints = caller_constraints
        self._deadline = deadline
        held = (replay.allocation(key_of(claim.metadata)) for claim in refusal.earlier)
        earlier = tuple(allocation for allocation in held if allocation is not None)
        self._kind = UnitKind(refusal.pod, refusal.claims, earlier)
        self._refuted: dict[NodeFace, bool] = {}

    def verdict(self) -> RefusalVerdict:
        """Audit the nodes, and then the sets of reasons."""
        nodes = tuple(map(self._on, self._refusal.nodes))
        holders = self._replay.holders() if self._refusal.reasons else {}
        return RefusalVerdict(nodes, tuple(self._of_reasons(one, holders) for one in self._refusal.reasons))

    def _of_reasons(self, asked: ReasonSet, holders: Mapping[DeviceId, Collection[str]]) -> ReasonVerdict:
        replay, given, deadline = self._replay, self._caller_constraints, self._deadline
        if deadline is not None and monotonic() > deadline:
            return ReasonVerdict()
        try:
            claims = [replay.loads.claim_on(claim, asked.node) for claim in self._refusal.claims]
            return ReasonAudit(replay.context, claims, asked.node, holders, given, deadline).verdict(asked)
        except SelectorError:
            return ReasonVerdict()

    def _on(self, node: Node) -> Audit:
        replay = self._replay
        if self._deadline is not None and monotonic() > self._deadline:
            return Audit.UNDECIDED
        try:
            bundles = NodeBundles(replay.context, replay.loads, node, self._caller_constraints, self._deadline)
            face, taken = bundles.face([(self._kind, 1)], SharedPrices())
            if not taken or self._is_refuted(face):
                return Audit.IMPOSSIBLE
            claims = [replay.loads.claim_on(claim, node) for claim in self._refusal.claims]
            return NodeAudit(replay.context, claims, node, self._caller_constraints, self._deadline).decide()
        except (ExpressionTimeoutError, SelectorError):
            return Audit.UNDECIDED

    def _is_refuted(self, face: NodeFace) -> bool:
        """Whether counting alone, by the rows of bundles, leaves no place."""
        if face not in self._refuted:
            bound = most_valuable(face, (Fraction(1),), self._deadline)
            self._refuted[face] = bound is not None and bound < 1
        return self._refuted[face]
