"""Lists of units in one question to the real allocator, and what its verdicts become. No Go is needed."""

import pytest
from msgspec.structs import replace
from support.gates import ALL
from support.objects import allocated, claim, device, device_class, pod, pool, want
from support.peers import allocation, result

from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import PeerError
from drasat.models.kubernetes.claims import DeviceClass
from drasat.models.kubernetes.core import Container, Node, NodeSpec, NodeStatus, ResourceRequirements, Taint
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.workload.requested import requested_units
from drasat.peers.answers import PodVerdict, ScheduleAnswer
from drasat.solver.allocate.allocate import with_joined_loose_claims
from drasat.solver.compare.engines import UnitList, is_listable

SHARE = "11111111-2222-4333-8444-555555555555"


def there(name, taints=(), **labels):
    spec = NodeSpec(taints=tuple(Taint(key=key, effect="NoSchedule") for key in taints) or None)
    return Node(metadata=ObjectMeta(name=name, labels=labels or None), spec=spec)


class Canned:
    """Answers with verdicts by pod name."""

    def __init__(self, **verdicts):
        self.verdicts = verdicts
        self.request = None

    def schedule(self, request):
        self.request = request
        made = [self._verdict(asked) for asked in request.pods]
        return ScheduleAnswer(id=1, pods=tuple(made), seconds=0.125)

    def _verdict(self, asked):
        given = {"outcome": "unallocatable", "nodes_tried": 1, "claims": (), **self.verdicts.get(asked.name, {})}
        return PodVerdict(namespace=asked.namespace, name=asked.name, fatal=False, seconds=0.0, steps=2, **given)


def ask(objects, limit=None, **verdicts):
    cluster = Cluster.of([device_class(), *objects])
    peer = Canned(**verdicts)
    listed = UnitList(
        cluster, ALL, with_joined_loose_claims(requested_units(cluster), None), list(cluster.nodes.values()), 0
    )
    return listed.schedule(peer, limit), peer.request


SUPPLY = [there("n1"), there("n2"), pool(device("a"))]


def told(outcome):
    return outcome.unit.name, outcome.outcome, outcome.node, [reason.message for reason in outcome.reasons]


def test_pods_and_loose_claims_in_the_order_read():
    found, request = ask([*SUPPLY, pod("x", "y", name="p"), *(claim(want(), name=name) for name in "zxy")])
    assert [(one.namespace, one.name, one.claims, one.nodes) for one in request.pods] == [
        ("ns", "p", ("x", "y"), None),
        ("ns", "z", ("z",), None),
    ]
    assert sorted(one.metadata.name for one in request.claims) == ["x", "y", "z"]
    assert [one.metadata.name for one in request.nodes] == ["n1", "n2"]
    assert [outcome.unit.name for outcome in found.units] == ["p", "z"]
    assert (found.steps, found.seconds) == (4, 0.125)


def test_a_pod_goes_only_where_it_fits():
    objects = [there("n1", taints=("busy",)), there("n2", zone="a"), there("n3"), pool(device("a")), claim(want())]
    found, request = ask([*objects, pod("c", name="p", node_selector={"zone": "a"})], p={"nodes_tried": 1})
    assert request.pods[0].nodes == ("n2",)
    (outcome,) = found.units
    assert told(outcome)[3] == [
        "1 of 3 nodes: cannot allocate all claims",
        "2 of 3 nodes: node(s) didn't match Pod's node affinity/selector: no label zone=a",
    ]


def test_claims_in_use_go_with_what_they_hold():
    """SCHED-2: also those of the pod itself, which restrict its nodes."""
    held = allocated(claim(want(), name="held"), allocation(result("a")))
    _, request = ask([*SUPPLY, held, claim(want(), name="c"), pod("held", "c", name="p")])
    assert request.allocated == [held]
    assert request.pods[0].claims == ("held", "c")
    assert [one.metadata.name for one in request.claims] == ["c"]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ({}, ("c", "Unallocatable", None, ["1 of 2 nodes: cannot allocate all claims"])),
        ({"error": "invalid"}, ("c", "Unallocatable", None, ["1 of 2 nodes: invalid"])),
        ({"nodes_tried": 0}, ("c", "Unallocatable", None, ["the pod's claims are allocated for other nodes"])),
        ({"outcome": "error", "error": "CEL"}, ("c", "Error", None, ["CEL"])),
        ({"outcome": "timeout"}, ("c", "Unknown", None, ["the time limit passed"])),
    ],
    ids=["none", "node-failure", "SCHED-2", "fatal", "timeout"],
)
def test_verdicts_become_outcomes(verdict, expected):
    found, _ = ask([*SUPPLY, claim(want())], c=verdict)
    assert told(found.units[0]) == expected


def test_allocations_are_matched_by_the_claims_names():
    made = (allocation(result("b")), allocation(result("a", share_id=SHARE)))
    verdict = {"outcome": "allocated", "claims": ("y", "x"), "node": "n1", "allocations": made}
    found, _ = ask([*SUPPLY, pod("x", "y", name="p"), claim(want(), name="x"), claim(want(), name="y")], p=verdict)
    (outcome,) = found.units
    devices = {ref.name: given.devices.results[0] for ref, given in outcome.allocations}
    assert (outcome.node, devices["y"].device, devices["x"].device) == ("n1", "b", "a")
    assert devices["x"].share_id not in (None, SHARE)


@pytest.mark.parametrize(
    "verdict",
    [{"claims": ("c",)}, {"claims": ("other",), "allocations": (allocation(),)}],
    ids=["no-allocation", "unknown-claim"],
)
def test_allocations_of_other_claims_are_an_error(verdict):
    with pytest.raises(PeerError, match="answered nonsense: claims of c that were not asked for"):
        ask([*SUPPLY, claim(want())], c={"outcome": "allocated", "node": "n1", **verdict})


def test_other_pods_than_asked_are_an_error():
    class Wrong(Canned):
        def schedule(self, request):
            answer = super().schedule(request)
            return replace(answer, pods=answer.pods[1:])

    cluster = Cluster.of([device_class(), *SUPPLY, claim(want())])
    listed = UnitList(cluster, ALL, requested_units(cluster), list(cluster.nodes.values()), 0)
    with pytest.raises(PeerError, match="answered nonsense: other pods"):
        listed.schedule(Wrong(), None)


def test_what_has_to_wait_is_not_asked_about():
    """SCHED-1, SCHED-3."""
    objects = [*SUPPLY, pod("nowhere", name="lost"), claim(want(cls="missing"), name="odd"), claim(want(), name="c")]
    found, request = ask(objects)
    assert [one.name for one in request.pods] == ["c"]
    outcomes = {one.unit.name: one for one in found.units}
    assert outcomes["odd"].reasons[0].id == "deviceClass"
    assert outcomes["lost"].reasons[0].id == "claim"
    assert [one.outcome for one in found.units] == ["Unallocatable"] * 3


def test_nothing_asked_and_no_nodes():
    assert ask([there("n1")])[0].units == ()
    found, _ = ask([pool(device("a")), claim(want())], c={"nodes_tried": 0})
    assert told(found.units[0])[3] == ["the pod's claims are allocated for other nodes"]


def test_the_time_limit_is_for_the_whole():
    assert ask([*SUPPLY, claim(want())], limit=2.5)[1].time_limit_seconds == 2.5
    assert ask([*SUPPLY, claim(want())])[1].time_limit_seconds == 0


def test_only_classes_that_are_named_go_along():
    other = DeviceClass(metadata=ObjectMeta(name="other"))
    _, request = ask([*SUPPLY, other, claim(want())])
    assert [one.metadata.name for one in request.classes] == ["any"]


def test_loose_claims_of_several_namespaces_on_one_node_cannot_be_listed():
    claims = [claim(want(), name="a"), replace(claim(want()), metadata=ObjectMeta(name="b", namespace="other"))]
    cluster = Cluster.of([device_class(), *SUPPLY, *claims])
    assert is_listable(requested_units(cluster))
    assert not is_listable(with_joined_loose_claims(requested_units(cluster), "n1"))


class FirstNode(Canned):
    """Puts each pod on the first of its nodes, with a device of its own."""

    def __init__(self):
        super().__init__()
        self.requests = []

    def schedule(self, request):
        self.requests.append(request)
        return super().schedule(request)

    def _verdict(self, asked):
        number = sum(len(request.pods) for request in self.requests[:-1]) + list(self.requests[-1].pods).index(asked)
        where = "n1" if asked.nodes is None else next(iter(asked.nodes), None)
        if where is None:
            self.verdicts = {asked.name: {"nodes_tried": 0}}
            return super()._verdict(asked)
        made = (allocation(result(f"d{number}")),)
        self.verdicts = {
            asked.name: {"outcome": "allocated", "claims": asked.claims, "node": where, "allocations": made}
        }
        return super()._verdict(asked)


def test_a_question_ends_where_room_depends_on_the_answers():
    """The allocator knows devices only: a pod is listed with the nodes that have room beside the pods before it."""
    rooms = [
        replace(there(name), status=NodeStatus(allocatable={"cpu": cpu})) for name, cpu in (("n1", "4"), ("n2", "2"))
    ]
    half = (Container(resources=ResourceRequirements(requests={"cpu": "2"})),)
    pods = [pod(f"c{number}", name=f"p{number}", containers=half) for number in range(4)]
    claims = [claim(want(), name=f"c{number}") for number in range(4)]
    cluster = Cluster.of([device_class(), *rooms, pool(*(device(f"d{n}") for n in range(4))), *claims, *pods])
    peer = FirstNode()
    found = UnitList(cluster, ALL, requested_units(cluster), list(cluster.nodes.values()), 0).schedule(peer, None)
    assert [unit.node for unit in found.units] == ["n1", "n1", "n2", None]
    assert [[(one.name, one.nodes) for one in request.pods] for request in peer.requests] == [
        [("p0", None)],
        [("p1", None)],
        [("p2", ("n2",))],
        [("p3", ())],
    ]
    assert [len(request.allocated) for request in peer.requests] == [0, 1, 2, 3]
    assert "Insufficient cpu (2 requested, 0 left)" in found.units[-1].reasons[0].message
