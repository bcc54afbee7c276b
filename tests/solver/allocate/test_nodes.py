"""Which nodes suit a pod."""

import pytest

from drasat.models.cluster.node_fit import SelectorError
from drasat.models.kubernetes.claims import AllocationResult, DeviceAllocationResult
from drasat.models.kubernetes.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.solver.allocate.nodes import SuitableNodes


def nodes(*zones):
    return [Node(metadata=ObjectMeta(name=f"n{number}", labels={"zone": zone})) for number, zone in enumerate(zones)]


def allocated_in(*zones, operator="In"):
    """A claim's allocation that is usable in these zones."""
    requirement = NodeSelectorRequirement(key="zone", operator=operator, values=zones)
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
    return AllocationResult(devices=DeviceAllocationResult(), node_selector=selector)


def test_pod_and_allocated_claims_choose():
    spec = PodSpec(node_selector={"zone": "b"})
    zones = nodes("a", "b", "c", "b")
    everywhere = AllocationResult(devices=DeviceAllocationResult())
    assert list(SuitableNodes(zones, None, [everywhere])) == [0, 1, 2, 3]
    assert list(SuitableNodes(zones, spec, [])) == [1, 3]
    assert list(SuitableNodes(zones, None, [allocated_in("a", "b"), allocated_in("b", "c")])) == [1, 3]
    assert list(SuitableNodes(zones, spec, [allocated_in("a")])) == []


def test_reasons_count_by_the_first_test_that_fails():
    suitable = SuitableNodes(nodes("a", "b", "c", "b"), PodSpec(node_selector={"zone": "b"}), [allocated_in("a")])
    assert list(suitable) == []
    assert [(reason.id, reason.message) for reason in suitable.reasons] == [
        ("allocatedClaim", "2 of 4 nodes: a claim of the pod is allocated for other nodes"),
        ("nodeSelector", "2 of 4 nodes: node(s) didn't match Pod's node affinity/selector: no label zone=b"),
    ]


class Counted(list):
    """Counts how often an item is asked for."""

    asked = 0

    def __getitem__(self, index):
        self.asked += 1
        return super().__getitem__(index)


def test_nodes_are_tested_once_and_no_sooner_than_needed():
    zones = Counted(nodes("a", "b", "a", "b"))
    suitable = SuitableNodes(zones, None, [allocated_in("b")])
    first, second = iter(suitable), iter(suitable)
    assert (next(first), zones.asked) == (1, 2)
    assert (next(second), zones.asked) == (1, 2)
    assert (next(second), zones.asked) == (3, 4)
    assert (list(first), list(second), zones.asked) == ([3], [], 4)


def test_a_selector_that_cannot_be_parsed_is_an_error_at_once():
    """NODE-2, SCHED-2"""
    with pytest.raises(SelectorError):
        SuitableNodes([], None, [allocated_in("a"), allocated_in("b", operator="Near")])


def test_misfits_are_told_by_position():
    suitable = SuitableNodes(nodes("a", "b", "c", "b"), PodSpec(node_selector={"zone": "b"}), [])
    assert list(suitable) == [1, 3]
    assert [(position, misfit.id) for position, misfit in suitable.misfits] == [
        (0, "nodeSelector"),
        (2, "nodeSelector"),
    ]
