"""Small clusters with workloads that need quota: manifests for the pods, and the quota as records."""

from dataclasses import replace
from fractions import Fraction
from random import Random

from support.manifests import container, device_class, entry, obj, template
from support.plan_scene import gpus

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import Toleration
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests
from drasat.models.workload.quota import FlavorOption, QuotaHolder, QuotaPodSet, QuotaProblem, QuotaWorkload
from drasat.solver.plan.plan import plan

POOL = "example.com/pool"
RACK = "example.com/rack"
TAINT = {"key": "example.com/pool", "value": "b", "effect": "NoSchedule"}
TOLERATION = Toleration(key="example.com/pool", operator="Equal", value="b", effect="NoSchedule")
FLAVOR_A = FlavorOption({"gpu": "a", "cpu": "a"}, {POOL: "a"})
FLAVOR_B = FlavorOption({"gpu": "b", "cpu": "b"}, {POOL: "b"}, (TOLERATION,))


def node(name, pool="", cpu=8, tainted=False, rack=""):
    spec = {"taints": [TAINT]} if tainted else {}
    amounts = {"cpu": str(cpu), "pods": "20"}
    labels = {key: value for key, value in ((POOL, pool), (RACK, rack)) if value}
    return obj("Node", name, spec, labels=labels or None, status={"allocatable": amounts})


def job(name, count, gpu=1, cpu=1, value=None):
    """A Job of so many pods; each has devices by a claim of its own."""
    claims = [entry("g", template=f"t{gpu}")] if gpu else []
    annotations = {"drasat.dev/value": str(value)} if value is not None else None
    spec = {
        "restartPolicy": "Never",
        "containers": [container(cpu=str(cpu))],
        **({"resourceClaims": claims} if claims else {}),
    }
    pods = {"metadata": {"annotations": annotations} if annotations else {}, "spec": spec}
    made = {"parallelism": count, "completions": count, "template": pods}
    return obj("Job", name, made, api_version="batch/v1")


def templates(most=3):
    return [template(f"t{number}", _asking(number)) for number in range(1, most + 1)]


def _asking(count):
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}}
    return {"devices": {"requests": [request]}}


def read(documents):
    manifests, problems, _ = read_manifests([documents])
    assert not [one for one in (*problems, *validate_manifests(manifests)) if one.severity == "error"]
    return Cluster.build(manifests)


class QuotaScene:
    """Nodes by name with pool, devices, cpu and taint; jobs by name with count, devices, cpu and value; the quota.

    ``racks`` has the rack of nodes that are in one.
    """

    def __init__(self, nodes, jobs, problem, racks=None):
        self.nodes = nodes
        self.jobs = jobs
        self.problem = problem
        self.racks = racks or {}

    @property
    def documents(self):
        made = [device_class(), *templates()]
        for name, (pool, devices, cpu, tainted) in self.nodes.items():
            made += [node(name, pool, cpu, tainted, self.racks.get(name, "")), gpus(name, devices)]
        return made + [job(name, *own) for name, own in self.jobs.items()]

    def plan(self, **options):
        return plan(read(self.documents), quota=self.problem, **options)


def workload(name, queue, *pod_sets, jobs=None, priority=None, problem=""):
    owners = tuple(("Job", "default", one) for one in jobs or (name,))
    return QuotaWorkload("default", name, queue, owners, tuple(pod_sets), priority, problem)


def pod_set(scene_job, choices, name="main", minimum=None, group=""):
    """The pod set of a job (count, devices, cpu, value); its charge is what its pods ask for."""
    count, gpu, cpu, _ = scene_job
    return QuotaPodSet(name, count, {"gpu": gpu, "cpu": cpu}, tuple(choices), minimum, group)


def random_scene(seed):
    """Any small scene."""
    random = Random(f"quota/{seed}")
    nodes = {}
    for number in range(random.randint(1, 3)):
        pool = random.choice(("a", "b", "b", ""))
        devices, cpu = random.randint(2, 6), random.randint(3, 10)
        nodes[f"n{number}"] = pool, devices, cpu, pool == "b" and random.random() < 0.4
    separate = random.random() < 0.3
    choices = _choices(separate)
    tree = _tree(random, separate)
    queues = [place for place, one in enumerate(tree) if not one.is_cohort]
    jobs, workloads = {}, []
    count, alike = random.randint(2, 4), random.random() < 0.4
    for number in range(count):
        name = f"w{number}"
        if workloads and alike and random.random() < 0.7:
            workloads.append(_copy(random, name, workloads[-1], jobs))
            continue
        sizes = random.choice(((1,), (1,), (1, 2)))
        own = [f"{name}-{part}" for part in sizes]
        pod_sets, group = [], "g" if len(own) > 1 and random.random() < 0.3 else ""
        partial = random.randrange(len(own)) if random.random() < 0.35 else None
        offered = random.sample(choices, random.randint(1, len(choices))) if random.random() < 0.4 else choices
        for part, job_name in enumerate(own):
            given = jobs[job_name] = _job(random, part)
            least = random.randint(1, given[0]) if part == partial else None
            pod_sets.append(pod_set(given, offered, job_name, least, group))
        priority = random.choice((None, None, 0, 5))
        workloads.append(workload(name, random.choice(queues), *pod_sets, jobs=own, priority=priority))
    if random.random() < 0.5:
        jobs["free"] = random.randint(1, 2), random.randint(0, 1), 1, random.choice((None, 2))
    workloads.sort(key=lambda one: -(one.priority or 0))
    return QuotaScene(nodes, jobs, QuotaProblem(tuple(tree), tuple(workloads)))


def varied_scene(seed):
    """A small scene with workloads that are stopped, that have quota already, or whose pods must be in one rack."""
    random, scene = Random(f"quota/varied/{seed}"), random_scene(seed)
    racks = {name: random.choice(("r1", "r2", "r2", "")) for name in scene.nodes}
    workloads = []
    for one in scene.problem.workloads:
        change = random.choice(("", "", "stopped", "held", "rack", "rack"))
        if change == "stopped":
            one = replace(one, problem="ClusterQueue is stopped")
        elif change == "rack":
            one = replace(one, domain=RACK)
        elif change == "held":
            pod_sets = tuple(
                replace(own, charge={}, choices=own.choices[:1], minimum=0, group="") for own in one.pod_sets
            )
            one = replace(one, pod_sets=pod_sets, grant="held")
        workloads.append(one)
    return QuotaScene(scene.nodes, scene.jobs, replace(scene.problem, workloads=tuple(workloads)), racks)


def _copy(random, name, other, jobs):
    """Another workload of the same queue that asks for the same."""
    own = [f"{name}-{job_name.partition('-')[2]}" for _, _, job_name in other.owners]
    jobs.update(zip(own, (jobs[owner[2]] for owner in other.owners), strict=True))
    return workload(name, other.queue, *other.pod_sets, jobs=own, priority=other.priority)


def _job(random, part):
    # Jobs of a workload differ, so that each has its own pod set.
    return random.randint(1, 3), part + random.randint(0, 1), random.randint(1, 2) + part, random.choice((None, 3))


def _choices(separate):
    if not separate:
        return [FLAVOR_A, FLAVOR_B]
    own = {"c": {}, "d": {POOL: "a"}}
    devices = (("a", {POOL: "a"}, ()), ("b", {POOL: "b"}, (TOLERATION,)))
    return [
        FlavorOption({"gpu": name, "cpu": cpu}, {**labels, **more}, tolerations)
        for name, labels, tolerations in devices
        for cpu, more in own.items()
        if not more or labels == more
    ]


def _tree(random, separate):
    pairs = [("a", "gpu"), ("b", "gpu"), *((("c", "cpu"), ("d", "cpu")) if separate else (("a", "cpu"), ("b", "cpu")))]
    cohorts = random.randint(0, 3)
    tree = []
    for number in range(cohorts):
        parent = random.choice((None, *range(number))) if number else None
        tree.append(_node(random, f"cohort-{number}", parent, pairs, is_cohort=True))
    for number in range(random.randint(1, 3)):
        parent = random.choice((None, *range(cohorts), *range(cohorts)))
        tree.append(_node(random, f"queue-{number}", parent, pairs, is_cohort=False))
    return tree


def _node(random, name, parent, pairs, *, is_cohort):
    most = 4 if is_cohort else 8
    nominal = {pair: random.randint(0, most) for pair in pairs if random.random() < (0.5 if is_cohort else 0.95)}
    limited = parent is not None
    borrowing = {pair: random.randint(0, 4) for pair in nominal if limited and random.random() < 0.3}
    lending = {pair: random.randint(0, amount) for pair, amount in nominal.items() if limited and random.random() < 0.4}
    held = {} if is_cohort else {pair: random.randint(0, 5) for pair in pairs if random.random() < 0.12}
    weight = Fraction(random.choice((1, 1, 2)))
    strict = not is_cohort and random.random() < 0.15
    return QuotaHolder(name, parent, is_cohort, nominal, borrowing, lending, held, weight, strict)
