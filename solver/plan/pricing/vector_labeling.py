"""Labeling of a node that is a vector and whose graph would be too large: what it takes, unit class after unit class.

A label is a part of a filling. Its *potential* is what it may still become worth: the bound of the linear relaxation,
less all that was lost against it by what is taken or left out. It never rises, so that labels are dropped at no loss
once it is no more than what is known. Classes that are decided by the relaxation come first, and among labels that have
the same room left the most valuable one stays (a core algorithm, as in Pisinger, 1997).

Where few units fit a node, all its fillings are listed. Where one or two dimensions decide, such as the devices of a
node, a bounded knapsack in them is exact, and far quicker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from math import gcd, inf, prod

from ....encoders.solver_library import BoolArray, IntArray, mathopt, np
from ....problem.messages import check_deadline
from ..column_generation import Effort
from ..filling_graph import Filling, GraphItem, distinct_rows

# Labels that are kept after each class: to find fillings, and to prove that there are none better.
_BEAM_WIDTH = 128
_PROOF_WIDTH = 20_000
# Where all fillings are listed, more labels than so many are too many.
_ENUMERATION_WIDTH = 100_000
# A list has no more rows, and is made of no more units; more numbers would take more than a part of a second.
_MOST_LISTED, _MOST_LISTED_UNITS, _MOST_LISTED_NUMBERS = 1_000_000, 400, 60_000_000
# Rows that say how many more there will be, and those that are looked at for the fillings of one pricing.
_SAMPLED, _MOST_ROWS, _LONG_LIST = 200, 2_000, 200_000
# Extended labels of which those are chosen that are kept: about so many times as many.
_WIDTHS_AT_ONCE = 4
# Fillings of one pricing, and labels that are looked at for them.
_MOST_FILLINGS, _MOST_CANDIDATES = 16, 64
# Sums of scaled values stay below it, and so do those of their costs in several dimensions.
_LARGEST_SUM = 1 << 54
_LARGEST_SCALE = 1 << 30
# A knapsack takes no more work than so many steps, each of which is a unit at an amount of the dimension.
_MOST_KNAPSACK_STEPS = 20_000
# In several dimensions it has no more cells, each of which is an amount of every dimension.
_MOST_KNAPSACK_CELLS = 10_000


@dataclass(frozen=True, slots=True)
class FillingResult:
    """Fillings, the best first, and a bound on the value of all. ``is_complete``: none was dropped."""

    fillings: tuple[Filling, ...]
    bound: int
    is_complete: bool = False


def best_fillings(
    items: Sequence[GraphItem], values: Sequence[int], left: Sequence[int], effort: Effort, deadline: float | None
) -> FillingResult:
    """Find valuable fillings of a node that has so much left, and bound the value of all.

    Raises ``DeadlineExceededError``.
    """
    question = _VectorQuestion.of(items, values, left)
    if question is None:
        return FillingResult((), 0)
    found = _Labels(question, 0, deadline).run(_BEAM_WIDTH)
    best = question.value(found.fillings[0]) if found.fillings else 0
    if effort is Effort.QUICK or best >= found.bound:
        return found
    proof = _Labels(question, best, deadline).run(_PROOF_WIDTH)
    return FillingResult((*proof.fillings, *found.fillings)[:_MOST_FILLINGS], min(found.bound, proof.bound))


def all_fillings(
    items: Sequence[GraphItem],
    values: Sequence[int],
    left: Sequence[int],
    least: int,
    most: int,
    deadline: float | None,
) -> list[Filling] | None:
    """List all fillings of units that are worth something which are worth ``least`` or more; None: more than ``most``.

    Raises ``DeadlineExceededError``.
    """
    question = _VectorQuestion.of(items, values, left)
    if question is None:
        return []
    found = _Labels(question, max(0, least - 1), deadline, keeps_all=True).run(_ENUMERATION_WIDTH)
    return list(found.fillings) if found.is_complete and len(found.fillings) <= most else None


def knapsack_fillings(
    items: Sequence[GraphItem], values: Sequence[int], limits: Sequence[int], left: Sequence[int]
) -> FillingResult | None:
    """Fill a node as if few dimensions could be too small, at first one; None where that would take long.

    The bound holds in any case. ``is_complete``: the first filling has that value, so that none is better. Fillings are
    of units that are worth something, at most so many of each as its item and its limit say.
    """
    offers = [
        _Offer(item.index, values[item.index], min(item.most, limits[item.index]), item.needs)
        for item in items
        if values[item.index] > 0
        and min(item.most, limits[item.index]) > 0
        and all(need <= room for need, room in zip(item.needs, left, strict=True))
    ]
    scarce = [d for d, room in enumerate(left) if sum(offer.needs[d] * offer.most for offer in offers) > room]
    if not scarce:
        filling = tuple((offer.index, offer.most) for offer in offers)
        return FillingResult((filling,) if filling else (), sum(offer.value * offer.most for offer in offers), True)
    steps = {d: gcd(left[d], *(offer.needs[d] for offer in offers)) for d in scarce}
    chosen = [min(scarce, key=lambda d: left[d] // steps[d])]
    found = _knapsack(offers, chosen[0], steps[chosen[0]], left[chosen[0]] // steps[chosen[0]])
    while found is not None and (exceeded := _exceeded(offers, found[0][1], scarce, left)):
        bound = found[0][0]
        chosen.append(exceeded[0])
        wider = _grid_knapsack(offers, chosen, [steps[d] for d in chosen], [left[d] // steps[d] for d in chosen])
        if wider is None:
            fitting = (filling for _, filling in found if not _exceeded(offers, filling, scarce, left))
            return FillingResult(tuple(islice(fitting, _MOST_FILLINGS)), bound)
        found = wider
    if found is None:
        return None
    fillings = (filling for _, filling in found if not _exceeded(offers, filling, scarce, left))
    return FillingResult(tuple(islice(fillings, _MOST_FILLINGS)), found[0][0], True)


def _exceeded(offers: Sequence[_Offer], filling: Filling, scarce: Sequence[int], left: Sequence[int]) -> list[int]:
    """The dimensions in which a filling takes more than there is, the one first that lacks most."""
    needs = {offer.index: offer.needs for offer in offers}
    taken = {d: sum(needs[unit][d] * number for unit, number in filling) for d in scarce}
    return sorted((d for d in scarce if taken[d] > left[d]), key=lambda d: (left[d] / taken[d], d))


@dataclass(frozen=True, slots=True)
class _Offer:
    """A class of units that are worth something: what each takes, and how many there are at most."""

    index: int
    value: int
    most: int
    needs: tuple[int, ...]


def _knapsack(offers: Sequence[_Offer], dimension: int, step: int, size: int) -> list[tuple[int, Filling]] | None:
    """The best filling for each amount of a dimension that is worth more than smaller ones, the best first.

    None where that would take long.
    """
    if size * sum(offer.most for offer in offers) > _MOST_KNAPSACK_STEPS:
        return None
    best, taken = [0] * (size + 1), list[list[int]]()
    for offer in offers:
        need, value = offer.needs[dimension] // step, offer.value
        if not need:
            best = [known + value * offer.most for known in best]
            taken.append([offer.most] * (size + 1))
            continue
        before, best, copies = best, list(best), [0] * (size + 1)
        for number in range(1, min(offer.most, size // need) + 1):
            for amount, known in enumerate(before[: size + 1 - number * need], number * need):
                if known + number * value > best[amount]:
                    best[amount], copies[amount] = known + number * value, number
        taken.append(copies)
    found: list[tuple[int, Filling]] = []
    for amount, value in enumerate(best):
        if value > (found[-1][0] if found else 0):
            filling, place = list[tuple[int, int]](), amount
            for offer, copies in zip(reversed(offers), reversed(taken), strict=True):
                if copies[place]:
                    filling.append((offer.index, copies[place]))
                    place -= copies[place] * (offer.needs[dimension] // step)
            found.append((value, tuple(sorted(filling))))
    return found[::-1]


def _grid_knapsack(
    offers: Sequence[_Offer], dimensions: Sequence[int], steps: Sequence[int], sizes: Sequence[int]
) -> list[tuple[int, Filling]] | None:
    """The same in several dimensions, by amounts of the first one; None where it would take long.

    Units of a class come in lots of 1, 2, 4 and so on, which make any number together.
    """
    shape = tuple(size + 1 for size in sizes)
    if prod(shape) > _MOST_KNAPSACK_CELLS or sum(offer.value * offer.most for offer in offers) >= _LARGEST_SUM:
        return None
    best = np.zeros(shape, dtype=np.int64)
    lots: list[tuple[int, int, tuple[int, ...], BoolArray]] = []
    for offer in offers:
        left, lot = offer.most, 1
        while left:
            number = min(lot, left)
            taken = tuple(number * offer.needs[d] // step for d, step in zip(dimensions, steps, strict=True))
            with_lot = best[tuple(slice(size - amount) for size, amount in zip(shape, taken, strict=True))]
            with_lot = with_lot + number * offer.value
            there = best[tuple(slice(amount, None) for amount in taken)]
            lots.append((offer.index, number, taken, with_lot > there))
            np.maximum(with_lot, there, out=there)
            left, lot = left - number, 2 * lot
    found: list[tuple[int, Filling]] = []
    for first in range(shape[0]):
        cell = (first, *sizes[1:])
        value = int(best[cell])
        if value > (found[-1][0] if found else 0):
            counts = Counter[int]()
            for index, number, taken, is_better in reversed(lots):
                before = tuple(place - amount for place, amount in zip(cell, taken, strict=True))
                if min(before) >= 0 and is_better[before]:
                    counts[index] += number
                    cell = before
            found.append((value, tuple(sorted(counts.items()))))
    return found[::-1]


@dataclass(frozen=True, slots=True)
class FillingList:
    """All fillings of a node that takes few units, a column of ``rows`` each, as sums over rows are far quicker.

    What is in a column are places of ``classes``, of which the last one is none. ``copies`` say for each place which
    unit of its class it is in a filling.
    """

    rows: IntArray
    classes: tuple[int, ...]
    copies: tuple[int, ...]

    @property
    def is_long(self) -> bool:
        """Whether pricing takes about as long as labels do."""
        return len(self.rows[0]) > _LONG_LIST

    @classmethod
    def of(cls, items: Sequence[GraphItem], left: Sequence[int], lists: int = 1) -> FillingList | None:
        """List the fillings of a node that has so much left; None if they are too many for one of so many lists."""
        units = [(item.index, copy, item.needs) for item in items for copy in range(1, item.most + 1)]
        none, length, most = len(units), 1, _MOST_LISTED // lists
        if none > _MOST_LISTED_UNITS:
            return None
        amounts = np.array([needs for _, _, needs in units], dtype=np.int64).reshape(none, len(left)).T
        # Fillings of one size in the order of their last units, what they leave, and where those of each unit end.
        rows, room = np.full((0, 1), none, dtype=np.int64), np.array([left], dtype=np.int64).T
        ends, listed = [1] * (none + 1), [rows]
        while rows.shape[1] and none:
            # Some of them say how many there will be.
            step = max(1, rows.shape[1] // _SAMPLED)
            later = np.arange(none) >= np.searchsorted(ends, np.arange(0, rows.shape[1], step), side="right")[:, None]
            more = int(((room[:, ::step, None] >= amounts[:, None]).all(axis=0) & later).sum()) * step
            if length + more > 2 * most or sum(ends[:-1]) * len(left) > _MOST_LISTED_NUMBERS // lists:
                return None
            parts, spaces = list[IntArray](), list[IntArray]()
            for place, (_, copy, _) in enumerate(units):
                # A copy comes directly behind the one before it.
                first = 0 if copy == 1 else ends[place - 1]
                own = amounts[:, place, None]
                fits = first + np.flatnonzero((room[:, first : ends[place]] >= own).all(axis=0))
                parts.append(np.vstack((rows[:, fits], np.full(len(fits), place, dtype=np.int64))))
                spaces.append(room[:, fits] - own)
                length += len(fits)
                if length > most:
                    return None
            ends = [0, *accumulate(one.shape[1] for one in parts)]
            rows, room = np.hstack(parts), np.hstack(spaces)
            listed.append(rows)
        longest = max(1, len(listed[-1]))
        padded = [np.pad(one, ((0, longest - len(one)), (0, 0)), constant_values=none) for one in listed]
        return cls(np.hstack(padded), tuple(unit for unit, _, _ in units), tuple(copy for _, copy, _ in units))

    def best_paths(self, prices: Sequence[int], limits: Sequence[int]) -> tuple[int, list[Filling]]:
        """As ``Fillings`` has it, of the best ones."""
        sums = self._worth(prices, limits)[self.rows].sum(axis=0)
        least = np.partition(sums, -_MOST_ROWS)[-_MOST_ROWS] if len(sums) > _MOST_ROWS else 0
        good = np.flatnonzero(sums >= max(1, least))
        good = good[np.argsort(-sums[good], kind="stable")][:_MOST_ROWS]
        # The best filling of each unit.
        _, first = np.unique(self.rows[:, good].T, return_index=True)
        best = good[np.unique(first // len(self.rows))].tolist()
        return int(sums.max()), list(_covering(self._filling(one, prices, limits) for one in best))

    def paths(self, prices: Sequence[int], limits: Sequence[int], least: int, most: int) -> list[Filling] | None:
        """As ``Fillings`` has it."""
        worth = self._worth(prices, limits)
        good = np.flatnonzero(worth[self.rows].sum(axis=0) >= least)
        # One with units that are worth nothing says no more than the one without them.
        there = np.concatenate((worth[:-1] > 0, [True]))
        good = good[there[self.rows[:, good]].all(axis=0)]
        return None if len(good) > most else [self._filling(one, prices, limits) for one in good.tolist()]

    def _worth(self, prices: Sequence[int], limits: Sequence[int]) -> IntArray:
        pairs = zip(self.classes, self.copies, strict=True)
        return np.array(
            [*(max(0, prices[one]) if copy <= limits[one] else 0 for one, copy in pairs), 0], dtype=np.int64
        )

    def _filling(self, number: int, prices: Sequence[int], limits: Sequence[int]) -> Filling:
        units = (self.classes[place] for place in self.rows[:, number].tolist() if place < len(self.classes))
        counts = Counter(one for one in units if prices[one] > 0)
        return tuple(sorted((one, min(number, limits[one])) for one, number in counts.items() if limits[one]))


@dataclass(frozen=True, slots=True)
class _VectorQuestion:
    """Items in the order in which they are decided, a row each, with prices of room: all in 1 / ``scale``.

    ``worth`` is the value of an item less the price of its room, ``bound`` that of the relaxation.
    """

    items: tuple[GraphItem, ...]
    values: IntArray
    needs: IntArray
    most: IntArray
    left: IntArray
    prices: IntArray
    worth: IntArray
    bound: int
    scale: int

    @classmethod
    def of(cls, items: Sequence[GraphItem], values: Sequence[int], left: Sequence[int]) -> _VectorQuestion | None:
        """Leave out what is worth nothing, and what does not fit; None if nothing is left."""
        kept = [
            item
            for item in items
            if item.most > 0
            and values[item.index] > 0
            and all(need <= most for need, most in zip(item.needs, left, strict=True))
        ]
        if not kept:
            return None
        worths, needs = [values[item.index] for item in kept], [item.needs for item in kept]
        total = sum(value * item.most for item, value in zip(kept, worths, strict=True))
        scale = max(1, min(_LARGEST_SCALE, _LARGEST_SUM // total))
        duals = _room_prices(kept, worths, left)
        prices = [
            min(round(dual * scale), scale * total // amount) if amount else 0
            for dual, amount in zip(duals, left, strict=True)
        ]
        own, room = np.array(worths, dtype=np.int64), np.array(left, dtype=np.int64)
        rows, most = np.array(needs, dtype=np.int64), np.array([item.most for item in kept], dtype=np.int64)
        paid = np.array(prices, dtype=np.int64)
        worth = scale * own - rows @ paid
        bound = int(room @ paid) + int((np.maximum(worth, 0) * most).sum())
        order = np.lexsort((np.arange(len(kept)), -np.abs(worth)))
        return cls(
            tuple(kept[place] for place in order.tolist()),
            own[order],
            rows[order],
            most[order],
            room,
            paid,
            worth[order],
            bound,
            scale,
        )

    def value(self, filling: Filling) -> int:
        """What a filling is worth."""
        by_index = {item.index: int(value) for item, value in zip(self.items, self.values, strict=True)}
        return sum(by_index[index] * number for index, number in filling)


def _room_prices(items: Sequence[GraphItem], values: Sequence[int], left: Sequence[int]) -> list[float]:
    """The duals of the linear relaxation, which are good prices of room; any others are valid, too."""
    largest = max(values)
    model = mathopt.Model()
    amounts = [model.add_variable(lb=0, ub=item.most) for item in items]
    rows = [model.add_linear_constraint(lb=-inf, ub=1.0) for _ in left]
    for variable, item, value in zip(amounts, items, values, strict=True):
        model.objective.set_linear_coefficient(variable, value / largest)
        for row, need, amount in zip(rows, item.needs, left, strict=True):
            if need:
                row.set_coefficient(variable, need / amount)
    model.objective.is_maximize = True
    found = mathopt.solve(model, mathopt.SolverType.GLOP)
    if found.termination.reason != mathopt.TerminationReason.OPTIMAL:
        return [0.0] * len(left)
    duals = found.dual_values(rows)
    return [max(0.0, dual) * largest / amount if amount else 0.0 for dual, amount in zip(duals, left, strict=True)]


@dataclass(frozen=True, slots=True)
class _LabelStep:
    """Where the labels after a class come from: a label before it, and how many units were added."""

    label: IntArray
    copies: IntArray


class _Labels:
    """One run over the classes. Fillings that are worth ``least`` or less are of no interest.

    ``keeps_all``: all fillings count, not only the best ones.
    """

    def __init__(
        self, question: _VectorQuestion, least: int, deadline: float | None, *, keeps_all: bool = False
    ) -> None:
        self._question = question
        self._least = least * question.scale
        self._deadline = deadline
        self._keeps_all = keeps_all
        self._steps: list[_LabelStep] = []
        self._dropped = self._least
        # What all later classes can use of each dimension.
        sums = np.cumsum((question.needs * question.most[:, None])[::-1], axis=0)[::-1]
        self._usable = np.concatenate((sums, np.zeros((1, sums.shape[1]), dtype=np.int64)))

    def run(self, width: int) -> FillingResult:
        """Decide class after class, with so many labels at most.

        Raises ``DeadlineExceededError``.
        """
        potential = np.array([self._question.bound], dtype=np.int64)
        room = self._question.left[None, :]
        for number in range(len(self._question.items)):
            check_deadline(self._deadline)
            potential, room = self._extended(number, potential, room, width)
            if not len(potential):
                break
        values = potential - room @ self._question.prices
        kept = np.flatnonzero(values > self._least)
        best = kept[np.argsort(-values[kept], kind="stable")]
        fillings = tuple(self._listed(best))
        top = int(values[best[0]]) if len(best) else 0
        scale = self._question.scale
        return FillingResult(fillings, max(self._dropped // scale, top // scale), self._dropped <= self._least)

    def _extended(self, number: int, potential: IntArray, room: IntArray, width: int) -> tuple[IntArray, IntArray]:
        """The labels with each number of units of a class that fits; numbers that lose least come first."""
        worth, needs = int(self._question.worth[number]), self._question.needs[number]
        most = np.full(len(potential), self._question.most[number], dtype=np.int64)
        taken = np.flatnonzero(needs)
        if len(taken):
            most = np.minimum(most, (room[:, taken] // needs[taken]).min(axis=1))
        kept = max(0, worth) * int(self._question.most[number])
        parts = list[tuple[IntArray, IntArray, IntArray, IntArray]]()
        labels = 0
        for step in range(int(most.max()) + 1):
            check_deadline(self._deadline)
            there = np.flatnonzero(most >= step)
            copies = most[there] - step if worth > 0 else np.full(len(there), step, dtype=np.int64)
            sums = potential[there] - (kept - worth * copies)
            left = room[there] - needs * copies[:, None]
            # What nothing after this can use is lost.
            wasted = np.maximum(left - self._usable[number + 1], 0) @ self._question.prices
            alive = np.flatnonzero(sums - wasted > self._least)
            if labels > _WIDTHS_AT_ONCE * width:
                self._dropped = max(self._dropped, int(sums.max()))
                break
            if not (sums > self._least).any():
                break
            parts.append((sums[alive], left[alive], there[alive], copies[alive]))
            labels += len(alive)
        if not parts:
            self._steps.append(_LabelStep(most[:0], most[:0]))
            return potential[:0], room[:0]
        sums, left, label, added = (np.concatenate(own) for own in zip(*parts, strict=True))
        chosen = self._chosen(sums, left, width)
        self._steps.append(_LabelStep(label[chosen], added[chosen]))
        return sums[chosen], left[chosen]

    def _chosen(self, potential: IntArray, room: IntArray, width: int) -> IntArray:
        """Labels to keep, the highest potential first; of those with the same room left, one."""
        order = np.argsort(-potential, kind="stable")
        if not self._keeps_all and len(order):
            _, first = np.unique(distinct_rows(room[order])[1], return_index=True)
            order = order[np.sort(first)]
        if len(order) > width:
            self._dropped = max(self._dropped, int(potential[order[width]]))
        return order[:width]

    def _listed(self, labels: IntArray) -> Iterator[Filling]:
        """The fillings of labels: all of them, or the best ones, where each has a class that no better one has."""
        if self._keeps_all:
            return map(self._filling, labels.tolist())
        return _covering(map(self._filling, labels[:_MOST_CANDIDATES].tolist()))

    def _filling(self, label: int) -> Filling:
        """Follow a label back to the empty node."""
        taken: list[tuple[int, int]] = []
        for item, step in zip(reversed(self._question.items), reversed(self._steps), strict=True):
            copies = int(step.copies[label])
            if copies:
                taken.append((item.index, copies))
            label = int(step.label[label])
        return tuple(sorted(taken))


def _covering(fillings: Iterable[Filling]) -> Iterator[Filling]:
    """The first fillings that have a class which none before has, so many as one pricing gives."""
    covered: set[int] = set()
    found = 0
    for filling in fillings:
        own = {index for index, _ in filling}
        if not own <= covered:
            covered |= own
            found += 1
            yield filling
        if found == _MOST_FILLINGS:
            return
