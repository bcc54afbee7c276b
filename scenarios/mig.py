"""Nodes with GPUs that can be partitioned: every profile at every placement, with counters for what they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import NamedTuple

from . import objects
from .node_shapes import GPU_CLASS, GPU_DRIVER, NodeShape, driver_class, held_claim, nodes_of, portion
from .objects import Mapped

MIG_CLASS = driver_class("mig", GPU_DRIVER, "mig")
_MEMORY_SLICES = 8
# The counters that one GPU has beside its memory slices.
_ENGINES = {"multiprocessors": 98, "copy-engines": 7, "decoders": 5, "jpeg-engines": 1, "ofa-engines": 1}
_MEMORY = "40192Mi"
# A slice holds at most 64 devices that consume counters (SLC-2).
_GPUS_PER_SLICE = 2


class MigProfile(NamedTuple):
    """What a partition takes of an A100 with 40 GB; ``starts`` are the memory slices it may begin at."""

    multiprocessors: int
    memory: str
    copy_engines: int
    decoders: int
    media_engines: int
    size: int
    starts: Sequence[int]

    def counters(self, start: int) -> dict[str, int | str]:
        """What the partition that begins there consumes."""
        engines = {"copy-engines": self.copy_engines, "decoders": self.decoders}
        media = {"jpeg-engines": self.media_engines, "ofa-engines": self.media_engines}
        used = {name: amount for name, amount in {**engines, **media}.items() if amount}
        slices = dict.fromkeys(memory_slices(start, self.size), 1)
        return {"multiprocessors": self.multiprocessors, "memory": self.memory, **used, **slices}


MIG_PROFILES = {
    "1g.5gb": MigProfile(14, "4864Mi", 1, 0, 0, 1, range(7)),
    "1g.5gb+me": MigProfile(14, "4864Mi", 1, 1, 1, 1, range(7)),
    "1g.10gb": MigProfile(14, "9856Mi", 1, 1, 0, 2, (0, 2, 4, 6)),
    "2g.10gb": MigProfile(28, "9856Mi", 2, 1, 0, 2, (0, 2, 4)),
    "3g.20gb": MigProfile(42, "19968Mi", 3, 2, 0, 4, (0, 4)),
    "4g.20gb": MigProfile(56, "19968Mi", 4, 2, 0, 4, (0,)),
    "7g.40gb": MigProfile(98, "40192Mi", 7, 5, 1, 8, (0,)),
}


def mig_nodes(nodes: int = 4, gpus: int = 4, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Nodes with A100 GPUs (at most 8) that are whole devices and all their possible partitions at once.

    ``fullness`` is the part of the memory slices that partitions in use take. Classes: ``mig`` for partitions, told
    apart by the attribute ``profile``, and ``gpu`` for the whole.
    """
    return nodes_of([(mig_shape(gpus), 1)], nodes, "mig", seed, fullness)


def mig_shape(gpus: int) -> NodeShape:
    """A node with GPUs to be partitioned."""
    return NodeShape(partial(_build, gpus), [GPU_CLASS, MIG_CLASS], {"example.com/gpu": "A100-SXM4-40GB"})


def memory_slices(start: int, size: int) -> list[str]:
    """The counters of some memory slices."""
    return [f"memory-slice-{number}" for number in range(start, start + size)]


def _build(gpus: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    devices = [[whole_gpu(index), *partitions(index)] for index in range(gpus)]
    chunks = [devices[first : first + _GPUS_PER_SLICE] for first in range(0, gpus, _GPUS_PER_SLICE)]
    name, where, count = f"{node}-{GPU_DRIVER}", objects.on_node(node), len(chunks) + 1
    sets = [objects.counter_set(f"gpu-{index}", _all_counters()) for index in range(gpus)]
    yield objects.resource_slice(f"{name}-counters", GPU_DRIVER, node, where, count=count, shared_counters=sets)
    for number, chunk in enumerate(chunks):
        members = [device for gpu in chunk for device in gpu]
        yield objects.resource_slice(f"{name}-{number}", GPU_DRIVER, node, where, members, count=count)
    for index in range(gpus):
        for profile, start in packed(rng, portion(rng, _MEMORY_SLICES, fullness)):
            yield held_partition(node, index, profile, start)


def whole_gpu(index: int) -> Mapped:
    """A whole GPU, which consumes everything."""
    attributes: dict[str, objects.AttributeValue] = {"type": "gpu", "index": index, "productName": "A100-SXM4-40GB"}
    return _device(f"gpu-{index}", index, attributes, _all_counters())


def _all_counters() -> dict[str, int | str]:
    return {**_ENGINES, "memory": _MEMORY, **dict.fromkeys(memory_slices(0, _MEMORY_SLICES), 1)}


def partitions(index: int) -> Iterator[Mapped]:
    """Every partition of a GPU: 25 of them."""
    for name, profile in MIG_PROFILES.items():
        for start in profile.starts:
            attributes: dict[str, objects.AttributeValue] = {
                "type": "mig",
                "profile": name,
                "parentIndex": index,
                "placementStart": start,
                "placementSize": profile.size,
                "productName": "A100-SXM4-40GB",
            }
            yield _device(partition_name(index, name, start), index, attributes, profile.counters(start))


def partition_name(index: int, profile: str, start: int) -> str:
    """The device name of a partition."""
    return f"gpu-{index}-mig-{profile.replace('.', '-').replace('+', '-')}-{start}"


def _device(name: str, index: int, attributes: dict[str, objects.AttributeValue], used: dict[str, int | str]) -> Mapped:
    capacity = {"multiprocessors": str(used["multiprocessors"]), "memory": used["memory"]}
    return objects.device(name, attributes, capacity, consumesCounters=[objects.consumption(f"gpu-{index}", used)])


def packed(rng: Random, target: int = _MEMORY_SLICES) -> Iterator[tuple[str, int]]:
    """Profiles and where they begin, placed at random on one GPU, until so many memory slices are taken."""
    used = Counter[str]()
    placements = [(name, start) for name, profile in MIG_PROFILES.items() for start in profile.starts]
    rng.shuffle(placements)
    for name, start in placements:
        profile, slices = MIG_PROFILES[name], memory_slices(start, MIG_PROFILES[name].size)
        if (
            used["slices"] + profile.size <= target
            and not any(used[slice_] for slice_ in slices)
            and _fits(used, profile)
        ):
            used.update({**dict.fromkeys(slices, 1), "slices": profile.size, **_engines(profile)})
            yield name, start


def held_partition(node: str, index: int, profile: str, start: int) -> Mapped:
    """A claim that has been allocated a partition of a GPU."""
    device = partition_name(index, profile, start)
    return held_claim(f"{node}-{device}", "mig", [objects.result("devices", GPU_DRIVER, node, device)], node)


def _engines(profile: MigProfile) -> dict[str, int]:
    return {
        "multiprocessors": profile.multiprocessors,
        "copy-engines": profile.copy_engines,
        "decoders": profile.decoders,
        "jpeg-engines": profile.media_engines,
    }


def _fits(used: Counter[str], profile: MigProfile) -> bool:
    return all(used[name] + amount <= _ENGINES[name] for name, amount in _engines(profile).items())
