"""What documents that place nothing say: ``show``, ``topology``, ``capacity`` of queues, studies, sweeps and others.

Devices, taints, and who holds what are read from the manifests. Sums and counts are added up. Documents about other
clusters than the one that is given (variants of a study, sizes of a sweep) are held against themselves alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import apply_taint_rules
from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import LocalQueue
from ...models.kubernetes.meta import DeviceId
from ...models.results.capacity import QueueCapacityDocument, QueueCopies
from ...models.results.common import CheckDocument, ValidationDocument
from ...models.results.comparison import SweepDocument
from ...models.results.inventory import (
    ClaimInventory,
    DeviceCounts,
    DeviceInventory,
    FreeShapeAnswer,
    InstanceAnswer,
    InventoryDocument,
    TopologyAnswer,
    TopologyDocument,
)
from ...models.results.snapshot import SnapshotDocument
from ...models.results.study import StudyDocument
from .documents import LATE, CheckQuestion, Lines, line
from .published import PublishedDevice, published_devices
from .topology import TopologyInstanceView
from .verify import Replay

_KEEPS_AWAY = ("NoSchedule", "NoExecute")


class _Devices:
    """The devices that are published, and the claims that hold them."""

    def __init__(self, question: CheckQuestion, gates: FeatureGates) -> None:
        self.cluster = question.cluster.with_gates(gates)
        slices = apply_taint_rules(self.cluster.slices, self.cluster.taint_rules, gates)
        self.published: dict[DeviceId, list[PublishedDevice]] = defaultdict(list)
        for one in published_devices(slices):
            self.published[one.id].append(one)
        self._held = Replay(self.cluster, gates).context.held_devices
        self.taints = gates.device_taints
        self.holders = _holders(self.cluster)

    def is_held(self, device: DeviceId) -> bool:
        """Whether a claim has the device, other than for admin access."""
        return self._held.holds(device)

    def is_tainted(self, device: DeviceId) -> bool:
        """Whether each publication of the device has a taint that keeps requests away that do not tolerate it."""
        return self.taints and all(
            any(taint.effect in _KEEPS_AWAY for taint in one.device.taints or ()) for one in self.published[device]
        )


def _holders(cluster: Cluster) -> Mapping[DeviceId, Collection[str]]:
    found: dict[DeviceId, set[str]] = defaultdict(set)
    for key, claim in cluster.claims.items():
        made = claim.status.allocation if claim.status else None
        for one in (made.devices.results if made else None) or ():
            if not one.admin_access:
                found[one.driver, one.pool, one.device].add("/".join(key))
    return found


def inventory_lines(document: InventoryDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``show``: that devices are there, who holds them, and numbers."""
    devices = _Devices(question, gates)
    ids = Counter((one.driver, one.pool, one.device) for one in document.devices)
    wrong = [f"{'/'.join(name)} is there twice" for name, times in ids.items() if times > 1]
    left = len(devices.published.keys() - ids.keys())
    narrowed = "what --node, --class and --driver left out is not in the document" if left else ""
    yield line("document", plural(len(document.devices), "device"), wrong, narrowed)
    by_pool: dict[tuple[str, str], list[DeviceInventory]] = defaultdict(list)
    for one in document.devices:
        by_pool[one.driver, one.pool].append(one)
    for (driver, pool), own in by_pool.items():
        flaws = [] if question.is_late else [text for one in own for text in _device_flaws(one, devices)]
        yield line(f"pool {driver}/{pool}", plural(len(own), "device"), flaws, LATE if question.is_late else "")
    yield line("document", "numbers of devices", list(_count_flaws(document)))
    yield line("document", "why devices are not free", [], "counters, nodes and selectors are not looked at")
    yield from _claim_lines(document.claims, devices)
    known = devices.cluster.nodes.keys()
    wrong = [f"the input has no node {one.name}" for one in document.nodes if one.name and one.name not in known]
    yield line("document", plural(len(document.nodes), "node"), wrong, _NOT_SUMMED if document.nodes else "")


_NOT_SUMMED = "resources of nodes, counters and capacities are not added up"


def _device_flaws(one: DeviceInventory, devices: _Devices) -> Iterator[str]:
    key = one.driver, one.pool, one.device
    name, published = "/".join(key), devices.published.get(key)
    if not published:
        yield f"the input has no device {name}"
        return
    holders = devices.holders.get(key, ())
    if set(one.claims) != set(holders):
        yield f"{name} is held by {', '.join(sorted(holders)) or 'no claim'}"
    shared = all(entry.device.allow_multiple_allocations for entry in published)
    if one.state == "free" and devices.is_held(key) and not shared:
        yield f"{name} is in use"
    if one.state == "inUse" and not devices.is_held(key):
        yield f"{name} is not in use"
    if one.state in ("free", "tainted") and devices.is_tainted(key) != (one.state == "tainted"):
        yield f"{name} is {'' if one.state == 'free' else 'not '}tainted"


def _count_flaws(document: InventoryDocument) -> Iterator[str]:
    """Numbers that are not those of the devices in the document."""
    by: dict[tuple[str, ...], list[DeviceInventory]] = defaultdict(list)
    for one in document.devices:
        names = [("pool", one.driver, one.pool), *(("class", name) for name in one.classes)]
        by["all",].append(one)
        for key in [*names, ("node", one.node)] if one.node else names:
            by[key].append(one)
        if not one.classes:
            by["class", ""].append(one)
    told: list[tuple[tuple[str, ...], DeviceCounts]] = [
        (("all",), document.total),
        (("class", ""), document.unclassified),
        *((("class", one.name), one.devices) for one in document.classes),
        *((("node", one.name), one.devices) for one in document.nodes),
        *((("pool", one.driver, one.name), one.devices) for one in document.pools),
    ]
    met = Counter([*(key for key, _ in told), *(("claim", one.namespace, one.name) for one in document.claims)])
    yield from (f"{' '.join(key)} is there twice" for key, times in met.items() if times > 1)
    for key, counts in told:
        states = Counter(one.state for one in by[key])
        listed = (counts.free, counts.in_use, counts.tainted, counts.blocked, counts.unavailable, counts.unknown)
        found = tuple(states[name] for name in ("free", "inUse", "tainted", "blocked", "unavailable", "unknown"))
        shared = sum(one.state == "free" and bool(one.claims) for one in by[key])
        if listed != found or counts.total != len(by[key]) or counts.shared != shared:
            yield f"{' '.join(filter(None, key))}: {plural(len(by[key]), 'device')}, {states['free']} of them free"


def _claim_lines(claims: Sequence[ClaimInventory], devices: _Devices) -> Lines:
    for one in claims:
        about, claim = f"claim {one.namespace}/{one.name}", devices.cluster.claims.get((one.namespace, one.name))
        if claim is None:
            wrong = [] if one.generated and one.state == "pending" else ["the input has no such claim"]
            yield line(about, one.state, wrong, "it is yet to be made for a pod")
            continue
        made = claim.status.allocation if claim.status else None
        held = [(each.driver, each.pool, each.device) for each in (made.devices.results if made else None) or ()]
        there = "allocated" if all(key in devices.published for key in held) else "orphaned"
        state = "pending" if made is None else there
        wrong = [] if one.state == state else [f"it is {state}"]
        if Counter(held) != Counter((each.driver, each.pool, each.device) for each in one.devices):
            wrong.append(f"it has {plural(len(held), 'device')}")
        yield line(about, one.state, wrong)


def topology_lines(document: TopologyDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``topology``: where devices stand, which are free, and the shapes that it names."""
    devices = _Devices(question, gates)
    for one in document.topologies:
        label = f"DeviceTopology {one.name}"
        topology = devices.cluster.topologies.get(one.name)
        if topology is None:
            yield line(label, one.shape, ["the input has no such topology"])
            continue
        spec = topology.spec
        told = one.driver, one.device_class_name, one.scope, one.shape
        wrong = [] if told == (spec.driver, spec.device_class_name, spec.scope, spec.shape) else ["it is another"]
        yield line(label, one.shape, wrong)
        for number, instance in enumerate(one.instances, 1):
            about, said = f"{label}, {instance.name or number}", plural(len(instance.devices), "device")
            if question.is_late:
                yield line(about, said, [], LATE)
                continue
            view = TopologyInstanceView.of(spec, _members(instance, devices))
            yield line(about, said, list(_instance_flaws(one, instance, view, devices)))
            shapes = list(_shape_flaws(instance, view))
            largest = f"{instance.largest.kind} of {instance.largest.count}"
            yield line(about, largest, shapes, "that no larger one is free is not derived")
            if instance.chosen:
                yield line(about, f"{instance.chosen} chosen", [], "the document has no allocations")


def _members(instance: InstanceAnswer, devices: _Devices) -> Iterator[PublishedDevice]:
    placed = [(one.driver, one.pool, one.device) for one in instance.devices]
    for key in (*placed, *((one.driver, one.pool, one.device) for one in instance.unplaced)):
        yield from devices.published.get(key, ())[:1]


def _instance_flaws(
    topology: TopologyAnswer, instance: InstanceAnswer, view: TopologyInstanceView, devices: _Devices
) -> Iterator[str]:
    states = Counter[str](one.state for one in instance.devices)
    told = {"free": instance.free, "used": instance.used, "chosen": instance.chosen}
    for name, number in told.items():
        if states[name] != number:
            yield f"{states[name]} of its devices are {name}"
    keys = [(one.driver, one.pool, one.device) for one in instance.devices]
    yield from (f"{'/'.join(key)} is there {number} times" for key, number in Counter(keys).items() if number > 1)
    known = {*devices.cluster.nodes} if topology.scope == "Node" else {"/".join(key[:2]) for key in keys}
    if keys and (instance.name not in known if topology.scope != "Cluster" else instance.name):
        yield f"there is no such {topology.scope.lower()}"
    for key, one in zip(keys, instance.devices, strict=True):
        name = "/".join(key)
        if key not in view.members:
            yield f"the input has no device {name}"
            continue
        if topology.driver is not None and one.driver != topology.driver:
            yield f"{name} is of another driver"
        if one.state != "chosen" and devices.is_held(key) != (one.state == "used"):
            yield f"{name} is {'' if devices.is_held(key) else 'not '}in use"
        if key not in view.spots:
            yield f"{name} has no coordinates"
        elif view.spec.coordinates:
            place = [str(elements[0]) for _, elements, _ in view.spots[key]]
            if place != [str(number) for number in one.coordinates]:
                yield f"{name} stands at {', '.join(place)}"


def _shape_flaws(instance: InstanceAnswer, view: TopologyInstanceView) -> Iterator[str]:
    """What is wrong with the shapes by themselves: each is of free devices, and as many as it says."""
    before = [(one, ("free", "chosen")) for one in (instance.largest, *instance.levels)]
    for shape, states in [*before, *((one, ("free",)) for one in (instance.left, *instance.levels_left))]:
        yield from _flaws_of_shape(shape, instance, view, states)


def _flaws_of_shape(
    shape: FreeShapeAnswer, instance: InstanceAnswer, view: TopologyInstanceView, states: Collection[str]
) -> Iterator[str]:
    numbers = [number for number in shape.devices if 0 <= number < len(instance.devices)]
    if len(set(numbers)) != shape.count or len(shape.devices) != shape.count:
        yield f"a {shape.kind} of {shape.count} has {plural(len(set(numbers)), 'device')}"
        return
    own = [instance.devices[number] for number in numbers]
    used = [one for one in own if one.state not in states]
    if used:
        yield f"{used[0].device} in a {shape.kind} is {used[0].state}"
    keys = [(one.driver, one.pool, one.device) for one in own]
    is_one_piece = shape.kind in ("Component", "Segment", "Box") and all(key in view.spots for key in keys)
    if keys and is_one_piece and not _is_connected(view, keys):
        yield f"the devices of a {shape.kind} are not connected"


def _is_connected(view: TopologyInstanceView, keys: Sequence[DeviceId]) -> bool:
    import networkx

    return bool(networkx.is_connected(view.graph(keys)))


def queue_capacity_lines(document: QueueCapacityDocument, _: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``capacity`` about queues: that queues are there, and that numbers agree."""
    local = question.cluster.objects(LocalQueue)
    for one in document.queues:
        queue = local.get((one.namespace, one.local_queue))
        wrong = ["the input has no such LocalQueue"] if queue is None and one.local_queue else []
        if queue is not None and queue.spec.cluster_queue != one.cluster_queue:
            wrong.append(f"it leads to ClusterQueue {queue.spec.cluster_queue}")
        wrong += _copy_flaws(one)
        unchecked = "cycles of Kueue are not run again, and copies are not placed"
        yield line(f"LocalQueue {one.namespace}/{one.local_queue}", f"copies of {one.workload}", wrong, unchecked)


def _copy_flaws(one: QueueCopies) -> Iterator[str]:
    for name, copies in (("quota", one.quota), ("placement", one.placement), ("both", one.both)):
        told, bound = copies.fits, copies.bound
        if told is not None and bound is not None and (told > bound or (copies.proven and told != bound)):
            yield f"{name} is {told}, and at most {bound}"
        if one.both.fits is not None and bound is not None and one.both.fits > bound:
            yield f"both are {one.both.fits}, and {name} is at most {bound}"


def sweep_lines(document: SweepDocument, _: FeatureGates, __: CheckQuestion) -> Lines:
    """Check the document of ``compare --sweep``: that engines agree as it says."""
    parted = [
        point.size
        for point in document.points
        if len({(one.outcome, one.admitted) for one in point.engines if one.outcome != "Unknown"}) > 1
    ]
    wrong = [f"the engines differ at size {parted[0]}"] if parted and document.same_verdict else []
    yield line("sweep", plural(len(document.points), "size"), wrong, "clusters of a sweep are not made again")


def study_lines(document: StudyDocument, _: FeatureGates, __: CheckQuestion) -> Lines:
    """Check the document of ``study``: that variants have figures as it says."""
    names = Counter(one.name for one in document.variants)
    wrong = [f"variant {name} is there twice" for name, times in names.items() if times > 1]
    wrong += [
        f"variant {one.name} has figures of other names"
        for one in document.variants
        if not one.figures.keys() <= set(document.figures)
    ]
    wrong += [
        f"variant {one.name} failed, and has figures"
        for one in document.variants
        if (one.outcome == "Failed") != bool(one.error) or (one.error and one.figures)
    ]
    yield line("study", plural(len(document.variants), "variant"), wrong, "variants are not made and asked again")


def validation_lines(document: ValidationDocument, _: FeatureGates, __: CheckQuestion) -> Lines:
    """Check the document of ``validate``: manifests that are read here have no errors."""
    errors = sum(one.severity == "error" for one in document.problems)
    wrong = [] if document.valid == (not errors) else [f"{plural(errors, 'problem')} are errors"]
    yield line("document", f"valid: {str(document.valid).lower()}", wrong, "problems are not looked for again")


def snapshot_lines(document: SnapshotDocument, _: FeatureGates, __: CheckQuestion) -> Lines:
    """Check the document of ``snapshot``: only its objects show what was read."""
    kinds = Counter((one.kind, one.api_version) for one in document.kinds)
    wrong = [f"{kind} of {version} is there twice" for (kind, version), times in kinds.items() if times > 1]
    number = sum(one.objects for one in document.kinds)
    yield line("snapshot", plural(number, "object"), wrong, "the cluster that was read is not at hand")


def check_lines(document: CheckDocument, _: FeatureGates, __: CheckQuestion) -> Lines:
    """Check the document of ``check``: its numbers, for the document that it is about is another one."""
    verdicts = Counter[str](one.verdict for one in document.lines)
    told = {"holds": document.holding, "fails": document.failing, "unchecked": document.unchecked}
    wrong = [f"{verdicts[name]} lines are {name}" for name, number in told.items() if verdicts[name] != number]
    wrong += [] if document.holds == (not document.failing) else ["it holds if nothing fails"]
    yield line("check", plural(len(document.lines), "line"), wrong, f"check the {document.checked} itself")
