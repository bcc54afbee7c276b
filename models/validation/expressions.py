"""The CEL expressions of an object, for those who can compile them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from ..claims import (
    DeviceClaim,
    DeviceClass,
    DeviceDerivedAttribute,
    DeviceSelector,
    ResourceClaim,
    ResourceClaimTemplate,
)
from .findings import Path, render

Purpose = Literal["selector", "derivedAttribute"]
Expression = tuple[str, str, Purpose]


def expressions(kind: str, obj: Any) -> Iterator[Expression]:
    """Every CEL expression of an object as (field path, text, purpose); none for kinds without CEL.

    ``obj`` is None for one that is ignored: another API may have a kind of the same name.
    """
    finder = _FINDERS.get(kind)
    return finder(obj) if finder and obj is not None else iter(())


def _selectors(path: Path, selectors: Iterable[DeviceSelector] | None) -> Iterator[Expression]:
    for index, selector in enumerate(selectors or ()):
        if selector.cel is not None:
            yield render((*path, "selectors", index, "cel", "expression")), selector.cel.expression, "selector"


def _derived(path: Path, derived: Iterable[DeviceDerivedAttribute] | None) -> Iterator[Expression]:
    for index, attribute in enumerate(derived or ()):
        yield render((*path, "derivedAttributes", index, "expression")), attribute.expression, "derivedAttribute"


def _claim_expressions(path: Path, claim: DeviceClaim) -> Iterator[Expression]:
    for index, request in enumerate(claim.requests or ()):
        where = (*path, "requests", index)
        if request.exactly is not None:
            yield from _selectors((*where, "exactly"), request.exactly.selectors)
            yield from _derived((*where, "exactly"), request.exactly.derived_attributes)
        for position, alternative in enumerate(request.first_available or ()):
            yield from _selectors((*where, "firstAvailable", position), alternative.selectors)
            yield from _derived((*where, "firstAvailable", position), alternative.derived_attributes)


def _of_class(device_class: DeviceClass) -> Iterator[Expression]:
    return _selectors(("spec",), device_class.spec.selectors)


def _of_claim(claim: ResourceClaim) -> Iterator[Expression]:
    return _claim_expressions(("spec", "devices"), claim.spec.devices)


def _of_template(template: ResourceClaimTemplate) -> Iterator[Expression]:
    return _claim_expressions(("spec", "spec", "devices"), template.spec.spec.devices)


_FINDERS: dict[str, Callable[[Any], Iterator[Expression]]] = {
    "DeviceClass": _of_class,
    "ResourceClaim": _of_claim,
    "ResourceClaimTemplate": _of_template,
}
