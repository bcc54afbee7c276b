"""Labeling: fillings of a linear node, device after device, from the best patterns of one device.

After each device the best labels are kept, and what was dropped is bounded. A label's *potential* is what the node may
still become worth: the relaxed bound less all that was lost against the relaxed packing. It never rises, so that labels
below what is already known are dropped at no loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice

from ....encoders.solver_library import IntArray, np
from ....problem.messages import check_deadline
from ..column_generation import Effort
from .lagrangian import VALUE_SCALE, KnapsackItem, LagrangianRelaxation, LinearQuestion


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
class _LabelExtension:
    """Something to add: ``lost`` against the relaxed packing, in 1 / ``VALUE_SCALE``."""

    offers: tuple[KnapsackItem, ...]
    lost: int


@dataclass(frozen=True, slots=True)
class _LabelLayer:
    """Labels, and where each comes from: a layer, a label there, and what was added."""

    potential: IntArray
    value: IntArray
    use: IntArray
    counts: IntArray
    layer: IntArray
    label: IntArray
    option: IntArray

    def kept(self, which: IntArray) -> _LabelLayer:
        """Only these labels, in this order."""
        return _LabelLayer(*(getattr(self, name)[which] for name in _LabelLayer.__slots__))


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
        self._place = {offer.index: place for place, offer in enumerate(scarce)}
        self._most = np.array([offer.most for offer in scarce], dtype=np.int64)
        self._left = np.array(question.node.left, dtype=np.int64)
        self._options: list[_LabelExtension] = []
        self._layers: list[_LabelLayer] = []
        self._dropped = self._least

    def run(self, fillings: int) -> LabelingResult:
        """Fill the devices that are free as a whole, then the others, then the node without devices.

        Raises ``DeadlineExceededError``.
        """
        node, relaxed = self._question.node, self._relaxed
        start = np.zeros((1,), dtype=np.int64)
        zeros = np.zeros((1, len(self._left)), dtype=np.int64)
        counts = np.zeros((1, len(self._most)), dtype=np.int64)
        self._layers.append(_LabelLayer(start + relaxed.bound, start, zeros, counts, start - 1, start, start))
        self._fill_whole(node.whole)
        for free in (free for free in node.free if free != node.capacity):
            self._extend([(len(self._layers) - 1, self._device_options(free))])
        for offer in self._question.without:
            worth = relaxed.worth[offer.index]
            kept = max(0, worth) * offer.most
            options = [_LabelExtension((offer,) * times, kept - worth * times) for times in range(offer.most + 1)]
            self._extend([(len(self._layers) - 1, options)])
        return self._filled(fillings)

    def _fill_whole(self, devices: int) -> None:
        best = self._relaxed.whole
        singles = self._device_options(self._question.node.capacity) if devices else []
        for number in range(1, devices + 1):
            slack = best[number] - best[number - 1] - self._relaxed.device[-1]
            sources = [(number - 1, [_LabelExtension(option.offers, option.lost + slack) for option in singles])]
            for offer in self._question.several:
                size = offer.unit.devices
                if size <= number:
                    lost = best[number] - best[number - size] - self._relaxed.worth[offer.index]
                    sources.append((number - size, [_LabelExtension((offer,), lost)]))
            self._extend(sources)

    def _device_options(self, free: int) -> list[_LabelExtension]:
        """Fillings of one device that lose no more than there is to lose, and leaving it as it is."""
        best = self._relaxed.device[self._question.steps(free)]
        losable = self._relaxed.bound - self._least
        patterns = _patterns_best_first(self._question, self._relaxed, free, best - losable)
        options = [_LabelExtension(one.offers, best - one.worth) for one in islice(patterns, self._width.patterns)]
        missed = next(patterns, None)
        if missed is not None:
            self._dropped = max(self._dropped, self._relaxed.bound - best + missed.worth)
        if all(option.offers for option in options):
            options.append(_LabelExtension((), best))
        return options

    def _extend(self, sources: list[tuple[int, list[_LabelExtension]]]) -> None:
        """Make the next layer: every label of a source with every option."""
        check_deadline(self._deadline)
        made = [self._product(number, options) for number, options in sources]
        joined = _LabelLayer(*(np.concatenate([getattr(one, name) for one in made]) for name in _LabelLayer.__slots__))
        fits = (joined.use <= self._left).all(axis=1) & (joined.counts <= self._most).all(axis=1)
        joined = joined.kept(np.nonzero(fits & (joined.potential > self._least))[0])
        self._layers.append(self._best(joined))

    def _product(self, number: int, options: list[_LabelExtension]) -> _LabelLayer:
        source = self._layers[number]
        first = len(self._options)
        self._options += options
        lost, value, use, counts = self._columns(options)
        labels, width = len(source.value), len(options)

        def sums(one: IntArray, other: IntArray) -> IntArray:
            return (one[:, None] + other[None, :]).reshape(labels * width, *one.shape[1:])

        return _LabelLayer(
            sums(source.potential, -lost),
            sums(source.value, value),
            sums(source.use, use),
            sums(source.counts, counts),
            np.full(labels * width, number, dtype=np.int64),
            np.repeat(np.arange(labels, dtype=np.int64), width),
            np.tile(np.arange(first, first + width, dtype=np.int64), labels),
        )

    def _columns(self, options: Sequence[_LabelExtension]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        lost = np.array([option.lost for option in options], dtype=np.int64)
        value = np.array([sum(offer.value for offer in option.offers) for option in options], dtype=np.int64)
        use = np.zeros((len(options), len(self._left)), dtype=np.int64)
        counts = np.zeros((len(options), len(self._most)), dtype=np.int64)
        for row, option in enumerate(options):
            for offer in option.offers:
                use[row] += np.array(offer.unit.needs, dtype=np.int64)
                if offer.index in self._place:
                    counts[row, self._place[offer.index]] += 1
        return lost, value, use, counts

    def _best(self, layer: _LabelLayer) -> _LabelLayer:
        """Keep the labels of the highest potential; of equal ones, and of those that another one covers, one."""
        if not len(layer.value):
            return layer
        keys = np.column_stack((layer.use, layer.counts))
        order = np.lexsort((*keys.T, -layer.value, -layer.potential))
        layer, keys = layer.kept(order), keys[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (keys[1:] != keys[:-1]).any(axis=1) | (layer.value[1:] != layer.value[:-1])
        layer = layer.kept(np.nonzero(new)[0])
        if len(layer.value) > self._width.labels:
            self._dropped = max(self._dropped, int(layer.potential[self._width.labels]))
            layer = layer.kept(np.arange(self._width.labels))
        if self._place or len(layer.value) > _MOST_COMPARED:
            return layer
        covers = layer.value[:, None] >= layer.value[None, :]
        for resource in range(len(self._left)):
            covers &= layer.use[:, None, resource] <= layer.use[None, :, resource]
        np.fill_diagonal(covers, val=False)
        return layer.kept(np.nonzero(~covers.any(axis=0))[0])

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
            taken.append(tuple(offer.index for offer in self._options[int(layer.option[label])].offers))
            number, label = int(layer.layer[label]), int(layer.label[label])
        return tuple(reversed(taken))
