"""Running pods that NoExecute taints of devices delete count as running, and a notice names them (MOV-10, MOV-11)."""

import pytest
from support.moving import holder
from support.plan_building import ALL, classes, cluster, device, node, nodes, obj, published, user

import drasat
from drasat.models.workload.requested import taint_notices

TAINT = {"key": "broken", "value": "yes", "effect": "NoExecute"}


def tainted(effect="NoExecute", by_rule=False):
    """A node whose first device has a taint, of the slice or of a DeviceTaintRule."""
    taint = TAINT | {"effect": effect}
    if not by_rule:
        return [node("n1", cpu="8"), published("n1", device("gpu-0", taints=[taint]), device("gpu-1"))]
    rule = obj("DeviceTaintRule", "r", {"deviceSelector": {"pool": "n1", "device": "gpu-0"}, "taint": taint})
    return [*nodes("n1", devices=2), rule]


def tolerating(**seconds):
    """Tolerations of the taint, and of another key: after so many seconds, or None for ever."""
    found = []
    for key, limit in seconds.items():
        own = {"key": key, "operator": "Exists", "effect": "NoExecute"}
        found.append(own if limit is None else own | {"tolerationSeconds": limit})
    return found


@pytest.mark.parametrize(
    ("there", "tolerations", "ending"),
    [
        (tainted(), [], "a, which"),
        (tainted(by_rule=True), [], "a, which"),
        (tainted("NoSchedule"), [], None),
        (tainted("None"), [], None),
        (tainted(), tolerating(broken=None), None),
        (tainted(), tolerating(other=None), "a, which"),
        (tainted(), tolerating(broken=300, other=None), "a after 300 s, which"),
        (tainted(), [*tolerating(broken=300), *tolerating(broken=60)], "a after 60 s, which"),
    ],
)
def test_pods_that_a_taint_deletes_are_named(there, tolerations, ending):
    """MOV-10, F8, MOV-11: they count as running, which plan, explain and show say; DaemonSet pods as well."""
    made = holder("a", "n1", 0, owner=("DaemonSet", "d"))
    made[1]["status"]["allocation"]["devices"]["results"][0]["tolerations"] = tolerations
    given = cluster(*classes(), *there, *made, *holder("b", "n1", 1), user("w", spec="t"))
    said = f"taint broken=yes:NoExecute of a device deletes default/{ending} this answer counts as running"
    notices = [said] if ending else []
    answers = [drasat.plan(given), drasat.plan(given, moves="any"), drasat.plan(given, preempt=True)]
    answers += [drasat.explain(given), drasat.show(given)]
    for answer in answers:
        assert [one for one in answer.document.notices if "NoExecute" in one] == notices
    without = drasat.plan(given, feature_gates={"DRADeviceTaints": False}).document.notices
    assert not any("NoExecute" in one for one in without)


def test_all_pods_of_a_group_go_with_a_claim_of_the_group():
    """PGC-10: also those that do not use it."""
    group = obj("PodGroup", "g", {"schedulingPolicy": {"basic": {}}}) | {"apiVersion": "scheduling.k8s.io/v1beta1"}
    member = {"spec_more": {"schedulingGroup": {"podGroupName": "g"}}}
    made = [*holder("a", "n1", 0, **member), *holder("c", "n1", **member), *holder("d", "n1")]
    consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}
    made[1]["status"]["reservedFor"] = [consumer]
    (said,) = taint_notices(cluster(*classes(), *tainted(), *made, group), ALL)
    assert "deletes default/a, default/c, which" in said
