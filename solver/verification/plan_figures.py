"""Figures and labels in the document of a plan, counted again: of its nodes, its units, its steps and its victims.

What is written here says nothing of whether the plan can be carried out. It is what people read first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.results.plan import PlanDocument, PlannedNode, PlannedUnit, PlanStep, PlanVictim
from ...models.workload.running import RunningPod, read_running_pods
from ...models.workload.unit_classes import UnitSet
from .documents import Lines, line


def figure_lines(
    document: PlanDocument,
    cluster: Cluster,
    made: Iterable[AllocationResult],
    pooled: Collection[str],
    misnamed: Sequence[str],
) -> Lines:
    """Check the figures of nodes, the names and gangs of units, and for whom kube-scheduler was asked.

    ``cluster`` has the nodes that are bought but for those that are ``pooled``, and no claim that the plan frees;
    ``made`` is what the plan allocates.
    """
    wrong = node_flaws(document.nodes, document.units, cluster, made, pooled)
    yield line("nodes", f"figures of {len(document.nodes)} nodes", wrong)
    yield line("units", f"names and gangs of {len(document.units)} units", misnamed)
    if document.scheduler_would:
        said = f"what it would do for {plural(len(document.scheduler_would), 'unit')}"
        yield line("kube-scheduler", said, _decision_flaws(document), "what it would do is not simulated again")


def _decision_flaws(document: PlanDocument) -> Iterator[str]:
    """Yield what is wrong with the units of decisions: each is one of the plan, and none of these is there twice."""
    units = {(one.kind, one.namespace, one.name, one.replica, one.unit) for one in document.units}
    told = Counter((one.kind, one.namespace, one.name, one.replica, one.unit) for one in document.scheduler_would or ())
    for unit, number in told.items():
        if unit not in units or number > 1:
            yield f"{unit[0]} {unit[1]}/{unit[4]} is {'no unit of the plan' if unit not in units else 'there twice'}"
    for one in document.scheduler_would or ():
        if bool(one.victims) != (one.action == "preempt"):
            yield f"{one.kind} {one.namespace}/{one.unit}: {one.action} with {plural(len(one.victims), 'victim')}"


def order_flaws(units: Sequence[PlannedUnit]) -> Iterator[str]:
    """Yield what is wrong with the order and the outcomes of units."""
    placed = [one for one in units if one.node is not None]
    if Counter(one.order for one in placed) != Counter(range(1, len(placed) + 1)):
        yield "the order does not have every placed unit once"
    for one in units:
        if (one.node is not None) != (one.outcome == "Placed") or (one.node is None and one.order is not None):
            yield f"{one.kind} {one.namespace}/{one.unit} is {one.outcome} on node {one.node}"


def node_flaws(
    nodes: Sequence[PlannedNode],
    units: Sequence[PlannedUnit],
    cluster: Cluster,
    made: Iterable[AllocationResult],
    unread: Collection[str],
) -> Iterator[str]:
    """Yield what is wrong with the figures of nodes; of those that are ``unread`` only their units are counted."""
    told, placed = Counter(one.name for one in nodes), Counter(one.node for one in units)
    for node in nodes:
        if placed[node.name] != node.units:
            yield f"node {node.name} has {placed[node.name]} units, not {node.units}"
        if node.name not in cluster.nodes and node.name not in unread:
            yield f"node {node.name} is not in the input"
    yield from (f"node {name} is there {number} times" for name, number in told.items() if number > 1)
    yield from (f"node {name} is left out" for name in cluster.nodes if name not in told)
    devices = _devices_of_nodes(cluster)
    statuses = (claim.status for claim in cluster.claims.values())
    held = (status.allocation for status in statuses if status is not None and status.allocation is not None)
    used: dict[str, set[DeviceId]] = defaultdict(set)
    for allocation in (*held, *made):
        for one in allocation.devices.results or ():
            device = one.driver, one.pool, one.device
            if device in devices and not one.admin_access:
                used[devices[device]].add(device)
    own = Counter(devices.values())
    for node in nodes:
        if node.name in unread:
            continue
        if not node.new and node.template:
            yield f"node {node.name} is not made from NodeTemplate {node.template}"
        figures = own[node.name], len(used[node.name])
        if figures != (node.devices, node.used):
            yield f"node {node.name} has {figures[0]} devices of its own, {figures[1]} of them in use"


def _devices_of_nodes(cluster: Cluster) -> Mapping[DeviceId, str]:
    """The devices that one node alone has, in the newest generation of each pool (POOL-3), with that node."""
    newest: dict[tuple[str, str], int] = defaultdict(int)
    for slice_ in cluster.slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest[pool], slice_.spec.pool.generation)
    return {
        (slice_.spec.driver, slice_.spec.pool.name, device.name): slice_.spec.node_name
        for slice_ in cluster.slices
        if slice_.spec.node_name and slice_.spec.pool.generation == newest[slice_.spec.driver, slice_.spec.pool.name]
        for device in slice_.spec.devices or ()
    }


def label_flaws(told: PlannedUnit, own: UnitSet, *others: str) -> Iterator[str]:
    """Yield what is wrong with the name and the gang of a unit; ``others`` are names that its gang may have as well."""
    label = f"{told.kind} {told.namespace}/{told.name}, replica {told.replica}"
    if told.unit != own.unit_name(told.replica):
        yield f"{label} is {own.unit_name(told.replica)}, not {told.unit}"
    gang = own.gang.name if own.gang else ""
    if told.gang not in ((gang, told.name) if told.kind == "Workload" else (gang, *others)):
        yield f"{label} is in {f'gang {gang}' if gang else 'no gang'}"


def claim_flaws(told: PlannedUnit, own: Collection[ObjectKey]) -> Iterator[str]:
    """Yield claims of a unit that are not its ``own``, or are there twice, and devices of one that is not placed."""
    for (namespace, name), times in Counter((one.namespace, one.name) for one in told.claims).items():
        if times > 1 or (namespace, name) not in own:
            yield f"claim {namespace}/{name} is {'there twice' if times > 1 else 'none'} of {told.unit}"
    if told.node is None and any(one.allocation is not None for one in told.claims):
        yield f"{told.unit} has devices, and no place"


def step_flaws(
    cluster: Cluster, gates: FeatureGates, steps: Sequence[PlanStep], victims: Sequence[PlanVictim]
) -> Mapping[int, list[str]]:
    """What is wrong with costs, budgets and nodes of steps, by their numbers from 1 (MOV-3).

    ``cluster`` is the one before the plan.
    """
    running = read_running_pods(cluster, gates, move_bare=True)
    lost = {(one.namespace, one.name) for one in victims}
    return {
        number: list(_step_flaws(step, running.get((step.namespace, step.name)), lost))
        for number, step in enumerate(steps, 1)
    }


def moved_pods(steps: Sequence[PlanStep], victims: Sequence[PlanVictim]) -> int:
    """How many pods leave their places for others, at once or in several steps."""
    leaving = {(one.namespace, one.name) for one in steps if one.kind == "Pod" and one.action in ("move", "evict")}
    return len(leaving - {(one.namespace, one.name) for one in victims})


def _step_flaws(step: PlanStep, pod: RunningPod | None, lost: Collection[tuple[str, str]]) -> Iterator[str]:
    leaves = step.action in ("move", "evict")
    if step.action == "place" and step.source:
        yield f"it leaves no node, and not {step.source}"
    if step.action == "evict" and step.node:
        yield f"it goes nowhere, and not to {step.node}"
    if step.overlap and step.action != "move":
        yield "only a pod that moves has two places at once"
    if step.claims and step.action not in ("move", "place"):
        yield "only a pod that comes to a node has claims"
    cost = pod.cost if pod is not None and leaves and pod.key not in lost else 0
    if step.cost != cost:
        yield f"it costs {cost}"
    budget = "/".join(pod.budgets[0]) if pod is not None and leaves and pod.budgets else ""
    if step.budget != budget:
        yield f"PodDisruptionBudget {budget} is about it" if budget else "no PodDisruptionBudget is about it"


def victim_flaws(cluster: Cluster, gates: FeatureGates, victims: Sequence[PlanVictim]) -> Iterator[str]:
    """Yield what is wrong with the devices and groups of those who lose their places; ``cluster`` is from before."""
    running = read_running_pods(cluster, gates) if victims else {}
    for one in victims:
        label, pod = f"pod {one.namespace}/{one.name}", running.get((one.namespace, one.name))
        # Of pods that do not run the steps tell.
        if pod is None:
            continue
        held = {"/".join(own.ref.key): len(own.allocation.devices.results or ()) for own in pod.held}
        devices = sum(held.get(claim, 0) for claim in one.claims)
        if one.devices != devices:
            yield f"{label} has {devices} devices in these claims"
        gang = f"{pod.gang[0]} {pod.gang[1]}/{pod.gang[2]}" if pod.gang else ""
        if one.gang != gang:
            yield f"{label} is in {gang or 'no group'}"
        if one.returns != pod.is_made_again:
            yield f"{label} {'is made again' if pod.is_made_again else 'is not made again by a controller'}"
