"""Units arrive one by one, and each is placed for good on one node, or left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ....models.claims import AllocationResult
from ....models.identity import ObjectKey
from ....models.planned_sets import Gang
from ....models.planned_units import PlannedUnit
from ...outcome import Reason
from ...plan_outcome import PlannedUnitOutcome
from .cases import Case, still_asked
from .choices import Choice
from .choosing import Choosing
from .gangs import in_one_domain, is_whole
from .setting import Setting
from .trials import AbortedError, TimeOverError, Trials, trial_of

_NOWHERE = Reason("nodes", "", "no node that suits has room and devices")
_TIME_OVER = Reason("timeLimit", "", "the time limit passed before this was tried")
_RELEASED = Reason("gang", "", "its gang is not whole")


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit with its node, by position."""

    unit: PlannedUnit
    position: int


class Sequential:
    """A scheduler that knows nothing of gangs, and of each unit nothing before it arrives.

    Members of a gang are placed one by one, wherever each fits. When the last of them has been tried and the gang is
    not whole, or its nodes are not of one domain, its members are removed at once, and what they held is free for
    those who arrive later.
    """

    def __init__(self, setting: Setting, choice: Choice, trials: Trials | None = None) -> None:
        self._setting = setting
        self._floor = setting.floor
        self._trials = trials or setting.trials
        self._choosing = Choosing(self._floor, choice, self._trials)
        self._made: dict[ObjectKey, AllocationResult] = {}
        self._users: Counter[ObjectKey] = Counter()
        self._placed: dict[int, Placed] = {}
        self._reasons: dict[int, tuple[Reason, ...]] = {}
        self.in_time = True

    def run(self, arriving: Sequence[PlannedUnit]) -> None:
        """Place all that can be; ``in_time`` says whether there was time for all."""
        members = _members(arriving)
        waiting = {gang: len(units) for gang, units in members.items()}
        for unit in arriving:
            if self.in_time:
                self._arrive(unit)
            if not self.in_time:
                self._refuse(unit, _TIME_OVER)
            gang = unit.set.gang
            if gang is not None:
                waiting[gang] -= 1
                if not waiting[gang]:
                    self._settle(gang, members[gang])

    def outcomes(self, units: Iterable[PlannedUnit]) -> Iterator[PlannedUnitOutcome]:
        """What became of each; a claim that several share is in the first that was placed of them."""
        made = dict(self._made)
        allocated = {
            key: tuple((ref, made.pop(ref.key)) for ref in placed.unit.unit.claims if ref.key in made)
            for key, placed in self._placed.items()
        }
        for one in units:
            key = id(one.unit)
            placed = self._placed.get(key)
            yield PlannedUnitOutcome.of(
                one,
                self._floor.node(placed.position).metadata.name if placed else None,
                () if placed else self._reasons[key],
                allocated.get(key, ()),
            )

    def order(self, units: Sequence[PlannedUnit]) -> list[int]:
        """Positions of the placed units among these, in the order in which they were placed."""
        positions = {id(one.unit): position for position, one in enumerate(units)}
        return [positions[key] for key in self._placed]

    def _arrive(self, unit: PlannedUnit) -> None:
        case = self._setting.cases.of(unit, self._made)
        gang = unit.set.gang
        if gang is not None and gang.problem:
            self._refuse(unit, Reason("gang", "", gang.problem))
        elif case.refused:
            self._refuse(unit, *case.refused)
        else:
            self._try(unit, case)

    def _try(self, unit: PlannedUnit, case: Case) -> None:
        try:
            position = self._choosing.position(case)
            if position is None:
                self._refuse(unit, _NOWHERE)
            else:
                self._put(unit, position)
        except TimeOverError:
            self.in_time = False
        except AbortedError as error:
            self._refuse(unit, Reason("error", "", str(error)))

    def _refuse(self, unit: PlannedUnit, *reasons: Reason) -> None:
        self._reasons[id(unit.unit)] = reasons

    def _put(self, unit: PlannedUnit, position: int) -> None:
        """Allocate the unit's own claims on the node, and commit them. Raises ``AbortedError``, ``TimeOverError``."""
        asked = still_asked(unit.unit, self._made)
        claims = [ref.claim for ref in asked if ref.claim is not None]
        made: tuple[AllocationResult, ...] = ()
        if claims:
            node = self._floor.node(position)
            trial = trial_of(self._trials.engine.attempt(node, claims, self._floor.ledger, self._trials.deadline))
            if not trial.fits:
                raise AbortedError(node, trial)
            made = trial.made
        pairs = [(ref.key, allocation) for ref, allocation in zip(asked, made, strict=True)]
        self._made.update(pairs)
        self._users.update(ref.key for ref in unit.unit.claims)
        self._floor.take(position, unit.set.shape.requests, pairs)
        self._placed[id(unit.unit)] = Placed(unit, position)

    def _settle(self, gang: Gang, members: Sequence[PlannedUnit]) -> None:
        """Remove the members of a gang that is not whole."""
        there = [placed for one in members if (placed := self._placed.get(id(one.unit))) is not None]
        names = [self._floor.node(placed.position).metadata.name for placed in there]
        nodes = self._setting.session.cluster.nodes
        if is_whole(gang, names, len(members)) and in_one_domain(gang, names, nodes):
            return
        for placed in there:
            self._remove(placed)

    def _remove(self, placed: Placed) -> None:
        unit = placed.unit.unit
        self._users.subtract(ref.key for ref in unit.claims)
        gone = [ref.key for ref in unit.claims if not self._users[ref.key] and ref.key in self._made]
        for key in gone:
            del self._made[key]
        self._floor.give_back(placed.position, placed.unit.set.shape.requests, gone)
        del self._placed[id(unit)]
        self._refuse(placed.unit, _RELEASED)


def _members(units: Iterable[PlannedUnit]) -> dict[Gang, list[PlannedUnit]]:
    found: dict[Gang, list[PlannedUnit]] = defaultdict(list)
    for unit in units:
        if unit.set.gang is not None:
            found[unit.set.gang].append(unit)
    return found
