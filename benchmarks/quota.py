"""Quota beside placement on teams that share GPUs (``scenarios/quota.py``): ``quota.py [--seconds N] [NODES ...]``.

Kueue's admissions go to nodes by first fit, and by a plan that has them as given: what is not placed is stranded. The
joint plan chooses workloads, flavors and places at once. All are verified, and have N seconds each, by default 60.
With ``--phases`` the table has what ``drasat quota`` takes instead, in CPU seconds of one process.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from time import perf_counter, process_time

from tables import machine, show

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.scenarios.quota import quota

SIZES = (40, 200)
# Of a cluster with so many nodes: queues, cohorts and workloads for one node.
QUEUES, COHORTS, WORKLOADS = 0.1, 0.025, 2.5
TIME_LIMIT, GAP = 60.0, 0.005
FIRST_FIT, PLANNED, JOINT = "kueue, first fit", "kueue, planned", "joint"


def made(nodes: int) -> Cluster:
    """The scenario with so many nodes."""
    return drasat.load(
        quota(nodes, max(2, round(QUEUES * nodes)), max(3, round(COHORTS * nodes)), round(WORKLOADS * nodes))
    )


def rows(sizes: Sequence[int], limit: float) -> Iterator[tuple[str, ...]]:
    """A row for each size and way of admission."""
    yield "nodes", "workloads", "quota", "admitted", "placed", "stranded", "pods placed", "devices", "result", "time"
    for nodes in sizes:
        cluster = made(nodes)
        for mode in (FIRST_FIT, PLANNED, JOINT):
            began = perf_counter()
            counts = first_fit(cluster, limit) if mode == FIRST_FIT else planned(cluster, mode, limit)
            seconds = perf_counter() - began
            workloads, *numbers, outcome = (f"{one:,}" if isinstance(one, int) else one for one in counts)
            yield f"{nodes:,}", workloads, mode, *numbers, outcome, f"{seconds:.1f} s"


def first_fit(cluster: Cluster, limit: float) -> tuple[int | str, ...]:
    """Workloads, those admitted, placed and stranded, pods, devices and the outcome."""
    (found,) = drasat.compare_plans(cluster, ["kueue"], time_limit=limit).planners
    own = found.quota
    assert own is not None
    numbers = own.workloads, own.admitted, own.placed, own.stranded, found.admitted, found.used or 0
    return *numbers, "" if found.decided else "out of time"


def planned(cluster: Cluster, mode: str, limit: float) -> tuple[int | str, ...]:
    """The same of a plan."""
    quota = "joint" if mode == JOINT else "kueue"
    document = drasat.plan(cluster, quota=quota, time_limit=limit, gap=GAP).document
    found = Counter(one.outcome for one in document.workloads or ())
    placed, stranded = found["Admitted"], found["Stranded"]
    devices = sum(one.used for one in document.nodes)
    numbers = found.total(), placed + stranded, placed, stranded, document.placed, devices
    return *numbers, document.outcome


def phase_rows(sizes: Sequence[int], limit: float) -> Iterator[tuple[str, ...]]:
    """A row for each size: what the cycles take, what placing workloads adds, and what saying what limits adds."""
    yield "nodes", "workloads", "cycles", "CPU", "placement", "limits", "kinds that wait", "undecided"
    for nodes in sizes:
        cluster = made(nodes)
        # So that nothing is loaded while the clock runs.
        drasat.quota(made(4), limits=True)
        seconds, found = {}, {}
        for phase in ("cycles", "placement", "limits"):
            began = process_time()
            own = drasat.quota(
                cluster, placement=phase == "placement", limits=phase == "limits", time_limit=limit
            ).document
            seconds[phase], found[phase] = process_time() - began, own
        limits = found["limits"].limits
        assert limits is not None
        yield (
            f"{nodes:,}",
            f"{len(found['cycles'].workloads):,}",
            f"{found['cycles'].cycles_run}",
            f"{seconds['cycles']:.1f} s",
            f"{seconds['placement'] - seconds['cycles']:.1f} s",
            f"{seconds['limits'] - seconds['cycles']:.1f} s",
            f"{len(limits.workloads)}",
            f"{sum(not one.complete for one in limits.workloads)}",
        )


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=TIME_LIMIT)
    parser.add_argument("nodes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--phases", action="store_true", help="what quota takes")
    options = parser.parse_args()
    print(machine())
    show((phase_rows if options.phases else rows)(options.nodes, options.seconds))
