"""Units of a group need room on their nodes, beside each other."""

import pytest
from msgspec.structs import replace
from support.groups import answered, asking, group, placed, together
from support.objects import device, node, pod, pool

from drasat.models.kubernetes.core import Container, NodeStatus, ResourceRequirements


def roomy(name, cpu):
    return replace(node(name), status=NodeStatus(allocatable={"cpu": cpu}))


def busy(name, claim, cpu):
    return pod(claim, name=name, containers=(Container(resources=ResourceRequirements(requests={"cpu": cpu})),))


def island(name, count):
    return pool(*(device(f"d{number}", island=1) for number in range(count)), name=name, node_name=name)


def pair(first, second, **options):
    """Two pods of 3 cpu each, and a group that wants their devices on one island; nodes have so much cpu."""
    objects = [island("n1", 2), island("n2", 1), asking("a"), asking("b"), group("a", "b", entries=[together()])]
    pods = [busy("p", "a", "3"), busy("q", "b", "3")]
    return answered(*objects, *pods, nodes=[roomy("n1", first), roomy("n2", second)], **options)


@pytest.mark.parametrize("engine", ["auto", "backtracking", "cp-sat"])
def test_units_that_have_no_room_together_are_apart(engine):
    found = placed(pair("6", "2", engine=engine))
    assert {where for where, _ in found.values()} == {"n1"}
    assert {where for where, _ in placed(pair("4", "3", engine=engine)).values()} == {"n1", "n2"}


def test_the_best_answer_has_room():
    answer = pair("4", "3", objective="compact")
    assert {where for where, _ in placed(answer).values()} == {"n1", "n2"}
    assert answer.verified


def test_without_room_for_all_nothing_is_placed():
    answer = pair("5", "2")
    assert [(unit.outcome, unit.node, [reason.id for reason in unit.reasons]) for unit in answer.units] == [
        ("Unallocatable", None, ["room"])
    ] * 2


def test_a_unit_that_fits_no_node_says_so():
    answer = pair("2", "2")
    assert all("Insufficient cpu (3 requested, 2 left)" in unit.reasons[-1].message for unit in answer.units)
