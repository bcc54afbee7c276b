"""A generation of a pool: its slices on whatever node, and what is wrong with their counters (POOL-8, POOL-9)."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from .slices import CounterSet, Device, ResourceSlice


class Generation:
    """All slices of one generation of a pool, on any node."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.slices: list[ResourceSlice] = []
        # Slices that are ignored for their features, but count where the whole pool is counted (POOL-6).
        self.ignored = 0

    @property
    def published(self) -> int:
        """How many slices there are, ignored ones too."""
        return len(self.slices) + self.ignored

    def add(self, position: int, slice_: ResourceSlice) -> None:
        """Add a slice with its position in the index."""
        self.positions.append(position)
        self.slices.append(slice_)

    @cached_property
    def counter_sets(self) -> tuple[CounterSet, ...]:
        """The counter sets of all slices (POOL-8)."""
        return tuple(counters for slice_ in self.slices for counters in slice_.spec.shared_counters or ())

    @cached_property
    def counter_problem(self) -> str:
        """What is wrong with the counters of the pool (POOL-9); empty: nothing."""
        names = [counters.name for counters in self.counter_sets]
        if twice := repeated(names):
            return f"duplicate counter set {twice}"
        known = {counters.name: frozenset(counters.counters or ()) for counters in self.counter_sets}
        consumers = (device for slice_ in self.slices for device in slice_.spec.devices or ())
        problems = (_counter_problem(device, known) for device in consumers if device.consumes_counters)
        return next(filter(None, problems), "")

    def others(self, kept: Iterable[int]) -> Iterator[ResourceSlice]:
        """The slices beside the kept ones."""
        relevant = frozenset(kept)
        pairs = zip(self.positions, self.slices, strict=True)
        return (slice_ for position, slice_ in pairs if position not in relevant)


def _counter_problem(device: Device, known: dict[str, frozenset[str]]) -> str:
    for consumption in device.consumes_counters or ():
        if consumption.counter_set not in known:
            return f"device {device.name} consumes from unknown counter set {consumption.counter_set}"
        for counter in consumption.counters or ():
            if counter not in known[consumption.counter_set]:
                return f"device {device.name} consumes unknown counter {counter} of set {consumption.counter_set}"
    return ""


def repeated(names: Iterable[str]) -> str | None:
    """The first name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
