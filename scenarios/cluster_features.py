"""What random clusters can have beside devices and claims: pools in every state, nodes that differ, devices in use."""

from random import Random
from uuid import UUID

from . import objects
from .drafts import Draft, DraftPool
from .objects import Mapped

_ZONE = "example.com/zone"


def disturb(draft: Draft) -> None:
    """Pools that are incomplete, invalid, obsolete, or about to be replaced (POOL-3 to POOL-9)."""
    for pool in draft.pools:
        disturbance = draft.rng.choices(_DISTURBANCES, [4, 1, 1, 2, 2, 1, 1])[0]
        disturbance(draft, pool)


def _leave(_: Draft, __: DraftPool) -> None:
    """Nothing is wrong."""


def _too_few(_: Draft, pool: DraftPool) -> None:
    pool.miscounted = 1


def _too_many(_: Draft, pool: DraftPool) -> None:
    pool.parts, pool.miscounted = 2, -1


def _older(draft: Draft, pool: DraftPool) -> None:
    pool.generation = 5
    pool.strays.append(
        pool.slice_of("old", [dict(device) for device in pool.devices], generation=draft.rng.randint(1, 4))
    )


def _spread(_: Draft, pool: DraftPool) -> None:
    """Half of the pool is on a node far away, which does not make it incomplete (POOL-6)."""
    away = pool.slice_of(
        "away", [objects.device("far", {"model": "a", "index": 99})], count=2 + bool(pool.counter_sets)
    )
    pool.parts, pool.miscounted = 1, 1
    away["spec"]["nodeName"] = "far-away"
    pool.strays.append(away)


def _obsolete(_: Draft, pool: DraftPool) -> None:
    """Incomplete here, and a newer generation exists elsewhere (POOL-5)."""
    pool.miscounted = 1
    newer = pool.slice_of("newer", [], generation=pool.generation + 1)
    newer["spec"]["nodeName"] = "far-away"
    pool.strays.append(newer)


def _duplicate(_: Draft, pool: DraftPool) -> None:
    """The same device twice (POOL-9)."""
    if pool.devices:
        count = pool.parts + bool(pool.counter_sets) + 1
        pool.miscounted = 1
        pool.strays.append(pool.slice_of("twice", [dict(pool.devices[0])], count=count))


_DISTURBANCES = (_leave, _too_few, _too_many, _older, _spread, _obsolete, _duplicate)


def place(draft: Draft) -> None:
    """Nodes in zones, tainted or cordoned; devices for a zone, for all nodes, or each for its own; pods that choose."""
    while len(draft.nodes) < 3:
        draft.nodes.append(objects.node(f"node-{len(draft.nodes)}"))
    for node in draft.nodes:
        node["metadata"]["labels"][_ZONE] = draft.rng.choice("xy")
        if draft.chance(0.2):
            node["spec"] = {"taints": [objects.taint("busy")]}
        elif draft.chance(0.1):
            node["spec"] = {"unschedulable": True}
    for pool in draft.pools:
        draft.rng.choice([_stay, _zonal, _everywhere, _each])(draft, pool)
    draft.pod_fields |= _node_choice(draft.rng)


def _stay(_: Draft, __: DraftPool) -> None:
    """The pool stays on its node."""


def _zonal(draft: Draft, pool: DraftPool) -> None:
    pool.where = objects.on_nodes_with(_ZONE, draft.rng.choice("xy"))


def _everywhere(_: Draft, pool: DraftPool) -> None:
    pool.where = {"allNodes": True}


def _each(draft: Draft, pool: DraftPool) -> None:
    pool.where = {"perDeviceNodeSelection": True}
    for device in pool.devices:
        node = draft.rng.choice(draft.nodes)["metadata"]["name"]
        places: list[Mapped] = [
            {"allNodes": True},
            objects.on_node(node),
            objects.on_nodes_with(_ZONE, draft.rng.choice("xy")),
        ]
        device |= draft.rng.choice(places)


def _node_choice(rng: Random) -> Mapped:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": objects.label_selector(_ZONE, "x")}}
    choices: list[Mapped] = [
        {"nodeSelector": {_ZONE: "y"}},
        {"affinity": affinity},
        {"tolerations": [{"key": "busy", "operator": "Exists"}]},
        {"nodeSelector": {objects.HOSTNAME: "node-1"}},
        {},
        {},
    ]
    return rng.choice(choices)


def occupy(draft: Draft) -> None:
    """Devices that allocated claims hold, as a whole or in shares (IN-3)."""
    for pool in draft.pools:
        for device in draft.rng.sample(pool.devices, min(len(pool.devices), draft.rng.randint(0, 2))):
            draft.others.append(_held(draft, pool, device, f"held-{len(draft.others)}"))


def _held(draft: Draft, pool: DraftPool, device: Mapped, name: str) -> Mapped:
    shared = device.get("allowMultipleAllocations", False)
    fields = _share_of(draft.rng, device) if shared else {}
    spec = objects.claim_spec([objects.exactly("held", objects.wanted("any"))])
    result = objects.result("held", pool.driver, pool.name, device["name"], **fields)
    return objects.allocated(objects.claim(name, spec, draft.namespace), [result], pool.where.get("nodeName"))


def _share_of(rng: Random, device: Mapped) -> Mapped:
    consumed = {
        name: capacity.get("requestPolicy", {}).get("default", "1") for name, capacity in device["capacity"].items()
    }
    return {"shareID": str(UUID(int=rng.getrandbits(128), version=4)), "consumedCapacity": consumed}
