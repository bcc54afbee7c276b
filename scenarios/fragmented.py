"""Clusters that filled up and then lost a part of their pods: what is free is in pieces, and larger pods wait.

Running pods have controllers, so that they may move, but for a few that may not. Their claims hold devices.
``GENERATORS`` has a generator for each kind of piece: shares of GPUs and odd numbers of them, partitions with holes
between them, and racks of which none is free as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from . import objects
from .mig import MIG_PROFILES, mig_nodes, packed, partition_name
from .node_shapes import GPU_CLASS, GPU_DRIVER, combine, gpu, uuid
from .objects import Mapped
from .openb import NODES, class_name, filled_by_fgd, manifests, node_name, openb
from .queues import deployment, job, pod_spec, with_room

CLIQUE_LABEL = "nvidia.com/gpu.clique"
RACK_NODES, RACK_DEVICES = 18, 4
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
_ROOM = {"cpu": "192", "memory": "2048Gi", "pods": "110"}
# Of the pods that may not move this part has nobody who makes them again; the others say that they may not.
_BARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaKind:
    """Equal pods: the name of their controller, what they request, and the claim of each, under the name ``entry``."""

    name: str
    requests: Mapping[str, str]
    template: str = ""
    claim: Mapped | None = None
    entry: str = "gpu"

    @property
    def spec(self) -> Mapped:
        """The spec of a pod."""
        return pod_spec(self.requests, [objects.by_template(self.entry, self.template)] if self.claim else [])


@dataclass(frozen=True, slots=True)
class RunningDraft:
    """A pod of a kind that runs on a node; ``results`` are what its claim holds."""

    kind: ReplicaKind
    node: str
    results: tuple[Mapped, ...] = ()


def fragmented_openb(
    nodes: int = NODES,
    *,
    load: float = 1.0,
    departed: float = 0.3,
    waiting: float = 1.0,
    fixed: float = 0.05,
    seed: int = 0,
) -> list[Mapped]:
    """Nodes of the openb trace (all 1,523 by default), filled by FGD with pods that ask for ``load`` times their GPUs.

    Pods arrive in random order. The part ``departed`` of those that found a place is gone again. Pods of the same mix
    wait that ask for ``waiting`` times the GPUs that are free. The part ``fixed`` of what runs may not move.
    """
    rng = _random(seed, departed=departed, fixed=fixed)
    trace = openb("plain", load, nodes)
    drafts = []
    kinds = [
        ReplicaKind(f"running-{number:03d}", pods.requests, class_name(number), pods.spec if pods.gpus else None)
        for number, pods in enumerate(trace.pods)
    ]
    held = 0
    for placed in _remaining(rng, filled_by_fgd(trace, seed), departed):
        pods, node = trace.pods[placed.pods], node_name(placed.node)
        held += pods.takes
        results = tuple(
            _result(node, f"gpu-{one}", shareID=uuid(rng), consumedCapacity={"share": str(pods.share)})
            for one in placed.gpus
        )
        drafts.append(RunningDraft(kinds[placed.pods], node, results))
    asked = replace(trace, pods=tuple(replace(pods, count=pods.count if pods.gpus else 0) for pods in trace.pods))
    free = 1 - held / trace.gpus if trace.gpus else 0
    queue = asked.with_load(waiting * free)
    return combine(manifests(queue), _running(rng, drafts, fixed))


def fragmented_partitions(
    nodes: int = 10, *, gpus: int = 4, departed: float = 0.5, waiting: float = 0.5, fixed: float = 0.05, seed: int = 0
) -> list[Mapped]:
    """Nodes with A100 GPUs (at most 8) that were filled with partitions at random, of which some are gone again.

    So free memory slices have partitions between them. Pods wait for large partitions that take the part ``waiting``
    of the free slices; the rest is as in ``fragmented_openb``.
    """
    rng = _random(seed, departed=departed, fixed=fixed)
    made = list(_with_rooms(mig_nodes(nodes, gpus, seed=seed)))
    places = [
        (f"mig-{node:05d}", gpu, profile, start)
        for node in range(nodes)
        for gpu in range(gpus)
        for profile, start in packed(rng)
    ]
    kinds = {name: _partition_kind(name) for name in MIG_PROFILES}
    drafts, free = [], 8 * nodes * gpus
    for node, card, profile, start in _remaining(rng, places, departed):
        free -= MIG_PROFILES[profile].size
        drafts.append(RunningDraft(kinds[profile], node, (_result(node, partition_name(card, profile, start)),)))
    counts = _drawn(rng, {"7g.40gb": (1, 8), "4g.20gb": (1, 4), "3g.20gb": (2, 4), "2g.10gb": (2, 2)}, waiting * free)
    queue = [deployment(f"waiting-{kinds[name].name}", number, kinds[name].spec) for name, number in counts.items()]
    return combine(made, _templates(kinds.values()), _running(rng, drafts, fixed), queue)


def fragmented_racks(
    racks: int = 4,
    *,
    nodes: int = RACK_NODES,
    devices: int = RACK_DEVICES,
    departed: float = 0.5,
    waiting: float = 0.5,
    fixed: float = 0.02,
    seed: int = 0,
) -> list[Mapped]:
    """Racks of nodes that are an NVLink domain each, by the label ``CLIQUE_LABEL``; pods are left everywhere.

    Gangs wait that need one rack each, a quarter of it to the whole, for the part ``waiting`` of the free devices; the
    rest is as in ``fragmented_openb``.
    """
    rng = _random(seed, departed=departed, fixed=fixed)
    made: list[Mapped] = [GPU_CLASS]
    kinds = {size: _gpus_kind(size) for size in (1, 2, 4)}
    places: list[tuple[str, tuple[int, ...]]] = []
    for rack in range(racks):
        for number in range(nodes):
            name = f"rack-{rack:02d}-node-{number:02d}"
            cards = [gpu(rng, "B200", index, index, index * 2 // devices) for index in range(devices)]
            made += [
                with_room(objects.node(name, {CLIQUE_LABEL: f"rack-{rack:02d}"}), _ROOM),
                objects.resource_slice(f"{name}-{GPU_DRIVER}", GPU_DRIVER, name, objects.on_node(name), cards),
            ]
            left = list(range(devices))
            while left:
                size = rng.choice([size for size in kinds if size <= len(left)])
                places.append((name, tuple(left[:size])))
                left = left[size:]
    drafts, free = [], racks * nodes * devices
    for name, chosen in _remaining(rng, places, departed):
        free -= len(chosen)
        drafts.append(RunningDraft(kinds[len(chosen)], name, tuple(_result(name, f"gpu-{one}") for one in chosen)))
    members = {str(max(1, nodes * part // 4)): (weight, devices * max(1, nodes * part // 4)) for part, weight in _GANGS}
    counts = _drawn(rng, members, waiting * free)
    queue = [
        _waiting_gang(f"train-{size}-{number}", int(size), devices)
        for size, times in counts.items()
        for number in range(times)
    ]
    whole = _gpus_kind(devices)
    return combine(made, _templates([*kinds.values(), whole]), _running(rng, drafts, fixed), queue)


# Quarters of a rack that a gang takes, with weights.
_GANGS = ((1, 3), (2, 2), (4, 1))
GENERATORS: Mapping[str, Callable[..., list[Mapped]]] = {
    "openb": fragmented_openb,
    "partitions": fragmented_partitions,
    "racks": fragmented_racks,
}


def fragmented(kind: str = "openb", size: int | None = None, *, seed: int = 0, **options: float) -> list[Mapped]:
    """A cluster by one of the ``GENERATORS``: ``size`` counts its nodes, or racks; options are those of the generator.

    Raises ``ValueError`` for an unknown kind, or a part that is not between 0 and 1.
    """
    if kind not in GENERATORS:
        raise ValueError(f"unknown kind {kind!r}, known are: {', '.join(GENERATORS)}")
    sizes = () if size is None else (size,)
    return GENERATORS[kind](*sizes, seed=seed, **options)


_Placed = TypeVar("_Placed")


def _random(seed: int, **parts: float) -> Random:
    for name, part in parts.items():
        if not 0 <= part <= 1:
            raise ValueError(f"{name} must be between 0 and 1, not {part}")
    return Random(f"{seed}/fragmented")


def _remaining(rng: Random, placed: Iterable[_Placed], departed: float) -> list[_Placed]:
    """What is left of what was placed, in order."""
    listed = list(placed)
    stays = rng.sample(range(len(listed)), round(len(listed) * (1 - departed)))
    return [listed[place] for place in sorted(stays)]


def _drawn(rng: Random, choices: Mapping[str, tuple[int, int]], amount: float) -> dict[str, int]:
    """How many of each kind, by weight and what one takes, take about so much together; the last may be too much."""
    counts = dict.fromkeys(choices, 0)
    while amount > 0:
        (name,) = rng.choices(list(choices), [weight for weight, _ in choices.values()])
        counts[name] += 1
        amount -= choices[name][1]
    return counts


def _result(node: str, device: str, **fields: object) -> Mapped:
    return objects.result("gpu", GPU_DRIVER, node, device, **fields)


def _partition_kind(profile: str) -> ReplicaKind:
    name = f"mig-{profile.replace('.', '-').replace('+', '-')}"
    test = f'device.attributes["{GPU_DRIVER}"].profile == "{profile}"'
    claim = objects.claim_spec([objects.exactly("gpu", objects.wanted("mig", test))])
    return ReplicaKind(name, {"cpu": "2", "memory": "16Gi"}, name, claim)


def _gpus_kind(size: int) -> ReplicaKind:
    claim = objects.claim_spec([objects.exactly("gpu", objects.wanted("gpu", count=size))])
    requests = {"cpu": str(16 * size), "memory": f"{128 * size}Gi"}
    return ReplicaKind(f"gpus-{size}", requests, f"gpus-{size}", claim)


def _templates(kinds: Iterable[ReplicaKind]) -> Iterator[Mapped]:
    for kind in kinds:
        if kind.claim is not None:
            yield objects.template(kind.template, kind.claim)


def _with_rooms(made: Iterable[Mapped]) -> Iterator[Mapped]:
    return (with_room(item, _ROOM) if item["kind"] == "Node" else item for item in made)


def _running(rng: Random, drafts: Iterable[RunningDraft], fixed: float) -> Iterator[Mapped]:
    """The pods with their claims, behind the ReplicaSets that made them."""
    numbers, owned = Counter[ReplicaKind](), Counter[ReplicaKind]()
    made: list[Mapped] = []
    uids: dict[str, str] = {}
    for draft in drafts:
        kind = draft.kind
        uids.setdefault(kind.name, uuid(rng))
        numbers[kind] += 1
        is_fixed = rng.random() < fixed
        is_bare = is_fixed and rng.random() < _BARE
        owned[kind] += not is_bare
        owner = None if is_bare else _owner("apps/v1", "ReplicaSet", kind.name, uids[kind.name])
        marks = {_SAFE_TO_EVICT: "false"} if is_fixed and not is_bare else {}
        made += _running_pod(rng, draft, f"{kind.name}-{numbers[kind]:04d}", owner, marks)
    yield from _templates(numbers)
    for kind, replicas in owned.items():
        controller = deployment(kind.name, replicas, kind.spec)
        yield {**controller, "kind": "ReplicaSet", "metadata": {**controller["metadata"], "uid": uids[kind.name]}}
    yield from made


def _running_pod(
    rng: Random, draft: RunningDraft, name: str, owner: Mapped | None, marks: Mapping[str, str]
) -> Iterator[Mapped]:
    kind, uid = draft.kind, uuid(rng)
    metadata = {"name": name, "namespace": "default", "uid": uid, "labels": {"app": kind.name}}
    metadata |= objects.present(annotations=dict(marks), ownerReferences=[owner] if owner else [])
    status: Mapped = {"phase": "Running"}
    if kind.claim is not None:
        status["resourceClaimStatuses"] = [{"name": kind.entry, "resourceClaimName": f"{name}-{kind.entry}"}]
        claim = objects.allocated(objects.claim(f"{name}-{kind.entry}", kind.claim), draft.results, draft.node)
        claim["metadata"] |= {
            "annotations": {_POD_CLAIM_NAME: kind.entry},
            "ownerReferences": [_owner("v1", "Pod", name, uid)],
        }
        claim["status"]["reservedFor"] = [{"resource": "pods", "name": name, "uid": uid}]
        yield claim
    spec = {**kind.spec, "nodeName": draft.node}
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _owner(api: str, kind: str, name: str, uid: str) -> Mapped:
    return {"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": True}


def _waiting_gang(name: str, members: int, devices: int) -> Mapped:
    marks = {"drasat.dev/gang": name, "drasat.dev/gang-domain": CLIQUE_LABEL}
    return job(name, members, _gpus_kind(devices).spec, annotations=marks)
