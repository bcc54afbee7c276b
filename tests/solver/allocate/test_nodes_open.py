"""Which nodes are worth another try."""

from support.objects import claim, pool, want

from drasat.models.cluster.usage import Usage
from drasat.models.kubernetes.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.problem.node_state import AllocatedState
from drasat.solver.allocate.nodes import FailedNodes, OpenNodes
from drasat.solver.engines.engine import NodeResult

FAILED = NodeResult(Status.UNALLOCATABLE)


def allocated_state():
    return AllocatedState(Usage.empty(FeatureGates.all_on()))


def unread(positions, ledger_):
    return OpenNodes(positions, FailedNodes([f"n{position}" for position in range(10)]), ledger_)


def open_nodes(positions, ledger_):
    """All of which were walked once."""
    nodes = unread(positions, ledger_)
    assert list(nodes) == positions
    return nodes


def take(ledger_, pool_name):
    result = DeviceRequestAllocationResult(request="r", driver="d.x", pool=pool_name, device="a")
    made = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    ledger_.commit([(("ns", pool_name), made)])


def test_failed_nodes_are_left_out():
    nodes = open_nodes([0, 1, 2], allocated_state())
    nodes.fail([(1, FAILED, [("d.x", "p")])])
    assert list(nodes) == [0, 2]
    assert {position: nodes.failed[position] for position in nodes.failed} == {1: FAILED}


def test_nodes_come_back_in_order_when_one_of_their_pools_changes():
    book = allocated_state()
    nodes = open_nodes([0, 1, 2, 3], book)
    nodes.fail([(0, FAILED, [("d.x", "p")]), (2, FAILED, [("d.x", "q"), ("d.x", "p")]), (3, FAILED, [("d.x", "r")])])
    take(book, "p")
    assert list(nodes) == [0, 1, 2]
    assert list(nodes.failed) == [3]


def test_changes_of_other_pools_do_not_matter():
    book = allocated_state()
    nodes = open_nodes([0], book)
    nodes.fail([(0, FAILED, [("d.x", "p")])])
    take(book, "q")
    assert list(nodes) == []


def test_changes_before_the_failure_do_not_matter():
    book = allocated_state()
    take(book, "p")
    nodes = open_nodes([0], book)
    assert list(nodes) == [0]
    nodes.fail([(0, FAILED, [("d.x", "p")])])
    assert list(nodes) == []


def test_nodes_may_fail_while_they_are_walked():
    nodes = unread([0, 1, 2], allocated_state())
    walked = []
    for position in nodes:
        walked.append(position)
        nodes.fail([(position, FAILED, [])])
    assert walked == [0, 1, 2]
    assert list(nodes) == []


def test_positions_are_read_as_they_are_reached():
    left = iter([1, 4, 7])
    nodes = unread(left, allocated_state())
    for position in nodes:
        if position == 4:
            break
    nodes.fail([(1, FAILED, [])])
    walk = iter(nodes)
    assert next(walk) == 4
    assert next(left) == 7
    assert list(walk) == []


def test_builders_agree_about_names():
    """The pools above are those that the builders make."""
    assert pool(name="p").spec.driver == "d.x"
    assert claim(want()).metadata.namespace == "ns"
