"""How many more copies fit: Kueue's cycles admit so many and no more, and a plan places so many and no more."""

import pytest
from msgspec.structs import replace
from support.kueue_cases import kueue_cases
from support.kueue_scene import queue, scene, workload

import drasat
from drasat.integrations.kueue import copy_placement
from drasat.integrations.kueue.configuration import kueue_configuration, start_errors
from drasat.integrations.kueue.cycles import KueueState
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.kueue import ClusterQueue, KueueWorkload, KueueWorkloadStatus
from drasat.models.kubernetes.meta import ObjectMeta, key_of

MOST_COPIES = 40


def without_preemption(cluster):
    """The cluster with queues that preempt nobody; two heads of a cycle would otherwise wait for each other."""
    queues = {
        key: replace(one, spec=replace(one.spec, preemption=type(one.spec.preemption)()))
        for key, one in cluster.objects(ClusterQueue).items()
    }
    return with_objects(cluster, ClusterQueue, queues)


def with_objects(cluster, kind, objects):
    return Cluster.of([*(one.object for one in cluster.read if not isinstance(one.object, kind)), *objects.values()])


def with_copies(cluster, row, copies):
    """What holds quota, and so many copies of the workload of a row in its queue, made after everything."""
    known = cluster.objects(KueueWorkload)
    state = KueueState(cluster, kueue_configuration(cluster))
    held = {key: one for key, one in known.items() if state.workloads["/".join(key)].reserved}
    original = known[row.namespace, row.workload]
    sets = tuple(replace(one, min_count=None) for one in original.spec.pod_sets or ())
    spec = replace(original.spec, queue_name=row.local_queue, active=True, pod_sets=sets)
    made = {}
    for number in range(copies):
        created = f"2040-01-01T00:{number // 60:02}:{number % 60:02}Z"
        meta = ObjectMeta(
            name=f"copy-{number}", namespace=row.namespace, uid=f"copy-{number:04}", creation_timestamp=created
        )
        made[key_of(meta)] = replace(original, metadata=meta, spec=spec, status=KueueWorkloadStatus())
    return with_objects(cluster, KueueWorkload, {**held, **made})


def admitted(cluster):
    """The copies that Kueue's cycles admit, in turn, with their flavors."""
    state = KueueState(cluster, kueue_configuration(cluster))
    state.run()
    copies = [state.workloads[key] for key in sorted(state.workloads) if "/copy-" in key]
    copies.sort(key=lambda one: int(one.name.removeprefix("copy-")))
    return [None if not one.reserved else [dict(own.flavors) for own in one.grant.pod_sets] for one in copies]


def check_by_quota(cluster, row):
    """Kueue admits as many copies as are said to fit, with the flavors said, and not one more."""
    fits = row.quota.fits
    expected = [list(run.flavors.values()) for run in row.flavors for _ in range(run.copies or 0)]
    if row.quota.unbounded or fits > MOST_COPIES:
        # The first ones at least.
        fits = min(MOST_COPIES, fits or MOST_COPIES)
        assert None not in admitted(with_copies(cluster, row, fits))
        return 0
    got = admitted(with_copies(cluster, row, fits + 1))
    assert (row.quota.bound, len(expected)) == (fits, fits)
    assert [own is not None for own in got] == [True] * fits + [False], row
    assert got[:fits] == expected
    return 1


def cases(start, step):
    """Recorded cases with workloads that are not refused, and whose configuration starts."""
    for case in kueue_cases()[start::step]:
        if "phases" in case.verdict and not start_errors(case.cluster) and case.cluster.objects(ClusterQueue):
            yield case


def check_cases(start, step):
    checked = 0
    for case in cases(start, step):
        cluster = without_preemption(case.cluster)
        for row in drasat.queue_capacity(cluster, time_limit=None).queues:
            if (row.namespace, row.workload) in cluster.objects(KueueWorkload):
                checked += check_by_quota(cluster, row)
    return checked


def test_kueue_admits_as_many_copies_as_are_said_to_fit_and_no_more():
    """4.2 to 4.6, on the queues, cohorts and workloads of recorded cases."""
    assert check_cases(0, 25) > 40


SCENES = {
    "quota binds": ({"old": [8, 8]}, queue("q", old=6), [("main", 1, 2)], (3, 8, 3, "quota")),
    "nodes bind": ({"old": [3, 3]}, queue("q", old=9), [("main", 1, 2)], (4, 2, 2, "placement")),
    "pods are whole": ({"old": [3, 3]}, queue("q", old=99), [("main", 3, 1)], (33, 2, 2, "placement")),
    "a second flavor": ({"old": [4], "new": [5]}, queue("q", old=4, new=4), [("main", 1, 2)], (4, 4, 4, "both")),
    # Kueue takes the old flavor first, whatever its nodes have.
    "the first flavor is in the way": (
        {"old": [1], "new": [8]}, queue("q", old=4, new=4), [("main", 1, 2)], (4, 4, 0, "placement"),
    ),
    "the second one ends": (
        {"old": [4], "new": [2]}, queue("q", old=4, new=8), [("main", 1, 2)], (6, 3, 3, "placement"),
    ),
    "two pod sets compete": (
        {"old": [4, 3]}, queue("q", old=30), [("head", 1, 1), ("workers", 2, 2)], (6, 1, 1, "placement"),
    ),
    "pod sets without devices": (
        {"old": [4, 4]}, queue("q", old=30), [("head", 1, 0), ("workers", 2, 2)], (7, 2, 2, "placement"),
    ),
    "two pod sets and flavors": (
        {"old": [3], "new": [3, 3]}, queue("q", old=3, new=6), [("head", 1, 1), ("workers", 1, 2)],
        (3, 3, 3, "both"),
    ),
    "stranded between flavors": (
        {"old": [3], "new": [1, 1]}, queue("q", old=3, new=6), [("head", 1, 1), ("workers", 1, 2)],
        (3, 1, 1, "placement"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_copies_by_quota_placement_and_both(name):
    """The numbers are proven, and plans of so many copies, and of one more, agree."""
    nodes, queues, pod_sets, (by_quota, by_placement, by_both, limit) = SCENES[name]
    given = scene(nodes, queues, workload("job", "q", *pod_sets))
    (row,) = drasat.queue_capacity(given, workload="team/job").queues
    assert (row.quota.fits, row.placement.fits, row.both.fits) == (by_quota, by_placement, by_both)
    assert (row.quota.bound, row.placement.bound, row.both.bound) == (by_quota, by_placement, by_both)
    assert row.limited_by == ("quota and placement" if limit == "both" else limit)
    check_by_quota(given, row)
    for copies, all_fit in ((by_both, True), (by_both + 1, False)):
        jobs = [workload(f"job-{number}", "q", *pod_sets) for number in range(copies)]
        for number, one in enumerate(jobs):
            one["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{number:02}Z"
        found = drasat.plan(scene(nodes, queues, *jobs), quota="kueue", gap=0).document
        assert (found.placed == found.asked) is all_fit
    if by_placement:
        jobs = [workload(f"job-{number}", "q", *pod_sets) for number in range(by_placement + 1)]
        units = sum(count for _, count, _ in pod_sets)
        free = scene(nodes, queue("q", old=99, new=99), *jobs)
        assert drasat.plan(free, gap=0).placed == by_placement * units


def test_what_limits_is_named():
    """The quota that the next copy lacks, and what its pods lack on nodes."""
    lending = queue("q", old=4)
    given = scene({"old": [4]}, lending, workload("job", "q", ("main", 1, 2)))
    (row,) = drasat.queue_capacity(given).queues
    (short,) = row.missing
    assert (short.node, short.cohort, short.field, short.available) == ("q", False, "nominalQuota", "0")
    assert "insufficient unused quota for gpus in flavor old, 2 more needed" in row.message
    (kind,) = (one for pods in row.pods for one in pods.nodes)
    assert [reason.message for reason in kind.reasons] == ["request gpus needs 2, 0 fit of 4 devices: 4 in use"]
    assert kind.proof or kind.certified


def test_what_holds_quota_and_devices_counts_and_what_waits_does_not():
    holding = workload("held", "q", ("main", 1, 2))
    assigned = {"name": "main", "count": 1, "flavors": {"gpus": "old"}, "resourceUsage": {"gpus": "2"}}
    now = "2026-01-01T00:00:00Z"
    holding["status"] = {
        "admission": {"clusterQueue": "q", "podSetAssignments": [assigned]},
        "conditions": [
            {"type": name, "status": "True", "reason": name, "message": "", "lastTransitionTime": now}
            for name in ("QuotaReserved", "Admitted")
        ],
    }
    jobs = [workload(f"job-{number}", "q", ("main", 1, 2)) for number in range(3)]
    result = drasat.queue_capacity(scene({"old": [8]}, queue("q", old=6), holding, *jobs))
    # The four are of one sort.
    (row,) = result.queues
    assert (row.workload, row.quota.fits, row.placement.fits) == ("held", 2, 4)


def test_a_named_job_is_counted_in_every_queue_of_its_namespace():
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "b"}},
        "spec": {"suspend": True, "parallelism": 2, "completions": 2, "template": {}},
    }
    job["spec"]["template"] = workload("job", "b", ("main", 2, 1))["spec"]["podSets"][0]["template"]
    given = scene({"old": [8]}, queue("a", old=4), queue("b", old=2), queue("c", new=2), job)
    result = drasat.queue_capacity(given, workload="team/train")
    numbers = [(one.local_queue, one.quota.fits, one.placement.fits, one.both.fits) for one in result.queues]
    assert numbers == [("b", 1, 4, 1), ("a", 2, 4, 2), ("c", 1, 0, 0)]
    assert (result.fits, result.proven) == (1, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queueName": "none"}, "LocalQueue none doesn't exist"),
        ({"podSets": [{**workload("x", "q", ("main", 1, 0))["spec"]["podSets"][0]}]}, ""),
    ],
)
def test_what_is_in_no_queue_and_what_is_charged_nothing(change, message):
    one = workload("job", "q", ("main", 1, 1))
    one["spec"] |= change
    (row,) = drasat.queue_capacity(scene({"old": [2]}, queue("q", old=6), one)).queues
    assert row.message == message
    assert (row.quota.fits, row.quota.unbounded) == ((0, False) if message else (None, True))


def test_what_is_wrong_is_said_in_one_line():
    given = scene({"old": [2]}, queue("q", old=6))
    with pytest.raises(ValueError, match="Workload team/none not found"):
        drasat.queue_capacity(given, workload="team/none")
    with pytest.raises(ValueError, match="the input has no ClusterQueue"):
        drasat.queue_capacity(scene({"old": [2]}))
    assert drasat.queue_capacity(given).queues == ()


def test_an_interrupt_leaves_the_rows_that_are_known(monkeypatch):
    real, calls = copy_placement.capacity, []

    def counted(*args, **options):
        calls.append(options)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(copy_placement, "capacity", counted)
    jobs = [workload(f"job-{size}", "q", ("main", 1, size)) for size in (1, 2)]
    with pytest.raises(drasat.QueueCapacityInterrupted) as stopped:
        drasat.queue_capacity(scene({"old": [4]}, queue("q", old=3), *jobs))
    assert [(one.workload, one.both.fits) for one in stopped.value.result.queues] == [("job-1", 3)]


def test_copies_of_a_template_and_of_a_pod_are_counted_in_every_queue_of_the_namespace():
    """A pod with one claim of two GPUs: five GPUs of quota, and nodes with four and one."""
    labels = {"kueue.x-k8s.io/queue-name": "b"}
    claims = [{"name": "c", "resourceClaimTemplateName": "gpus-2"}]
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team", "labels": labels}}
    cluster = scene({"old": [4, 1]}, queue("a", old=5), queue("b", old=2), {**pod, "spec": spec})
    found = drasat.queue_capacity(cluster, template="team/gpus-2").queues
    assert [(one.local_queue, one.quota.fits, one.placement.fits, one.both.fits) for one in found] == [
        ("a", 2, 2, 2),
        ("b", 1, 2, 1),
    ]
    assert all(one.both.proven for one in found)
    own, other = drasat.queue_capacity(cluster, pod="team/p").queues
    assert (own.local_queue, own.both.fits, other.local_queue, other.both.fits) == ("b", 1, "a", 2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"template": "team/none"}, "ResourceClaimTemplate team/none not found"),
        ({"template": "team/gpus-2", "pod": "team/p"}, "give only one of them"),
        ({"pod": "nobody/p"}, "not found"),
    ],
)
def test_what_cannot_be_copied_is_one_line(asked, message):
    with pytest.raises(ValueError, match=message) as refused:
        drasat.queue_capacity(scene({"old": [4]}, queue("a", old=5)), **asked)
    assert "\n" not in str(refused.value)
