"""Manifests out: what was read plus ``status.allocation``, those of a derived cluster, and mappings as YAML text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec
import orjson
import yaml
from msgspec.structs import replace

from ..formats.decode import Model
from ..formats.errors import Source
from ..formats.yaml import ScalarError, resolve
from ..kubernetes.claims import AllocationResult, ResourceClaim
from ..kubernetes.kinds import kind_of
from ..kubernetes.meta import ObjectKey, key_of
from .reader import Manifest

_LINE_WIDTH = 120


def model_mapping(model: Model | None) -> dict[str, Any]:
    """Give a model as the API writes it, without what is unset: mappings, lists and scalars; empty for None."""
    return {} if model is None else msgspec.json.decode(msgspec.json.encode(model), type=dict[str, Any])


def object_mapping(read: Model) -> dict[str, Any]:
    """Give a typed object as a manifest of the newest version."""
    kind = kind_of(type(read))
    return {"apiVersion": kind.api_versions()[0], "kind": kind.name, **model_mapping(read)}


def claim_manifest(manifest: Manifest, allocation: AllocationResult) -> dict[str, Any]:
    """Give a claim as read, in its own apiVersion and with fields unknown here, plus ``status.allocation``.

    An allocation has one shape in all versions (VER-1 to VER-4 change requests and devices only), so
    it is written alike in all. Items of typed lists get the ``apiVersion`` and ``kind`` they left out.
    """
    if manifest.object is None:
        raise ValueError(f"{manifest.source} was not read into an object")
    raw = manifest.raw or object_mapping(manifest.object)
    status = {**(raw.get("status") or {}), "allocation": model_mapping(allocation)}
    written = {**raw, "status": status}
    return {"apiVersion": manifest.api_version, "kind": manifest.kind} | written


def to_yaml(mappings: Iterable[Any]) -> str:
    """Write a document for each mapping, of plain data as JSON has it; keys stay in their order.

    A string is quoted wherever YAML 1.1, YAML 1.2 or kubectl's reader would take it for something else.
    """
    return "".join(yaml_parts(mappings))


# Characters that are written at once.
_LENGTH_AT_ONCE = 8_192


def yaml_parts(mappings: Iterable[Any]) -> Iterator[str]:
    """Write documents as ``to_yaml`` does, in parts, so that they are never whole in memory."""
    text = StringIO()
    dumper = yaml.CDumper(text, allow_unicode=True, width=_LINE_WIDTH, line_break="\n")
    for event in _stream(mappings):
        dumper.emit(event)
        if text.tell() > _LENGTH_AT_ONCE:
            yield text.getvalue()
            text.seek(text.truncate(0))
    yield from filter(None, (text.getvalue(),))


def _stream(mappings: Iterable[Any]) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    for number, mapping in enumerate(mappings):
        yield yaml.DocumentStartEvent(explicit=number > 0)
        yield from _events(mapping)
        yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _events(value: Any) -> Iterator[yaml.Event]:
    return _WRITERS[type(value)](value)


def _mapping_events(mapping: dict[str, Any]) -> Iterator[yaml.Event]:
    yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=not mapping)
    for key, value in mapping.items():
        yield _text_event(key)
        yield from _events(value)
    yield yaml.MappingEndEvent()


def _list_events(values: Iterable[Any]) -> Iterator[yaml.Event]:
    yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=not values)
    for value in values:
        yield from _events(value)
    yield yaml.SequenceEndEvent()


def _json_events(value: Any) -> Iterator[yaml.Event]:
    yield yaml.ScalarEvent(None, None, (True, False), orjson.dumps(value).decode())


def _text_event(text: str) -> yaml.ScalarEvent:
    """Leave plain what every reader takes for this string, and write programs as blocks of lines."""
    if _is_safe_plain(text):
        return yaml.ScalarEvent(None, None, (True, True), text)
    style = "|" if _BLOCK.fullmatch(text) else '"'
    return yaml.ScalarEvent(None, None, (False, True), text, style=style)


_BLOCK = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?\n+)+(?:[!-~](?:[ -~]*[!-~])?)?")
_YAML_1_1 = yaml.resolver.Resolver.yaml_implicit_resolvers


def _is_safe_plain(text: str) -> bool:
    if "\n" in text:
        return False
    try:
        resolved = resolve(text)
    except ScalarError:
        return False
    patterns = _YAML_1_1.get(text[:1], [])
    return resolved == text and not any(pattern.match(text) for _, pattern in patterns)


_WRITERS: dict[type, Callable[[Any], Iterator[yaml.Event]]] = {
    dict: _mapping_events,
    list: _list_events,
    tuple: _list_events,
    map: _list_events,
    str: lambda text: iter((_text_event(text),)),
    int: _json_events,
    float: _json_events,
    bool: _json_events,
    type(None): _json_events,
}
RESOURCE_API = "resource.k8s.io/v1"


def is_allocated(claim: ResourceClaim) -> bool:
    """The claim has an allocation."""
    return claim.status is not None and claim.status.allocation is not None


def current_manifests(
    read: Iterable[Manifest], current: Mapping[type[Any], Mapping[ObjectKey, Any]]
) -> Iterator[Manifest]:
    """The manifests read, of which those of the kinds in ``current`` follow the objects there; then added claims.

    Of two objects of one kind and name the later is kept. Kinds that are ignored are kept as they are.
    """
    manifests = tuple(read)
    latest = {_manifest_key(manifest): manifest for manifest in manifests}
    for manifest in manifests:
        model, key = _manifest_key(manifest)
        now = current.get(model, {key: manifest.object}).get(key)
        if manifest.object is None:
            yield manifest
        elif latest[model, key] is manifest and now is not None:
            yield manifest if now is manifest.object else _update_manifest(manifest, now)
    for key, claim in current[ResourceClaim].items():
        if (ResourceClaim, key) not in latest:
            yield Manifest("ResourceClaim", RESOURCE_API, claim, _render_claim(claim), Source("(objects)", 0))


def _manifest_key(manifest: Manifest) -> tuple[type[Any], ObjectKey]:
    return type(manifest.object), ("", "") if manifest.object is None else key_of(manifest.object.metadata)


def _update_manifest(manifest: Manifest, now: Any) -> Manifest:
    """The manifest of an object that has changed; a claim that only got another status keeps the rest as written."""
    before = manifest.object
    if manifest.raw is None or not isinstance(before, ResourceClaim):
        return replace(manifest, object=now)
    if now.spec != before.spec:
        return replace(manifest, object=now, api_version=RESOURCE_API, raw=_render_claim(now))
    status = {**(manifest.raw.get("status") or {}), **model_mapping(now.status)}
    if not is_allocated(now):
        status.pop("allocation", None)
    return replace(manifest, object=now, raw={**manifest.raw, "status": status})


def _render_claim(claim: ResourceClaim) -> dict[str, Any]:
    return {"apiVersion": RESOURCE_API, "kind": "ResourceClaim", "metadata": {}, "spec": {}, **model_mapping(claim)}


def check_output_file(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed. Raises ``ValueError``, one line."""
    if not path.parent.is_dir():
        raise ValueError(f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} cannot be written: it is a folder")
    place = path if _is_written_in_place(path) else Path(os.path.realpath(path)).parent
    if not os.access(place, os.W_OK):
        raise ValueError(f"{str(path)!r} cannot be written: {str(place)!r} does not allow it")


def _is_written_in_place(path: Path) -> bool:
    """Whether a device or a pipe has this name: a file in its place would be another thing for all who use it."""
    return path.exists() and not path.is_file()


def write_whole(path: Path, write: Callable[[Any], object], *, shared: bool = False) -> None:
    """Write beside the file and rename, so that what has its name is always complete. Raises ``OSError`` with the path.

    Only the user can read the file, unless it is ``shared`` like any other that a program makes. A link stays one: the
    file that it leads to is replaced. A device or a pipe is written to.
    """
    try:
        if _is_written_in_place(path):
            with path.open("wb") as there:
                write(there)
        else:
            _replace_file(Path(os.path.realpath(path)), write, shared)
    except OSError as error:
        # The reader knows the file, and not the one beside it.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _replace_file(path: Path, write: Callable[[Any], object], shared: bool) -> None:
    # A name may be as long as the file system allows.
    with NamedTemporaryFile(dir=path.parent, prefix=".drasat-", delete=False) as part:
        try:
            write(part)
            part.close()
            if shared:
                # The mask can only be read by setting one.
                mask = os.umask(0)
                os.umask(mask)
                Path(part.name).chmod(0o666 & ~mask)
            os.replace(part.name, path)
        except BaseException:
            with suppress(OSError):
                Path(part.name).unlink()
            raise
