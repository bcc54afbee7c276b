"""Answers of the peers, checked while they are decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, TypeVar

import msgspec

from ..models.formats.decode import Model, QuantityText
from ..models.formats.errors import PeerError
from ..models.kubernetes.claims import AllocationResult
from ..models.kubernetes.karpenter import FlexibleRequirement
from .requests import PeerDeviceName

PeerOutcome: TypeAlias = Literal["allocated", "unallocatable", "error", "timeout"]


class Handshake(Model, frozen=True, kw_only=True):
    """The line a peer starts with: who it is, and what it was built from."""

    peer: str
    protocol: int
    module: str
    version: str
    go: str


class AllocatorVerdict(Model, frozen=True, kw_only=True):
    """The answer for the claims of one pod.

    ``unallocatable`` with an ``error`` is a failure of this node alone; ``error`` is one that stops the whole
    scheduling attempt (``fatal``). ``seconds`` is time spent in the allocator, ``steps`` the entries of its
    recursive search step (None where it does not count), ``variant`` the implementation that ran.
    """

    outcome: PeerOutcome
    fatal: bool
    seconds: float
    error: str = ""
    allocations: tuple[AllocationResult, ...] | None = None
    steps: int | None = None
    variant: str = ""


class AllocateAnswer(AllocatorVerdict, frozen=True, kw_only=True):
    """A verdict with its request's number."""

    id: int


class PodVerdict(AllocatorVerdict, frozen=True, kw_only=True):
    """The verdict for a pod of a list; ``claims`` names those that ``allocations`` are for."""

    namespace: str
    name: str
    claims: tuple[str, ...]
    nodes_tried: int
    node: str = ""


class ScheduleAnswer(Model, frozen=True, kw_only=True):
    """The verdicts in the order of the pods; ``seconds`` for all of them together."""

    id: int
    pods: tuple[PodVerdict, ...]
    seconds: float


class PeerOverlay(Model, frozen=True, kw_only=True):
    """Whether an overlay counts, and the reason if it does not."""

    name: str
    ready: bool
    reason: str = ""


class PeerPooledType(Model, frozen=True, kw_only=True):
    """An instance type as a pool has it after overlays; prices in the order of its offerings."""

    pool: str
    name: str
    capacity: Mapping[str, QuantityText] | None = None
    prices: tuple[float, ...] | None = None
    drivers: tuple[str, ...] | None = None


class PeerNewNode(Model, frozen=True, kw_only=True):
    """A node that would be launched: the cheapest way to buy the first of its types, which are sorted by price."""

    name: str
    pool: str
    pods: tuple[str, ...]
    types: tuple[str, ...] | None = None
    price: float = 0.0
    zone: str = ""
    capacity_type: str = ""
    requirements: tuple[FlexibleRequirement, ...] | None = None
    annotations: Mapping[str, str] | None = None


class PeerExistingNode(Model, frozen=True, kw_only=True):
    """Pods that go to a node that is there."""

    name: str
    pods: tuple[str, ...]


class PeerPodError(Model, frozen=True, kw_only=True):
    """A pod without a place, and why."""

    pod: str
    error: str


class PeerClaimDevices(Model, frozen=True, kw_only=True):
    """The devices of a claim on a node, for each instance type that the node may still be."""

    claim: str
    node: str
    devices: Mapping[str, tuple[PeerDeviceName, ...]]


class ProvisionAnswer(Model, frozen=True, kw_only=True):
    """What a provisioning round decided. New nodes are ``node-1`` and so on, in the order in which they were opened."""

    id: int
    overlays: tuple[PeerOverlay, ...] | None = None
    types: tuple[PeerPooledType, ...] | None = None
    nodes: tuple[PeerNewNode, ...] | None = None
    existing: tuple[PeerExistingNode, ...] | None = None
    errors: tuple[PeerPodError, ...] | None = None
    claims: tuple[PeerClaimDevices, ...] | None = None
    seconds: float = 0.0


class CompatibleAnswer(Model, frozen=True, kw_only=True):
    """For each pair: whether the labels agree strictly, with well-known labels undefined, and where both have them."""

    id: int
    strict: tuple[bool, ...]
    well_known: tuple[bool, ...]
    intersects: tuple[bool, ...]


class PeerFailure(Model, frozen=True, kw_only=True):
    """A request that was not understood or made the allocator panic."""

    id: int | None
    failure: str
    stack: str = ""


AnswerT = TypeVar("AnswerT", AllocateAnswer, ScheduleAnswer, ProvisionAnswer, CompatibleAnswer)


def decode_handshake(name: str, line: bytes, protocol: int) -> Handshake:
    """Check a peer's first line. Raises ``PeerError`` if it is no handshake, or one of another protocol."""
    handshake = _decode_line(name, line, Handshake)
    if handshake.peer != name:
        raise PeerError(f"peer {name} introduced itself as {handshake.peer!r}")
    if handshake.protocol != protocol:
        raise PeerError(
            f"peer {name} speaks protocol {handshake.protocol} instead of {protocol}: run 'drasat peers build'"
        )
    return handshake


def decode_answer(name: str, line: bytes, kind: type[AnswerT], number: int) -> AnswerT:
    """Check the answer to request ``number``. Raises ``PeerError`` for failures, nonsense and other numbers."""
    if b'"failure"' in line[:200]:
        causes = _decode_line(name, line, PeerFailure).failure.splitlines()
        raise PeerError(f"peer {name} failed: {'; '.join(causes)}")
    answer = _decode_line(name, line, kind)
    if answer.id != number:
        raise PeerError(f"peer {name} answered request {answer.id} instead of {number}")
    return answer


_ParsedT = TypeVar("_ParsedT")


def _decode_line(name: str, line: bytes, kind: type[_ParsedT]) -> _ParsedT:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PeerError(f"peer {name} answered nonsense: {error}") from None
