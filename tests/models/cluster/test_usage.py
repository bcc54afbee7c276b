"""The allocated state and who holds what."""

import pickle

import pytest
from support.gates import ALL
from support.model_objects import allocation, claim, result

from drasat.models.cluster.usage import Hold, Usage

DEDICATED_ONLY = ALL.with_({"DRAConsumableCapacity": False})
NANO = 10**9


def id_of(device, driver="gpu.example.com", pool="p"):
    return driver, pool, device


def share(device, share_id, **consumed):
    return result(device, share_id=share_id, consumed_capacity=consumed or None)


def test_nothing_is_in_use_without_allocations():
    usage = Usage.of([claim("a")], ALL)
    assert (usage.dedicated, usage.shares, usage.consumed) == (frozenset(), frozenset(), {})
    assert not usage.in_use(id_of("d"))
    assert usage.holds(id_of("d")) == ()


def test_three_parts_of_the_state():
    """IN-2, IN-3."""
    usage = Usage.of(
        [
            claim("a", result("whole")),
            claim("b", share("shared", "s1", memory="1Gi"), share("unmetered", "s2")),
            claim("c", share("shared", "s3", memory="512Mi", cores="500m")),
        ],
        ALL,
    )
    assert usage.dedicated == {id_of("whole")}
    assert usage.shares == {(id_of("shared"), "s1"), (id_of("unmetered"), "s2"), (id_of("shared"), "s3")}
    assert usage.consumed == {id_of("shared"): {"memory": 3 * 2**29 * NANO, "cores": NANO // 2}}


def test_admin_access_uses_nothing():
    """IN-3."""
    usage = Usage.of([claim("a", result("d", admin_access=True), result("e", admin_access=False))], ALL)
    assert usage.dedicated == {id_of("e")}


def test_shares_are_whole_devices_with_the_gate_off():
    """IN-3."""
    usage = Usage.of([claim("a", share("d", "s", memory="1"))], DEDICATED_ONLY)
    assert usage.dedicated == {id_of("d")}
    assert (usage.shares, usage.consumed) == (frozenset(), {})


@pytest.mark.parametrize(
    ("allocated", "in_use"),
    [(result("d"), True), (share("d", "s"), True), (share("d", "s", memory="1"), True), (result("e"), False)],
    ids=["dedicated", "share without capacity", "share with capacity", "another device"],
)
def test_what_counts_for_counters(allocated, in_use):
    """IN-4."""
    assert Usage.of([claim("a", allocated)], ALL).in_use(id_of("d")) is in_use


def test_a_shared_device_is_not_dedicated():
    usage = Usage.of([claim("a", share("d", "s")), claim("b", result("e"))], ALL)
    assert id_of("d") not in usage.dedicated
    assert id_of("e") in usage.dedicated


def test_device_ids_are_triples():
    usage = Usage.of([claim("a", result("d", driver="x", pool="p"))], ALL)
    assert usage.in_use(("x", "p", "d"))
    assert not usage.in_use(("y", "p", "d"))
    assert not usage.in_use(("x", "q", "d"))


def test_who_holds_what():
    usage = Usage.of([claim("a", share("d", "s1"), result("e")), claim("b", share("d", "s2"))], ALL)
    assert usage.holds(id_of("d")) == (Hold(("default", "a"), "s1"), Hold(("default", "b"), "s2"))
    assert usage.held_by(("default", "a")) == (id_of("d"), id_of("e"))
    assert usage.held_by(("other", "a")) == ()


def test_plus_adds_and_leaves_the_original_alone():
    before = Usage.of([claim("a", result("d"))], ALL)
    after = before.plus([(("default", "b"), allocation(share("e", "s", memory="2")))])
    assert after.dedicated == {id_of("d")}
    assert after.consumed_on(id_of("e")) == {"memory": 2 * NANO}
    assert not before.in_use(id_of("e"))


def test_plus_replaces_what_the_claim_held():
    usage = Usage.of([claim("a", result("d"))], ALL).plus([(("default", "a"), allocation(result("e")))])
    assert usage.dedicated == {id_of("e")}
    assert usage.held_by(("default", "a")) == (id_of("e"),)


def test_one_claim_may_hold_two_shares_of_a_device():
    usage = Usage.of([claim("a", share("d", "s1", memory="1"), share("d", "s2", memory="2"))], ALL)
    assert usage.consumed_on(id_of("d")) == {"memory": 3 * NANO}


def test_unpinning_gives_back_shares_and_devices():
    usage = Usage.of(
        [claim("a", share("d", "s1", memory="1"), result("e")), claim("b", share("d", "s2", memory="2"))], ALL
    )
    freed = usage.without([("default", "a"), ("default", "unknown")])
    assert freed.consumed_on(id_of("d")) == {"memory": 2 * NANO}
    assert not freed.in_use(id_of("e"))
    assert freed.held_by(("default", "a")) == ()
    assert id_of("e") in usage.dedicated


def test_unpinning_nothing_is_the_same_usage():
    usage = Usage.of([claim("a", result("d"))], ALL)
    assert usage.without([("default", "b")]) is usage


def test_with_claims_follows_their_status():
    usage = Usage.of([claim("a", result("d")), claim("b", result("e"))], ALL)
    changed = usage.with_claims([claim("a"), claim("b", result("f"))])
    assert changed.dedicated == {id_of("f")}


def test_claims_of_two_namespaces_are_two():
    usage = Usage.of([claim("a", result("d"), namespace=name) for name in ("x", "y")], ALL)
    assert [hold.claim for hold in usage.holds(id_of("d"))] == [("x", "a"), ("y", "a")]
    assert id_of("d") in usage.without([("x", "a")]).dedicated


def test_a_long_chain_of_derivations():
    usage = Usage.empty(ALL)
    for number in range(300):
        usage = usage.plus([(("default", f"c{number}"), allocation(result(f"d{number}")))])
    usage = usage.without(("default", f"c{number}") for number in range(0, 300, 2))
    assert usage.dedicated == {id_of(f"d{number}") for number in range(1, 300, 2)}


def test_a_bad_quantity_is_a_value_error():
    with pytest.raises(ValueError, match="quantit"):
        Usage.of([claim("a", share("d", "s", memory="lots"))], ALL)


def test_usage_is_picklable():
    usage = pickle.loads(pickle.dumps(Usage.of([claim("a", share("d", "s", memory="1"))], ALL)))
    assert usage.consumed_on(id_of("d")) == {"memory": NANO}
