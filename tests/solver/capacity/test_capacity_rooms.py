"""Copies of a pod need room on their nodes, also where nodes reach the same devices."""

import pytest
from support.manifests import device_class, node, obj, pod

import drasat


def network(count, **where):
    """Devices that all nodes reach, or those of one."""
    devices = [{"name": f"d{number}"} for number in range(count)]
    name = where.get("nodeName", "net")
    where = where or {"allNodes": True}
    spec = {"driver": "d.x", "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}, "devices": devices}
    return obj("ResourceSlice", name, {**spec, **where})


def copies(*objects):
    """How many copies of a pod of 2 cpu with a device fit: found, at most, by first fit."""
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    template = obj("ResourceClaimTemplate", "t", {"spec": {"devices": {"requests": [request]}}}, namespace="default")
    copied = pod("p", {"name": "a", "resourceClaimTemplateName": "t"}, cpu="2", namespace="default")
    found = drasat.capacity(drasat.load(device_class("any"), template, copied, *objects))
    return found.document.total, found.document


def numbers(total):
    return total.fits, total.bound, total.first_fit


@pytest.mark.parametrize(
    ("devices", "cpus", "expected"),
    [(4, ("4", "6"), 4), (9, ("4", "6"), 5), (9, ("4", "4", "1"), 4), (3, ("2", "2", "2", "2"), 3), (9, ("1",), 0)],
)
def test_nodes_that_reach_the_same_devices(devices, cpus, expected):
    nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(cpus)]
    total, _ = copies(network(devices), *nodes)
    assert numbers(total) == (expected,) * 3


def test_nodes_with_devices_of_their_own_and_shared_ones():
    objects = [network(2), network(3, nodeName="n0"), node("n0", cpu="8"), node("n1", cpu="2")]
    total, _ = copies(*objects)
    assert numbers(total)[:2] == (5, 5)


def test_the_room_is_what_stops_the_next():
    total, found = copies(network(9, nodeName="n0"), node("n0", cpu="5", pods="10"))
    assert numbers(total) == (2, 2, 2)
    (answer,) = found.nodes
    assert [reason.message for reason in answer.reasons] == ["Insufficient cpu (2 requested, 1 left)"]
    assert answer.proof_kind == "witness"


def test_equal_devices_with_unequal_rooms_are_told_apart():
    slices = [network(3, nodeName=f"n{number}") for number in range(3)]
    total, found = copies(*slices, node("n0", cpu="2"), node("n1", cpu="40"), node("n2", cpu="60"))
    assert numbers(total) == (7, 7, 7)
    assert [(answer.nodes, answer.each.fits) for answer in found.nodes] == [(("n1", "n2"), 3), (("n0",), 1)]
