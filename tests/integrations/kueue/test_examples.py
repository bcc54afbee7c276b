"""The examples of quota: what their pages say is what is counted and admitted."""

import pytest

from drasat.integrations.kueue.configuration import kueue_configuration, start_errors
from drasat.integrations.kueue.counting import count_workload
from drasat.integrations.kueue.cycles import KueueState
from drasat.models.formats.errors import InputError
from drasat.models.kubernetes.kueue import KueueWorkload
from drasat.solver.allocate.load import load_all

FOLDERS = [
    "story-1-batch-jobs", "story-2-quota-and-preemption", "a-lending", "b-cohort-tree", "c-borrowing", "d-flavors",
    "e-fungibility", "f-resource-groups", "g-reclaim", "h-reclaim-newest", "i-fair-sharing", "j-stranded",
]  # fmt: skip


def cluster_of(examples, folder):
    loaded = load_all([examples / "kueue" / folder])
    assert not loaded.warnings
    return loaded.cluster


def test_every_example_is_tested(examples):
    folders = {path.parent.name for path in (examples / "kueue").glob("*/README.md")}
    assert folders == {*FOLDERS, "story-3-mapping-conflict"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_workloads_with_quota_hold_what_they_are_counted_as(examples, folder):
    cluster = cluster_of(examples, folder)
    configuration = kueue_configuration(cluster)
    assert start_errors(cluster) == []
    for one in cluster.objects(KueueWorkload).values():
        (charge,) = count_workload(one, cluster, configuration).pod_sets
        if one.status.admission is not None:
            (held,) = one.status.admission.pod_set_assignments
            assert {name: str(amount) for name, amount in charge.requests.items()} == held.resource_usage


def test_the_job_of_the_first_story_is_charged_as_the_design_says(examples):
    """Kueue-dra 3.9: the end-to-end example of the design."""
    cluster = cluster_of(examples, "story-1-batch-jobs")
    (one,) = cluster.objects(KueueWorkload).values()
    (charge,) = count_workload(one, cluster, kueue_configuration(cluster)).pod_sets
    assert charge.requests == {"cpu": 1000, "memory": 200 * 2**20, "whole-gpus": 1}


def test_a_configuration_that_kueue_refuses_is_refused_in_its_words(examples):
    """The third story of the design; rules V2 and V9 of kueue-dra 2.1."""
    with pytest.raises(InputError) as refused:
        cluster_of(examples, "story-3-mapping-conflict")
    assert "resources.deviceClassMappings[1].deviceClassNames[0]" in str(refused.value)
    assert "device class already mapped to resource whole-gpus" in str(refused.value)
    assert 'resources.deviceClassMappings[2].name: Invalid value: "big gpus"' in str(refused.value)


def run(examples, folder):
    """What happens in the cycles, and the state that they leave."""
    cluster = cluster_of(examples, folder)
    state = KueueState(cluster, kueue_configuration(cluster))
    return state.run(30), state


def phase_of(examples, folder):
    return run(examples, folder)[0]


GPUS = "whole-gpus"


@pytest.mark.parametrize(
    ("folder", "admitted", "evicted", "waiting"),
    [
        ("story-1-batch-jobs", {"sample": "gpus"}, (), ()),
        ("story-2-quota-and-preemption", {"urgent": "gpus"}, ("nightly",), ("later", "nightly")),
        ("a-lending", {"a-8": "gpus"}, (), ("b-1",)),
        ("b-cohort-tree", {"inner-4": "gpus"}, (), ("inner-5",)),
        ("c-borrowing", {"a-5": "gpus"}, (), ("d-5",)),
        ("d-flavors", {"three": "ondemand"}, (), ()),
        ("e-fungibility", {"next-3": "ondemand", "stop-3": "spot", "stop-low": "ondemand"}, ("stop-low",), ()),
        ("f-resource-groups", {"apart-3": "ondemand", "together-3": "ondemand"}, (), ()),
        ("g-reclaim", {"a-4": "gpus"}, ("b2",), ("b2",)),
        ("h-reclaim-newest", {"a-4": "gpus"}, ("b3",), ("b3",)),
        ("i-fair-sharing", {"a-6": "gpus"}, ("b3", "b4", "b5"), ("b3", "b4", "b5")),
        ("j-stranded", {"whole": "gpus", "halves": "gpus"}, (), ("more",)),
    ],
)
def test_what_is_admitted_is_what_the_page_says(examples, folder, admitted, evicted, waiting):
    """Examples A to I of kueue-dra 4.2, 4.3, 4.7 and 4.8: the flavor of the GPUs, who gives way, and who waits."""
    phase, state = run(examples, folder)
    assert phase.settled
    grants = dict(grant for cycle in phase.cycles for grant in cycle.admitted)
    assert {key.removeprefix("team/"): one.pod_sets[0].flavors[GPUS] for key, one in grants.items()} == admitted
    gone = [one.workload for cycle in phase.cycles for one in cycle.evicted]
    assert sorted(gone) == [f"team/{name}" for name in evicted]
    without = [key for key, one in state.workloads.items() if not one.reserved]
    assert sorted(without) == [f"team/{name}" for name in waiting]


def test_resources_of_two_groups_get_flavors_of_their_own(examples):
    """Example F of kueue-dra 4.3."""
    grants = dict(grant for cycle in phase_of(examples, "f-resource-groups").cycles for grant in cycle.admitted)
    flavors = {key: dict(one.pod_sets[0].flavors) for key, one in grants.items()}
    assert flavors == {
        "team/together-3": {"cpu": "ondemand", GPUS: "ondemand"},
        "team/apart-3": {"cpu": "small", GPUS: "ondemand"},
    }


def test_amounts_that_are_available_are_those_of_the_page(examples):
    """Examples A, B and C of kueue-dra 4.2."""
    before = {
        (folder, row.node): (row.available, row.potential)
        for folder in ("a-lending", "b-cohort-tree", "c-borrowing")
        for row in phase_of(examples, folder).quota_before
        if row.is_queue
    }
    # Of a lent quota 8 are left beside the 8 that the other queue holds; 16 is the most that there could be.
    assert before["a-lending", "a"] == (8, 16)
    assert before["a-lending", "b"] == (1, 9)
    assert before["b-cohort-tree", "inner"] == (4, 4)
    assert before["b-cohort-tree", "outer"] == (10, 10)
    assert before["c-borrowing", "a"] == (6, 6)
    assert before["c-borrowing", "d"] == (4, 4)
    after = {row.node: row.available for row in phase_of(examples, "a-lending").quota_after if row.is_queue}
    assert after["b"] == 0


def test_shares_end_as_the_page_says(examples):
    """Example I of kueue-dra 4.8."""
    shares = phase_of(examples, "i-fair-sharing").shares
    assert shares["a", True] == shares["b", True]
