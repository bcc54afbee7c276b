"""Local search for plans with moves: a unit that waits ejects the few running pods that are in its way.

The search starts from a plan in which nobody moves. For each class of units that wait it looks for the node where the
cheapest pods have to leave, as kube-scheduler looks for victims (EVT-4): all pods that may move are taken off, and put
back one by one, the most expensive first, as long as the unit still fits. Pods that are ejected go where the fewest
devices are free beside them; if one has no place, the next node is tried. Where the objective counts nodes or domains
in use, all pods of the least used ones are ejected in the same way.

Only units that stand for themselves take part: of no gang, without rules about other pods, and with claims of their
own. All others stay where they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush, nsmallest

from ...models.kubernetes.meta import DeviceId
from ...models.kubernetes.quantity import Quantity
from ...models.results.common import Status
from ...models.workload.node_room import missing_resources
from ...models.workload.units import Allocations, unallocated_claims
from .assign import PlanAssignment
from .build import PlanInstance, PlanRequest
from .build.objectives import FEWEST_NODES, FREE_DOMAINS, MOVE_STAGES, Goal
from .build.weights import requested_devices
from .first_fit import context_beside
from .lifted import DeviceParts, device_capacities
from .master_problem import is_past
from .node_states import NodeState, TimeOverError, TrialAbortedError, UnitRequirements, allocate_claims

# So many nodes are looked at closely for one unit: those that seem to need the fewest ejections.
_CANDIDATES = 16
_TOLERANCE = 1e-9
# Units that are ejected may eject others on so many nodes, so many times in turn.
_CHAINED, _CHAIN = 3, 1
# A unit that needs no ejection counts as if it needed this part of one.
_NO_EJECTION = 0.5


@dataclass(frozen=True, slots=True)
class _UnitPlace:
    """Where a unit is: the position of the node, and what its claims have."""

    position: int
    made: Allocations


@dataclass(frozen=True, slots=True)
class _Ejection:
    """A node for a unit, and who has to leave it, with the number and the cost of moves that are not made yet.

    ``amount`` is how many devices they have, in parts where devices are shared.
    """

    position: int
    places: tuple[int, ...]
    moves: int
    cost: int
    amount: float


_Estimate = tuple[bool, int, float]
"""Whether as many devices are ejected as are asked for, how many moves that is, and how many devices."""


def search_moves(
    request: PlanRequest, instance: PlanInstance, assignment: PlanAssignment, deadline: float | None
) -> PlanAssignment:
    """Improve a plan by moves; it is returned as it is where nothing better is found.

    ``assignment`` has all units that run at home. Ctrl-C ends the search with what was found.
    """
    goals = instance.goals
    names = [goal.stage.name for goal in goals]
    if request.moves is None or request.moves.most == 0 or _has_negative_draws(request):
        return assignment
    first = next((n for n, name in enumerate(names) if name in MOVE_STAGES), len(names))
    try:
        search = MoveSearch(request, assignment, deadline)
        with suppress(KeyboardInterrupt, TimeOverError):
            search.place([goal for goal in goals[:first] if goal.weigh is not None])
            for name in names[:first]:
                search.empty(name, instance.busy)
    except TimeOverError:
        return assignment
    return search.assignment()


def _has_negative_draws(request: PlanRequest) -> bool:
    """Whether some device gives counters: then what leaves may take room from others."""
    devices = (device for slice_ in request.session.cluster.slices for device in slice_.spec.devices or ())
    draws = (own for device in devices for own in device.consumes_counters or ())
    return any(Quantity.parse(counter.value).nano < 0 for own in draws for counter in (own.counters or {}).values())


class MoveSearch:
    """The states of all nodes while units are ejected and placed."""

    def __init__(self, request: PlanRequest, assignment: PlanAssignment, deadline: float | None) -> None:
        moves = request.moves
        assert moves is not None
        self._request = request
        self._queue = request.queue
        self._homes = moves.homes
        self._given = assignment
        self._deadline = deadline
        placed = {place: (node.metadata.name, made) for place, (node, made) in assignment.assigned.items()}
        units = [request.queue[place] for place in request.open_positions]
        self._context = context_beside(request.session, request.queue, units, deadline, placed, request.node_names)
        self._states, self._trials = self._context.node_states, self._context.trials
        there = {self._states.node(position).metadata.name: position for position in range(self._states.size)}
        self._positions = there
        self._at: dict[int, _UnitPlace] = {
            place: _UnitPlace(there[name], made) for place, (name, made) in placed.items() if name in there
        }
        self._on: dict[int, set[int]] = defaultdict(set)
        for place, at in self._at.items():
            self._on[at.position].add(place)
        self._first = dict(self._at)
        self._left = len(self._homes) if moves.most is None else moves.most
        self._moved: set[int] = set()
        self._log: list[tuple[int, _UnitPlace | None, _UnitPlace | None]] = []
        self._versions: dict[int, int] = defaultdict(int)
        self._ejections: dict[tuple[UnitRequirements, int], tuple[int, _Ejection | None]] = {}
        self._free: dict[NodeState, int] = {}
        self._movable: dict[int, bool] = {}
        self._amounts = DeviceParts(device_capacities(request.session.cluster))
        self._holders_on: dict[int, tuple[int, list[list[tuple[int, float]]]]] = {}
        self._estimates: dict[tuple[UnitRequirements, int], tuple[int, _Estimate | None]] = {}

    def assignment(self) -> PlanAssignment:
        """The plan by now."""
        given, nodes = self._given, self._request.session.cluster
        if self._at == self._first:
            return given
        names = {place: self._states.node(at.position).metadata.name for place, at in self._at.items()}
        own = {place: (nodes.node(names[place]), at.made) for place, at in self._at.items()}
        kept = {place: there for place, there in given.assigned.items() if place not in own}
        stays = {place: one for place, one in own.items() if place in self._homes and place not in self._moved}
        # What arrives is placed beside everything that stays, and what does not take part comes first.
        others = {place: one for place, one in own.items() if place not in stays}
        order = sorted(others, key=lambda place: (self._takes_part(place), place))
        assigned = {**stays, **kept, **{place: others[place] for place in order}}
        return PlanAssignment(given.cluster, given.bought, assigned, tuple(assigned), {}, given.admissions)

    def place(self, goals: Sequence[Goal]) -> None:
        """Place units that wait, those first that add most to the first goals for each move."""
        waiting: dict[UnitRequirements, list[int]] = defaultdict(list)
        for place in self._request.open_positions:
            if place not in self._at and self._takes_part(place):
                requirements = self._requirements(place)
                if not requirements.refused:
                    waiting[requirements].append(place)
        gains = {
            requirements: tuple(float(goal.weigh(self._queue[own[0]].unit_set.shape)) for goal in goals if goal.weigh)
            for requirements, own in waiting.items()
        }
        classes = [one for one in waiting if any(gains[one])]
        heap = [(tuple(-2 * gain for gain in gains[one]), 0, number) for number, one in enumerate(classes)]
        heapify(heap)
        while heap:
            if is_past(self._deadline):
                raise TimeOverError
            known, cost, number = heappop(heap)
            own = waiting[classes[number]]
            found = self._best(own[0])
            if not found:
                continue
            worth = tuple(-gain / (found[0].moves or _NO_EJECTION) for gain in gains[classes[number]])
            if (worth, found[0].cost) > (known, cost) and heap and (worth, found[0].cost) > heap[0][:2]:
                heappush(heap, (worth, found[0].cost, number))
            elif any(self._carry_out(own[0], ejection) for ejection in found):
                own.pop(0)
                if own:
                    heappush(heap, (worth, found[0].cost, number))

    def empty(self, stage: str, busy: Collection[str]) -> None:
        """Empty nodes or domains where a stage counts those in use: the ones with the fewest pods first.

        Those are left alone that have ``busy`` nodes, or units that do not take part.
        """
        groups = self._targets(stage)
        names = [self._states.node(position).metadata.name for position in range(self._states.size)]
        used = {own for own in groups if any(self._on[one] or names[one] in busy for one in own)}
        targets = [own for own in groups if self._can_be_emptied(own, busy)]
        unused = {position for own in groups if own not in used for position in own}
        for own in sorted(targets, key=lambda own: (*self._sizes(place for p in own for place in self._on[p]), own)):
            if is_past(self._deadline):
                raise TimeOverError
            if self._tried(partial(self._leave, own, unused.union(own))):
                unused.update(own)

    def _targets(self, stage: str) -> Sequence[tuple[int, ...]]:
        """The nodes, or the nodes of each domain, that a stage counts."""
        head, _, label = stage.partition("=")
        if head == FEWEST_NODES:
            return [(position,) for position in range(self._states.size)]
        domains: dict[str, list[int]] = defaultdict(list)
        for position in range(self._states.size) if head == FREE_DOMAINS else ():
            value = (self._states.node(position).metadata.labels or {}).get(label)
            if value is not None:
                domains[value].append(position)
        return [tuple(own) for own in domains.values()]

    def _can_be_emptied(self, positions: Collection[int], busy: Collection[str]) -> bool:
        """Whether some units are on these nodes, and all of them may go."""
        there = [place for position in positions for place in self._on[position]]
        names = {self._states.node(position).metadata.name for position in positions}
        return bool(there) and names.isdisjoint(busy) and all(self._takes_part(place) for place in there)

    def _leave(self, positions: Collection[int], excluded: Collection[int]) -> bool:
        """Take everything off some nodes, to others that are not excluded."""
        leaving = [place for position in positions for place in self._on[position]]
        for place in leaving:
            self._set(place, None)
        return self._settle(leaving, excluded)

    def _takes_part(self, place: int) -> bool:
        """Whether a unit stands for itself; running ones may move then."""
        known = self._movable.get(place)
        if known is None:
            known = self._movable[place] = self._stands_alone(place)
        return known

    def _stands_alone(self, place: int) -> bool:
        unit_set, home = self._queue[place].unit_set, self._homes.get(place)
        if place in self._request.earlier.assigned or (home is not None and not home.disruption.movable):
            return False
        own = all(claim.key is None and not claim.allocated for claim in unit_set.shape.claims)
        return unit_set.gang is None and unit_set.shape.rules is None and own

    def _requirements(self, place: int) -> UnitRequirements:
        return self._context.requirements.of(self._queue[place], {})

    def _best(self, place: int) -> list[_Ejection]:
        """The nodes where the fewest and cheapest pods have to leave for a unit, the best first."""
        requirements = self._requirements(place)
        shape = self._queue[place].unit_set.shape
        devices, part = requested_devices([shape]), self._amounts.part(shape)
        estimates = ((self._estimate(requirements, devices, part, one), one) for one in requirements.suitable.members)
        close = nsmallest(_CANDIDATES, ((estimate, one) for estimate, one in estimates if estimate is not None))
        found = (self._ejection(requirements, position) for _, position in close)
        return sorted(
            (one for one in found if one is not None),
            key=lambda one: (one.amount >= devices * part, one.moves, one.cost, one.amount, one.position),
        )

    def _estimate(self, requirements: UnitRequirements, devices: int, part: float, position: int) -> _Estimate | None:
        """About so many pods have to leave a node, and so many devices with them; None: it is no use."""
        version = self._versions[position]
        known = self._estimates.get((requirements, position))
        if known is None or known[0] != version:
            known = version, self._estimated(requirements, devices, part, position)
            self._estimates[requirements, position] = known
        return known[1]

    def _estimated(self, requirements: UnitRequirements, devices: int, part: float, position: int) -> _Estimate | None:
        state = self._states.state(position)
        going, chosen = set[int](), devices - self._free_devices(state)
        if chosen > 0:
            ways = []
            for holders in self._holders(position):
                left, own = 1.0 - sum(amount for _, amount in holders), list[int]()
                for place, amount in sorted(holders, key=lambda one: one[1]):
                    if left + _TOLERANCE < part and self._takes_part(place):
                        left += amount
                        own.append(place)
                if left + _TOLERANCE >= part:
                    ways.append((sum(amount for place, amount in holders if place in own), own))
            ways.sort()
            if len(ways) < chosen:
                return None
            going.update(place for _, own in ways[:chosen] for place in own)
        short = missing_resources(requirements.requests, state.room)
        amount = sum(self._amount(place) for place in going)
        if short and not any(self._takes_part(place) for place in self._on[position]):
            return None
        moves, _ = self._sizes(going)
        return devices > 0 and amount >= devices * part, moves + bool(short), amount

    def _holders(self, position: int) -> Iterable[Sequence[tuple[int, float]]]:
        """By device of a node in use, who has it, and what part of it."""
        version, known = self._versions[position], self._holders_on.get(position)
        if known is None or known[0] != version:
            found: dict[DeviceId, list[tuple[int, float]]] = defaultdict(list)
            for place in self._on[position]:
                for device, amount in self._parts(place):
                    found[device].append((place, amount))
            known = self._holders_on[position] = version, list(found.values())
        return known[1]

    def _parts(self, place: int) -> Iterator[tuple[DeviceId, float]]:
        for _, made in self._at[place].made:
            for one in made.devices.results or ():
                device = one.driver, one.pool, one.device
                yield device, self._amounts.held(device, one.consumed_capacity)

    def _amount(self, place: int) -> float:
        return sum(amount for _, amount in self._parts(place))

    def _free_devices(self, state: NodeState) -> int:
        known = self._free.get(state)
        if known is None:
            taken = len(state.devices.in_use.dedicated | state.devices.in_use.shares.keys())
            known = self._free[state] = sum(state.devices.view.shape.reachable) - taken
        return known

    def _ejection(self, requirements: UnitRequirements, position: int) -> _Ejection | None:
        """Who has to leave a node for a unit; None where nothing that may leave makes room."""
        known = self._ejections.get((requirements, position))
        if known is not None and known[0] == self._versions[position]:
            found = known[1]
            return found if found is None or found.moves <= self._left else None
        version, mark = self._versions[position], len(self._log)
        try:
            places = self._victims(requirements, position)
        finally:
            self._undo(mark)
            self._versions[position] = version
        found = None
        if places is not None:
            new = [place for place in places if place in self._homes and place not in self._moved]
            cost = sum(self._homes[place].cost for place in new)
            amount = sum(map(self._amount, places))
            found = _Ejection(position, tuple(places), len(new), cost, amount)
        self._ejections[requirements, position] = version, found
        return found if found is None or found.moves <= self._left else None

    def _victims(self, requirements: UnitRequirements, position: int) -> list[int] | None:
        """Take all off that may leave, and put back those beside whom the unit fits."""
        if self._fits(requirements, position):
            return []
        leaving = [place for place in self._on[position] if self._takes_part(place)]
        had = {place: self._at[place] for place in leaving}
        for place in leaving:
            self._set(place, None)
        if not self._fits(requirements, position):
            return None
        going: list[int] = []
        for place in sorted(leaving, key=self._importance, reverse=True):
            mark = len(self._log)
            self._set(place, had[place])
            if not self._fits(requirements, position):
                self._undo(mark)
                going.append(place)
        return going

    def _importance(self, place: int) -> tuple[int, int, int]:
        """Who is put back first: who costs most, and who is hardest to place elsewhere."""
        is_new = place in self._homes and place not in self._moved
        size = requested_devices([self._queue[place].unit_set.shape])
        return self._homes[place].cost if is_new else 0, size, -place

    def _sizes(self, places: Iterable[int]) -> tuple[int, int]:
        """How many running pods these are, and what it costs to move them."""
        new = [place for place in places if place in self._homes and place not in self._moved]
        return len(new), sum(self._homes[place].cost for place in new)

    def _fits(self, requirements: UnitRequirements, position: int) -> bool:
        """Whether a unit fits on a node as it is now. Raises ``TimeOverError``."""
        state = self._states.state(position)
        if missing_resources(requirements.requests, state.room):
            return False
        trial = self._trials.of(requirements, state)
        return trial.fits and trial.status is not Status.ERROR

    def _carry_out(self, place: int, ejection: _Ejection) -> bool:
        """Place a unit where others are ejected, and these elsewhere."""
        return self._tried(lambda: self._enter(place, ejection, _CHAIN))

    def _enter(self, place: int, ejection: _Ejection, chain: int) -> bool:
        for one in ejection.places:
            self._set(one, None)
        made = self._made(place, ejection.position)
        if made is None:
            return False
        self._set(place, _UnitPlace(ejection.position, made))
        return self._settle(ejection.places, (), chain)

    def _tried(self, attempt: Callable[[], bool]) -> bool:
        """Keep what an attempt does if it succeeds within the number of moves, and undo it otherwise."""
        mark = len(self._log)
        is_done = False
        try:
            is_done = attempt() and self._count_moves(mark)
        finally:
            if not is_done:
                self._undo(mark)
            self._log.clear()
        return is_done

    def _count_moves(self, mark: int) -> bool:
        changed = {place for place, _, _ in self._log[mark:] if place in self._homes}
        gone = {place for place in changed if not self._is_at_home(place)}
        left = self._left + len(changed & self._moved) - len(gone)
        if left < 0:
            return False
        self._left, self._moved = left, (self._moved - changed) | gone
        return True

    def _is_at_home(self, place: int) -> bool:
        return self._at.get(place) == self._first[place]

    def _settle(self, places: Iterable[int], excluded: Collection[int], chain: int = 0) -> bool:
        """Give each of these units another place, the largest first; False if one has none.

        In a ``chain`` they may eject others, which may eject others in turn, so many times.
        """
        shape = {place: self._queue[place].unit_set.shape for place in places}
        sizes = {place: (requested_devices([own]), *sorted(own.requests.values())) for place, own in shape.items()}
        for place in sorted(shape, key=lambda one: (sizes[one], -one), reverse=True):
            at = self._target(place, excluded)
            if at is not None:
                self._set(place, at)
            elif not chain or not self._ejects(place, chain - 1):
                return False
        return True

    def _ejects(self, place: int, chain: int) -> bool:
        """Place a unit where others have to leave for it."""
        for ejection in self._best(place)[:_CHAINED]:
            mark = len(self._log)
            if self._enter(place, ejection, chain):
                return True
            self._undo(mark)
        return False

    def _target(self, place: int, excluded: Collection[int]) -> _UnitPlace | None:
        """The place with the fewest free devices beside a unit; the home of one that would still fit there."""
        requirements = self._requirements(place)
        for position in self._tightest(requirements, requested_devices([self._queue[place].unit_set.shape]), excluded):
            if self._fits(requirements, position):
                made = self._made(place, position)
                if made is not None:
                    return _UnitPlace(position, made)
        return None

    def _tightest(self, requirements: UnitRequirements, devices: int, excluded: Collection[int]) -> Iterator[int]:
        """One node of each state in which a unit may fit, those with the fewest free devices first."""
        found: list[tuple[int, int]] = []
        for state, positions in self._states.groups.items():
            free = self._free_devices(state)
            if free < devices and not state.devices.in_use.shares:
                continue
            if missing_resources(requirements.requests, state.room):
                continue
            members = requirements.suitable.members
            first = next((one for one in positions if one in members and one not in excluded), None)
            if first is not None:
                found.append((free, first))
        return (position for _, position in sorted(found))

    def _made(self, place: int, position: int) -> Allocations | None:
        """What the claims of a unit get on a node; None if they get nothing there."""
        requested, budget = unallocated_claims(self._queue[place].unit, {}), self._requirements(place).budget
        with suppress(TrialAbortedError):
            made = allocate_claims(requested, position, self._states, self._trials, budget).made
            return tuple(zip(requested, made, strict=True))
        return None

    def _set(self, place: int, at: _UnitPlace | None) -> None:
        """Put a unit somewhere, or nowhere, and note it."""
        before = self._at.get(place)
        self._log.append((place, before, at))
        self._change(place, before, at)

    def _change(self, place: int, before: _UnitPlace | None, after: _UnitPlace | None) -> None:
        queued, requests = self._queue[place], self._context.requests
        if before is not None:
            had = {ref.key: allocation for ref, allocation in before.made}
            self._states.remove_pod(before.position, requests(queued, had), had)
            self._on[before.position].discard(place)
            self._versions[before.position] += 1
            del self._at[place]
        if after is not None:
            gets = {ref.key: allocation for ref, allocation in after.made}
            self._states.add_pod(after.position, requests(queued, gets), gets.items())
            self._on[after.position].add(place)
            self._versions[after.position] += 1
            self._at[place] = after

    def _undo(self, mark: int) -> None:
        """Take back what was done since a mark of the log."""
        while len(self._log) > mark:
            place, before, after = self._log.pop()
            self._change(place, after, before)
