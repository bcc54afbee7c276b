"""Instances of packing from the literature, as a queue and kinds of nodes to buy.

An instance has bins of some sizes and prices, without limit, and items; all items are to be packed at the least cost.
The rules of the generators are published:

- ``variable_sized``: Monaci (2002). Sizes are uniform from 1, 20 or 50 to 100, the price of a bin is its size.
- ``priced``: Correia, Gouveia and Saldanha-da-Gama (2008), Haouari and Serairi (2009). Prices are linear, convex or
  concave in the size.
- ``vectors``: ten classes in two dimensions, Caprara and Toth (2001); in more dimensions the first two are repeated.
- ``triplets``: Falkenauer (1996). Three items fill each bin, so that the optimum is known.

Each instance is posed in three ways: bins are resources of nodes, one device with consumable capacity, or shared
counters that partitions draw on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, sqrt
from random import Random
from typing import Any

from drasat.scenarios import objects
from drasat.scenarios.objects import DRIVER, Mapped
from drasat.scenarios.queues import deployment, pod_spec

Amounts = tuple[int, ...]
RESOURCES, CAPACITY, COUNTERS = "resources", "capacity", "counters"
FORMS = (RESOURCES, CAPACITY, COUNTERS)
THREE_SIZES, FIVE_SIZES = (100, 120, 150), (60, 80, 100, 120, 150)
LEAST_SIZES = (1, 20, 50)
PRICED_SIZES = (70, 100, 130, 160, 190, 220, 250)
PRICES: Mapping[str, Callable[[int], int]] = {
    "linear": lambda size: size,
    "convex": lambda size: ceil(0.1 * size * sqrt(size)),
    "concave": lambda size: ceil(20 * sqrt(size)),
}
_SCALE = 1000
_TRIPLET_FIRST, _TRIPLET_LEAST = (380, 490), 250
_CLASS, _PACKED = "packed", "size-"
# A slice holds at most 64 devices that consume counters (SLC-2).
_MOST_PARTITIONS = 64


@dataclass(frozen=True, slots=True)
class BinKind:
    """Bins of one size in each dimension, at a price."""

    size: Amounts
    price: int


@dataclass(frozen=True, slots=True)
class PackingInstance:
    """What is packed into what; ``optimum`` is the least cost, where it is known beforehand."""

    name: str
    bins: tuple[BinKind, ...]
    items: tuple[Amounts, ...]
    optimum: int | None = None

    def fits(self, item: Amounts, one: BinKind) -> bool:
        """Whether an item fits an empty bin."""
        return all(amount <= size for amount, size in zip(item, one.size, strict=True))


def variable_sized(items: int, least: int = 1, sizes: Sequence[int] = THREE_SIZES, *, seed: int = 0) -> PackingInstance:
    """Items of ``least`` to 100, and bins of these sizes that cost as much as they have."""
    rng = Random(f"variable/{items}/{least}/{len(sizes)}/{seed}")
    made = tuple((rng.randint(least, 100),) for _ in range(items))
    name = f"variable-{len(sizes)}-{least}-{items}-{seed}"
    return PackingInstance(name, tuple(BinKind((size,), size) for size in sizes), made)


def priced(items: int, shape: str = "linear", *, seed: int = 0) -> PackingInstance:
    """Items of 1 to 250, and seven sizes of bins with prices of some shape."""
    rng = Random(f"priced/{items}/{shape}/{seed}")
    made = tuple((rng.randint(1, PRICED_SIZES[-1]),) for _ in range(items))
    bins = tuple(BinKind((size,), PRICES[shape](size)) for size in PRICED_SIZES)
    return PackingInstance(f"{shape}-{items}-{seed}", bins, made)


def triplets(items: int, *, seed: int = 0) -> PackingInstance:
    """Three items for each bin of 1000, none below a quarter; ``items`` is a multiple of three."""
    rng = Random(f"triplets/{items}/{seed}")
    made: list[int] = []
    for _ in range(items // 3):
        first = rng.randint(*_TRIPLET_FIRST)
        second = rng.randint(_TRIPLET_LEAST, (_SCALE - first) // 2 - 1)
        made += [first, second, _SCALE - first - second]
    return PackingInstance(
        f"triplets-{items}-{seed}", (BinKind((_SCALE,), 1),), tuple((one,) for one in made), items // 3
    )


_PairRule = Callable[[Random], tuple[int, int]]


def _independent(least: int, most: int) -> _PairRule:
    return lambda rng: (rng.randint(least, most), rng.randint(least, most))


def _correlated(rng: Random) -> tuple[int, int]:
    first = rng.randint(20, 100)
    return first, rng.randint(first - 10, first + 10)


def _opposed(rng: Random) -> tuple[int, int]:
    first = rng.randint(20, 100)
    return first, rng.randint(110 - first, 130 - first)


# By class the bin, and how the amounts of an item are drawn.
VECTOR_CLASSES: Mapping[int, tuple[tuple[int, int], _PairRule]] = {
    1: ((1000, 1000), _independent(100, 400)),
    2: ((1000, 1000), _independent(1, 1000)),
    3: ((1000, 1000), _independent(200, 800)),
    4: ((1000, 1000), _independent(50, 200)),
    5: ((1000, 1000), _independent(25, 100)),
    6: ((150, 150), _independent(20, 100)),
    7: ((150, 150), _correlated),
    8: ((150, 150), _opposed),
    9: ((100, 150), _independent(20, 100)),
}
TRIPLET_CLASS = 10
_TRIPLET_BIN, _TRIPLET_PART = 100, (25, 50)


def vectors(items: int, kind: int = 1, dimensions: int = 2, *, seed: int = 0) -> PackingInstance:
    """Items of a class in 2 to 20 dimensions; class 10 is made of triplets that fill bins in every dimension."""
    rng = Random(f"vectors/{kind}/{dimensions}/{items}/{seed}")
    name = f"vectors-{kind}-{dimensions}d-{items}-{seed}"
    if kind == TRIPLET_CLASS:
        made = [one for _ in range(items // 3) for one in _vector_triplet(rng, dimensions)]
        return PackingInstance(name, (BinKind((_TRIPLET_BIN,) * dimensions, 1),), tuple(made), len(made) // 3)
    pair, draw = VECTOR_CLASSES[kind]
    listed = [tuple(amount for _ in range(0, dimensions, 2) for amount in draw(rng))[:dimensions] for _ in range(items)]
    return PackingInstance(name, (BinKind((pair * dimensions)[:dimensions], 1),), tuple(listed))


def _vector_triplet(rng: Random, dimensions: int) -> list[Amounts]:
    first = tuple(rng.randint(*_TRIPLET_PART) for _ in range(dimensions))
    second = tuple(rng.randint(_TRIPLET_PART[0], _TRIPLET_PART[1] - 1) for _ in range(dimensions))
    pairs = zip(first, second, strict=True)
    return [first, second, tuple(_TRIPLET_BIN - one - other for one, other in pairs)]


def packing(instance: PackingInstance, form: str = RESOURCES) -> list[Mapped]:
    """The instance as NodeTemplates and Deployments: one for each kind of item, with as many replicas as there are."""
    items = sorted(Counter(instance.items).items(), reverse=True)
    made: list[Mapped] = []
    for number, one in enumerate(instance.bins):
        made.append(_template(f"bin-{number}", one, form, [(item, n) for item, n in items if instance.fits(item, one)]))
    if form != RESOURCES:
        made.append(objects.device_class(_CLASS, f"device.driver == '{DRIVER}'"))
    for number, (item, replicas) in enumerate(items):
        made += _replicated(f"item-{number}", item, replicas, form)
    return made


def _template(name: str, one: BinKind, form: str, items: Sequence[tuple[Amounts, int]]) -> Mapped:
    spec: Mapped = {"price": str(one.price)}
    if form == RESOURCES:
        spec["allocatable"] = _requests(one.size)
    elif form == CAPACITY:
        device = objects.device("bin", {}, _named(one.size), allowMultipleAllocations=True)
        spec["slices"] = [{"driver": DRIVER, "devices": [device]}]
    else:
        spec["slices"] = list(_partitioned(one, items))
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "NodeTemplate", "metadata": {"name": name}, "spec": spec}


def _requests(amounts: Amounts) -> dict[str, str]:
    """CPU in tenths, memory in Mi, then extended resources."""
    names = ("cpu", "memory", *(f"example.com/dimension{number}" for number in range(2, len(amounts))))
    units = ("00m", "Mi", *("",) * len(amounts))
    return {name: f"{amount}{unit}" for name, amount, unit in zip(names, amounts, units, strict=False)}


def _named(amounts: Amounts) -> dict[str, Any]:
    return {f"dimension{number}": str(amount) for number, amount in enumerate(amounts)}


def _label(item: Amounts) -> str:
    return _PACKED + "-".join(map(str, item))


def _partitioned(one: BinKind, items: Sequence[tuple[Amounts, int]]) -> Iterator[Mapped]:
    """A set of counters, and for each kind of item as many partitions as the bin could have at once."""
    yield {"driver": DRIVER, "sharedCounters": [objects.counter_set("bin", _named(one.size))]}
    numbers, devices = count(), list[Mapped]()
    for item, replicas in items:
        fitting = min(size // amount for size, amount in zip(one.size, item, strict=True) if amount)
        for _ in range(min(fitting, replicas)):
            drawn = [objects.consumption("bin", _named(item))]
            label = {"kind": _label(item)}
            devices.append(objects.device(f"part-{next(numbers)}", label, consumesCounters=drawn))
    for first in range(0, len(devices), _MOST_PARTITIONS):
        yield {"driver": DRIVER, "devices": devices[first : first + _MOST_PARTITIONS]}


def _replicated(name: str, item: Amounts, replicas: int, form: str) -> Iterator[Mapped]:
    if form == RESOURCES:
        yield deployment(name, replicas, pod_spec(_requests(item)))
        return
    if form == CAPACITY:
        wanted = objects.wanted(_CLASS, capacity={"requests": _named(item)})
    else:
        wanted = objects.wanted(_CLASS, f"device.attributes['{DRIVER}'].kind == '{_label(item)}'")
    yield objects.template(name, objects.claim_spec([objects.exactly("part", wanted)]))
    yield deployment(name, replicas, pod_spec({}, [objects.by_template("part", name)]))
