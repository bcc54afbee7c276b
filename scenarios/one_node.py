"""Questions about one node with one pool and one pod, and what their answers are.

Small clusters of growing size, each hard or easy for a search in a way of its own: claims tied by matchAttribute that a
search answers by trying nearly every combination of devices, partitions on GPUs that are otherwise unused, and
questions that a search by trial does not answer within reasonable time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from . import mig, objects
from .node_shapes import GPU_DRIVER, combine
from .objects import DRIVER, AttributeValue, DraftClaim, Mapped

NODE = "node-0"
DEVICES_PER_SLICE = 128
# Of devices with taints, counters or attributes that are lists (SLC-2).
LISTS_PER_SLICE = 64
_GPU_CLASS = objects.device_class("gpu", f'device.driver == "{DRIVER}"')


def single_node(
    devices: Sequence[Mapped], claims: Sequence[DraftClaim], *, per_slice: int = DEVICES_PER_SLICE
) -> list[Mapped]:
    """The class ``gpu``, a node with these devices in their order, and a pod with these claims in their order."""
    return [_GPU_CLASS, objects.node(NODE), *sliced(devices, per_slice), *one_pod(claims)]


def sliced(devices: Sequence[Mapped], per_slice: int, driver: str = DRIVER, node: str = NODE) -> list[Mapped]:
    """The slices of a node's pool, so many devices in each; a search visits the devices in this order (POOL-11)."""
    chunks = [devices[first : first + per_slice] for first in range(0, len(devices), per_slice)]
    where = objects.on_node(node)
    return [
        objects.resource_slice(f"{node}-{driver}-{number:02d}", driver, node, where, chunk, count=len(chunks))
        for number, chunk in enumerate(chunks)
    ]


def one_pod(claims: Sequence[DraftClaim]) -> list[Mapped]:
    """The claims, and a pod that names all of them: a pod may have any number of claims."""
    entries = [objects.by_claim(claim.name, claim.name) for claim in claims]
    return [*(objects.claim(claim.name, claim.spec()) for claim in claims), objects.pod("pod", entries)]


_INDEX = f'device.attributes["{DRIVER}"].index'


def _sweep_cluster(devices: int, claims: list[Mapped], nodes: int = 1) -> list[Mapped]:
    made: list[Mapped] = [objects.device_class("gpu", f'device.driver == "{DRIVER}"'), objects.device_class("any")]
    for number in range(nodes):
        name = f"node-{number:04d}"
        gpus = [objects.device(f"gpu-{index:03d}", {"index": index, "numa": index % 5}) for index in range(devices)]
        made += [objects.node(name), objects.resource_slice(name, DRIVER, name, objects.on_node(name), gpus)]
    return made + claims


def _sweep_claim(name: str, *bodies: Mapped, constraints: tuple[Mapped, ...] = ()) -> Mapped:
    requests = [objects.exactly(f"r{number}", body) for number, body in enumerate(bodies)]
    return objects.claim(name, objects.claim_spec(requests, constraints))


def easy(size: int, nodes: int = 1) -> list[Mapped]:
    """One device of ``size``, on one node or any of several."""
    return _sweep_cluster(size, [_sweep_claim("easy", objects.wanted("gpu", count=1))], nodes)


def too_many(size: int) -> list[Mapped]:
    """One device more than there are: a search tries every subset (SRCH-11)."""
    return _sweep_cluster(size, [_sweep_claim("too-many", objects.wanted("any", count=size + 1))])


def by_ones(size: int) -> list[Mapped]:
    """A pod of claims for all devices but one, each in a request of its own, 31 a claim at most."""
    body = objects.wanted("gpu", count=1)
    counts = [min(31, size - 1 - first) for first in range(0, size - 1, 31)]
    claims = [_sweep_claim(f"ones-{number}", *[body] * count) for number, count in enumerate(counts)]
    pod = objects.pod("ones", [objects.by_claim(f"c{n}", claim["metadata"]["name"]) for n, claim in enumerate(claims)])
    return _sweep_cluster(size, [*claims, pod])


def hopeless(size: int, some: int = 0) -> list[Mapped]:
    """Some devices (default: a quarter or, up to 16, half of them), and then one that does not exist."""
    count = some or (size // 2 if size <= 16 else size // 4)
    impossible = objects.wanted("any", f'device.driver == "{DRIVER}" && {_INDEX} < 0', count=1)
    return _sweep_cluster(size, [_sweep_claim("hopeless", objects.wanted("any", count=count), impossible)])


def pods(size: int) -> list[Mapped]:
    """So many pods of one device each, on as many nodes of 10 as they fill."""
    return _sweep_cluster(10, _one_device_pods(size), nodes=_sweep_nodes(size))


def selecting_pods(size: int) -> list[Mapped]:
    """The same with a selector that one device in a hundred fails by its request."""
    return _sweep_cluster(10, _one_device_pods(size, f"{_INDEX} >= 0"), nodes=_sweep_nodes(size))


def matching_pods(size: int) -> list[Mapped]:
    """Pods of two requests that must be on one NUMA node, half as many as there are devices."""
    constraint = {"matchAttribute": f"{DRIVER}/numa"}
    body = objects.wanted("gpu", count=1)
    claims = [_sweep_claim(f"pod-{number:05d}", body, body, constraints=(constraint,)) for number in range(size // 2)]
    return _sweep_cluster(10, _with_pods(claims), nodes=_sweep_nodes(size))


def _sweep_nodes(pods_: int) -> int:
    return max(1, -(-pods_ // 10))


def _one_device_pods(size: int, *expressions: str) -> list[Mapped]:
    body = objects.wanted("gpu", *expressions, count=1)
    return _with_pods([_sweep_claim(f"pod-{number:05d}", body) for number in range(size)])


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
SWEEP_SIZES: dict[str, tuple[int, ...]] = {
    "easy": (8, 16, 32, 64),
    "too-many": (8, 10, 12, 14, 16),
    "hopeless": (8, 10, 12, 14, 16),
    "pods": (100, 200, 400, 800),
    "selecting-pods": (100, 200, 400, 800),
    "matching-pods": (100, 200, 400, 800),
}
_GROUP_ATTRIBUTE = f"{DRIVER}/group"
_LINKS_ATTRIBUTE = f"{DRIVER}/links"


def tied_claims(claims: int, *, groups: int = 16, members: int = 8, size: int = 4) -> list[Mapped]:
    """A pod with claims of ``size`` devices of one group each, on groups of ``members`` devices.

    A group serves ``members // size`` claims; a search for one claim more tries the groups in every order.
    """
    devices = [_tied_device(index, {"group": index // members}) for index in range(groups * members)]
    requested = [
        DraftClaim(f"claim-{number:02d}", [_tied_request(0, size)], [{"matchAttribute": _GROUP_ATTRIBUTE}])
        for number in range(claims)
    ]
    return single_node(devices, requested)


def tied_requests(counts: Sequence[int], *, requests: int = 4, size: int = 4) -> list[Mapped]:
    """Requests of ``size`` devices each, all of one group; ``counts`` are the devices of each group."""
    groups = [group for group, count in enumerate(counts) for _ in range(count)]
    devices = [_tied_device(index, {"group": group}) for index, group in enumerate(groups)]
    return single_node(
        devices, [DraftClaim("tied", _tied_requests(requests, size), [{"matchAttribute": _GROUP_ATTRIBUTE}])]
    )


def tied_lists(requests: int = 32, *, values: int = 47, fits: bool = True) -> list[Mapped]:
    """Requests of one device each that share a value of a list, on twice as many devices.

    Every list has ``values`` values. Of the first half of the devices all but any one share a value, so that a search
    tries them in every order; all of them share none. The second half is as bad, but that a value is in all of its
    lists if ``fits``.
    """
    lists = [*_near_misses("a", requests, values), *_near_misses("b", requests, values, common=fits)]
    devices = [_tied_device(index, {"links": links}) for index, links in enumerate(lists)]
    requested = [DraftClaim("tied", _tied_requests(requests, 1), [{"matchAttribute": _LINKS_ATTRIBUTE}])]
    return single_node(devices, requested, per_slice=LISTS_PER_SLICE)


def _near_misses(prefix: str, lists: int, values: int, *, common: bool = False) -> Iterator[list[str]]:
    """Lists of which each lacks one value that all others have; the rest of a list is its own, or common to all."""
    for own in range(lists):
        made = [f"{prefix}-{number}" for number in range(lists) if number != own]
        made += [f"{prefix}-all"] if common else []
        yield made + [f"{prefix}-{own}-{number}" for number in range(values - len(made))]


def _tied_device(index: int, attributes: dict[str, AttributeValue]) -> Mapped:
    return objects.device(f"gpu-{index:03d}", {"index": index, **attributes})


def _tied_request(number: int, count: int) -> Mapped:
    return objects.exactly(f"r{number:02d}", objects.wanted("gpu", count=count))


def _tied_requests(requests: int, count: int) -> list[Mapped]:
    return [_tied_request(number, count) for number in range(requests)]


_PROFILE_ATTRIBUTE = f'device.attributes["{GPU_DRIVER}"].profile'


def partitioned(wanted: Mapping[str, int], *, gpus: int = 8, form: str = "claims") -> list[Mapped]:
    """A node with A100 GPUs, and a pod that wants so many partitions of each profile (a key of ``mig.PROFILES``).

    ``form``: ``claims`` of one partition each, ``requests`` of one claim for one partition each, or ``counts``: one
    claim with a request for each profile.
    """
    return combine(mig.mig_nodes(1, gpus), one_pod(_PARTITION_FORMS[form](wanted)))


def partition_request(name: str, profile: str, count: int = 1) -> Mapped:
    """A request for partitions of a profile."""
    return objects.exactly(name, of_profile(profile, count))


def of_profile(profile: str, count: int = 1) -> Mapped:
    """What a request or an alternative for partitions of a profile asks for."""
    return objects.wanted("mig", f'{_PROFILE_ATTRIBUTE} == "{profile}"', count=count)


def _requests_with_counts(wanted: Mapping[str, int]) -> list[DraftClaim]:
    requested = enumerate(wanted.items())
    return [DraftClaim("partitions", [partition_request(f"r{number:02d}", *each) for number, each in requested])]


def _requests_one_by_one(wanted: Mapping[str, int]) -> list[Mapped]:
    profiles = [profile for profile, count in wanted.items() for _ in range(count)]
    return [partition_request(f"r{number:02d}", profile) for number, profile in enumerate(profiles)]


_PARTITION_FORMS: dict[str, Callable[[Mapping[str, int]], list[DraftClaim]]] = {
    "claims": lambda wanted: [
        DraftClaim(f"claim-{request['name'][1:]}", [request]) for request in _requests_one_by_one(wanted)
    ],
    "requests": lambda wanted: [DraftClaim("partitions", _requests_one_by_one(wanted))],
    "counts": _requests_with_counts,
}


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """What makes the objects, and whether what is asked for can be allocated."""

    objects: Callable[[], list[Mapped]]
    fits: bool


def _hard_questions() -> Iterator[tuple[str, NodeQuestion]]:
    yield "8 of 64, then an impossible one", NodeQuestion(partial(hopeless, 64, 8), False)
    for size in range(12, 32):
        yield f"{size + 1} of {size} devices", NodeQuestion(partial(too_many, size), False)
    for claims in (32, 33):
        name = f"{claims} claims of 4, each of one of 16 groups of 8"
        yield name, NodeQuestion(partial(tied_claims, claims), claims == 32)
    yield "32 of 64 with one value in all lists", NodeQuestion(tied_lists, True)
    yield "32 of 64 without such a value", NodeQuestion(partial(tied_lists, fits=False), False)
    yield "4 times 4 of 8 groups of 15", NodeQuestion(partial(tied_requests, [15] * 8), False)
    yield "4 times 4 of 7 groups of 15, then one of 16", NodeQuestion(partial(tied_requests, [15] * 7 + [16]), True)
    for form in ("claims", "requests", "counts"):
        for small in (16, 17):
            make = partial(partitioned, {"3g.20gb": 8, "2g.10gb": small}, form=form)
            yield f"8 x 3g and {small} x 2g on 8 GPUs, {form}", NodeQuestion(make, small == 16)


# The hard questions by name.
QUESTIONS: dict[str, NodeQuestion] = dict(_hard_questions())
