"""What random clusters can have in their devices and pools, with the requests that ask about it."""

from . import objects
from .drafts import DRIVER, GPU, Draft, DraftPool
from .objects import Mapped

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


def select(draft: Draft) -> None:
    """Selectors of many forms, none of which fails on any device."""
    for body in draft.bodies():
        if draft.chance(0.75):
            chosen = draft.rng.sample(_EXPRESSIONS, draft.rng.choice([1, 1, 2]))
            body["selectors"] = objects.selectors(*chosen)


def fail_selectors(draft: Draft) -> None:
    """Selectors that fail on devices without the attribute (CEL-6, CEL-7)."""
    for gpu in draft.gpus():
        if draft.chance(0.75):
            gpu["attributes"]["rare"] = objects.attribute(draft.rng.randint(0, 1))
    for body in draft.bodies():
        if draft.chance(0.4):
            guard = draft.rng.choice([f'{GPU}.model == "a" || ', f"{GPU}.index < 2 || ", ""])
            body["selectors"] = objects.selectors(f"{guard}{GPU}.rare == 1")


def partition(draft: Draft) -> None:
    """Partitions of chips with counters on two levels: the chip's slices, and the power of the board."""
    for pool in draft.pools:
        pool.devices.clear()
        chips = draft.rng.randint(1, 2)
        power = draft.rng.choice([8, 8, 6, 4]) * chips // 2
        pool.counter_sets.append(objects.counter_set("board", {"power": power}))
        for chip in range(chips):
            pool.counter_sets.append(objects.counter_set(f"chip-{chip}", {f"slice-{number}": 1 for number in range(4)}))
            pool.devices += _partitions(chip)
    for body in draft.bodies():
        body["deviceClassName"] = "gpu"
        if draft.chance(0.7):
            size = draft.rng.choices([1, 2, 4], [3, 3, 1])[0]
            body["selectors"] = objects.selectors(draft.rng.choice([f"{GPU}.size == {size}", f"{GPU}.size >= {size}"]))


def _partitions(chip: int) -> list[Mapped]:
    # The largest first, so that whoever does not care breaks up a whole chip.
    placements = [(4, 0), (2, 0), (2, 2), *((1, start) for start in range(4))]
    return [_partition(chip, size, start) for size, start in placements]


def _partition(chip: int, size: int, start: int) -> Mapped:
    slices = {f"slice-{number}": 1 for number in range(start, start + size)}
    consumed = [objects.consumption(f"chip-{chip}", slices), objects.consumption("board", {"power": size})]
    attributes = {"model": "a" if chip else "b", "index": chip, "size": size, "driverVersion": objects.version("1.1.0")}
    name = f"chip-{chip}-{size}-{start}"
    return objects.device(name, attributes, {"memory": f"{10 * size}Gi"}, consumesCounters=consumed)


def group(draft: Draft) -> None:
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


def share(draft: Draft) -> None:
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


def _amount(draft: Draft, name: str) -> str:
    return draft.rng.choice(["1Gi", "12Gi", "20Gi"] if name == "memory" else ["1", "3", "5", "700m", "6", "8"])


def taint(draft: Draft) -> None:
    """Device taints of every effect, tolerations, and a rule now and then."""
    for device in draft.devices():
        if draft.chance(0.5):
            device["taints"] = [_taint(draft) for _ in range(draft.rng.choice([1, 1, 2]))]
    for body in draft.bodies():
        if draft.chance(0.7):
            body["tolerations"] = [_toleration(draft) for _ in range(draft.rng.choice([1, 2]))]
    if draft.chance(0.3):
        selector = draft.rng.choice([{"device": "gpu-0"}, {"driver": DRIVER, "device": "gpu-1"}, {"pool": "node-0"}])
        draft.others.append(objects.taint_rule("rule", _taint(draft), **selector))


def _taint(draft: Draft) -> Mapped:
    effect = draft.rng.choices(["NoSchedule", "NoExecute", "None"], [3, 2, 2])[0]
    return objects.taint(draft.rng.choice(["hot", "old"]), draft.rng.choice(["", "very"]), effect)


def _toleration(draft: Draft) -> Mapped:
    key, effect = draft.rng.choice(["hot", "old", "old", ""]), draft.rng.choice(["", "", "NoSchedule", "NoExecute"])
    made: Mapped = {"key": key, "operator": "Exists"} if not key or draft.chance(0.7) else {"key": key, "value": "very"}
    return {**{name: value for name, value in made.items() if value}, **({"effect": effect} if effect else {})}


def bind(draft: Draft) -> None:
    """Binding conditions on some devices, so that their pools come last (POOL-11), and devices that bind."""
    for device in draft.devices():
        if draft.chance(0.3):
            device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
        if draft.chance(0.3):
            device["bindsToNode"] = True


def network(draft: Draft) -> None:
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


def _nic(draft: Draft, index: int) -> Mapped:
    return objects.device(f"nic-{index}", {"index": index, "rdma": draft.chance(0.5)}, {"bandwidth": "100G"})


def skip_operations(draft: Draft) -> None:
    """Slices that skip node operations, and nodes of which some can do that (DEV-9)."""
    for pool in draft.pools:
        if draft.chance(0.5):
            pool.fields["skipNodeOperations"] = draft.rng.choice([["*"], ["NodeUnprepareResources"]])
    for node in draft.nodes:
        if draft.chance(0.7):
            node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
