"""How many more copies fit on nodes that have nothing to do with each other."""

import pytest
from support.capacity import KIND, cluster, exactly
from support.objects import (
    after,
    claim,
    device,
    devices,
    distinct,
    draws,
    either,
    match,
    node,
    option,
    partitions,
    pod,
    pool,
    shared,
    taint,
    template,
    want,
)

from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.extensions import Predicate
from drasat.solver.capacity import capacity as module
from drasat.solver.capacity.capacity import capacity
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.verification.verify import VerificationTimeoutError


def room(*objects, **options):
    """The room for copies of the only open claim, on all nodes."""
    return capacity(cluster(*objects), **options).total


def mig(gpus, nodes=("n1",)):
    """GPUs cut in large (4 of 7 slices) and small (1 of 7) partitions, on each node."""
    for name in nodes:
        members = [
            device(f"gpu{gpu}-{kind}{number}", draws(f"s{gpu}", slices=slices), kind=kind)
            for gpu in range(gpus)
            for kind, slices, count in (("small", 1, 7), ("large", 4, 1))
            for number in range(count)
        ]
        sets = {f"s{gpu}": {"slices": 7} for gpu in range(gpus)}
        yield from (
            pool(*members, name=name, count=2, node_name=name, slice_name=f"{name}-devices"),
            pool(name=name, count=2, sets=sets, node_name=name, slice_name=f"{name}-sets"),
        )


@pytest.mark.parametrize(("count", "copies"), [(1, 8), (3, 2), (8, 1), (9, 0)])
def test_whole_devices(count, copies):
    assert room(pool(*devices(*"abcdefgh")), claim(want(count=count))) == exactly(copies)


def test_what_is_in_use_is_not_there_and_other_open_claims_do_not_count():
    members = pool(*devices(*"abcd"))
    held = after(members, claim(want(count=2), name="held"))
    others = [claim(want(count=4), name="other")]
    found = capacity(cluster(members, *held, *others, claim(want())), claim="ns/c")
    assert found.total == exactly(2)


def test_every_profile_of_eight_partitioned_gpus():
    gpus = list(mig(8))
    assert room(*gpus, claim(want(select=KIND.format("large")))) == exactly(8)
    assert room(*gpus, claim(want(select=KIND.format("small")))) == exactly(56)
    assert room(*gpus, claim(want("l", select=KIND.format("large")), want("s", 3, KIND.format("small")))) == exactly(8)


def test_first_fit_takes_large_partitions_where_small_ones_would_do():
    asked = claim(either("r", option("big", 1, KIND.format("large")), option("small", 1, KIND.format("small"))))
    assert room(*mig(1), asked) == exactly(7, first_fit=4)


def test_claims_of_four_tied_in_groups_of_six_and_eight():
    groups = [device(f"g{size}-{number}", group=size) for size in (6, 8, 9) for number in range(size)]
    assert room(pool(*groups), claim(want(count=4), constraints=[match("d.x/group")])) == exactly(5)


def test_first_fit_takes_what_tied_requests_need():
    # For "any device" the search takes the b that comes first, so that the next copy finds none in its group.
    members = [device("x", kind="b", group=1), device("y", kind="b", group=1), *devices("z", "w", kind="a", group=1)]
    asked = claim(want("any"), want("b", select=KIND.format("b")), constraints=[match("d.x/group")])
    assert room(pool(*members), asked) == exactly(2, first_fit=1)


def test_different_values_for_each_copy():
    members = [device(f"{value}{number}", rail=value) for value, many in (("a", 5), ("b", 2)) for number in range(many)]
    assert room(pool(*members), claim(want(count=2), constraints=[distinct("d.x/rail")])) == exactly(2)


def test_shares_consume_capacity():
    members = [device(name, multi=True, capacity={"mem": shared("40Gi", default="40Gi", min="1Gi")}) for name in "ab"]
    assert room(pool(*members), claim(want(capacity={"mem": "15Gi"}))) == exactly(4)


def test_shares_of_several_sizes_are_bounded_by_what_each_device_can_hold():
    members = [device(name, multi=True, capacity={"mem": shared("9", default="1", min="1")}) for name in "abc"]
    assert room(pool(*members), claim(want(capacity={"mem": "5"}))) == exactly(3)


def test_shares_that_consume_nothing_are_without_end():
    assert room(pool(device("a", multi=True)), claim(want())).unbounded


def test_a_share_beside_a_whole_device_ends():
    members = pool(device("a", multi=True, kind="nic"), *devices("x", "y", "z", kind="gpu"))
    asked = claim(want("nic", select=KIND.format("nic")), want("gpu", select=KIND.format("gpu")))
    assert room(members, asked) == exactly(3)


def test_admin_access_is_without_end_and_minds_nobody():
    members = pool(*devices("a", "b"))
    held = after(members, claim(want(count=2), name="held"))
    asked = claim(want(count="All", admin=True))
    assert room(members, *held, asked).unbounded
    assert not room(members, *held, claim(want(count=3, admin=True))).unbounded


def test_copies_with_admin_access_to_what_others_hold_count_one_by_one():
    # Together in one question the admin access of the first would be in the way of the second (DEV-1).
    members = pool(*devices("a", "b", "c", kind="gpu"), device("d", kind="watched"))
    asked = claim(want("watch", select=KIND.format("watched"), admin=True), want("own", select=KIND.format("gpu")))
    assert room(members, asked) == exactly(3)


def test_all_devices_fit_once():
    assert room(pool(*devices("a", "b")), claim(want(count="All"))) == exactly(1)
    assert room(pool(device("a", multi=True)), claim(want(count="All"))).unbounded


def test_a_claim_that_asks_for_nothing_is_without_end():
    found = capacity(cluster(pool(device("a")), claim()))
    assert found.total.unbounded
    assert found.total.proven


def test_counting_ends_at_the_limit():
    found = capacity(cluster(pool(*devices(*"abcdefgh")), claim(want())), limit=3)
    assert (found.total.fits, found.total.proven) == (3, False)
    assert [reason.id for reason in found.nodes[0].reasons] == ["limit"]


def test_the_limit_itself_can_be_the_proven_answer():
    assert room(pool(*devices(*"abc")), claim(want()), limit=3) == exactly(3)


def test_equal_nodes_have_one_answer_and_add_up():
    names = ("n1", "n2", "n3")
    slices = [pool(*devices("a", "b"), name=name, node_name=name, slice_name=name) for name in names]
    found = capacity(cluster(*slices, *map(node, (*names, "n4")), claim(want())))
    assert [(one.nodes, one.room.fits) for one in found.nodes] == [(names, 2), (("n4",), 0)]
    assert found.total == exactly(6)
    assert found.shared == ()


def test_only_the_node_that_is_asked_for():
    slices = [pool(*devices("a", "b"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    found = capacity(cluster(*slices, node("n1"), node("n2"), claim(want())), node="n2")
    assert [one.nodes for one in found.nodes] == [("n2",)]
    assert found.total == exactly(2)


def test_what_stops_the_next_copy():
    found = capacity(cluster(pool(*devices("a", "b"), device("c", taints=(taint("sick"),))), claim(want())))
    (answer,) = found.nodes
    (reason,) = answer.reasons
    assert (reason.id, reason.claim) == ("inUse", "ns/c")
    assert reason.message == "request r needs 1, 0 fit of 3 devices: 2 in use, 1 taint sick:NoSchedule"
    assert answer.proof == "3 requests of 3 claims need 3 devices, 2 can be used"
    assert answer.proof_kind == "witness"


def test_nothing_fits_for_the_lack_of_a_class():
    found = capacity(cluster(pool(device("a")), claim(want(cls="missing"))))
    assert found.total == exactly(0)
    assert [reason.id for reason in found.nodes[0].reasons] == ["deviceClass"]


def test_errors_are_told_and_nothing_fits():
    many = claim(want("q", 20), want("r", 20))
    found = capacity(cluster(pool(device("a")), many))
    assert found.total == exactly(0)
    assert [reason.id for reason in found.nodes[0].reasons] == ["devicesPerClaim"]
    found = capacity(cluster(pool(device("a")), claim(want(select="device.attributes['d.x'].no == 1"))))
    assert "no such key" in found.nodes[0].reasons[0].message


def test_without_time_nothing_is_known():
    found = capacity(cluster(pool(*devices(*"abc")), claim(want())), time_limit=0.0)
    assert not found.total.proven
    assert found.total.bound is None or found.total.bound > found.total.fits


def test_an_interrupt_leaves_what_is_known():
    def interrupted_on_the_second(devices):
        if len(devices) > 1 and devices[0].attributes["d.x/place"]:
            raise KeyboardInterrupt
        return True

    slices = [
        pool(*devices(*"abc"[: 2 + place], place=place), name=name, node_name=name, slice_name=name)
        for place, name in enumerate(("n1", "n2"))
    ]
    entry = Predicate(interrupted_on_the_second)
    with pytest.raises(SearchInterrupted) as raised:
        capacity(cluster(*slices, node("n1"), node("n2"), claim(want(count=2))), constraints=[entry])
    answer = raised.value.answer
    assert answer.verified
    assert (answer.total.fits, answer.total.bound) == (1, None)
    assert {one.nodes: [reason.id for reason in one.reasons] for one in answer.nodes} == {
        ("n1",): ["inUse"],
        ("n2",): ["interrupted"],
    }


def test_every_copy_that_fits_is_verified(monkeypatch):
    checked = []
    monkeypatch.setattr(
        module, "check_allocations", lambda _cluster, outcomes, *_, **_options: checked.append(len(outcomes))
    )
    capacity(cluster(pool(*devices(*"abcde")), claim(want(count=2))))
    assert checked == [2]


def test_kinds_of_nodes_that_are_not_verified_in_time_have_no_copies_that_fit(monkeypatch):
    """SCHED-7: of each kind one node is looked at before others; n3 is of the kind of n1."""

    def check(_cluster, outcomes, *_rest, **_options):
        assert [one.node for one in outcomes] == ["n1", "n1", "n2", "n2", "n2", "n3", "n3"]
        raise VerificationTimeoutError(4)

    monkeypatch.setattr(module, "check_allocations", check)
    sizes = {"n1": "ab", "n2": "abc", "n3": "ab"}
    slices = [pool(*devices(*names), name=name, node_name=name) for name, names in sizes.items()]
    found = capacity(cluster(*slices, *map(node, sizes), claim(want())))
    assert (found.total.fits, found.total.bound, found.total.first_fit) == (4, 7, None)
    rooms = {one.nodes: (one.room.fits, one.room.bound, [reason.id for reason in one.reasons]) for one in found.nodes}
    assert rooms == {("n1", "n3"): (2, 2, ["inUse"]), ("n2",): (0, 3, ["timeLimit"])}


OF_TEMPLATE = "@t"


def test_copies_of_a_pod_take_all_their_claims_on_one_node():
    two = pod(OF_TEMPLATE, OF_TEMPLATE)
    slices = [pool(*devices(*"abc"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    assert room(*slices, node("n1"), node("n2"), template(want()), two) == exactly(2)
    assert room(*slices, node("n1"), node("n2"), template(want()), two, template="ns/t") == exactly(6)


def test_copies_of_a_pod_share_its_named_claim_and_follow_it():
    slices = [pool(*devices(*"abc"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    (named,) = after(slices[0], claim(want(), name="named"))
    asked = pod("named", OF_TEMPLATE)
    found = capacity(cluster(*slices, node("n1"), node("n2"), named, template(want()), asked))
    assert found.total == exactly(2)
    assert [(one.nodes, one.room.fits) for one in found.nodes] == [(("n1",), 2), (("n2",), 0)]
    assert [reason.id for reason in found.nodes[1].reasons] == ["allocatedClaim"]


def test_a_pod_that_only_shares_an_allocated_claim_has_room_without_end():
    members = pool(*devices("a"))
    (named,) = after(members, claim(want(), name="named"))
    assert room(members, named, pod("named")).unbounded


def test_where_a_pod_runs_does_not_matter_to_its_copies():
    slices = [pool(*devices("a"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    asked = pod(OF_TEMPLATE, node_name="n1")
    assert room(*slices, node("n1"), node("n2"), template(want()), asked) == exactly(2)


def test_nodes_that_do_not_suit_the_pod():
    slices = [pool(*devices("a"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    asked = pod(OF_TEMPLATE, node_selector={"zone": "x"})
    found = capacity(cluster(*slices, node("n1", zone="x"), node("n2"), template(want()), asked))
    assert found.total == exactly(1)
    assert found.nodes[1].reasons[0].message.startswith("1 of 2 nodes: ")


def test_reasons_name_a_pods_claims_as_if_it_were_the_original():
    found = capacity(cluster(pool(*devices("a")), template(want()), pod(OF_TEMPLATE)))
    assert found.claims == ("ns/p-e0",)
    assert found.nodes[0].reasons[0].claim == "ns/p-e0"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"claim": "nothing"}, "ResourceClaim default/nothing not found"),
        ({"template": "ns/nothing"}, "ResourceClaimTemplate ns/nothing not found"),
        ({"pod": "ns/nothing"}, "Pod ns/nothing not found"),
        ({"claim": "ns/c", "pod": "ns/p"}, "give only one"),
        ({}, "say which: Pod ns/p, ResourceClaim ns/c"),
        ({"pod": "ns/p"}, "ResourceClaim ns/open, which all copies share, has no allocation yet"),
        ({"claim": "ns/c", "limit": 0}, "above zero"),
        ({"claim": "ns/c", "feature_gates": {"Nonsense": True}}, "Nonsense"),
    ],
)
def test_bad_usage_is_one_line(options, problem):
    asked = [claim(want()), claim(want(), name="open"), pod("open")]
    with pytest.raises(ValueError, match=problem) as raised:
        capacity(cluster(pool(device("a")), *asked), **options)
    assert "\n" not in str(raised.value)


def test_nothing_to_copy():
    with pytest.raises(ValueError, match="nothing in the input asks"):
        capacity(cluster(pool(device("a"))))


def test_a_pod_whose_template_is_missing_fits_nowhere():
    found = capacity(cluster(pool(device("a")), pod(OF_TEMPLATE)))
    assert found.total == exactly(0)
    assert "not found" in found.nodes[0].reasons[0].message


def test_names_of_copies_are_new():
    members = pool(*devices("a", "b", "c"))
    held = after(members, claim(want(), name="c-copy-0"))
    assert room(members, *held, claim(want())) == exactly(2)
    assert all(isinstance(one, ResourceClaim) for one in held)


def test_counter_sets_of_several_pools_do_not_mix():
    sliced = partitions(*(device(f"p{number}", draws("s", slices=2)) for number in range(4)), sets={"s": {"slices": 5}})
    assert room(*sliced, pool(*devices("w"), name="whole"), claim(want())) == exactly(3)
