"""Answers of the peers, checked while they are decoded."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

import msgspec

from ..models.formats.decode import Model
from ..models.kubernetes.claims import AllocationResult
from .errors import PeerError

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


class PeerFailure(Model, frozen=True, kw_only=True):
    """A request that was not understood or made the allocator panic."""

    id: int | None
    failure: str
    stack: str = ""


AnswerT = TypeVar("AnswerT", AllocateAnswer, ScheduleAnswer)


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
