"""Soft entries of ConstraintGroups: they decide over several claims, and stand in nobody's way (SOFT-1)."""

import pytest
from support.objects import claim, device, pool, want
from support.peers import FakePeer, allocation, answer, result
from support.soft import ROOT, ask, devices_of, near, told, wishing

from drasat.models.kubernetes.extensions import ConstraintGroup, ConstraintGroupSpec, Entry, GroupClaim
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.solver.engines import kube_scheduler
from drasat.solver.engines.kube_scheduler import KubeSchedulerEngine

ENGINES = pytest.mark.parametrize("engine", ["auto", "cp-sat"])
EVERY_ENGINE = pytest.mark.parametrize("engine", ["auto", "cp-sat", "backtracking"])
SUPPLY = pool(device("d0", root="x"), device("d1", root="y"), device("d2", root="y"))
LEFT_ASIDE = "not all units fit together: soft entries are left aside, those of ConstraintGroup ns/g"


def group(*entries, label="", claims="ab"):
    named = tuple(GroupClaim(name=name) for name in claims)
    spec = ConstraintGroupSpec(claims=named, constraints=entries, same_node_label=label)
    return ConstraintGroup(metadata=ObjectMeta(name="g", namespace="ns"), spec=spec)


def same(weight=5, **fields):
    return Entry(match_attribute=ROOT, weight=weight, **fields)


def placed(found):
    return {unit.unit.name: devices_of(unit) for unit in found.units}


@ENGINES
def test_devices_of_several_claims_are_near_each_other_if_possible(engine):
    found = ask(SUPPLY, claim(want(), name="a"), claim(want(), name="b"), group(same(name="near")), engine=engine)
    assert placed(found) == {"a": ["d1"], "b": ["d2"]}
    (entry,) = [entry for unit in found.units for entry in unit.soft_entries]
    assert (entry.claim, entry.name, entry.kept) == ("", "ConstraintGroup ns/g, entry near", True)


@EVERY_ENGINE
def test_what_cannot_be_near_is_allocated_all_the_same(engine):
    asked = SUPPLY, claim(want(), name="a"), claim(want(count=2), name="b"), group(same())
    found = ask(*asked, engine=engine)
    assert found.outcome == "Allocated"
    assert [entry.cost for unit in found.units for entry in unit.soft_entries] == [5]


@EVERY_ENGINE
def test_pairs_over_claims(engine):
    """SOFT-2: all three devices, of which two are alike."""
    asked = SUPPLY, claim(want(), name="a"), claim(want(count=2), name="b"), group(same(per="Pair"))
    assert [entry.cost for unit in ask(*asked, engine=engine).units for entry in unit.soft_entries] == [2 * 5]


@EVERY_ENGINE
def test_a_unit_that_fits_nowhere_leaves_the_others_theirs(engine):
    asked = SUPPLY, claim(want(), name="a"), claim(want(count=4), name="b"), group(same())
    found = ask(*asked, engine=engine)
    assert [unit.outcome for unit in found.units] == ["Allocated", "Unallocatable"]
    assert LEFT_ASIDE in found.notices


@EVERY_ENGINE
def test_what_must_hold_still_ties(engine):
    asked = SUPPLY, claim(want(), name="a"), claim(want(count=4), name="b"), group(same(), same(weight=None))
    assert [unit.outcome for unit in ask(*asked, engine=engine).units] == ["Unallocatable"] * 2


@EVERY_ENGINE
def test_a_label_still_ties(engine):
    asked = SUPPLY, claim(want(), name="a"), claim(want(count=4), name="b"), group(same(), label="rack")
    assert [unit.outcome for unit in ask(*asked, engine=engine).units] == ["Unallocatable"] * 2


@EVERY_ENGINE
def test_units_that_are_only_wished_together_are_taken_apart_from_those_that_must_be(engine):
    """a and b must be alike; c is only wished to be, and fits nowhere."""
    must = group(same(weight=None))
    wish = ConstraintGroup(
        metadata=ObjectMeta(name="wish", namespace="ns"),
        spec=ConstraintGroupSpec(claims=(GroupClaim(name="b"), GroupClaim(name="c")), constraints=(same(),)),
    )
    claims = claim(want(), name="a"), claim(want(), name="b"), claim(want(count=9), name="c")
    found = ask(SUPPLY, *claims, must, wish, engine=engine)
    assert placed(found) == {"a": ["d1"], "b": ["d2"], "c": []}
    assert found.notices[-1] == LEFT_ASIDE.replace("ns/g", "ns/wish")


@ENGINES
def test_own_wishes_and_those_of_the_group_are_weighed_together(engine):
    far = {"cel": {"expression": "devices.all(d, d.attributes['d.x'].root == 'x')"}}
    for weight, kept in ((4, False), (6, True)):
        asked = wishing(claim(want(), name="a"), {**far, "weight": weight}), claim(want(), name="b")
        found = ask(SUPPLY, *asked, group(same()), engine=engine)
        assert {name: kept for unit in found.units for name, kept, _ in told(unit)} == {
            "#0": kept,
            "ConstraintGroup ns/g, entry #0": not kept,
        }


@EVERY_ENGINE
def test_an_entry_of_a_group_is_the_groups_even_if_it_is_about_one_claim(engine):
    asked = wishing(claim(want(count=2), name="a"), near(weight=2)), claim(want(), name="b")
    found = ask(SUPPLY, *asked, group(same(requests=("a/r",), weight=3), same(requests=("b/r",))), engine=engine)
    (unit, other) = found.units
    assert [entry.claim for entry in unit.soft_entries] == ["ns/a", "", ""]
    assert sum(entry.cost for entry in unit.soft_entries) == (5 if engine == "backtracking" else 0)
    assert other.soft_entries == ()


def test_kube_scheduler_places_units_one_by_one(register):
    """SOFT-3."""
    peer = FakePeer(*(answer(allocations=(allocation(result(name)),)) for name in ("d0", "d1")))
    register(kube_scheduler.NAME, lambda session: KubeSchedulerEngine(session, peer))
    supply = pool(device("d0", root="x"), device("d1", root="y"), all_nodes=True)
    asked = supply, claim(want(), name="a"), claim(want(), name="b"), group(same())
    found = ask(*asked, engine="kube-scheduler", cel_errors="kube")
    assert placed(found) == {"a": ["d0"], "b": ["d1"]}
    assert found.notices == ("engine kube-scheduler does not mind soft entries: those of ConstraintGroup ns/g",)
