"""Taints on the devices of any scenario."""

from collections.abc import Iterable
from random import Random

from . import objects
from .objects import Mapped

# Devices that consume counters or carry a taint or a list make a slice a small one (SLC-2).
_SMALL_SLICE = 64


def with_taints(scenario: Iterable[Mapped], share: float = 0.1, rules: int = 1, *, seed: int = 0) -> list[Mapped]:
    """The scenario with a share of its devices tainted, and with rules that drain a pool each.

    Taints: ``example.com/degraded:NoSchedule`` and ``example.com/drained=maintenance:NoExecute``. Slices of more than
    64 devices are left without the first.
    """
    rng = Random(f"{seed}/taints")
    made = [_tainted(rng, item, share) if item["kind"] == "ResourceSlice" else item for item in scenario]
    pools = sorted({(item["spec"]["driver"], item["spec"]["pool"]["name"]) for item in made if _has_devices(item)})
    drained = objects.taint("example.com/drained", "maintenance", "NoExecute")
    chosen = rng.sample(pools, min(rules, len(pools)))
    return made + [
        objects.taint_rule(f"drain-{number}", drained, driver=driver, pool=pool)
        for number, (driver, pool) in enumerate(chosen)
    ]


def _has_devices(item: Mapped) -> bool:
    return item["kind"] == "ResourceSlice" and bool(item["spec"].get("devices"))


def _tainted(rng: Random, slice_: Mapped, share: float) -> Mapped:
    devices = slice_["spec"].get("devices", [])
    if len(devices) > _SMALL_SLICE:
        return slice_
    degraded = {"taints": [objects.taint("example.com/degraded")]}
    changed = [device | degraded if rng.random() < share else device for device in devices]
    return {**slice_, "spec": slice_["spec"] | objects.present(devices=changed)}
