"""How much room moves make: ``fragmented.py [--kind openb] [--size 1523] [--part 0.05]``.

A cluster that filled up and was partly left (``drasat.scenarios.fragmented``), and pods that wait for devices. A plan
and a greedy consolidation (``descheduler-like``) may move 0, 1, 2, 5 and 10 % of the running pods. The tables have the
devices that waiting pods get, and CPU seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, process_time

from tables import machine, show

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.results.plan import PlanStage
from drasat.reports.comparison import display_duration
from drasat.scenarios.fragmented import GENERATORS, fragmented
from drasat.scenarios.openb import WHOLE
from drasat.solver.allocate.load import load
from drasat.solver.compare.consolidation import consolidate
from drasat.solver.compare.figures import SchedulingInput, scheduling_input
from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.moves import plan_with_moves
from drasat.solver.plan.outcome import PlannedUnitOutcome

PARTS = (0.0, 0.01, 0.02, 0.05, 0.1)
# What is counted of each kind of cluster, and how much of it a device is.
OBJECTIVES = {
    "openb": ("admitted=capacity:share", WHOLE),
    "partitions": ("admitted=capacity:multiprocessors", 98),
    "racks": ("admitted=devices", 1),
}
COLUMNS = ("pods moved", "plan", "bound", "moves", "CPU", "greedy", "moves", "CPU")


@dataclass(frozen=True, slots=True)
class Scene:
    """A fragmented cluster, what is to be placed on it, and how long a plan may take."""

    kind: str
    cluster: Cluster
    inputs: SchedulingInput
    limit: float

    @classmethod
    def of(cls, kind: str, size: int | None, seed: int, limit: float) -> Scene:
        """Make one."""
        cluster = load(fragmented(kind, size, seed=seed))
        gates = FeatureGates.all_on()
        named = {"gates": gates, "cel_errors": "kube", "seed": seed, "namespace": None, "selector": ""}
        return cls(kind, cluster, scheduling_input(cluster, **named), limit)

    @property
    def running(self) -> int:
        """How many pods run."""
        return sum(bool(pod.spec.node_name) for pod in self.cluster.pods.values())

    def planned(self, most: int) -> tuple[PlanStage, int, float]:
        """The first stage of a plan with so many moves, the moves, and CPU seconds."""
        objective, _ = OBJECTIVES[self.kind]
        started = process_time()
        found = plan_with_moves(self.cluster, MoveOptions(most), objective=[objective], time_limit=self.limit)
        assert found.verified
        return found.objective[0], len(found.moves), process_time() - started

    def greedy(self, most: int) -> tuple[float, int, float]:
        """What the greedy places in the unit of the stage, its moves, and CPU seconds."""
        started = process_time()
        found = consolidate(self.inputs, MoveOptions(most), "given", monotonic() + self.limit)
        moved = {one.key for one in found.moved}
        placed = [one for one in found.units if (one.unit.namespace, one.unit.name) not in moved]
        return sum(map(self._worth, placed)), len(moved), process_time() - started

    def _worth(self, one: PlannedUnitOutcome) -> float:
        results = [result for _, allocation in one.allocations for result in allocation.devices.results or ()]
        if self.kind == "openb":
            return float(sum(Quantity.parse((result.consumed_capacity or {})["share"]).value for result in results))
        if self.kind == "racks":
            return len(results)
        capacities = {
            (slice_.spec.driver, slice_.spec.pool.name, device.name): device.capacity
            for slice_ in self.cluster.slices
            for device in slice_.spec.devices or ()
        }
        held = (capacities[result.driver, result.pool, result.device] for result in results)
        return float(sum(Quantity.parse(str(capacity["multiprocessors"].value)).value for capacity in held if capacity))


def rows(scene: Scene, parts: Sequence[float]) -> Iterator[tuple[str, ...]]:
    """Move so many parts of the running pods; amounts are devices."""
    yield COLUMNS
    _, unit = OBJECTIVES[scene.kind]
    for part in parts:
        most = round(part * scene.running)
        stage, moves, seconds = scene.planned(most)
        placed, moved, greedy = scene.greedy(most)
        bound = "none" if stage.bound is None else f"{stage.bound / unit:.1f}"
        told = (f"{stage.value / unit:.1f}", bound, str(moves), display_duration(seconds))
        yield f"{part:.0%}", *told, f"{placed / unit:.1f}", str(moved), display_duration(greedy)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=GENERATORS, default="openb")
    parser.add_argument("--size", type=int, help="nodes, or racks; default: that of the generator")
    parser.add_argument("--part", type=float, action="append", help="parts of the pods that may move")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a plan")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    scene = Scene.of(options.kind, options.size, options.seed, options.limit)
    print(machine())
    print(f"{len(scene.cluster.nodes)} nodes, {scene.running} running pods, {len(scene.inputs.units)} waiting")
    show(rows(scene, options.part or PARTS))


if __name__ == "__main__":
    main()
