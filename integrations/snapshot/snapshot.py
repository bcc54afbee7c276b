"""Makes a snapshot of a cluster or of files, and writes it as one List that every verb reads."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from ...models.formats.decode import to_builtins
from ...models.formats.errors import InputError, InputProblem, Source, Unreadable
from ...models.formats.json import read_documents
from ...models.kubernetes.kinds import KINDS, GroupKind, group_of
from ...models.kubernetes.meta import DEFAULT_NAMESPACE
from ...models.manifests.sources import PACKED_RATIO, PACKED_SIZE, Input
from ...models.manifests.writer import write_whole
from ...models.results.snapshot import SnapshotDocument, SnapshotKind
from .kubectl import Access, Deadline, ReadObjects, SnapshotError, read_cluster
from .redaction import Redactor

JsonObject = dict[str, Any]
# Without these a snapshot answers nothing: if one of them may not be read, there is no snapshot.
ESSENTIAL_KINDS = frozenset({"ResourceSlice", "DeviceClass", "ResourceClaim", "Node", "Pod"})
_DEEPEST_LIST = 4


class Snapshot(NamedTuple):
    """Objects in the order of the file, what they are from, and the new names if they are redacted."""

    objects: list[JsonObject]
    document: SnapshotDocument
    names: Mapping[str, str]


def snapshot_of_cluster(
    access: Access, namespace: str | None, redact_key: bytes | None, deadline: Deadline
) -> Snapshot:
    """Read a cluster. Raises ``SnapshotError``, also if a kind may not be read that every answer needs."""
    read = read_cluster(access, namespace, deadline)
    forbidden = [one for one in read.unread if one.reason == "Forbidden" and one.kind in ESSENTIAL_KINDS]
    if forbidden:
        titles = ", ".join(one.title for one in forbidden)
        raise SnapshotError(f"no snapshot without {titles}: {forbidden[0].message}")
    return _finish(read, Counter(), namespace, redact_key, deadline)


def snapshot_of_files(
    inputs: Iterable[Input], namespace: str | None, redact_key: bytes | None, deadline: Deadline
) -> Snapshot:
    """Read files. Objects of other kinds are left out and counted. Raises ``InputError``."""
    read = ReadObjects()
    ignored: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for one in _objects_of(inputs):
        deadline.remaining()
        kind, api_version = str(one["kind"]), str(one["apiVersion"])
        known = KINDS.get(GroupKind(group_of(api_version), kind))
        if known is None or api_version not in known.api_versions():
            ignored[f"{kind} of {api_version}"] += 1
        elif namespace is None or not known.namespaced or _namespace_and_name(one)[0] == namespace:
            read.objects.append(one)
            counts[kind, api_version] += 1
    read.kinds = [SnapshotKind(kind, api_version, "", number) for (kind, api_version), number in counts.items()]
    return _finish(read, ignored, namespace, redact_key, deadline)


def _finish(
    read: ReadObjects, ignored: Counter[str], namespace: str | None, redact_key: bytes | None, deadline: Deadline
) -> Snapshot:
    """Sort, so that one state of a cluster makes one file, and redact."""
    objects = sorted(map(_without_managed_fields, read.objects), key=_place)
    names: Mapping[str, str] = {}
    unread = read.unread
    if redact_key is not None:
        redactor = Redactor(objects, redact_key, deadline.remaining)
        objects = sorted(redactor.redacted(), key=_place)
        names = redactor.names.mapping
        namespace = None if namespace is None else names.get(namespace, "")
        # The server's words name users, and other kinds whose cluster it is.
        ignored = Counter({"other kinds": ignored.total()} if ignored else {})
        unread = [msgspec.structs.replace(one, message="") for one in unread]
    document = SnapshotDocument(
        redacted=redact_key is not None,
        namespace=namespace,
        kinds=tuple(sorted(read.kinds, key=lambda one: (one.kind, one.api_version))),
        unread=tuple(sorted(unread, key=lambda one: (one.kind, one.group))),
        ignored=dict(sorted(ignored.items())),
    )
    return Snapshot(objects, document, names)


def _without_managed_fields(one: JsonObject) -> JsonObject:
    metadata = one.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return one
    return {**one, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _place(one: JsonObject) -> tuple[str, ...]:
    """Kind, namespace and name; objects that have no name yet go by what it begins with, and at last by their text."""
    metadata = one.get("metadata")
    beginning = str(metadata.get("generateName", "")) if isinstance(metadata, dict) else ""
    nameless = orjson.dumps(one).decode() if not _namespace_and_name(one)[1] else ""
    return str(one["kind"]), group_of(str(one["apiVersion"])), *_namespace_and_name(one), beginning, nameless


def _namespace_and_name(one: JsonObject) -> tuple[str, str]:
    metadata = one.get("metadata")
    if not isinstance(metadata, dict):
        return DEFAULT_NAMESPACE, ""
    return str(metadata.get("namespace") or DEFAULT_NAMESPACE), str(metadata.get("name") or "")


def _objects_of(inputs: Iterable[Input]) -> Iterator[JsonObject]:
    """The objects of all files as they are written, those of lists one by one. Raises ``InputError``."""
    for read in inputs:
        if read.failure:
            raise InputError([InputProblem(Source(read.name, 0), "", read.failure)])
        if read.objects is None and not read.data.strip():
            raise InputError([InputProblem(Source(read.name, 0), "", "is empty")])
        documents = read_documents(read.data, read.name) if read.objects is None else map(to_builtins, read.objects)
        for number, document in enumerate(documents, 1):
            if document is not None:
                yield from _flattened(document, Source(read.name, number), ("", ""))


def _flattened(document: Any, source: Source, listed: tuple[str, str]) -> Iterator[JsonObject]:
    if isinstance(document, Unreadable):
        raise InputError([InputProblem(source, field, reason) for field, reason in document.reasons])
    if not isinstance(document, dict):
        raise InputError([InputProblem(source, "", "must be an object")])
    kind, api_version = document.get("kind") or listed[0], document.get("apiVersion") or listed[1]
    for field, value in (("kind", kind), ("apiVersion", api_version)):
        if not isinstance(value, str) or not value:
            raise InputError([InputProblem(source, field, "Required value")])
    if not kind.endswith("List") or "items" not in document:
        yield {**document, "kind": kind, "apiVersion": api_version}
        return
    if len(source.items) > _DEEPEST_LIST:
        raise InputError([InputProblem(source, "items", "too many lists within lists")])
    inner = (kind.removesuffix("List"), api_version) if kind != "List" else ("", "")
    for number, item in enumerate(document["items"] or (), 1):
        yield from _flattened(item, source.item(number), inner)


def write_snapshot(snapshot: Snapshot, path: Path) -> None:
    """Write the file, packed if its name ends in ``.gz``; what has its name is always complete.

    Only the owner may read it, as the environment of pods may hold secrets. Raises ``OSError``.
    """
    text = b"".join(_text(snapshot))
    if path.suffix == ".gz":
        # Neither time nor name of the file, so that equal snapshots are equal files; and no more packed than is read.
        tries = (gzip.compress(text, level, mtime=0) for level in (6, 1, 0))
        text = next(one for one in tries if len(text) <= max(PACKED_SIZE, PACKED_RATIO * len(one)))
    write_whole(path, lambda part: part.write(text))


def _text(snapshot: Snapshot) -> Iterator[bytes]:
    """The List, an object a line."""
    metadata = {"resourceVersion": "", "snapshot": msgspec.to_builtins(snapshot.document)}
    yield b'{"kind":"List","apiVersion":"v1","metadata":' + orjson.dumps(metadata) + b',"items":['
    for number, one in enumerate(snapshot.objects):
        yield (b",\n" if number else b"\n") + orjson.dumps(one)
    yield b"\n]}\n"
