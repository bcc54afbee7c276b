"""Many nodes: equal ones that make no difference are left out, and only those; what is far is asked about too."""

import pytest
from msgspec.structs import replace
from support.groups import ISLAND, answered, asking, group, holding, placed, refused, together
from support.objects import DRIVER, claim, device, draws, labels, node, pod, pool, want
from support.soft import apart, cel

from drasat.models.results.common import Status

ENGINES = pytest.mark.parametrize("engine", ["backtracking", "cp-sat", "auto"])


def own(name, *values, **fields):
    members = (device(f"d{place}", island=value) for place, value in enumerate(values))
    return pool(*members, name=name, node_name=name, **fields)


def reached_by(name, rack):
    """A device of the pool ``s`` for nodes of a rack."""
    return device(name, island=1, node_selector=labels({"rack": (rack,)}))


@ENGINES
def test_a_way_that_only_far_nodes_have_is_found(engine):
    names = [f"n{number:02}" for number in range(30)]
    supply = [own(name, number, 100 if number > 27 else -number) for number, name in enumerate(names)]
    tie = group("a", "b", entries=[together()])
    hosts = [want(select=f"device.attributes['{DRIVER}'].island > 50")]
    found = placed(answered(*supply, asking("a", 1, *hosts), asking("b"), tie, nodes=names, engine=engine))
    assert found["a"] == ("n28", ["n28/d1"])
    assert found["b"] in (("n28", ["n28/d0"]), ("n29", ["n29/d1"]))


def test_many_equal_nodes_are_as_few():
    names = [f"n{number:03}" for number in range(120)]
    supply = [own(name, 1, 2) for name in names]
    tie = group("a", "b", "c", entries=[together()])
    answer = answered(*supply, *map(asking, "abc"), tie, nodes=names, engine="cp-sat")
    assert len({where for where, _ in placed(answer).values()}) == 3
    assert answer.statistics.literals < 200


def test_equal_nodes_are_refused_together():
    names = [f"n{number:03}" for number in range(40)]
    supply = [own(name, 1) for name in names]
    tie = group("a", "b", entries=[apart(attribute=ISLAND, weight=None)])
    for engine in ("backtracking", "cp-sat", "auto"):
        assert (
            answered(*supply, asking("a"), asking("b"), tie, nodes=names, engine=engine).outcome == Status.UNALLOCATABLE
        )


@ENGINES
def test_nodes_that_see_one_device_are_not_like_one_that_sees_another(engine):
    shared = pool(reached_by("d", "x"), reached_by("e", "y"), name="s", per_device_node_selection=True)
    nodes = [node("n1", rack="x"), node("n2", rack="x"), node("n3", rack="y")]
    tie = group("a", "b", entries=[together()])
    found = placed(answered(shared, asking("a"), asking("b"), tie, nodes=nodes, engine=engine))
    assert {one for _, devices in found.values() for one in devices} == {"s/d", "s/e"}


@ENGINES
def test_nodes_whose_pools_share_counters_are_not_like_others(engine):
    drawing = device("d0", draws("set", memory=1))
    slices = [
        pool(drawing, name=name, slice_name=f"slice-{number}", count=3, node_name=f"n{number}")
        for number, name in enumerate("ppqq", 1)
    ]
    sets = {"set": {"memory": 1}}
    counters = [pool(sets=sets, name=name, slice_name=f"sets-{name}", count=3, all_nodes=True) for name in "pq"]
    tie = group("a", "b", entries=[cel("devices.size() == 2", weight=None)])
    nodes = ["n1", "n2", "n3", "n4"]
    objects = [_named(one, number) for number, one in enumerate(slices, 1)]
    found = placed(answered(*objects, *counters, asking("a"), asking("b"), tie, nodes=nodes, engine=engine))
    assert len({devices[0].split("/")[0] for _, devices in found.values()}) == 2


def _named(slice_, number):
    """The slice with a device name of its own, as one pool has no name twice."""
    (member,) = slice_.spec.devices
    return replace(slice_, spec=replace(slice_.spec, devices=(replace(member, name=f"d{number}"),)))


@ENGINES
def test_a_node_where_a_member_holds_a_device_is_not_like_one_where_somebody_else_does(engine):
    supply = [own(name, 1, 1) for name in ("n1", "n2", "n3", "n4")]
    strangers = [holding(claim(want(), name=f"x{place}"), f"n{place}/d0", on=f"n{place}") for place in (1, 2, 3)]
    held = holding(asking("h"), "n4/d0", on="n4")
    tie = group("a", "h", entries=[together()], label="host")
    nodes = [node(name, host=name) for name in ("n1", "n2", "n3", "n4")]
    answer = answered(*supply, *strangers, held, asking("a"), tie, nodes=nodes, engine=engine)
    assert placed(answer) == {"a": ("n4", ["n4/d1"])}


def test_nodes_with_labels_of_a_group_differ():
    names = [f"n{number}" for number in range(6)]
    nodes = [node(name, rack="xyz"[number % 3]) for number, name in enumerate(names)]
    supply = [own(name, 1) for name in names]
    tie = group("a", "b", label="rack")
    found = placed(answered(*supply, asking("a"), asking("b"), tie, nodes=nodes))
    assert {where for where, _ in found.values()} == {"n0", "n3"}


def test_pods_of_a_group_go_where_they_may():
    nodes = [node("n1", rack="x"), node("n2", rack="y"), node("n3", rack="y")]
    supply = [own(name, 1) for name in ("n1", "n2", "n3")]
    tie = group("a", "b", entries=[together()])
    answer = answered(
        *supply, asking("a"), asking("b"), pod("b", name="p", node_selector={"rack": "x"}), tie, nodes=nodes
    )
    assert placed(answer)["p"][0] == "n1"
    assert placed(answer)["a"][0] in ("n2", "n3")


def test_generations_of_a_pool_that_differ_from_node_to_node_are_not_decided():
    old = pool(device("d0", island=1), name="s", slice_name="old", generation=1, node_name="n1")
    new = pool(device("d1", island=1), name="s", slice_name="new", generation=2, node_name="n2")
    tie = group("a", "b", entries=[together()])
    answer = answered(old, new, asking("a"), asking("b"), tie, nodes=["n1", "n2"])
    assert answer.outcome == Status.UNKNOWN
    assert "resource pool d.x/s" in answer.units[0].reasons[0].message


def test_units_without_any_node_are_refused():
    answer = answered(asking("a"), asking("b"), group("a", "b", entries=[together()]))
    assert refused(answer) == {"a": ["devices"], "b": ["devices"]}
