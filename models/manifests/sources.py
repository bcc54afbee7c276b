"""Where manifests come from: files, folders, standard input, mappings; packed or not, and no more than a limit."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import realpath
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..kubernetes.quantity import Quantity

InputSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
STDIN = "-"
# The most that all input may hold together, after unpacking: 20,000 nodes as kubectl prints them.
DEFAULT_INPUT_SIZE = 512 * 2**20
# A packed file may hold this much, or this many times its size if that is more. Clusters have 20 to 120 times.
PACKED_SIZE, PACKED_RATIO = 64 * 2**20, 200
SUFFIXES = (".yaml", ".yml", ".json")
_READ_SIZE = 2**20
_GZIP_MAGIC = b"\x1f\x8b"


class SourceError(Exception):
    """A file or folder cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input to read: bytes of a file, or objects given as mappings, or the reason why there is neither."""

    name: str
    data: bytes = b""
    objects: Iterable[Any] | None = None
    failure: str = ""


def parse_input_size(size: int | str | None) -> int:
    """Bytes of a ``max_input_size``: a number, a quantity such as 2Gi, or the default. Raises ValueError."""
    most = DEFAULT_INPUT_SIZE if size is None else Quantity.parse(size).value
    if most <= 0:
        raise ValueError("must be more than zero bytes")
    return most


def open_sources(
    sources: InputSource | Iterable[InputSource], recursive: bool = False, max_input_size: int | str | None = None
) -> Iterator[Input]:
    """Yield the inputs of all sources (or of the one) in order, each read on demand; a file that is named twice once.

    Raises ValueError for a ``max_input_size`` that is none.
    """
    files = _Files(parse_input_size(max_input_size), bounded_ratio=max_input_size is None)
    alone = isinstance(sources, (str, PathLike, Mapping))
    for source in cast("Iterable[InputSource]", [sources] if alone else sources):
        if isinstance(source, (str, PathLike)):
            yield from files.open(fspath(source), recursive)
        elif isinstance(source, Mapping):
            yield Input("<object>", objects=[source])
        else:
            yield Input("<objects>", objects=source)


class _Files:
    """Reads files, none twice, and together no more than the limit."""

    def __init__(self, most: int, bounded_ratio: bool) -> None:
        self._most = self._left = most
        self._bounded_ratio = bounded_ratio
        self._opened: set[str] = set()

    def open(self, path: str, recursive: bool) -> Iterator[Input]:
        """Yield the file, or those of the folder."""
        if not path:
            # As a path it would be the current folder.
            yield Input("''", failure="a path is empty")
            return
        try:
            files = [path] if path == STDIN or not Path(path).is_dir() else _manifest_files(Path(path), recursive)
        except (OSError, ValueError, SourceError) as error:
            yield Input(_display_path(path), failure=_display_os_error(error))
            return
        for file in files:
            try:
                place = file if file == STDIN else realpath(file)
                if place not in self._opened:
                    self._opened.add(place)
                    yield Input("<stdin>" if file == STDIN else _display_path(file), data=self._read(file))
            except (OSError, ValueError, SourceError) as error:
                yield Input(_display_path(file), failure=_display_os_error(error))

    def _read(self, file: str) -> bytes:
        """Read a file and unpack it if it is gzip, known by its magic bytes. Raises SourceError, and OSError."""
        if file == STDIN:
            if sys.stdin is None:
                raise SourceError("is closed")
            data = _read_bounded(sys.stdin.buffer, self._left)
        else:
            with Path(file).open("rb") as stream:
                data = _read_bounded(stream, self._left)
        bound = self._left
        if data.startswith(_GZIP_MAGIC) and len(data) <= bound:
            if self._bounded_ratio:
                bound = min(bound, max(PACKED_SIZE, PACKED_RATIO * len(data)))
            try:
                data = _read_bounded(gzip.GzipFile(fileobj=io.BytesIO(data)), bound)
            except (OSError, EOFError, zlib.error) as error:
                raise SourceError(f"damaged gzip: {error}") from None
        if len(data) > bound:
            whole = "holds" if self._left == self._most else "all input up to here holds"
            holds, most = (whole, self._most) if bound == self._left else ("unpacks to", bound)
            raise SourceError(f"{holds} more than {_display_size(most)}; --max-input-size raises the limit")
        self._left -= len(data)
        return data


def _read_bounded(stream: BinaryIO | gzip.GzipFile, bound: int) -> bytes:
    """Read no more than the bound and one byte; piece by piece, as one large read takes its memory at once."""
    held = io.BytesIO()
    while piece := stream.read(min(_READ_SIZE, bound + 1 - held.tell())):
        held.write(piece)
    return held.getvalue()


def _display_path(path: str) -> str:
    """Name a file, also where its name holds bytes that are no text."""
    return path.encode(errors="backslashreplace").decode()


def _display_os_error(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _manifest_files(folder: Path, recursive: bool) -> list[str]:
    """List a folder's manifests by name. Raises SourceError if there are none."""
    entries = folder.rglob("*") if recursive else folder.iterdir()
    named = (entry for entry in entries if entry.name.lower().removesuffix(".gz").endswith(SUFFIXES))
    files = sorted(str(entry) for entry in named if entry.is_file())
    if not files:
        hint = "" if recursive else "; subfolders are read with -R"
        raise SourceError(f"holds no {', '.join(SUFFIXES)} files{hint}")
    return files


def _display_size(size: int) -> str:
    return f"{size >> 20} MiB" if size % 2**20 == 0 else f"{size} bytes"
