"""Running pods that lose their places: ``moves.py [--seconds N] [--unlike] [NODES ...]``, on nodes of eight devices.

Each node has eight pods of three priorities with up to two devices each; a fifth as many pods as nodes wait, half of
them above all that run. Pods ask for one CPU each, and ``--unlike`` ones for one to six. CPU seconds are those of the
whole call, with steps and their verification.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from random import Random
from time import process_time
from typing import Any

from tables import machine, show

import drasat
from drasat.models.cluster.cluster import Cluster

SIZES, TIME_LIMIT, GAP = (30, 100), 60.0, 0.01
DRIVER, DEVICES = "gpu.example.com", 8
UNLIKE_CPUS = (1, 2, 3, 4, 6)


def made(nodes: int, seed: int = 0, *, unlike: bool = False) -> Cluster:
    """A cluster with so many nodes."""
    random, waiting = Random(seed), nodes // 5
    amounts = Random(f"cpu/{seed}")
    choices = UNLIKE_CPUS if unlike else (1,)
    found: list[dict[str, Any]] = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
        }
    ]
    for number in range(nodes):
        name = f"node-{number:04}"
        found += node(name)
        free = random.sample(range(DEVICES), DEVICES)
        for place in range(DEVICES):
            own = [free.pop() for _ in range(min(len(free), random.choice((0, 0, 1, 1, 1, 2))))]
            found += pod(
                f"run-{number}-{place}", random.choice((0, 0, 0, 10, 100)), len(own), name, own, amounts.choice(choices)
            )
    for number in range(waiting):
        priority, count = random.choice((50, 1000)), random.choice((1, 2, 4, 8))
        found += pod(f"wait-{number}", priority, count, cpus=amounts.choice(choices))
    return drasat.load(found)


def node(name: str) -> Iterator[dict[str, Any]]:
    """A node with its devices."""
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}
    devices = [{"name": f"gpu-{number}"} for number in range(DEVICES)]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def pod(
    name: str, priority: int, count: int, where: str = "", held: Sequence[int] = (), cpus: int = 1
) -> Iterator[dict[str, Any]]:
    """A pod with a claim of its own, on a node or waiting."""
    entries = [{"name": "gpu", "resourceClaimName": name}] if count else []
    containers = [{"name": "main", "resources": {"requests": {"cpu": str(cpus)}}}]
    spec = {"priority": priority, "containers": containers, "resourceClaims": entries}
    spec |= {"nodeName": where} if where else {}
    status = {"phase": "Running" if where else "Pending"}
    metadata = {"name": name, "namespace": "default"}
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    if count:
        requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}]
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
        claim["spec"] = {"devices": {"requests": requests}}
        if where:
            results = [{"request": "gpu", "driver": DRIVER, "pool": where, "device": f"gpu-{one}"} for one in held]
            consumer = {"resource": "pods", "name": name, "uid": name}
            claim["status"] = {"allocation": {"devices": {"results": results}}, "reservedFor": [consumer]}
        yield claim


def rows(sizes: Sequence[int], limit: float, unlike: bool) -> Iterator[tuple[str, ...]]:
    """A row for each size."""
    yield "nodes", "running", "waiting", "placed", "victims", "at least", "result", "CPU time"
    for nodes in sizes:
        cluster = made(nodes, unlike=unlike)
        began = process_time()
        found = drasat.plan(cluster, preempt=True, time_limit=limit, gap=GAP)
        seconds = process_time() - began
        victims = next(one for one in found.document.objective if one.stage == "victims")
        counts = nodes, nodes * DEVICES, found.document.asked, found.placed, len(found.victims)
        bound = "-" if victims.bound is None else f"{victims.bound:,}"
        yield *(f"{one:,}" for one in counts), bound, found.outcome, f"{seconds:.1f} s"


def main() -> None:
    """Print the machine and the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int, help="how many nodes")
    parser.add_argument("--seconds", type=float, default=TIME_LIMIT, help="time limit of each plan")
    parser.add_argument("--unlike", action="store_true", help="pods that differ in the CPUs that they ask for")
    options = parser.parse_args()
    print(machine())
    show(rows(options.nodes or SIZES, options.seconds, options.unlike))


if __name__ == "__main__":
    main()
