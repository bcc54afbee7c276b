"""What limits waiting workloads: changes of quota are written into the manifests, and ``quota`` is asked again."""

import copy

import pytest
import yaml
from support.kueue_cases import read_objects

import drasat
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.integrations.kueue.quota_changes import quota_limits
from drasat.integrations.kueue.scheduling import SchedulingCycle
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.quantity import Quantity
from drasat.scenarios.quota import quota as made_up
from drasat.solver.engines.outcome import SearchInterrupted

FOLDERS = [
    "story-2-quota-and-preemption", "a-lending", "b-cohort-tree", "c-borrowing", "d-flavors", "e-fungibility",
    "f-resource-groups", "g-reclaim", "h-reclaim-newest", "i-fair-sharing",
]  # fmt: skip


def example(examples, folder):
    files = sorted((examples / "kueue" / folder).glob("*.yaml"))
    return [one for path in files for one in yaml.safe_load_all(path.read_text()) if one]


def asked(manifests, **options):
    return drasat.quota(Cluster.build(read_objects(manifests)), time_limit=None, **options)


def holders(manifests):
    return {f"{one.namespace}/{one.name}" for one in asked(manifests).workloads if one.state != "pending"}


def changed(manifests, owner, cohort, field, amounts):
    """The manifests with amounts of a field of one object, by flavor and resource."""
    found, left = copy.deepcopy(manifests), dict(amounts)
    kind = "Cohort" if cohort else "ClusterQueue"
    (spec,) = (one["spec"] for one in found if one["kind"] == kind and one["metadata"]["name"] == owner)
    for group in spec["resourceGroups"]:
        for flavor in group["flavors"]:
            for one in flavor["resources"]:
                if (flavor["name"], one["name"]) in left:
                    one[field] = left.pop((flavor["name"], one["name"]))
    assert not left
    return found


def less(resource, amount):
    """The next amount below, as quota counts it."""
    step = 1 if resource == "cpu" else 1000
    return f"{Quantity.parse(amount).milli - step}m"


def check(manifests, result):
    """Each change admits its workload, and is the least that does; return how many changes there are."""
    number = 0
    for one in result.document.limits.workloads:
        assert one.missing or one.message
        for change in one.changes:
            number += 1
            place = change.owner, change.cohort, change.field
            after = {(made.flavor, made.resource): made.after for made in change.amounts}
            assert one.workloads[0] in holders(changed(manifests, *place, after))
            for made in change.amounts:
                fewer = {**after, (made.flavor, made.resource): less(made.resource, made.after)}
                assert one.workloads[0] not in holders(changed(manifests, *place, fewer))
    return number


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_change_admits_its_workload_and_less_does_not(examples, folder):
    manifests = example(examples, folder)
    result = asked(manifests, limits=True)
    waiting = {f"{one.namespace}/{one.name}" for one in result.workloads if one.state == "pending"}
    assert {name for one in result.document.limits.workloads for name in one.workloads} == waiting
    assert check(manifests, result) >= len(result.document.limits.workloads)


def test_changes_in_a_tree_of_teams():
    manifests = made_up(12, 4, 5, 34, seed=3)
    result = asked(manifests, limits=True)
    assert check(manifests, result) > 2


def test_prices_are_what_quota_admits_with_one_more(examples):
    """A queue with 4 GPUs and a borrowing limit of 2 in a cohort where 5 are in use."""
    manifests = example(examples, "c-borrowing")
    result = asked(manifests, limits=True)
    prices = result.document.limits.prices
    assert {(one.owner, one.field, one.more) for one in prices} == {
        ("d", "nominalQuota", "1"),
        ("d", "borrowingLimit", "1"),
    }
    before = holders(manifests)
    for one in prices:
        after = holders(changed(manifests, one.owner, one.cohort, one.field, {(one.flavor, one.resource): "3"}))
        assert (set(one.admitted), set(one.lost)) == (after - before, before - after)


def test_the_limit_that_binds_is_named(examples):
    (one,) = asked(example(examples, "c-borrowing"), limits=True).document.limits.workloads
    (short,) = one.missing
    assert (short.node, short.cohort, short.field) == ("d", False, "borrowingLimit")
    assert (short.asked, short.available) == ("5", "4")
    (one,) = asked(example(examples, "b-cohort-tree"), limits=True).document.limits.workloads
    (short,) = one.missing
    assert (short.node, short.cohort, short.field) == ("left", True, "borrowingLimit")


def test_a_lender_may_lend_more():
    """Raising the lending limit of the other queue is one of the changes, and never beyond its quota."""
    manifests = made_up(4, 2, 2, 1)
    queues = [one for one in manifests if one["kind"] == "ClusterQueue"]
    groups = [
        {"coveredResources": ["cpu"], "flavors": [{"name": "h100", "resources": [{"name": "cpu", **quota}]}]}
        for quota in ({"nominalQuota": "10", "lendingLimit": "2"}, {"nominalQuota": "0"})
    ]
    for queue, group in zip(queues, groups, strict=True):
        queue["spec"] |= {"cohortName": "c", "resourceGroups": [group]}
    (workload,) = (one for one in manifests if one["kind"] == "Workload")
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}
    workload["metadata"]["namespace"] = queues[1]["metadata"]["name"]
    workload["spec"]["podSets"] = [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]
    kept = [one for one in manifests if one["kind"] != "Cohort"]
    result = asked(kept, limits=True)
    (one,) = result.document.limits.workloads
    amounts = {(change.owner, change.field): change.amounts[0].after for change in one.changes}
    first, second = (queue["metadata"]["name"] for queue in queues)
    assert amounts == {(second, "nominalQuota"): "3", (first, "lendingLimit"): "5"}
    assert check(kept, result) == len(one.changes)


def test_what_is_not_known_in_time_is_left_out(examples):
    cluster = Cluster.build(read_objects(example(examples, "c-borrowing")))
    configuration = kueue_configuration(cluster)
    state = KueueState(cluster, configuration)
    state.run()
    found = quota_limits(cluster, configuration, state, deadline=0.0)
    (one,) = found.workloads
    assert [short.node for short in one.missing] == ["d"]
    assert (one.changes, one.complete, found.prices, found.complete) == ((), False, (), False)


def test_of_many_kinds_the_first_ones_are_told_without_time(examples, monkeypatch):
    cluster = drasat.load(made_up(12, 20, 4, 40, seed=1))
    configuration = kueue_configuration(cluster)
    state = KueueState(cluster, configuration)
    state.run()
    whole = quota_limits(cluster, configuration, state, deadline=0.0).workloads
    assert len(whole) > 2
    monkeypatch.setattr("drasat.integrations.kueue.quota_changes._ALWAYS_TOLD", 2)
    found = quota_limits(cluster, configuration, state, deadline=0.0)
    assert (found.workloads, found.complete) == (whole[:2], False)


def test_the_tables_have_limits_and_prices(drasat, examples):
    done = drasat("quota", "-f", examples / "kueue" / "c-borrowing", "--limits")
    assert done.code == 1
    assert "borrowingLimit of ClusterQueue d" in done.out
    assert "whole-gpus in gpus 2 -> 3" in done.out
    assert "1 whole-gpus in gpus" in done.out


def test_an_interrupt_keeps_what_is_known(examples, monkeypatch):
    """Ctrl-C in a cycle that judges a change ends the search."""
    cluster = Cluster.build(read_objects(example(examples, "b-cohort-tree")))
    configuration = kueue_configuration(cluster)
    state = KueueState(cluster, configuration)
    state.run()
    runs = []

    def press(self, heads):
        runs.append(heads)
        raise KeyboardInterrupt

    monkeypatch.setattr(SchedulingCycle, "run", press)
    with pytest.raises(SearchInterrupted) as caught:
        quota_limits(cluster, configuration, state)
    assert len(runs) == 1
    (one,) = caught.value.answer.workloads
    assert (one.changes, one.complete, caught.value.answer.complete) == ((), False, False)
