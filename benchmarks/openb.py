"""Plan the openb queue, beside schedulers that place it pod by pod: ``openb.py [--load 1.1] [--queue models]``.

The cluster of the Alibaba openb trace (1,523 nodes, 6,212 GPUs) and its pods, counts scaled so that the demand for GPUs
is 100, 110 and 130 % of what there is. As much GPU as possible is placed; CPU and memory count. Times are CPU time
of all processes, and by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from tables import machine, show

from drasat.reports.comparison import duration
from drasat.solver.planning.core import PlanCore, PlanLimits, solve
from drasat.solver.planning.instance import Instance, NodeClass, UnitClass
from drasat.solver.planning.linear.pricer import LinearPricer
from drasat.solver.planning.linear.resources import LinearNode, LinearUnit
from drasat.solver.planning.rivals.arrivals import Arrivals, in_random_order
from drasat.solver.planning.rivals.scores import BestFit, FirstFit, FragmentationGradient, Policy

DATA = Path(__file__).parent / "data" / "openb-classes.json"
QUEUES = {"plain": "pods", "models": "pods with models"}
LOADS = (1.0, 1.1, 1.3)
WHOLE = 1000
COLUMNS = ("queue", "load", "plan", "bound", "gap", "CPU", "clock", "rounds", "columns")
RIVALS = ("queue", "load", "policy", "placed", "CPU")


@dataclass(frozen=True, slots=True)
class Question:
    """A queue of some load on the cluster; ``gpus`` is all there is, in thousandths."""

    instance: Instance
    pricer: LinearPricer
    gpus: int

    def share(self, value: float) -> str:
        """A part of all GPUs."""
        return f"{100 * value / self.gpus:.2f} %"


def question(queue: str, load: float) -> Question:
    """Scale the counts of a queue, each rounded."""
    data = json.loads(DATA.read_text())
    pods = data[QUEUES[queue]]
    gpus = sum(count * number * WHOLE for count, _, number, _, _ in data["nodes"])
    demand = sum(pod[0] * pod[1] * pod[2] for pod in pods)
    asked = tuple(
        UnitClass(index, round(pod[0] * load * gpus / demand), pod[1] * pod[2]) for index, pod in enumerate(pods)
    )
    classes = tuple(NodeClass(index, node[0]) for index, node in enumerate(data["nodes"]))
    nodes = tuple(
        LinearNode((WHOLE,) * number, WHOLE, (cpu, memory), _takes(pods, model))
        for _, model, number, cpu, memory in data["nodes"]
    )
    return Question(Instance(asked, classes), LinearPricer(tuple(_unit(pod) for pod in pods), nodes), gpus)


def _unit(pod: Sequence[int]) -> LinearUnit:
    _, gpus, share, cpu, memory = pod[:5]
    return LinearUnit(gpus if share == WHOLE else 0, share if share < WHOLE else 0, (cpu, memory))


def _takes(pods: Sequence[Sequence[object]], model: str) -> frozenset[int] | None:
    if all(len(pod) == 5 or not pod[5] for pod in pods):
        return None
    return frozenset(index for index, pod in enumerate(pods) if not pod[5] or model in str(pod[5]).split("|"))


def plans(queues: Sequence[str], loads: Sequence[float], gap: float, workers: int) -> Iterator[tuple[str, ...]]:
    """Plan each load of each queue."""
    yield COLUMNS
    for queue in queues:
        for load in loads:
            yield _planned(queue, load, gap, workers)


def _planned(queue: str, load: float, gap: float, workers: int) -> tuple[str, ...]:
    asked = question(queue, load)
    clock, cpu = perf_counter(), _cpu()
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as executor:
        found: PlanCore = solve(
            asked.instance, [asked.instance.admitted()], asked.pricer, limits=PlanLimits(gap), executor=executor
        )
    seconds = perf_counter() - clock
    stage = found.stages[0]
    assert found.plan.is_feasible(asked.instance, ())
    bound, proven = (asked.share(stage.bound), f"{100 * (stage.gap or 0):.3f} %") if stage.bound else ("none", "none")
    counts = (str(stage.rounds), str(found.columns))
    return (
        queue,
        f"{load:.0%}",
        asked.share(stage.value),
        bound,
        proven,
        duration(_cpu() - cpu),
        duration(seconds),
        *counts,
    )


def _cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def rivals(queues: Sequence[str], loads: Sequence[float], seeds: int) -> Iterator[tuple[str, ...]]:
    """Let schedulers place the queue as it arrives in random order; the least and the most of some seeds."""
    yield RIVALS
    for queue in queues:
        for load in loads:
            asked = question(queue, load)
            for policy in _policies(asked):
                yield _arrived(queue, load, asked, policy, seeds)


def _policies(asked: Question) -> list[Policy]:
    units, nodes = asked.pricer.units, asked.pricer.nodes
    demands = [unit.demand for unit in asked.instance.units]
    return [FirstFit(), BestFit(nodes), FragmentationGradient(units, demands, nodes)]


def _arrived(queue: str, load: float, asked: Question, policy: Policy, seeds: int) -> tuple[str, ...]:
    instance, pricer, started, values = asked.instance, asked.pricer, process_time(), []
    for seed in range(seeds):
        found = Arrivals(pricer.units, pricer.nodes, instance.nodes, policy).run(in_random_order(instance.units, seed))
        values.append(sum(placed * unit.weight for placed, unit in zip(found.placed, instance.units, strict=True)))
    placed = " to ".join(dict.fromkeys([asked.share(min(values)), asked.share(max(values))]))
    return queue, f"{load:.0%}", policy.name, placed, duration((process_time() - started) / seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queue", choices=QUEUES, action="append", help="default: both")
    parser.add_argument("--load", type=float, action="append", help="default: 1.0, 1.1 and 1.3")
    parser.add_argument("--gap", type=float, default=0.001)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1, help="orders of arrival; 0: no rivals")
    options = parser.parse_args(arguments)
    queues, loads = options.queue or list(QUEUES), options.load or LOADS
    print(machine())
    show(plans(queues, loads, options.gap, options.workers))
    if options.seeds:
        show(rivals(queues, loads, options.seeds))


if __name__ == "__main__":
    main()
