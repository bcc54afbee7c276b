"""A child process that answers lines with lines, and everything that can go wrong with one."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Self

from ..models.formats.errors import PeerError

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
