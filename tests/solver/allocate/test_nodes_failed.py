"""Failed nodes by how they failed, kept up to date."""

import random

import pytest

from drasat.models.results.common import Status
from drasat.solver.allocate.nodes import FailedNodes
from drasat.solver.engines.engine import NodeResult
from drasat.solver.engines.outcome import DemandTable

NAMES = [f"n{number:03d}" for number in range(100)]


def failed(message="m", fitting=None, error=""):
    tables = () if fitting is None else (DemandTable(0, "r", "", 2, 8, fitting, ()),)
    return NodeResult(Status.UNALLOCATABLE, message=message, rejections=tables, error=error)


def told(nodes):
    return [(failure.nodes, failure.message, [table.fitting for table in failure.tables]) for failure in nodes.report()]


def made(*attempts):
    nodes = FailedNodes(NAMES)
    for position, attempt in enumerate(attempts):
        nodes.add(position, attempt)
    return nodes


def test_nodes_that_fail_alike_are_one_class_the_largest_first():
    nodes = made(failed(fitting=0), failed(fitting=1), failed(fitting=1), failed("other"))
    assert told(nodes) == [(("n001", "n002"), "m", [1]), (("n000",), "m", [0]), (("n003",), "other", [])]


def test_classes_of_one_size_are_in_the_order_of_their_nodes():
    assert [nodes for nodes, _, _ in told(made(failed("b"), failed("a")))] == [("n000",), ("n001",)]


def test_nodes_stay_in_order_whenever_they_come():
    nodes = FailedNodes(NAMES)
    for position in (5, 1, 9, 3):
        nodes.add(position, failed())
    assert told(nodes) == [(("n001", "n003", "n005", "n009"), "m", [])]


def test_a_node_that_is_taken_away_is_told_no_more():
    nodes = made(failed(), failed("other"), failed())
    nodes.remove(0)
    nodes.remove(1)
    assert told(nodes) == [(("n002",), "m", [])]
    assert (list(nodes), 0 in nodes, 2 in nodes) == ([2], False, True)


def test_a_node_may_come_back_in_another_class():
    nodes = made(failed(), failed())
    nodes.report()
    nodes.remove(0)
    nodes.add(0, failed("other"))
    assert told(nodes) == [(("n000",), "other", []), (("n001",), "m", [])]
    assert nodes[0].message == "other"


def test_what_did_not_change_is_told_by_the_same_object():
    nodes = made(failed(), failed(), failed("other"))
    before = nodes.report()
    nodes.remove(2)
    nodes.add(2, failed("new"))
    after = nodes.report()
    assert after[0] is before[0]
    assert after[1] is not before[1]


@pytest.mark.parametrize(
    ("attempts", "first"),
    [
        pytest.param([], None, id="no-nodes"),
        pytest.param([failed(), failed()], None, id="no-errors"),
        pytest.param([failed(), failed(error="e"), failed(error="f")], 1, id="two-errors"),
    ],
)
def test_the_first_node_with_an_error(attempts, first):
    assert made(*attempts).first_erring == first


def test_an_error_goes_with_its_node():
    nodes = made(failed(error="e"), failed(error="f"))
    nodes.remove(0)
    assert nodes.first_erring == 1


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_putting_together_anew(seed):
    rng = random.Random(seed)
    nodes, plain = FailedNodes(NAMES), {}
    for _ in range(400):
        position = rng.randrange(len(NAMES))
        if position in plain:
            nodes.remove(position)
            del plain[position]
        else:
            plain[position] = failed(rng.choice("ab"), rng.choice([None, 0, 1]), rng.choice(["", "", "e"]))
            nodes.add(position, plain[position])
    expected = {}
    for position in sorted(plain):
        expected.setdefault((plain[position].message, plain[position].rejections), []).append(NAMES[position])
    assert {(failure.message, failure.tables): list(failure.nodes) for failure in nodes.report()} == expected
    sizes = [len(failure.nodes) for failure in nodes.report()]
    assert sizes == sorted(sizes, reverse=True)
    assert nodes.first_erring == min((position for position, one in plain.items() if one.error), default=None)
