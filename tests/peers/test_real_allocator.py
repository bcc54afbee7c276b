"""The real allocator answers as the protocol says. Skipped where it is not built."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from drasat.models.formats.errors import PeerError
from drasat.models.kubernetes.claims import DeviceClass, DeviceTaintRule, ResourceClaim
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.peers.programs import KUBE_SCHEDULER, require_program
from drasat.peers.requests import (
    AllocateRequest,
    Features,
    PodRequest,
    ScheduleRequest,
    encode_request,
    features_of_gates,
)

ALL = features_of_gates(FeatureGates.all_on())
NODES = tuple(msgspec.convert({"metadata": {"name": name}}, Node) for name in ("n1", "n2"))
CLASSES = (msgspec.convert({"metadata": {"name": "c"}}, DeviceClass),)


def devices(count, node="n1", **fields):
    """A slice of ``count`` equal devices."""
    made = [{"name": f"d{i}", **fields} for i in range(count)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.io", "pool": pool, "nodeName": node, "devices": made}
    return msgspec.convert({"metadata": {"name": node}, "spec": spec}, ResourceSlice)


def claim(name, count=1, **fields):
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": count, **fields}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, ResourceClaim)


def held(name, *results):
    """A claim in use."""
    full = [{"request": "r", "driver": "d.io", "pool": "n1", **result} for result in results]
    status = {"allocation": {"devices": {"results": full}}}
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "status": status}, ResourceClaim)


def ask(real, count, slices, **fields):
    return real.allocate(
        AllocateRequest(
            **{"node": NODES[0], "classes": CLASSES, "features": ALL, **fields},
            slices=slices,
            claims=(claim("a", count),),
        )
    )


def chosen(verdict):
    return [result.device for allocation in verdict.allocations for result in allocation.devices.results]


def test_handshake_names_the_pinned_module(real):
    assert real.handshake.module == "k8s.io/dynamic-resource-allocation"
    assert real.handshake.version.startswith("v0.37.")


@pytest.mark.parametrize(
    ("variant", "steps"), [("stable", 65), ("incubating", 16), ("experimental", 16)], ids=lambda value: str(value)
)
def test_five_of_four_devices_takes_the_known_number_of_steps(real, variant, steps):
    """SRCH-2: stable tries permutations, the others combinations."""
    got = ask(real, 5, (devices(4),), features=Features(), variant=variant)
    assert (got.outcome, got.steps, got.variant) == ("unallocatable", steps, variant)


@pytest.mark.parametrize(
    "gates",
    [
        FeatureGates.all_on(),
        FeatureGates.for_version("1.37"),
        FeatureGates.for_version("1.37").with_({"DRADerivedAttributes": True}),
        FeatureGates.for_version("1.36").with_({"AllBeta": False}),
        FeatureGates(frozenset({"DRAFractionalCapacityRange"})),
    ],
    ids=["all", "1.37", "alpha", "no-beta", "fractional"],
)
def test_the_gates_choose_the_variant(real, gates):
    """FEAT-2, FEAT-3"""
    assert ask(real, 1, (devices(1),), features=features_of_gates(gates)).variant == gates.variant


def test_a_variant_that_lacks_a_feature_is_an_error(real):
    got = ask(real, 1, (devices(1),), variant="stable")
    assert (got.outcome, got.fatal) == ("error", True)
    assert "no allocator available" in got.error


def test_a_solution_has_one_allocation_per_claim(real):
    got = ask(real, 2, (devices(3),))
    assert (got.outcome, chosen(got)) == ("allocated", ["d0", "d1"])
    terms = got.allocations[0].node_selector.node_selector_terms
    assert terms[0].match_fields[0].values == ("n1",)


def test_fatal_errors_are_told_from_failures_of_a_node(real):
    """POOL-13, PRE-6"""
    twins = msgspec.structs.replace(devices(1).spec, devices=devices(1).spec.devices * 2)
    node_failure = ask(real, 1, (msgspec.structs.replace(devices(1), spec=twins),))
    fatal = ask(real, 1, (devices(1),), classes=())
    assert (node_failure.outcome, node_failure.fatal) == ("unallocatable", False)
    assert node_failure.error == "invalid resource pools were encountered"
    assert (fatal.outcome, fatal.fatal) == ("error", True)
    assert "could not retrieve device class c" in fatal.error


def test_devices_in_use_are_taken_except_by_administrators(real):
    """IN-3"""
    in_use = (held("x", {"device": "d0"}), held("y", {"device": "d1", "adminAccess": True}))
    assert chosen(ask(real, 1, (devices(3),), allocated=in_use)) == ["d1"]


@pytest.mark.parametrize(("shared", "devices_left"), [(True, ["d0"]), (False, ["d1"])], ids=["on", "off"])
def test_shares_in_use_count_by_their_capacity(real, shared, devices_left):
    """IN-3: with ConsumableCapacity off, whatever is held is held as a whole."""
    offered = devices(2, allowMultipleAllocations=True, capacity={"m": {"value": "4"}})
    share = {"device": "d0", "shareID": "7b0d0e4b-8f8c-4f0c-a8a0-6b8a1d5f3c11", "consumedCapacity": {"m": "3"}}
    asked = claim("a", capacity={"requests": {"m": "1"}}) if shared else claim("a")
    request = AllocateRequest(
        node=NODES[0],
        classes=CLASSES,
        slices=(offered,),
        claims=(asked,),
        allocated=(held("x", share),),
        features=msgspec.structs.replace(ALL, consumable_capacity=shared),
    )
    assert chosen(real.allocate(request)) == devices_left


@pytest.mark.parametrize(
    ("selector", "left"),
    [(None, ["d0"]), ({}, []), ({"driver": "other.io"}, ["d0"]), ({"pool": "n1", "device": "d0"}, ["d1"])],
    ids=["TNT-6 no-selector", "TNT-6 empty", "other-driver", "TNT-5 one-device"],
)
def test_taint_rules_are_merged_as_the_scheduler_sees_them(real, selector, left):
    """TNT-5, TNT-6: seen on the module's own slice tracker, v0.37.2."""
    spec = {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}}
    rule = msgspec.convert({"metadata": {"name": "t"}, "spec": spec}, DeviceTaintRule)
    got = ask(real, 1, (devices(2),), taint_rules=(rule,))
    assert (chosen(got) if got.allocations else []) == left
    off = msgspec.structs.replace(ALL, device_taint_rules=False)
    assert chosen(ask(real, 1, (devices(2),), taint_rules=(rule,), features=off)) == ["d0"]


def test_the_time_limit_is_an_outcome_of_its_own(real):
    got = ask(real, 32, (devices(31),), time_limit_seconds=0.05)
    assert (got.outcome, got.fatal) == ("timeout", False)
    assert got.steps > 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [({"variant": "nonsense"}, "unknown variant"), ({"features": {"Teleport": True}}, "unknown field")],
    ids=["variant", "feature"],
)
def test_what_the_peer_does_not_know_is_refused(real, change, message):
    request = msgspec.structs.replace(AllocateRequest(node=NODES[0]), **change)
    with pytest.raises(PeerError, match=f"^peer kube-scheduler failed: .*{message}"):
        real.allocate(request)


def pods(*claims, **fields):
    return tuple(
        PodRequest(namespace="default", name=f"p{i}", claims=names, **fields) for i, names in enumerate(claims)
    )


def plan(real, asked_pods, claims, **fields):
    slices = (devices(2, "n1"), devices(1, "n2"))
    request = {
        "nodes": NODES,
        "classes": CLASSES,
        "features": ALL,
        "slices": slices,
        "claims": claims,
        "pods": asked_pods,
    }
    return real.schedule(ScheduleRequest(**{**request, **fields})).pods


def test_pods_are_placed_one_after_the_other_on_the_first_node_that_fits(real):
    got = plan(real, pods(*([name] for name in "abcd")), tuple(claim(name) for name in "abcd"))
    assert [(pod.name, pod.node, pod.nodes_tried) for pod in got] == [
        ("p0", "n1", 1),
        ("p1", "n1", 1),
        ("p2", "n2", 2),
        ("p3", "", 2),
    ]
    assert [pod.outcome for pod in got] == ["allocated"] * 3 + ["unallocatable"]
    assert [chosen(pod) for pod in got[:3]] == [["d0"], ["d1"], ["d0"]]


def test_a_claim_shared_by_pods_ties_the_second_to_its_node(real):
    """SCHED-2"""
    first, second = plan(real, pods(["a"], ["a", "b"]), (claim("a"), claim("b")), nodes=NODES[::-1])
    assert (first.node, first.claims) == ("n2", ("a",))
    assert (second.outcome, second.nodes_tried, second.claims) == ("unallocatable", 1, ("b",))


def test_an_allocated_claim_restricts_the_nodes_and_is_not_allocated_again(real):
    """SCHED-2"""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    allocation = {"devices": {}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    old = msgspec.structs.replace(
        held("old"), status=msgspec.convert({"allocation": allocation}, type(held("x").status))
    )
    (got,) = plan(real, pods(["old", "a"]), (claim("a"),), allocated=(old,))
    assert (got.node, got.claims, len(got.allocations)) == ("n2", ("a",), 1)


def test_pods_may_be_kept_to_some_nodes_in_the_order_of_the_request(real):
    got = plan(real, pods(["a"], ["b"], nodes=("n2",)), (claim("a"), claim("b")))
    assert [(pod.node, pod.nodes_tried) for pod in got] == [("n2", 1), ("", 1)]


def test_one_pods_error_does_not_stop_the_others(real):
    """SCHED-6: the attempt of that pod alone fails."""
    broken = claim("a", deviceClassName="missing")
    got = plan(real, pods(["a"], ["nowhere"], ["b"]), (broken, claim("b")))
    assert [(pod.outcome, pod.fatal) for pod in got] == [("error", True), ("error", True), ("allocated", False)]
    assert "claim default/nowhere does not exist" in got[1].error


def test_pods_without_claims_take_the_first_node(real):
    (got,) = plan(real, pods([]), ())
    assert (got.outcome, got.node, got.allocations) == ("allocated", "n1", ())


def test_a_search_ends_when_its_parent_was_killed(real):
    """Nothing else would end it: it does not look at its input meanwhile."""
    asked = AllocateRequest(
        node=NODES[0], classes=CLASSES, features=ALL, slices=(devices(30),), claims=(claim("a", 31),)
    )
    code = (
        "import subprocess, sys, time\n"
        f"program = {str(require_program(KUBE_SCHEDULER))!r}\n"
        "peer = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "peer.stdout.readline()\n"
        "peer.stdin.write(sys.stdin.buffer.read()); peer.stdin.flush()\n"
        "print(peer.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    parent.stdin.write(encode_request(asked, 1))
    parent.stdin.close()
    peer = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert _ends_within(30, peer)


def _ends_within(seconds, process):
    for _ in range(seconds * 10):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().split(") ")[1].startswith("Z"):
            return True
        time.sleep(0.1)
    os.kill(process, signal.SIGKILL)
    return False
