"""Devices that have nothing to do with each other are counted part by part."""

import pytest
from support.gates import ALL
from support.objects import NODE, claim, device, device_class, devices, draws, match, node, partitions, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.problem.filters import usable_devices
from drasat.problem.node_state import AllocatedState
from drasat.solver.capacity.capacity import capacity
from drasat.solver.capacity.node import CopyEngine
from drasat.solver.capacity.records import Room, find_copy_source
from drasat.solver.engines.copies import independent_parts
from drasat.solver.engines.engine import Session


def names_of_parts(*objects, gates=ALL):
    """The names of the devices in each part."""
    cluster = Cluster.of([*objects, node(), device_class()])
    engine = CopyEngine(Session(cluster, gates, "strict", 0), find_copy_source(cluster))
    scene = engine.query(cluster.node(NODE), None)
    candidates = usable_devices(scene.problem, AllocatedState(cluster.usage(gates)).in_use(scene.view))
    found = independent_parts(scene.problem, candidates)
    return sorted("".join(scene.view.devices[number].id[2] for number in sorted(part)) for part in found)


GROUPED = pool(*devices("a", "b", group=1), *devices("c", "d", group=2), device("e"))
SLICED = partitions(
    device("a", draws("s", n=1)),
    device("b", draws("s", n=1)),
    device("c", draws("t", n=1)),
    device("d", draws("t", n=1), draws("u", n=1)),
    device("e", draws("u", n=1)),
    device("f"),
    sets={"s": {"n": 1}, "t": {"n": 1}, "u": {"n": 1}},
)


def test_each_device_is_alone_where_copies_take_one():
    assert names_of_parts(GROUPED, claim(want())) == ["a", "b", "c", "d", "e"]


def test_devices_of_a_counter_set_stay_together():
    assert names_of_parts(*SLICED, claim(want())) == ["ab", "cde", "f"]


def test_devices_with_one_value_stay_together_where_it_ties_a_copy():
    tied = claim(want(count=2), constraints=[match("d.x/group")])
    assert names_of_parts(GROUPED, tied) == ["ab", "cd"]
    assert names_of_parts(GROUPED, tied, gates=ALL.with_({"DRAListTypeAttributes": False})) == ["ab", "cd"]


def test_lists_stay_together_by_their_members():
    members = [device("a", links=("x", "y")), device("b", links=("y", "z")), device("c", links=("w",))]
    assert names_of_parts(pool(*members), claim(want(count=2), constraints=[match("d.x/links")])) == ["ab", "c"]


@pytest.mark.parametrize(
    "asked",
    [
        claim(want(count=2)),
        claim(want("q"), want("r")),
        claim(want("q"), want("r"), constraints=[match("d.x/group", "q")]),
        claim(want(count="All")),
        claim(want(admin=True)),
    ],
)
def test_copies_that_may_take_from_anywhere_have_no_parts(asked):
    assert names_of_parts(GROUPED, asked) == []


def test_devices_that_give_counters_have_no_parts():
    giving = partitions(device("a", draws("s", n=-1)), device("b"), sets={"s": {"n": 1}})
    assert names_of_parts(*giving, claim(want())) == []


def test_many_gpus_are_as_easy_as_one():
    # Of each GPU of 7 fit 3 + 2 + 2 slices; first fit begins with the 4, after which only the 3 fits.
    sizes = (4, 3, 2, 2)
    members = [
        device(f"g{gpu:02}-{place}", draws(f"s{gpu}", slices=size), gpu=gpu)
        for gpu in range(12)
        for place, size in enumerate(sizes)
    ]
    sliced = partitions(*members, sets={f"s{gpu}": {"slices": 7} for gpu in range(12)})
    found = capacity(Cluster.of([*sliced, node(), device_class(), claim(want())]))
    assert found.total == Room(36, 36, 24)
    assert found.nodes[0].proof_kind == "witness"
    tied = claim(want("q", 2), constraints=[match("d.x/gpu")])
    assert capacity(Cluster.of([*sliced, node(), device_class(), tied])).total == Room(12, 12, 12)


def test_the_proof_counts_the_parts():
    # Of each counter alone three could draw, of both together only two.
    kinds = ({"n": 2, "m": 1}, {"n": 1, "m": 2}, {"n": 2, "m": 1}, {"n": 1, "m": 2})
    members = [
        device(f"g{gpu}-{place}", draws(f"s{gpu}", **kind)) for gpu in range(3) for place, kind in enumerate(kinds)
    ]
    sliced = partitions(*members, sets={f"s{gpu}": {"n": 3 + gpu // 2, "m": 3 + gpu // 2} for gpu in range(3)})
    answer = capacity(Cluster.of([*sliced, node(), device_class(), claim(want())])).nodes[0]
    assert answer.room == Room(6, 6, 6)
    assert answer.proof == "3 groups of devices that have no counters in common have room for 3 times 2"
    assert answer.proof_kind == "exhausted"
