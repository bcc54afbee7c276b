"""What devices take of the cpu and memory of their node: added to requests, and checked for the chosen devices."""

import pytest
from support.manifests import cluster, obj, template
from support.plan_building import cel, classes, device, node, of, published

from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.allocate.allocate import allocate
from drasat.solver.capacity.capacity import capacity
from drasat.solver.explain.explain import explain
from drasat.solver.plan.plan import plan
from drasat.solver.verification.verify import Placement, verify

ON = {"cpu": "64", "memory": "128Gi", "pods": "10"}


def mapped(**times):
    """One device takes so much."""
    return {"nodeAllocatableResources": {name: {"mapping": {"deviceMultiplier": text}} for name, text in times.items()}}


def overhead(resource, pod=None, container=None):
    amounts = {"perPod": pod, "perContainer": container}
    given = {name: text for name, text in amounts.items() if text}
    return {"nodeAllocatableResources": {resource: {"overhead": given}}}


def container(name, *claims, **requests):
    used = {"claims": [{"name": one} for one in claims]} if claims else {}
    return {"name": name, "resources": {"requests": requests, **used}}


def user(name, *containers, claims=("c",), init=(), spec=None, templates=("t",)):
    entries = [{"name": one, "resourceClaimTemplateName": made} for one, made in zip(claims, templates, strict=True)]
    more = {"initContainers": list(init)} if init else {}
    return obj("Pod", name, {"containers": list(containers), "resourceClaims": entries, **more, **(spec or {})})


def asked(*given, room=ON, **options):
    """The answer on one node with this room, and the pods' outcomes."""
    there = node("n", **room)
    return allocate(cluster(*classes(), there, *given), **options)


def least(resource, *given, unit="", scale=1):
    """The least room on the node that suffices, in whole units; the total that the pod takes."""
    for amount in range(200):
        room = {**ON, resource: f"{amount}{unit}"}
        if asked(*given, room=room).units[0].outcome == "Allocated":
            return amount
    raise AssertionError("nothing suffices")


TWO = template("two", of(2))
CORES = {
    "allowMultipleAllocations": True,
    "capacity": {"cores": {"value": "8"}},
    "nodeAllocatableResources": {"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"}}},
}
OLD_CORES = {
    **{key: CORES[key] for key in ("allowMultipleAllocations", "capacity")},
    "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "gpu.example.com/cores", "allocationMultiplier": "2"}},
}
SHARE = template("share", of(1, capacity={"requests": {"cores": "2"}}))
PAIR = [device(f"gpu-{number}", **overhead("memory", "1Gi", "512Mi")) for number in range(2)]
A_AND_B = [device("a", kind="a", **mapped(cpu="4")), device("b", kind="b", **mapped(cpu="2"))]
ONE_OF = {name: template(name, of(1, "gpu", f'device.attributes["gpu.example.com"].kind == "{name}"')) for name in "ab"}


@pytest.mark.parametrize(
    ("resource", "unit", "devices", "pod", "total"),
    [
        pytest.param(
            "cpu",
            "",
            [device(name, **mapped(cpu="8")) for name in ("x", "y")],
            user("p", container("m", "c", cpu="2"), templates=["two"]),
            18,
            id="D1",
        ),
        pytest.param(
            "cpu", "", [device("x", **CORES)], user("p", container("m", "c", cpu="1"), templates=["share"]), 5, id="D2"
        ),
        pytest.param(
            "cpu",
            "",
            [device("x", **OLD_CORES)],
            user("p", container("m", "c", cpu="1"), templates=["share"]),
            5,
            id="D2 in 1.36",
        ),
        pytest.param(
            "cpu",
            "",
            [device("x", nodeAllocatableResourceMappings={"cpu": {"allocationMultiplier": "3"}})],
            user("p", container("m", "c", cpu="1")),
            4,
            id="devices in 1.36",
        ),
        pytest.param(
            "memory",
            "Gi",
            PAIR,
            user("p", container("m", "c"), container("k", "c"), init=[container("i", "c")], templates=["two"]),
            5,
            id="D3",
        ),
        pytest.param("memory", "Gi", PAIR, user("p", container("m"), templates=["two"]), 2, id="D4"),
        pytest.param(
            "cpu",
            "",
            A_AND_B,
            user(
                "p",
                container("m", "c", "d", cpu="1"),
                container("k", "c", cpu="2"),
                claims=["c", "d"],
                templates=["a", "b"],
            ),
            9,
            id="D5",
        ),
        pytest.param(
            "cpu",
            "",
            [device("x", **mapped(cpu="4"))],
            user("p", container("m", cpu="2"), container("k", cpu="2"), init=[container("i", cpu="5")]),
            9,
            id="D6",
        ),
        pytest.param(
            "cpu",
            "",
            [device("x", **mapped(cpu="16"))],
            user("p", container("m", cpu="2"), spec={"resources": {"requests": {"cpu": "20"}}}),
            20,
            id="D7",
        ),
        pytest.param(
            "cpu", "", [device("x", **mapped(cpu="250m"))], user("p", container("m", cpu="500m")), 1, id="fractions"
        ),
    ],
)
def test_the_total_of_a_pod(resource, unit, devices, pod, total):
    """NAR-1, NAR-2, NAR-3, NAR-4, NAR-5, NAR-6: the examples of the rules."""
    given = [published("n", *devices), TWO, SHARE, *ONE_OF.values(), pod]
    assert least(resource, *given, unit=unit) == total
    for amount in (total - 1, total):
        there = node("n", **{**ON, resource: f"{amount}{unit}"})
        found = plan(cluster(*classes(), there, *given))
        assert (found.placed, found.outcome) == (amount == total, "Optimal")


@pytest.mark.parametrize("engine", ["auto", "cp-sat", "backtracking"])
def test_requests_of_the_whole_pod_must_cover_its_devices(engine):
    """NAR-6, example D7."""
    pod = user("p", container("m", cpu="2"), spec={"resources": {"requests": {"cpu": "20"}}})
    (one,) = asked(published("n", device("x", **mapped(cpu="24"))), pod, engine=engine).units
    text = (
        "pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA requests"
    )
    assert (one.outcome, [text in reason.message for reason in one.reasons]) == ("Unallocatable", [True])


def limited(name, *claims, **limits):
    used = {"claims": [{"name": one} for one in claims]} if claims else {}
    return {"name": name, "resources": {"limits": limits, **used}}


FOUR = mapped(cpu="4")
HUGE = {"hugepages-2Mi": "2Mi"}
LIMITS = {
    "device of the container": (FOUR, {"cpu": "6"}, [limited("m", "c", cpu="2")], None),
    "less than container and device": (FOUR, {"cpu": "5"}, [limited("m", "c", cpu="2")], "cpu"),
    "device of another container": (FOUR, {"cpu": "5"}, [limited("m", cpu="2"), container("k", "c")], None),
    "device of no container": (FOUR, {"cpu": "5"}, [limited("m", cpu="2")], None),
    "both containers": (FOUR, {"cpu": "6"}, [limited("m", "c", cpu="2"), limited("k", "c", cpu="2")], None),
    "one reference": (overhead("cpu", "1", "2"), {"cpu": "5"}, [limited("m", "c", cpu="2"), container("k", "c")], None),
    "init container": (FOUR, {"cpu": "5"}, [limited("m", cpu="1"), limited("i", "c", cpu="2")], "cpu"),
    "all huge pages": (mapped(**HUGE), {"hugepages-2Mi": "4Mi"}, [limited("m", **HUGE)], None),
    "too many huge pages": (
        mapped(**HUGE),
        {"hugepages-2Mi": "4Mi"},
        [limited("m", **HUGE), limited("k", **HUGE)],
        "hugepages-2Mi",
    ),
}


@pytest.mark.parametrize("engine", ["auto", "cp-sat", "backtracking"])
@pytest.mark.parametrize(("terms", "limits", "containers", "short"), LIMITS.values(), ids=LIMITS)
def test_limits_of_the_whole_pod_must_cover_containers_and_devices(terms, limits, containers, short, engine):
    """NAR-6"""
    later = [one for one in containers if one["name"] == "i"]
    pod = user(
        "p", *(one for one in containers if one not in later), init=later, spec={"resources": {"limits": limits}}
    )
    given = [published("n", device("x", **terms)), pod]
    answer = asked(*given, engine=engine, room={**ON, "hugepages-2Mi": "1Gi"})
    (one,) = answer.units
    if short is None:
        assert one.outcome == "Allocated"
    else:
        assert one.outcome == "Unallocatable"
        assert f"pod level limit for {short} is insufficient to cover the" in one.reasons[0].message


def test_a_limit_of_the_whole_pod_may_leave_room_for_other_devices():
    """NAR-6, NAR-9: of two devices the one whose cpu the limit covers."""
    devices = [device("a", **mapped(cpu="4")), device("b", **mapped(cpu="3"))]
    pod = user("p", limited("m", "c", cpu="2"), spec={"resources": {"limits": {"cpu": "5"}}})
    for engine, outcome in (("auto", "Allocated"), ("backtracking", "Unallocatable")):
        (one,) = asked(published("n", *devices), pod, engine=engine).units
        assert one.outcome == outcome


BIG_OR_SMALL = [
    device("big", kind="big", **overhead("memory", "64Gi")),
    device("small", kind="small", **overhead("memory", "16Gi")),
]


def of_kinds(*kinds):
    alternatives = [
        {
            "name": kind,
            "deviceClassName": "gpu",
            "selectors": [cel(f'device.attributes["gpu.example.com"].kind == "{kind}"')],
        }
        for kind in kinds
    ]
    return template("t", {"devices": {"requests": [{"name": "r", "firstAvailable": alternatives}]}})


@pytest.mark.parametrize(("engine", "expected"), [("backtracking", None), ("auto", "small"), ("cp-sat", "small")])
@pytest.mark.parametrize("objective", ["", "preference"])
def test_other_devices_may_fit_where_the_first_ones_do_not(engine, expected, objective):
    """NAR-9, NAR-10, example D8: the scheduler loses the node."""
    if engine == "backtracking" and objective:
        return
    there = [node("n", cpu="8", memory="32Gi"), published("n", *BIG_OR_SMALL)]
    made = [one for one in classes() if one["metadata"]["name"] != "t"]
    answer = allocate(
        cluster(*made, of_kinds("big", "small"), *there, user("p", container("m"))), engine=engine, objective=objective
    )
    (one,) = answer.units
    if expected is None:
        assert one.outcome == "Unallocatable"
        assert "Insufficient memory (64Gi requested, 32Gi left)" in one.reasons[0].message
    else:
        assert one.allocations[0][1].devices.results[0].device == expected


def test_units_take_turns_until_nothing_is_left():
    """NAR-7: what devices of earlier pods take is gone."""
    devices = [device(f"x{number}", **mapped(cpu="3")) for number in range(4)]
    answer = asked(
        published("n", *devices), *(user(name, container("m", cpu="1")) for name in "abcd"), room={**ON, "cpu": "9"}
    )
    assert [one.outcome for one in answer.units] == ["Allocated", "Allocated", "Unallocatable", "Unallocatable"]


def test_what_running_pods_recorded_counts():
    """NAR-11: in the words of both releases; without a record nothing is added."""
    new = {
        "mapping": [{"name": "cpu", "quantity": "4"}],
        "overhead": [{"name": "cpu", "perPod": "1", "perContainer": "500m"}],
    }
    for status, fits in (
        ({"containers": ["m", "k"], **new}, 58),
        ({"containers": ["m"], "resources": {"cpu": "4"}}, 60),
        ({}, 64),
    ):
        running = obj("Pod", "r", {"containers": [{"name": "m"}], "nodeName": "n"})
        if status:
            running["status"] = {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "x", **status}]}
        for cpu in (fits, fits + 1):
            (one,) = asked(published("n", "x"), running, user("p", container("m", "c", cpu=str(cpu)))).units
            assert (one.outcome == "Allocated") == (cpu == fits)


@pytest.mark.parametrize("terms", [mapped(cpu="1"), overhead("cpu", "1")], ids=["mapped", "overhead"])
def test_a_claim_with_a_mapped_device_serves_one_pod(terms):
    """NAR-8, PGC-11: with overhead only it may be shared, and each pod pays in full."""
    shared = obj("ResourceClaim", "s", of(1))
    entry = [{"name": "c", "resourceClaimName": "s"}]
    pods = [obj("Pod", name, {"containers": [container("m", cpu="1")], "resourceClaims": entry}) for name in "ab"]
    answer = asked(published("n", device("x", **terms)), shared, *pods, room={**ON, "cpu": "4"})
    second = answer.units[1]
    if "mapping" in str(terms):
        text = "node allocatable resource claim s has a mapped device and cannot be shared across pods"
        assert [reason.message for reason in second.reasons] == [text]
    else:
        assert second.outcome == "Allocated"
        less = asked(published("n", device("x", **terms)), shared, *pods, room={**ON, "cpu": "3"})
        assert less.units[1].outcome == "Unallocatable"


def test_a_device_that_is_not_shared_has_nothing_to_map():
    """NAR-2: a result without consumedCapacity under a capacityKey fails the attempt; a key that lacks adds nothing."""
    dedicated = {key: CORES[key] for key in ("capacity", "nodeAllocatableResources")}
    (one,) = asked(published("n", device("x", **dedicated)), user("p", container("m"))).units
    assert (one.outcome, one.reasons[0].id) == ("Error", "nodeResources")
    other = {
        **CORES,
        "nodeAllocatableResources": {"cpu": {"mapping": {"capacityKey": "no", "capacityMultiplier": "99"}}},
    }
    (one,) = asked(published("n", device("x", **other)), SHARE, user("p", container("m"), templates=["share"])).units
    assert one.outcome == "Allocated"


def test_without_the_gate_devices_take_nothing_of_the_node():
    """GATE-1"""
    gates = FeatureGates.all_on().with_({"DRANodeAllocatableResources": False})
    given = published("n", device("x", **mapped(cpu="99"))), user("p", container("m"))
    assert asked(*given).units[0].outcome == "Unallocatable"
    assert asked(*given, feature_gates=gates).units[0].outcome == "Allocated"


def big_or_small(**room):
    made = [one for one in classes() if one["metadata"]["name"] != "t"]
    there = [node("n", cpu="8", **room), published("n", *BIG_OR_SMALL)]
    return cluster(
        *made, of_kinds("big", "small"), *there, user("p", container("m")), obj("Pod", "q", {"containers": []})
    )


def test_explain_names_what_the_node_lacks():
    """NAR-7"""
    (told,) = explain(big_or_small(memory="8Gi")).units
    assert (told.outcome, [reason.id for reason in told.reasons]) == ("Unallocatable", ["room"])
    assert "Insufficient memory" in told.reasons[0].message


def test_capacity_refuses_such_devices_by_name():
    """Which devices are chosen decides how much they take, which is not counted."""
    made = big_or_small(memory="128Gi")
    said = "may get device gpu.example.com/n/big, which takes resources of its node"
    with pytest.raises(ValueError, match=said):
        capacity(made, pod="p")


def test_the_verifier_counts_what_devices_take():
    """NAR-1, NAR-6, NAR-7, NAR-8: with the devices of a larger node the pod is refused on a smaller one."""
    pod = user("p", container("m", "c", cpu="1"))
    given = [published("n", device("x", **mapped(cpu="4"))), pod]
    (one,) = asked(*given).units
    for room, limit, rules in ((5, None, set()), (4, None, {"POD-ROOM"}), (9, "3", {"NAR-6"}), (9, "5", set())):
        asking = {**pod, "spec": {**pod["spec"], **({"resources": {"requests": {"cpu": limit}}} if limit else {})}}
        made = cluster(*classes(), node("n", cpu=str(room), pods="10"), given[0], asking)
        pairs = tuple((ref.claim, allocation) for ref, allocation in one.allocations)
        placement = Placement(made.nodes["n"], pairs, made.pods["default", "p"])
        assert {found.rule for found in verify(made, [placement], FeatureGates.all_on())} == rules


def test_the_verifier_refuses_a_mapped_claim_of_two_pods():
    """NAR-8"""
    shared = obj("ResourceClaim", "s", of(1))
    entry = [{"name": "c", "resourceClaimName": "s"}]
    pods = [obj("Pod", name, {"containers": [container("m", cpu="1")], "resourceClaims": entry}) for name in "ab"]
    made = cluster(*classes(), node("n", **ON), published("n", device("x", **mapped(cpu="1"))), shared, *pods)
    ((_, allocation),) = allocate(made).units[0].allocations
    claim = made.claims["default", "s"]
    placements = [
        Placement(made.nodes["n"], ((claim, allocation),), made.pods["default", "a"]),
        Placement(made.nodes["n"], (), made.pods["default", "b"], (claim,)),
    ]
    assert [found.rule for found in verify(made, placements, FeatureGates.all_on())] == ["NAR-8"]


def test_the_verifier_adds_devices_to_limits_of_the_whole_pod():
    """NAR-6: with the devices of a pod without limits, one with limits is refused."""
    for number, (terms, limits, containers, short) in enumerate(LIMITS.values()):
        pod = user("p", *containers)
        slice_ = published("n", device("x", **terms))
        room = {**ON, "hugepages-2Mi": "1Gi"}
        (one,) = asked(slice_, pod, room=room).units
        limited_pod = {**pod, "spec": {**pod["spec"], "resources": {"limits": limits}}}
        made = cluster(*classes(), node("n", **room), slice_, limited_pod)
        pairs = tuple((ref.claim, allocation) for ref, allocation in one.allocations)
        placement = Placement(made.nodes["n"], pairs, made.pods["default", "p"])
        found = {found.rule for found in verify(made, [placement], FeatureGates.all_on())}
        assert found == ({"NAR-6"} if short else set()), list(LIMITS)[number]
