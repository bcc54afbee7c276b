"""Packing by size keeps to what a node takes of one kind of unit."""

from types import SimpleNamespace

from drasat.solver.plan.filling_graph import VectorNode
from drasat.solver.plan.first_fit_decreasing import pack_decreasing
from drasat.solver.plan.master_problem import Column, MasterNodeClass, MasterProblem, MasterUnitClass


def test_a_node_that_takes_two_of_a_kind_gets_no_more_of_it_once_others_are_opened():
    """The large unit opens a node, which small ones fill as far as they may, and then open others."""
    instance = MasterProblem((MasterUnitClass(0, 1), MasterUnitClass(1, 7)), (MasterNodeClass(0, 3),))
    nodes = {0: VectorNode((100,), {0: (50,), 1: (1,)}, {1: 2})}
    pricer = SimpleNamespace(filled=Column)
    plans = list(pack_decreasing(instance, pricer, nodes, [1, 7], {}))
    assert plans
    for columns in plans:
        small = [dict(column.counts)[1] for column, number in columns for _ in range(number)]
        assert small == [2, 2, 2]
