"""Small random plans with linear nodes, and one CP-SAT model of each as a whole, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random

from ortools.sat.python import cp_model

from drasat.solver.plan.master_problem import (
    Column,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
)
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer


@dataclass(frozen=True)
class Scene:
    """An instance with the linear nodes and units behind it."""

    instance: MasterProblem
    pricer: LinearPricer

    @property
    def units(self) -> tuple[LinearUnit, ...]:
        return self.pricer.units

    @property
    def nodes(self) -> tuple[LinearNode, ...]:
        return self.pricer.nodes


def vector_scene(seed):
    """Two or three kinds of nodes at prices, and units that take a vector each; there are nodes for all."""
    rng = Random(seed)
    dimensions = rng.choice((1, 2, 2, 3))
    units = tuple(
        LinearUnit(needs=tuple(rng.randint(1, 6) for _ in range(dimensions))) for _ in range(rng.randint(2, 4))
    )
    nodes = tuple(
        LinearNode((), 1, tuple(rng.randint(6, 12) for _ in range(dimensions))) for _ in range(rng.randint(1, 3))
    )
    asked = tuple(MasterUnitClass(index, rng.randint(1, 4)) for index in range(len(units)))
    total = sum(unit.demand for unit in asked)
    classes = tuple(MasterNodeClass(index, total) for index in range(len(nodes)))
    cost = Terms(nodes={index: rng.randint(2, 9) for index in range(len(nodes))})
    return Scene(MasterProblem(asked, classes), LinearPricer(units, nodes)), ObjectiveStage(
        "cost", cost, maximise=False
    )


def random_scene(seed: int, gangs: bool = False) -> Scene:
    random = Random(seed)
    units = [_random_unit(random) for _ in range(random.randint(2, 4))]
    nodes = [_random_node(random, len(units)) for _ in range(random.randint(1, 3))]
    asked = tuple(MasterUnitClass(index, random.randint(1, 5), random.randint(1, 9)) for index in range(len(units)))
    classes = tuple(MasterNodeClass(index, random.randint(1, 2)) for index in range(len(nodes)))
    tied = tuple(_random_gang(random, len(units)) for _ in range(2)) if gangs else ()
    return Scene(MasterProblem(asked, classes, tied), LinearPricer(tuple(units), tuple(nodes)))


def _random_unit(random: Random) -> LinearUnit:
    needs = (random.randint(0, 5), random.randint(1, 4))
    kind = random.choice(("share", "share", "share", "whole", "none"))
    if kind == "share":
        return LinearUnit(share=random.choice((2, 3, 4, 5, 7)), needs=needs)
    return LinearUnit(devices=random.randint(1, 2) if kind == "whole" else 0, needs=needs)


def _random_node(random: Random, units: int) -> LinearNode:
    free = tuple(random.choice((10, 10, 10, 6)) for _ in range(random.randint(0, 3)))
    takes = frozenset(random.sample(range(units), units - 1)) if random.random() < 0.3 else None
    return LinearNode(free, 10, (random.randint(4, 14), random.randint(4, 12)), takes)


def _random_gang(random: Random, units: int) -> MasterGangClass:
    chosen = random.sample(range(units), random.randint(1, 2))
    return MasterGangClass(
        tuple((unit, random.randint(1, 2)) for unit in sorted(chosen)), random.randint(1, 2), random.randint(5, 30)
    )


def fits(node: LinearNode, units: tuple[LinearUnit, ...], counts: tuple[int, ...]) -> bool:
    """Whether a node can take so many units, by trying all devices for each."""
    listed = [index for index, amount in enumerate(counts) for _ in range(amount)]
    if node.takes is not None and not node.takes.issuperset(listed):
        return False
    for resource, left in enumerate(node.left):
        if sum(units[index].needs[resource] for index in listed) > left:
            return False
    wanted = sorted((units[index] for index in listed), key=lambda unit: (-unit.devices, -unit.share))
    return _fits_devices(list(node.free), node.capacity, wanted)


def _fits_devices(free: list[int], capacity: int, wanted: list[LinearUnit]) -> bool:
    if not wanted:
        return True
    first, *others = wanted
    if first.devices:
        whole = [place for place, there in enumerate(free) if there == capacity][: first.devices]
        left = [0 if place in whole else there for place, there in enumerate(free)]
        return len(whole) == first.devices and _fits_devices(left, capacity, others)
    if not first.share:
        return _fits_devices(free, capacity, others)
    places = {there: place for place, there in enumerate(free) if there >= first.share}
    return any(
        _fits_devices([*free[:place], there - first.share, *free[place + 1 :]], capacity, others)
        for there, place in places.items()
    )


def all_columns(scene: Scene, node_class: int) -> list[tuple[int, ...]]:
    """All bundles that one node can take, by enumeration."""
    most = [range(min(asked, 6) + 1) for asked in scene.instance.demands()]
    node = scene.nodes[node_class]
    return [counts for counts in product(*most) if fits(node, scene.units, counts)]


def fits_column(scene: Scene, column: Column) -> bool:
    counts = [0] * len(scene.units)
    for unit, amount in column.counts:
        counts[unit] = amount
    return fits(scene.nodes[column.node_class], scene.units, tuple(counts))


def optimum(scene: Scene, stages: list[ObjectiveStage]) -> list[int]:
    """The best value of each stage, by one model that knows every bundle of every node."""
    model = cp_model.CpModel()
    instance = scene.instance
    units = [model.new_int_var(0, unit.demand, "") for unit in instance.units]
    gangs = [model.new_int_var(0, gang.demand, "") for gang in instance.gangs]
    covers = [[] for _ in instance.units]
    used = {}
    for node in instance.nodes:
        amounts = []
        for counts in all_columns(scene, node.index):
            if any(counts):
                amounts.append(model.new_int_var(0, node.count, ""))
                for unit, amount in enumerate(counts):
                    covers[unit].append(amount * amounts[-1])
        used[node.index] = sum(amounts)
        model.add(sum(amounts) <= node.count)
    for unit, cover in enumerate(covers):
        taken = [
            size * gangs[index] for index, gang in enumerate(instance.gangs) for u, size in gang.members if u == unit
        ]
        model.add(sum(cover) >= units[unit] + sum(taken))

    def linear(terms: Terms):
        parts = [value * units[index] for index, value in terms.units.items()]
        parts += [value * gangs[index] for index, value in terms.gangs.items()]
        return sum(parts) + sum(value * used[index] for index, value in terms.nodes.items())

    for row in instance.rows:
        if row.lower is not None:
            model.add(linear(row.terms) >= row.lower)
        if row.upper is not None:
            model.add(linear(row.terms) <= row.upper)
    values = []
    for stage in stages:
        form = linear(stage.terms)
        model.maximize(form) if stage.maximise else model.minimize(form)
        solver = cp_model.CpSolver()
        # Without this a later Ctrl-C would end the process at once.
        solver.parameters.catch_sigint_signal = False
        solver.parameters.num_workers = 1
        assert solver.solve(model) == cp_model.OPTIMAL
        values.append(round(solver.objective_value))
        model.add(form == values[-1])
    return values


def fewest_nodes(instance: MasterProblem) -> ObjectiveStage:
    return ObjectiveStage("fewest-nodes", Terms(nodes={node.index: 1 for node in instance.nodes}), maximise=False)
