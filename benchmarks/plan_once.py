"""Plan one made-up queue from its manifests to a verified plan, and print JSON: ``plan_once.py INSTANCE NODES``.

A process of its own, so that memory is this instance's alone. Reading and indexing are CPU seconds; planning is by the
clock, and in CPU seconds. With ``--cpu`` phases and limits of the plan are in CPU seconds, too: for busy machines.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

if "--cpu" in sys.argv:
    # Before any module takes its clock.
    time.monotonic = time.process_time

import msgspec
import orjson
from phases import GATES, Clock, loaded

from drasat.models.cluster.cluster import Cluster
from drasat.scenarios import gpu_nodes, objects
from drasat.scenarios.objects import Mapped
from drasat.scenarios.queues import WORKLOADS, deployment, fleet, gang_queue, pod_spec, with_room
from drasat.solver.plan.outcome import PlanOutcome
from drasat.solver.plan.plan import plan

_REPLICA_NODES = 100


def replicas(number: int) -> list[Mapped]:
    """So many replicas of one pod that asks for a GPU, and 100 nodes with eight GPUs each."""
    room = {"cpu": "192", "memory": "2048Gi", "pods": "110"}
    nodes = [with_room(item, room) if item["kind"] == "Node" else item for item in gpu_nodes(_REPLICA_NODES, 8)]
    asked = objects.template("gpu", objects.claim_spec([objects.exactly("gpu", objects.wanted("gpu", count=1))]))
    spec = pod_spec({"cpu": "1", "memory": "1Gi"}, [objects.by_template("gpu", "gpu")])
    return [*nodes, asked, deployment("replicas", number, spec)]


INSTANCES: Mapping[str, Callable[[int], list[Mapped]]] = {
    "fleet": fleet,
    "gangs": gang_queue,
    "replicas": replicas,
    **{name: workload.objects for name, workload in WORKLOADS.items()},
}


def _write(instance: str, nodes: int, path: Path) -> None:
    items = INSTANCES[instance](nodes)
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def planned(cluster: Cluster, objective: Sequence[str], limit: float | None) -> dict[str, Any]:
    """Plan, and tell what was found, and how long that took."""
    started, cpu = perf_counter(), process_time()
    found = plan(cluster, objective=objective, feature_gates=GATES, time_limit=limit, may_be_unread=True)
    seconds = {"clock": perf_counter() - started, "cpu": process_time() - cpu}
    assert found.verified
    return {**seconds, **_told(found)}


def _told(found: PlanOutcome) -> dict[str, Any]:
    known = found.statistics
    return {
        "phases": dict(found.seconds),
        "outcome": found.outcome,
        "asked": found.asked,
        "placed": found.placed,
        "classes": {"units": known.unit_classes, "nodes": known.node_classes},
        "columns": known.columns,
        "rounds": known.rounds,
        "stages": [msgspec.to_builtins(stage) for stage in found.objective],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instance", choices=INSTANCES)
    parser.add_argument("nodes", type=int)
    parser.add_argument("--objective", action="append", default=[])
    parser.add_argument("--limit", type=float)
    parser.add_argument("--cpu", action="store_true", help="measure phases in CPU seconds")
    options = parser.parse_args(arguments)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        # Elsewhere, for what it takes to make the objects is not to be measured.
        with ProcessPoolExecutor(1) as elsewhere:
            elsewhere.submit(partial(_write, options.instance, options.nodes, path)).result()
        cluster = loaded(path, clock)
    answer = planned(cluster, options.objective, options.limit)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"nodes": options.nodes, "devices": cluster.device_count, "seconds": clock.seconds, **answer}
    sys.stdout.write(orjson.dumps({**told, "peakMiB": round(peak, 1)}).decode() + "\n")


if __name__ == "__main__":
    main()
