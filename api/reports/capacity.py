"""Room for copies as rows of a table and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .lines import named

if TYPE_CHECKING:
    from ..capacity_documents import CapacityDocument, Copies, NodeCopies

HEADERS = ("nodes", "names", "fits", "at most", "first fit", "what stops the next")
NODE_COLUMNS = ("node", "fits", "bound", "proven", "unbounded", "firstFit", "stops")


def rows(document: CapacityDocument) -> Iterator[tuple[str, ...]]:
    """One row for each kind of node and for nodes that share something, and one for all, under ``HEADERS``."""
    for kind in document.nodes:
        yield (str(len(kind.nodes)), named(kind.nodes), *_cells(kind.each), _stops(kind))
    for group in document.sharing:
        told = "they reach the same devices or counters"
        yield (str(len(group.nodes)), f"{named(group.nodes)} together", *_cells(group.together), told)
    nodes = sum(len(kind.nodes) for kind in document.nodes)
    yield (str(nodes), "all together", *_cells(document.total), "")


def node_rows(document: CapacityDocument) -> Iterator[tuple[object, ...]]:
    """One row a node, by name, under ``NODE_COLUMNS``."""
    found = (
        (name, one.fits, one.bound, one.proven, one.unbounded, one.first_fit, _stops(kind))
        for kind in document.nodes
        for one in (kind.each,)
        for name in kind.nodes
    )
    yield from sorted(found, key=lambda row: row[0])


def summary(document: CapacityDocument) -> str:
    """One line: how many more fit, whether that is proven, and what first fit reaches."""
    asked, total = document.asked, document.total
    what = f"{asked.kind} {asked.namespace}/{asked.name}"
    if total.unbounded:
        return f"{what}: any number of copies fits"
    first = "" if total.first_fit in (None, total.fits) else f"; the scheduler's first fit reaches {total.first_fit}"
    return f"{what}: {total.fits} more fit, {_certainty(total)}{first}"


def proofs(document: CapacityDocument) -> Iterator[str]:
    """Why no more fit than the bounds say, a line for each kind of node."""
    for kind in document.nodes:
        if kind.proof:
            yield f"{named(kind.nodes)}: {kind.proof}"


def _cells(copies: Copies) -> tuple[str, str, str]:
    if copies.unbounded:
        return "any number", "", ""
    return str(copies.fits), _number(copies.bound), _number(copies.first_fit)


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _certainty(copies: Copies) -> str:
    if copies.proven:
        return "proven"
    return "not proven" if copies.bound is None else f"at most {copies.bound} could, not proven"


def _stops(kind: NodeCopies) -> str:
    several = len({reason.claim for reason in kind.reasons}) > 1
    return "; ".join(f"{reason.claim}: {reason.message}" if several else reason.message for reason in kind.reasons)
