"""Run notebooks: ``python notebooks/execution.py [NAME ...]`` writes them with their outputs to ``build/notebooks``.

What was run is kept until the notebook, the source, or the data that notebooks read changes. Tests and ``make docs``
take it from there, so that each notebook runs once.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from subprocess import DEVNULL
from tempfile import NamedTemporaryFile
from time import perf_counter

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
EXECUTED = ROOT / "build" / "notebooks"
# What an output depends on beside the notebook itself.
_READ = (
    *("api", "cel", "encoders", "integrations", "models", "peers", "problem", "scenarios", "solver"),
    *("benchmarks", "examples"),
)
_DRAWN_WITH = ("altair", "pandas", "vl-convert-python")
# Seconds for a cell: a limit against one that never ends.
_CELL_LIMIT = 300
_LOG = logging.getLogger(__name__)
_LOG.setLevel(logging.WARNING)


def notebooks() -> list[Path]:
    """All notebooks, in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Path:
    """The notebook with its outputs, which is run if that was not done before.

    Raises ``nbclient.exceptions.CellExecutionError`` if a cell fails.
    """
    text = path.read_text(encoding="utf-8")
    key = sha256(f"{text}{fingerprint()}".encode()).hexdigest()[:16]
    result = EXECUTED / f"{path.stem}-{key}.ipynb"
    if not result.exists():
        made = nbformat.reads(text, as_version=4)
        NotebookClient(made, timeout=_CELL_LIMIT, resources={"metadata": {"path": str(path.parent)}}, log=_LOG).execute(
            stderr=DEVNULL
        )  # What cells write goes another way; the kernel itself warns at its start and end.
        EXECUTED.mkdir(parents=True, exist_ok=True)
        for stale in EXECUTED.glob(f"{path.stem}-*.ipynb"):
            stale.unlink(missing_ok=True)
        _write(nbformat.writes(made), result)
    return result


@cache
def fingerprint() -> str:
    """What tells this state of the source, the data and the libraries that draw from any other."""
    found = sha256()
    for folder in _READ:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".yaml", ".json", ".gz", ".go"):
                found.update(path.relative_to(ROOT).as_posix().encode())
                found.update(path.read_bytes())
    libraries = [f"{name} {version(name)}" for name in _DRAWN_WITH]
    return f"{found.hexdigest()} {libraries} {sys.version}"


def _write(text: str, path: Path) -> None:
    """Rename a complete file, since another process may run the same notebook."""
    with NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False, encoding="utf-8") as part:
        part.write(text)
    os.replace(part.name, path)


def main(names: list[str]) -> None:
    """Run the notebooks whose names have one of these parts, all without any, and say how long each took."""
    for path in notebooks():
        if not names or any(name in path.stem for name in names):
            started = perf_counter()
            result = executed(path)
            print(f"{result.relative_to(ROOT)}  {perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
