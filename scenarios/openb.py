"""The cluster and the queue of the openb trace: counted into classes, as their manifests, and filled by schedulers.

Several claims may hold one GPU: it has a capacity ``share`` of 1000, of which a claim for whole GPUs takes all.
Schedulers place units that arrive one by one on nodes of which sums are all there is: first fit, best fit and the
fragmentation gradient (FGD). Equal nodes in equal states are one, so that a policy looks at a state once for a unit
class. A policy scores what a placement makes of a node; the lowest score wins.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import objects
from .objects import Mapped
from .queues import deployment, pod_spec, with_room

QUEUES = {"plain": "pods", "models": "pods with models"}
WHOLE = 1000
NODES = 1523

_DATA = Path(__file__).parent / "openb-classes.json"
_DRIVER = "gpu.example.com"
_CLASS = "gpu"
# The trace says nothing about how many pods a node takes.
_ANY_PODS = "500"


@dataclass(frozen=True, slots=True)
class Nodes:
    """Equal nodes: milli-CPU and MiB of memory of each."""

    count: int
    model: str
    gpus: int
    cpu: int
    memory: int

    @property
    def room(self) -> dict[str, str]:
        """What one has for pods."""
        return {**_amounts(self.cpu, self.memory), "pods": _ANY_PODS}


@dataclass(frozen=True, slots=True)
class Pods:
    """Equal pods: ``share`` thousandths of each of some GPUs, of these ``models`` (none: of any)."""

    count: int
    gpus: int
    share: int
    cpu: int
    memory: int
    models: tuple[str, ...] = ()

    @property
    def takes(self) -> int:
        """Thousandths of GPUs that one asks for."""
        return self.gpus * self.share

    @property
    def requests(self) -> dict[str, str]:
        """What one asks of its node."""
        return _amounts(self.cpu, self.memory)

    @property
    def spec(self) -> Mapped:
        """The claim of one."""
        expressions = [f'device.attributes["{_DRIVER}"].model in {json.dumps(self.models)}'] if self.models else []
        capacity = {"requests": {"share": str(self.share)}}
        wanted = objects.wanted(_CLASS, *expressions, count=self.gpus, capacity=capacity)
        return objects.claim_spec([objects.exactly("gpu", wanted)])


@dataclass(frozen=True, slots=True)
class Openb:
    """The nodes, and a queue for them."""

    nodes: tuple[Nodes, ...]
    pods: tuple[Pods, ...]

    @property
    def gpus(self) -> int:
        """All GPUs, in thousandths."""
        return WHOLE * sum(node.count * node.gpus for node in self.nodes)

    @property
    def demand(self) -> int:
        """What all pods ask for, in thousandths of GPUs."""
        return sum(pod.count * pod.takes for pod in self.pods)

    def with_nodes(self, nodes: int) -> Openb:
        """So many nodes, in the same proportions."""
        parts = [node.count * nodes / sum(one.count for one in self.nodes) for node in self.nodes]
        missing = nodes - sum(map(int, parts))
        rounded_up = sorted(range(len(parts)), key=lambda place: int(parts[place]) - parts[place])[:missing]
        counts = (int(part) + (place in rounded_up) for place, part in enumerate(parts))
        return replace(
            self, nodes=tuple(replace(node, count=count) for node, count in zip(self.nodes, counts, strict=True))
        )

    def with_load(self, load: float) -> Openb:
        """The counts of pods, each rounded, so that they ask for ``load`` times the GPUs that there are."""
        times = load * self.gpus / self.demand if self.demand else 0
        return replace(self, pods=tuple(replace(pod, count=round(pod.count * times)) for pod in self.pods))


def openb(queue: str, load: float, nodes: int | None = None) -> Openb:
    """The nodes, or so many of the same kinds, and a queue that asks for ``load`` times the GPUs that they have."""
    data = json.loads(_DATA.read_text())
    listed = tuple(Nodes(*node) for node in data["nodes"])
    whole = Openb(listed, tuple(_pods(*pod) for pod in data[QUEUES[queue]]))
    return (whole if nodes is None else whole.with_nodes(nodes)).with_load(load)


def _pods(count: int, gpus: int, share: int, cpu: int, memory: int, models: str = "") -> Pods:
    return Pods(count, gpus, share, cpu, memory, tuple(models.split("|")) if models else ())


def manifests(trace: Openb) -> list[Mapped]:
    """Nodes with their slices, and a Deployment for each class of pods, with a template for its claims."""
    made = [objects.device_class(_CLASS, f'device.driver == "{_DRIVER}"')]
    listed = [node for node in trace.nodes for _ in range(node.count)]
    for number, node in enumerate(listed):
        made += _node(node_name(number), node)
    for number, pods in enumerate(trace.pods):
        made += _deployment(class_name(number), pods) if pods.count else ()
    return made


def node_name(number: int) -> str:
    """The name of a node by its number."""
    return f"node-{number:04d}"


def class_name(number: int) -> str:
    """The name of the Deployment of a class of pods, and of its template."""
    return f"pods-{number:03d}"


def _node(name: str, node: Nodes) -> Iterator[Mapped]:
    yield with_room(objects.node(name), node.room)
    if node.gpus:
        devices = [_gpu(number, node.model) for number in range(node.gpus)]
        yield objects.resource_slice(name, _DRIVER, name, objects.on_node(name), devices)


def _gpu(number: int, model: str) -> Mapped:
    return objects.device(f"gpu-{number}", {"model": model}, {"share": str(WHOLE)}, allowMultipleAllocations=True)


def _deployment(name: str, pods: Pods) -> Iterator[Mapped]:
    if pods.gpus:
        yield objects.template(name, pods.spec)
    claims = [objects.by_template("gpu", name)] if pods.gpus else []
    yield deployment(name, pods.count, pod_spec(pods.requests, claims))


def _amounts(cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}


@dataclass(frozen=True, slots=True)
class ArrivingUnit:
    """A unit takes ``devices`` whole, or a ``share`` of one device, or none; and of the node as a whole ``needs``."""

    devices: int = 0
    share: int = 0
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenNode:
    """What is free of each device, what a device has when all of it is free, and what the node has left.

    ``takes`` names the unit classes that may run here, None for all.
    """

    free: tuple[int, ...]
    capacity: int
    left: tuple[int, ...]
    takes: frozenset[int] | None = None


@dataclass(frozen=True)
class LinearNodeState:
    """What is left of a node of some class: of its devices, in order, and of the node as a whole."""

    node_class: int
    free: tuple[int, ...]
    left: tuple[int, ...]
    capacity: int

    @cached_property
    def whole(self) -> int:
        """Devices that are free as a whole."""
        return sum(free == self.capacity for free in self.free)

    def fits(self, unit: ArrivingUnit) -> bool:
        """Whether a unit fits."""
        return (
            all(need <= left for need, left in zip(unit.needs, self.left, strict=True))
            and unit.devices <= self.whole
            and (not unit.share or unit.share <= max(self.free, default=0))
        )

    def placements(self, unit: ArrivingUnit) -> list[LinearNodeState]:
        """What may become of the state: a share may come from any device that has so much."""
        left = tuple(left - need for left, need in zip(self.left, unit.needs, strict=True))
        if unit.devices:
            return [self._with((0,) * unit.devices + self.free[unit.devices :], left)]
        if not unit.share:
            return [self._with(self.free, left)]
        choices = sorted({free for free in self.free if free >= unit.share})
        return [self._with(self._less(free, unit.share), left) for free in choices]

    def _less(self, free: int, share: int) -> tuple[int, ...]:
        place = self.free.index(free)
        return (*self.free[:place], free - share, *self.free[place + 1 :])

    def _with(self, free: Iterable[int], left: tuple[int, ...]) -> LinearNodeState:
        return LinearNodeState(self.node_class, tuple(sorted(free, reverse=True)), left, self.capacity)


def initial_state(node_class: int, node: OpenNode) -> LinearNodeState:
    """A node before anything is placed."""
    return LinearNodeState(node_class, tuple(sorted(node.free, reverse=True)), node.left, node.capacity)


Score: TypeAlias = tuple[float, ...]


class LinearPolicy(Protocol):
    """A scheduler's preference. Scores may depend on nothing but the two states and the unit class."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """How much a placement is disliked."""
        ...


class FragmentationGradient:
    """Fragmentation gradient descent (FGD; Weng and others, USENIX ATC 2023).

    A node is fragmented, for one unit class, by what is free of its devices where that unit cannot use it. The
    expectation over the queue's mix is what a placement should raise the least.
    """

    name = "FGD"

    def __init__(self, units: Sequence[ArrivingUnit], demands: Sequence[int], nodes: Sequence[OpenNode]) -> None:
        self._nodes = nodes
        self._demands = np.array(demands, dtype=np.int64)
        self._needs = np.array([unit.needs for unit in units], dtype=np.int64)
        self._devices = np.array([unit.devices for unit in units], dtype=np.int64)
        self._shares = np.array([unit.share for unit in units], dtype=np.int64)
        self._allowed = [_mask(node, len(units)) for node in nodes]
        self._fragmentation = cache(self._of)

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """How much fragmentation grows; then what is left of the devices."""
        return (self._fragmentation(after) - self._fragmentation(before), *sorted(after.free))

    def fragmentation(self, states: Iterable[tuple[LinearNodeState, int]]) -> float:
        """The expected capacity of devices that a unit of the mix cannot use, over nodes in these states."""
        wasted = sum(self._fragmentation(state) * nodes for state, nodes in states)
        return wasted / max(1, int(self._demands.sum()))

    def _of(self, state: LinearNodeState) -> int:
        """Fragmentation times the size of the queue: all that is free where a unit does not fit or needs no device.

        Where it fits, what is free of devices that have too little for it.
        """
        free = np.array(state.free, dtype=np.int64)
        least = np.where(self._devices > 0, state.capacity, self._shares)
        fits = (self._needs <= np.array(state.left, dtype=np.int64)).all(axis=1) & (self._devices <= state.whole)
        fits &= (least > 0) & (least <= free.max(initial=0)) & self._allowed[state.node_class]
        too_little = np.where(free[None, :] < least[:, None], free[None, :], 0).sum(axis=1)
        return int((self._demands * np.where(fits, too_little, free.sum())).sum())


def _mask(node: OpenNode, units: int) -> NDArray[np.bool_]:
    """Which unit classes may run on a node."""
    return np.array([node.takes is None or index in node.takes for index in range(units)], dtype=bool)


@dataclass(frozen=True, slots=True)
class ArrivalResult:
    """How many units of each class were placed, and how many nodes end in which state."""

    placed: tuple[int, ...]
    states: tuple[tuple[LinearNodeState, int], ...]


class Arrivals:
    """A cluster that fills up by a policy. States are kept with the number of nodes in them."""

    def __init__(
        self, units: Sequence[ArrivingUnit], nodes: Sequence[OpenNode], counts: Sequence[int], policy: LinearPolicy
    ) -> None:
        self._units = units
        self._nodes = nodes
        self._policy = policy
        starts = (initial_state(index, node) for index, node in enumerate(nodes))
        self._states = +Counter(dict(zip(starts, counts, strict=True)))
        # The best placement of each unit class in each state; None where it does not fit.
        self._best: list[dict[LinearNodeState, tuple[Score, LinearNodeState] | None]] = [{} for _ in units]

    def placements(self, arriving: Iterable[int]) -> Iterator[tuple[int, LinearNodeState, LinearNodeState]]:
        """Place all that arrive, and yield each unit that is placed with what its node was and what it becomes.

        What does not fit is left out, and those after it are tried.
        """
        full: set[int] = set()
        for unit in arriving:
            # Room only shrinks: where one unit of a class did not fit, no other will.
            if unit in full:
                continue
            change = self.place(unit)
            if change is None:
                full.add(unit)
            else:
                yield unit, *change

    def place(self, unit: int) -> tuple[LinearNodeState, LinearNodeState] | None:
        """Place a unit; returns what the node was and what it becomes, None if it fits nowhere."""
        known = self._best[unit]
        best: tuple[Score, LinearNodeState] | None = None
        chosen: LinearNodeState | None = None
        for state in self._states:
            if state not in known:
                known[state] = self._best_in(unit, state)
            found = known[state]
            if found is not None and (best is None or found[0] < best[0]):
                best, chosen = found, state
        if best is None or chosen is None:
            return None
        self._states[chosen] -= 1
        if not self._states[chosen]:
            del self._states[chosen]
        self._states[best[1]] += 1
        return chosen, best[1]

    def _best_in(self, unit: int, state: LinearNodeState) -> tuple[Score, LinearNodeState] | None:
        node, needed = self._nodes[state.node_class], self._units[unit]
        if (node.takes is not None and unit not in node.takes) or not state.fits(needed):
            return None
        after = state.placements(needed)
        return min(((self._policy.score(unit, state, one), one) for one in after), key=lambda pair: pair[0])

    def run(self, arriving: Iterable[int]) -> ArrivalResult:
        """Place all that arrive; what does not fit is left out."""
        placed = Counter(unit for unit, _, _ in self.placements(arriving))
        return ArrivalResult(tuple(placed[unit] for unit in range(len(self._units))), tuple(self._states.items()))


def in_random_order(demands: Sequence[int], seed: int) -> list[int]:
    """Units of each class, in an order that the seed decides."""
    queue = [unit for unit, demand in enumerate(demands) for _ in range(demand)]
    Random(seed).shuffle(queue)
    return queue


class PlacedPod(NamedTuple):
    """A pod of a class, by the numbers of the class, of the node and of the GPUs of that."""

    pods: int
    node: int
    gpus: tuple[int, ...]


def filled_by_fgd(trace: Openb, seed: int) -> Iterator[PlacedPod]:
    """Place pods that name no models, in random order, by FGD."""
    units = [
        ArrivingUnit(pods.gpus if pods.share == WHOLE else 0, pods.share % WHOLE, (pods.cpu, pods.memory))
        for pods in trace.pods
    ]
    nodes = [OpenNode((WHOLE,) * node.gpus, WHOLE, (node.cpu, node.memory)) for node in trace.nodes]
    demands = [pods.count for pods in trace.pods]
    policy = FragmentationGradient(units, demands, nodes)
    numbers = count()
    there = defaultdict[LinearNodeState, list[int]](list)
    for index, (node, kind) in enumerate(zip(nodes, trace.nodes, strict=True)):
        there[initial_state(index, node)] = [next(numbers) for _ in range(kind.count)]
    left = [list(nodes[index].free) for index, node in enumerate(trace.nodes) for _ in range(node.count)]
    arrivals = Arrivals(units, nodes, [node.count for node in trace.nodes], policy)
    for unit, before, after in arrivals.placements(in_random_order(demands, seed)):
        number = there[before].pop()
        there[after].append(number)
        taken = next(iter(Counter(before.free) - Counter(after.free)), None)
        chosen = [gpu for gpu, amount in enumerate(left[number]) if amount == taken][: trace.pods[unit].gpus]
        for gpu in chosen:
            left[number][gpu] -= trace.pods[unit].share
        yield PlacedPod(unit, number, tuple(chosen))
