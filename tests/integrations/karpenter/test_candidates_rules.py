"""Nodes of pools by single rules of karpenter-dra: labels, taints, room, bindings, limits, reservations, manifests."""

from __future__ import annotations

import json
from time import monotonic

import pytest
from support.pools import (
    KIND,
    ZONE,
    asking,
    buying,
    claim,
    cost,
    devices,
    machine,
    node_pool,
    nodes_bought,
    offering,
    requesting,
    requirement,
    waiting,
)

import drasat
from drasat.integrations.karpenter.candidates import NodeMarket, node_market
from drasat.integrations.karpenter.instance_types import read_kwok_types
from drasat.integrations.karpenter.overlays import evaluate
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.node_templates import NODE_TEMPLATE_ANNOTATION
from drasat.models.kubernetes.slices import UnknownValue
from drasat.problem.messages import DeadlineExceededError
from drasat.scenarios.machines import machines
from drasat.solver.plan.build.nodes import with_bought_nodes
from drasat.solver.verification.nodes import purchase_findings

PCIE = "resource.k8s.io/pcieRoot"
TYPE = "node.kubernetes.io/instance-type"
PAIR = (requesting("gpu", name="g"), requesting("nic", name="n"))
ALIGNED = [{"requests": ["g", "n"], "matchAttribute": PCIE}]


def market_of(cluster: drasat.Cluster) -> NodeMarket:
    return node_market(cluster, evaluate(cluster, FeatureGates.all_on()))


def binding(*names: str, attribute: str = PCIE) -> dict[str, object]:
    drivers = {"g": "gpu.example.com", "n": "nic.example.com"}
    return {"devices": [{"driver": drivers[name[0]], "device": name} for name in names], "attribute": attribute}


def paired(gpu: dict[str, object], nic: dict[str, object], *bindings: dict[str, object]) -> dict[str, object]:
    slices = [devices("g0", **gpu), devices("n0", driver="nic", **nic)]
    return machine("pair", offering("1.0"), slices=slices, attributeBindings=list(bindings))


ROOT = {"attributes": {PCIE: {"string": "pci0"}}}


@pytest.mark.parametrize(
    ("kind", "placed"),
    [
        (paired({}, {}, binding("g0", "n0")), 1),
        (paired({}, {}), 0),
        (paired(ROOT, ROOT), 1),
        (paired(ROOT, {}, binding("g0", "n0")), 0),
        (paired({}, {}, binding("g0", "n0", attribute="x.example.com/other")), 0),
        (paired({}, {}, binding("g0"), binding("n0")), 0),
    ],
    ids=["bound", "unbound", "published", "mixed", "another attribute", "groups of one"],
)
def test_matches_of_unknown_values(kind, placed):
    """R10: a group of bound devices, or one published value, and no mixture."""
    assert buying(node_pool(), kind, asking(1, *PAIR, constraints=ALIGNED)).placed == placed


def test_bindings_are_transitive():
    """3.6."""
    slices = [devices("g0", "g1"), devices("n0", driver="nic")]
    bound = [binding("g0", "g1"), binding("g1", "n0")]
    kind = machine("three", offering("1.0"), slices=slices, attributeBindings=bound)
    both = (requesting("gpu", count=2, name="g"), requesting("nic", name="n"))
    assert buying(node_pool(), kind, asking(1, *both, constraints=ALIGNED)).placed == 1


@pytest.mark.parametrize(("pools", "expected"), [(("bound", "bare"), ["bound"]), (("bare",), [])])
def test_bindings_are_scoped_by_pool(pools, expected):
    """3.6: an overlay of one pool binds devices of a type there alone."""
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "binding"},
        "spec": {
            "requirements": [requirement("karpenter.sh/nodepool", "bound")],
            "dynamicResources": {"resourceSliceTemplates": [devices("g0")], "attributeBindings": [binding("g0", "n0")]},
        },
    }
    result = buying(*map(node_pool, pools), paired({}, {}), overlay, asking(1, *PAIR, constraints=ALIGNED))
    assert [one.pool for one in result.document.bought] == expected


def test_unknown_values_are_not_known_to_differ():
    """R11: two groups may turn out to have one value."""
    slices = [devices("g0", "g1"), devices("n0", "n1", driver="nic")]
    bound = [binding("g0", "n0"), binding("g1", "n1")]
    kind = machine("two", offering("1.0"), slices=slices, attributeBindings=bound)
    distinct = [{"requests": ["g"], "distinctAttribute": PCIE}]
    pods = asking(1, requesting("gpu", count=2, name="g"), constraints=distinct)
    assert buying(node_pool(), kind, pods).placed == 0


@pytest.mark.parametrize(("expression", "placed"), [("%s", 0), ("!has(%s) || true", 1)])
def test_selectors_do_not_see_unknown_values(expression, placed):
    """R10: what reads one fails as for an attribute that is not there."""
    read = 'device.attributes["resource.k8s.io"].pcieRoot'
    text = expression % read if "has" in expression else f"{read} == 'x'"
    selector = [{"cel": {"expression": text.replace("|| true", "|| false")}}]
    pods = asking(1, requesting("gpu", selectors=selector))
    assert buying(node_pool(), paired({}, {}, binding("g0", "n0")), pods).placed == placed


def test_every_node_has_unknown_values_of_its_own():
    """2.3: two nodes of one type have different ones."""
    loaded = drasat.load([node_pool(), paired({}, {}, binding("g0", "n0"))])
    market = market_of(loaded)
    cluster, _ = with_bought_nodes(market.cluster, dict.fromkeys(market.candidates, 2))
    tokens = [
        value.token
        for one in cluster.slices
        for device in one.spec.devices or ()
        for value in (device.attributes or {}).values()
        if isinstance(value, UnknownValue)
    ]
    assert sorted(tokens.count(token) for token in set(tokens)) == [2, 2]


def test_pods_tolerate_taints_of_pools_and_startup_taints_do_not_count():
    """R5."""
    kind, taint = machine("plain", offering("1.0")), [{"key": "k", "effect": "NoSchedule"}]
    tainted = node_pool(taints={"taints": taint})
    assert buying(tainted, kind, waiting("p")).placed == 0
    assert buying(tainted, kind, waiting("p", tolerations=[{"key": "k", "operator": "Exists"}])).placed == 1
    assert buying(node_pool(taints={"startupTaints": taint}), kind, waiting("p")).placed == 1


def test_room_is_capacity_less_overhead_and_daemons():
    """R4."""
    overhead = {"overhead": {"kubeReserved": {"cpu": "1"}, "systemReserved": {"cpu": "1"}}}
    kind = machine("plain", offering("1.0"), **overhead)
    assert buying(node_pool(), kind, waiting("p", cpu="6")).placed == 1
    assert buying(node_pool(), kind, waiting("p", cpu="6001m")).placed == 0
    daemon = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"a": "d"}},
            "template": {
                "metadata": {"labels": {"a": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
            },
        },
    }
    assert buying(node_pool(), kind, daemon, waiting("p", cpu="5")).placed == 1
    assert buying(node_pool(), kind, daemon, waiting("p", cpu="6")).placed == 0


@pytest.mark.parametrize(
    ("written", "selected", "placed"),
    [
        (requirement("team", "a", "b"), "b", 1),
        (requirement("team", "a", "b"), "c", 0),
        (requirement("team", operator="Exists"), "c", 1),
        (requirement("team", "c", operator="NotIn"), "c", 0),
        (requirement("team", "3", operator="Gt"), "7", 1),
        (requirement("team", "3", operator="Gt"), "3", 0),
    ],
)
def test_a_label_with_several_values_has_the_one_that_a_pod_names(written, selected, placed):
    """R2, R5."""
    pods = [waiting("p", nodeSelector={"team": selected}), waiting("q")]
    result = buying(node_pool("general", written), machine("plain", offering("1.0")), pods)
    assert result.placed == placed + 1
    assert cost(result) == 1


@pytest.mark.parametrize("written", [requirement("size", operator="Exists"), requirement("size", "2", operator="Gt")])
def test_a_label_may_be_above_the_number_that_a_pod_names(written):
    """R5."""
    term = {"matchExpressions": [requirement("size", "5", operator="Gt")]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    result = buying(node_pool("general", written), machine("plain", offering("1.0")), waiting("p", affinity=affinity))
    assert result.placed == 1


def test_too_many_labels_are_refused_in_one_line():
    """Five labels of 20 values each, which pods name, are millions of nodes."""
    labels = [f"l{number}" for number in range(5)]
    open_ = node_pool("wide", *(requirement(label, operator="Exists") for label in labels))
    pods = [waiting(f"p{value}", nodeSelector=dict.fromkeys(labels, f"v{value}")) for value in range(20)]
    with pytest.raises(ValueError, match="NodePool wide: its labels l0, l1, l2, l3, l4 have more than 1000"):
        buying(open_, machine("plain", offering("1.0")), pods)


def node(name: str, cpu: str) -> dict[str, object]:
    metadata = {"name": name, "labels": {"karpenter.sh/nodepool": "general"}}
    status = {"capacity": {"cpu": cpu}, "allocatable": {"cpu": "0"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def test_nodes_and_claims_of_a_pool_count_against_its_limits():
    """R16."""
    pods = [waiting(f"p{number}", cpu="7") for number in range(3)]
    kind, limited = machine("plain", offering("1.0")), node_pool(limits={"cpu": "24"})
    joining = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "joining", "labels": {"karpenter.sh/nodepool": "general"}},
        "spec": {"requirements": []},
        "status": {"capacity": {"cpu": "8"}},
    }
    assert buying(limited, kind, pods).placed == 3
    assert buying(limited, kind, pods, node("n", "8")).placed == 2
    assert buying(limited, kind, pods, node("n", "8"), joining).placed == 1
    assert buying(limited, kind, pods, node("n", "40")).placed == 0
    assert buying(node_pool(limits={"nodes": "2"}), kind, pods, node("n", "1")).placed == 1
    only = {key: value for key, value in joining.items() if key != "status"}
    for one in (joining, only):
        # There need not be a node beside the claim.
        assert buying(node_pool(limits={"nodes": "2"}), kind, pods, one).placed == 1


def test_pools_share_a_reservation():
    """R17."""
    reserved = offering("0.5", kind="reserved", reservationCapacity=1)
    kind = machine("plain", reserved, offering("2.0"))
    pods = [waiting(f"p{number}", cpu="7", nodeSelector={"team": name}) for number, name in enumerate("ab")]
    result = buying(node_pool("a", labels={"team": "a"}), node_pool("b", labels={"team": "b"}), kind, pods)
    assert (result.placed, cost(result)) == (2, 2.5)


def test_the_verifier_knows_limits_and_reservations_itself():
    """PLAN-LIMIT: R16 and R17, from the manifests alone."""
    kind = machine("plain", offering("0.5", kind="reserved", reservationCapacity=1))
    loaded = drasat.load([node_pool(limits={"cpu": "10"}), kind])
    (name,) = (market := market_of(loaded)).candidates
    assert list(purchase_findings(with_bought_nodes(market.cluster, {name: 1})[0])) == []
    bought, _ = with_bought_nodes(market.cluster, {name: 2})
    assert {one.metadata.annotations[NODE_TEMPLATE_ANNOTATION] for one in bought.nodes.values() if one.metadata.name}
    messages = [finding.message for finding in purchase_findings(bought)]
    assert [message.split(" ")[0] for message in messages] == ["2", "the", "2"]
    assert {finding.rule for finding in purchase_findings(bought)} == {"PLAN-LIMIT"}


def test_alike_candidates_are_one_and_a_reservation_is_followed_by_a_dearer_one():
    """R2: nothing reads zones, so that the cheapest offering stands for all; it counts when a pod names its zone."""
    kind = machine(
        "plain", offering("1.0", "z1"), offering("1.1", "z2"), offering("0.5", "z1", "reserved", reservationCapacity=2)
    )
    small = machine("small", offering("1.2"), cpu="4")
    prices = [one.priced.price for one in _candidates(kind, small, waiting("p")).values()]
    assert [str(price) for price in prices] == ["500m", "1"]
    named = _candidates(kind, small, waiting("p", nodeSelector={ZONE: "z2"}))
    assert sorted(one.zone for one in named.values()) == ["z1", "z1", "z2"]


def _candidates(*objects: dict[str, object]) -> dict[str, object]:
    return dict(market_of(drasat.load([node_pool(), *objects])).candidates)


def test_a_large_catalogue_becomes_few_candidates():
    market = market_of(drasat.load(machines(400, 2000)))
    assert len(market.candidates) <= 300


def test_offerings_without_a_difference_are_one_candidate_and_reservations_stay():
    """R2: zones that nothing reads make no difference; a cheaper reservation is for some nodes alone."""
    kind = machine(
        "plain",
        *(offering(price, zone) for price, zone in (("1.2", "z1"), ("1.0", "z2"), ("1.1", "z3"))),
        offering("0.5", "z3", "reserved", reservationCapacity=1),
        offering("0.6", "z1", "reserved", reservationCapacity=2),
    )
    assert sorted(_candidates(kind)) == [
        "general-plain-z1-reserved",
        "general-plain-z2-on-demand",
        "general-plain-z3-reserved",
    ]


def test_offerings_that_are_not_seen_in_time_prove_nothing():
    """Nothing is bought, and nothing is said of what could be."""
    result = buying(node_pool(), machine("plain", offering("1.0")), waiting("p"), time_limit=1e-9)
    assert (result.placed, result.outcome, nodes_bought(result)) == (0, "Unknown", {})
    assert not any(one.proven or one.bound is not None for one in result.document.objective)
    assert "the time limit left no time to look at all offerings of the NodePools" in " ".join(result.document.notices)
    loaded = drasat.load([node_pool(), machine("plain", offering("1.0"))])
    with pytest.raises(DeadlineExceededError):
        evaluate(loaded, FeatureGates.all_on(), deadline=monotonic())


def test_node_claims_say_what_karpenter_would_ask_for():
    """3.9: drivers of the node's own devices, and what its pods ask for."""
    kind = machine("small", offering("1.0"), slices=[devices("g0")])
    taint = [{"key": "s", "effect": "NoSchedule"}]
    pool = node_pool("general", requirement(KIND, "on-demand"), labels={"team": "a"}, taints={"startupTaints": taint})
    result = buying(pool, kind, asking(1, requesting(), cpu="2"))
    (made,) = (one for one in result.manifests() if one["kind"] == "NodeClaim")
    assert made["metadata"]["annotations"] == {"karpenter.sh/requested-dra-drivers": "gpu.example.com"}
    assert made["metadata"]["labels"] == {"team": "a", "karpenter.sh/nodepool": "general"}
    assert made["spec"]["resources"] == {"requests": {"cpu": "2", "pods": "1"}}
    asked = {one["key"]: one["values"] for one in made["spec"]["requirements"]}
    assert (asked[TYPE], asked[ZONE], asked[KIND]) == (["small"], ["z1"], ["on-demand"])
    drasat.load([made])


def reached_from(*expressions: dict[str, object], keys: tuple[str, ...] = ()) -> dict[str, object]:
    term = {"matchExpressions": list(expressions), "matchLabelKeys": list(keys)}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}}


@pytest.mark.parametrize(
    ("reach", "zone"),
    [
        ({}, "z1"),
        ({"allNodes": True}, "z1"),
        (reached_from(keys=(ZONE,)), "z1"),
        (reached_from(requirement(ZONE, "z2")), "z2"),
        (reached_from(requirement(ZONE, "z2"), keys=(ZONE,)), "z2"),
        (reached_from(keys=("rack",)), ""),
        (reached_from(requirement("rack", "r1")), ""),
    ],
    ids=["local", "all nodes", "zone of the host", "a zone", "both", "an unknown label", "another label"],
)
def test_devices_that_other_nodes_could_reach_serve_their_own_node(reach, zone):
    """R15, 2.2: the node must be one that its own devices are reached from; z1 is the cheaper zone."""
    kind = machine("plain", offering("1.0", "z1"), offering("2.0", "z2"), slices=[devices("g0") | reach])
    result = buying(node_pool(), kind, asking(1, requesting()))
    assert [one.zone for one in result.document.bought] == ([zone] if zone else [])
    assert ("are planned for their own node alone" in " ".join(result.document.notices)) is bool(reach)


def test_devices_of_one_node_do_not_serve_another():
    """R15: two pods on nodes of their own need the devices of two nodes."""
    kind = machine("plain", offering("1.0"), slices=[devices("g0", "g1") | {"allNodes": True}])
    assert nodes_bought(buying(node_pool(), kind, asking(2, requesting(), cpu="5"))) == {"plain": 2}


def test_what_is_not_looked_at_is_told():
    """Pools of a fixed size buy nothing."""
    fixed = node_pool("fixed", replicas=2)
    result = buying(node_pool(), fixed, machine("plain", offering("1.0")), waiting("p"))
    assert "NodePool fixed has a fixed number" in " ".join(result.document.notices)
    assert [(one.pool, one.instance_type) for one in result.document.bought] == [("general", "plain")]


def with_choice(least: int) -> dict[str, object]:
    return node_pool("general", {"key": TYPE, "operator": "Exists", "minValues": least})


def test_other_types_that_serve_the_same_pods_are_listed():
    """R18: they have the room, the labels and the devices; cheapest first. Pools without minValues need none."""
    types = [
        machine("fits", offering("1.0"), slices=[devices("g0", "g1")]),
        machine("dear", offering("3.0"), slices=[devices("g0", "g1", "g2")]),
        machine("dearer", offering("4.0"), slices=[devices("g0", "g1")], cpu="16"),
        machine("small", offering("5.0"), slices=[devices("g0", "g1")], cpu="1"),
        machine("bare", offering("6.0")),
        machine("elsewhere", offering("7.0", "z2"), slices=[devices("g0", "g1")]),
    ]
    pods = [claim("c", requesting(count=2)), waiting("p", "c", cpu="2", nodeSelector={ZONE: "z1"})]
    (bought,) = buying(with_choice(3), types, pods).document.bought
    assert (bought.instance_type, bought.other_types) == ("fits", ("dear", "dearer"))
    (bought,) = buying(node_pool(), types, pods).document.bought
    assert (bought.instance_type, bought.other_types) == ("fits", ())


@pytest.mark.parametrize(("least", "told"), [(2, False), (3, True)])
def test_too_few_types_to_choose_from_are_told(least, told):
    """R18."""
    types = [
        machine("one", offering("1.0")),
        machine("two", offering("2.0")),
        machine("tiny", offering("0.1"), cpu="1"),
    ]
    result = buying(with_choice(least), types, waiting("p", cpu="4"))
    assert nodes_bought(result) == {"one": 1}
    said = "NodePool general: one and the types that serve the same pods show 2 values of node.kubernetes.io/instance"
    assert (said in " ".join(result.document.notices)) is told


def test_other_types_serve_all_nodes_of_an_offering():
    """R18: the first node is full, the second one is not."""
    types = [
        machine("big", offering("1.0"), slices=[devices("g0", "g1")]),
        machine("half", offering("0.99"), slices=[devices("g0")], cpu="1"),
    ]
    (bought,) = buying(with_choice(1), types, asking(3, requesting(), cpu="2")).document.bought
    assert (bought.instance_type, bought.count, bought.other_types) == ("big", 2, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "invalid JSON"),
        ("{}", "must be a list of instance types"),
        ('[{"name": 1}]', "[0].name: must be a string"),
        ('[{"name": "a", "resources": {}, "offerings": [{"Requirements": []}]}]', "[0].offerings[0].Price: is missing"),
    ],
)
def test_a_bad_file_of_instance_types_is_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "types.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"types\.json") as refused:
        read_kwok_types(str(path))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_instance_types_of_kwok_are_read_beside_the_input(tmp_path):
    one = {
        "name": "c-4x-amd64-linux",
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "8Gi"},
        "offerings": [{"Price": 0.12, "Requirements": [requirement(ZONE, "z1"), requirement(KIND, "spot")]}],
    }
    path = tmp_path / "types.json"
    path.write_text(
        json.dumps([one, {**one, "name": "gone", "offerings": [{**one["offerings"][0], "Available": False}]}])
    )
    result = buying(node_pool(), read_kwok_types(str(path)), waiting("p", cpu="3"))
    assert nodes_bought(result) == {"c-4x-amd64-linux": 1}
    assert cost(result) == 0.12


@pytest.mark.parametrize(
    ("tolerations", "placed"), [([], 0), ([{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}], 1)]
)
def test_devices_with_taints_go_to_requests_that_tolerate_them(tolerations, placed):
    """R19: as kube-scheduler has it; Karpenter gives them to anybody."""
    taint = [{"key": "broken", "effect": "NoSchedule"}]
    kind = machine("m", offering("1.0"), slices=[devices("g0", taints=taint)])
    assert buying(node_pool(), kind, asking(1, requesting(tolerations=tolerations))).placed == placed


def test_admin_access_takes_nothing():
    """R20: two pods look at the device that a third one has."""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": {"resource.kubernetes.io/admin-access": "true"}},
    }
    kind = machine("m", offering("1.0"), slices=[devices("g0")])
    watching = [
        made
        for name in ("w1", "w2")
        for made in (claim(name, requesting(adminAccess=True)), waiting(f"watch-{name}", name))
    ]
    result = buying(node_pool(), kind, namespace, asking(1, requesting()), watching)
    assert (result.placed, nodes_bought(result)) == (3, {"m": 1})
