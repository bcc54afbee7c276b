"""Fillings of a node, device after device: the best so many of each stage are kept, and what was dropped is bounded.

A label's *potential* is what the node may still become worth: the relaxed bound less all that was lost against the
relaxed packing. It never rises, so that labels below what is already known are dropped at no loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....problem.outcomes import check_deadline
from .patterns import patterns
from .question import Offer, Question
from .relaxation import FINE
from .relaxed import Relaxed

_Numbers = NDArray[np.int64]

# Labels that are compared pairwise: dominance among more takes longer than it saves.
_COMPARED = 600


@dataclass(frozen=True, slots=True)
class Width:
    """How many fillings of a device are tried, and how many of the node are kept after each."""

    patterns: int
    labels: int


@dataclass(frozen=True, slots=True)
class Filling:
    """What a node takes: for each device in the node's order, and last without a device, unit classes."""

    value: int
    devices: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Filled:
    """Fillings, the best first, and a bound on the value of all; ``work`` is how many labels were made.

    ``is_complete`` says that nothing of interest was dropped.
    """

    fillings: tuple[Filling, ...]
    bound: int
    work: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Option:
    """Something to add: ``lost`` against the relaxed packing, in 1 / ``FINE``."""

    offers: tuple[Offer, ...]
    lost: int


@dataclass(frozen=True, slots=True)
class _Layer:
    """Labels, and where each comes from: a layer, a label there, and what was added."""

    potential: _Numbers
    value: _Numbers
    use: _Numbers
    counts: _Numbers
    layer: _Numbers
    label: _Numbers
    option: _Numbers

    def kept(self, which: NDArray[np.intp]) -> _Layer:
        """Only these labels, in this order."""
        return _Layer(*(getattr(self, name)[which] for name in _Layer.__slots__))


class Labels:
    """One run over the devices of a node. ``least``: fillings worth no more are of no interest.

    ``counted``: fillings with different units are different, though one may be worth more and use less.
    """

    def __init__(
        self,
        question: Question,
        relaxed: Relaxed,
        width: Width,
        least: int,
        *,
        counted: bool = False,
        deadline: float | None = None,
    ) -> None:
        self._question = question
        self._relaxed = relaxed
        self._width = width
        self._least = least * FINE
        self._deadline = deadline
        # Where nothing but the node limits counts, they need not be counted.
        scarce = [offer for offer in question.offers if offer.is_scarce or counted]
        self._place = {offer.index: place for place, offer in enumerate(scarce)}
        self._most = np.array([offer.most for offer in scarce], dtype=np.int64)
        self._left = np.array(question.node.left, dtype=np.int64)
        self._options: list[_Option] = []
        self._layers: list[_Layer] = []
        self._dropped = self._least
        self._work = 0

    def run(self, fillings: int) -> Filled:
        """Fill the devices that are free as a whole, then the others, then the node without devices.

        Raises ``DeadlineExceededError``.
        """
        node, relaxed = self._question.node, self._relaxed
        start = np.zeros((1,), dtype=np.int64)
        zeros = np.zeros((1, len(self._left)), dtype=np.int64)
        counts = np.zeros((1, len(self._most)), dtype=np.int64)
        self._layers.append(_Layer(start + relaxed.bound, start, zeros, counts, start - 1, start, start))
        self._fill_whole(node.whole)
        for free in (free for free in node.free if free != node.capacity):
            self._extend([(len(self._layers) - 1, self._device_options(free))])
        for offer in self._question.without:
            worth = relaxed.worth[offer.index]
            kept = max(0, worth) * offer.most
            options = [_Option((offer,) * times, kept - worth * times) for times in range(offer.most + 1)]
            self._extend([(len(self._layers) - 1, options)])
        return self._filled(fillings)

    def _fill_whole(self, devices: int) -> None:
        best = self._relaxed.whole
        singles = self._device_options(self._question.node.capacity) if devices else []
        for number in range(1, devices + 1):
            slack = best[number] - best[number - 1] - self._relaxed.device[-1]
            sources = [(number - 1, [_Option(option.offers, option.lost + slack) for option in singles])]
            for offer in self._question.several:
                size = offer.unit.devices
                if size <= number:
                    lost = best[number] - best[number - size] - self._relaxed.worth[offer.index]
                    sources.append((number - size, [_Option((offer,), lost)]))
            self._extend(sources)

    def _device_options(self, free: int) -> list[_Option]:
        """Fillings of one device that lose no more than there is to lose, and leaving it as it is."""
        best = self._relaxed.device[self._question.steps(free)]
        losable = self._relaxed.bound - self._least
        found = patterns(self._question, self._relaxed, free, best - losable, self._width.patterns)
        if found.missed is not None:
            self._dropped = max(self._dropped, self._relaxed.bound - best + found.missed)
        options = [_Option(pattern.offers, best - pattern.worth) for pattern in found.found]
        if all(option.offers for option in options):
            options.append(_Option((), best))
        return options

    def _extend(self, sources: list[tuple[int, list[_Option]]]) -> None:
        """Make the next layer: every label of a source with every option."""
        check_deadline(self._deadline)
        made = [self._product(number, options) for number, options in sources]
        joined = _Layer(*(np.concatenate([getattr(one, name) for one in made]) for name in _Layer.__slots__))
        self._work += len(joined.value)
        fits = (joined.use <= self._left).all(axis=1) & (joined.counts <= self._most).all(axis=1)
        joined = joined.kept(np.nonzero(fits & (joined.potential > self._least))[0])
        self._layers.append(self._best(joined))

    def _product(self, number: int, options: list[_Option]) -> _Layer:
        source = self._layers[number]
        first = len(self._options)
        self._options += options
        lost, value, use, counts = self._columns(options)
        labels, width = len(source.value), len(options)

        def sums(one: _Numbers, other: _Numbers) -> _Numbers:
            return (one[:, None] + other[None, :]).reshape(labels * width, *one.shape[1:])

        return _Layer(
            sums(source.potential, -lost),
            sums(source.value, value),
            sums(source.use, use),
            sums(source.counts, counts),
            np.full(labels * width, number, dtype=np.int64),
            np.repeat(np.arange(labels, dtype=np.int64), width),
            np.tile(np.arange(first, first + width, dtype=np.int64), labels),
        )

    def _columns(self, options: Sequence[_Option]) -> tuple[_Numbers, _Numbers, _Numbers, _Numbers]:
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

    def _best(self, layer: _Layer) -> _Layer:
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
        if self._place or len(layer.value) > _COMPARED:
            return layer
        covers = layer.value[:, None] >= layer.value[None, :]
        for resource in range(len(self._left)):
            covers &= layer.use[:, None, resource] <= layer.use[None, :, resource]
        np.fill_diagonal(covers, val=False)
        return layer.kept(np.nonzero(~covers.any(axis=0))[0])

    def _filled(self, fillings: int) -> Filled:
        last = self._layers[-1]
        best = np.argsort(-last.value, kind="stable")[:fillings]
        found = tuple(Filling(int(last.value[label]), self._devices(int(label))) for label in best)
        bound = max(self._dropped // FINE, *(filling.value for filling in found[:1]), 0)
        return Filled(found, bound, self._work, self._dropped <= self._least)

    def _devices(self, label: int) -> tuple[tuple[int, ...], ...]:
        """Follow a label back to the empty node."""
        taken: list[tuple[int, ...]] = []
        number = len(self._layers) - 1
        while number > 0:
            layer = self._layers[number]
            taken.append(tuple(offer.index for offer in self._options[int(layer.option[label])].offers))
            number, label = int(layer.layer[label]), int(layer.label[label])
        return tuple(reversed(taken))
