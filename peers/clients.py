"""The peers at work: a process that is asked one question after the other.

``KubeScheduler`` asks the allocator of kube-scheduler itself, ``Karpenter`` the provisioning round of Karpenter itself.
``peer_statuses`` tells what is built, for ``drasat peers``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ..models.formats.errors import PeerError
from .answers import (
    AllocateAnswer,
    AnswerT,
    CompatibleAnswer,
    Handshake,
    ProvisionAnswer,
    ScheduleAnswer,
    decode_answer,
    decode_handshake,
)
from .process import PeerLimits, PeerProcess
from .programs import KARPENTER, KUBE_SCHEDULER, PROGRAMS, find_go, find_program, needed_go, require_program
from .requests import (
    PROTOCOL,
    AllocateRequest,
    CompatibleRequest,
    ProvisionRequest,
    Request,
    ScheduleRequest,
    encode_request,
)


class PeerClient:
    """Asks a program of another system. The process starts with the first question, and again after a failure.

    A context manager; not safe for several threads at once. ``command`` defaults to the built program.
    """

    name: ClassVar[str]

    def __init__(self, command: Sequence[str | Path] | None = None, *, limits: PeerLimits | None = None) -> None:
        self._command = command
        self._limits = limits or PeerLimits()
        self._process: PeerProcess | None = None
        self._handshake: Handshake | None = None
        self._questions = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one; a later question starts another."""
        if self._process is not None:
            self._process.close()
        self._process = None

    @property
    def handshake(self) -> Handshake:
        """Who answers: module, version and Go version. Raises ``PeerError``, also if the peer is not built."""
        with self._ended_by_errors():
            self._running()
        assert self._handshake is not None
        return self._handshake

    def _ask(self, request: Request, kind: type[AnswerT]) -> AnswerT:
        limit = request.time_limit_seconds
        with self._ended_by_errors():
            process = self._running()
            self._questions += 1
            line = process.ask(encode_request(request, self._questions), limit + self._limits.grace if limit else None)
            return decode_answer(self.name, line, kind, self._questions)

    def _running(self) -> PeerProcess:
        if self._process is None or not self._process.running:
            program = self._command or [require_program(self.name)]
            self._process = PeerProcess([str(part) for part in program], name=self.name, limits=self._limits)
            self._handshake = decode_handshake(self.name, self._process.greeting(), PROTOCOL)
        return self._process

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """End a peer that has failed; it gets no further request."""
        try:
            yield
        except PeerError:
            self.close()
            raise


class KubeScheduler(PeerClient):
    """The allocator of kube-scheduler."""

    name = KUBE_SCHEDULER

    def allocate(self, request: AllocateRequest) -> AllocateAnswer:
        """Allocate one pod's claims on one node. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, AllocateAnswer)

    def schedule(self, request: ScheduleRequest) -> ScheduleAnswer:
        """Schedule pods one after the other. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, ScheduleAnswer)


class Karpenter(PeerClient):
    """The provisioning round of Karpenter."""

    name = KARPENTER

    def provision(self, request: ProvisionRequest) -> ProvisionAnswer:
        """Decide what would be launched for pending pods. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, ProvisionAnswer)

    def compatible(self, request: CompatibleRequest) -> CompatibleAnswer:
        """Ask the algebra of requirements about pairs. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, CompatibleAnswer)


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """A peer: its program and what that says of itself (None: not built), and the Go that could build it.

    ``problem`` is the line that says why it cannot be used; empty if it can.
    """

    name: str
    program: Path | None
    handshake: Handshake | None
    go: Path | None
    problem: str = ""


def peer_statuses(names: Sequence[str] = PROGRAMS) -> tuple[PeerStatus, ...]:
    """List the peers, asking each for its version; what does not work is reported, not raised."""
    return tuple(map(_status, names))


def _status(name: str) -> PeerStatus:
    client = next(kind for kind in (KubeScheduler, Karpenter) if kind.name == name)
    program, go = find_program(name), find_go(needed_go(name))
    try:
        require_program(name)
        with client() as peer:
            return PeerStatus(name, program, peer.handshake, go)
    except PeerError as error:
        return PeerStatus(name, program, None, go, str(error))
