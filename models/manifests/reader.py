"""Manifests: documents of files, or mappings in memory, to typed v1 objects with their place.

Our own kinds and the entries in annotations are read strictly. Of other kinds fields that Kubernetes does not have are
reported. An object that is read twice is one. A large cluster repeats most values of devices, so equal values become
one object. Other processes send what they have read, and it goes the same way.
"""

from __future__ import annotations

import difflib
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import structs

from ..formats.decode import DecodeProblem, to_builtins, to_object, unknown_fields
from ..formats.errors import InputProblem, Severity, Source, Unreadable, child_path
from ..formats.json import may_drop_keys, read_documents
from ..formats.runtime import gc_paused
from ..kubernetes import extensions
from ..kubernetes.claims import ResourceClaim, ResourceClaimTemplate
from ..kubernetes.kinds import KIND_NAMES, KINDS, RESOURCE_GROUP, ApiObject, GroupKind, Kind, group_of
from ..kubernetes.kueue import KUEUE_GROUP
from ..kubernetes.kueue_configuration import CONFIGURATION_GROUP, Configuration
from ..kubernetes.meta import ObjectMeta
from ..kubernetes.node_templates import NodeTemplate
from ..kubernetes.published_fields import (
    UnknownField,
    groups_of_kind,
    has_known_fields_only,
    nearest,
    unknown_fields_of,
    unknown_fields_of_template,
)
from ..kubernetes.slices import ResourceSlice, ResourceSliceSpec, share_values
from ..kubernetes.workloads import FieldPath, PodTemplateSpec, find_raw_pod_spec, parts_of, raw_part
from .conversion import (
    VALUELESS,
    ConversionError,
    GeneratedNames,
    configuration_in,
    to_v1,
    to_v1beta2,
    with_defaults,
    with_flat_lists,
)
from .sources import Input, InputSource, open_sources

_LIST_KIND = "List"
_API_VERSIONS = {known.model: known.api_versions() for known in KINDS.values()}
_OWN_KINDS = extensions.ConstraintGroup, extensions.DeviceTopology, NodeTemplate
# To the version that the models have, by API group.
_CONVERSIONS = {RESOURCE_GROUP: to_v1, KUEUE_GROUP: to_v1beta2, CONFIGURATION_GROUP: to_v1beta2}


class Manifest(msgspec.Struct, frozen=True, gc=False):
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


class ObjectChecks:
    """What is wrong with single objects, and the numbers of manifests that are known to have nothing wrong."""

    def __init__(self, problems_of: Callable[[Manifest], Sequence[InputProblem]]) -> None:
        self.problems_of = problems_of
        self.good = set[int]()

    def check(self, manifests: Sequence[Manifest], first: int) -> None:
        """Check manifests from this number on."""
        numbers = range(first, len(manifests))
        self.good.update(number for number in numbers if not self.problems_of(manifests[number]))


def read_manifests(
    sources: Iterable[InputSource],
    recursive: bool = False,
    *,
    strict: bool = False,
    max_input_size: int | str | None = None,
    checks: ObjectChecks | None = None,
) -> tuple[list[Manifest], list[InputProblem], Counter[str]]:
    """Read everything the sources hold: manifests, problems in reading order, and a count of ignored kinds.

    Nothing in the input raises: what cannot be read is among the problems. Unknown fields and kinds that are probably
    misspelt are warnings, or errors if ``strict``. Where several processes read, each applies ``checks``.
    Raises ValueError for a ``max_input_size`` that is none.
    """
    reader = _Reader("error" if strict else "warning", checks)
    opened = open_sources(sources, recursive, max_input_size, partial(_packed, checks))
    with gc_paused(), closing(opened):
        for read in opened:
            number = len(reader.manifests)
            reader.read(read)
            if checks is not None and read.is_shared:
                checks.check(reader.manifests, number)
        reader.report_unknown_fields()
    reader.report_misspelt_kinds()
    # With the version for a kind of ours in another API: it may be misspelt.
    ignored = Counter(
        f"{manifest.kind} of {manifest.api_version}" if manifest.kind in KIND_NAMES else manifest.kind
        for manifest in reader.manifests
        if manifest.object is None and not is_told_as_ignored(manifest.kind, manifest.api_version, reader.problems)
    )
    return reader.manifests, reader.problems, ignored


class _SliceMetadata(ObjectMeta, forbid_unknown_fields=True):
    """With what the API server adds; what else it publishes is rare."""

    resource_version: str | None = None


class _SliceText(
    msgspec.Struct, tag_field="kind", tag="ResourceSlice", rename="camel", forbid_unknown_fields=True, gc=False
):
    """A slice of a version that has the fields of the model."""

    api_version: Literal["resource.k8s.io/v1", "resource.k8s.io/v1beta2"]
    metadata: _SliceMetadata
    spec: ResourceSliceSpec


_decode_slice = msgspec.json.Decoder(_SliceText).decode
_encode_slice = msgspec.json.Encoder().encode
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
# Numbers that do not fit into 64 bits have so many digits; they are read as floats elsewhere.
_MANY_DIGITS = b"0" * 19


def _read_good_slice(text: bytes) -> _SliceText | None:
    """A slice with a name, without the way over plain data; None for others, and for what may have something wrong."""
    if b'"ResourceSlice"' not in text:
        return None
    try:
        read = _decode_slice(text)
    except (ValueError, RecursionError):
        return None
    dropped = may_drop_keys(text, _encode_slice(read)) or _MANY_DIGITS in text.translate(_AS_ZEROS)
    return None if dropped or not read.metadata.name else read


class _Reader:
    """Collects manifests and problems over all inputs."""

    def __init__(self, unknown: Severity, checks: ObjectChecks | None = None) -> None:
        self._checks = checks
        self.manifests: list[Manifest] = []
        self.problems: list[InputProblem] = []
        self._unknown: Severity = unknown
        self._unknown_left = _MOST_UNKNOWN
        # What is not compared with the published fields yet, and how many problems there were before.
        self._unchecked: list[tuple[int, Kind, Manifest]] = []
        self.repeats = 0
        self._first: dict[tuple[type, str, str], Manifest] = {}
        self._shared: dict[Any, Any] = {}
        self.names = GeneratedNames()

    def read(self, read: Input) -> None:
        """Read one file, or the objects of one iterable."""
        whole = Source(read.name, 0)
        if read.failure:
            self._refuse(whole, "", read.failure)
        elif read.made:
            self._go_on(read)
        elif read.objects is None and (not read.data or read.data.isspace()):
            self._refuse(whole, "", "is empty")
        else:
            objects = read.objects
            documents = (
                read_documents(read.data, read.name, _read_good_slice) if objects is None else map(to_builtins, objects)
            )
            found = self._count()
            for number, document in enumerate(documents, 1):
                self._document(document, Source(read.name, number))
            if found == self._count():
                self.problems.append(InputProblem(whole, "", "holds no objects", "warning"))

    def _go_on(self, read: Input) -> None:
        """Read what another process has made of a file."""
        for place, kind, api_version, raw, found, is_good in _decode(read.made):
            source, number = Source(read.name, *place), len(self.manifests)
            if found is None:
                self._object(kind, api_version, msgspec.msgpack.decode(raw), source)
            else:
                self._slice(found, sys.intern(api_version), source)
            if is_good and self._checks is not None and number < len(self.manifests):
                self._checks.good.add(number)

    def _slice(self, read: ResourceSlice, api_version: str, source: Source) -> None:
        share_values(read, self._shared)
        self._keep(Manifest("ResourceSlice", api_version, read, None, source))

    def _count(self) -> int:
        """How much has been found so far."""
        return len(self.manifests) + len(self.problems) + self.repeats

    def _refuse(self, source: Source, field: str, message: str, kind: str = "", name: str = "") -> None:
        self.problems.append(InputProblem(source, field, message, "error", kind, name))

    def _document(self, document: Any, source: Source, listed: tuple[str, str] = ("", "")) -> None:
        """Read a document or an item of a list, which may leave its kind and version to the list."""
        if document is None and not source.items:
            return
        if isinstance(document, Unreadable):
            for field, message in document.reasons:
                self._refuse(source, field, message)
        elif isinstance(document, _SliceText):
            metadata = msgspec.convert(document.metadata, ObjectMeta, from_attributes=True)
            self._slice(ResourceSlice(metadata=metadata, spec=document.spec), document.api_version, source)
        elif not isinstance(document, dict):
            self._refuse(source, "", f"must be an object, not {_TYPE_WORDS.get(type(document), 'a single value')}")
        else:
            self._mapping(document, source, listed)

    def _mapping(self, mapping: dict[str, Any], source: Source, listed: tuple[str, str]) -> None:
        kind, api_version = mapping.get("kind") or listed[0], mapping.get("apiVersion") or listed[1]
        if not (kind and api_version and isinstance(kind, str) and isinstance(api_version, str)):
            field, value = ("apiVersion", api_version) if kind and isinstance(kind, str) else ("kind", kind)
            self._refuse(source, field, "Invalid value: must be a string" if value else "Required value")
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
        is_read = known is not None and api_version in _API_VERSIONS[known.model]
        if kind == "ConfigMap" and (configuration := configuration_in(mapping)) is not None:
            self._configuration(configuration, kind, api_version, mapping, source)
        elif known is None or (known.is_custom and not is_read):
            self.manifests.append(Manifest(kind, api_version, None, mapping, source))
            # A misspelt kind is reported as such.
            if (path := find_raw_pod_spec(mapping)) and not _meant_kind(kind, api_version):
                message = f"looks like the spec of a pod, but {_not_read(kind, api_version)}: no pods are planned"
                self._warn(source, path, message, kind, mapping)
        elif not is_read:
            supported = ", ".join(f'"{version}"' for version in known.api_versions())
            message = f'Unsupported value: "{api_version}": supported values: {supported}'
            self._refuse(source, "apiVersion", message, kind, _manifest_name(mapping))
        else:
            self._known(known, kind, api_version, mapping, source)

    def _configuration(
        self, configuration: Any, kind: str, api_version: str, mapping: dict[str, Any], source: Source
    ) -> None:
        """Read the configuration inside a ConfigMap, which stays the object that was read."""
        name = _manifest_name(mapping)
        if isinstance(configuration, Unreadable):
            for field, message in configuration.reasons:
                self._refuse(source, field, message, kind, name)
            return
        read, found = to_object({**configuration, "metadata": mapping.get("metadata") or {}}, Configuration)
        for field, message in found:
            self._refuse(source, field, message, kind, name)
        if read is not None:
            self.manifests.append(Manifest(kind, api_version, read, mapping, source))

    def _warn(self, source: Source, path: FieldPath, message: str, kind: str, mapping: dict[str, Any]) -> None:
        self.problems.append(InputProblem(source, _path_text(path), message, "warning", kind, _manifest_name(mapping)))

    def _known(self, known: Kind, kind: str, api_version: str, mapping: dict[str, Any], source: Source) -> None:
        version = api_version.rpartition("/")[2]
        mapping = self.names.named(kind, mapping)
        try:
            convert = _CONVERSIONS.get(known.group)
            read, found = self._typed(known, convert(kind, version, mapping) if convert else mapping)
        except ConversionError as error:
            self._refuse(source, error.field, str(error), kind, _manifest_name(mapping))
            return
        if read is not None and (own := [*extension_problems(read, mapping)]):
            read, found = None, own
        for field, message in found:
            self._refuse(source, field, message, kind, _manifest_name(mapping))
        if read is not None:
            read = read if isinstance(read, ResourceSlice) else with_defaults(read, version)
        whole = Manifest(kind, api_version, read, mapping, source)
        kept = structs.replace(whole, raw=None) if isinstance(read, ResourceSlice) else whole
        if read is None or self._keep(kept):
            self._unchecked.append((len(self.problems), known, whole))
            if len(self._unchecked) == _CHECKED_TOGETHER:
                self.report_unknown_fields()

    def report_unknown_fields(self) -> None:
        """Compare the fields of what was read last, objects of one kind together, and report unknown ones in order."""
        unchecked, self._unchecked = self._unchecked, []
        alike: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for _, _, one in unchecked:
            alike[one.kind, one.api_version].append(one.raw)
        good = {key for key, mappings in alike.items() if has_known_fields_only(*key, mappings)}
        start = unchecked[0][0] if unchecked else 0
        others, done = self.problems[start:], 0
        del self.problems[start:]
        for place, known, one in unchecked:
            self.problems += others[done : (done := place - start)]
            if (one.kind, one.api_version) not in good and self._unknown_left > 0:
                for unknown in unknown_fields_of(one.kind, one.api_version, one.raw or {}):
                    self._report_unknown(unknown, one)
            for path, part in parts_of(one.object) if known.is_custom else ():
                if isinstance(part, PodTemplateSpec):
                    for unknown in unknown_fields_of_template(raw_part(one.raw, path), _path_text(path)):
                        self._report_unknown(unknown, one)
        self.problems += others[done:]

    def _keep(self, manifest: Manifest) -> bool:
        """Keep a manifest, unless this very object has been read before; says whether it has not."""
        meta = manifest.object.metadata if manifest.object else ObjectMeta()
        first = self._first.setdefault((type(manifest.object), meta.namespace, meta.name), manifest)
        repeated = (
            first is not manifest
            and meta.name != ""
            and first.object == manifest.object
            and _body(first.raw) == _body(manifest.raw)
        )
        if repeated:
            self.repeats += 1
        else:
            self.manifests.append(manifest)
        return not repeated

    def _report_unknown(self, unknown: UnknownField, one: Manifest) -> None:
        """Report a field that is no field; always an error where a claim would ask for nothing without it."""
        severity, message = self._unknown, f'unknown field "{unknown.path}"'
        if unknown.meant:
            message += f": did you mean {unknown.meant}?"
        if unknown.meant.rpartition(".")[2] in _CLAIM_FIELDS and _asks_for_nothing(one.object):
            severity, message = "error", f"{message} Without it the claim asks for no devices"
        meta = one.object.metadata if one.object is not None else None
        name = "/".join(filter(None, (meta.namespace, meta.name))) if meta else _manifest_name(one.raw or {})
        self.problems.append(InputProblem(one.source, unknown.path, message, severity, one.kind, name))
        self._unknown_left -= 1
        if self._unknown_left == 0:
            message = f"unknown fields are not looked for after {_MOST_UNKNOWN} of them"
            self.problems.append(InputProblem(one.source, "", message, self._unknown))

    def report_misspelt_kinds(self) -> None:
        """Report each kind that is ignored though it is probably meant to be another one, where it is read first."""
        ignored = [manifest for manifest in self.manifests if manifest.object is None]
        firsts = {(manifest.kind, manifest.api_version): manifest for manifest in reversed(ignored)}
        for (kind, api_version), manifest in sorted(firsts.items())[:_MOST_MISSPELT]:
            if meant := _meant_kind(kind, api_version):
                message = f"{_not_read(kind, api_version)}: did you mean {meant}?"
                self.problems.append(InputProblem(manifest.source, "kind", message, self._unknown))

    def _typed(self, known: Kind, mapping: dict[str, Any]) -> tuple[ApiObject | None, list[DecodeProblem]]:
        """The typed object; a slice with attributes without value is looked at again, for lists spelled otherwise."""
        read, found = to_object(mapping, known.model)
        if isinstance(read, ResourceSlice):
            share_values(read, self._shared)
            if VALUELESS in self._shared and (flat := with_flat_lists(mapping)) is not mapping:
                read, found = to_object(flat, ResourceSlice)
                if read is not None:
                    share_values(read, self._shared)
        return read, found


def is_told_as_ignored(kind: str, api_version: str, problems: Iterable[InputProblem]) -> bool:
    """Whether a problem says already that a kind is not read: it may be misspelt, or holds the spec of a pod."""
    said = _not_read(kind, api_version)
    return any(problem.kind in (kind, "") and said in problem.message for problem in problems)


def _not_read(kind: str, api_version: str) -> str:
    return f"{kind} of {api_version} is not read"


def _path_text(path: FieldPath) -> str:
    """A path as messages have it."""
    text = ""
    for step in path:
        text = f"{text}[{step}]" if isinstance(step, int) else child_path(text, step)
    return text


_DEEPEST_LIST = 4
# Objects whose fields are compared with the published ones at once.
_CHECKED_TOGETHER = 32
# Unknown fields, and kinds that may be misspelt: to find what is meant takes up to 0.5 ms.
_MOST_UNKNOWN, _MOST_MISSPELT = 10_000, 1_000
_TYPE_WORDS: dict[type, str] = {list: "a list", str: "a string", type(None): "null"}


# Fields on the way to a claim's requests.
_CLAIM_FIELDS = ("spec", "devices", "requests")


def _asks_for_nothing(read: ApiObject | None) -> bool:
    if isinstance(read, ResourceClaimTemplate):
        return not read.spec.spec.devices.requests
    return isinstance(read, ResourceClaim) and not read.spec.devices.requests


def _body(raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """What was read without kind and version, which an item may leave to its list."""
    return {key: value for key, value in (raw or {}).items() if key not in ("kind", "apiVersion")}


_NEAR_GROUP = 0.8


@lru_cache(1024)
def _meant_kind(kind: str, api_version: str) -> str:
    """The kind that is probably meant by one that is ignored; empty for what others call so in their own groups."""
    group = group_of(api_version)
    published = groups_of_kind(kind)
    if group in published:
        return ""
    names = {known.name for known in KINDS.values() if _is_near_group(group, known.group)}
    name = kind if kind in names else "" if published else nearest(kind, names)
    known = [one for one in KINDS.values() if one.name == name and _is_near_group(group, one.group)]
    if not known:
        return ""
    best = next((one for one in known if one.group == group), known[0])
    return name if best.group == group and name != kind else f"{name} of {best.api_versions()[0]}"


def _is_near_group(group: str, known: str) -> bool:
    """Whether a group may be meant to be another one: the core group, one without domain, or a misspelt one."""
    if group == known or "." not in group:
        return True
    if len(group) > 2 * len(known):
        return False
    extension = ".x-k8s.io"
    likeness = difflib.SequenceMatcher(None, group, known).ratio()
    return group.endswith(extension) == known.endswith(extension) and likeness >= _NEAR_GROUP


def _manifest_name(mapping: Mapping[str, Any]) -> str:
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
    elif isinstance(read, _OWN_KINDS):
        yield from unknown_fields(mapping.get("spec"), type(read.spec), "spec")


# A manifest for another process: its place in the file, kind, version, mapping or slice, and whether it is good.
_SentManifest: TypeAlias = tuple[tuple[int, tuple[int, ...]], str, str, bytes, ResourceSlice | None, bool]
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[_SentManifest]).decode
# Times the text, which only aliases can exceed.
_MOST_PACKED = 4


def _packed(checks: ObjectChecks | None, read: Input) -> bytes:
    """Read a file for another process. Raises ValueError if only that one can say what is wrong or repeated in it."""
    reader, room, sent = _Reader("warning"), _MOST_PACKED * len(read.data), []
    reader.read(read)
    reader.report_unknown_fields()
    problems = any(one.severity == "error" or one.kind == "ResourceSlice" for one in reader.problems)
    for one in () if problems or reader.repeats or reader.names.made else reader.manifests:
        found = one.object if isinstance(one.object, ResourceSlice) else None
        raw = _encode(one.raw) if found is None else b""
        if (room := room - len(raw)) < 0:
            break
        is_good = checks is not None and not checks.problems_of(one)
        sent.append(((one.source.document, one.source.items), one.kind, one.api_version, raw, found, is_good))
    if not sent or room < 0:
        raise ValueError(read.name)
    return _encode(sent)
