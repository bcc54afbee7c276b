"""The table of the fields that Kubernetes publishes, made from the OpenAPI schemas in the package kubernetes-validate.

Run as a program, it writes the table into the source: ``python tests/support/published_fields.py``.
"""

import gzip
import json
import typing
from pathlib import Path

import kubernetes_validate

from drasat.models.formats.decode import Model, api_name
from drasat.models.kubernetes.claims import DeviceConstraint

TABLE = Path(__file__).resolve().parents[2] / "models" / "kubernetes" / "published_fields.json.gz"
# Releases whose fields are read: from the first with DRA as it is today.
NEWEST = 37
OLDEST = 31
# The kinds whose fields are wanted; of all other kinds only the names are.
GROUPS = ("", "apps", "batch", "policy", "node.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io")
CORE_KINDS = (
    "LimitRange",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ReplicationController",
)
STORAGE_KINDS = ("StorageClass",)
_NO_OBJECTS = ("DeleteOptions", "WatchEvent")
# The schemas since the first are looked through for names of kinds, so that old ones are known as such.
NAMED_SINCE = 25


def definitions(release: str) -> dict[str, dict]:
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"v{release}.0-local"
    found: dict[str, dict] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return found


def _field_type(schema: dict) -> str:
    """A type's name, behind ``[]`` for a list or ``{}`` for a map; empty for what has no fields of its own."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict) and (inner := _field_type(schema[key])):
            return mark + inner
    return ""


def table() -> dict[str, dict]:
    """The fields of each type over all releases, the type of each kind, and the groups of every kind."""
    types: dict[str, dict[str, str]] = {}
    roots: dict[str, str] = {}
    kinds: dict[str, set[str]] = {}
    for minor in range(NAMED_SINCE, NEWEST + 1):
        for name, schema in definitions(f"1.{minor}").items():
            objects = [
                (one["group"], one["version"], one["kind"])
                for one in schema.get("x-kubernetes-group-version-kind", ())
                if not one["kind"].endswith("List") and one["kind"] not in _NO_OBJECTS
            ]
            for group, _, kind in objects:
                kinds.setdefault(kind, set()).add(group)
            if minor < OLDEST:
                continue
            fields = types.setdefault(name, {})
            fields.update({field: _field_type(inner) for field, inner in schema.get("properties", {}).items()})
            for group, version, kind in objects:
                wanted = group not in ("", "storage.k8s.io") or kind in (*CORE_KINDS, *STORAGE_KINDS)
                if group in GROUPS and wanted:
                    roots[f"{group}/{version}/{kind}".removeprefix("/")] = name
    _add_proposals(types)
    return _reachable(types, roots) | {"kinds": {kind: sorted(groups) for kind, groups in sorted(kinds.items())}}


def _add_proposals(types: dict[str, dict[str, str]]) -> None:
    """Fields that no release has: constraints by CEL (KEP-5254), semantics of lists and their first spelling (5491)."""
    for name in [one for one in types if one.startswith("io.k8s.api.resource.")]:
        if name.endswith(".DeviceConstraint"):
            _add_model(types, name, DeviceConstraint)
        elif name.endswith(".DeviceAttribute"):
            types[name]["list"] = "DeviceAttributeList"
    types["DeviceAttributeList"] = dict.fromkeys(("int", "bool", "string", "version"), "")


def _add_model(types: dict[str, dict[str, str]], name: str, model: type[Model]) -> None:
    """What a model of drasat has beyond the type."""
    fields = types.setdefault(name, {})
    for field, kind in typing.get_type_hints(model).items():
        inner = next((one for one in typing.get_args(kind) if isinstance(one, type) and issubclass(one, Model)), None)
        if api_name(field) not in fields:
            fields[api_name(field)] = inner.__name__ if inner else ""
            if inner:
                _add_model(types, inner.__name__, inner)


def _reachable(types: dict[str, dict[str, str]], roots: dict[str, str]) -> dict[str, dict]:
    """What the roots need, with short names; a type without fields is none."""
    wanted, ordered = list(dict.fromkeys(roots.values())), {}
    for name in wanted:
        if name not in ordered:
            ordered[name] = len(ordered)
            wanted += [bare for one in types[name].values() if types.get(bare := one.lstrip("[]{}"))]

    def short(field_type: str) -> str:
        bare = field_type.lstrip("[]{}")
        return field_type.replace(bare, str(ordered[bare])) if bare in ordered else ""

    return {
        "types": [{field: short(types[name][field]) for field in sorted(types[name])} for name in ordered],
        "roots": {root: ordered[name] for root, name in sorted(roots.items())},
    }


def packed() -> bytes:
    """The table as it is stored: the same bytes at any time."""
    text = json.dumps(table(), separators=(",", ":"), sort_keys=True)
    return gzip.compress(text.encode(), 9, mtime=0)


if __name__ == "__main__":
    TABLE.write_bytes(packed())
    print(f"{TABLE}: {TABLE.stat().st_size:,} bytes")
