"""Devices that several nodes reach are given out once, over all nodes."""

from collections import Counter

from support.plan_building import (
    FABRIC,
    claim,
    device,
    devices,
    entry,
    fabric,
    holding,
    node,
    nodes,
    of,
    placed,
    planning,
    pod,
    posed,
    published,
    template,
    user,
    where,
)


def linked(name, spec="f", cpu="3"):
    """A pod with a claim on the fabric; a node has room for one of them."""
    return pod(name, entry("f", template=spec), cpu=cpu)


def zone(value):
    one = {"key": "zone", "operator": "In", "values": [value]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}}


def taken(found):
    return Counter(one for own in devices(found).values() for one in own)


def test_devices_that_nothing_tells_apart_are_one_class():
    found = posed(*nodes("n1", "n2"), fabric(5), linked("a"), linked("b"))
    assert found.shared.limits == (5,)
    assert [len(one) for one in found.shared.classes] == [5]
    (row,) = found.problem.rows
    assert (row.terms.usage, row.upper) == ({0: 1}, 5)
    assert not found.is_narrowed


def test_attributes_that_a_claim_reads_make_classes():
    parts = [device(f"f{number}", rail="r" if number < 2 else "s") for number in range(5)]
    pool = published("fabric", *parts, driver=FABRIC, allNodes=True)
    picky = template("picky", of(1, "fab", f'device.attributes["{FABRIC}"].rail == "r"'))
    given = [*nodes("n1", "n2"), pool, picky]
    assert sorted(posed(*given, linked("a", "picky"), linked("b")).shared.limits) == [2, 3]
    assert posed(*given, linked("a"), linked("b")).shared.limits == (5,)


def test_devices_that_nobody_may_take_are_not_counted():
    parts = [device(f"f{number}", rail="r" if number < 2 else "s") for number in range(5)]
    pool = published("fabric", *parts, driver=FABRIC, allNodes=True)
    picky = template("picky", of(1, "fab", f'device.attributes["{FABRIC}"].rail == "r"'))
    given = [*nodes("n1", "n2"), pool, picky]
    assert posed(*given, linked("a", "picky"), linked("b", "picky")).shared.limits == (2,)
    assert posed(*given, user("c")).shared.limits == ()


def test_no_device_is_given_out_twice():
    given = [*nodes("n1", "n2", "n3", "n4"), fabric(3)]
    found = planning(*given, *(linked(name) for name in "abcd"))
    assert len(placed(found)) == 3
    assert set(taken(found).values()) == {1}
    assert len({node for node in where(found).values() if node}) == 3
    assert found.outcome == "Optimal"


def test_devices_in_use_are_not_there():
    given = [*nodes("n1", "n2"), fabric(2), holding("h", "fabric", "f0", driver=FABRIC)]
    found = planning(*given, linked("a"), linked("b"))
    assert list(taken(found)) == [("fabric", "f1")]
    assert posed(*given, linked("a"), linked("b")).shared.limits == (1,)


def test_nodes_of_two_zones_share_with_their_own():
    pools = [published(f"f{value}", device("x"), driver=FABRIC, **zone(value)) for value in "ab"]
    given = [node(f"n{number}", "aabb"[number]) for number in range(4)]
    found = planning(*given, *pools, *(linked(name) for name in "abcd"))
    assert len(placed(found)) == 2
    assert taken(found) == {("fa", "x"): 1, ("fb", "x"): 1}


def test_a_class_goes_over_nodes_of_different_kinds():
    given = [*nodes("n1", devices=1), *nodes("n2", devices=2), fabric(1)]
    found = planning(*given, linked("a"), linked("b"))
    assert len(placed(found)) == 1


def partitions(count, value):
    """Devices that draw from one counter; a large one takes it all."""
    draws = [("1", f"s{number}") for number in range(count)] + [(value, "large")]
    listed = [
        device(name, size="large" if name == "large" else "small", consumesCounters=[
            {"counterSet": "set", "counters": {"parts": {"value": amount}}}])
        for amount, name in draws
    ]  # fmt: skip
    sets = published("fabric", driver=FABRIC, count=2, slice_name="sets", allNodes=True)
    sets["spec"]["sharedCounters"] = [{"name": "set", "counters": {"parts": {"value": value}}}]
    return [published("fabric", *listed, driver=FABRIC, count=2, allNodes=True), sets]


def test_counters_of_shared_pools_are_kept_over_all_nodes():
    small = template("small", of(1, "fab", f'device.attributes["{FABRIC}"].size == "small"'))
    large = template("large", of(1, "fab", f'device.attributes["{FABRIC}"].size == "large"'))
    given = [*nodes("n1", "n2", "n3"), *partitions(4, "2"), small, large]
    found = planning(*given, *(linked(name, "small") for name in "abc"))
    assert len(placed(found)) == 2
    found = planning(*given, linked("a", "small"), linked("b", "large"))
    assert len(placed(found)) == 1
    assert found.outcome == "Optimal"
    assert not posed(*given, linked("a", "small")).is_narrowed


def test_counters_come_in_whole_steps():
    given = [*nodes("n1", "n2"), *partitions(4, "3"), linked("a"), linked("b")]
    assert posed(*given).shared.limits[-1] == 3


def wide(**policy):
    capacity = {"width": {"value": "10", **({"requestPolicy": policy} if policy else {})}}
    return fabric(1, allowMultipleAllocations=True, capacity=capacity)


def drawing(amount):
    return template(f"w{amount}", of(1, "fab", capacity={"requests": {"width": amount}}))


def test_capacity_that_several_claims_hold_is_kept_over_all_nodes():
    given = [*nodes("n1", "n2", "n3", "n4"), wide(), drawing("4"), drawing("3")]
    found = planning(*given, *(linked(name, "w4") for name in "abc"))
    assert len(placed(found)) == 2
    found = planning(*given, linked("a", "w4"), linked("b", "w3"), linked("c", "w3"), linked("d", "w3"))
    assert len(placed(found)) == 3
    assert found.outcome == "Optimal"


def test_capacity_that_is_held_is_not_there():
    share = {
        "request": "r",
        "driver": FABRIC,
        "pool": "fabric",
        "device": "f0",
        "shareID": "0f0f0f0f-0000-4000-8000-000000000000",
    }
    held = claim(
        "h",
        of(1, "fab"),
        status={"allocation": {"devices": {"results": [share | {"consumedCapacity": {"width": "5"}}]}}},
    )
    given = [*nodes("n1", "n2"), wide(), drawing("3"), held]
    assert len(placed(planning(*given, linked("a", "w3"), linked("b", "w3")))) == 1


def test_where_counting_is_not_enough_one_node_at_a_time_has_a_pool():
    """Devices that several hold and that draw counters: plans are left out, and bounds know it."""
    pool, sets = partitions(1, "9")
    for one in pool["spec"]["devices"]:
        one |= {"allowMultipleAllocations": True, "capacity": {"width": {"value": "10"}}}
    given = [*nodes("n1", "n2"), pool, sets, drawing("2"), linked("a", "w2"), linked("b", "w2")]
    found = posed(*given)
    assert found.is_narrowed
    assert found.shared.limits == (1,)
    plan = planning(*given)
    assert len(placed(plan)) >= 1
    assert plan.objective[0].bound >= 2


def test_admin_access_takes_no_shared_device():
    """IN-3: nobody holds what admin access looks at."""
    admin = template("admin", of(1, "fab", adminAccess=True))
    given = [*nodes("n1", "n2"), fabric(1), admin, *(pod(name, entry("f", template="admin")) for name in "abc")]
    assert not posed(*given).is_narrowed
    found = planning(*given, user("d", entry("f", template="f")))
    assert (len(placed(found)), found.outcome) == (4, "Optimal")


def test_claims_on_both_devices_of_a_node_and_shared_ones():
    given = [*nodes("n1", "n2", devices=1), fabric(1)]
    both = [user(name, entry("f", template="f")) for name in "ab"]
    found = planning(*given, *both)
    assert len(placed(found)) == 1
    assert sum(taken(found).values()) == 2
