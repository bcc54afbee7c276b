"""Reasons in words: from failures and misfits to what a user reads.

Units that no node is asked about (SCHED-1, SCHED-3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import groupby

from ...models.cluster.node_fit import Misfit
from ...models.kubernetes.claims import ResourceClaim
from ...models.results.common import Reason
from ...models.workload.units import Unit
from ...problem.problem import claim_text
from .outcome import SELECTOR_FILTERS, DemandTable, NodeClassFailure

# The id of a reason where no filter takes devices away: there are too few to begin with.
DEVICES_REASON = "devices"


def device_reasons(failures: Sequence[NodeClassFailure], claims: Sequence[str]) -> tuple[Reason, ...]:
    """Say for the largest class of nodes which requests find too few devices; ``claims`` are the names by number."""
    if not failures:
        return ()
    where = f"{len(failures[0].nodes)} of {sum(len(failure.nodes) for failure in failures)} nodes"
    reasons = class_reasons(failures[0], claims)
    return tuple(Reason(one.id, one.claim, f"{where}: {one.message}") for one in reasons)


def class_reasons(failure: NodeClassFailure, claims: Sequence[str]) -> tuple[Reason, ...]:
    """Say which requests find too few devices on nodes of one class."""
    if failure.message.startswith("invalid resource pools"):
        return (Reason("pool", "", failure.message),)
    if failure.proof and not any(table.is_short for table in failure.tables):
        return (failure.proof,)
    if not failure.tables:
        # The engine says no more than that.
        return (Reason("combination", "", failure.message),)
    groups = groupby(failure.tables, key=lambda table: (table.claim, table.request))
    requests = [(key, list(tables)) for key, tables in groups]
    short = [(claim, tables) for (claim, _), tables in requests if all(table.is_short for table in tables)]
    reasons = tuple(_shortage_reason(claims[claim], table) for claim, tables in short for table in tables)
    together = "each request finds enough devices alone, but not all of them together"
    return reasons or (Reason("combination", "", together),)


def _shortage_reason(claim: str, table: DemandTable) -> Reason:
    """Name the filter at which most devices fall, of those that are meant if there are any."""
    meant = [row.filter for row in table.fallen if row.filter not in SELECTOR_FILTERS]
    main = next(iter(meant or [row.filter for row in table.fallen]), DEVICES_REASON)
    needs = f"request {table.label} needs {table.needed}, {table.fitting} fit"
    return Reason(main, claim, f"{needs} of {table}")


def misfit_reasons(misfits: Sequence[Misfit], nodes: int) -> tuple[Reason, ...]:
    """Say how many nodes the pod itself does not fit, by the first test that each fails."""
    counts = Counter(misfit.id for misfit in misfits)
    examples = {misfit.id: misfit.message for misfit in reversed(misfits)}
    return tuple(
        Reason(id_, "", f"{count} of {nodes} nodes: {examples[id_]}")
        for id_, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def missing_reference_reasons(unit: Unit, classes: Container[str]) -> list[Reason]:
    """Say why a unit has to wait: claims that are missing, else classes, also those of alternatives nobody needs."""
    problems = [Reason("claim", "", problem) for problem in unit.problems]
    return problems or list(_missing_classes(unit, classes))


def _missing_classes(unit: Unit, classes: Container[str]) -> Iterator[Reason]:
    for ref in unit.asked:
        for name in device_class_names(ref.claim):
            if name and name not in classes:
                yield Reason("deviceClass", claim_text(ref.key), f"device class {name} does not exist")


def device_class_names(claim: ResourceClaim | None) -> Iterator[str]:
    """Yield the class of each request and alternative."""
    for request in (claim.spec.devices.requests if claim else None) or ():
        specs = (request.exactly,) if request.exactly else request.first_available or ()
        yield from (spec.device_class_name for spec in specs)
