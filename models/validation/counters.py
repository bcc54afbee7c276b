"""Counter sets of a slice, and what devices take from them (CNT-1)."""

from functools import lru_cache

from ..slices import Counter, CounterSet, DeviceCounterConsumption
from . import names
from .amounts import check_quantity, nano
from .checked_names import check_label
from .findings import Findings, Key, Path

SETS_MAX = 8
COUNTERS_MAX = 32
CONSUMPTIONS_MAX = 2


# Counters known to be well written: partitions repeat few amounts.
_KNOWN: set[Counter] = set()
_KNOWN_MAX = 16384


@lru_cache(maxsize=4096)
def _bad_names(counters: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in counters if names.label(name))


def _check_counters(found: Findings, path: Path, counters: dict[str, Counter] | None) -> None:
    if not counters:
        found.required(path)
        return
    if len(counters) > COUNTERS_MAX:
        found.too_many(path, len(counters), COUNTERS_MAX)
    for name in _bad_names(tuple(counters)):
        found.each_invalid((*path, Key(name)), name, names.label(name))
    if _KNOWN.issuperset(counters.values()):
        return
    for name, counter in counters.items():
        if nano(counter.value) is None:
            check_quantity(found, (*path, Key(name), "value"), counter.value)
        elif len(_KNOWN) < _KNOWN_MAX:
            _KNOWN.add(counter)


def check_counter_sets(found: Findings, path: Path, sets: tuple[CounterSet, ...]) -> None:
    """``sharedCounters`` of a slice."""
    found.at_most(path, sets, SETS_MAX)
    found.unique(path, (counter_set.name for counter_set in sets), ("name",))
    for index, counter_set in enumerate(sets):
        check_label(found, (*path, index, "name"), counter_set.name)
        _check_counters(found, (*path, index, "counters"), counter_set.counters)


def check_consumption(found: Findings, path: Path, consumed: tuple[DeviceCounterConsumption, ...]) -> None:
    """``consumesCounters`` of a device."""
    if len(consumed) > 1:
        found.at_most(path, consumed, CONSUMPTIONS_MAX)
        found.unique(path, (entry.counter_set for entry in consumed), ("counterSet",))
    for index, entry in enumerate(consumed):
        check_label(found, (*path, index, "counterSet"), entry.counter_set)
        _check_counters(found, (*path, index, "counters"), entry.counters)
