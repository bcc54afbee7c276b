"""Which nodes suit which kinds of units, whatever devices they have."""

import pytest
from support.plan_building import asking, claim, gpus, holding, node, placed, planning, pod, sharing, user

from drasat.models.cluster.node_fit import pod_fits
from drasat.solver.plan.build.nodes import NodeRules
from drasat.solver.plan.build.units import group_by_shared_claims, group_unit_classes


def suited(*given):
    """For each node the names of the first units of the kinds that may go there."""
    ask = asking(*given)
    single, sets = group_by_shared_claims(ask.queue, ask.open_positions)
    kinds = group_unit_classes([*single, *(one for variants in sets for one in variants)])
    rules = NodeRules(kinds)
    names = [kind.entries[0].units[0].unit.name for kind in kinds]
    cluster = ask.session.cluster
    return {
        name: [names[index] for index in sorted(rules.suitable_classes(node))] for name, node in cluster.nodes.items()
    }


def required(key, operator, *values, field="matchExpressions"):
    one = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    terms = {"nodeSelectorTerms": [{field: [one]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def tainted(name, effect="NoSchedule", **fields):
    return node(name) | {"spec": {"taints": [{"key": "team", "value": "x", "effect": effect}], **fields}}


NODES = (node("n1", "a"), node("n2", "b"), node("n3"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ["n1", "n2", "n3"]),
        ({"nodeSelector": {"zone": "a"}}, ["n1"]),
        ({"nodeSelector": {"zone": "z"}}, []),
        ({"nodeName": "n2"}, ["n2"]),
        ({"nodeName": "gone"}, []),
        (required("zone", "In", "a", "b"), ["n1", "n2"]),
        (required("zone", "NotIn", "a"), ["n2", "n3"]),
        (required("zone", "Exists"), ["n1", "n2"]),
        (required("zone", "DoesNotExist"), ["n3"]),
        (required("metadata.name", "In", "n3", field="matchFields"), ["n3"]),
        (required("metadata.name", "NotIn", "n3", field="matchFields"), ["n1", "n2"]),
    ],
    ids=["any", "label", "no such", "pinned", "gone", "in", "not in", "exists", "absent", "name", "other name"],
)
def test_a_pod_goes_where_its_rules_allow(spec, expected):
    waiting = user("a")
    waiting["spec"] |= spec
    found = suited(*NODES, waiting, pod("other"))
    assert [name for name, units in found.items() if "a" in units] == expected
    assert all("other" in units for units in found.values())


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_taints_keep_out_who_does_not_tolerate_them(effect):
    tolerant = pod("t", spec={"tolerations": [{"key": "team", "operator": "Equal", "value": "x"}]})
    assert suited(tainted("n1", effect), node("n2"), tolerant, pod("p")) == {"n1": ["t"], "n2": ["t", "p"]}


def test_a_taint_that_only_discourages_keeps_nobody_out():
    assert suited(tainted("n1", "PreferNoSchedule"), pod("p")) == {"n1": ["p"]}


def test_an_unschedulable_node_takes_who_tolerates_that():
    closed = node("n1") | {"spec": {"unschedulable": True}}
    brave = pod("t", spec={"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]})
    assert suited(closed, brave, pod("p")) == {"n1": ["t"]}


def test_loose_claims_go_anywhere():
    assert suited(tainted("n1"), claim("c"), pod("p")) == {"n1": ["c"]}


def test_an_allocated_claim_ties_its_pods_to_its_nodes():
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}
    given = *NODES, holding("h", "n2", "gpu-0", nodeSelector=zone), sharing("a", "h"), pod("p")
    assert suited(*given) == {"n1": ["p"], "n2": ["a", "p"], "n3": ["p"]}


def test_an_allocation_without_a_selector_ties_to_nothing():
    assert suited(*NODES, holding("h", "n2", "gpu-0"), sharing("a", "h"))["n3"] == ["a"]


def test_all_units_of_a_party_must_suit():
    """The whole set fits no node, and each of its units one."""
    given = (
        sharing("a", "s", spec={"nodeSelector": {"zone": "a"}}),
        sharing("b", "s", spec={"nodeSelector": {"zone": "b"}}),
    )
    for one in given:
        one["spec"]["resourceClaims"] = [{"name": "s", "resourceClaimName": "s"}]
    found = suited(*NODES, claim("s"), *given)
    assert [len(units) for units in found.values()] == [1, 1, 0]


def test_one_look_is_enough_for_nodes_that_look_alike():
    ask = asking(*NODES, pod("p", spec={"nodeSelector": {"zone": "a"}}))
    single, _ = group_by_shared_claims(ask.queue, ask.open_positions)
    rules = NodeRules(group_unit_classes(single))
    nodes = ask.session.cluster.nodes
    assert rules.suitable_classes(nodes["n2"]) is not rules.suitable_classes(nodes["n1"])
    assert rules.suitable_classes(nodes["n1"]) is rules.suitable_classes(nodes["n1"])


def test_rules_agree_with_what_is_asked_of_pods():
    specs = [{}, {"nodeSelector": {"zone": "a"}}, {"nodeName": "n3"}, required("zone", "Exists")]
    specs += [{"tolerations": [{"operator": "Exists"}], **spec} for spec in specs]
    given = [pod(f"p{number}", spec=spec) for number, spec in enumerate(specs)]
    ask = asking(*NODES, tainted("n4"), *given)
    found = suited(*NODES, tainted("n4"), *given)
    for name, node_ in ask.session.cluster.nodes.items():
        expected = [one.unit.name for one in ask.queue if not pod_fits(one.unit.pod.spec, node_)]
        assert found[name] == expected


def test_a_pod_on_a_node_that_waits_for_a_claim_is_planned_there():
    pinned = user("a")
    pinned["spec"]["nodeName"] = "n2"
    found = planning(node("n1"), gpus("n1"), node("n2"), gpus("n2"), pinned)
    assert [(one.node, one.outcome) for one in found.units] == [("n2", "Placed")]
    assert placed(planning(node("n1"), gpus("n1"), pinned)) == []
