"""Whether admitted workloads can be placed: nodes of their flavors, devices, gangs, and what runs beside them."""

import copy

import pytest
import yaml
from support.kueue_cases import read_objects

import drasat
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.integrations.kueue.placement import place_admitted
from drasat.models.cluster.cluster import Cluster
from drasat.scenarios.quota import quota as made_up
from drasat.solver.plan.time_budget import PlanTimeBudget


@pytest.fixture
def stranded(examples):
    files = sorted((examples / "kueue" / "j-stranded").glob("*.yaml"))
    return [one for path in files for one in yaml.safe_load_all(path.read_text()) if one]


def asked(manifests, **options):
    return drasat.quota(Cluster.build(read_objects(manifests)), time_limit=None, **options)


def placed(result):
    return {one.name: (one.placed, one.asked) for one in result.document.placement.workloads}


def of_kind(manifests, kind, name):
    (found,) = (one for one in manifests if one["kind"] == kind and one["metadata"]["name"] == name)
    return found


def test_what_no_node_can_hold_is_admitted_and_cannot_be_placed(stranded):
    """Kueue-dra 4.9: quota is a count."""
    result = asked(stranded)
    assert placed(result) == {"whole": (0, 1), "halves": (2, 2)}
    (one,) = result.stranded
    assert one.name == "whole"
    assert any("request gpus needs 8" in reason.message for reason in one.reasons)
    assert result.document.placement.proven
    assert result.document.placement.verified


def test_nodes_of_placed_workloads_are_named(stranded):
    (halves,) = (one for one in asked(stranded).document.placement.workloads if one.name == "halves")
    assert sum(halves.nodes.values()) == 2
    assert all(name.startswith("gpu-") for name in halves.nodes)


def test_a_workload_is_placed_whole_or_not_at_all(stranded):
    """Of two pods with four GPUs one would find a place."""
    kept = [one for one in stranded if one["metadata"]["name"].removesuffix("-gpus") not in ("gpu-2", "gpu-3", "gpu-4")]
    assert placed(asked(kept)) == {"whole": (0, 1), "halves": (0, 2)}


def test_tolerations_and_labels_are_those_of_the_flavor(stranded):
    """Kueue-dra 4.9: pods get them when they are started."""
    assert placed(asked(stranded))["halves"] == (2, 2)
    without = copy.deepcopy(stranded)
    del of_kind(without, "ResourceFlavor", "gpus")["spec"]["tolerations"]
    assert placed(asked(without))["halves"] == (0, 2)
    elsewhere = copy.deepcopy(stranded)
    of_kind(elsewhere, "ResourceFlavor", "gpus")["spec"]["nodeLabels"] = {"example.com/flavor": "other"}
    assert placed(asked(elsewhere))["halves"] == (0, 2)


def test_devices_that_are_in_use_count(stranded):
    """A claim without quota holds a device on each of three nodes."""
    taken = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"taken-{number}", "namespace": "team", "uid": f"uid-taken-{number}"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}]}},
            "status": {
                "allocation": {
                    "devices": {
                        "results": [
                            {"request": "r", "driver": "gpu.example.com", "pool": f"gpu-{number}", "device": "gpu-0"}
                        ]
                    }
                }
            },
        }
        for number in (1, 2, 3)
    ]
    result = asked([*stranded, *taken])
    assert placed(result) == {"whole": (0, 1), "halves": (0, 2)}


def test_the_plan_strands_as_few_as_possible(stranded):
    """Two workloads that fit one by one, and not together with the third."""
    manifests = [one for one in stranded if one["metadata"]["name"] != "whole"]
    of_kind(manifests, "ClusterQueue", "a")["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0][
        "nominalQuota"
    ] = 24
    third = copy.deepcopy(of_kind(manifests, "Workload", "more"))
    third["metadata"] |= {"name": "third", "uid": "uid-third"}
    result = asked([*manifests, third])
    assert all(one.state == "admitted" for one in result.workloads)
    assert len(result.stranded) == 1


def test_without_nodes_nothing_is_planned(stranded):
    kept = [one for one in stranded if one["kind"] not in ("Node", "ResourceSlice")]
    assert not asked(kept).document.placement
    assert not asked(stranded, placement=False).document.placement


def test_workloads_that_held_quota_before_are_planned_with_their_flavors(stranded):
    status = {
        "admission": {
            "clusterQueue": "a",
            "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {"whole-gpus": "gpus"}, "resourceUsage": {"whole-gpus": 8}}
            ],
        },
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "reason": "QuotaReserved",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:01:00Z",
            }
        ],
    }
    of_kind(stranded, "Workload", "whole")["status"] = status
    assert placed(asked(stranded)) == {"whole": (0, 1), "halves": (2, 2)}


def test_all_that_is_admitted_is_placed_or_has_a_reason():
    result = asked(made_up(20, 4, 4, 50, seed=1))
    admitted = {f"{one.namespace}/{one.name}" for one in result.workloads if one.state == "admitted"}
    told = result.document.placement.workloads
    assert {f"{one.namespace}/{one.name}" for one in told} == admitted
    assert all(one.placed in (0, one.asked) for one in told)
    assert all(one.reasons for one in result.stranded)


def test_exit_codes_and_table(drasat, examples):
    done = drasat("quota", "-f", examples / "kueue" / "j-stranded")
    assert done.code == 1
    assert done.out.splitlines()[0].endswith("1 admitted, cannot be placed")
    assert "ADMITTED, CANNOT BE PLACED" in done.out
    assert drasat("quota", "-f", examples / "kueue" / "story-1-batch-jobs").code == 0
    assert "CANNOT BE PLACED" not in drasat("quota", "-f", examples / "kueue" / "j-stranded", "--no-placement").out


def test_a_stranded_workload_alone_is_exit_code_1(drasat, stranded, tmp_path):
    """Everything has quota, and still the answer is no."""
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(one for one in stranded if one["metadata"]["name"] not in ("halves", "more")))
    done = drasat("quota", "-f", path)
    assert (done.code, done.out.splitlines()[0].split(",")[0]) == (1, "1 of 1 workload has quota")


def test_without_time_no_placement_is_known(monkeypatch):
    """Nothing is proven of pods that were not read, though none of them lacks a place."""
    cluster = drasat.load(made_up(20, 4, 4, 50))
    monkeypatch.setattr(PlanTimeBudget, "has_time_to_reread", lambda _: False)
    state = KueueState(cluster, kueue_configuration(cluster))
    phase = state.run()
    found = place_admitted(cluster, state, phase, frozenset(), time_limit=0.0)
    assert (found.workloads, found.proven, found.proof) == ((), False, None)
    assert "before the queue was read: no unit of 50 pods, claims and controllers" in found.notices[-1]
