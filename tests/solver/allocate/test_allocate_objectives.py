"""``allocate --objective``: what each stage prefers, over devices and over nodes, and what it says about that."""

import pytest
from support.objects import (
    claim,
    device,
    device_class,
    devices,
    draws,
    either,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate

ENGINES = pytest.mark.parametrize("engine", ["auto", "cp-sat"])
AT_LEAST_1GI = "device.capacity['d.x'].memory.compareTo(quantity('1Gi')) >= 0"
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def ask(*objects, nodes=("n1",), **options):
    return allocate(Cluster.of([device_class(), *map(node, nodes), *objects]), **options)


def devices_of(unit):
    return sorted(result.device for _, made in unit.allocations for result in made.devices.results or ())


def taken(*objects, **options):
    """The devices of the only unit, whose stages must all be proven."""
    (unit,) = ask(*objects, **options).units
    assert unit.outcome == Status.ALLOCATED
    assert all(stage.proven and stage.bound == stage.value for stage in unit.objective)
    return devices_of(unit)


def values(*objects, **options):
    (unit,) = ask(*objects, **options).units
    return {stage.stage: stage.value for stage in unit.objective}


def memory(name, quantity, **fields):
    return device(name, capacity={"memory": quantity}, **fields)


SIZES = pool(memory("a", "40Gi"), memory("b", "10Gi"), memory("c", "5Gi"), memory("d", "640Mi"))


@ENGINES
def test_the_smallest_device_that_fits_is_taken_instead_of_the_first(engine):
    asking = claim(want(select=AT_LEAST_1GI))
    assert taken(SIZES, asking, engine=engine) == ["a"]
    assert taken(SIZES, asking, engine=engine, objective="fragmentation") == ["c"]


@ENGINES
def test_of_two_devices_the_second_smallest_is_the_other(engine):
    asking = claim(want(select=AT_LEAST_1GI, count=2))
    assert taken(SIZES, asking, engine=engine, objective=["fragmentation"]) == ["b", "c"]


@ENGINES
def test_capacity_that_is_asked_for_comes_from_the_smallest_device_too(engine):
    asking = claim(want(capacity={"memory": "1Gi"}))
    assert taken(SIZES, asking, engine=engine, objective="fragmentation") == ["c"]


@ENGINES
def test_a_share_is_taken_where_least_is_left(engine):
    """One device is in use already: 1 of its 10 Gi is left, and that is enough."""
    ranged = {"memory": shared("10Gi", default="10Gi", min="1Gi", max="10Gi")}
    supply = pool(*(device(name, capacity=ranged, multi=True, last=name == "c") for name in "abc"))
    first = claim(want(select="device.attributes['d.x'].last", capacity={"memory": "9Gi"}), name="one")
    second = claim(want(capacity={"memory": "1Gi"}), name="two")
    assert devices_of(ask(supply, first, second, engine="backtracking").units[1]) == ["a"]
    assert devices_of(ask(supply, first, second, engine=engine, objective="fragmentation").units[1]) == ["c"]


@ENGINES
def test_sizes_are_compared_across_nodes(engine):
    """The first node has the largest device only."""
    large, small = (
        pool(memory(f"{name}-0", quantity), name=name, node_name=name)
        for name, quantity in (("n1", "40Gi"), ("n2", "5Gi"))
    )
    found = ask(large, small, claim(want()), nodes=("n1", "n2"), engine=engine, objective="fragmentation").units[0]
    assert (found.node, devices_of(found)) == ("n2", ["n2-0"])
    assert ask(large, small, claim(want()), nodes=("n1", "n2"), engine=engine).units[0].node == "n1"


def test_of_equal_nodes_the_first_by_name_is_taken():
    supplies = [pool(memory(f"{name}-0", "5Gi"), name=name, node_name=name) for name in ("n3", "n1", "n2")]
    for stage in ("fragmentation", "compact", "fewest-devices-opened"):
        assert ask(*supplies, claim(want()), nodes=("n3", "n1", "n2"), objective=stage).units[0].node == "n1"


@ENGINES
def test_a_broken_group_is_broken_further_before_a_whole_one(engine):
    """Four devices on each of two roots, one of them in use: the pair comes from the three that are left."""
    roots = [device(f"{root}{number}", attributes={PCIE_ROOT: root}) for root in "ab" for number in range(4)]
    first = claim(want(select="device.attributes['resource.kubernetes.io'].pcieRoot == 'b'"), name="one")
    second = claim(want(count=2), name="two")
    found = ask(pool(*roots), first, second, engine=engine, objective="fragmentation").units
    assert {name[0] for name in devices_of(found[1])} == {"b"}


def test_a_group_is_one_of_a_driver():
    """Taking the network card of a root leaves the root's GPUs whole."""
    gpus = pool(*(device(f"g{number}", attributes={PCIE_ROOT: "a"}) for number in range(3)), driver="g.x", name="g")
    cards = pool(*(device(f"n{root}", attributes={PCIE_ROOT: root}) for root in "ab"))
    asking = claim(want(select="device.driver == 'd.x'"))
    assert values(gpus, cards, asking, objective="fragmentation") == {"fragmentation": 1000**2}


@ENGINES
def test_compact_keeps_to_one_pool_and_one_root(engine):
    near = pool(*(device(f"n{number}", attributes={PCIE_ROOT: "a"}) for number in range(2)), name="q")
    far = pool(*(device(f"f{number}", attributes={PCIE_ROOT: str(number)}) for number in range(2)), name="p")
    assert taken(far, near, claim(want(count=2)), engine=engine) == ["f0", "f1"]
    assert taken(far, near, claim(want(count=2)), engine=engine, objective="compact") == ["n0", "n1"]
    assert values(far, near, claim(want(count=2)), engine=engine, objective="compact") == {"compact": 2}
    assert values(far, near, claim(want(count=3)), engine=engine, objective="compact") == {"compact": 4}


def test_compact_looks_at_attributes_that_constraints_compare():
    """Two pairs must match within themselves; one value for both is closer."""
    supply = pool(
        *(device(f"{numa}{number}", numa=numa) for numa in "ab" for number in range(4)), device("c0", numa="c")
    )
    pair = [want(name, count=2) for name in ("r", "s")]
    asking = claim(*pair, constraints=[match("d.x/numa", "r"), match("d.x/numa", "s")])
    assert {name[0] for name in taken(supply, asking, objective="compact")} in ({"a"}, {"b"})


@ENGINES
def test_devices_that_are_shared_already_are_opened_by_nobody(engine):
    supply = pool(*(device(name, multi=True) for name in "ab"), device("c", multi=True))
    first = claim(want(select="device.driver == 'd.x'"), name="one")
    both = claim(want("r"), want("s"), name="two")
    found = ask(supply, first, both, engine=engine, objective="fewest-devices-opened").units
    assert [stage.value for unit in found for stage in unit.objective] == [1, 0]
    assert set(devices_of(found[1])) == set(devices_of(found[0]))


def cards(*names, each=4):
    """Cards of so many equal partitions."""
    return partitions(
        *(device(f"{name}-{number}", draws(name, slots=1)) for number in range(each) for name in names),
        sets={name: {"slots": each} for name in names},
    )


@ENGINES
def test_partitions_come_from_cards_that_are_in_use(engine):
    first = claim(want(select="true"), name="one")
    second = claim(want(count=3), name="two")
    third = claim(want(count=3), name="three")
    found = ask(*cards("x", "y", "z"), first, second, third, engine=engine, objective="fewest-devices-opened").units
    assert [unit.objective[0].value for unit in found] == [1, 0, 1]


@ENGINES
def test_dedicated_devices_count_one_by_one(engine):
    asking = claim(either("r", option("many", 3), option("few", 2)))
    assert values(pool(*devices(*"abc")), asking, engine=engine, objective="fewest-devices-opened") == {
        "fewest-devices-opened": 2
    }


LISTS = claim(
    either("r", option("a", select="device.attributes['d.x'].kind == 'a'"), option("b")),
    either("s", option("a", select="device.attributes['d.x'].kind == 'a'"), option("b")),
)


@ENGINES
def test_preference_is_what_backtracking_finds_or_better(engine):
    supply = pool(device("x", kind="b"), device("y", kind="a"), device("z", kind="b"))
    by_search = ask(supply, LISTS, engine="backtracking").units[0]
    by_stage = ask(supply, LISTS, engine=engine, objective="preference").units[0]
    requests = [
        [result.request for _, made in unit.allocations for result in made.devices.results]
        for unit in (by_search, by_stage)
    ]
    assert requests[0] == requests[1] == ["r/a", "s/b"]
    assert by_stage.objective[0].value == 1


@ENGINES
def test_preference_looks_at_all_nodes(engine):
    """The first node serves the second alternative only."""
    poor = pool(device("x", kind="b"), device("y", kind="b"), name="n1")
    rich = pool(device("x", kind="a"), device("y", kind="a"), name="n2", node_name="n2")
    found = ask(poor, rich, LISTS, nodes=("n1", "n2"), engine=engine, objective="preference").units[0]
    assert (found.node, found.objective[0].value) == ("n2", 0)


@ENGINES
def test_the_first_stage_decides_and_the_next_ones_among_equals(engine):
    """The small device is the second choice of the list."""
    asking = claim(either("r", option("large", select="device.attributes['d.x'].large"), option("any")))
    supply = pool(memory("a", "5Gi", large=False), memory("b", "40Gi", large=True), memory("c", "20Gi", large=True))
    assert taken(supply, asking, engine=engine, objective="preference,fragmentation") == ["c"]
    assert taken(supply, asking, engine=engine, objective="fragmentation,preference") == ["a"]


def test_soft_is_nothing_yet():
    assert values(SIZES, claim(want()), objective="soft") == {"soft": 0}


def test_without_an_objective_nothing_is_said():
    assert ask(SIZES, claim(want())).units[0].objective == ()


def test_what_cannot_be_allocated_cannot_with_an_objective_either():
    for objective in ((), "fragmentation", "preference"):
        (unit,) = ask(SIZES, claim(want(count=5)), objective=objective).units
        assert (unit.outcome, unit.objective) == ("Unallocatable", ())
        assert "needs 5, 4 fit" in unit.reasons[0].message


def test_admin_access_uses_nothing_up():
    asking = claim(want(admin=True, count=2))
    assert values(SIZES, asking, objective="fragmentation,fewest-devices-opened") == {
        "fragmentation": 0,
        "fewest-devices-opened": 0,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "best"}, "unknown stage 'best' of an objective, known are: preference, soft, fragmentation"),
        ({"objective": ["compact", "compact"]}, "stage 'compact' comes twice"),
        ({"objective": "compact", "engine": "backtracking"}, "engine 'backtracking' knows no objective"),
        ({"objective": "compact", "engine": "kube-scheduler"}, "engine 'kube-scheduler' knows no objective"),
    ],
    ids=["unknown", "twice", "backtracking", "kube-scheduler"],
)
def test_an_objective_that_makes_no_sense_is_one_line(options, message):
    with pytest.raises(ValueError, match=message) as error:
        ask(SIZES, claim(want()), **options)
    assert "\n" not in str(error.value)


def test_an_error_before_any_answer_ends_the_unit_and_after_one_it_does_not():
    """All of an incomplete pool is a fatal error on its node (PRE-8); the scheduler's order decides (SCHED-6)."""
    whole = {name: pool(device("x"), name=name, node_name=name) for name in ("n1", "n2")}
    broken = {name: pool(device("x"), name=name, node_name=name, count=2) for name in ("n1", "n2")}
    asking = claim(want(count="All"))
    after = ask(whole["n1"], broken["n2"], asking, nodes=("n1", "n2"), objective="compact").units[0]
    assert (after.outcome, after.node, after.objective[0].proven) == (Status.ALLOCATED, "n1", True)
    before = ask(broken["n1"], whole["n2"], asking, nodes=("n1", "n2"), objective="compact").units[0]
    assert before.outcome == ask(broken["n1"], whole["n2"], asking, nodes=("n1", "n2")).units[0].outcome == "Error"
