"""The CEL expressions of an object, for those who can compile them, and the entries that some of them stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from ..kubernetes.claims import (
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceSelector,
    ResourceClaim,
    ResourceClaimTemplate,
)
from ..kubernetes.extensions import CONSTRAINTS_ANNOTATION, ConstraintGroup, annotated_entries
from ..kubernetes.kueue_configuration import Configuration
from ..kubernetes.meta import ObjectMeta
from .findings import MapKey, Path, render_path

Purpose = Literal["selector", "source", "derivedAttribute", "constraint"]
Expression = tuple[str, str, Purpose]


def expressions(obj: Any) -> Iterator[Expression]:
    """Every CEL expression of an object as (field path, text, purpose); none for kinds without CEL, and for None."""
    if finder := _FINDERS.get(type(obj)):
        yield from finder(obj)
    for one in located_entries(obj):
        if one.entry.cel is not None:
            yield cel_path(one), one.entry.cel.expression, "constraint"


class LocatedEntry(NamedTuple):
    """An entry, where it stands, and the claim whose requests it names; None for what is about several claims."""

    path: Path
    entry: DeviceConstraint
    claim: DeviceClaim | None


def located_entries(obj: Any) -> Iterator[LocatedEntry]:
    """Every constraint of an object: of its claim, of annotations, of a group; ``obj`` as for ``expressions``."""
    finder = _ENTRY_FINDERS.get(type(obj))
    return finder(obj) if finder else iter(())


def _locate_entries(
    path: Path, entries: Iterable[DeviceConstraint] | None, claim: DeviceClaim | None
) -> Iterator[LocatedEntry]:
    for index, entry in enumerate(entries or ()):
        yield LocatedEntry((*path, index), entry, claim)


def _annotated_entries(path: Path, metadata: ObjectMeta | None, claim: DeviceClaim) -> Iterator[LocatedEntry]:
    if metadata is not None:
        yield from _locate_entries(
            (*path, "annotations", MapKey(CONSTRAINTS_ANNOTATION)), annotated_entries(metadata), claim
        )


def _entries_of_claim(claim: ResourceClaim) -> Iterator[LocatedEntry]:
    devices = claim.spec.devices
    yield from _locate_entries(("spec", "devices", "constraints"), devices.constraints, devices)
    yield from _annotated_entries(("metadata",), claim.metadata, devices)


def _entries_of_template(template: ResourceClaimTemplate) -> Iterator[LocatedEntry]:
    devices = template.spec.spec.devices
    yield from _locate_entries(("spec", "spec", "devices", "constraints"), devices.constraints, devices)
    yield from _annotated_entries(("metadata",), template.metadata, devices)
    yield from _annotated_entries(("spec", "metadata"), template.spec.metadata, devices)


def cel_path(placed: LocatedEntry) -> str:
    """The field of an entry's expression."""
    return render_path((*placed.path, "cel", "expression"))


def _selectors(path: Path, selectors: Iterable[DeviceSelector] | None) -> Iterator[Expression]:
    for index, selector in enumerate(selectors or ()):
        if selector.cel is not None:
            yield render_path((*path, "selectors", index, "cel", "expression")), selector.cel.expression, "selector"


def _derived(path: Path, derived: Iterable[DeviceDerivedAttribute] | None) -> Iterator[Expression]:
    for index, attribute in enumerate(derived or ()):
        yield render_path((*path, "derivedAttributes", index, "expression")), attribute.expression, "derivedAttribute"


def _claim_expressions(path: Path, claim: DeviceClaim) -> Iterator[Expression]:
    for index, request in enumerate(claim.requests or ()):
        where = (*path, "requests", index)
        if request.exactly is not None:
            yield from _selectors((*where, "exactly"), request.exactly.selectors)
            yield from _derived((*where, "exactly"), request.exactly.derived_attributes)
        for position, alternative in enumerate(request.first_available or ()):
            yield from _selectors((*where, "firstAvailable", position), alternative.selectors)
            yield from _derived((*where, "firstAvailable", position), alternative.derived_attributes)


def _source_expressions(configuration: Configuration) -> Iterator[Expression]:
    """The selectors of the sources by which Kueue charges devices."""
    for index, mapping in enumerate(configuration.resources.device_class_mappings or ()):
        for number, source in enumerate(mapping.sources or ()):
            for kind, one in (("counter", source.counter), ("capacity", source.capacity)):
                selector = one.device_selector.cel if one is not None and one.device_selector is not None else None
                if selector is not None and selector.expression:
                    place = ("resources", "deviceClassMappings", index, "sources", number, kind)
                    path = render_path((*place, "deviceSelector", "cel", "expression"))
                    yield path, selector.expression, "source"


_ENTRY_FINDERS: dict[type[Any], Callable[[Any], Iterator[LocatedEntry]]] = {
    ResourceClaim: _entries_of_claim,
    ResourceClaimTemplate: _entries_of_template,
    ConstraintGroup: lambda group: _locate_entries(("spec", "constraints"), group.spec.constraints, None),
}
_FINDERS: dict[type[Any], Callable[[Any], Iterator[Expression]]] = {
    DeviceClass: lambda one: _selectors(("spec",), one.spec.selectors),
    Configuration: _source_expressions,
    ResourceClaim: lambda one: _claim_expressions(("spec", "devices"), one.spec.devices),
    ResourceClaimTemplate: lambda one: _claim_expressions(("spec", "spec", "devices"), one.spec.spec.devices),
}
