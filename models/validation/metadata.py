"""Rules of ``metadata``: names, namespaces, labels, annotations."""

from collections.abc import Callable
from functools import lru_cache

from ..meta import ObjectMeta
from . import names
from .findings import STRUCTURE, Findings, Path, byte_length

ANNOTATIONS_MAX = 262144

NameRule = Callable[[str], names.Complaints]


def check_metadata(found: Findings, meta: ObjectMeta, namespaced: bool, name_rule: NameRule = names.subdomain) -> None:
    """Check the metadata of an object; ``name_rule`` is the kind's own rule for its name."""
    path: Path = ("metadata",)
    _check_name(found, path, meta, name_rule)
    _check_namespace(found, path, meta.namespace, namespaced)
    check_labels(found, path, meta)


def _check_name(found: Findings, path: Path, meta: ObjectMeta, name_rule: NameRule) -> None:
    # What nothing can name, nothing can allocate: a missing name is never lifted.
    if not meta.name and not meta.generate_name:
        found.required((*path, "name"), "name or generateName is required", STRUCTURE)
    if meta.name and (complaints := name_rule(meta.name)):
        found.each_invalid((*path, "name"), meta.name, complaints)
    if meta.generate_name and (complaints := name_rule(f"{meta.generate_name.removesuffix('-')}x")):
        found.each_invalid((*path, "generateName"), meta.generate_name, complaints)


def _check_namespace(found: Findings, path: Path, namespace: str, namespaced: bool) -> None:
    if namespace and not namespaced:
        found.warning((*path, "namespace"), "the kind has no namespace, it is ignored")
    elif namespace and (complaints := names.label(namespace)):
        found.each_invalid((*path, "namespace"), namespace, complaints)


def check_labels(found: Findings, path: Path, meta: ObjectMeta) -> None:
    """Labels and annotations, as objects and templates carry them."""
    if meta.labels:
        check_label_map(found, (*path, "labels"), meta.labels)
    if meta.annotations:
        _check_annotations(found, (*path, "annotations"), meta.annotations)


def check_label_map(found: Findings, path: Path, labels: dict[str, str]) -> None:
    """Keys and values of labels or of a ``nodeSelector``."""
    for key, value in labels.items():
        if _label_is_fine(key, value):
            continue
        found.each_invalid(path, key, names.label_key(key))
        found.each_invalid(path, value, names.label_value(value))


@lru_cache(maxsize=16384)
def _label_is_fine(key: str, value: str) -> bool:
    return not names.label_key(key) and not names.label_value(value)


def _check_annotations(found: Findings, path: Path, annotations: dict[str, str]) -> None:
    for key in annotations:
        found.each_invalid(path, key, names.label_key(key.lower()))
    if sum(byte_length(key) + byte_length(value) for key, value in annotations.items()) > ANNOTATIONS_MAX:
        found.too_long(path, ANNOTATIONS_MAX)
