"""Nodes with whole GPUs."""

from collections.abc import Iterator, Mapping
from functools import partial
from random import Random
from typing import NamedTuple

from . import objects
from .objects import Mapped
from .shapes import Shape, driver_class, hold_whole, nodes_of, uuid

DRIVER = "gpu.example.com"
GPU_CLASS = driver_class("gpu", DRIVER, "gpu")
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


class Model(NamedTuple):
    """What the devices of a model say of themselves."""

    architecture: str
    compute_capability: str
    memory: str


MODELS = {
    "L4": Model("Ada Lovelace", "8.9.0", "23034Mi"),
    "A100-SXM4-40GB": Model("Ampere", "8.0.0", "40960Mi"),
    "H100-SXM5-80GB": Model("Hopper", "9.0.0", "81559Mi"),
    "B200": Model("Blackwell", "10.0.0", "183359Mi"),
}


def gpu_nodes(
    nodes: int = 4,
    devices: int = 8,
    *,
    seed: int = 0,
    fullness: float = 0.0,
    mix: Mapping[str, float] | None = None,
) -> list[Mapped]:
    """Nodes with whole GPUs, two to a PCIe root, half of them on each NUMA node.

    ``mix`` gives weights to the MODELS (default: only H100); all GPUs of a node are of one model. ``fullness`` is
    the part of the devices that claims hold already. The class is ``gpu``.
    """
    weights = mix or {"H100-SXM5-80GB": 1}
    return nodes_of(
        [(gpu_shape(model, devices), weight) for model, weight in weights.items()], nodes, "gpu", seed, fullness
    )


def gpu_shape(model: str, devices: int) -> Shape:
    """A node with GPUs of a model."""
    return Shape(partial(_build, model, devices), [GPU_CLASS], {"example.com/gpu": model})


def _build(model: str, devices: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    gpus = [gpu(rng, model, index, index // 2, index * 2 // devices) for index in range(devices)]
    yield objects.resource_slice(f"{node}-{DRIVER}", DRIVER, node, objects.on_node(node), gpus)
    yield from hold_whole(rng, DRIVER, node, "gpu", gpus, fullness)


def gpu(rng: Random, model: str, index: int, root: int, numa: int) -> Mapped:
    """A whole GPU on a PCIe root and a NUMA node."""
    facts = MODELS[model]
    attributes: dict[str, objects.AttributeValue] = {
        "type": "gpu",
        "index": index,
        "uuid": f"GPU-{uuid(rng)}",
        "productName": model,
        "architecture": facts.architecture,
        "cudaComputeCapability": objects.version(facts.compute_capability),
        "numaNode": numa,
        PCIE_ROOT: pcie_root(root),
    }
    return objects.device(f"gpu-{index}", attributes, {"memory": facts.memory})


def pcie_root(number: int) -> str:
    """The name of a PCIe root."""
    return f"pci0000:{16 * number + 1:02x}"
