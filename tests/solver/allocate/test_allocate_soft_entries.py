"""Soft entries: they decide between allocations, and never stand in the way of one (SOFT-1 to SOFT-3)."""

import re
from dataclasses import replace

import pytest
from msgspec import structs
from support.objects import claim, device, device_class, devices, distinct, either, node, option, pool, want
from support.soft import apart, ask, cel, devices_of, near, only, told, wishing

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaimTemplate, ResourceClaimTemplateSpec
from drasat.models.kubernetes.extensions import Predicate
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.results.common import SoftEntry, Status
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import VerificationError, check_allocations
from drasat.solver.capacity.capacity import capacity

ENGINES = pytest.mark.parametrize("engine", ["auto", "cp-sat"])
EVERY_ENGINE = pytest.mark.parametrize("engine", ["auto", "cp-sat", "backtracking"])

GPU, NIC = "device.attributes['d.x'].kind == 'gpu'", "device.attributes['d.x'].kind == 'nic'"
CARDS = pool(
    device("gpu-0", kind="gpu", root="a"), device("gpu-1", kind="gpu", root="b"), device("nic-0", kind="nic", root="b")
)
PAIR = claim(want("gpu", select=GPU), want("nic", select=NIC))


@ENGINES
def test_a_soft_match_decides_between_devices(engine):
    """SOFT-1: without any objective."""
    assert devices_of(only(CARDS, PAIR, engine=engine)) == ["gpu-0", "nic-0"]
    unit = only(CARDS, wishing(PAIR, near(name="close")), engine=engine)
    assert devices_of(unit) == ["gpu-1", "nic-0"]
    assert told(unit) == [("close", True, 0)]
    assert unit.objective == ()


@ENGINES
def test_a_soft_distinct_decides_between_devices(engine):
    supply = pool(*(device(name, root=root) for name, root in zip("abc", "xxy", strict=True)))
    unit = only(supply, wishing(claim(want(count=2)), apart()), engine=engine)
    assert "c" in devices_of(unit)
    assert told(unit) == [("#0", True, 0)]


@ENGINES
def test_a_soft_expression_decides_between_devices(engine):
    supply = pool(*(device(name, slot=slot) for slot, name in enumerate("abcd")))
    wish = cel("devices.all(d, d.attributes['d.x'].slot >= 2)")
    unit = only(supply, wishing(claim(want(count=2)), wish), engine=engine)
    assert devices_of(unit) == ["c", "d"]


@EVERY_ENGINE
def test_what_cannot_be_kept_stands_in_nobodys_way(engine):
    """SOFT-1."""
    three = claim(want("gpu", select=GPU, count=2), want("nic", select=NIC))
    assert ask(CARDS, wishing(three, near(weight=None)), engine=engine).units[0].outcome == Status.UNALLOCATABLE
    unit = only(CARDS, wishing(three, near(weight=5)), engine=engine)
    assert told(unit) == [("#0", False, 5)]


@EVERY_ENGINE
def test_a_device_without_the_attribute_violates(engine):
    unit = only(pool(*devices("a", "b")), wishing(claim(want(count=2)), near(weight=3)), engine=engine)
    assert told(unit) == [("#0", False, 3)]


@EVERY_ENGINE
def test_an_expression_that_fails_is_violated(engine):
    """An error counts as not holding, under each policy."""
    wish = cel("devices.all(d, d.attributes['d.x'].nothing > 0)", weight=4)
    for policy in ("strict", "skip", "kube"):
        unit = only(pool(*devices("a")), wishing(claim(want()), wish), engine=engine, cel_errors=policy)
        assert told(unit) == [("#0", False, 4)]


@EVERY_ENGINE
def test_an_entry_about_nothing_chosen_is_kept(engine):
    """SEM-0: of a list the other alternative was taken."""
    asking = claim(either("r", option("big", count=2), option("small")))
    unit = only(pool(*devices("a")), wishing(asking, near("r/big", name="close")), engine=engine)
    assert told(unit) == [("close", True, 0)]


@ENGINES
def test_of_two_that_contradict_the_heavier_is_kept(engine):
    supply = pool(*(device(name, root=root) for name, root in zip("abc", "xxy", strict=True)))
    for light, heavy in ((near, apart), (apart, near)):
        wishes = light(name="light", weight=2), heavy(name="heavy", weight=3)
        unit = only(supply, wishing(claim(want(count=2)), *wishes), engine=engine)
        assert told(unit) == [("light", False, 2), ("heavy", True, 0)]


@ENGINES
def test_many_light_ones_outweigh_a_heavy_one(engine):
    supply = pool(*(device(name, root=root, kind=root) for name, root in zip("abc", "xxy", strict=True)))
    light = [near(name=f"light-{number}", weight=2) for number in range(3)]
    unit = only(supply, wishing(claim(want(count=2)), apart(name="heavy", weight=5), *light), engine=engine)
    assert [name for name, kept, _ in told(unit) if not kept] == ["heavy"]


@ENGINES
def test_what_must_hold_comes_first(engine):
    supply = pool(*(device(name, root=root) for name, root in zip("abc", "xxy", strict=True)))
    asking = claim(want(count=2), constraints=[distinct("d.x/root")])
    unit = only(supply, wishing(asking, near(weight=1000)), engine=engine)
    assert told(unit) == [("#0", False, 1000)]


@ENGINES
def test_preference_comes_before_soft_entries(engine):
    """SOFT-1, SRCH-4: the better alternative is taken although the other would be near."""
    asking = claim(
        either("gpu", option("first", select="device.attributes['d.x'].root == 'a'"), option("second", select=GPU)),
        want("nic", select=NIC),
    )
    unit = only(CARDS, wishing(asking, near(weight=1000)), engine=engine)
    assert devices_of(unit) == ["gpu-0", "nic-0"]
    assert told(unit) == [("#0", False, 1000)]
    first = only(CARDS, wishing(asking, near(weight=1000)), engine=engine, objective="soft,preference")
    assert devices_of(first) == ["gpu-1", "nic-0"]
    assert [(stage.stage, stage.value, stage.proven) for stage in first.objective] == [
        ("soft", 0, True),
        ("preference", 1, True),
    ]


@ENGINES
def test_an_objective_without_soft_leaves_them_aside(engine):
    unit = only(CARDS, wishing(PAIR, near()), engine=engine, objective="fewest-devices-opened")
    assert len(unit.soft_entries) == 1
    assert [stage.stage for stage in unit.objective] == ["fewest-devices-opened"]


@ENGINES
def test_the_first_node_that_fits_is_taken_whatever_it_costs(engine):
    """Only an objective looks at all nodes."""
    far = pool(device("g", kind="gpu", root="a"), device("n", kind="nic", root="b"), node_name="n1")
    close = pool(device("g", kind="gpu", root="a"), device("n", kind="nic", root="a"), name="q", node_name="n2")
    asked = far, close, wishing(PAIR, near(weight=7))
    assert only(*asked, nodes=("n1", "n2"), engine=engine).node == "n1"
    assert only(*asked, nodes=("n1", "n2"), engine=engine, objective="soft").node == "n2"


def roots(values, **fields):
    return pool(*(device(f"{root}{number}", root=root, **fields) for number, root in enumerate(values)))


@ENGINES
@pytest.mark.parametrize(
    ("values", "count", "unequal"),
    [("xxyy", 3, 2), ("xxxy", 4, 3), ("xxyy", 4, 4), ("xyz", 3, 3), ("xxyyy", 3, 0), ("xyz", 1, 0)],
)
def test_each_pair_costs(engine, values, count, unequal):
    """SOFT-2: 2 + 1 instead of 1 + 1 + 1 is worth it, though the entry as a whole fails either way."""
    unit = only(roots(values), wishing(claim(want(count=count)), near(weight=3, per="Pair")), engine=engine)
    assert told(unit) == [("#0", unequal == 0, 3 * unequal)]


@ENGINES
def test_without_pairs_one_violation_is_like_another(engine):
    unit = only(roots("xxyz"), wishing(claim(want(count=4)), near(weight=3, per="Entry")), engine=engine)
    assert told(unit) == [("#0", False, 3)]


@ENGINES
def test_pairs_between_lists_share_a_value(engine):
    supply = pool(device("a", root=("x", "y")), device("b", root=("y", "z")), device("c", root=("z",)))
    unit = only(supply, wishing(claim(want(count=3)), near(weight=2, per="Pair")), engine=engine)
    assert told(unit) == [("#0", False, 2)]


@ENGINES
def test_pairs_with_a_device_without_the_attribute_cost(engine):
    supply = pool(device("a", root="x"), device("b", root="x"), device("c"))
    unit = only(supply, wishing(claim(want(count=3)), near(weight=2, per="Pair")), engine=engine)
    assert told(unit) == [("#0", False, 4)]


@ENGINES
def test_large_weights_count_to_the_last_unit(engine):
    heavy = 2**31 - 1
    supply = pool(*(device(name, root=root) for name, root in zip("abc", "xxy", strict=True)))
    unit = only(supply, wishing(claim(want(count=2)), apart(weight=heavy), near(weight=heavy - 1)), engine=engine)
    assert told(unit) == [("#0", True, 0), ("#1", False, heavy - 1)]


@ENGINES
def test_weights_beyond_the_solver_are_no_obstacle(engine):
    unit = only(roots("vwxyz"), wishing(claim(want(count=5)), near(weight=2**31 - 1, per="Pair")), engine=engine)
    assert told(unit) == [("#0", False, 10 * (2**31 - 1))]


def test_entries_are_told_with_their_claim():
    unit = only(CARDS, wishing(PAIR, near(name="close", weight=9)))
    assert unit.soft_entries == (SoftEntry("ns/c", "close", "matchAttribute", 9, True, 0),)


def test_claims_that_differ_in_their_entries_only_are_different():
    """Neither what failed for one nor what was best for it is taken over for the other."""
    must = wishing(claim(want(count=2), name="a"), near(weight=None))
    may = wishing(claim(want(count=2), name="b"), near(weight=2))
    found = ask(roots("xy"), must, may, claim(want(), name="c"))
    assert [unit.outcome for unit in found.units] == ["Unallocatable", "Allocated", "Unallocatable"]


@ENGINES
def test_units_are_served_in_order_by_their_own_entries(engine):
    one = wishing(claim(want("gpu", select=GPU), want("nic", select=NIC), name="one"), near())
    two = claim(want("gpu", select=GPU), name="two")
    first, second = ask(CARDS, one, two, engine=engine).units
    assert devices_of(first) == ["gpu-1", "nic-0"]
    assert devices_of(second) == ["gpu-0"]


def one_root(devices):
    return len({one.attributes["d.x/root"] for one in devices}) == 1


@ENGINES
def test_entries_and_predicates_given_in_python_may_be_soft(engine):
    close = {"matchAttribute": "d.x/root", "weight": 4, "name": "close"}
    unit = only(CARDS, PAIR, engine=engine, constraints=[close])
    assert (devices_of(unit), told(unit)) == (["gpu-1", "nic-0"], [("close", True, 0)])
    alike = Predicate(one_root, name="alike", weight=3)
    unit = only(CARDS, PAIR, engine=engine, constraints=[alike])
    assert (devices_of(unit), told(unit)) == (["gpu-1", "nic-0"], [("alike", True, 0)])
    found = ask(CARDS, PAIR, engine="backtracking", constraints=[close, alike])
    assert told(found.units[0]) == [("close", False, 4), ("alike", False, 3)]
    assert found.notices == ("engine backtracking does not mind soft entries: those of the caller",)


def test_backtracking_says_that_it_does_not_mind_them():
    """SOFT-3: the scheduler's choice, and what it costs."""
    asked = CARDS, wishing(PAIR, near(weight=6))
    found = ask(*asked, engine="backtracking")
    assert devices_of(found.units[0]) == ["gpu-0", "nic-0"]
    assert told(found.units[0]) == [("#0", False, 6)]
    assert found.notices == ("engine backtracking does not mind soft entries: those of claim ns/c",)
    assert ask(*asked).notices == ()
    assert ask(CARDS, PAIR, engine="backtracking").notices == ()


@pytest.mark.parametrize(
    ("wishes", "costs"),
    [
        ([near(weight=3)], [3]),
        ([near(weight=3, per="Pair")], [6]),
        ([cel("devices.size() == 2"), apart("r", weight=2)], [1, 2]),
        (
            [
                cel("devices.all(d, d.attributes['d.x'].nothing > 0)", weight=8),
                near(weight=None, attribute="d.x/kind"),
                near("r"),
            ],
            [8, 1],
        ),
    ],
)
def test_what_is_said_of_them_is_checked_again(wishes, costs):
    """SOFT-1, SOFT-2: by the verifier, which reads entries anew."""
    supply = pool(*(device(f"d{number}", root=root, kind="x") for number, root in enumerate("xxy")))
    cluster = Cluster.of([device_class(), node(), supply, wishing(claim(want(count=3)), *wishes)])
    found = allocate(cluster, engine="backtracking")
    (unit,) = found.units
    assert [entry.cost for entry in unit.soft_entries] == costs
    for number, entry in enumerate(unit.soft_entries):
        for cost in (0, entry.cost + 1):
            wrong = [*unit.soft_entries[:number], structs.replace(entry, cost=cost), *unit.soft_entries[number + 1 :]]
            with pytest.raises(VerificationError, match=f"SOFT-1.* and cost {re.escape(str(costs))}"):
                check_allocations(cluster, [replace(unit, soft_entries=tuple(wrong))], found.gates, "strict")


@pytest.mark.parametrize(
    ("wish", "copies"), [(near(weight=3), 3), (near(weight=3, per="Pair"), 3), (near(weight=None), 2)]
)
def test_capacity_minds_only_what_must_hold(wish, copies):
    supply = pool(*(device(f"d{number}", root=root) for number, root in enumerate("xxxyyz")))
    asked = wishing(claim(want(count=2)), wish)
    assert capacity(Cluster.of([device_class(), node(), supply, asked])).total.fits == copies


def test_copies_of_a_template_have_its_entries():
    supply = pool(*(device(f"d{number}", root=root) for number, root in enumerate("xxxyyz")))
    asked = wishing(claim(want(count=2)), near(weight=None))
    metadata = ObjectMeta(name="t", namespace="ns", annotations=asked.metadata.annotations)
    template = ResourceClaimTemplate(metadata=metadata, spec=ResourceClaimTemplateSpec(spec=asked.spec))
    assert capacity(Cluster.of([device_class(), node(), supply, template])).total.fits == 2
