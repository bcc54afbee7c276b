"""One small scene for each rule of queues, flavors and preemption (kueue-dra 4.1 to 4.7 and its corrections)."""

import pytest
from support.kueue_cases import CONFIGURATION_API, read_objects

from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.models.cluster.cluster import Cluster

API = "kueue.x-k8s.io/v1beta2"


def made(kind, name, spec, **metadata):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def flavor(name, **spec):
    return made("ResourceFlavor", name, spec)


def group(**flavors):
    """A resource group: nominal quota by flavor and resource."""
    quotas = [
        {"name": name, "resources": [{"name": one, "nominalQuota": amount} for one, amount in resources.items()]}
        for name, resources in flavors.items()
    ]
    return {"coveredResources": list(next(iter(flavors.values()))), "flavors": quotas}


def queue(name, *groups, **spec):
    """A ClusterQueue that takes all namespaces, and a LocalQueue of its name."""
    body = {"namespaceSelector": {}, "resourceGroups": list(groups), **spec}
    local = made("LocalQueue", name, {"clusterQueue": name}, namespace="team")
    return [made("ClusterQueue", name, body), local]


def pods(count=1, name="main", least=None, together=None, *, requests, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    one = {"name": name, "count": count, "template": {"spec": {"containers": [container], **spec}}}
    if together:
        one["topologyRequest"] = {"podSetGroupName": together}
    return {**one, **({"minCount": least} if least else {})}


def waits(name, queue_name, *sets, age=0, priority=0, **requests):
    """A workload; without pod sets it has one pod. The greater the ``age``, the older."""
    spec = {"queueName": queue_name, "podSets": list(sets) or [pods(requests=requests)], "priority": priority}
    created = f"2026-01-01T00:00:{30 - age:02}Z"
    return made("Workload", name, spec, namespace="team", uid=f"uid-{name}", creationTimestamp=created)


def holds(name, queue_name, chosen="f", *, age=0, priority=0, **usage):
    """A workload with quota of one flavor."""
    one = waits(name, queue_name, age=age, priority=priority, **usage)
    flavors = dict.fromkeys(usage, chosen)
    assigned = {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": {r: str(a) for r, a in usage.items()}}
    since = f"2026-01-01T00:01:{30 - age:02}Z"
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": since}
        for kind in ("QuotaReserved", "Admitted")
    ]
    one["status"] = {
        "admission": {"clusterQueue": queue_name, "podSetAssignments": [assigned]},
        "conditions": conditions,
    }
    return one


def run(*parts, configuration=None):
    """The state after the cycles of a scene, and what happened."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"team": "a"}}}
    settings = {"apiVersion": CONFIGURATION_API, "kind": "Configuration", **(configuration or {})}
    objects = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    if not any(one["kind"] == "ResourceFlavor" for one in objects):
        objects.append(flavor("f"))
    cluster = Cluster.build(read_objects([settings, namespace, *objects]))
    state = KueueState(cluster, kueue_configuration(cluster))
    return state, state.run(30)


def outcome(state):
    """For each workload its flavors, or why it has none."""
    return {
        key.removeprefix("team/"): "/".join(dict.fromkeys(one.grant.pod_sets[0].flavors.values()))
        if one.grant is not None
        else one.conditions["QuotaReserved"].reason
        for key, one in sorted(state.workloads.items())
    }


def message(state, name):
    return state.workloads[f"team/{name}"].conditions["QuotaReserved"].message


GPU = {"nodeLabels": {"type": "gpu"}}
SPOT = {"nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}
TRY_NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}


def term(*keys):
    return {"matchExpressions": [{"key": key, "operator": "In", "values": ["cpu"]} for key in keys]}


def affinity(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


@pytest.mark.parametrize(
    ("described", "spec", "expected"),
    [
        pytest.param(SPOT, {}, "untolerated taint {spot true NoSchedule <nil>} in flavor f", id="a taint"),
        pytest.param(SPOT, {"tolerations": [{"key": "spot", "operator": "Exists"}]}, "", id="tolerated by the pod"),
        pytest.param({**SPOT, "tolerations": [{"key": "spot", "operator": "Exists"}]}, {}, "", id="by the flavor"),
        pytest.param({"nodeTaints": [{"key": "a", "effect": "PreferNoSchedule"}]}, {}, "", id="a taint that may be"),
        pytest.param(GPU, {"nodeSelector": {"type": "cpu"}}, "flavor f doesn't match node affinity", id="a selector"),
        pytest.param(GPU, {"nodeSelector": {"zone": "a"}}, "", id="keys of other labels are not compared"),
        pytest.param(GPU, {"affinity": affinity(term("type"))}, "flavor f doesn't match node affinity", id="a term"),
        pytest.param(GPU, {"affinity": affinity(term("type"), term("zone"))}, "", id="a term without a key of it"),
    ],
)
def test_flavors_that_pods_cannot_be_on_are_passed_over(described, spec, expected):
    """4.3, step 2."""
    one = waits("w", "q", pods(requests={"cpu": "1"}, **spec))
    state, _ = run(flavor("f", **described), queue("q", group(f={"cpu": 4})), one)
    assert outcome(state) == {"w": "NoMatchingFlavor" if expected else "f"}
    assert expected in message(state, "w")


@pytest.mark.parametrize(
    ("strategy", "amount", "expected"),
    [(None, "1", "NoMatchingFlavor"), (None, "0", "f"), ("IgnoreUndeclared", "1", "f")],
)
def test_resources_that_no_group_covers(strategy, amount, expected):
    """4.3: they are in the way unless the amount is zero, or the quota check strategy ignores them."""
    asked = waits("w", "q", pods(requests={"example.com/x": amount}), pods(name="b", requests={"cpu": "1"}))
    asked["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "0"
    resources = {"resources": {"quotaCheckStrategy": strategy}} if strategy else {}
    state, _ = run(queue("q", group(f={"cpu": 4})), asked, configuration=resources)
    found = state.workloads["team/w"]
    if expected == "f":
        assert found.grant.pod_sets[1].flavors == {"cpu": "f"}
    else:
        assert "resource example.com/x unavailable in ClusterQueue" in message(state, "w")


def test_the_message_ends_at_the_first_pod_set_without_a_flavor():
    """Corrections 3."""
    sets = [pods(name=name, requests={"cpu": "9"}) for name in ("first", "second")]
    state, _ = run(queue("q", group(f={"cpu": 4})), waits("w", "q", *sets))
    assert "pod set first" in message(state, "w")
    assert "second" not in message(state, "w")


def test_a_missing_flavor_makes_the_queue_inactive():
    """Corrections 5."""
    state, _ = run(queue("q", group(ghost={"cpu": 4})), waits("w", "q", cpu="1"))
    assert outcome(state) == {"w": "Suspended"}
    assert message(state, "w") == "ClusterQueue q is inactive"
    assert state.inactive["q"][0] == "FlavorNotFound"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Within a group the mildest blocker: the second flavor would do once it is free.
        ({"cpu": 1}, {"cpu": 4}, "WaitingForQuota"),
        ({"cpu": 1}, {"cpu": 2}, "ExceedsMaxQuota"),
    ],
)
def test_the_reason_is_the_mildest_of_the_flavors_of_a_group(first, second, expected):
    """4.3."""
    held = [holds("old", "q", "b", cpu=2, priority=9)] if expected == "WaitingForQuota" else []
    state, _ = run(flavor("a"), flavor("b"), queue("q", group(a=first, b=second)), held, waits("w", "q", cpu="3"))
    assert outcome(state)["w"] == expected


def test_the_reason_is_the_most_severe_of_the_pod_sets():
    """4.3: the first waits for quota that others use, the second asks for more than there is."""
    sets = [pods(name="first", requests={"cpu": "2"}), pods(name="second", requests={"cpu": "9"})]
    held = holds("old", "q", cpu=3)
    state, _ = run(queue("q", group(f={"cpu": 4})), held, waits("w", "q", *sets))
    assert outcome(state)["w"] == "ExceedsMaxQuota"
    assert message(state, "w") == (
        "couldn't assign flavors to pod set first: insufficient unused quota for cpu in flavor f, 1 more needed; "
        "couldn't assign flavors to pod set second: insufficient quota for cpu in flavor f, previously considered "
        "podsets requests (2) + current podset request (9) > maximum capacity (4)"
    )


@pytest.mark.parametrize(("policy", "expected"), [("MayStopSearch", "a"), ("TryNextFlavor", "b")])
def test_borrowing_in_a_flavor_or_the_next_one(policy, expected):
    """4.3, step 5: whenCanBorrow."""
    fungibility = {"flavorFungibility": {"whenCanBorrow": policy}, "cohortName": "co"}
    lender = queue("lender", group(a={"cpu": 4}, b={"cpu": 4}), cohortName="co")
    own = queue("q", group(a={"cpu": 1}, b={"cpu": 4}), **fungibility)
    state, _ = run(flavor("a"), flavor("b"), lender, own, waits("w", "q", cpu="3"))
    assert outcome(state) == {"w": expected}


@pytest.mark.parametrize(
    ("preference", "expected"), [(None, "a"), ("BorrowingOverPreemption", "a"), ("PreemptionOverBorrowing", "b")]
)
def test_the_best_of_all_flavors_by_preference(preference, expected):
    """4.3, step 6: flavor a would borrow, b would preempt."""
    fungibility = {**TRY_NEXT, **({"preference": preference} if preference else {})}
    rules = {"flavorFungibility": fungibility, "preemption": {"withinClusterQueue": "LowerPriority"}}
    lender = queue("lender", group(a={"cpu": 4}, b={"cpu": 0}), cohortName="co")
    own = queue("q", group(a={"cpu": 0}, b={"cpu": 3}), cohortName="co", **rules)
    low = holds("low", "q", "b", cpu=3, age=9)
    state, phase = run(flavor("a"), flavor("b"), lender, own, low, waits("w", "q", cpu="3", priority=5))
    assert outcome(state)["w"] == expected
    assert phase.evicted == (set() if expected == "a" else {"team/low"})


def test_pod_sets_of_one_group_get_one_flavor():
    """4.3: pod sets with one podSetGroupName are decided together."""
    sets = [pods(name=name, together="g", requests={"cpu": "2"}) for name in ("leader", "worker")]
    flavors = [flavor(name, nodeLabels={"x": name}, topologyName="t") for name in ("a", "b")]
    apart = [pods(name=name, requests={"cpu": "2"}) for name in ("leader", "worker")]
    own = queue("q", group(a={"cpu": 3}, b={"cpu": 9}))
    state, _ = run(*flavors, own, waits("together", "q", *sets, age=9), waits("apart", "q", *apart))
    grants = {key: [one.flavors["cpu"] for one in w.grant.pod_sets] for key, w in state.workloads.items()}
    assert grants == {"team/together": ["b", "b"], "team/apart": ["a", "b"]}


@pytest.mark.parametrize(("least", "expected"), [(None, 0), (1, 3), (3, 3), (4, 0)])
def test_the_largest_number_of_pods_that_fits_is_admitted(least, expected):
    """4.5: partial admission; charges scale with the count."""
    state, _ = run(queue("q", group(f={"cpu": 7})), waits("w", "q", pods(5, least=least, requests={"cpu": "2"})))
    grant = state.workloads["team/w"].grant
    assert (grant.pod_sets[0].count if grant else 0) == expected
    assert expected == 0 or grant.pod_sets[0].usage == {"cpu": 2000 * expected}


@pytest.mark.parametrize(("strategy", "passes"), [("StrictFIFO", False), ("BestEffortFIFO", True)])
def test_a_head_that_cannot_be_admitted_blocks_a_strict_queue(strategy, passes):
    """4.6."""
    held = holds("held", "q", cpu=3, priority=9)
    parts = queue("q", group(f={"cpu": 4}), queueingStrategy=strategy), held
    state, _ = run(*parts, waits("big", "q", cpu="3", age=9), waits("small", "q", cpu="1"))
    found = {name: one.grant is not None for name, one in state.workloads.items()}
    assert found == {"team/held": True, "team/big": False, "team/small": passes}


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
@pytest.mark.parametrize(("selector", "taken"), [(None, False), ({}, True), ({"matchLabels": {"team": "b"}}, False)])
def test_namespaces_that_a_queue_takes(strategy, selector, taken):
    """4.1: no selector takes none, an empty one all; a mismatch blocks no queue (4.6)."""
    own = queue("q", group(f={"cpu": 4}), queueingStrategy=strategy)
    own[0]["spec"].pop("namespaceSelector")
    if selector is not None:
        own[0]["spec"]["namespaceSelector"] = selector
    state, phase = run(own, waits("w", "q", cpu="1"))
    assert outcome(state) == {"w": "f" if taken else "Misconfigured"}
    assert phase.settled


@pytest.mark.parametrize(
    ("policy", "evicted", "admitted"), [("None", False, True), ("Hold", False, False), ("HoldAndDrain", True, False)]
)
def test_queues_that_are_stopped(policy, evicted, admitted):
    """4.1: stop policies of ClusterQueues."""
    state, phase = run(
        queue("q", group(f={"cpu": 4}), stopPolicy=policy), holds("held", "q", cpu=1), waits("w", "q", cpu="1")
    )
    assert (phase.evicted == {"team/held"}, state.workloads["team/w"].grant is not None) == (evicted, admitted)


def test_heads_go_by_priority_then_age_then_uid_one_in_a_cycle():
    """4.6."""
    parts = queue("q", group(f={"cpu": 9}))
    four = [
        waits("b", "q", cpu="1"),
        waits("a", "q", cpu="1"),
        waits("old", "q", cpu="1", age=9),
        waits("high", "q", cpu="1", priority=3),
    ]
    _, phase = run(parts, *four)
    assert [[key for key, _ in cycle.admitted] for cycle in phase.cycles] == [
        ["team/high"], ["team/old"], ["team/a"], ["team/b"],
    ]  # fmt: skip


def test_workloads_of_a_shape_that_failed_are_parked_without_a_word():
    """Corrections 9."""
    held = holds("held", "q", cpu=3, priority=9)
    first, second = waits("first", "q", cpu="2", age=9), waits("second", "q", cpu="2")
    state, phase = run(queue("q", group(f={"cpu": 4})), held, first, second)
    assert "QuotaReserved" in state.workloads["team/first"].conditions
    assert "QuotaReserved" not in state.workloads["team/second"].conditions
    assert state.place(state.workloads["team/second"]) == ("q", False)
    assert phase.number == 1


def test_heads_are_checked_again_after_others_of_their_cycle():
    """4.6: two queues of a cohort want the same two cpu."""
    shared = made("Cohort", "co", {"resourceGroups": [group(f={"cpu": 2})]})
    queues = [queue(name, group(f={"cpu": 0}), cohortName="co") for name in ("a", "b")]
    state, phase = run(shared, *queues, waits("x", "a", cpu="2", age=9), waits("y", "b", cpu="2"))
    (told,) = [one.message for key, one in phase.cycles[0].waiting if key == "team/y"]
    assert told == "Workload no longer fits after processing another workload"
    assert outcome(state) == {"x": "f", "y": "WaitingForQuota"}


@pytest.mark.parametrize(
    ("policy", "priority", "age", "evicted"),
    [
        ("Never", 5, 0, False),
        ("LowerPriority", 5, 0, True),
        ("LowerPriority", 0, 20, False),
        ("LowerOrNewerEqualPriority", 0, 20, True),
        ("LowerOrNewerEqualPriority", 0, 0, False),
    ],
)
def test_whom_a_workload_may_preempt_in_its_own_queue(policy, priority, age, evicted):
    """4.7: withinClusterQueue; newer is who was created later."""
    own = queue("q", group(f={"cpu": 4}), preemption={"withinClusterQueue": policy})
    state, phase = run(own, holds("held", "q", cpu=4, age=10), waits("w", "q", cpu="4", priority=priority, age=age))
    assert phase.evicted == ({"team/held"} if evicted else set())
    if evicted:
        assert state.workloads["team/held"].conditions["Preempted"].reason == "InClusterQueue"


@pytest.mark.parametrize(
    ("policy", "priority", "evicted"),
    [("Never", 5, False), ("LowerPriority", 5, True), ("LowerPriority", 0, False), ("Any", 0, True), ("Any", -5, True)],
)
def test_whom_a_workload_may_reclaim_quota_from(policy, priority, evicted):
    """4.7: reclaimWithinCohort; only from queues above their nominal quota."""
    own = queue("a", group(f={"cpu": 4}), cohortName="co", preemption={"reclaimWithinCohort": policy})
    other = queue("b", group(f={"cpu": 4}), cohortName="co")
    held = holds("within", "b", cpu=4, age=20), holds("beyond", "b", cpu=4)
    state, phase = run(own, other, *held, waits("w", "a", cpu="4", priority=priority))
    assert phase.evicted == ({"team/beyond"} if evicted else set())
    if evicted:
        assert state.workloads["team/beyond"].conditions["Preempted"].reason == "InCohortReclamation"


@pytest.mark.parametrize(("threshold", "evicted"), [(None, True), (0, True), (-1, False)])
def test_preemption_while_borrowing_has_a_threshold(threshold, evicted):
    """4.7: borrowWithinCohort with maxPriorityThreshold."""
    borrowing = {"policy": "LowerPriority", **({} if threshold is None else {"maxPriorityThreshold": threshold})}
    rules = {"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrowing}
    own = queue("a", group(f={"cpu": 2}), cohortName="co", preemption=rules)
    parts = own, queue("b", group(f={"cpu": 2}), cohortName="co"), queue("c", group(f={"cpu": 4}), cohortName="co")
    _, phase = run(*parts, holds("borrower", "b", cpu=8), waits("w", "a", cpu="4", priority=5))
    assert phase.evicted == ({"team/borrower"} if evicted else set())


def test_a_head_without_victims_keeps_quota_from_others_for_one_cycle():
    """Corrections 11; 4.6: the rival of a parked head is admitted by the next cycle."""
    rules = {"preemption": {"withinClusterQueue": "LowerPriority"}, "cohortName": "co"}
    own = queue("a", group(f={"cpu": 4}), **rules)
    rival = queue("b", group(f={"cpu": 0}), cohortName="co")
    held = holds("held", "a", cpu=2, priority=9)
    state, phase = run(own, rival, held, waits("head", "a", cpu="3", age=9, priority=9), waits("rival", "b", cpu="1"))
    admitted = {key: cycle.number for cycle in phase.cycles for key, _ in cycle.admitted}
    assert admitted == {"team/rival": 2}
    assert state.workloads["team/head"].grant is None


def test_quota_is_reclaimed_in_a_tree_of_any_depth():
    """4.7: the borrower is far below the queue that reclaims."""
    deep = 2000
    cohorts = [made("Cohort", "c0", {})]
    cohorts += [made("Cohort", f"c{at}", {"parentName": f"c{at - 1}"}) for at in range(1, deep)]
    quota = {"cohortName": "c0", "preemption": {"reclaimWithinCohort": "Any"}}
    state, _ = run(
        *cohorts,
        queue("owner", group(f={"cpu": "4"}), **quota),
        queue("borrower", group(f={"cpu": "0"}), cohortName=f"c{deep - 1}"),
        holds("held", "borrower", cpu=4),
        waits("reclaiming", "owner", cpu=3),
    )
    assert outcome(state) == {"held": "WaitingForQuota", "reclaiming": "f"}
