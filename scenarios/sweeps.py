"""Small clusters of growing size, each hard or easy for a search in a way of its own."""

from collections.abc import Callable

from . import objects
from .objects import Mapped

DRIVER = "gpu.example.com"
_INDEX = f'device.attributes["{DRIVER}"].index'


def _cluster(devices: int, claims: list[Mapped], nodes: int = 1) -> list[Mapped]:
    made: list[Mapped] = [objects.device_class("gpu", f'device.driver == "{DRIVER}"'), objects.device_class("any")]
    for number in range(nodes):
        name = f"node-{number:04d}"
        gpus = [objects.device(f"gpu-{index:03d}", {"index": index, "numa": index % 5}) for index in range(devices)]
        made += [objects.node(name), objects.resource_slice(name, DRIVER, name, objects.on_node(name), gpus)]
    return made + claims


def _claim(name: str, *bodies: Mapped, constraints: tuple[Mapped, ...] = ()) -> Mapped:
    requests = [objects.exactly(f"r{number}", body) for number, body in enumerate(bodies)]
    return objects.claim(name, objects.claim_spec(requests, constraints))


def easy(size: int, nodes: int = 1) -> list[Mapped]:
    """One device of ``size``, on one node or any of several."""
    return _cluster(size, [_claim("easy", objects.wanted("gpu", count=1))], nodes)


def too_many(size: int) -> list[Mapped]:
    """One device more than there are: a search tries every subset (SRCH-11)."""
    return _cluster(size, [_claim("too-many", objects.wanted("any", count=size + 1))])


def by_ones(size: int) -> list[Mapped]:
    """A pod of claims for all devices but one, each in a request of its own, 31 a claim at most."""
    body = objects.wanted("gpu", count=1)
    counts = [min(31, size - 1 - first) for first in range(0, size - 1, 31)]
    claims = [_claim(f"ones-{number}", *[body] * count) for number, count in enumerate(counts)]
    pod = objects.pod("ones", [objects.by_claim(f"c{n}", claim["metadata"]["name"]) for n, claim in enumerate(claims)])
    return _cluster(size, [*claims, pod])


def hopeless(size: int, some: int = 0) -> list[Mapped]:
    """Some devices (default: a quarter or, up to 16, half of them), and then one that does not exist."""
    count = some or (size // 2 if size <= 16 else size // 4)
    impossible = objects.wanted("any", f'device.driver == "{DRIVER}" && {_INDEX} < 0', count=1)
    return _cluster(size, [_claim("hopeless", objects.wanted("any", count=count), impossible)])


def pods(size: int) -> list[Mapped]:
    """So many pods of one device each, on as many nodes of 10 as they fill."""
    return _cluster(10, _pods(size), nodes=_nodes(size))


def selecting_pods(size: int) -> list[Mapped]:
    """The same with a selector that one device in a hundred fails by its request."""
    return _cluster(10, _pods(size, f"{_INDEX} >= 0"), nodes=_nodes(size))


def matching_pods(size: int) -> list[Mapped]:
    """Pods of two requests that must be on one NUMA node, half as many as there are devices."""
    constraint = {"matchAttribute": f"{DRIVER}/numa"}
    body = objects.wanted("gpu", count=1)
    claims = [_claim(f"pod-{number:05d}", body, body, constraints=(constraint,)) for number in range(size // 2)]
    return _cluster(10, _with_pods(claims), nodes=_nodes(size))


def _nodes(pods_: int) -> int:
    return max(1, -(-pods_ // 10))


def _pods(size: int, *expressions: str) -> list[Mapped]:
    body = objects.wanted("gpu", *expressions, count=1)
    return _with_pods([_claim(f"pod-{number:05d}", body) for number in range(size)])


def _with_pods(claims: list[Mapped]) -> list[Mapped]:
    names = [claim["metadata"]["name"] for claim in claims]
    return [*claims, *(objects.pod(name, [objects.by_claim("devices", name)]) for name in names)]


SWEEPS: dict[str, Callable[[int], list[Mapped]]] = {
    "easy": easy,
    "too-many": too_many,
    "hopeless": hopeless,
    "pods": pods,
    "selecting-pods": selecting_pods,
    "matching-pods": matching_pods,
}

# Sizes that show how time grows within seconds.
SIZES: dict[str, tuple[int, ...]] = {
    "easy": (8, 16, 32, 64),
    "too-many": (8, 10, 12, 14, 16),
    "hopeless": (8, 10, 12, 14, 16),
    "pods": (100, 200, 400, 800),
    "selecting-pods": (100, 200, 400, 800),
    "matching-pods": (100, 200, 400, 800),
}
