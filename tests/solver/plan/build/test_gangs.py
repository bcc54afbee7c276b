"""Gangs: whole or not at all, or as many as are enough, in one domain, beside members that run."""

import pytest
from support.plan_building import (
    claim,
    entry,
    gpus,
    maker,
    node,
    nodes,
    obj,
    of,
    placed,
    planning,
    pod,
    posed,
    reasons,
    running,
    sharing,
    to_buy,
    user,
    values,
    where,
)


def zoned(**zones):
    """Nodes with two devices, each in a zone."""
    return [one for name, zone in zones.items() for one in (node(name, zone), gpus(name, 2))]


def group(name, minimum=None, domain=None):
    """A PodGroup; without a minimum nothing binds its members but a domain."""
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    topology = {"schedulingConstraints": {"topology": [{"key": domain}]}} if domain else {}
    return obj("PodGroup", name, {"schedulingPolicy": policy, **topology})


def member(name, of_group, *more, spec="t", **options):
    grouped = {"schedulingGroup": {"podGroupName": of_group}}
    return pod(name, entry("g", template=spec), *more, cpu="1", spec=grouped | options.pop("more", {}), **options)


def runs(name, where, of_group, **options):
    return pod(name, spec={"nodeName": where, "schedulingGroup": {"podGroupName": of_group}}, **options)


def test_a_gang_is_placed_whole():
    assert placed(planning(*nodes("n1"), *(user(name, GANG="g") for name in "abcd"))) == list("abcd")


def test_a_gang_with_one_member_too_many_is_not_placed():
    found = planning(*nodes("n1"), *(user(name, GANG="g") for name in "abcde"))
    assert placed(found) == []
    assert found.outcome == "Optimal"
    assert reasons(found, "a")[0] == "gang"


def test_units_beside_a_gang_that_does_not_fit_are_placed():
    found = planning(*nodes("n1"), *(user(name, GANG="g") for name in "abcde"), user("f"))
    assert placed(found) == ["f"]


def test_equal_gangs_are_one_class():
    gangs = [maker("Job", f"j{n}", entry("g", template="t"), spec={"parallelism": 2}, GANG=f"g{n}") for n in range(5)]
    found = posed(*nodes("n1"), *gangs)
    assert [(one.members, one.demand) for one in found.problem.gangs] == [(((0, 2),), 5)]
    assert found.problem.rows == ()
    plan = planning(*nodes("n1", devices=5), *gangs)
    assert values(plan)["admitted"] == 4


def test_gangs_of_other_sizes_or_members_are_classes_of_their_own():
    given = [user(name, GANG="one") for name in "ab"], [user(name, GANG="two") for name in "cde"]
    more = [user("f", GANG="three"), user("g", cpu="2", GANG="three")]
    found = posed(*nodes("n1"), *given[0], *given[1], *more)
    assert [one.members for one in found.problem.gangs] == [((0, 2),), ((0, 3),), ((0, 1), (1, 1))]


def test_the_same_name_in_two_namespaces_are_two_gangs():
    given = [obj("ResourceClaimTemplate", "t", {"spec": of(1)}, namespace="other")]
    given += [user(name, GANG="g") for name in "ab"] + [user(name, GANG="g", namespace="other") for name in "cd"]
    found = planning(*nodes("n1", devices=3), *given)
    assert len(placed(found)) == 2


def test_members_of_different_kinds_are_one_gang():
    given = (
        maker("Deployment", "d", entry("g", template="t"), spec={"replicas": 2}, GANG="g"),
        claim("c", of(3), GANG="g"),
    )
    assert placed(planning(*nodes("n1", devices=4), *given)) == []
    assert placed(planning(*nodes("n1", devices=5), *given)) == ["c", "d-0", "d-1"]


@pytest.mark.parametrize(("zones", "fits"), [("aa", True), ("ab", False)])
def test_a_domain_holds_a_gang_together(zones, fits):
    gang = [user(name, GANG="g", GANG_DOMAIN="zone") for name in "abc"]
    found = planning(*zoned(n1=zones[0], n2=zones[1]), *gang)
    assert bool(placed(found)) is fits
    assert found.outcome == "Optimal"


def test_equal_gangs_choose_a_domain_each():
    gangs = [user(f"{name}{number}", GANG=f"g{number}", GANG_DOMAIN="zone") for number in range(3) for name in "xy"]
    found = planning(*zoned(n1="a", n2="b", n3="b"), *gangs)
    assert len(placed(found)) == 6
    posed_ = posed(*zoned(n1="a", n2="b", n3="b"), *gangs)
    assert [one.demand for one in posed_.problem.gangs] == [3, 3]
    (row,) = posed_.problem.rows
    assert (row.terms.gangs, row.upper) == ({0: 1, 1: 1}, 3)


def test_nodes_without_the_label_are_in_no_domain():
    gang = [user(name, GANG="g", GANG_DOMAIN="zone") for name in "ab"]
    assert placed(planning(*zoned(n1=None, n2=None), *gang)) == []
    assert placed(planning(*zoned(n1=None, n2="a"), *gang)) == ["a", "b"]


def test_a_domain_that_no_node_has_leaves_its_gang_out():
    found = planning(*zoned(n1="a"), user("a", GANG="g", GANG_DOMAIN="rack"))
    assert placed(found) == []
    assert found.outcome == "Optimal"
    assert "gang" in reasons(found, "a")


def test_members_that_run_say_which_domain():
    gang = {"GANG": "g", "GANG_DOMAIN": "zone"}
    found = planning(*zoned(n1="a", n2="b"), running("r", "n2", **gang), user("a", **gang))
    assert where(found) == {"a": "n2"}
    full = planning(*zoned(n1="a", n2="b"), running("r", "n2", cpu="4", **gang), user("a", **gang))
    assert placed(full) == []


def test_members_that_run_in_two_domains_leave_none():
    gang = {"GANG": "g", "GANG_DOMAIN": "zone"}
    given = running("r", "n1", **gang), running("s", "n2", **gang), user("a", **gang)
    assert placed(planning(*zoned(n1="a", n2="b"), *given)) == []


@pytest.mark.parametrize(("minimum", "count"), [(1, 4), (4, 4), (5, 0), (6, 0)])
def test_as_many_as_are_enough(minimum, count):
    """Six wait, and four have room."""
    given = [group("w", minimum), *(member(f"m{number}", "w") for number in range(6))]
    found = planning(*nodes("n1"), *given)
    assert len(placed(found)) == count
    assert found.outcome == "Optimal"


@pytest.mark.parametrize(("already", "count"), [(0, 0), (1, 2), (2, 2)])
def test_members_that_run_count(already, count):
    """Three are enough, three wait, and two of them have room."""
    given = [group("w", 3), *(runs(f"r{number}", "n1", "w") for number in range(already))]
    found = planning(*nodes("n1", devices=2), *given, *(member(f"m{number}", "w") for number in range(3)))
    assert len(placed(found)) == count


def test_too_few_members_are_hopeless():
    found = planning(*nodes("n1"), group("w", 3), runs("r", "n1", "w"), member("m", "w"))
    assert placed(found) == []
    said = [reason.message for one in found.units for reason in one.reasons if reason.id == "gang"]
    assert said == ["PodGroup default/w needs 3 members, and has 2"]


def test_a_group_that_is_not_there_leaves_its_members_out():
    found = planning(*nodes("n1"), member("m", "gone"))
    assert reasons(found, "m") == ["gang"]
    assert found.units[0].reasons[0].message == "PodGroup default/gone not found"


def test_as_many_as_are_enough_in_one_domain():
    given = [group("w", 2, "zone"), *(member(f"m{number}", "w") for number in range(4))]
    found = planning(*zoned(n1="a", n2="b"), *given)
    assert len(placed(found)) == 2
    assert len({node for node in where(found).values() if node}) == 1
    found = planning(*zoned(n1="a", n2="a"), *given)
    assert len(placed(found)) == 4


def test_a_group_without_a_minimum_has_a_domain_only():
    given = [group("w", None, "zone"), *(member(f"m{number}", "w") for number in range(3))]
    found = planning(*zoned(n1="a", n2="b"), *given)
    assert len(placed(found)) == 2


def test_different_members_of_a_gang_with_a_minimum():
    given = [group("w", 2), member("big", "w", spec="t2"), member("a", "w"), member("b", "w")]
    assert placed(planning(*nodes("n1", devices=2), *given)) == ["a", "b"]
    assert placed(planning(*nodes("n1", devices=4), *given)) == ["a", "b", "big"]


@pytest.mark.parametrize("claims", [("gone",), ("s", "gone")], ids=["own", "more"])
def test_a_gang_with_a_member_that_has_to_wait_is_not_placed(claims):
    """All or nothing is about all members, those that nothing can place included."""
    given = claim("s"), user("a", GANG="g"), sharing("b", *claims, GANG="g"), user("c")
    found = planning(*nodes("n1"), *given)
    assert set(placed(found)) - {"s"} == {"c"}
    assert reasons(found, "b") == ["claim"]
    assert reasons(found, "a") == ["gang"]


def test_a_member_of_a_group_that_has_to_wait_is_one_less():
    given = group("w", 2), member("a", "w"), member("b", "w"), member("c", "w", entry("x", claim="gone"))
    assert placed(planning(*nodes("n1"), *given)) == ["a", "b"]
    given = group("w", 3), *given[1:]
    assert placed(planning(*nodes("n1"), *given)) == []


def test_members_that_share_a_claim_are_placed_whole():
    given = claim("s"), sharing("a", "s", cpu="3", GANG="g"), sharing("b", "s", cpu="1", GANG="g")
    assert placed(planning(*nodes("n1"), *given)) == ["a", "b"]
    found = planning(*nodes("n1", cpu="3"), *given)
    assert placed(found) == []
    assert found.outcome == "Optimal"


def test_members_of_a_group_that_share_a_claim_need_not_all_come():
    given = [group("w", 1), claim("s")]
    given += [pod(n, entry("s", claim="s"), cpu="2", spec={"schedulingGroup": {"podGroupName": "w"}}) for n in "abc"]
    found = planning(*nodes("n1"), *given)
    assert len(placed(found)) == 2
    assert found.outcome == "Optimal"


def test_of_gangs_that_share_a_claim_one_may_come_alone():
    given = [claim("s"), sharing("a", "s", GANG="one"), user("c", GANG="one", cpu="99")]
    given += [sharing("b", "s", GANG="two"), user("d", GANG="two")]
    found = planning(*nodes("n1"), *given)
    assert (placed(found), found.outcome) == (["b", "d"], "Optimal")
    given[2] = user("c", GANG="one")
    assert placed(planning(*nodes("n1"), *given)) == ["a", "b", "c", "d"]


def test_gangs_of_two_domains_may_share_a_claim():
    given = [
        claim("s"),
        sharing("a", "s", GANG="one", GANG_DOMAIN="zone"),
        sharing("b", "s", GANG="two", GANG_DOMAIN="rack"),
    ]
    found = planning(*zoned(n1="a"), *given)
    assert placed(found) == ["a"]
    assert "no value of the label rack" in found.units[1].reasons[0].message


def test_a_unit_of_no_gang_that_shares_with_a_member_comes_with_the_gang():
    given = [claim("s"), sharing("a", "s", GANG="g"), sharing("b", "s"), user("c", GANG="g")]
    found = planning(*nodes("n1"), *given)
    assert placed(found) == ["a", "b", "c"]
    given[-1] = user("c", GANG="g", cpu="99")
    found = planning(*nodes("n1"), *given)
    assert "a" not in placed(found)
    assert all(stage.bound >= 1 for stage in found.objective), "b alone would fit"


def test_a_gang_is_worth_what_its_members_are():
    given = [*(user(name, GANG="g", VALUE="2") for name in "ab"), *(user(name, VALUE="3") for name in "cd")]
    found = planning(*nodes("n1", devices=2), *given, objective="admitted=annotation:drasat.dev/value")
    assert placed(found) == ["c", "d"]
    assert list(values(found).values()) == [6]


def test_members_that_run_say_which_domain_also_where_only_new_nodes_are_used():
    gang = {"GANG": "g", "GANG_DOMAIN": "zone"}
    given = *zoned(n1="a"), running("r", "n1", **gang), user("a", **gang)
    assert placed(planning(*given, to_buy("big", labels={"zone": "b"}), buy=True, only_new=True)) == []
    assert placed(planning(*given, to_buy("big", labels={"zone": "a"}), buy=True, only_new=True)) == ["a"]
