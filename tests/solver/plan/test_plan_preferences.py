"""The stage preferences: what placed pods had better get, exact and with a bound."""

import os
import re
from functools import partial

import pytest
from msgspec.structs import replace
from support.gates import ALL
from support.manifests import cluster, container, maker, obj, pod
from support.pod_rules_by_force import HOST, ZONE
from support.preferences_by_force import PREFERRED, PreferringCase

import drasat
from drasat.models.workload.expansion import expand_units
from drasat.models.workload.pod_rules import SpreadRule
from drasat.models.workload.preferences import PreferenceLedger
from drasat.models.workload.queue import read_queue
from drasat.solver.plan.build.preferences import PreferencePlan, soft_rules
from drasat.solver.plan.outcome import check_plan
from drasat.solver.plan.plan import plan
from drasat.solver.verification import preferences as verified
from drasat.solver.verification.plans import plan_violations

# More cases with a larger factor: 25 are 2,000.
FACTOR = int(os.environ.get("DRASAT_PROPERTY_FACTOR", "1"))
# Nodes of one domain of which some do not count for a spread constraint: that is left out of the bound.
UNPROVEN = (1812,)
ZONES = {"n1": "a", "n2": "a", "n3": "b"}
STAGES = "admitted,preferences"


def node(name, zone, cpu="10", taints=(), **labels):
    spec = {"taints": [{"key": key, "effect": "PreferNoSchedule"} for key in taints]}
    return obj("Node", name, spec, labels={HOST: name, ZONE: zone, **labels}, status={"allocatable": {"cpu": cpu}})


NODES = [node(name, zone) for name, zone in ZONES.items()]


def term(app, key=HOST, weight=10):
    selector = {"matchLabels": {"app": app}}
    return {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": selector}}


def near(*terms):
    return {"podAffinity": {PREFERRED: list(terms)}}


def apart(*terms):
    return {"podAntiAffinity": {PREFERRED: list(terms)}}


def like(weight, key, *values):
    test = {"key": key, "operator": "In", "values": list(values)}
    return {"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": [test]}}]}}


def anyway(app, key=ZONE, skew=1):
    rule = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": app}}}]}


def pods(app, number, affinity=None, *, on=None, meta=None, **spec):
    own = {"containers": [container("1")], **({"affinity": affinity} if affinity else {}), **spec}
    own |= {"nodeName": on} if on else {}
    return [pod(f"{app}{one}", spec=own, labels={"app": app}, meta=meta or {}) for one in range(number)]


def preferred(answer):
    (found,) = [stage for stage in answer.objective if stage.stage == "preferences"]
    return found


def solved(*objects, stages=STAGES, **options):
    """The value of the stage, which is proven, and how many units each node has."""
    answer = plan(cluster(*objects), objective=stages, **options)
    assert answer.verified
    assert answer.outcome == "Optimal"
    return preferred(answer).value, {one.name: one.units for one in answer.nodes if one.units}


@pytest.mark.parametrize("seed", range(80 * FACTOR))
def test_the_score_is_that_of_the_best_of_all_placements(seed):
    case, most_first = PreferringCase(seed, required=seed % 3 == 0), seed % 2 == 0
    answer = plan(cluster(*case.documents), objective=STAGES if most_first else "preferences")
    found, (number, score) = preferred(answer), case.best(most_first=most_first)
    assert answer.verified
    assert (answer.placed if most_first else 0, found.value) == (number, score)
    assert found.bound == score or (seed in UNPROVEN and found.bound > score)


@pytest.mark.parametrize(
    ("waiting", "value"),
    [
        pytest.param(pods("a", 2, like(30, ZONE, "b")), 60, id="a node that is liked"),
        pytest.param(pods("a", 2, like(30, ZONE, "c")), 0, id="no node that is liked"),
        pytest.param(pods("a", 3, apart(term("a"))), 0, id="apart on three nodes"),
        pytest.param(pods("a", 4, apart(term("a"))), -20, id="a pair on one of three nodes counts from both sides"),
        pytest.param(pods("a", 3, apart(term("a", ZONE))), -20, id="a pair in one of two zones"),
        pytest.param(pods("a", 3, near(term("a"))), 60, id="three pairs on one node"),
        pytest.param([*pods("a", 2, near(term("b"))), *pods("b", 2)], 40, id="one kind near another"),
        pytest.param([*pods("a", 2, near(term("b", ZONE))), *pods("b", 1, apart(term("a")))], 20, id="zone, not node"),
        pytest.param(pods("a", 4, **anyway("a")), 0, id="two in each zone"),
        pytest.param(pods("a", 4, like(100, ZONE, "b"), **anyway("a", skew=2)), 300, id="more of a zone is worth it"),
        pytest.param(pods("a", 4, like(70, ZONE, "b"), **anyway("a")), 140, id="more of a zone is not worth it"),
        pytest.param(pods("a", 2, near(term("a")), **anyway("a", HOST)), 0, id="spread over nodes"),
    ],
)
def test_what_pods_prefer_is_added_up(waiting, value):
    assert solved(*NODES, *waiting)[0] == value


def test_a_taint_counts_as_much_as_the_heaviest_term():
    tainted = [node("n1", "a", taints=("t",), ssd="yes"), node("n2", "a", cpu="1")]
    tolerating = {"tolerations": [{"key": "t", "operator": "Exists"}]}
    assert solved(*tainted, *pods("a", 2)) == (-100, {"n1": 1, "n2": 1})
    assert solved(*tainted, *pods("a", 1, like(100, "ssd", "yes")))[0] == 0
    assert solved(*tainted, *pods("a", 2, like(100, "ssd", "yes"), **tolerating))[0] in {100, 200}
    assert solved(*tainted, *pods("a", 2, like(100, "ssd", "yes"), **tolerating))[1] == {"n1": 2}


@pytest.mark.parametrize(("key", "worst"), [(HOST, {"n1"}), (ZONE, {"n1", "n2"})])
def test_terms_of_running_pods_count_for_those_that_come(key, worst):
    """As in kube-scheduler: the running pod prefers to be alone, and says so of the pod that comes."""
    running = pods("old", 1, apart(term("new", key)), on="n1")
    value, units = solved(*NODES, *running, *pods("new", 1))
    assert value == 0
    assert worst.isdisjoint(units)
    running = pods("old", 1, near(term("new", key, 7)), on="n1")
    value, units = solved(*NODES, *running, *pods("new", 1))
    assert value == 7
    assert units.keys() <= worst


def test_a_pair_of_running_pods_counts_nothing():
    running = pods("a", 2, near(term("a")), on="n1")
    assert solved(*NODES, *running, *pods("b", 1))[0] == 0


@pytest.mark.parametrize("stages", ["preferences,admitted", "preferences"])
def test_before_the_number_of_units_those_are_left_out_that_count_below_zero(stages):
    value, units = solved(*NODES, *pods("a", 5, apart(term("a"))), stages=stages)
    assert value == 0
    assert max(units.values(), default=0) <= 1


def test_running_pods_above_the_skew_count_even_if_nothing_is_placed():
    running = pods("a", 3, on="n3")
    big = pods("b", 1, **anyway("a"))
    big[0]["spec"]["containers"] = [container("99")]
    answer = plan(cluster(*NODES, *running, *big), objective=STAGES)
    assert (answer.placed, preferred(answer).value) == (0, -200)


def gang(app, number, affinity, **spec):
    return pods(app, number, affinity, meta={"annotations": {"drasat.dev/gang": app}}, **spec)


def test_members_of_gangs_count_on_their_nodes_exactly():
    assert solved(*NODES, *gang("a", 3, apart(term("a"))))[0] == 0
    assert solved(*NODES, *gang("a", 3, near(term("a"))))[0] == 60


@pytest.mark.parametrize("way", [near, apart])
def test_pairs_of_gangs_in_zones_are_counted_and_the_bound_holds(way):
    """They have no rows: the bound takes what the pairs could count at most."""
    answer = plan(cluster(*NODES, *gang("a", 3, way(term("a", ZONE)))), objective=STAGES)
    found, best = preferred(answer), 60 if way is near else -20
    assert answer.verified
    assert found.value <= best <= found.bound


def test_units_that_share_a_claim_prefer_something_about_each_other():
    entry = {"resourceClaims": [{"name": "x", "resourceClaimName": "shared"}]}
    claim = obj(
        "ResourceClaim", "shared", {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    )
    given = {"driver": "d", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}}
    published = obj("ResourceSlice", "s", {**given, "devices": [{"name": "g"}]})
    both = [*pods("a", 1, near(term("b")), **entry), *pods("b", 1, **entry)]
    value, units = solved(*NODES, obj("DeviceClass", "c", {}), claim, published, *both)
    assert (value, units) == (10, {"n1": 2})


def test_new_nodes_have_their_labels_and_taints():
    template = partial(obj, "NodeTemplate")
    kinds = [
        template("plain", {"price": 1, "allocatable": {"cpu": "1"}, "labels": {ZONE: "a"}}),
        template("liked", {"price": 1, "allocatable": {"cpu": "1"}, "labels": {ZONE: "b"}}),
    ]
    answer = plan(
        cluster(*kinds, *pods("a", 2, {**like(10, ZONE, "b"), **apart(term("a"))})),
        objective="admitted,cost,preferences",
        buy=True,
    )
    assert answer.outcome == "Optimal"
    assert preferred(answer).value == 20
    assert list(answer.bought) == ["liked"]


def test_many_nodes_are_told_apart_by_what_runs_there_alone():
    nodes = [node(f"n{number}", str(number % 3)) for number in range(300)]
    running = pods("old", 1, apart(term("a", weight=40)), on="n7")
    spec = {"affinity": apart(term("a")), "containers": [container("1")]}
    made = maker("Deployment", "a", spec={"replicas": 400}, labels={"app": "a"}, pod_spec=spec)
    answer = plan(cluster(*nodes, *running, made), objective=STAGES)
    assert answer.placed == 400
    # Two are on 101 of the other 299 nodes: a second one costs less than one on n7.
    assert (preferred(answer).value, preferred(answer).proven) == (-20 * 101, True)
    assert answer.statistics.node_classes == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"moves": "any"}, "the stage preferences is for plans in which all running pods stay"),
        ({"preempt": True}, "the stage preferences is for plans in which all running pods stay"),
    ],
    ids=str,
)
def test_the_stage_is_refused_where_running_pods_may_go(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        drasat.plan(cluster(*NODES, *pods("a", 1)), objective=STAGES, **options)


def test_the_verifier_finds_another_value():
    given = cluster(*NODES, *pods("a", 4, apart(term("a"))))
    answer = plan(given, objective=STAGES)
    told = [
        replace(stage, value=stage.value + 1) if stage.stage == "preferences" else stage for stage in answer.objective
    ]
    violations = plan_violations(given, answer.units, ALL, cel_errors="strict", order=answer.order, stages=told)
    assert [one.rule for one in violations if "preferences" in one.message] == ["PLAN-VALUE"]
    check_plan(given, answer.units, ALL, "strict", order=answer.order, stages=answer.objective)


def test_without_the_stage_units_do_not_differ_by_what_they_prefer():
    waiting = [*pods("a", 2, like(10, ZONE, "a")), *pods("b", 2, near(term("a")))]
    assert plan(cluster(*NODES, *waiting)).statistics.unit_classes == 1
    assert plan(cluster(*NODES, *waiting), objective=STAGES).statistics.unit_classes == 2


def test_the_example_says_what_its_page_says(request):
    given = drasat.load(request.config.rootpath / "examples" / "preferences")
    answer = drasat.plan(given, objective="priority,admitted,preferences")
    assert [(one.stage, one.value, one.bound) for one in answer.document.objective][-1] == ("preferences", 100, 100)


def test_of_an_unschedulable_node_its_taints_decide_whether_it_counts():
    """The policy Honor looks at taints: a node that is only cordoned is a domain that stays empty."""
    cordoned = node("n4", "c")
    cordoned["spec"]["unschedulable"] = True
    (rule,) = anyway("a")["topologySpreadConstraints"]
    spec = {"topologySpreadConstraints": [{**rule, "nodeTaintsPolicy": "Honor"}]}
    assert solved(*NODES, *pods("a", 4, **spec))[0] == 0
    assert solved(*NODES, cordoned, *pods("a", 4, **spec))[0] == -200
    cordoned["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    assert solved(*NODES, cordoned, *pods("a", 4, **spec))[0] == 0


def test_scores_of_nodes_are_read_once_for_all_kinds_of_pods(monkeypatch):
    looked_at, scores = [], PreferencePlan.scores
    monkeypatch.setattr(PreferencePlan, "scores", lambda *own: looked_at.append(own) or scores(*own))
    seen = []
    for kinds in (2, 12):
        looked_at.clear()
        assert solved(*NODES, *(one for kind in range(kinds) for one in pods(f"k{kind}", 1, like(kind + 1, ZONE, "a"))))
        seen.append(len(looked_at))
    assert seen[0] == seen[1]


def test_constraints_that_count_the_same_nodes_judge_each_of_them_once(monkeypatch):
    looked_at, counts = [], SpreadRule.counts
    monkeypatch.setattr(SpreadRule, "counts", lambda *own: looked_at.append(own) or counts(*own))
    given = cluster(*NODES, *(one for app in "abcdefgh" for one in pods(app, 1, **anyway(app))))
    rules = soft_rules(expand_units(given, read_queue(given, gates=ALL, prefers=True), ALL))
    assert len(rules) == 8
    ledger = PreferenceLedger(given)
    assert all(ledger.domains(rule) == ZONES for rule in rules)
    assert len(looked_at) == len(NODES)


def test_the_verifier_judges_each_node_once_for_constraints_that_count_the_same_nodes(monkeypatch):
    looked_at = []
    monkeypatch.setattr(verified, "admits", lambda *given: looked_at.append(given) or True)
    given = cluster(*NODES, *(one for app in "abcdefgh" for one in pods(app, 1, **anyway(app))))
    assert verified.preference_value(given, [(one, None) for one in given.pods.values()]) == 0
    assert len(looked_at) == len(NODES)
