"""Where manifests come from: files, folders, standard input, mappings; packed or not, and no more than a limit.

Files that are large together are read by several processes.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import realpath
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import Any, BinaryIO, cast

from ..formats.runtime import is_safe_to_fork
from ..kubernetes.quantity import Quantity

if sys.platform == "linux":
    import fcntl

InputSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
STDIN = "-"
# The most that all input may hold together, after unpacking: 20,000 nodes as kubectl prints them.
DEFAULT_INPUT_SIZE = 512 * 2**20
# A packed file may hold this much, or this many times its size if that is more. Clusters have 20 to 120 times.
PACKED_SIZE, PACKED_RATIO = 64 * 2**20, 200
SUFFIXES = (".yaml", ".yml", ".json")
_READ_SIZE = 2**20
# A process is worth so many bytes of JSON. A byte of YAML or of a packed file takes as long as so many of them.
_BYTES_A_PROCESS, _YAML_BYTE, _PACKED_BYTE = 4 * 2**20, 4, 20
_GZIP_MAGIC = b"\x1f\x8b"


class SourceError(Exception):
    """A file or folder cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input to read: bytes of a file, or objects given as mappings, or the reason why there is neither.

    ``made`` is what another process has made of the bytes, ``is_shared`` says whether others read as well.
    """

    name: str
    data: bytes = b""
    objects: Iterable[Any] | None = None
    failure: str = ""
    made: bytes = b""
    is_shared: bool = False


def parse_input_size(size: int | str | None) -> int:
    """Bytes of a ``max_input_size``: a number, a quantity such as 2Gi, or the default. Raises ValueError."""
    most = DEFAULT_INPUT_SIZE if size is None else Quantity.parse(size).value
    if most <= 0:
        raise ValueError("must be more than zero bytes")
    return most


def open_sources(
    sources: InputSource | Iterable[InputSource],
    recursive: bool = False,
    max_input_size: int | str | None = None,
    make: Callable[[Input], bytes] | None = None,
) -> Generator[Input]:
    """Yield the inputs of all sources (or of the one) in order, each read on demand; a file that is named twice once.

    ``make`` says what other processes give of files that they read; where it raises, this one reads the file. They are
    gone when the generator is at its end, or closed. Raises ValueError for a ``max_input_size`` that is none.
    """
    files = _Files(parse_input_size(max_input_size), max_input_size is None, make)
    alone = isinstance(sources, (str, PathLike, Mapping))
    listed: dict[object, str | Input] = {}
    for source in cast("Iterable[InputSource]", [sources] if alone else sources):
        for place, one in _listed(source, recursive):
            listed.setdefault(place, one)
    with files.shared([one for one in listed.values() if isinstance(one, str)]):
        for one in listed.values():
            yield files.open(one) if isinstance(one, str) else one


def _listed(source: InputSource, recursive: bool) -> list[tuple[object, str | Input]]:
    """The files of a source and where they really are, or an input that is none."""
    if isinstance(source, Mapping):
        return [(object(), Input("<object>", objects=[source]))]
    if not isinstance(source, (str, PathLike)):
        return [(object(), Input("<objects>", objects=source))]
    path = fspath(source)
    try:
        if not path:
            # As a path it would be the current folder.
            return [(object(), Input("''", failure="a path is empty"))]
        files = [path] if path == STDIN or not Path(path).is_dir() else _manifest_files(Path(path), recursive)
        return [(file if file == STDIN else realpath(file), file) for file in files]
    except (OSError, ValueError, SourceError) as error:
        return [(object(), Input(_display_path(path), failure=_display_os_error(error)))]


class _Files:
    """Reads files, together no more than the limit. Large ones are also read by other processes, the largest first.

    Each is read by who locks its first byte in a memory that they share. There is the result, too. Locks end with their
    process, whose file is then left to others.
    """

    def __init__(self, most: int, bounded_ratio: bool, make: Callable[[Input], bytes] | None) -> None:
        self._most = self._left = most
        self._bounded_ratio = bounded_ratio
        self._make = make
        self._memory, self._starts = -1, dict[str, int]()
        # What this process reads, with results of what it has read while it would have waited.
        self._own: dict[str, bytes] = {}

    @contextmanager
    def shared(self, files: Iterable[str]) -> Iterator[None]:
        """Let other processes read, too, as long as this lasts and if the files are worth it."""
        processes: list[Any] = []
        try:
            with suppress(OSError):
                sizes = {file: _json_size(file) for file in files if Path(file).is_file()}
                number = (sum(sizes.values()) - max(sizes.values(), default=0)) // _BYTES_A_PROCESS
                number = min(number, len(sizes) - 1) if self._make is not None else 0
                if number > 0 and is_safe_to_fork():
                    from multiprocessing import get_context

                    self._memory = os.memfd_create("files")
                    # Each has a TiB of addresses, which take no memory.
                    by_size = sorted(sizes, key=sizes.__getitem__, reverse=True)
                    self._starts = {file: place << 40 for place, file in enumerate(by_size)}
                    for _ in range(min(number, len(os.sched_getaffinity(0)) - 1)):
                        process = get_context("fork").Process(target=self._serve, daemon=True)
                        process.start()
                        processes.append(process)
            yield
        finally:
            for process in processes:
                process.kill()
                process.join()
            if self._starts:
                os.close(self._memory)

    def _serve(self) -> None:
        """Read what nobody else does. Who waits for the answer is told of Ctrl-C."""
        signal(SIGINT, SIG_IGN)
        parent = os.getppid()
        for file, start in self._starts.items():
            with suppress(OSError):
                made = self._made(file) if self._is_left(file) and os.getppid() == parent else b""
                # The length comes last: without it there is no result.
                if made and os.pwrite(self._memory, made, start + 8) == len(made):
                    os.pwrite(self._memory, len(made).to_bytes(8), start)
                fcntl.lockf(self._memory, fcntl.LOCK_UN, 1, start)

    def _result(self, file: str) -> bytes:
        """The size of a file, and what was made of it; empty: who asks has to read it, and nobody else does."""
        if file not in self._starts:
            return b""
        while file not in self._own and not self._locks(file):
            if other := next(filter(self._is_left, self._starts), ""):
                self._own[other] = self._made(other)
            else:
                fcntl.lockf(self._memory, fcntl.LOCK_EX, 1, self._starts[file])
        made, self._own[file] = self._own.get(file) or self._sent(file), b""
        return made

    def _locks(self, file: str) -> bool:
        with suppress(OSError):
            fcntl.lockf(self._memory, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._starts[file])
            return True
        return False

    def _is_left(self, file: str) -> bool:
        return file not in self._own and self._locks(file) and not self._sent(file)

    def _sent(self, file: str) -> bytes:
        start = self._starts[file]
        return os.pread(self._memory, int.from_bytes(os.pread(self._memory, 8, start)), start + 8)

    def _made(self, file: str) -> bytes:
        # Whatever is wrong is told where the file is read again.
        with suppress(Exception):
            data = self._read(file)
            return len(data).to_bytes(8) + self._make(Input(_display_path(file), data)) if self._make else b""
        return b""

    def open(self, file: str) -> Input:
        """Give a file, or why it cannot be read."""
        try:
            made = self._result(file)
            size = int.from_bytes(made[:8])
            if made and max(size, Path(file).stat().st_size) <= self._left:
                self._left -= size
                return Input(_display_path(file), made=made[8:])
            data = self._read(file)
            self._left -= len(data)
            name = "<stdin>" if file == STDIN else _display_path(file)
            return Input(name, data, is_shared=bool(self._starts))
        except (OSError, ValueError, SourceError) as error:
            return Input(_display_path(file), failure=_display_os_error(error))

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


def _json_size(file: str) -> int:
    """How many bytes of JSON take as long as a file."""
    name, size = file.lower(), Path(file).stat().st_size
    if name.endswith(".gz"):
        size *= _PACKED_BYTE
    return size if name.removesuffix(".gz").endswith(".json") else _YAML_BYTE * size
