"""Units and nodes as vectors, and a pricer that only fills nodes."""

from operator import le
from random import Random
from types import SimpleNamespace

from drasat.solver.plan.filling_graph import VectorNode
from drasat.solver.plan.master_problem import (
    Column,
    IntegerPlan,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ordered_columns,
)


def vector_pricer(nodes):
    return SimpleNamespace(filled=Column, vector=nodes.get, sizes=nodes.get)


def random_packing(seed):
    """A problem whose nodes are vectors at prices, its pricer, and a plan that gives each unit a node of its own."""
    rng = Random(seed)
    dimensions, kinds, classes = rng.choice((1, 2)), rng.randint(1, 3), rng.randint(2, 5)
    left = [tuple(rng.randint(8, 14) for _ in range(dimensions)) for _ in range(kinds)]
    needs = {unit: tuple(rng.randint(1, 8) for _ in range(dimensions)) for unit in range(classes)}
    demands = [rng.randint(1, 3) for _ in range(classes)]
    takes = [
        {unit for unit, own in needs.items() if not index or (rng.random() < 0.7 and all(map(le, own, left[index])))}
        for index in range(kinds)
    ]
    most = [{unit: rng.randint(1, 2) for unit in needs if rng.random() < 0.3} for _ in range(kinds)]
    nodes = {i: VectorNode(left[i], {unit: needs[unit] for unit in sorted(takes[i])}, most[i]) for i in range(kinds)}
    counts = [sum(demands), *(rng.randint(1, 4) for _ in range(kinds - 1))]
    instance = MasterProblem(
        tuple(MasterUnitClass(unit, number) for unit, number in enumerate(demands)),
        tuple(MasterNodeClass(index, number) for index, number in enumerate(counts)),
    )
    columns = {Column(0, ((unit, 1),)): number for unit, number in enumerate(demands)}
    plan = IntegerPlan(ordered_columns(columns), tuple(demands), ())
    costs = {index: rng.randint(1, 9) for index in range(kinds)}
    return instance, nodes, costs, plan
