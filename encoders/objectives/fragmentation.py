"""``fragmentation``: what the choice makes unavailable to later claims.

The value is the sum, over all that the node offers before and no longer offers after (``free_offers``), of the square
of its size. A free device is lost if it is taken, of a shareable one if a share is taken, or if the counters that it
would draw no longer suffice (``CounterShortages``); a group of matching devices if one of its members is lost. So the
smallest device that fits is taken, partitions lie where they block the fewest and smallest others, and broken groups
are broken further.

This is the measure of Fragmentation Gradient Descent (Weng et al., USENIX ATC'23) with the node's own offers as the
target workload: the gradient is what the tasks that could have come can no longer get. Squares keep room for the
large: one device of twice the size is worth four small ones.

The size of a device is that of its capacities, in thousandths of the largest device that the cluster's driver has (the
mean over the names of its capacities); of what is left of them on a shareable device; without capacities the part of a
card that it draws; without counters too a whole device.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...problem.constraints import draws_counters, pools_with_negative_draws
from ...problem.node_state import FULL_SIZE
from ...problem.problem import Amounts, InUse, Problem
from ..symmetry import MergedProblem, Signature, SymmetryClass
from .stage import AllocationStage, cards_of_device, held_terms

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


def _sign_fragmentation(merged: MergedProblem) -> Signature:
    offered = free_offers(merged)
    return lambda device: _offer_key(offered, device)


def _offer_key(offered: FreeOffers, device: int) -> Hashable:
    return offered.sizes.get(device), offered.groups_of.get(device, ())


class _LossTerms:
    """Terms for what is lost, option by option."""

    def __init__(self, model: AllocationModel) -> None:
        self._model = model
        self._options = free_offers(model.merged)
        self._shortages = CounterShortages(model)
        self._total: Counter[int] = Counter()
        self._of_group: dict[int, list[Term]] = defaultdict(list)

    def terms(self) -> list[Term]:
        """List them, with what each loss costs."""
        in_lots = {device for class_ in self._model.reduced.classes for device in class_.devices}
        for class_ in self._model.reduced.classes:
            if class_.representative in self._options.sizes:
                self._lose(class_.representative, self._loss(class_))
        others: dict[Hashable, list[int]] = defaultdict(list)
        for device in self._options.sizes:
            if device not in in_lots and (amounts := self._draws(device)):
                others[amounts, _offer_key(self._options, device)].append(device)
        for devices in others.values():
            blocked = self._shortages.blocked(self._draws(devices[0]))
            if blocked is not None:
                self._lose(devices[0], [(blocked, len(devices))])
        for group, loss in self._of_group.items():
            broken = self._model.any_positive(loss)
            self._total[broken] += loss_weight(self._options.groups[group].size)
        return [(variable, cost) for variable, cost in self._total.items() if cost]

    def _draws(self, device: int) -> Amounts:
        problem = self._model.merged.problem
        anew = draws_counters(problem, self._model.merged.in_use, device)
        return problem.counters.consumption.get(device, ()) if anew else ()

    def _loss(self, class_: SymmetryClass) -> list[Term]:
        """Count what is lost of a symmetry class: all of it if the counters no longer suffice, else what is taken."""
        rows = self._model.rows
        taken = held_terms(self._model, class_)
        if class_.representative in self._model.merged.problem.shared:
            taken = [(self._model.any_positive(taken), 1)]
        amounts = self._draws(class_.representative)
        blocked = self._shortages.blocked(amounts)
        if blocked is None:
            return taken
        if self._shortages.blocks_itself(amounts):
            return [(blocked, class_.size)]
        lost = rows.integer(0, class_.size)
        rows.at_most([*taken, (lost, -1)], 0)
        rows.at_most([(blocked, class_.size), (lost, -1)], 0)
        return [(lost, 1)]

    def _lose(self, device: int, loss: list[Term]) -> None:
        for variable, count in loss:
            self._total[variable] += count * loss_weight(self._options.sizes[device])
        for group in self._options.groups_of.get(device, ()):
            self._of_group[group] += loss


# The square of a size must be a coefficient that the solver can take.
LARGEST_SIZE = 46_340
_THOUSANDTHS = FULL_SIZE // 1000


@dataclass(frozen=True, slots=True)
class MatchingGroup:
    """Free devices of one driver with one value of an attribute; a card counts as its largest free device."""

    members: frozenset[int]
    size: int


@dataclass(frozen=True, slots=True)
class FreeOffers:
    """Sizes of the free devices, the groups, and which groups each device is a member of."""

    sizes: dict[int, int]
    groups: tuple[MatchingGroup, ...]
    groups_of: dict[int, tuple[int, ...]]


def free_offers(merged: MergedProblem) -> FreeOffers:
    """List what is on offer beside what is in use."""
    problem, in_use = merged.problem, merged.in_use
    sizes = {
        device: size for device in _free_devices(problem, in_use) if (size := _device_size(problem, in_use, device))
    }
    groups = tuple(_matching_groups(problem, sizes))
    groups_of: dict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for device in sorted(group.members):
            groups_of[device].append(number)
    return FreeOffers(sizes, groups, {device: tuple(numbers) for device, numbers in groups_of.items()})


def loss_weight(size: int) -> int:
    """What losing an option of this size costs: twice the size counts four times."""
    return min(size, LARGEST_SIZE) ** 2


def _free_devices(problem: Problem, in_use: InUse) -> Iterator[int]:
    """Yield the devices that nobody holds and that the counters have room for."""
    counters, available = problem.counters, in_use.available
    blocked = counters.overdrawn_pools(available)
    for device in range(problem.size):
        if device in in_use.dedicated or not problem.node_context.reachable[device]:
            continue
        amounts = counters.consumption.get(device, ()) if draws_counters(problem, in_use, device) else ()
        if all(amount <= available[row] and counters.pool_of_row[row] not in blocked for row, amount in amounts):
            yield device


def _device_size(problem: Problem, in_use: InUse, device: int) -> int:
    """Measure a free device; 0 for what cannot be used up: a shareable device without capacities."""
    rows = problem.capacities.rows.get(device, ())
    if device in problem.shared:
        return _thousandths(sum(_remaining_weight(problem, in_use, row) for row in rows))
    if rows:
        return max(1, _thousandths(sum(problem.node_context.weights[row] for row in rows)))
    amounts = problem.counters.consumption.get(device)
    if not amounts:
        return _thousandths(FULL_SIZE)
    totals = problem.node_context.totals
    parts = [amount * FULL_SIZE // totals[row] for row, amount in amounts if totals[row] > 0]
    counters, cards = problem.counters, cards_of_device(problem, device)
    number = sum((pool, name) in cards for pool, (name, _) in zip(counters.pool_of_row, counters.names, strict=True))
    return min(1000, max(1, _thousandths(sum(parts) // max(1, number))))


def _remaining_weight(problem: Problem, in_use: InUse, row: int) -> int:
    total = problem.capacities.totals[row]
    left = max(0, total - in_use.consumed.get(row, 0))
    return problem.node_context.weights[row] * left // total if total > 0 else 0


def _thousandths(size: int) -> int:
    return -(-size // _THOUSANDTHS)


def _matching_groups(problem: Problem, sizes: dict[int, int]) -> Iterable[MatchingGroup]:
    """Find groups of two or more; two attributes with the same groups count once."""
    node_context = problem.node_context
    found: dict[frozenset[int], MatchingGroup] = {}
    for grouping in node_context.groupings:
        matching: dict[tuple[int, int], list[int]] = defaultdict(list)
        for device in sizes:
            if grouping[device]:
                matching[node_context.drivers[device], grouping[device]].append(device)
        for devices in matching.values():
            group = _matching_group(problem, sizes, devices)
            if group is not None:
                found.setdefault(group.members, group)
    return found.values()


def _matching_group(problem: Problem, sizes: dict[int, int], devices: Iterable[int]) -> MatchingGroup | None:
    by_card: dict[object, list[int]] = defaultdict(list)
    for device in devices:
        by_card[cards_of_device(problem, device) or device].append(device)
    if len(by_card) < 2:
        return None
    largest, members = 0, set[int]()
    for own in by_card.values():
        size = max(sizes[device] for device in own)
        members.update(device for device in own if sizes[device] == size)
        largest += size
    return MatchingGroup(frozenset(members), largest)


FRAGMENTATION = AllocationStage(
    "fragmentation",
    "least and smallest of what can no longer be asked for",
    lambda model: [_LossTerms(model).terms()],
    _sign_fragmentation,
)


class CounterShortages:
    """Makes a literal a row and amount, and one for each set of them; all are true only if they must be."""

    def __init__(self, model: AllocationModel) -> None:
        self._model = model
        self._giving = pools_with_negative_draws(model.merged.problem)
        # List terms for what is drawn of each row and stays so: not by admin access (IN-3).
        problem, in_use = model.merged.problem, model.merged.in_use
        terms: dict[int, list[Term]] = defaultdict(list)
        for class_ in model.reduced.classes:
            if not draws_counters(problem, in_use, class_.representative):
                continue
            amounts = problem.counters.consumption.get(class_.representative, ())
            holders = held_terms(model, class_)
            if amounts and class_.representative in problem.shared:
                holders = [(model.any_positive(holders), 1)]
            for row, amount in amounts:
                terms[row] += [(variable, coefficient * amount) for variable, coefficient in holders]
        self._drawn = terms
        self._short: dict[tuple[int, int], int | None] = {}
        self._blocked: dict[Amounts, int | None] = {}

    def blocked(self, amounts: Amounts) -> int | None:
        """Return the literal that says that some of these amounts cannot be drawn; None if they always can."""
        if amounts not in self._blocked:
            short = [literal for row, amount in amounts if (literal := self._literal(row, amount)) is not None]
            several = len(short) > 1
            self._blocked[amounts] = (
                self._model.any_positive([(one, 1) for one in short]) if several else next(iter(short), None)
            )
        return self._blocked[amounts]

    def blocks_itself(self, amounts: Amounts) -> bool:
        """Tell whether these amounts cannot be drawn twice, however little else is drawn."""
        counters, available = self._model.merged.problem.counters, self._model.merged.in_use.available
        giving = any(counters.pool_of_row[row] in self._giving for row, _ in amounts)
        return not giving and any(2 * amount > available[row] for row, amount in amounts)

    def _literal(self, row: int, amount: int) -> int | None:
        key = row, amount
        if key not in self._short:
            self._short[key] = self._post(row, amount)
        return self._short[key]

    def _post(self, row: int, amount: int) -> int | None:
        rows, terms = self._model.rows, self._drawn.get(row, [])
        room = self._model.merged.in_use.available[row] - amount
        excess = sum(max(0, coefficient) * rows.range_of(variable)[1] for variable, coefficient in terms) - room
        if self._model.merged.problem.counters.pool_of_row[row] not in self._giving:
            # What is drawn is there, so that no more than the amount itself is missing.
            excess = min(excess, amount)
        if excess <= 0:
            return None
        literal = rows.boolean()
        rows.at_most([*terms, (literal, -excess)], room)
        return literal
