"""Teams that share GPUs by quota of Kueue: nodes of three flavors, cohorts three levels deep, and jobs of many sizes.

Quotas add up to what the nodes have: nine tenths in the queues of the teams, the rest in the cohorts at the top. Teams
ask for more or less than their quota, and together for about a quarter more GPUs than there are, so that they borrow,
and some jobs wait. What quota admits may still find no place: jobs of eight GPUs need whole nodes, and some jobs need
GPUs of a model that their flavor does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

from . import objects
from .mig import MIG_CLASS, mig_shape
from .node_shapes import GPU_CLASS, GPU_DRIVER, NodeShape, combine, gpu_shape
from .objects import Mapped
from .queues import pod_spec, with_room

KUEUE_API = "kueue.x-k8s.io/v1beta2"
FLAVOR_LABEL = "example.com/flavor"
GPUS, GPU_MEMORY = "gpus", "gpu-memory"
LOCAL_QUEUE = "jobs"
_GPUS_PER_NODE, _CARDS = 8, 2
_CARD_MEMORY = 40192
_NODE_CPUS, _NODE_GIB = 192, 2048
_ROOM = {"cpu": str(_NODE_CPUS), "memory": f"{_NODE_GIB}Gi", "pods": "110"}
# Of the quota of each flavor this part belongs to no team.
_SHARED = 0.1
_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class QuotaFlavor:
    """A kind of node, and what one node adds to the quota of devices: GPUs, or mebibytes of parts of GPUs."""

    shape: NodeShape
    gpus: int = 0
    memory: int = 0


FLAVORS: Mapping[str, QuotaFlavor] = {
    "h100": QuotaFlavor(gpu_shape("H100-SXM5-80GB", _GPUS_PER_NODE), gpus=_GPUS_PER_NODE),
    "a100": QuotaFlavor(gpu_shape("A100-SXM4-40GB", _GPUS_PER_NODE), gpus=_GPUS_PER_NODE),
    "mig": QuotaFlavor(mig_shape(_CARDS), memory=_CARDS * _CARD_MEMORY),
}
_PATTERN = ("h100", "a100", "h100", "h100", "mig", "h100", "a100", "h100", "a100", "h100")


@dataclass(frozen=True, slots=True)
class PodKind:
    """Equal pods of a job: the template of their claim, if they have one, and what each takes of its node."""

    name: str
    count: int
    template: str
    cpu: int
    gib: int
    least: int = 0
    """With so many pods the job may start; 0: with all."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job, and its part of all jobs."""

    name: str
    part: float
    pods: Sequence[PodKind]


def _gpu_pods(name: str, count: int, size: int, least: int = 0) -> PodKind:
    return PodKind(name, count, f"gpus-{size}", 16 * size, 128 * size, least)


JOBS: Sequence[JobKind] = (
    JobKind("single", 0.36, [_gpu_pods("main", 1, 1)]),
    JobKind("pair", 0.15, [_gpu_pods("main", 1, 2)]),
    JobKind("half", 0.12, [_gpu_pods("main", 1, 4)]),
    JobKind("node", 0.06, [_gpu_pods("main", 1, 8)]),
    JobKind("gang", 0.04, [PodKind("launcher", 1, "", 4, 16), _gpu_pods("workers", 2, 8)]),
    JobKind("halves", 0.05, [_gpu_pods("main", 4, 4)]),
    JobKind("elastic", 0.03, [_gpu_pods("main", 16, 1, least=4)]),
    JobKind("hopper", 0.05, [PodKind("main", 1, "hopper", 16, 128)]),
    JobKind("part", 0.08, [PodKind("main", 1, "part-2g", 8, 64)]),
    JobKind("parts", 0.06, [PodKind("main", 2, "part-3g", 12, 96)]),
)
_IS_HOPPER = f'device.attributes["{GPU_DRIVER}"].architecture == "Hopper"'
_IS_PART = f'device.attributes["{GPU_DRIVER}"].type == "mig"'


def _part_of(profile: str) -> Mapped:
    return objects.wanted("mig", f'device.attributes["{GPU_DRIVER}"].profile == "{profile}"', count=1)


_REQUESTS: Mapping[str, Mapped] = {
    **{f"gpus-{size}": objects.wanted("gpu", count=size) for size in (1, 2, 4, 8)},
    "hopper": objects.wanted("gpu", _IS_HOPPER, count=1),
    "part-2g": _part_of("2g.10gb"),
    "part-3g": _part_of("3g.20gb"),
}
PRIORITIES: Mapping[str, tuple[int, float]] = {"low": (0, 0.5), "normal": (100, 0.4), "high": (1000, 0.1)}
"""Value of each priority class, and which part of the jobs has it."""


def quota(
    nodes: int = 2000,
    queues: int = 200,
    cohorts: int = 20,
    workloads: int = 5000,
    *,
    seed: int = 0,
    fair_sharing: bool = False,
) -> list[Mapped]:
    """Nodes with devices, the quota of as many teams as queues, and their jobs, which all wait.

    A tenth of the cohorts are roots, three tenths the second level, and the rest, which has the queues, the third.
    Of ten nodes six are ``h100``, three ``a100`` and one ``mig``. Two and a half workloads a node are about a quarter
    more than there is room for.
    """
    made = [_configuration(fair_sharing), GPU_CLASS, MIG_CLASS, *_flavor_objects(), *_priority_classes()]
    return combine(
        made, _nodes(nodes, seed), _cohorts_and_queues(nodes, queues, cohorts, seed), _jobs(queues, workloads, seed)
    )


def quota_demand(workloads: int) -> dict[str, int]:
    """How many jobs of each kind so many workloads are; the first kind fills up."""
    counts = {one.name: round(one.part * workloads) for one in JOBS[1:]}
    return {JOBS[0].name: workloads - sum(counts.values()), **counts}


def _configuration(fair_sharing: bool) -> Mapped:
    counter = {"name": "memory", "driver": GPU_DRIVER, "deviceSelector": {"cel": {"expression": _IS_PART}}}
    mappings = [
        {"name": GPUS, "deviceClassNames": ["gpu"]},
        {"name": GPU_MEMORY, "deviceClassNames": ["mig"], "sources": [{"counter": counter}]},
    ]
    sharing = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "metadata": {"name": "kueue"},
        "resources": {"deviceClassMappings": mappings},
        **({"fairSharing": sharing} if fair_sharing else {}),
    }


def _kueue(kind: str, name: str, spec: Mapped, namespace: str = "", **metadata: str) -> Mapped:
    own = {"name": name, **objects.present(namespace=namespace), **metadata}
    return {"apiVersion": KUEUE_API, "kind": kind, "metadata": own, "spec": spec}


def _flavor_objects() -> Iterator[Mapped]:
    for name in FLAVORS:
        yield _kueue("ResourceFlavor", name, {"nodeLabels": {FLAVOR_LABEL: name}})


def _priority_classes() -> Iterator[Mapped]:
    for name, (value, _) in PRIORITIES.items():
        metadata = {"name": name}
        yield {"apiVersion": KUEUE_API, "kind": "WorkloadPriorityClass", "metadata": metadata, "value": value}


def _flavor_of(number: int) -> str:
    return _PATTERN[number % len(_PATTERN)]


def _nodes(nodes: int, seed: int) -> Iterator[Mapped]:
    for number in range(nodes):
        flavor, name = _flavor_of(number), f"node-{number:05d}"
        yield with_room(objects.node(name, {FLAVOR_LABEL: flavor}), _ROOM)
        yield from FLAVORS[flavor].shape.build(Random(f"{seed}/quota/{number}"), name, 0.0)


def _cohorts_and_queues(nodes: int, queues: int, cohorts: int, seed: int) -> Iterator[Mapped]:
    rng = Random(f"{seed}/quota/queues")
    roots, middle = max(1, cohorts // 10), max(1, 3 * cohorts // 10)
    leaves = max(1, cohorts - roots - middle)
    totals = _totals(nodes)
    own = {key: int(amount * _SHARED) for key, amount in totals.items()}
    for number in range(roots):
        # What integers leave over goes to the first.
        part = {key: amount // roots + (amount % roots if number == 0 else 0) for key, amount in own.items()}
        yield _kueue("Cohort", f"division-{number}", {"resourceGroups": [_resource_group(part)]})
    for number in range(middle):
        yield _kueue("Cohort", f"department-{number:02d}", {"parentName": f"division-{number % roots}"})
    for number in range(leaves):
        yield _kueue("Cohort", f"group-{number:02d}", {"parentName": f"department-{number % middle:02d}"})
    weights = [rng.choice((1, 1, 2, 3, 4)) for _ in range(queues)]
    parts = {key: _split(amount - own[key], weights) for key, amount in totals.items()}
    for number in range(queues):
        name = team(number)
        nominal = {key: part[number] for key, part in parts.items()}
        yield objects.namespace(name)
        yield _kueue("ClusterQueue", name, _queue_spec(rng, f"group-{number % leaves:02d}", nominal))
        yield _kueue("LocalQueue", LOCAL_QUEUE, {"clusterQueue": name}, name)


def team(number: int) -> str:
    """The namespace and ClusterQueue of a team."""
    return f"team-{number:03d}"


_Amounts = dict[tuple[str, str], int]


def _totals(nodes: int) -> _Amounts:
    """What all nodes have, by flavor and resource; memory in GiB, memory of parts in MiB."""
    total: _Amounts = {(flavor, resource): 0 for flavor in FLAVORS for resource in ("cpu", "memory", GPUS, GPU_MEMORY)}
    for number in range(nodes):
        name = _flavor_of(number)
        flavor = FLAVORS[name]
        added = {"cpu": _NODE_CPUS, "memory": _NODE_GIB, GPUS: flavor.gpus, GPU_MEMORY: flavor.memory}
        for resource, amount in added.items():
            total[name, resource] += amount
    return total


def _split(amount: int, weights: Sequence[int]) -> list[int]:
    """Integers near the weights' parts that add up to the amount."""
    bounds, passed = [0], 0
    for weight in weights:
        passed += weight
        bounds.append(amount * passed // sum(weights))
    return [after - before for before, after in pairwise(bounds)]


_UNITS = {"memory": "Gi", GPU_MEMORY: "Mi"}


def _resource_group(nominal: _Amounts, borrowing: float | None = None, lending: float | None = None) -> Mapped:
    resources = list(dict.fromkeys(resource for _, resource in nominal))
    flavors = []
    for flavor in FLAVORS:
        quotas = []
        for resource in resources:
            amount, unit = nominal[flavor, resource], _UNITS.get(resource, "")
            entry: Mapped = {"name": resource, "nominalQuota": f"{amount}{unit}"}
            if borrowing is not None:
                entry["borrowingLimit"] = f"{int(amount * borrowing)}{unit}"
            if lending is not None:
                entry["lendingLimit"] = f"{int(amount * lending)}{unit}"
            quotas.append(entry)
        flavors.append({"name": flavor, "resources": quotas})
    return {"coveredResources": resources, "flavors": flavors}


def _queue_spec(rng: Random, cohort: str, nominal: _Amounts) -> Mapped:
    borrowing = rng.choice((None, None, None, 0.5))
    lending = rng.choice((None, None, None, 0.5))
    reclaim = rng.choice(("Any", "Any", "LowerPriority", "Never"))
    return {
        "cohortName": cohort,
        "queueingStrategy": rng.choice(("BestEffortFIFO",) * 4 + ("StrictFIFO",)),
        "namespaceSelector": {},
        "resourceGroups": [_resource_group(nominal, borrowing, lending)],
        "preemption": {"reclaimWithinCohort": reclaim, "withinClusterQueue": rng.choice(("LowerPriority", "Never"))},
        "flavorFungibility": {
            "whenCanBorrow": rng.choice(("MayStopSearch", "TryNextFlavor")),
            "whenCanPreempt": "TryNextFlavor",
        },
        "fairSharing": {"weight": str(rng.choice((1, 1, 2)))},
    }


def _jobs(queues: int, workloads: int, seed: int) -> Iterator[Mapped]:
    """Jobs in random order, a few seconds apart; teams ask for different amounts."""
    rng = Random(f"{seed}/quota/jobs")
    kinds = [one for one in JOBS for _ in range(quota_demand(workloads)[one.name])]
    rng.shuffle(kinds)
    teams = list(range(queues))
    rng.shuffle(teams)
    weights = [1 / (1 + rank) ** 0.3 for rank in range(queues)]
    names, parts = list(PRIORITIES), [part for _, part in PRIORITIES.values()]
    created = _START
    for number, kind in enumerate(kinds):
        created += timedelta(seconds=rng.randint(1, 20))
        (own,) = rng.choices(teams, weights)
        (priority,) = rng.choices(names, parts)
        for template in dict.fromkeys(one.template for one in kind.pods if one.template):
            spec = objects.claim_spec([objects.exactly("devices", _REQUESTS[template])])
            yield objects.template(template, spec, team(own))
        yield _workload(f"{kind.name}-{number:05d}", team(own), kind, priority, created)


def _workload(name: str, namespace: str, kind: JobKind, priority: str, created: datetime) -> Mapped:
    spec = {
        "queueName": LOCAL_QUEUE,
        "priority": PRIORITIES[priority][0],
        "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": priority},
        "podSets": [_pod_set(one) for one in kind.pods],
    }
    moment = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    return _kueue("Workload", name, spec, namespace, creationTimestamp=moment, uid=f"uid-{name}")


def _pod_set(kind: PodKind) -> Mapped:
    claims = [objects.by_template("devices", kind.template)] if kind.template else []
    requests = {"cpu": str(kind.cpu), "memory": f"{kind.gib}Gi"}
    template = {"spec": {"restartPolicy": "Never", **pod_spec(requests, claims)}}
    least = {"minCount": kind.least} if kind.least else {}
    return {"name": kind.name, "count": kind.count, **least, "template": template}
