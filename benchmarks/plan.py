"""Plan made-up queues: ``plan.py [fleet] [perf] [gangs]``, all of them without any.

``fleet``: clusters of growing size, and how each phase grows. ``perf``: what scheduler_perf measures, beside first fit
and the real allocator. ``gangs``: how far a plan for gangs is from its bound after 30 seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import measure, measure_peer, peer_is_built
from tables import machine, show

from drasat.models.results.common import Status
from drasat.reports.comparison import display_duration
from drasat.scenarios.queues import GANG_NODES, PERF_NODES, WORKLOADS, PerfWorkload, gang_count
from drasat.solver.allocate.load import load

HERE = Path(__file__).parent
SIZES = (1_000, 3_000, 10_000)
GANG_LIMIT = 30.0
# What is aimed at.
MOST_GROWTH = 1.05
MOST_SECONDS = 5.0
MOST_MEMORY = 2048
MOST_GAP = 0.001
MOST_READING = 30e-6
MOST_GANG_GAP = 0.01
PART_OF_PEER = 0.1
# The workload of which even a tenth of the time of an allocator that is told the node is aimed at.
EQUAL = "32 requests, lists"

Run = Mapping[str, Any]


def run(
    instance: str, nodes: int, objective: Sequence[str] = (), limit: float | None = None, *, cpu: bool = False
) -> Run:
    """Plan in a process of its own; with ``cpu`` phases are in CPU seconds."""
    command = [sys.executable, str(HERE / "plan_once.py"), instance, str(nodes)]
    command += [f"--objective={stage}" for stage in objective]
    command += [] if limit is None else ["--limit", str(limit)]
    command += ["--cpu"] if cpu else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: Run = json.loads(done.stdout)
    return answer


def fleet_rows(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """A row a phase: seconds at each size, the exponent between the first and the last, and what is aimed at."""
    yield ("", *(f"{one['nodes']:,} nodes" for one in runs), "growth", "at most")
    yield _times(runs, "read, index", _reading, _reading_target(runs[-1]))
    for phase in runs[-1]["phases"]:
        yield _times(runs, f"plan: {phase}", lambda one, phase=phase: one["phases"].get(phase, 0.0))
    yield _times(runs, "plan", lambda one: one["clock"], f"{display_duration(MOST_SECONDS)}, {MOST_GROWTH}")
    yield _times(runs, "plan, CPU", lambda one: one["cpu"])
    yield "placed", *(f"{one['placed']:,} of {one['asked']:,}" for one in runs), "", ""
    yield "largest gap", *(percent(gap_of(one)) for one in runs), "", percent(MOST_GAP)
    yield "peak memory", *(f"{one['peakMiB']:.0f} MiB" for one in runs), "", f"{MOST_MEMORY} MiB"


def _times(runs: Sequence[Run], name: str, seconds: Callable[[Run], float], target: str = "") -> tuple[str, ...]:
    times = [seconds(one) for one in runs]
    return name, *(display_duration(one) for one in times), growth(runs, times), target


def _reading(one: Run) -> float:
    return sum(one["seconds"].values())


def _reading_target(largest: Run) -> str:
    return (
        f"{display_duration(MOST_READING)} a device (it is {display_duration(_reading(largest) / largest['devices'])})"
    )


def growth(runs: Sequence[Run], seconds: Sequence[float]) -> str:
    """The exponent between the smallest and the largest size: 1 is linear."""
    if len(runs) < 2 or min(seconds) <= 0:
        return ""
    return f"{math.log(seconds[-1] / seconds[0]) / math.log(runs[-1]['nodes'] / runs[0]['nodes']):.2f}"


def gap_of(one: Run) -> float | None:
    """The largest gap of all stages that place units; None where such a stage has no bound."""
    gaps = [stage["gap"] for stage in one["stages"] if stage.get("sense") != "min"]
    return None if None in gaps else max(gaps, default=0.0)


def percent(part: float | None) -> str:
    """A part of a whole."""
    return "none" if part is None else f"{100 * part:.3f} %"


def perf_rows(nodes: int, limit: float, names: Sequence[str] = tuple(WORKLOADS)) -> Iterator[tuple[str, ...]]:
    """A row a workload: the plan, first fit, and the real allocator, which walks the nodes or is told the right one."""
    yield "pods", "placed", "gap", "plan", "of this verifying", "at most", "first fit", "walking", "given the node"
    for name in names:
        workload = WORKLOADS[name]
        found = run(name, nodes)
        first_fit = measure(load(workload.objects(nodes)), "backtracking", limit, repeats=1)
        walking, told = (_peer(workload, nodes, limit, told=told) for told in (False, True))
        # Equal lists on all nodes: to be told is what is aimed at.
        compared = told if name == EQUAL else walking
        yield (
            name,
            f"{found['placed']:,} of {found['asked']:,}",
            percent(gap_of(found)),
            display_duration(found["clock"]),
            display_duration(found["phases"]["verify"]),
            display_duration(compared * PART_OF_PEER) if isinstance(compared, float) else "",
            first_fit.told,
            *(display_duration(one) if isinstance(one, float) else one for one in (walking, told)),
        )


def _peer(workload: PerfWorkload, nodes: int, limit: float, *, told: bool) -> float | str:
    """Seconds that the real allocator takes, or why that is not known."""
    if not peer_is_built():
        return "not built"
    found = measure_peer(load(workload.objects(nodes, told=told)), limit)
    return found.told if found.outcome == Status.UNKNOWN else found.search


def gang_rows(nodes: int, limit: float) -> Iterator[tuple[str, ...]]:
    """A row an objective: what is placed, and how far that is from the bound when time is over."""
    yield "gangs", "objective", "value", "bound", "gap", "at most", "read, index", "plan"
    for objective in ("admitted", "admitted=devices"):
        found = run("gangs", nodes, [objective], limit)
        stage = found["stages"][-1]
        values = (f"{stage['value']:,}", "none" if stage["bound"] is None else f"{stage['bound']:,}")
        times = (display_duration(_reading(found)), display_duration(found["clock"]))
        yield str(gang_count(nodes)), objective, *values, percent(stage["gap"]), percent(MOST_GANG_GAP), *times


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="fleet, perf, gangs")
    parser.add_argument("--nodes", type=int, action="append", help="sizes of the fleet; nodes of the others")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for first fit and the real allocator")
    parser.add_argument("--cpu", action="store_true", help="phases of the fleet in CPU seconds, for busy machines")
    options = parser.parse_args(arguments)
    programs, sizes = options.programs or ["fleet", "perf", "gangs"], options.nodes
    print(machine())
    if "fleet" in programs:
        show(fleet_rows([run("fleet", size, cpu=options.cpu) for size in sizes or SIZES]))
    if "perf" in programs:
        show(perf_rows(*(sizes or [PERF_NODES])[:1], options.limit))
    if "gangs" in programs:
        show(gang_rows(*(sizes or [GANG_NODES])[:1], GANG_LIMIT))


if __name__ == "__main__":
    main()
