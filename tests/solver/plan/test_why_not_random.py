"""Random plans: what is said of units that are left out is so on every node, and every change that is told helps."""

import re
from random import Random

import pytest
from msgspec.structs import replace as changed
from support.plan_reasons import Left, tolerating, with_counts, with_cpu
from support.plan_scene import Plan, first_fit, random_cluster

from drasat.models.workload.requests import effective_requests, format_amount, integer_amounts


def with_less(unit, told):
    """The unit with so much less cpu."""
    (amount,) = re.search(r"with (\S+) of cpu less$", told).groups()
    left = effective_requests(unit.pod.spec)["cpu"] - integer_amounts({"cpu": amount})["cpu"]
    return with_cpu(unit, format_amount("cpu", left))


def with_changes(unit, told):
    """The unit with the changes of its pod."""
    if "drop the pod's node selector" in told:
        unit = changed(unit, pod=changed(unit.pod, spec=changed(unit.pod.spec, node_selector=None)))
    return tolerating(unit, key="team", operator="Exists") if "tolerate" in told else unit


def helps(left, unit, told):
    """Whether the unit fits with the change that is told."""
    node_name = re.match(r"it fits node (\w+)", told).group(1)
    assert not left.fits(unit, node_name)
    if told.endswith("less"):
        return left.fits(with_less(unit, told), node_name)
    if "with count" in told:
        (count,) = re.search(r"with count (\d+) instead", told).groups()
        return left.fits(with_counts(unit, int(count)), node_name)
    if "more free" in told:
        freed = [name.removeprefix("default/") for name in re.findall(r"default/[\w-]+", told)]
        return left.fits(unit, node_name, without=freed)
    return left.fits(with_changes(unit, told), node_name)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_said_is_so(seed):
    rng = Random(seed)
    cluster = random_cluster(rng)
    left, before = Left(first_fit(rng, cluster)), Left(Plan(cluster))
    for one in left.plan.units:
        if one.node is not None:
            continue
        told = left.told(one.unit.name)
        fitting = [name for name in cluster.nodes if left.fits(one.unit, name)]
        if fitting:
            assert [id_ for id_, _ in told] == ["left"]
            assert told[0][1].startswith(f"it fits {len(fitting)} of {len(cluster.nodes)} nodes, such as {fitting[0]}:")
            continue
        assert told
        assert "left" not in dict(told)
        could = sum(before.fits(one.unit, name) for name in cluster.nodes)
        if "outbid" in dict(told):
            assert dict(told)["outbid"].startswith(f"it fits {could or 'none'} of ")
        else:
            assert could == 0
        for text in left.relaxations(one.unit.name):
            assert helps(left, one.unit, text), text


def test_all_sorts_of_reasons_and_changes_come_up():
    ids, changes = set(), set()
    for seed in range(40):
        rng = Random(seed)
        left = Left(first_fit(rng, random_cluster(rng)))
        for one in left.plan.units:
            if one.node is None:
                told = left.told(one.unit.name)
                ids |= {id_ for id_, _ in told}
                changes |= {re.sub(r"\w*\d\w*", "", text)[:30] for id_, text in told if id_ == "relaxation"}
    assert {"left", "room", "inUse", "devices", "outbid", "nodeTaint", "nodeSelector", "relaxation"} <= ids
    assert len(changes) >= 5
