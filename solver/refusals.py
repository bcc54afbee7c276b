"""Units that no node is asked about (SCHED-1, SCHED-3)."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ..models.claims import ResourceClaim
from ..models.units import Unit
from ..problem.messages import claim_text
from .outcome import Reason


def refusals(unit: Unit, classes: Container[str]) -> list[Reason]:
    """Say why a unit has to wait: claims that are missing, else classes, also those of alternatives nobody needs."""
    problems = [Reason("claim", "", problem) for problem in unit.problems]
    return problems or list(_missing_classes(unit, classes))


def _missing_classes(unit: Unit, classes: Container[str]) -> Iterator[Reason]:
    for ref in unit.asked:
        for name in class_names(ref.claim):
            if name and name not in classes:
                yield Reason("deviceClass", claim_text(ref.key), f"device class {name} does not exist")


def class_names(claim: ResourceClaim | None) -> Iterator[str]:
    """Yield the class of each request and alternative."""
    for request in (claim.spec.devices.requests if claim else None) or ():
        specs = (request.exactly,) if request.exactly else request.first_available or ()
        yield from (spec.device_class_name for spec in specs)
