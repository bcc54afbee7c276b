"""Features of random clusters: of their devices, pools and nodes, of claims, and of devices in use.

A feature adds what it needs: the attributes that a claim compares, the requests that ask for a kind of device.
"""

from __future__ import annotations

from random import Random
from uuid import UUID

from support.drafts import GPU, ClusterDraft, DraftPool

from drasat.scenarios import objects
from drasat.scenarios.objects import DRIVER, DraftClaim, Mapped

ADMIN_NAMESPACE = "admin"
_EXPRESSIONS = (
    f'{GPU}.model == "a"',
    f'{GPU}.model in ["b", "c"]',
    f"{GPU}.index < 3",
    f"{GPU}.index % 2 == 0",
    f'{GPU}.index >= 1 && {GPU}.model != "b"',
    f'"model" in {GPU} && {GPU}.model.matches("^[ab]$")',
    f"{GPU}.?numa.orValue(0) == 0",
    f'{GPU}.driverVersion.isGreaterThan(semver("1.0.0"))',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0',
    f'cel.bind(gpu, {GPU}, gpu.model == "a" || gpu.index == 0)',
    f'["a", "c"].exists(model, model == {GPU}.model)',
    'device.attributes["other.example.com"].?model.hasValue() == false',
    "!device.allowMultipleAllocations",
)


def select(draft: ClusterDraft) -> None:
    """Selectors of many forms, none of which fails on any device."""
    for body in draft.bodies():
        if draft.chance(0.75):
            chosen = draft.rng.sample(_EXPRESSIONS, draft.rng.choice([1, 1, 2]))
            body["selectors"] = objects.selectors(*chosen)


def fail_selectors(draft: ClusterDraft) -> None:
    """Selectors that fail on devices without the attribute (CEL-6, CEL-7)."""
    for gpu in draft.gpus():
        if draft.chance(0.75):
            gpu["attributes"]["rare"] = objects.attribute(draft.rng.randint(0, 1))
    for body in draft.bodies():
        if draft.chance(0.4):
            guard = draft.rng.choice([f'{GPU}.model == "a" || ', f"{GPU}.index < 2 || ", ""])
            body["selectors"] = objects.selectors(f"{guard}{GPU}.rare == 1")


def partition(draft: ClusterDraft) -> None:
    """Partitions of chips with counters on two levels: the chip's slices, and the power of the board."""
    for pool in draft.pools:
        pool.devices.clear()
        chips = draft.rng.randint(1, 2)
        power = draft.rng.choice([8, 8, 6, 4]) * chips // 2
        pool.counter_sets.append(objects.counter_set("board", {"power": power}))
        for chip in range(chips):
            pool.counter_sets.append(objects.counter_set(f"chip-{chip}", {f"slice-{number}": 1 for number in range(4)}))
            pool.devices += _chip_partitions(chip)
    for body in draft.bodies():
        body["deviceClassName"] = "gpu"
        if draft.chance(0.7):
            size = draft.rng.choices([1, 2, 4], [3, 3, 1])[0]
            body["selectors"] = objects.selectors(draft.rng.choice([f"{GPU}.size == {size}", f"{GPU}.size >= {size}"]))


def _chip_partitions(chip: int) -> list[Mapped]:
    # The largest first, so that whoever does not care breaks up a whole chip.
    placements = [(4, 0), (2, 0), (2, 2), *((1, start) for start in range(4))]
    return [_chip_partition(chip, size, start) for size, start in placements]


def _chip_partition(chip: int, size: int, start: int) -> Mapped:
    slices = {f"slice-{number}": 1 for number in range(start, start + size)}
    consumed = [objects.consumption(f"chip-{chip}", slices), objects.consumption("board", {"power": size})]
    attributes = {"model": "a" if chip else "b", "index": chip, "size": size, "driverVersion": objects.version("1.1.0")}
    name = f"chip-{chip}-{size}-{start}"
    return objects.device(name, attributes, {"memory": f"{10 * size}Gi"}, consumesCounters=consumed)


def group(draft: ClusterDraft) -> None:
    """Compatibility groups of what partitions consume (GRP-1); needs ``partition``."""
    for gpu in draft.gpus():
        for consumed in gpu.get("consumesCounters", ()):
            if draft.chance(0.8):
                groups = draft.rng.sample(["x", "y", "z"], draft.rng.randint(1, 3))
                consumed["compatibilityGroups"] = sorted(groups)


# Every form of request policy, for a capacity of 8.
_POLICIES: tuple[Mapped | None, ...] = (
    None,
    {"default": "2"},
    {"default": "2", "validValues": ["1", "2", "4"]},
    {"default": "2", "validRange": {"min": "1"}},
    {"default": "1", "validRange": {"min": "1", "max": "5"}},
    {"default": "4", "validRange": {"min": "2", "max": "6", "step": "2"}},
    {"default": "500m", "validRange": {"min": "250m", "step": "250m"}},
)


def share(draft: ClusterDraft) -> None:
    """Devices that are shared by capacity, under every form of request policy."""
    for gpu in draft.gpus():
        shared = draft.chance(0.75)
        if shared:
            gpu["allowMultipleAllocations"] = True
        for name in ("cores", "lanes"):
            policy = draft.rng.choice(_POLICIES) if shared else None
            gpu["capacity"][name] = {"value": "8"} | ({"requestPolicy": policy} if policy else {})
        if shared:
            gpu["capacity"]["memory"]["requestPolicy"] = {"default": "1Gi"}
    for body in draft.bodies():
        if draft.chance(0.8):
            names = draft.rng.sample(["cores", "lanes", "memory"], draft.rng.randint(1, 2))
            body["capacity"] = {"requests": {name: _amount(draft, name) for name in sorted(names)}}


def _amount(draft: ClusterDraft, name: str) -> str:
    return draft.rng.choice(["1Gi", "12Gi", "20Gi"] if name == "memory" else ["1", "3", "5", "700m", "6", "8"])


def taint(draft: ClusterDraft) -> None:
    """Device taints of every effect, tolerations, and a rule now and then."""
    for device in draft.devices():
        if draft.chance(0.5):
            device["taints"] = [_random_taint(draft) for _ in range(draft.rng.choice([1, 1, 2]))]
    for body in draft.bodies():
        if draft.chance(0.7):
            body["tolerations"] = [_random_toleration(draft) for _ in range(draft.rng.choice([1, 2]))]
    if draft.chance(0.3):
        selector = draft.rng.choice([{"device": "gpu-0"}, {"driver": DRIVER, "device": "gpu-1"}, {"pool": "node-0"}])
        draft.others.append(objects.taint_rule("rule", _random_taint(draft), **selector))


def _random_taint(draft: ClusterDraft) -> Mapped:
    effect = draft.rng.choices(["NoSchedule", "NoExecute", "None"], [3, 2, 2])[0]
    return objects.taint(draft.rng.choice(["hot", "old"]), draft.rng.choice(["", "very"]), effect)


def _random_toleration(draft: ClusterDraft) -> Mapped:
    key, effect = draft.rng.choice(["hot", "old", "old", ""]), draft.rng.choice(["", "", "NoSchedule", "NoExecute"])
    made: Mapped = {"key": key, "operator": "Exists"} if not key or draft.chance(0.7) else {"key": key, "value": "very"}
    return {**{name: value for name, value in made.items() if value}, **({"effect": effect} if effect else {})}


def bind(draft: ClusterDraft) -> None:
    """Binding conditions on some devices, so that their pools come last (POOL-11), and devices that bind."""
    for device in draft.devices():
        if draft.chance(0.3):
            device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
        if draft.chance(0.3):
            device["bindsToNode"] = True


def network(draft: ClusterDraft) -> None:
    """A second driver: interfaces that the same requests for any device may get, whose pool sorts behind the GPUs'."""
    for number, node in enumerate(draft.nodes):
        name = node["metadata"]["name"]
        nics = [_nic(draft, index) for index in range(draft.rng.randint(1, 3))]
        # The pool of the GPUs on the node has the same name (CTR-5).
        draft.pools.append(DraftPool("nic.example.com", name, objects.on_node(name), nics, generation=number + 1))
    draft.classes["nic"] = objects.device_class("nic", 'device.driver == "nic.example.com"')
    for body in draft.bodies():
        if draft.chance(0.3):
            body["deviceClassName"] = "nic"
            body.pop("selectors", None)


def _nic(draft: ClusterDraft, index: int) -> Mapped:
    return objects.device(f"nic-{index}", {"index": index, "rdma": draft.chance(0.5)}, {"bandwidth": "100G"})


def skip_operations(draft: ClusterDraft) -> None:
    """Slices that skip node operations, and nodes of which some can do that (DEV-9)."""
    for pool in draft.pools:
        if draft.chance(0.5):
            pool.fields["skipNodeOperations"] = draft.rng.choice([["*"], ["NodeUnprepareResources"]])
    for node in draft.nodes:
        if draft.chance(0.7):
            node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}


_ZONE = "example.com/zone"


def disturb(draft: ClusterDraft) -> None:
    """Pools that are incomplete, invalid, obsolete, or about to be replaced (POOL-3 to POOL-9)."""
    for pool in draft.pools:
        disturbance = draft.rng.choices(_DISTURBANCES, [4, 1, 1, 2, 2, 1, 1])[0]
        disturbance(draft, pool)


def _leave_pool(_: ClusterDraft, __: DraftPool) -> None:
    """Nothing is wrong."""


def _too_few(_: ClusterDraft, pool: DraftPool) -> None:
    pool.miscounted = 1


def _too_many(_: ClusterDraft, pool: DraftPool) -> None:
    pool.parts, pool.miscounted = 2, -1


def _older(draft: ClusterDraft, pool: DraftPool) -> None:
    pool.generation = 5
    pool.strays.append(
        pool.slice_of("old", [dict(device) for device in pool.devices], generation=draft.rng.randint(1, 4))
    )


def _spread_pool(_: ClusterDraft, pool: DraftPool) -> None:
    """Half of the pool is on a node far away, which does not make it incomplete (POOL-6)."""
    away = pool.slice_of(
        "away", [objects.device("far", {"model": "a", "index": 99})], count=2 + bool(pool.counter_sets)
    )
    pool.parts, pool.miscounted = 1, 1
    away["spec"]["nodeName"] = "far-away"
    pool.strays.append(away)


def _obsolete(_: ClusterDraft, pool: DraftPool) -> None:
    """Incomplete here, and a newer generation exists elsewhere (POOL-5)."""
    pool.miscounted = 1
    newer = pool.slice_of("newer", [], generation=pool.generation + 1)
    newer["spec"]["nodeName"] = "far-away"
    pool.strays.append(newer)


def _duplicate(_: ClusterDraft, pool: DraftPool) -> None:
    """The same device twice (POOL-9)."""
    if pool.devices:
        count = pool.parts + bool(pool.counter_sets) + 1
        pool.miscounted = 1
        pool.strays.append(pool.slice_of("twice", [dict(pool.devices[0])], count=count))


_DISTURBANCES = (_leave_pool, _too_few, _too_many, _older, _spread_pool, _obsolete, _duplicate)


def place(draft: ClusterDraft) -> None:
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
        draft.rng.choice([_keep_on_node, _zonal, _everywhere, _node_for_each_device])(draft, pool)
    draft.pod_fields |= _node_choice(draft.rng)


def _keep_on_node(_: ClusterDraft, __: DraftPool) -> None:
    """The pool stays on its node."""


def _zonal(draft: ClusterDraft, pool: DraftPool) -> None:
    pool.where = objects.on_nodes_with(_ZONE, draft.rng.choice("xy"))


def _everywhere(_: ClusterDraft, pool: DraftPool) -> None:
    pool.where = {"allNodes": True}


def _node_for_each_device(draft: ClusterDraft, pool: DraftPool) -> None:
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


def occupy(draft: ClusterDraft) -> None:
    """Devices that allocated claims hold, as a whole or in shares (IN-3)."""
    for pool in draft.pools:
        for device in draft.rng.sample(pool.devices, min(len(pool.devices), draft.rng.randint(0, 2))):
            draft.others.append(_holding_claim(draft, pool, device, f"held-{len(draft.others)}"))


def _holding_claim(draft: ClusterDraft, pool: DraftPool, device: Mapped, name: str) -> Mapped:
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


_STANDARD = "resource.kubernetes.io/root"


def _numa_attribute(draft: ClusterDraft) -> None:
    """The attribute ``numa``, on few devices missing or of another type (CON-3, CON-4)."""
    for device in draft.devices():
        if draft.chance(0.92):
            number = draft.rng.randint(0, 2)
            device["attributes"]["numa"] = objects.attribute(number if draft.chance(0.95) else str(number))


def match(draft: ClusterDraft) -> None:
    """Constraints that devices agree on an attribute (CON-4)."""
    _numa_attribute(draft)
    for claim in draft.claims:
        _constrain(draft, claim, {"matchAttribute": f"{DRIVER}/numa"})


def distinct(draft: ClusterDraft) -> None:
    """Constraints that devices differ in an attribute (CON-5)."""
    _numa_attribute(draft)
    for claim in draft.claims:
        _constrain(draft, claim, {"distinctAttribute": f"{DRIVER}/numa"})


def lists(draft: ClusterDraft) -> None:
    """Lists as attributes, beside scalars, with both kinds of constraints (CON-7)."""
    for device in draft.devices():
        if draft.chance(0.95):
            values = [f"root-{number}" for number in sorted(draft.rng.sample(range(5), draft.rng.randint(1, 3)))]
            device["attributes"][_STANDARD] = objects.attribute(values if draft.chance(0.8) else values[0])
    for claim in draft.claims:
        kind = draft.rng.choice(["matchAttribute", "distinctAttribute"])
        _constrain(draft, claim, {kind: _STANDARD})


def _constrain(draft: ClusterDraft, claim: DraftClaim, constraint: Mapped) -> None:
    chosen = draft.some(claim.request_names)
    whole = chosen == claim.request_names and draft.chance(0.5)
    claim.constraints.append(constraint if whole else {"requests": chosen, **constraint})


def alternatives(draft: ClusterDraft) -> None:
    """Lists of alternatives instead of exact requests."""
    for claim in draft.claims:
        for request in claim.requests:
            if "exactly" in request and draft.chance(0.65):
                body = request.pop("exactly")
                body.pop("adminAccess", None)
                others = [_variant(draft, body) for _ in range(draft.rng.randint(1, 2))]
                bodies = [(f"s{number}", option) for number, option in enumerate([*others, body])]
                request |= objects.first_available(request["name"], bodies)


def _variant(draft: ClusterDraft, body: Mapped) -> Mapped:
    """A more demanding form of what is asked, so that the last resort is the plain one."""
    changed = {**body, "count": body.get("count", 1) + draft.rng.randint(0, 2)}
    if draft.chance(0.5):
        narrow = draft.rng.choice(["model-a", body["deviceClassName"]])
        changed |= {"deviceClassName": narrow}
    return changed


def everything(draft: ClusterDraft) -> None:
    """Requests for all matching devices (PRE-8)."""
    claim = draft.rng.choice(draft.claims)
    for body in [next(claim.bodies())]:
        body["allocationMode"] = "All"
        body.pop("count", None)
        if draft.chance(0.7):
            test = draft.rng.choice([f'{GPU}.model == "a"', f"{GPU}.index < 2", f"{GPU}.index == 1"])
            body |= {"deviceClassName": "gpu", "selectors": objects.selectors(test)}


def administer(draft: ClusterDraft) -> None:
    """Requests with admin access, in a namespace that allows it."""
    draft.namespace = ADMIN_NAMESPACE
    draft.others.append(objects.namespace(ADMIN_NAMESPACE, admin=True))
    for claim in draft.claims:
        for request in claim.requests:
            if "exactly" in request and draft.chance(0.5):
                request["exactly"]["adminAccess"] = draft.chance(0.85)


def configure(draft: ClusterDraft) -> None:
    """Configuration in classes and claims, for all requests, some, or alternatives (RES-3 to RES-5)."""
    for name in sorted(draft.classes):
        if draft.chance(0.6):
            draft.classes[name]["spec"]["config"] = [objects.opaque(DRIVER, {"class": name})]
    for claim in draft.claims:
        for number in range(draft.rng.randint(0, 3)):
            entry = objects.opaque(DRIVER, {"number": number})
            claim.config.append(entry if draft.chance(0.3) else {"requests": _request_names(draft, claim), **entry})


def _request_names(draft: ClusterDraft, claim: DraftClaim) -> list[str]:
    """Names of requests, and of some alternatives."""
    labels = []
    for request in claim.requests:
        names = [f"{request['name']}/{option['name']}" for option in request.get("firstAvailable", ())]
        labels += draft.rng.choice([[request["name"]], [request["name"]], names or [request["name"]]])
    return draft.some(labels)


_DERIVATIONS = (
    f"{GPU}.index % 2",
    f"{GPU}.index / 2",
    f'{GPU}.model == "a" ? 0 : 1',
    f"{GPU}.model.upperAscii()",
    f"({GPU}.model + '-x').split('-')[0]",
    f"{GPU}.index % 2 == 0 ? {GPU}.model.replace('a', 'b') : {GPU}.model.find('[ab]')",
    f"({GPU}.model + ':c').split(':')",
    f"{GPU}.index % 3 == 0 ? [dyn('c'), {GPU}.model].distinct() : ({GPU}.model + ',d').split(',', 2)",
)


def derive(draft: ClusterDraft) -> None:
    """Attributes computed by the request, which constraints compare (CON-12)."""
    name = f"{DRIVER}/parity"
    for claim in draft.claims:
        for body in claim.bodies():
            body["deviceClassName"] = "gpu"
            body["derivedAttributes"] = [{"name": name, "expression": draft.rng.choice(_DERIVATIONS)}]
        claim.constraints.append({draft.rng.choice(["matchAttribute", "distinctAttribute"]): name})
