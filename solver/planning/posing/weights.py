"""What a unit counts when a plan is to admit as much as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from ....models.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from ....models.plan_annotations import VALUE
from ....models.planned_sets import ClaimShape, UnitShape
from ....models.quantity import Quantity

Weigh = Callable[[UnitShape], Fraction]

_NANO = 1_000_000_000
_Asked = ExactDeviceRequest | DeviceSubRequest


def weigher(kind: str) -> tuple[Weigh, str]:
    """Return what weighs units for ``admitted=KIND``, and the annotation that it reads.

    ``count``: each unit 1. ``devices``: as many as its requests count, an alternative list as its smallest, ``All`` as
    one. ``capacity:NAME``: what its requests ask of the capacity, for all their devices. ``annotation:KEY``: the number
    in the annotation, 1 without it. Raises ``ValueError``.
    """
    name, _, rest = kind.partition(":")
    if kind == "count":
        return (lambda _: Fraction(1)), VALUE
    if kind == "devices":
        return (lambda shape: Fraction(sum(_least(shape.claims, _devices)))), VALUE
    if name == "capacity" and rest:
        return (lambda shape: Fraction(sum(_least(shape.claims, lambda asked: _capacity(asked, rest))), _NANO)), VALUE
    if name == "annotation" and rest:
        return (lambda shape: Fraction(shape.value)), rest
    raise ValueError(f"unknown weight {kind!r} of admitted: count, devices, capacity:NAME or annotation:KEY")


def devices_of(shapes: Sequence[UnitShape]) -> int:
    """How many devices units ask for that are placed together; a claim that they share counts once."""
    claims = [claim for shape in shapes for claim in shape.claims]
    shared = {claim.key: claim for claim in claims if claim.key is not None}
    return sum(_least([claim for claim in claims if claim.key is None], _devices)) + sum(
        _least(shared.values(), _devices)
    )


def _least(claims: Iterable[ClaimShape], amount: Callable[[_Asked], int]) -> Iterator[int]:
    for claim in claims:
        for request in (claim.spec.devices.requests if claim.spec and not claim.allocated else None) or ():
            yield min(map(amount, _alternatives(request)), default=0)


def _alternatives(request: DeviceRequest) -> Iterator[_Asked]:
    if request.exactly is not None:
        yield request.exactly
    yield from request.first_available or ()


def _devices(asked: _Asked) -> int:
    return 1 if asked.count is None else asked.count


def _capacity(asked: _Asked, name: str) -> int:
    amounts = (asked.capacity.requests if asked.capacity else None) or {}
    return _devices(asked) * Quantity.parse(amounts[name]).nano if name in amounts else 0
