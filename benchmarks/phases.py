"""Measure each phase between manifests and a verified answer on one made-up cluster; prints JSON.

Run as ``python benchmarks/phases.py NODES``: a process of its own, so that memory is this cluster's alone. Times are
CPU seconds, so that what else the machine does matters little.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import process_time

import orjson

from drasat import scenarios
from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.runtime import gc_young_only
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.manifests.reader import read_manifests
from drasat.models.workload.requested import requested_units
from drasat.problem.compiler import Compiler
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.validate import manifest_problems

DEVICES = 12
GATES = FeatureGates.all_on()
KINDS = {"gpu": 6, "near-gpus": 2, "either-gpu": 1}
# One file holds a fleet of 100,000 nodes.
MOST_INPUT = "4Gi"


class Clock:
    """Seconds of CPU time by phase: those of other processes do not count."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what happens inside."""
        started = process_time()
        yield
        self.seconds[name] = process_time() - started


def manifests_file(nodes: int, folder: Path) -> Path:
    """A cluster of whole GPUs, 30 % in use, and as many pods as nodes, as ``kubectl get -o json`` would print it."""
    objects = scenarios.gpu_nodes(nodes, DEVICES, seed=1, fullness=0.3)
    asked = scenarios.requests(nodes, KINDS, seed=1)
    path = folder / "cluster.json"
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": scenarios.combine(objects, asked)}))
    return path


def loaded(path: Path, clock: Clock) -> Cluster:
    """Read, validate and index what ``kubectl get -o json`` would print."""
    with clock.phase("read"):
        manifests, problems, _ = read_manifests([str(path)], max_input_size=MOST_INPUT)
    with clock.phase("validate"):
        problems += manifest_problems(manifests, GATES)
    assert not problems, problems[0]
    with clock.phase("index"):
        cluster = Cluster.build(manifests)
        cluster.pools(GATES)
        cluster.usage(GATES)
    return cluster


def measure(path: Path) -> dict[str, float]:
    """Seconds of each phase, in the order of the work: read, validate, index, problem, search, verify."""
    clock = Clock()
    cluster = loaded(path, clock)
    with clock.phase("problem"):
        _compile_every_node(cluster)
    clock.seconds.update(_allocation(cluster))
    return clock.seconds


def _allocation(cluster: Cluster) -> dict[str, float]:
    """Allocate everything; the search is over when the last unit is done, the rest is the verifier."""
    marks = [process_time()]
    allocate(cluster, feature_gates=GATES, time_limit=None, progress=lambda _done, _all: marks.append(process_time()))
    return {"search": marks[-1] - marks[0], "verify": process_time() - marks[-1]}


@gc_young_only()
def _compile_every_node(cluster: Cluster) -> None:
    """The problem of one unit on each node, as a search that visits them all would need it."""
    claims = [ref.claim for ref in requested_units(cluster)[0].requested_claims if ref.claim is not None]
    compiler = Compiler(cluster.classes, GATES, ExpressionEvaluator(), "strict")
    views = NodeViews(cluster.pools(GATES), GATES)
    question = compiler.question(claims)
    for node in cluster.nodes.values():
        compiler.problem(question, views.of(node, question.visible).shape)


def main(nodes: int) -> None:
    """Print one line of JSON: nodes, devices, CPU seconds by phase, peak memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        # Elsewhere, for what it takes to make the objects is not to be measured.
        with ProcessPoolExecutor(1) as elsewhere:
            path = elsewhere.submit(manifests_file, nodes, Path(folder)).result()
        seconds = measure(path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"nodes": nodes, "devices": nodes * DEVICES, "seconds": seconds, "peakMiB": round(peak, 1)}
    print(orjson.dumps(told).decode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
