"""The peers at work: a process that is asked one question after the other.

``KubeScheduler`` asks the allocator of kube-scheduler itself, ``Karpenter`` the provisioning round of Karpenter itself.
``peer_statuses`` tells what is built, for ``drasat peers``. A child process answers lines with lines; everything that
can go wrong with one has a message.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Self

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

_CHUNK = 1 << 20
_COMPLAINT_BYTES = 64 << 10
_MEMORY_COMPLAINTS = (b"out of memory", b"cannot allocate memory", b"failed to reserve", b"MemoryError")
# How the first interesting line on stderr begins; what follows it is stack traces.
_COMPLAINT_PREFIXES = (b"panic:", b"fatal error:", b"runtime:")


@dataclass(frozen=True, slots=True)
class PeerLimits:
    """What a peer may use: bytes of address space, bytes of one answer, seconds to start.

    ``grace`` are seconds beyond the time limit of a question, before the peer counts as hanging.
    """

    memory: int | None = 8 << 30
    answer: int = 1 << 30
    start: float = 30.0
    grace: float = 10.0


class PeerProcess:
    """One running peer. After a ``PeerError`` the process is gone; not safe for several threads at once."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        limits: PeerLimits | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start the program. Raises ``PeerError`` if it cannot be started."""
        self.name = name
        self._limits = limits or PeerLimits()
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._child = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                bufsize=0,
                env={**os.environ, **(env or {})},
            )
        except OSError as error:
            self._complaints.close()
            raise PeerError(f"peer {name} cannot be started: {error.strerror or error}") from None
        self._stop = weakref.finalize(self, _stop_process, self._child, self._complaints)
        # Where the system can limit the address space of a process that has just been started.
        if self._limits.memory is not None and hasattr(resource, "prlimit"):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self._child.pid, resource.RLIMIT_AS, (self._limits.memory, self._limits.memory))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """Whether the process can take a request."""
        return self._stop.alive and self._child.poll() is None

    def close(self) -> None:
        """End the process; no error if it has ended."""
        self._stop()

    def greeting(self) -> bytes:
        """Wait for the first line the peer writes, before any request. Raises ``PeerError``."""
        return self._talk(b"", self._limits.start)

    def ask(self, line: bytes, time_limit: float | None = None) -> bytes:
        """Send a line and return the next line, both without line end.

        Raises ``PeerError`` if none comes within ``time_limit`` seconds, if it is too long, or if the peer ends.
        """
        if not self.running:
            raise PeerError(f"peer {self.name} is not running")
        return self._talk(line + b"\n", time_limit)

    def _talk(self, message: bytes, time_limit: float | None) -> bytes:
        try:
            return self._exchange(message, time_limit)
        except BaseException:
            # Whatever interrupted the exchange, an answer to it might still come and would be taken for the next.
            self.close()
            raise

    def _exchange(self, message: bytes, time_limit: float | None) -> bytes:
        deadline = None if time_limit is None else time.monotonic() + time_limit
        to_send = memoryview(message)
        parts = [b""]
        size = 0
        with _register_pipes(self._child, writing=bool(message)) as pipes:
            while b"\n" not in parts[-1]:
                for pipe in self._ready(pipes, deadline, time_limit):
                    if pipe is self._child.stdin:
                        to_send = self._send(pipes, to_send)
                    else:
                        parts.append(self._receive())
                        size += len(parts[-1])
                if size > self._limits.answer:
                    raise PeerError(f"peer {self.name} wrote more than {self._limits.answer} bytes in one answer")
        if to_send:
            raise PeerError(f"peer {self.name} answered before it had read the request")
        line, _, unasked = b"".join(parts).partition(b"\n")
        if unasked:
            raise PeerError(f"peer {self.name} wrote more than it was asked for")
        return line

    def _ready(
        self, pipes: selectors.BaseSelector, deadline: float | None, time_limit: float | None
    ) -> list[IO[bytes] | None]:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        events = pipes.select(left)
        if not events and left is not None:
            raise PeerError(f"peer {self.name} gave no answer within {time_limit:g} s")
        return [key.data for key, _ in events]

    def _send(self, pipes: selectors.BaseSelector, rest: memoryview) -> memoryview:
        assert self._child.stdin is not None
        try:
            rest = rest[os.write(self._child.stdin.fileno(), rest[:_CHUNK]) :]
        except BrokenPipeError:
            rest = rest[:0]  # it has ended or will soon; reading says how
        if not rest:
            pipes.unregister(self._child.stdin)
        return rest

    def _receive(self) -> bytes:
        assert self._child.stdout is not None
        part = os.read(self._child.stdout.fileno(), _CHUNK)
        if not part:
            raise PeerError(self._obituary())
        return part

    def _obituary(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=1)
        status = self._child.returncode
        reason = _main_complaint(self._complaints)
        if any(words in reason for words in _MEMORY_COMPLAINTS):
            return f"peer {self.name} ran out of memory (limit {self._limits.memory} bytes)"
        ending = "closed its output" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            ending = f"was ended by signal {-status}"
        return f"peer {self.name} {ending}" + (f": {reason.decode(errors='replace')}" if reason else "")


def _register_pipes(child: subprocess.Popen[bytes], *, writing: bool) -> selectors.BaseSelector:
    assert child.stdin is not None
    assert child.stdout is not None
    pipes = selectors.DefaultSelector()
    pipes.register(child.stdout, selectors.EVENT_READ, child.stdout)
    if writing:
        os.set_blocking(child.stdin.fileno(), False)
        pipes.register(child.stdin, selectors.EVENT_WRITE, child.stdin)
    return pipes


def _stop_process(child: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
    child.kill()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()
    child.wait()
    complaints.close()


def _main_complaint(written: IO[bytes]) -> bytes:
    """Pick the line on stderr that says most: the first of a crash, else the last."""
    written.seek(0)
    lines = [line.strip() for line in written.read(_COMPLAINT_BYTES).splitlines() if line.strip()]
    crashes = [line for line in lines if line.startswith(_COMPLAINT_PREFIXES)]
    return (crashes or lines[-1:] or [b""])[0]


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
