"""The fields that Kubernetes publishes for its kinds, and fields of a mapping that are not among them.

The table ``published_fields.json.gz`` holds the OpenAPI schemas of all releases since 1.31 together, and the fields of
proposals that drasat reads (KEP-5254, KEP-5491). ``tests/support/published_fields.py`` makes it. Kueue's and
Karpenter's kinds, ProvisioningRequest and InstanceType have their fields in ``schemas``.
"""

from __future__ import annotations

import difflib
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from .kinds import KARPENTER_GROUP, OWN_GROUP, group_of
from .kueue import KUEUE_GROUP
from .provisioning import AUTOSCALING_GROUP

if TYPE_CHECKING:
    from .schemas import FieldSchema

# As many as the API server names for one object.
MOST_UNKNOWN = 100
# To compare longer names takes long, and they are none.
_LONGEST_COMPARED = 100
_NEAR, _VERY_NEAR = 0.75, 0.85
# Names that stand for something else in nearly every type.
_COMMON_NAMES = frozenset({"name", "kind", "apiVersion", "uid", "type", "key", "value", "namespace"})
_SERVER_FIELDS = frozenset({"status", "managedFields", "ownerReferences"})
_VALUES = methodcaller("values")
_LIST, _MAP = "[]", "{}"


class UnknownField(NamedTuple):
    """The path of an unknown field, as kubectl spells it, and the name or path that is probably meant."""

    path: str
    meant: str


class _Type:
    """The fields of a type; of those that have fields themselves the marks of lists and maps, and the type."""

    __slots__ = ("names", "nested")

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.nested: dict[str, tuple[str, _Type]] = {}


class _Table(NamedTuple):
    roots: dict[str, _Type]
    kinds: dict[str, list[str]]


@cache
def _table() -> _Table:
    read = orjson.loads(gzip.decompress(Path(__file__).with_suffix(".json.gz").read_bytes()))
    types = [_Type() for _ in read["types"]]
    for made, fields in zip(types, read["types"], strict=True):
        made.names = frozenset(fields)
        for name, text in fields.items():
            if text:
                bare = text.lstrip(_LIST + _MAP)
                made.nested[name] = text.removesuffix(bare), types[int(bare)]
    return _Table({root: types[number] for root, number in read["roots"].items()}, read["kinds"])


@cache
def _root(kind: str, api_version: str) -> _Type | None:
    """The type of a kind; a version that was never published since 1.31 is read as another one of its group."""
    roots = _table().roots
    group = group_of(api_version)
    if group in _WITH_SCHEMAS or kind == _INSTANCE_TYPE:
        schema = _schemas(group).get(f"{api_version}/{kind}")
        return None if schema is None else _with_metadata(_type_of(schema))
    if group == OWN_GROUP:
        # What is in the spec is checked as it is read.
        own = _Type()
        own.names = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
        own.nested = {"metadata": roots["v1/Pod"].nested["metadata"]}
        return own
    others = (found for root, found in roots.items() if root.endswith(f"/{kind}") and root.startswith(group))
    return roots.get(f"{api_version}/{kind}") or next(others, None)


# Of our own kinds the one with a schema.
_INSTANCE_TYPE = "InstanceType"
_WITH_SCHEMAS = (KUEUE_GROUP, AUTOSCALING_GROUP, KARPENTER_GROUP)


def _schemas(group: str) -> Mapping[str, FieldSchema]:
    """The schemas of the groups that have them, which many clusters have no objects of."""
    if group not in (*_WITH_SCHEMAS, OWN_GROUP):
        return {}
    from .schemas import karpenter_schemas, kueue_schemas

    return karpenter_schemas() if group in (KARPENTER_GROUP, OWN_GROUP) else kueue_schemas()


def _with_metadata(own: _Type) -> _Type:
    own.names |= {"apiVersion", "kind", "metadata"}
    own.nested["metadata"] = _table().roots["v1/Pod"].nested["metadata"]
    return own


def _type_of(schema: FieldSchema) -> _Type:
    """The fields of a schema; templates of pods are looked through apart (``unknown_fields_of_template``)."""
    made = _Type()
    made.names = frozenset(schema.fields)
    for name, field in schema.fields.items():
        marks, inner = "", field
        while inner.items is not None:
            marks, inner = marks + (_MAP if inner.type == "map" else _LIST), inner.items
        if inner.fields:
            made.nested[name] = marks, _type_of(inner)
        elif inner.type in _KUBERNETES_TYPES:
            mark, type_ = _KUBERNETES_TYPES[inner.type]()
            made.nested[name] = marks + mark, type_
    return made


_KUBERNETES_TYPES: dict[str, Callable[[], tuple[str, _Type]]] = {
    "LabelSelector": lambda: ("", _table().roots["apps/v1/Deployment"].nested["spec"][1].nested["selector"][1]),
    "list of Condition": lambda: (_LIST, _condition_type()),
}


def _condition_type() -> _Type:
    made = _Type()
    made.names = frozenset({"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"})
    return made


def _version_with(path: str, unknown: Mapping[str, list[str]]) -> str:
    """The first version that has the field, and that finds fewer fields unknown than it reports."""
    for version, paths in unknown.items():
        if len(paths) < MOST_UNKNOWN and not any(path.startswith(one) for one in paths):
            return f"apiVersion: {version}"
    return ""


def _other_versions(kind: str, api_version: str) -> list[str]:
    """The other API versions of the same kind that have a table, v1 first."""
    end = f"/{kind}"
    known = (*_table().roots, *_schemas(group_of(api_version)))
    versions = sorted(root.removesuffix(end) for root in known if root.endswith(end))
    return [one for one in versions if one != api_version and group_of(one) == group_of(api_version)]


def groups_of_kind(kind: str) -> list[str]:
    """The groups in which Kubernetes has, or had, a kind of this name."""
    return _table().kinds.get(kind, [])


def has_known_fields_only(kind: str, api_version: str, mappings: list[dict[str, Any]]) -> bool:
    """Whether all these objects of a kind have only fields of it; False may also mean that some value is misplaced."""
    root = _root(kind, api_version)
    return root is None or _all_known(mappings, root)


def unknown_fields_of(kind: str, api_version: str, mapping: Mapping[str, Any]) -> list[UnknownField]:
    """The fields of an object that its kind does not have, at most ``MOST_UNKNOWN``; none for a kind without table."""
    found = _unknown_fields(_root(kind, api_version), mapping)
    if all(one.meant for one in found):
        return found
    others = _other_versions(kind, api_version)
    read = {version: [one.path for one in _unknown_fields(_root(kind, version), mapping)] for version in others}
    return [one if one.meant else one._replace(meant=_version_with(one.path, read)) for one in found]


def unknown_fields_of_template(mapping: Mapping[str, Any], path: str) -> list[UnknownField]:
    """The same for the template of a pod that stands at this path of an object of another kind."""
    root = _table().roots["v1/PodTemplate"].nested["template"][1]
    return [UnknownField(f"{path}.{field}", meant) for field, meant in _unknown_fields(root, mapping)]


def _unknown_fields(root: _Type | None, mapping: Mapping[str, Any]) -> list[UnknownField]:
    if root is None or _all_known([mapping], root):
        return []
    found = []
    for unknown in _search(mapping, root, ((root, ""),)):
        found.append(unknown)
        if len(found) == MOST_UNKNOWN:
            break
    return found


def _all_known(values: list[Any], type_: _Type) -> bool:
    """Whether values of one type have its fields only, all of them at once; False also for values of another type.

    A cluster has millions of values: this takes 0.1 us each, and a walk over them 1 us.
    """
    try:
        names = set().union(*values)
        if not names <= type_.names:
            return False
        for field, (marks, inner) in type_.nested.items():
            if field in names:
                parts = [part for value in values if (part := value.get(field))]
                for mark in (marks[at : at + 2] for at in range(0, len(marks), 2)):
                    parts = [*chain.from_iterable(parts if mark == _LIST else map(_VALUES, parts))]
                if parts and not _all_known(parts, inner):
                    return False
    except (TypeError, AttributeError):
        return False
    return True


# A type and its place, from the root to the one at hand.
_Trail = tuple[tuple[_Type, str], ...]


def _search(value: Any, type_: _Type, trail: _Trail) -> Iterator[UnknownField]:
    if not isinstance(value, dict):
        return
    path = trail[-1][1]
    for key, inner in value.items():
        place = f"{path}.{key}" if path else key
        if key not in type_.names:
            yield UnknownField(place, _meant(key, trail))
        elif key in type_.nested:
            marks, nested = type_.nested[key]
            for where, part in _parts(inner, marks, place):
                yield from _search(part, nested, (*trail, (nested, where)))


def _parts(value: Any, marks: str, path: str) -> Iterator[tuple[str, Any]]:
    if not marks:
        yield path, value
    elif marks.startswith(_LIST) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _parts(item, marks[2:], f"{path}[{index}]")
    elif marks.startswith(_MAP) and isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(item, marks[2:], f"{path}.{key}")


def _meant(key: str, trail: _Trail) -> str:
    """A field of nearly this name in the same place, else the nearest place with this very name, else a similar one."""
    if misspelt := nearest(key, trail[-1][0].names, _VERY_NEAR):
        return misspelt
    if key not in _COMMON_NAMES:
        for type_, path in reversed(trail):
            if found := _find_below(type_, key):
                return f"{path}.{found}" if path else found
    return nearest(key, trail[-1][0].names)


def nearest(name: str, known: Iterable[str], likeness: float = _NEAR) -> str:
    """The known name that is most like this one, whatever the case of letters; empty if none is near, or it is long."""
    if len(name) > _LONGEST_COMPARED:
        return ""
    folded = {one.lower(): one for one in sorted(known, reverse=True)}
    found = difflib.get_close_matches(name.lower(), folded, 1, likeness)
    return folded[found[0]] if found else ""


@lru_cache(4096)
def _find_below(type_: _Type, key: str) -> str:
    """The shortest path from a type to a field; what servers write does not count.

    Only a field that is near may also be in the other number: ``constraint`` is hardly one of a list three types on.
    """
    wanted = _singular(key)
    pending, seen = [(type_, "")], {type_}
    depth = 0
    while pending:
        level, pending = pending, []
        for one, path in level:
            if path and key in one.names:
                return f"{path}{key}"
            if depth == 1 and (found := min((name for name in one.names if _singular(name) == wanted), default="")):
                return f"{path}{found}"
            for field, (marks, inner) in one.nested.items():
                if inner not in seen and field not in _SERVER_FIELDS:
                    seen.add(inner)
                    pending.append((inner, f"{path}{field}{marks}."))
        depth += 1
    return ""


def _singular(name: str) -> str:
    return name.lower().removesuffix("s")
