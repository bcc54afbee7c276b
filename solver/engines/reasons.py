"""Reasons in words: why nodes have too few devices, why pods do not fit them, which references are missing.

A unit with missing references is tried on no node (SCHED-1, SCHED-3). ``deletion_filter`` reduces a set of reasons to a
minimal one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TypeVar

from ...models.cluster.node_fit import Misfit
from ...models.kubernetes.claims import ResourceClaim
from ...models.results.common import Reason
from ...models.workload.units import Unit
from ...problem.messages import claim_text
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
    """List what a unit has to wait for: missing claims, else missing classes, also those of unused alternatives."""
    problems = [Reason("claim", "", problem) for problem in unit.problems]
    return problems or list(_missing_classes(unit, classes))


def _missing_classes(unit: Unit, classes: Container[str]) -> Iterator[Reason]:
    for ref in unit.requested_claims:
        for name in device_class_names(ref.claim):
            if name and name not in classes:
                yield Reason("deviceClass", claim_text(ref.key), f"device class {name} does not exist")


def device_class_names(claim: ResourceClaim | None) -> Iterator[str]:
    """Yield the class of each request and alternative."""
    for request in (claim.spec.devices.requests if claim else None) or ():
        specs = (request.exactly,) if request.exactly else request.first_available or ()
        yield from (spec.device_class_name for spec in specs)


Item = TypeVar("Item")


def deletion_filter(blocks: Iterable[Sequence[Item]], is_enough: Callable[[list[Item]], bool]) -> list[Item]:
    """Leave items out as long as the rest is enough, so that a minimal set is left (Chinneck and Dravnieks, 1991).

    Parameters
    ----------
    blocks
        All items, in the order in which they are tried. A block is tried as a whole first, and then by halves: few of
        many items are ever needed.
    is_enough
        Tells whether so many items are enough. More items must be enough whenever fewer are.

    Returns
    -------
    list
        The items that are left, in their order. All items together are taken to be enough.

    """
    listed = [list(block) for block in blocks]
    items = list(chain.from_iterable(listed))
    kept = list(range(len(items)))

    def leave_out(block: range, *, needed: bool = False) -> bool:
        """Leave out as much of a block as possible, and tell whether that was all; ``needed``: some of it must stay."""
        nonlocal kept
        if not needed:
            rest = [number for number in kept if number not in block]
            if is_enough([items[number] for number in rest]):
                kept = rest
                return True
        if len(block) > 1:
            half = len(block) // 2
            # If the first half can go, the second cannot as well.
            leave_out(block[half:], needed=leave_out(block[:half]))
        return False

    start = 0
    for block in listed:
        leave_out(range(start, start + len(block)))
        start += len(block)
    return [items[number] for number in kept]
