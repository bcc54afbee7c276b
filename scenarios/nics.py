"""Nodes with GPUs and network interfaces that are near some of them."""

from collections.abc import Iterator
from functools import partial
from random import Random

from . import objects
from .gpus import DRIVER as GPU_DRIVER
from .gpus import GPU_CLASS, PCIE_ROOT, gpu, pcie_root
from .objects import Mapped
from .shapes import Shape, hold_whole, nodes_of

DRIVER = "nic.example.com"
NIC_CLASS = objects.device_class("rdma-nic", f'device.driver == "{DRIVER}"', f'device.attributes["{DRIVER}"].rdma')


def nic_nodes(nodes: int = 4, gpus: int = 8, nics: int = 4, *, seed: int = 0, fullness: float = 0.0) -> list[Mapped]:
    """Nodes where each GPU has a PCIe root of its own and each interface sits on a switch over several roots.

    The interfaces publish their roots as a list, so that matchAttribute finds pairs that are near (needs list
    attributes). Classes: ``gpu`` and ``rdma-nic``.
    """
    return nodes_of([(nic_shape(gpus, nics), 1)], nodes, "rail", seed, fullness)


def nic_shape(gpus: int, nics: int) -> Shape:
    """A node with GPUs and interfaces."""
    return Shape(partial(_build, gpus, nics), [GPU_CLASS, NIC_CLASS], {"example.com/network": "rdma"})


def _build(gpus: int, nics: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    cards = [gpu(rng, "H100-SXM5-80GB", index, index, index * 2 // gpus) for index in range(gpus)]
    interfaces = [_nic(index, gpus, nics) for index in range(nics)]
    for driver, devices, class_name in ((GPU_DRIVER, cards, "gpu"), (DRIVER, interfaces, "rdma-nic")):
        yield objects.resource_slice(f"{node}-{driver}", driver, node, objects.on_node(node), devices)
        yield from hold_whole(rng, driver, node, class_name, devices, fullness)


def _nic(index: int, gpus: int, nics: int) -> Mapped:
    roots = [pcie_root(root) for root in range(gpus) if root * nics // gpus == index]
    attributes: dict[str, objects.AttributeValue] = {"rdma": True, "index": index, "ifName": f"eth{index}"}
    if roots:
        attributes[PCIE_ROOT] = roots
    return objects.device(f"nic-{index}", attributes, {"bandwidth": "400G"})
