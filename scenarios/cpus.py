"""Nodes whose processors and memory are shared by capacity."""

from collections.abc import Iterator
from functools import partial
from random import Random

from . import objects
from .objects import Mapped
from .shapes import Shape, driver_class, held_claim, nodes_of, portion, uuid

DRIVER = "cpu.example.com"
CPU_CLASS = driver_class("shared-cpu", DRIVER)

_STEP = 2


def cpu_nodes(
    nodes: int = 4, sockets: int = 2, cpus: int = 32, *, seed: int = 0, fullness: float = 0.0
) -> list[Mapped]:
    """Nodes with one shared device for each socket, and with every form of request policy.

    ``cpus`` are shared by a range with a step, ``memory`` by listed values, ``bandwidth`` has nothing but a default.
    ``fullness`` is the part of the cpus in use. The class is ``shared-cpu``.
    """
    return nodes_of([(cpu_shape(sockets, cpus), 1)], nodes, "cpu", seed, fullness)


def cpu_shape(sockets: int, cpus: int) -> Shape:
    """A node with shared processors."""
    return Shape(partial(_build, sockets, cpus), [CPU_CLASS], {"example.com/cpus": str(sockets * cpus)})


def _build(sockets: int, cpus: int, rng: Random, node: str, fullness: float) -> Iterator[Mapped]:
    devices = [_socket(number, cpus) for number in range(sockets)]
    yield objects.resource_slice(f"{node}-{DRIVER}", DRIVER, node, objects.on_node(node), devices)
    for number in range(sockets):
        yield from _held(rng, node, number, portion(rng, cpus, fullness))


def _socket(number: int, cpus: int) -> Mapped:
    most = cpus // _STEP * _STEP
    capacity = {
        "cpus": _shared(
            str(cpus), default=str(_STEP), validRange={"min": str(_STEP), "max": str(most), "step": str(_STEP)}
        ),
        "memory": _shared("128Gi", default="1Gi", validValues=["1Gi", "4Gi", "16Gi", "64Gi"]),
        "bandwidth": _shared("100G", default="1G"),
    }
    attributes: dict[str, objects.AttributeValue] = {"numaNode": number, "smt": True}
    return objects.device(f"socket-{number}", attributes, capacity, allowMultipleAllocations=True)


def _shared(value: str, **policy: object) -> Mapped:
    return {"value": value, "requestPolicy": policy}


def _held(rng: Random, node: str, socket: int, used: int) -> Iterator[Mapped]:
    number = 0
    while used >= _STEP:
        amount = min(rng.choice([2, 4, 8]), used // _STEP * _STEP)
        consumed = {"cpus": str(amount), "memory": rng.choice(["1Gi", "4Gi"]), "bandwidth": "1G"}
        result = objects.result(
            "devices", DRIVER, node, f"socket-{socket}", shareID=uuid(rng), consumedCapacity=consumed
        )
        yield held_claim(f"{node}-socket-{socket}-{number}", "shared-cpu", [result], node)
        used, number = used - amount, number + 1
