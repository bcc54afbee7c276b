"""Which gang a unit belongs to, where units of one gang, of several, or of none share a claim."""

from dataclasses import replace
from itertools import product
from random import Random
from types import SimpleNamespace

import pytest
from support.plan_building import claim, entry, nodes, obj, of, placed, planning, pod, posed, sharing

from drasat.models.workload.unit_classes import Gang
from drasat.solver.plan.build.gangs import GangMembership
from drasat.solver.plan.build.units import ColocatedUnits

ONE, TWO, THREE = (Gang("Gang", "ns", name) for name in ("one", "two", "three"))
FEW = Gang("PodGroup", "ns", "few", minimum=1)


def choice(name, *gangs, ways=1):
    """Units of these gangs (None: of none) that share a claim, and fewer of them as further ways to choose."""
    party = [SimpleNamespace(unit_set=SimpleNamespace(gang=gang)) for gang in gangs]
    return [
        (f"{name}{way}", ColocatedUnits(tuple(range(len(party) - way)), tuple(party[: len(party) - way])))
        for way in range(ways)
    ]


def enrolled(*choices):
    found = GangMembership()
    for one in choices:
        found.add(one)
    return found


def names(found):
    """The choices of each gang by its name, all ways of each."""
    return {gang.name: [[kind for kind, _ in one] for one in own] for gang, own in found.gangs().items()}


def test_units_of_no_gang_are_free_with_all_their_ways():
    found = enrolled(choice("a", None), choice("b", None, None, ways=2))
    assert [[kind for kind, _ in one] for one in found.free] == [["a0"], ["b0", "b1"]]
    assert (found.gangs(), found.is_narrowed) == ({}, False)


def test_members_are_those_of_their_gangs_in_order():
    found = enrolled(choice("a", ONE), choice("b", TWO), choice("c", ONE), choice("d", None))
    assert names(found) == {"one": [["a0"], ["c0"]], "two": [["b0"]]}
    assert [*found.gangs()] == [ONE, TWO]
    assert not found.is_narrowed


def test_members_that_share_are_whole_where_the_gang_is():
    found = enrolled(choice("a", ONE, ONE, ways=2), choice("b", ONE))
    assert names(found) == {"one": [["a0"], ["b0"]]}
    assert not found.is_narrowed


def test_members_that_share_have_all_ways_where_some_are_enough():
    found = enrolled(choice("a", FEW, FEW, FEW, ways=3))
    assert names(found) == {"few": [["a0", "a1", "a2"]]}
    assert not found.is_narrowed


def test_gangs_that_share_become_one_that_is_whole():
    found = enrolled(choice("a", ONE), choice("b", FEW, FEW, ways=2), choice("c", ONE, FEW, ways=2))
    assert found.is_narrowed
    assert names(found) == {"one": [["a0"], ["b0"], ["c0"]]}
    (united,) = found.gangs()
    assert (united.minimum, united.problem) == (None, "")


def test_gangs_share_by_way_of_others():
    found = enrolled(choice("a", ONE, TWO), choice("b", THREE, TWO), choice("c", THREE), choice("d", ONE))
    assert names(found) == {"one": [["a0"], ["b0"], ["c0"], ["d0"]]}


def test_gangs_that_nothing_ties_stay_apart():
    others = [replace(gang, name=f"{gang.name}-b") for gang in (ONE, TWO)]
    found = enrolled(choice("a", ONE, TWO), choice("b", *others), choice("c", THREE), choice("d", FEW, FEW, ways=2))
    assert names(found) == {"one": [["a0"]], "one-b": [["b0"]], "three": [["c0"]], "few": [["d0", "d1"]]}


@pytest.mark.parametrize("gangs", [(FEW, None), (None, FEW)])
def test_a_gang_that_shares_with_a_unit_of_none_is_placed_whole(gangs):
    found = enrolled(choice("a", *gangs, ways=2), choice("b", FEW, FEW, ways=2))
    assert found.is_narrowed
    assert found.free == []
    assert names(found) == {"few": [["a0"], ["b0"]]}
    assert [gang.minimum for gang in found.gangs()] == [None]


def test_two_gangs_that_share_with_units_of_none_are_not_tied_by_that():
    found = enrolled(choice("a", ONE, None), choice("b", TWO, None))
    assert names(found) == {"one": [["a0"]], "two": [["b0"]]}


@pytest.mark.parametrize("gangs", [("zone", None), (None, "zone"), ("zone", "zone")])
def test_what_stands_for_several_gangs_has_their_domain(gangs):
    one, two = (replace(gang, domain=domain) for gang, domain in zip((ONE, TWO), gangs, strict=True))
    (united,) = enrolled(choice("a", one, two)).gangs()
    assert (united.domain, united.problem) == ("zone", "")


def test_gangs_of_two_domains_have_a_problem():
    one, two = replace(ONE, domain="zone"), replace(TWO, domain="rack")
    (united,) = enrolled(choice("a", one, two), choice("b", two)).gangs()
    assert "another domain: rack and zone together" in united.problem


def test_members_of_all_gangs_that_run_count():
    one, two = replace(ONE, running_nodes=("n2", "n3")), replace(TWO, running_nodes=("n1", "n2"))
    (united,) = enrolled(choice("a", one, two)).gangs()
    assert united.running_nodes == ("n1", "n2", "n3")


@pytest.mark.parametrize(("minimum", "running", "fails"), [(2, (), False), (3, (), True), (3, ("n1",), False)])
def test_a_gang_with_too_few_members_stays_hopeless_beside_others(minimum, running, fails):
    few = replace(FEW, minimum=minimum, running_nodes=running)
    (united,) = enrolled(choice("a", ONE, few), choice("b", few)).gangs()
    assert united.problem == ("PodGroup ns/few needs 3 members, and has 2" if fails else "")


class Small:
    """Pods on two nodes: some of gangs, some sharing claims, and all ways to place them."""

    def __init__(self, seed):
        rng = Random(seed)
        self.devices = [rng.choice((1, 2, 3)) for _ in range(2)]
        self.cpu = [rng.choice((2, 3, 4)) for _ in range(2)]
        self.minimum = rng.choice((None, 1, 2))
        self.claims = {name: rng.choice((1, 2)) for name in "st"}
        self.pods = [
            (f"p{number}", rng.choice((1, 2)), rng.choice((None, "g", "g", "h")), rng.choice(("s", "s", "t", None)))
            for number in range(rng.choice((3, 4, 5)))
        ]

    def objects(self):
        made = [
            one
            for number, (devices, cpu) in enumerate(zip(self.devices, self.cpu, strict=True))
            for one in nodes(f"n{number}", devices=devices, cpu=str(cpu))
        ]
        # A claim of no pod would be a unit of its own.
        used = {one[3] for one in self.pods}
        made += [claim(name, of(count)) for name, count in self.claims.items() if name in used]
        made.append(obj("PodGroup", "h", {"schedulingPolicy": self.policy}))
        return [*made, *(self._pod(*one) for one in self.pods)]

    @property
    def policy(self):
        return {"basic": {}} if self.minimum is None else {"gang": {"minCount": self.minimum}}

    @staticmethod
    def _pod(name, cpu, gang, shared):
        marks = {"GANG": "g"} if gang == "g" else {}
        spec = {"schedulingGroup": {"podGroupName": "h"}} if gang == "h" else {}
        entries = [entry("s", claim=shared)] if shared else []
        return pod(name, *entries, cpu=str(cpu), spec=spec, **marks)

    def best(self):
        """The most pods that any plan places."""
        return max(self._count(places) for places in product((None, 0, 1), repeat=len(self.pods)))

    def _count(self, places):
        """How many pods are placed like that; -1 where it breaks a rule."""
        there = [(one, place) for one, place in zip(self.pods, places, strict=True) if place is not None]
        claims = {(one[3], place) for one, place in there if one[3]}
        if len({name for name, _ in claims}) < len(claims):
            return -1
        for node in range(2):
            cpu = sum(one[1] for one, place in there if place == node)
            devices = sum(self.claims[name] for name, place in claims if place == node)
            if cpu > self.cpu[node] or devices > self.devices[node]:
                return -1
        placed_of = {gang: sum(one[2] == gang for one, _ in there) for gang in "gh"}
        if placed_of["g"] not in (0, sum(one[2] == "g" for one in self.pods)):
            return -1
        return -1 if 0 < placed_of["h"] < (self.minimum or 0) else len(there)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_for_all_plans_of_gangs_whose_members_share(seed):
    small = Small(seed)
    found = planning(*small.objects(), objective="admitted")
    (stage,) = found.objective
    assert found.verified
    assert len(placed(found)) <= small.best()
    assert stage.bound is None or stage.bound >= small.best()
    if not posed(*small.objects()).is_narrowed:
        assert len(placed(found)) == small.best()


def test_of_a_member_and_a_unit_of_no_gang_that_share_a_claim_one_may_come_alone():
    given = [*nodes("n1", cpu="2"), claim("s"), sharing("a", "s", cpu="2", GANG="g"), sharing("b", "s", cpu="1")]
    found = planning(*given, objective="admitted")
    assert len(placed(found)) == 1
    assert (found.objective[0].bound, found.outcome) == (1, "Optimal")
