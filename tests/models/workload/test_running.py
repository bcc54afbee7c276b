"""Which running pods may move (groups 6, MOV-1 to MOV-7), and what a move costs."""

import pytest
from support.manifests import cluster, maker, obj, pod
from support.moving import holder
from support.plan_building import ALL, claim, classes, entry, fabric, holding, nodes

from drasat.models.kubernetes.workloads import PodDisruptionBudget
from drasat.models.workload.running import eviction_notices, read_running_pods
from drasat.solver.verification.preemption import counts_loss, counts_move

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DISK = {"volumes": [{"name": "v", "emptyDir": {}}]}


def read(*given, **options):
    found = read_running_pods(cluster(*classes(), *nodes("n1", "n2"), *given), ALL, **options)
    return {key[1]: one for key, one in found.items()}


def budget(name="b", allowed=1, spec=None, more=None, **selector):
    status = {} if allowed is None else {"status": {"disruptionsAllowed": allowed, **(more or {})}}
    made = obj("PodDisruptionBudget", name, {"selector": {"matchLabels": selector}} if spec is None else spec, **status)
    return made | {"apiVersion": "policy/v1"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ""),
        ({"owner": None}, "no controller"),
        ({"owner": ("DaemonSet", "d")}, "DaemonSet"),
        ({"owner": ("Node", "n1"), "meta": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, "static pod"),
        ({"meta": {"annotations": {SAFE: "false"}}}, "safe-to-evict is false"),
        ({"meta": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}, "do-not-disrupt is true"),
        ({"meta": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "being deleted"),
        ({"spec_more": {"priority": 2_000_000_000}}, "priority of system pods"),
        ({"spec_more": DISK}, "local storage in its volume v"),
        ({"spec_more": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}}, "local storage"),
        ({"spec_more": {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}}, ""),
        ({"spec_more": DISK, "meta": {"annotations": {SAFE: "true"}}}, ""),
        ({"spec_more": DISK, "meta": {"annotations": {f"{SAFE}-local-volumes": "w,v"}}}, ""),
        ({"owner": None, "meta": {"annotations": {"descheduler.alpha.kubernetes.io/evict": ""}}}, ""),
        ({"spec_more": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}}, "PersistentVolume"),
        ({"labels": {"leaderworkerset.sigs.k8s.io/name": "l"}}, "LeaderWorkerSet group restart"),
        ({"labels": {"jobset.sigs.k8s.io/jobset-name": "j"}}, "JobSet restart"),
        ({"GANG": "g"}, ""),
    ],
)
def test_what_keeps_a_pod_where_it_is(options, said):
    """The table of section 6 with F1 and F2; MOV-1 lifts what only a permission lifts, MOV-7 what restarts together."""
    stays = read(*holder("a", "n1", 0, **options))["a"].stays
    assert (said in stays) if said else stays == ""


@pytest.mark.parametrize(
    ("budgets", "said"),
    [
        ([budget(app="web")], ""),
        ([budget(app="other", allowed=0)], ""),
        ([budget(app="web", allowed=0)], "b allows no eviction"),
        ([budget(app="web", allowed=None)], "b allows no eviction"),
        ([budget("b", app="web"), budget("c", app="web")], "two PodDisruptionBudgets"),
        ([budget(allowed=0, spec={"selector": {}})], "b allows no eviction"),
        ([budget(allowed=0, spec={})], ""),
    ],
)
def test_budgets_are_asked(budgets, said):
    """MOV-3: one budget that allows an eviction; two of them forbid it, and so does one without a status.

    EVT-5: of policy/v1 an empty selector counts all pods, and no selector none.
    """
    stays = read(*holder("a", "n1", 0, labels={"app": "web"}), *budgets)["a"].stays
    assert (said in stays) if said else stays == ""


ALWAYS = {"selector": {}, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
HEALTHY = {"currentHealthy": 2, "desiredHealthy": 2}
DISRUPTED = {"disruptedPods": {"a": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("ready", "budgets", "counts"),
    [
        ("False", [budget(allowed=0, spec=ALWAYS)], (True, False)),
        ("Unknown", [budget(allowed=0, spec=ALWAYS)], (True, False)),
        ("True", [budget(allowed=0, spec=ALWAYS)], (True, True)),
        (None, [budget(allowed=0, spec=ALWAYS)], (True, True)),
        ("False", [budget(allowed=0, spec={"selector": {}})], (True, True)),
        ("False", [budget(allowed=0, spec={"selector": {}}, more=HEALTHY)], (True, False)),
        ("False", [budget(allowed=0, spec={"selector": {}}, more=HEALTHY | {"currentHealthy": 1})], (True, True)),
        ("False", [budget(allowed=0, spec={"selector": {}}, more={"currentHealthy": 1})], (True, True)),
        ("True", [budget(allowed=0, spec={"selector": {}}, more=HEALTHY)], (True, True)),
        ("True", [budget(allowed=0, spec={"selector": {}}, more=DISRUPTED)], (False, False)),
        ("True", [budget(allowed=0, spec={"selector": {}}, more={"disruptedPods": {"b": None}})], (True, True)),
        (None, [budget(allowed=0, spec=ALWAYS, more=DISRUPTED)], (False, False)),
    ],
)
def test_who_uses_nothing_of_a_budget(ready, budgets, counts):
    """EVT-5: who is in ``disruptedPods``. MOV-3: an eviction of who is not ready, if the budget is healthy or says so.

    The loss of the latter counts all the same, as kube-scheduler counts it.
    """
    made = holder("a", "n1", 0, labels={"app": "web"})
    made[0]["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
    made[0]["status"]["conditions"] += [{"type": "Ready", "status": ready}] if ready else []
    found = read(*made, *budgets)["a"]
    assert (found.budgets != (), found.budget is not None) == counts
    assert ("allows no eviction" in found.stays) == counts[1]
    there = cluster(*classes(), *nodes("n1"), *made, *budgets)
    (pod,), (known,) = there.pods.values(), there.objects(PodDisruptionBudget).values()
    assert (counts_loss(known, pod), counts_move(known, pod)) == counts


def test_two_budgets_keep_a_pod_that_uses_nothing_of_them():
    """MOV-3: the eviction API refuses such a pod before it asks any of them."""
    made = holder("a", "n1", 0)
    both = [budget(name, spec=ALWAYS, more=DISRUPTED) for name in "bc"]
    assert "two PodDisruptionBudgets" in read(*made, *both)["a"].stays


def test_a_budget_with_a_bad_selector_is_one_line():
    made = budget()
    made["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "Foo", "values": ["x"]}]}
    with pytest.raises(ValueError, match=r"^PodDisruptionBudget default/b: spec.selector: .*Foo"):
        read(*holder("a", "n1", 0), made)


def test_devices_that_others_use_or_reach_stay():
    """MOV-6: a claim that several pods share, and devices that other nodes reach."""
    shared = [
        holding("s", "n1", "gpu-0"),
        *(pod(name, entry("s", claim="s"), spec={"nodeName": "n1"}) for name in "ab"),
    ]
    assert "shares its claim" in read(*shared, move_bare=True)["a"].stays
    far = [fabric(), holding("f", "fabric", "f0", driver="fabric.example.com")]
    far += [pod("a", entry("f", claim="f"), spec={"nodeName": "n1"})]
    assert "other nodes reach" in read(*far, move_bare=True)["a"].stays
    alone = [holding("s", "n1", "gpu-0"), pod("a", entry("s", claim="s"), spec={"nodeName": "n1"})]
    assert read(*alone, move_bare=True)["a"].stays == ""


def test_the_cost_is_that_of_the_pod_or_its_controller_or_of_its_devices():
    made = maker("ReplicaSet", "web", spec={"replicas": 0}, MOVE_COST="9")
    given = [*holder("a", "n1", 0, MOVE_COST="4"), *holder("b", "n1", 1), made]
    assert {name: one.cost for name, one in read(*given).items()} == {"a": 4, "b": 9}
    plain = [*holder("a", "n1", 0, 1, spec="t2"), *holder("b", "n1")]
    assert {name: one.cost for name, one in read(*plain).items()} == {"a": 2, "b": 1}
    for one in plain:
        one["metadata"].setdefault("annotations", {})["descheduler.alpha.kubernetes.io/prefer-no-eviction"] = ""
    assert {name: one.cost for name, one in read(*plain).items()} == {"a": 102, "b": 101}


@pytest.mark.parametrize(("more", "stays"), [([], True), ([budget(app="web")], False)])
def test_a_pod_of_the_system_stays_unless_a_budget_is_about_it(more, stays):
    """MOV-1: in kube-system a PodDisruptionBudget or the pod itself says that it may go."""
    given = [*holder("a", "n1", labels={"app": "web"}), *more]
    given += [*holder("b", "n1", meta={"annotations": {SAFE: "true"}})]
    for one in given:
        one["metadata"]["namespace"] = "kube-system"
    found = {name: "kube-system" in one.stays for name, one in read(*given).items()}
    assert found == {"a": stays, "b": False}


def failure_policy(*rules):
    return {"podFailurePolicy": {"rules": [{"action": action, "onPodConditions": own} for action, own in rules]}}


EVICTED = [{"type": "DisruptionTarget"}]


@pytest.mark.parametrize(
    ("spec", "fails"),
    [
        ({"backoffLimit": 0}, True),
        ({"backoffLimit": 1}, False),
        ({}, False),
        ({"backoffLimit": 0, **failure_policy(("Ignore", EVICTED))}, False),
        ({"backoffLimit": 0, **failure_policy(("Count", EVICTED), ("Ignore", EVICTED))}, True),
        ({"backoffLimit": 0, **failure_policy(("Ignore", [{"type": "ConfigIssue"}]))}, True),
    ],
)
def test_jobs_that_fail_with_an_eviction_are_told(spec, fails):
    """MOV-8: an eviction counts as a failure, unless the Job ignores it."""
    there = cluster(*classes(), *nodes("n1"), *holder("a", "n1", 0, owner=("Job", "j")), maker("Job", "j", spec=spec))
    said = list(eviction_notices(there, read_running_pods(there, ALL).values()))
    assert said == (["Job default/j has a backoffLimit of 0: it fails once pod default/a is evicted"] if fails else [])


def test_controllers_that_nobody_knows_are_told_once():
    """Section 6 of groups: the autoscaler leaves such pods alone."""
    given = [one for name in "ab" for one in holder(name, "n1", owner=("Widget", "w"))]
    there = cluster(*classes(), *nodes("n1"), *given, *holder("c", "n1"))
    said = list(eviction_notices(there, read_running_pods(there, ALL).values()))
    assert said == ["whether Widget default/w makes pod default/a again is not known"]


def test_a_loose_claim_is_no_running_pod():
    assert read(claim("c")) == {}
