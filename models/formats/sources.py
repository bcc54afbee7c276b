"""Where input comes from: files, folders, standard input, mappings in memory."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, cast

STDIN = "-"
# The most a file may hold, after unpacking.
MAX_BYTES = 512 * 2**20
SUFFIXES = (".yaml", ".yml", ".json")
_READ_SIZE = 2**20
_GZIP_MAGIC = b"\x1f\x8b"
InputSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]


class SourceError(Exception):
    """A file or folder cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input to read: bytes of a file, or objects given as mappings, or the reason why there is neither."""

    name: str
    data: bytes = b""
    objects: Iterable[Any] | None = None
    failure: str = ""


def open_sources(sources: InputSource | Iterable[InputSource], recursive: bool = False) -> Iterator[Input]:
    """Yield the inputs of all sources (or of the one) in order, each read when it is asked for."""
    alone = isinstance(sources, (str, PathLike, Mapping))
    for source in cast("Iterable[InputSource]", [sources] if alone else sources):
        if isinstance(source, (str, PathLike)):
            yield from _paths(fspath(source), recursive)
        elif isinstance(source, Mapping):
            yield Input("<object>", objects=[source])
        else:
            yield Input("<objects>", objects=source)


def _paths(path: str, recursive: bool) -> Iterator[Input]:
    try:
        files = [path] if path == STDIN or not Path(path).is_dir() else _manifest_files(Path(path), recursive)
    except (OSError, ValueError, SourceError) as error:
        yield Input(_display_path(path), failure=_display_os_error(error))
        return
    for file in files:
        try:
            yield Input("<stdin>" if file == STDIN else _display_path(file), data=_gunzip(_read_file(file)))
        except (OSError, ValueError, SourceError) as error:
            yield Input(_display_path(file), failure=_display_os_error(error))


def _display_path(path: str) -> str:
    """Name a file, also where its name holds bytes that are no text."""
    return path.encode(errors="backslashreplace").decode()


def _display_os_error(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _manifest_files(folder: Path, recursive: bool) -> list[str]:
    """List a folder's manifests by name. Raises SourceError if there are none."""
    entries = folder.rglob("*") if recursive else folder.iterdir()
    files = sorted(str(entry) for entry in entries if _is_manifest(entry))
    if not files:
        hint = "" if recursive else "; subfolders are read with -R"
        raise SourceError(f"holds no {', '.join(SUFFIXES)} files{hint}")
    return files


def _is_manifest(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(SUFFIXES) and path.is_file()


def _read_file(file: str) -> bytes:
    """Read a file, packed or not, but never more than the bound and one byte. Raises SourceError for no stdin."""
    if file == STDIN:
        if sys.stdin is None:
            raise SourceError("is closed")
        return _read_bounded(sys.stdin.buffer)
    with Path(file).open("rb") as stream:
        return _read_bounded(stream)


def _read_bounded(stream: BinaryIO | gzip.GzipFile) -> bytes:
    """Read until the end or the bound; piece by piece, as one large read takes its memory at once."""
    held = io.BytesIO()
    while piece := stream.read(min(_READ_SIZE, MAX_BYTES + 1 - held.tell())):
        held.write(piece)
    return held.getvalue()


def _gunzip(data: bytes) -> bytes:
    """Unpack gzip, known by its magic bytes. Raises SourceError if it is damaged or too much comes out."""
    if data.startswith(_GZIP_MAGIC):
        try:
            data = _read_bounded(gzip.GzipFile(fileobj=io.BytesIO(data)))
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"damaged gzip: {error}") from None
    if len(data) > MAX_BYTES:
        raise SourceError(f"holds more than {MAX_BYTES >> 20} MiB")
    return data
