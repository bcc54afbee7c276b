"""Checks before the search (section 6)."""

import pytest
from support.objects import (
    attempt,
    claim,
    device,
    device_class,
    devices,
    either,
    fails,
    fatal,
    match,
    names,
    option,
    pool,
    want,
)

from drasat.models.kubernetes.claims import (
    CapacityRequirements,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from drasat.models.results.common import Status

TWO = pool(*devices("a", "b"))
FORTY = pool(*devices(*(f"v{number:02}" for number in range(40))))
NO_CAPACITY = {"DRAConsumableCapacity": False, "DRAFractionalCapacityRange": False}


def exact(**fields):
    given = {"device_class_name": "any", "allocation_mode": "ExactCount", "count": 1, **fields}
    return DeviceRequest(name="r", exactly=ExactDeviceRequest(**given))


@pytest.mark.parametrize(
    ("request_", "gates", "text"),
    [
        pytest.param(
            either("r", option("s")),
            {"DRAPrioritizedList": False},
            "claim ns/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
            id="PRE-1",
        ),
        pytest.param(
            exact(capacity=CapacityRequirements()),
            NO_CAPACITY,
            "claim ns/c, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            id="PRE-2-empty",
        ),
        pytest.param(
            either("r", option("s"), option("t", capacity={"m": "1"})),
            NO_CAPACITY,
            "claim ns/c, subrequest t: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            id="PRE-2-alternative",
        ),
        pytest.param(
            want(derived={"d.x/y": "1"}),
            {"DRADerivedAttributes": False},
            "claim ns/c, request r: cannot handle request with derived attributes, the feature is disabled",
            id="PRE-3",
        ),
        pytest.param(
            exact(selectors=(DeviceSelector(),)),
            {},
            "claim ns/c, request r, selector #0: CEL expression empty (unsupported selector type?)",
            id="PRE-4",
        ),
        pytest.param(
            want(admin=False),
            {"DRAAdminAccess": False},
            "claim ns/c, request r: admin access is requested, but the feature is disabled",
            id="PRE-5-even-false",
        ),
        pytest.param(
            want(cls=""),
            {},
            "claim ns/c, request r: missing device class name (unsupported request type?)",
            id="PRE-6-empty",
        ),
        pytest.param(
            want(cls="nope"),
            {},
            'claim ns/c, request r: could not retrieve device class nope: deviceclass.resource.k8s.io "nope" not found',
            id="PRE-6-unknown",
        ),
        pytest.param(
            either("r", *(option(f"s{number}") for number in range(7)), option("last", cls="nope")),
            {},
            "claim ns/c, request last: could not retrieve device class nope: "
            'deviceclass.resource.k8s.io "nope" not found',
            id="PRE-6-eighth-alternative",
        ),
        pytest.param(
            want(count=2**63 - 1),
            {},
            "claim ns/c, request r: adding 9223372036854775807 devices exceeds the claim limit of 32, "
            "with 0 already accounted for",
            id="PRE-7",
        ),
        pytest.param(
            exact(allocation_mode="Some"), {}, "claim ns/c, request r: unsupported count mode Some", id="PRE-10"
        ),
        pytest.param(exact(allocation_mode=""), {}, "claim ns/c, request r: unsupported count mode ", id="CLM-1-mode"),
        pytest.param(
            DeviceRequest(name="r"), {}, "claim ns/c, request r: neither exactly nor firstAvailable is set", id="VER-6"
        ),
    ],
)
def test_a_request_that_cannot_be_handled_is_fatal(request_, gates, text):
    assert fatal(TWO, claim(request_), gates=gates) == text


def test_a_count_of_zero_means_no_devices():
    """CLM-1: the allocator defaults nothing."""
    assert names(TWO, claim(want(count=0))) == []


def test_the_stable_variant_does_not_mind_capacity_requests():
    """PRE-2: it has never heard of them."""
    gates = {
        **NO_CAPACITY,
        "DRADeviceCompatibilityGroups": False,
        "DRAListTypeAttributes": False,
        "DRAOptionalNodeOperations": False,
        "DRADerivedAttributes": False,
        "DRADeviceBindingConditions": False,
    }
    assert names(TWO, claim(want(capacity={"m": "1"})), gates=gates) == ["a"]


BROKEN = pool(*devices("z"), driver="z.x", name="broken", count=2)
DOUBLE = pool(device("z"), device("z"), driver="z.x", name="broken")


@pytest.mark.parametrize(
    ("other", "state"),
    [pytest.param(BROKEN, "being updated", id="incomplete"), pytest.param(DOUBLE, "invalid", id="invalid")],
)
def test_all_needs_every_pool_of_the_node(other, state):
    """PRE-8: even a pool of an unrelated driver that the selector would not want."""
    text = fatal(TWO, other, claim(want(count="All", select='device.driver == "d.x"')))
    assert text == f"claim ns/c, request r: asks for all devices, but resource pool z.x/broken is currently {state}"


def test_pools_are_walked_in_order_and_the_first_trouble_counts():
    """PRE-8: the error of an expression in an earlier pool comes before the incomplete later pool."""
    asked = claim(want(count="All", select='device.attributes["d.x"].none == 1'))
    assert "selector #0 on device d.x/p/a: CEL runtime error: no such key: none" in fatal(TWO, BROKEN, asked)
    first = pool(*devices("z"), driver="a.x", name="broken", count=2)
    assert "a.x/broken is currently being updated" in fatal(TWO, first, asked)


def test_an_incomplete_pool_without_relevant_slice_does_not_disturb_all():
    """POOL-14."""
    elsewhere = pool(*devices("z"), driver="z.x", name="broken", count=2, node_name="n2")
    assert names(TWO, elsewhere, claim(want(count="All"))) == ["a", "b"]


@pytest.mark.parametrize(
    ("members", "failing"),
    [
        pytest.param([device("a", capacity={"m": "4"}), device("b", capacity={"m": "1"})], False, id="too-small"),
        pytest.param([device("a", capacity={"m": "4"}), device("b")], False, id="no-such-capacity"),
        pytest.param([device("b")], True, id="nothing-left"),
    ],
)
def test_all_leaves_out_devices_that_never_have_the_capacity(members, failing):
    """PRE-9."""
    asked = claim(want(count="All", capacity={"m": "2"}))
    assert fails(pool(*members), asked) is failing
    if not failing:
        assert names(pool(*members), asked) == ["a"]


def test_all_keeps_an_exhausted_device_on_its_list():
    """PRE-9: only the static capacity counts there, so that the request fails (BUG-5)."""
    member = device("a", multi=True, capacity={"m": "10"})
    assert fails(pool(member), claim(want("q", capacity={"m": "6"}), want("r", "All", capacity={"m": "6"})))


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        pytest.param([want(count=33)], "request r: adding 33 devices {}, with 0", id="exact"),
        pytest.param([want("q", 20), want("r", 13)], "request r: adding 13 devices {}, with 20", id="sum"),
        pytest.param(
            [want("q", 20), either("r", option("s", 14), option("t", 13))],
            "request r: adding 13 devices {}, with 20",
            id="least-alternative",
        ),
        pytest.param([want(count="All")], "request r: adding 40 devices {}, with 0", id="all"),
    ],
)
def test_more_than_32_devices_a_claim_are_fatal(requests, text):
    """PRE-11."""
    wanted = text.format("exceeds the claim limit of 32")
    assert fatal(FORTY, claim(*requests)) == f"claim ns/c, {wanted} already accounted for"


def test_the_least_alternative_counts():
    """PRE-11."""
    asked = claim(want("q", 20), either("r", option("s", 14), option("t", 12)))
    assert len(names(FORTY, asked)) == 32


def test_asking_for_too_much_of_nothing_is_no_error():
    """PRE-11: 32 devices without any slice are "nothing, no error", 500 are fatal (section 16)."""
    assert fails(claim(want(count=32)))
    assert "adding 500 devices" in fatal(claim(want(count=500)))


def test_an_empty_constraint_is_fatal():
    """PRE-12."""
    text = "claim ns/c, constraint #1: empty constraint (unsupported constraint type?)"
    asked = claim(want(), constraints=[match("d.x/k"), DeviceConstraint()])
    assert fatal(TWO, asked) == text


def test_requests_are_checked_before_constraints_and_claims_in_order():
    """PRE-12: the first problem is reported."""
    empty = DeviceConstraint()
    assert "request r: adding 33" in fatal(FORTY, claim(want(count=33), constraints=[empty]))
    two = (claim(want(), name="c1", constraints=[empty]), claim(want(cls="nope"), name="c2"))
    assert fatal(TWO, *two).startswith("claim ns/c1, constraint #0")


def test_a_claim_without_requests_is_fine():
    """PRE-13."""
    answer = attempt(TWO, claim())
    assert answer.status is Status.ALLOCATED
    assert answer.results == []


def test_both_attributes_in_one_constraint_mean_a_match():
    """CLM-2."""
    members = [device("a", k=1, m=1), device("b", k=2, m=1), device("c", k=1, m=1)]
    both = DeviceConstraint(match_attribute="d.x/k", distinct_attribute="d.x/m")
    assert names(pool(*members), claim(want(count=2), constraints=[both])) == ["a", "c"]


def test_errors_of_a_list_come_alternative_by_alternative():
    """PRE-6, CEL-7: the devices of an earlier All are looked at before the class of a later alternative."""
    asked = claim(either("r", option("s", "All", 'device.attributes["d.x"].none'), option("t", cls="nope")))
    assert "no such key: none" in fatal(TWO, asked)


def test_the_same_question_is_fatal_each_time():
    """PRE-6: errors are remembered like answers."""
    from drasat.models.cluster.cluster import Cluster
    from drasat.models.kubernetes.gates import FeatureGates
    from drasat.problem.node_state import AllocatedState
    from drasat.solver.engines.engine import Session
    from drasat.solver.engines.registry import backtracking_engine

    gates = FeatureGates.all_on()
    cluster = Cluster.of([TWO, device_class()])
    engine = backtracking_engine(Session(cluster, gates, "kube", 0))
    allocated_state = AllocatedState(cluster.usage(gates))
    messages = [
        engine.allocate_on(cluster.node("n1"), [claim(want(cls="nope"), name=name)], allocated_state, None).message
        for name in ("c1", "c2")
    ]
    assert [message.partition(",")[0] for message in messages] == ["claim ns/c1", "claim ns/c2"]
