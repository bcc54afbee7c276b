"""Partitions of GPUs for services with SLOs: ``mig.py``, the joint plan beside two steps.

The two steps are those of ParvaGPU (Lee et al., SC 2024) without its sharing within a partition: first each service
gets partitions of the size that serves most for its compute, and for the rest the smallest one that is enough; then
partitions are placed by size, the largest first, each on the first GPU with room. The plan chooses both jointly.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from time import process_time

from inference_scenarios import PARTITIONS, SCENARIOS, InferenceService, inference, inference_services
from tables import machine, show

from drasat.reports.comparison import display_duration
from drasat.scenarios.mig import MIG_PROFILES
from drasat.solver.allocate.load import load
from drasat.solver.plan.outcome import OPTIMAL
from drasat.solver.plan.plan import plan

OBJECTIVE = "coverage,fewest-nodes"
TIME_LIMIT = 60.0
MEMORY_SLICES, COMPUTE = 8, 7


def chosen_partitions(service: InferenceService) -> Counter[str]:
    """The first step: most throughput for the compute, and for the rest the smallest partition that is enough."""
    served = service.throughputs()
    best = max(served, key=lambda profile: served[profile] / PARTITIONS[profile][0])
    number = int(service.rate // served[best])
    rest = service.rate - number * served[best]
    enough = [profile for profile in served if served[profile] >= rest]
    last = min(enough, key=lambda profile: PARTITIONS[profile]) if enough else best
    return Counter({best: number}) + Counter({last: 1 if rest > 0 else 0})


def placed_partitions(chosen: Counter[str]) -> int:
    """The second step: how many GPUs partitions take, the largest first, each where it fits first."""
    gpus: list[tuple[set[int], int]] = []
    for profile in sorted(chosen.elements(), key=lambda profile: PARTITIONS[profile], reverse=True):
        size, compute = MIG_PROFILES[profile].size, PARTITIONS[profile][0]
        for number, (taken, used) in enumerate(gpus):
            free = [start for start in MIG_PROFILES[profile].starts if taken.isdisjoint(range(start, start + size))]
            if free and used + compute <= COMPUTE:
                gpus[number] = (taken | set(range(free[-1], free[-1] + size)), used + compute)
                break
        else:
            start = MIG_PROFILES[profile].starts[-1]
            gpus.append((set(range(start, start + size)), compute))
    return len(gpus)


def rows(names: Sequence[str], seeds: int) -> Iterator[tuple[str, ...]]:
    """A row a scenario and seed."""
    yield "scenario", "services", "GPUs in two steps", "GPUs of the plan", "bound", "proven", "CPU"
    for name in names:
        for seed in range(seeds):
            services = inference_services(name, seed=seed)
            steps = placed_partitions(sum(map(chosen_partitions, services), Counter[str]()))
            cluster = load(inference(services, steps))
            started = process_time()
            found = plan(cluster, objective=OBJECTIVE, time_limit=TIME_LIMIT)
            seconds = process_time() - started
            covered, used = found.objective
            assert covered.value == len(services), "a demand is not covered"
            proven = "yes" if found.outcome == OPTIMAL and used.bound == used.value else "no"
            values = (len(services), steps, int(used.value), used.bound)
            yield name, *map(str, values), proven, display_duration(seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("scenario", nargs="*", default=list(SCENARIOS))
    options = parser.parse_args()
    print(machine())
    show(rows(options.scenario, options.seeds))


if __name__ == "__main__":
    main()
