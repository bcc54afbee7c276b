"""Why a unit of the queue is not in a plan."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ....models.claims import AllocationResult
from ....models.cluster import Cluster
from ....models.gates import FeatureGates
from ....models.identity import ObjectKey
from ....models.planned_sets import Gang
from ....models.running_pods import backed_resources, running
from ....models.selection import SelectorError
from ....models.units import Unit
from ....problem.in_use import Ledger
from ...outcome import Reason
from ...refusals import refusals
from .gang_fit import best_fit, open_nodes
from .relaxing import Relaxer
from .shortages import shortages
from .state import Rooms, State
from .survey import Surveyed, Surveyor
from .wish import Wish, wish_of

GANG = "gang"
LEFT = "left"
NODES = "nodes"
OUTBID = "outbid"

_WHY_LEFT = "the objective gains nothing by it, a group forbids it, or the search ended before"

_NOTHING: Mapping[ObjectKey, AllocationResult] = MappingProxyType({})


class Refusals:
    """Says of units of one cluster why they are not placed, and what would place one more of them.

    ``cluster`` has the nodes that are to be bought, and what it allocates and runs is what was there before the plan.
    ``usable`` names the nodes that the plan may use; None: all. Nodes that ``alike`` says the same of are equal for all
    that is asked about, before the plan and after it.
    """

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        cel_errors: str = "strict",
        seed: int = 0,
        usable: Container[str] | None = None,
        alike: Mapping[str, Hashable] | None = None,
    ) -> None:
        self._cluster = cluster
        self._gates = gates
        self._surveyor = Surveyor(cluster, gates, cel_errors, seed, usable)
        self._backing = backed_resources(cluster, gates)
        self._alike = alike or {}
        self._before = State(Ledger(cluster.usage(gates)), running(cluster, gates), self._alike)
        self._after = self._before
        self._changes = 0

    def reasons(
        self,
        unit: Unit,
        gang: Gang | None,
        ledger: Ledger,
        rooms: Rooms,
        *,
        members: Sequence[Unit] = (),
        made: Mapping[ObjectKey, AllocationResult] = _NOTHING,
    ) -> tuple[Reason, ...]:
        """Say why a unit has no place, and what would help; equal units have the same reasons.

        Ids are those of ``solver.reasons``, and

        - ``room``: there is no room where there are devices, or none at all;
        - ``gang``: the unit's gang is not placed whole;
        - ``outbid``: the unit fitted before the plan, on so many nodes, or on none;
        - ``left``: it fits beside the plan, which gains nothing by it, or was not looked into any more;
        - ``relaxation``: a change with which one such unit fits beside the plan; it was tried.

        Parameters
        ----------
        unit, gang
            The unit, and its gang if it is in one.
        ledger, rooms
            What is in use when the plan is carried out, and what is left of each node.
        members
            The members of the gang that are to be placed, ``unit`` among them.
        made
            What the plan allocates, for units that share claims with others.

        """
        refused = tuple(refusals(unit, self._cluster.classes))
        if refused:
            return refused
        try:
            return tuple(self._reasons(unit, gang, self._state(ledger, rooms), members, made))
        except SelectorError as error:
            return (Reason("nodeSelector", "", str(error)),)

    def _state(self, ledger: Ledger, rooms: Rooms) -> State:
        """The state that a plan leaves; what is known of it is kept for the next unit."""
        known = self._after
        if known.ledger is not ledger or known.rooms is not rooms or self._changes != ledger.changes:
            self._after, self._changes = State(ledger, rooms, self._alike), ledger.changes
        return self._after

    def _reasons(
        self,
        unit: Unit,
        gang: Gang | None,
        after: State,
        members: Sequence[Unit],
        made: Mapping[ObjectKey, AllocationResult],
    ) -> Iterator[Reason]:
        wish = wish_of(unit, made, self._backing)
        if gang is None:
            yield from self._alone(wish, after, range(len(self._surveyor.nodes)))
        elif gang.problem:
            yield Reason(GANG, "", gang.problem)
        else:
            wishes = [wish_of(one, made, self._backing) for one in members] or [wish]
            yield from self._together(gang, wish, wishes, after)

    def _together(self, gang: Gang, wish: Wish, wishes: Sequence[Wish], after: State) -> Iterator[Reason]:
        """Say how many members find a place, and what the first that finds none is missing beside them."""
        needed = len(wishes) if gang.minimum is None else gang.minimum - len(gang.placed)
        open_ = open_nodes(self._surveyor, gang)
        if too_small := gang.too_small(len(wishes)):
            yield Reason(GANG, "", too_small)
        elif not open_ and gang.domain:
            yield Reason(GANG, "", f"{gang.label}: no value of the label {gang.domain} is left for all members")
        elif needed <= 0:
            # The gang is there without this unit, which need only be where the others are.
            yield from self._alone(wish, after, open_)
        else:
            yield from self._gang(gang, wishes, needed, after)

    def _gang(self, gang: Gang, wishes: Sequence[Wish], needed: int, after: State) -> Iterator[Reason]:
        fit = best_fit(self._surveyor, gang, wishes, after)
        least = "whole" if gang.minimum is None else f"with at least {needed} more members"
        where = f" with {fit.domain}" if fit.domain else ""
        found = f"{fit.told} of {len(wishes)} find a place beside the plan{where}"
        yield Reason(GANG, "", f"{gang.label} is placed {least} or not at all: {found}")
        if fit.placed >= needed:
            yield Reason(LEFT, "", f"it fits beside the plan: {_WHY_LEFT}")
        if fit.placed >= needed or fit.left is None:
            return
        among = frozenset(fit.nodes)
        found_ = self._surveyor.survey(fit.left, fit.state, self._nodes(fit.left, among))
        yield from self._lacking(fit.left, fit.state, found_)
        before = best_fit(self._surveyor, gang, wishes, self._before)
        fits = before.placed >= needed
        told = "the gang fits before the plan: the queue took its places" if fits else ""
        yield Reason(OUTBID, "", told or f"{before.told} of {len(wishes)} find a place before the plan, no more")
        yield from Relaxer(self._surveyor, fit.left, fit.state, among, self._gates).relaxations(found_)

    def _nodes(self, wish: Wish, among: Container[int]) -> list[int]:
        return [position for position in self._surveyor.suited(wish)[1] if position in among]

    def _alone(self, wish: Wish, after: State, among: Sequence[int]) -> Iterator[Reason]:
        there = frozenset(among)
        nodes = self._nodes(wish, there)
        found = self._surveyor.survey(wish, after, nodes)
        if found.fitting:
            yield self._left(found)
            return
        before = self._surveyor.survey(wish, self._before, nodes)
        yield from self._lacking(wish, *((after, found) if before.fitting else (self._before, before)))
        yield from self._outbid(before, len(nodes))
        yield from Relaxer(self._surveyor, wish, after, there, self._gates).relaxations(found)

    def _lacking(self, wish: Wish, state: State, found: Surveyed) -> Iterator[Reason]:
        yield from shortages(self._surveyor, wish, state, found)
        yield from self._surveyor.suited(wish)[0].reasons
        if not self._surveyor.nodes:
            yield Reason(NODES, "", "there are no nodes")

    def _left(self, found: Surveyed) -> Reason:
        first, number = self._surveyor.name(found.fitting[0]), len(found.fitting)
        return Reason(LEFT, "", f"it fits {number} of {len(self._surveyor.nodes)} nodes, such as {first}: {_WHY_LEFT}")

    def _outbid(self, before: Surveyed, suited: int) -> Iterator[Reason]:
        """Say whether it is the queue that is in the way."""
        if before.fitting:
            least = "at least " if before.is_cut else ""
            number = f"{least}{len(before.fitting)} of {suited} nodes"
            yield Reason(OUTBID, "", f"it fits {number} before the plan: the queue took them")
        elif suited and not before.is_cut:
            yield Reason(OUTBID, "", f"it fits none of {suited} nodes before the plan, either")
