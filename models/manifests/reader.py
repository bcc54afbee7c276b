"""Manifests: files, folders, standard input or mappings in memory to typed v1 objects with their place.

Our own kinds and the entries in annotations are read strictly. A large cluster repeats most values of devices, so equal
values become one object.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..formats.decode import DecodeProblem, to_builtins, to_object, unknown_fields
from ..formats.errors import InputProblem, Source, Unreadable
from ..formats.gc import gc_paused
from ..formats.json import read_documents
from ..kubernetes import extensions
from ..kubernetes.claims import ResourceClaim, ResourceClaimTemplate
from ..kubernetes.kinds import KIND_NAMES, KINDS, RESOURCE_GROUP, ApiObject, GroupKind, Kind, group_of
from ..kubernetes.slices import ResourceSlice
from .conversion import VALUELESS, ConversionError, GeneratedNames, to_v1, with_defaults, with_flat_lists

InputSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
_LIST_KIND = "List"


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as read.

    ``object`` is in v1 shape with the API's defaults (CLM-1), None for a kind that is ignored.
    ``raw`` is the mapping as read, in its own ``api_version``, with a name if it had a ``generateName``
    only; it is None for ResourceSlices, of which a cluster has too many to keep twice.
    """

    kind: str
    api_version: str
    object: ApiObject | None
    raw: Mapping[str, Any] | None
    source: Source


def read_manifests(
    sources: Iterable[InputSource], recursive: bool = False
) -> tuple[list[Manifest], list[InputProblem], Counter[str]]:
    """Read everything the sources hold: manifests, problems in reading order, and a count of ignored kinds.

    Nothing in the input raises: what cannot be read is among the problems.
    """
    reader = _Reader()
    with gc_paused():
        for read in open_sources(sources, recursive):
            reader.read(read)
    # With the version for a kind of ours in another API: it may be misspelt.
    ignored = Counter(
        f"{manifest.kind} of {manifest.api_version}" if manifest.kind in KIND_NAMES else manifest.kind
        for manifest in reader.manifests
        if manifest.object is None
    )
    return reader.manifests, reader.problems, ignored


class _Reader:
    """Collects manifests and problems over all inputs."""

    def __init__(self) -> None:
        self.manifests: list[Manifest] = []
        self.problems: list[InputProblem] = []
        self._shared = ValueInterner()
        self._names = GeneratedNames()

    def read(self, read: Input) -> None:
        """Read one file, or the objects of one iterable."""
        whole = Source(read.name, 0)
        if read.failure:
            self._refuse(whole, "", read.failure)
        elif read.objects is None and (not read.data or read.data.isspace()):
            self._refuse(whole, "", "is empty")
        else:
            objects = read.objects
            documents = read_documents(read.data, read.name) if objects is None else map(to_builtins, objects)
            found = len(self.manifests) + len(self.problems)
            for number, document in enumerate(documents, 1):
                self._document(document, Source(read.name, number))
            if found == len(self.manifests) + len(self.problems):
                self.problems.append(InputProblem(whole, "", "holds no objects", "warning"))

    def _refuse(self, source: Source, field: str, message: str, kind: str = "", name: str = "") -> None:
        self.problems.append(InputProblem(source, field, message, "error", kind, name))

    def _document(self, document: Any, source: Source, listed: tuple[str, str] = ("", "")) -> None:
        """Read a document or an item of a list, which may leave its kind and version to the list."""
        if document is None and not source.items:
            return
        if isinstance(document, Unreadable):
            for field, message in document.reasons:
                self._refuse(source, field, message)
        elif not isinstance(document, dict):
            self._refuse(source, "", f"must be an object, not {_TYPE_WORDS.get(type(document), 'a single value')}")
        else:
            self._mapping(document, source, listed)

    def _mapping(self, mapping: dict[str, Any], source: Source, listed: tuple[str, str]) -> None:
        kind, api_version = mapping.get("kind") or listed[0], mapping.get("apiVersion") or listed[1]
        for field, value in (("kind", kind), ("apiVersion", api_version)):
            if not isinstance(value, str) or not value:
                self._refuse(source, field, "Required value" if not value else "Invalid value: must be a string")
                return
        if kind.endswith(_LIST_KIND) and "items" in mapping:
            self._list(mapping["items"], source, kind, api_version)
        else:
            self._object(kind, api_version, mapping, source)

    def _list(self, items: Any, source: Source, kind: str, api_version: str) -> None:
        if isinstance(items, (dict, str, int, float)):
            self._refuse(source, "items", "Invalid value: must be a list", kind)
            return
        listed = (kind.removesuffix(_LIST_KIND), api_version) if kind != _LIST_KIND else ("", "")
        if len(source.items) > _DEEPEST_LIST:
            self._refuse(source, "items", "too many lists within lists", kind)
            return
        for number, item in enumerate(items or (), 1):
            self._document(item, source.item(number), listed)

    def _object(self, kind: str, api_version: str, mapping: dict[str, Any], source: Source) -> None:
        # The same few texts on all objects: one of each is less memory, and quick to compare.
        kind, api_version = sys.intern(kind), sys.intern(api_version)
        known = KINDS.get(GroupKind(group_of(api_version), kind))
        if known is None:
            self.manifests.append(Manifest(kind, api_version, None, mapping, source))
        elif api_version not in known.api_versions():
            supported = ", ".join(f'"{version}"' for version in known.api_versions())
            message = f'Unsupported value: "{api_version}": supported values: {supported}'
            self._refuse(source, "apiVersion", message, kind, _manifest_name(mapping))
        else:
            self._known(known, kind, api_version, mapping, source)

    def _known(self, known: Kind, kind: str, api_version: str, mapping: dict[str, Any], source: Source) -> None:
        version = api_version.rpartition("/")[2]
        mapping = self._names.named(kind, mapping)
        try:
            converted = to_v1(kind, version, mapping) if known.group == RESOURCE_GROUP else mapping
            read, found = self._typed(known, converted)
        except ConversionError as error:
            self._refuse(source, error.field, str(error), kind, _manifest_name(mapping))
            return
        if read is not None and (own := [*extension_problems(read, mapping)]):
            read, found = None, own
        for field, message in found:
            self._refuse(source, field, message, kind, _manifest_name(mapping))
        if isinstance(read, ResourceSlice):
            self.manifests.append(Manifest(kind, api_version, read, None, source))
        elif read is not None:
            self.manifests.append(Manifest(kind, api_version, with_defaults(read, version), mapping, source))

    def _typed(self, known: Kind, mapping: dict[str, Any]) -> tuple[ApiObject | None, list[DecodeProblem]]:
        """The typed object; a slice with attributes without value is looked at again, for lists spelled otherwise."""
        read, found = to_object(mapping, known.model)
        if self._share(read) and VALUELESS in self._shared and (flat := with_flat_lists(mapping)) is not mapping:
            read, found = to_object(flat, known.model)
            self._share(read)
        return read, found

    def _share(self, read: ApiObject | None) -> bool:
        """Share the values of a slice; says whether it is one."""
        if not isinstance(read, ResourceSlice):
            return False
        self._shared.share(read)
        return True


_DEEPEST_LIST = 4
_TYPE_WORDS: dict[type, str] = {list: "a list", str: "a string", type(None): "null"}


def _manifest_name(mapping: dict[str, Any]) -> str:
    """Name an object that may be malformed, as well as it can be."""
    metadata = mapping.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    parts = [metadata.get("namespace"), metadata.get("name") or metadata.get("generateName")]
    return "/".join(part for part in parts if isinstance(part, str) and part)


def extension_problems(read: ApiObject, mapping: Mapping[str, Any]) -> Iterator[DecodeProblem]:
    """Yield what is wrong with our own part of an object that was read from a mapping."""
    if isinstance(read, ResourceClaim):
        yield from extensions.entry_problems(read.metadata, "metadata")
    elif isinstance(read, ResourceClaimTemplate):
        yield from extensions.entry_problems(read.metadata, "metadata")
        if read.spec.metadata is not None:
            yield from extensions.entry_problems(read.spec.metadata, "spec.metadata")
    elif isinstance(read, extensions.ConstraintGroup | extensions.DeviceTopology | extensions.NodeTemplate):
        yield from unknown_fields(mapping.get("spec"), type(read.spec), "spec")


class ValueInterner:
    """Replaces attribute and capacity values by equal ones seen before.

    Beside the memory, readers gain a quick test: values that are one object are equal.
    """

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def share(self, read: ResourceSlice) -> None:
        """Share the values of a slice's devices, which no other code may hold yet."""
        for device in read.spec.devices or ():
            for values in (device.attributes, device.capacity):
                if values:
                    self._replace(values)

    def __contains__(self, value: object) -> bool:
        """Whether such a value has been seen."""
        return value in self._seen

    def _replace(self, values: dict[str, Any]) -> None:
        seen = self._seen
        for key, value in values.items():
            values[key] = seen.setdefault(value, value)


STDIN = "-"
# The most a file may hold, after unpacking.
MAX_BYTES = 512 * 2**20
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


def open_sources(sources: InputSource | Iterable[InputSource], recursive: bool = False) -> Iterator[Input]:
    """Yield the inputs of all sources (or of the one) in order, each read on demand."""
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
    named = (entry for entry in entries if entry.name.lower().removesuffix(".gz").endswith(SUFFIXES))
    files = sorted(str(entry) for entry in named if entry.is_file())
    if not files:
        hint = "" if recursive else "; subfolders are read with -R"
        raise SourceError(f"holds no {', '.join(SUFFIXES)} files{hint}")
    return files


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
