"""Quota beside placement: ``quota.py [NODES ...]``, on teams that share GPUs (``scenarios/quota.py``).

One plan has the admissions of Kueue as given, so that what it does not place is stranded. The other chooses workloads,
flavors and places at once. Both are verified.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from time import perf_counter

from tables import machine, show

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.scenarios.quota import quota

SIZES = (40, 200)
# Of a cluster with so many nodes: queues, cohorts and workloads for one node.
QUEUES, COHORTS, WORKLOADS = 0.1, 0.025, 2.5
TIME_LIMIT, GAP = 60.0, 0.005


def made(nodes: int) -> Cluster:
    """The scenario with so many nodes."""
    return drasat.load(
        quota(nodes, max(2, round(QUEUES * nodes)), max(3, round(COHORTS * nodes)), round(WORKLOADS * nodes))
    )


def rows(sizes: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """A row for each size and way of admission."""
    yield "nodes", "workloads", "quota", "admitted", "placed", "stranded", "pods placed", "devices", "result", "time"
    for nodes in sizes:
        cluster = made(nodes)
        for mode in ("kueue", "joint"):
            began = perf_counter()
            document = drasat.plan(cluster, quota=mode, time_limit=TIME_LIMIT, gap=GAP).document
            seconds = perf_counter() - began
            found = Counter(one.outcome for one in document.workloads)
            placed, stranded = found["Admitted"], found["Stranded"]
            devices = sum(one.used for one in document.nodes)
            counts = (len(document.workloads), mode, placed + stranded, placed, stranded, document.placed, devices)
            texts = (f"{one:,}" if isinstance(one, int) else one for one in (nodes, *counts))
            yield *texts, document.outcome, f"{seconds:.1f} s"


if __name__ == "__main__":
    print(machine())
    show(rows([int(one) for one in sys.argv[1:]] or SIZES))
