"""Manifests: what was read, with the typed v1 object, the mapping as read, and its place.

What is read strictly: entries in annotations, and the kinds and fields that are our own.

Equal values of many devices as one object: a large cluster repeats most of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any

from ..formats.decode import DecodeProblem, to_builtins, to_object, unknown_fields
from ..formats.errors import InputProblem, Source, Unreadable
from ..formats.gc import gc_paused
from ..formats.json import read_documents
from ..formats.sources import Input, InputSource, open_sources
from ..kubernetes.claims import ResourceClaim, ResourceClaimTemplate
from ..kubernetes.extensions import (
    ConstraintGroup,
    ConstraintGroupSpec,
    DeviceTopology,
    DeviceTopologySpec,
    NodeTemplate,
    NodeTemplateSpec,
    entry_problems,
)
from ..kubernetes.kinds import KINDS, ApiObject, Kind, group_of
from ..kubernetes.slices import ResourceSlice
from .conversion import VALUELESS, ConversionError, GeneratedNames, to_v1, with_defaults, with_flat_lists

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
    ignored = Counter(_ignored_kind(manifest) for manifest in reader.manifests if manifest.object is None)
    return reader.manifests, reader.problems, ignored


def _ignored_kind(manifest: Manifest) -> str:
    """Name the kind, with the version if it is a kind of ours in another API: it may be misspelt."""
    return f"{manifest.kind} of {manifest.api_version}" if manifest.kind in KINDS else manifest.kind


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
        kind, api_version = intern(kind), intern(api_version)
        known = KINDS.get(kind)
        if known is None or group_of(api_version) != known.group:
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
            read, found = self._typed(known, to_v1(kind, version, mapping))
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
    find = _EXTENSION_CHECKS.get(type(read))
    return find(read, mapping) if find else iter(())


def _claim_problems(claim: ResourceClaim, _mapping: Mapping[str, Any]) -> Iterator[DecodeProblem]:
    return entry_problems(claim.metadata, "metadata")


def _template_problems(template: ResourceClaimTemplate, _mapping: Mapping[str, Any]) -> Iterator[DecodeProblem]:
    yield from entry_problems(template.metadata, "metadata")
    if template.spec.metadata is not None:
        yield from entry_problems(template.spec.metadata, "spec.metadata")


def _group_problems(_group: ConstraintGroup, mapping: Mapping[str, Any]) -> Iterator[DecodeProblem]:
    return unknown_fields(mapping.get("spec"), ConstraintGroupSpec, "spec")


def _topology_problems(_topology: DeviceTopology, mapping: Mapping[str, Any]) -> Iterator[DecodeProblem]:
    return unknown_fields(mapping.get("spec"), DeviceTopologySpec, "spec")


def _node_template_problems(_template: NodeTemplate, mapping: Mapping[str, Any]) -> Iterator[DecodeProblem]:
    return unknown_fields(mapping.get("spec"), NodeTemplateSpec, "spec")


_EXTENSION_CHECKS: dict[type, Callable[[Any, Mapping[str, Any]], Iterator[DecodeProblem]]] = {
    ResourceClaim: _claim_problems,
    ResourceClaimTemplate: _template_problems,
    ConstraintGroup: _group_problems,
    DeviceTopology: _topology_problems,
    NodeTemplate: _node_template_problems,
}


class ValueInterner:
    """Replaces attribute and capacity values by equal ones seen before.

    Beside the memory, readers gain a quick test: values that are one object are equal.
    """

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def share(self, read: ResourceSlice) -> None:
        """Share the values of a slice's devices, which nobody else may hold yet."""
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
