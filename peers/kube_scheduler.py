"""The allocator of kube-scheduler itself, in a process beside ours."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from .answers import AllocateAnswer, Answer, Handshake, ScheduleAnswer, decode_answer, decode_handshake
from .build import NAME, require
from .errors import PeerError
from .process import Limits, PeerProcess
from .requests import PROTOCOL, AllocateRequest, Request, ScheduleRequest, encode

# What a peer may take beyond the time limit it was given itself, before it counts as hanging.
GRACE_SECONDS = 10.0


class KubeScheduler:
    """Asks the real allocator. The process starts with the first question, and again after a failure.

    A context manager; not safe for several threads at once. ``command`` defaults to the built peer.
    """

    def __init__(self, command: Sequence[str | Path] | None = None, *, limits: Limits | None = None) -> None:
        self._command = command
        self._limits = limits
        self._process: PeerProcess | None = None
        self._handshake: Handshake | None = None
        self._asked = 0

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

    def allocate(self, request: AllocateRequest) -> AllocateAnswer:
        """Allocate one pod's claims on one node. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, AllocateAnswer)

    def schedule(self, request: ScheduleRequest) -> ScheduleAnswer:
        """Schedule pods one after the other. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, ScheduleAnswer)

    def _ask(self, request: Request, kind: type[Answer]) -> Answer:
        limit = request.time_limit_seconds
        with self._ended_by_errors():
            process = self._running()
            self._asked += 1
            line = process.ask(encode(request, self._asked), limit + GRACE_SECONDS if limit else None)
            return decode_answer(NAME, line, kind, self._asked)

    def _running(self) -> PeerProcess:
        if self._process is None or not self._process.running:
            program = self._command or [require()]
            self._process = PeerProcess([str(part) for part in program], name=NAME, limits=self._limits)
            self._handshake = decode_handshake(NAME, self._process.greeting(), PROTOCOL)
        return self._process

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """End a peer that has failed: it is not asked again."""
        try:
            yield
        except PeerError:
            self.close()
            raise
