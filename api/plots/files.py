"""Pictures as files: checked before anything is computed, and never half written."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from math import prod
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from .layouts import panels

if TYPE_CHECKING:
    from ..topology_documents import TopologyDocument

FORMATS = (".png", ".svg")
MOST_PANELS = 64
MOST_PLACES = 50_000


def check(path: Path) -> None:
    """Refuse what cannot be drawn into, and say what is missing. Raises ``ValueError``, one line."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a picture is a {' or '.join(FORMATS)} file, not {str(path)!r}")
    if find_spec("matplotlib") is None:
        raise ValueError("a picture needs matplotlib: pip install 'drasat[plot]'")


def save(document: TopologyDocument, path: Path) -> None:
    """Draw all instances. Raises ``ValueError``, and ``OSError`` if the file cannot be written."""
    check(path)
    instances = [one for topology in document.topologies for one in topology.instances]
    places = sum(max(len(one.devices), prod(axis.size for axis in one.axes)) for one in instances)
    if places > MOST_PLACES:
        raise ValueError(f"{places:,} places are too many for one file, which holds {MOST_PLACES:,}")
    drawn = [
        (panel, one.devices)
        for topology in document.topologies
        for one in topology.instances
        if one.devices
        for panel in islice(panels(topology, one), MOST_PANELS + 1)
    ]
    if not drawn:
        raise ValueError("there is nothing to draw: no device has a place")
    if len(drawn) > MOST_PANELS:
        raise ValueError(f"{len(drawn)} or more pictures are too many for one file, which holds {MOST_PANELS}")
    from .drawing import figure

    _write(figure(drawn), path)


def _write(figure: object, path: Path) -> None:
    """Write beside the file and rename, so that what has its name is always complete; the same input, the same file."""
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    # Neither may hold when or with what it was made.
    metadata = {"svg": {"Date": None}, "png": {"Software": None}}[kind]
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix, delete=False) as part:
        try:
            with rc_context({"svg.hashsalt": "drasat"}):
                figure.savefig(part, format=kind, dpi=150, metadata=metadata)  # type: ignore[attr-defined]
        except BaseException:
            part.close()
            with suppress(OSError):
                Path(part.name).unlink()
            raise
    Path(part.name).chmod(0o666 & ~_umask())
    Path(part.name).replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
