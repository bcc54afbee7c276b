"""Labeling: fillings of a linear node, device after device, from the best patterns of one device.

After each device the best labels are kept, and what was dropped is bounded. A label's *potential* is what the node may
still become worth: the relaxed bound less all that was lost against the relaxed packing. It never rises, so that labels
below what is already known are dropped at no loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, islice
from typing import TypeVar

from ....encoders.solver_library import IntArray, np
from ....problem.messages import DeadlineExceededError, check_deadline
from ..column_generation import Effort
from .lagrangian import (
    VALUE_SCALE,
    KnapsackItem,
    LagrangianRelaxation,
    LinearNode,
    LinearOffers,
    LinearQuestion,
    LinearUnit,
    best_relaxation,
)


@dataclass(frozen=True, slots=True)
class DevicePattern:
    """What one device takes, or several that one unit takes whole: offers in order, some of them several times."""

    offers: tuple[KnapsackItem, ...]
    worth: int


def _patterns_best_first(
    question: LinearQuestion, relaxed: LagrangianRelaxation, free: int, least: int
) -> Iterator[DevicePattern]:
    """Yield the fillings of a device with ``free`` left that are worth ``least`` or more.

    A filling is extended by offers in their order, and what may still come is bounded.
    """
    capacity = question.node.capacity
    offers = [(offer, offer.size(capacity), relaxed.worth[offer.index]) for offer in question.single]
    offers = [
        (offer, size, worth)
        for offer, size, worth in offers
        if size <= free and worth + relaxed.device[question.steps(free - size)] >= least
    ]
    # Where most of the worth for each step comes first, bounds are the closest.
    offers.sort(key=lambda each: (-each[2] / each[1], each[0].index))
    sizes = [(question.steps(size), worth) for _, size, worth in offers]
    tables = _suffix_bounds(sizes, question.steps(free))
    number = count()
    heap: list[tuple[int, int, int, int, int, tuple[int, ...]]] = []

    def push(first: int, left: int, worth: int, taken: tuple[int, ...]) -> None:
        bound = worth + tables[first][question.steps(left)]
        if bound >= least:
            heappush(heap, (-bound, -next(number), first, left, worth, taken))

    push(0, free, 0, ())
    while heap:
        _, _, first, left, worth, taken = heappop(heap)
        if first == len(offers):
            yield DevicePattern(tuple(offers[place][0] for place in taken), worth)
            continue
        # ``first`` once more, or never again; its worth is the bound's if either is.
        offer, size, gain = offers[first]
        if size <= left and taken.count(first) < offer.most:
            push(first, left - size, worth + gain, (*taken, first))
        push(first + 1, left, worth, taken)


def _suffix_bounds(offers: list[tuple[int, int]], steps: int) -> list[list[int]]:
    """For each offer, what a device of so many steps is worth at most with it and those after it."""
    tables = [[0] * (steps + 1)]
    for size, worth in reversed(offers):
        table = tables[-1].copy()
        for filled in range(size, steps + 1):
            if table[filled - size] + worth > table[filled]:
                table[filled] = table[filled - size] + worth
        tables.append(table)
    tables.reverse()
    return tables


# Labels that are compared pairwise: dominance among more takes longer than it saves.
_MOST_COMPARED = 600
# Pairs that are looked at together: so many times as many as labels are kept.
_PAIRS_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class LabelingWidth:
    """How many fillings of a device are tried, and how many of the node are kept after each."""

    patterns: int
    labels: int


WIDTHS = {
    Effort.QUICK: (LabelingWidth(patterns=24, labels=48),),
    Effort.THOROUGH: (LabelingWidth(patterns=24, labels=48), LabelingWidth(patterns=200, labels=600)),
}
# To find all columns: more than so many are too many.
ENUMERATION_WIDTH = LabelingWidth(patterns=400, labels=4000)


@dataclass(frozen=True, slots=True)
class NodeFilling:
    """What a node takes: for each device in the node's order, and last without a device, unit classes."""

    value: int
    devices: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class LabelingResult:
    """Fillings, the best first, and a bound on the value of all. ``is_complete``: nothing of interest was dropped."""

    fillings: tuple[NodeFilling, ...]
    bound: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _LabelExtensions:
    """Things to add, by number: each is ``lost`` against the relaxed packing, in 1 / ``VALUE_SCALE``.

    ``keys`` are what it uses of the node's resources, and how many it has of each scarce offer.
    """

    lost: IntArray
    value: IntArray
    keys: IntArray
    option: IntArray

    def losing(self, more: int) -> _LabelExtensions:
        """The same, each of which loses more."""
        return replace(self, lost=self.lost + more)


@dataclass(frozen=True, slots=True)
class _LabelLayer:
    """Labels, and where each comes from: a layer, a label there, and what was added."""

    potential: IntArray
    value: IntArray
    keys: IntArray
    layer: IntArray
    label: IntArray
    option: IntArray

    def kept(self, which: IntArray) -> _LabelLayer:
        """Only these labels, in this order."""
        return _LabelLayer(*(getattr(self, name)[which] for name in _LabelLayer.__slots__))


_Arrays = TypeVar("_Arrays", _LabelExtensions, _LabelLayer)


def _joined(parts: Sequence[_Arrays]) -> _Arrays:
    """Arrays one behind the other."""
    kind = type(parts[0])
    return kind(*(np.concatenate([getattr(one, name) for one in parts]) for name in kind.__slots__))


@dataclass(frozen=True, slots=True)
class _LabelPairs:
    """All labels of some layers with all extensions of each, numbered layer by layer.

    Only potentials are there from the start: few pairs are looked at.
    """

    labels: _LabelLayer
    extensions: _LabelExtensions
    potential: IntArray
    label: IntArray
    extension: IntArray

    @classmethod
    def of(cls, sources: Sequence[tuple[int, _LabelLayer, _LabelExtensions]]) -> _LabelPairs:
        """Pair the labels of each layer, which has a number, with its extensions."""
        layers, heights = [layer for _, layer, _ in sources], [len(layer.value) for _, layer, _ in sources]
        labels = replace(
            _joined(layers),
            layer=np.repeat(np.array([number for number, _, _ in sources], dtype=np.int64), heights),
            label=np.concatenate([np.arange(height, dtype=np.int64) for height in heights]),
        )
        potential, label, extension = list[IntArray](), list[IntArray](), list[IntArray]()
        first_label = first_extension = 0
        for _, layer, own in sources:
            height, width = len(layer.value), len(own.value)
            potential.append((layer.potential[:, None] - own.lost).ravel())
            label.append(np.repeat(np.arange(first_label, first_label + height), width))
            extension.append(np.tile(np.arange(first_extension, first_extension + width), height))
            first_label, first_extension = first_label + height, first_extension + width
        extensions = _joined([own for _, _, own in sources])
        return cls(labels, extensions, *map(np.concatenate, (potential, label, extension)))

    def extended(self, pairs: IntArray) -> _LabelLayer:
        """The labels that some pairs make."""
        label, extension = self.label[pairs], self.extension[pairs]
        return _LabelLayer(
            self.potential[pairs],
            self.labels.value[label] + self.extensions.value[extension],
            self.labels.keys[label] + self.extensions.keys[extension],
            self.labels.layer[label],
            self.labels.label[label],
            self.extensions.option[extension],
        )


class Labeling:
    """One run over the devices of a node. ``least``: fillings worth no more are of no interest.

    ``counted``: fillings with different units are different, though one may be worth more and use less.
    """

    def __init__(
        self,
        question: LinearQuestion,
        relaxed: LagrangianRelaxation,
        width: LabelingWidth,
        least: int,
        *,
        counted: bool = False,
        deadline: float | None = None,
    ) -> None:
        self._question = question
        self._relaxed = relaxed
        self._width = width
        self._least = least * VALUE_SCALE
        self._deadline = deadline
        # Where nothing but the node limits counts, they need not be counted.
        scarce = [offer for offer in question.offers if offer.is_scarce or counted]
        left = question.node.left
        self._place = {offer.index: place for place, offer in enumerate(scarce, len(left))}
        self._limits = np.array([*left, *(offer.most for offer in scarce)], dtype=np.int64)
        self._needs = {offer.index: np.array(offer.unit.needs, dtype=np.int64) for offer in question.offers}
        self._options: list[tuple[KnapsackItem, ...]] = []
        self._layers: list[_LabelLayer] = []
        self._dropped = self._least

    def run(self, fillings: int) -> LabelingResult:
        """Fill the devices that are free as a whole, then the others, then the node without devices.

        Raises ``DeadlineExceededError``.
        """
        node, relaxed = self._question.node, self._relaxed
        start = np.zeros((1,), dtype=np.int64)
        keys = np.zeros((1, len(self._limits)), dtype=np.int64)
        self._layers.append(_LabelLayer(start + relaxed.bound, start, keys, start - 1, start, start))
        self._fill_whole(node.whole)
        for free in (free for free in node.free if free != node.capacity):
            self._extend([(len(self._layers) - 1, self._device_extensions(free))])
        for offer in self._question.without:
            worth = relaxed.worth[offer.index]
            kept = max(0, worth) * offer.most
            options = [((offer,) * times, kept - worth * times) for times in range(offer.most + 1)]
            self._extend([(len(self._layers) - 1, self._extensions(options))])
        return self._filled(fillings)

    def _fill_whole(self, devices: int) -> None:
        if not devices:
            return
        best, question = self._relaxed.whole, self._question
        singles = self._device_extensions(question.node.capacity)
        several = [
            (offer.unit.devices, self._extensions([((offer,), -self._relaxed.worth[offer.index])]))
            for offer in question.several
        ]
        for number in range(1, devices + 1):
            slack = best[number] - best[number - 1] - self._relaxed.device[-1]
            sources = [(number - 1, singles.losing(slack))]
            for size, extensions in several:
                if size <= number:
                    sources.append((number - size, extensions.losing(best[number] - best[number - size])))
            self._extend(sources)

    def _device_extensions(self, free: int) -> _LabelExtensions:
        """Fillings of one device that lose no more than there is to lose, and leaving it as it is."""
        best = self._relaxed.device[self._question.steps(free)]
        losable = self._relaxed.bound - self._least
        patterns = _patterns_best_first(self._question, self._relaxed, free, best - losable)
        options = [(one.offers, best - one.worth) for one in islice(patterns, self._width.patterns)]
        missed = next(patterns, None)
        if missed is not None:
            self._dropped = max(self._dropped, self._relaxed.bound - best + missed.worth)
        if all(offers for offers, _ in options):
            options.append(((), best))
        return self._extensions(options)

    def _extensions(self, options: Sequence[tuple[tuple[KnapsackItem, ...], int]]) -> _LabelExtensions:
        """Options with what each loses, as arrays."""
        first, resources = len(self._options), len(self._question.node.left)
        self._options += [offers for offers, _ in options]
        value = [sum(offer.value for offer in offers) for offers, _ in options]
        keys = np.zeros((len(options), len(self._limits)), dtype=np.int64)
        for row, (offers, _) in enumerate(options):
            for offer in offers:
                keys[row, :resources] += self._needs[offer.index]
                if offer.index in self._place:
                    keys[row, self._place[offer.index]] += 1
        return _LabelExtensions(
            np.array([lost for _, lost in options], dtype=np.int64),
            np.array(value, dtype=np.int64),
            keys,
            np.arange(first, first + len(options), dtype=np.int64),
        )

    def _extend(self, sources: Sequence[tuple[int, _LabelExtensions]]) -> None:
        """Make the next layer of the pairs that fit, the highest potential first, until it has labels enough."""
        check_deadline(self._deadline)
        pairs = _LabelPairs.of([(number, self._layers[number], extensions) for number, extensions in sources])
        alive = np.flatnonzero(pairs.potential > self._least)
        order = alive[np.argsort(-pairs.potential[alive], kind="stable")]
        falling, width = -pairs.potential[order], self._width.labels
        parts = [pairs.extended(order[:0])]
        first = labels = 0
        while first < len(order) and labels <= width:
            # Those of equal potential stay together.
            last = falling[min(len(order), first + _PAIRS_AT_ONCE * width) - 1]
            end = int(np.searchsorted(falling, last, side="right"))
            parts.append(self._distinct(pairs.extended(order[first:end])))
            labels += len(parts[-1].value)
            first = end
        layer = _joined(parts)
        if labels > width:
            self._dropped = max(self._dropped, int(layer.potential[width]))
            layer = layer.kept(np.arange(width))
        self._layers.append(layer if self._place or len(layer.value) > _MOST_COMPARED else self._uncovered(layer))

    def _distinct(self, layer: _LabelLayer) -> _LabelLayer:
        """Those labels that fit, in the order of their potential; of equal ones, one."""
        layer = layer.kept(np.flatnonzero((layer.keys <= self._limits).all(axis=1)))
        if len(layer.value):
            layer = layer.kept(np.lexsort((*layer.keys.T, -layer.value, -layer.potential)))
            new = np.ones(len(layer.value), dtype=bool)
            new[1:] = (layer.keys[1:] != layer.keys[:-1]).any(axis=1) | (layer.value[1:] != layer.value[:-1])
            layer = layer.kept(np.flatnonzero(new))
        return layer

    def _uncovered(self, layer: _LabelLayer) -> _LabelLayer:
        """Those labels that no other one covers, which is worth as much and uses no more."""
        covers = layer.value[:, None] >= layer.value[None, :]
        for use in layer.keys.T:
            covers &= use[:, None] <= use[None, :]
        np.fill_diagonal(covers, val=False)
        return layer.kept(np.flatnonzero(~covers.any(axis=0)))

    def _filled(self, fillings: int) -> LabelingResult:
        last = self._layers[-1]
        best = np.argsort(-last.value, kind="stable")[:fillings]
        found = tuple(NodeFilling(int(last.value[label]), self._devices(int(label))) for label in best)
        bound = max(self._dropped // VALUE_SCALE, *(filling.value for filling in found[:1]), 0)
        return LabelingResult(found, bound, self._dropped <= self._least)

    def _devices(self, label: int) -> tuple[tuple[int, ...], ...]:
        """Follow a label back to the empty node."""
        taken: list[tuple[int, ...]] = []
        number = len(self._layers) - 1
        while number > 0:
            layer = self._layers[number]
            taken.append(tuple(offer.index for offer in self._options[int(layer.option[label])]))
            number, label = int(layer.layer[label]), int(layer.label[label])
        return tuple(reversed(taken))


def filled_beside(
    node: LinearNode,
    units: Sequence[LinearUnit],
    groups: Sequence[Sequence[int]],
    values: Sequence[int],
    most: Sequence[int],
    deadline: float | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Groups of units, each on a device or on several as a whole, with valuable units that fit beside them.

    There are at most so many more units of each class. Raises ``DeadlineExceededError``.
    """
    free, left = sorted(node.free), list(node.left)
    rest: list[tuple[int, int]] = []
    sizes = [sum(units[index].share or units[index].devices * node.capacity for index in group) for group in groups]
    for number in sorted(range(len(groups)), key=lambda number: -sizes[number]):
        own = [units[index] for index in groups[number]]
        for unit in own:
            left = [amount - need for amount, need in zip(left, unit.needs, strict=True)]
        # The largest groups get the devices with most left; a share of one leaves some of it.
        for _ in range(max((unit.devices or int(unit.share > 0) for unit in own), default=0)):
            spare = free.pop() - sizes[number]
            if spare > 0:
                rest.append((spare, number))
    asked = (index for index, value in enumerate(values) if value > 0 and most[index] > 0)
    takes = frozenset(index for index in asked if node.takes is None or index in node.takes)
    there = LinearNode((*free, *(spare for spare, _ in rest)), node.capacity, tuple(left), takes)
    question = LinearOffers.of(there, units).question(values, most)
    if not question.offers:
        return tuple(map(tuple, groups))
    relaxed = best_relaxation(question, deadline)
    found = Labeling(question, relaxed, WIDTHS[Effort.QUICK][0], 0, deadline=deadline).run(1).fillings
    added = found[0].devices if found else ()
    # Those of groups come last of the devices that are in use in part.
    end = len(added) - len(question.without)
    first = end - len(rest)
    joined = [tuple(group) for group in groups]
    for (_, number), more in zip(rest, added[first:end], strict=False):
        joined[number] += more
    return (*joined, *(group for group in (*added[:first], *added[end:]) if group))


def label_in_widths(
    question: LinearQuestion, relaxed: LagrangianRelaxation, effort: Effort, most: int, deadline: float | None
) -> LabelingResult:
    """Look for so many fillings, ever wider, for what is better than what is known."""
    fillings: tuple[NodeFilling, ...] = ()
    bound = max(0, relaxed.bound // VALUE_SCALE)
    for width in WIDTHS[effort]:
        least = fillings[0].value if fillings else 0
        try:
            filled = Labeling(question, relaxed, width, least, deadline=deadline).run(most)
        except DeadlineExceededError:
            break
        bound = min(bound, filled.bound)
        fillings = (*filled.fillings, *fillings)[:most]
        if fillings and fillings[0].value >= bound:
            break
    return LabelingResult(fillings, bound, is_complete=False)
