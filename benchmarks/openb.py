"""Plan the openb queue, beside schedulers that place it pod by pod: ``openb.py [--load 1.1] [--queue models]``.

The cluster of the Alibaba openb trace (1,523 nodes, 6,212 GPUs) and its pods, counts scaled so that the demand for GPUs
is 100, 110 and 130 % of what there is. As much GPU as possible is placed; CPU and memory count. Plans are made of
manifests, and verified; their times are those after reading, by the clock if nothing else is said. With ``--gangs`` a
second row has half of the pods in gangs of two to five, which are put together at random.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from time import perf_counter, process_time

from tables import machine, show

from drasat.models.results.plan import PlanStage
from drasat.reports.comparison import display_duration
from drasat.scenarios.objects import Mapped
from drasat.scenarios.openb import (
    QUEUES,
    WHOLE,
    Arrivals,
    FragmentationGradient,
    LinearNodeState,
    LinearPolicy,
    Openb,
    OpenNode,
    Pods,
    Score,
    in_random_order,
    manifests,
    openb,
)
from drasat.scenarios.queues import pending_pod
from drasat.solver.allocate.load import load as read
from drasat.solver.plan.master_problem import MasterNodeClass, MasterUnitClass
from drasat.solver.plan.plan import plan
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit

OBJECTIVE = "admitted=capacity:share"
LOADS = (1.0, 1.1, 1.3)
PHASES = ("solve", "fill", "explain", "verify")
# What counts as proven.
GAPS = {"plain": 0.002, "models": 0.005}
COLUMNS = ("queue", "load", "plan", "bound", "gap", "seconds", *PHASES, "CPU", "pod classes", "node classes")
GANG_ANNOTATION, GANG_SIZES = "drasat.dev/gang", (2, 5)
RIVALS = ("queue", "load", "policy", "placed", "CPU")


def plans(
    queues: Sequence[str], loads: Sequence[float], gap: float | None, *, gangs: bool = False
) -> Iterator[tuple[str, ...]]:
    """Plan each load of each queue, and with gangs as well where these are asked for; the gap may be the queue's."""
    yield COLUMNS
    for queue in queues:
        for load in loads:
            trace = openb(queue, load)
            documents = manifests(trace)
            for name, own in ((queue, documents), (f"{queue}, gangs", with_gangs(documents)))[: 1 + gangs]:
                yield name, f"{load:.0%}", *_planned(trace, own, GAPS[queue] if gap is None else gap)


def with_gangs(documents: Sequence[Mapped], seed: int = 0) -> list[Mapped]:
    """Half of the pods of each Deployment as pods of gangs, put together at random; the last one has what is left."""
    found, members, rng = list[Mapped](), list[Mapped](), Random(seed)
    for one in documents:
        if one["kind"] != "Deployment":
            found.append(one)
            continue
        body = one["spec"]
        members += [body["template"]["spec"]] * (body["replicas"] // 2)
        found.append({**one, "spec": {**body, "replicas": body["replicas"] - body["replicas"] // 2}})
    rng.shuffle(members)
    for number in count():
        own = [members.pop() for _ in range(min(len(members), rng.randint(*GANG_SIZES)))]
        if not own:
            return found
        gang = {GANG_ANNOTATION: f"gang-{number:04d}"}
        found += [pending_pod(f"gang-{number:04d}-{place}", spec, annotations=gang) for place, spec in enumerate(own)]
    return found


def _planned(trace: Openb, documents: Sequence[Mapped], gap: float) -> Iterator[str]:
    cluster = read(documents)
    clock, cpu = perf_counter(), process_time()
    found = plan(cluster, objective=OBJECTIVE, gap=gap)
    seconds, used = perf_counter() - clock, process_time() - cpu
    assert found.verified
    yield from _reached(trace, found.objective[0])
    yield from map(display_duration, (seconds, *(found.seconds[phase] for phase in PHASES), used))
    yield from (str(found.statistics.unit_classes), str(found.statistics.node_classes))


def _reached(trace: Openb, stage: PlanStage) -> Iterator[str]:
    """What the plan places, what no plan exceeds, and how far these are apart."""
    yield _share(trace, stage.value)
    if stage.bound is None:
        yield from ("none", "none")
    else:
        yield _share(trace, stage.bound)
        yield f"{100 * (1 - stage.value / stage.bound):.3f} %"


def _share(trace: Openb, value: float) -> str:
    """A part of all GPUs."""
    return f"{100 * value / trace.gpus:.2f} %"


@dataclass(frozen=True, slots=True)
class Sums:
    """A trace as schedulers see it that know no more of devices than what is free of each."""

    demand: tuple[MasterUnitClass, ...]
    units: tuple[LinearUnit, ...]
    classes: tuple[MasterNodeClass, ...]
    nodes: tuple[LinearNode, ...]

    @classmethod
    def of(cls, trace: Openb) -> Sums:
        """Write a trace as sums."""
        return cls(
            tuple(MasterUnitClass(index, pods.count, pods.takes) for index, pods in enumerate(trace.pods)),
            tuple(map(_unit, trace.pods)),
            tuple(MasterNodeClass(index, node.count) for index, node in enumerate(trace.nodes)),
            tuple(
                LinearNode((WHOLE,) * node.gpus, WHOLE, (node.cpu, node.memory), _takes(trace, node.model))
                for node in trace.nodes
            ),
        )


def _unit(pods: Pods) -> LinearUnit:
    whole = pods.share == WHOLE
    return LinearUnit(pods.gpus if whole else 0, 0 if whole else pods.share, (pods.cpu, pods.memory))


def _takes(trace: Openb, model: str) -> frozenset[int] | None:
    """The pods that a node with this model suits, None for all of any trace."""
    if not any(pods.models for pods in trace.pods):
        return None
    return frozenset(index for index, pods in enumerate(trace.pods) if not pods.models or model in pods.models)


def rivals(queues: Sequence[str], loads: Sequence[float], seeds: int) -> Iterator[tuple[str, ...]]:
    """Let schedulers place the queue as it arrives in random order; the least and the most of some seeds."""
    yield RIVALS
    for queue in queues:
        for load in loads:
            trace = openb(queue, load)
            sums = Sums.of(trace)
            for policy in _policies(sums):
                yield queue, f"{load:.0%}", policy.name, *_arrived(trace, sums, policy, seeds)


@dataclass(frozen=True, slots=True)
class LinearFirstFit:
    """The first node in order, and there the fullest device."""

    name: str = "first fit"

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """The node's class, so that nodes are filled in order of classes, fuller ones first."""
        return (before.node_class, *sorted(before.free), *before.left, *sorted(after.free))


class LinearBestFit:
    """The node on which least is left, as a weighted sum of all resources (devices and node-wide ones).

    Each resource counts in parts of the largest that any node has of it.
    """

    name = "best fit"

    def __init__(self, nodes: Sequence[OpenNode]) -> None:
        resources = range(len(nodes[0].left)) if nodes else range(0)
        self._largest = [max(1, *(node.left[resource] for node in nodes)) for resource in resources]
        self._devices = max([1, *(sum(node.free) for node in nodes)])

    def score(self, unit: int, before: LinearNodeState, after: LinearNodeState) -> Score:
        """What is left of the node; among its devices, the fullest one that has room."""
        rest = sum(left / largest for left, largest in zip(after.left, self._largest, strict=True))
        return (rest + sum(after.free) / self._devices, *sorted(after.free))


def _policies(sums: Sums) -> list[LinearPolicy]:
    demands = [unit.demand for unit in sums.demand]
    return [LinearFirstFit(), LinearBestFit(sums.nodes), FragmentationGradient(sums.units, demands, sums.nodes)]


def _arrived(trace: Openb, sums: Sums, policy: LinearPolicy, seeds: int) -> tuple[str, str]:
    started, values = process_time(), []
    for seed in range(seeds):
        arrivals = Arrivals(sums.units, sums.nodes, [node.count for node in sums.classes], policy)
        found = arrivals.run(in_random_order([unit.demand for unit in sums.demand], seed))
        values.append(sum(placed * unit.weight for placed, unit in zip(found.placed, sums.demand, strict=True)))
    placed = " to ".join(dict.fromkeys([_share(trace, min(values)), _share(trace, max(values))]))
    return placed, display_duration((process_time() - started) / seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queue", choices=QUEUES, action="append", help="default: both")
    parser.add_argument("--load", type=float, action="append", help="default: 1.0, 1.1 and 1.3")
    parser.add_argument("--gap", type=float, help="default: 0.002 for plain, 0.005 for models")
    parser.add_argument("--gangs", action="store_true", help="with gangs as well")
    parser.add_argument("--seeds", type=int, default=1, help="orders of arrival; 0: no rivals")
    options = parser.parse_args(arguments)
    queues, loads = options.queue or list(QUEUES), options.load or LOADS
    print(machine())
    show(plans(queues, loads, options.gap, gangs=options.gangs))
    if options.seeds:
        show(rivals(queues, loads, options.seeds))


if __name__ == "__main__":
    main()
