"""Room for copies as rows of a table and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .tables import display_names

if TYPE_CHECKING:
    from ..models.results.capacity import CapacityDocument, Copies, NodeCopies

HEADERS = ("nodes", "names", "fits", "at most", "first fit", "what stops the next")
NODE_COLUMNS = ("node", "fits", "bound", "proven", "unbounded", "firstFit", "stops")


def rows(document: CapacityDocument, *, wide: bool = False) -> Iterator[tuple[str, ...]]:
    """One row for each kind of node and for nodes that share something, and one for all, under ``HEADERS``.

    Where it is ``wide``, all nodes are named.
    """
    for kind in document.nodes:
        names = ", ".join(name or "any node" for name in kind.nodes) if wide else display_names(kind.nodes)
        yield (str(len(kind.nodes)), names, *_copies_cells(kind.each), _display_limits(kind))
    for group in document.sharing:
        summary = "they reach the same devices or counters"
        yield (str(len(group.nodes)), f"{display_names(group.nodes)} together", *_copies_cells(group.together), summary)
    nodes = sum(len(kind.nodes) for kind in document.nodes)
    yield (str(nodes), "all together", *_copies_cells(document.total), "")


def node_rows(document: CapacityDocument) -> Iterator[tuple[object, ...]]:
    """One row a node, by name, under ``NODE_COLUMNS``."""
    found = (
        (name, one.fits, one.bound, one.proven, one.unbounded, one.first_fit, [one.message for one in kind.reasons])
        for kind in document.nodes
        for one in (kind.each,)
        for name in kind.nodes
    )
    yield from sorted(found, key=lambda row: row[0])


def summary(document: CapacityDocument) -> str:
    """One line: how many more fit, whether that is proven, and what first fit reaches."""
    requested, total = document.asked, document.total
    what = f"{requested.kind} {requested.namespace}/{requested.name}"
    if total.unbounded:
        return f"{what}: any number of copies fits"
    first = "" if total.first_fit in (None, total.fits) else f"; the scheduler's first fit reaches {total.first_fit}"
    bound = "" if total.bound is None else f"at most {total.bound} could, "
    return f"{what}: {total.fits} more fit, {'proven' if total.proven else f'{bound}not proven'}{first}"


def proofs(document: CapacityDocument) -> Iterator[str]:
    """Why no more fit than the bounds say, a line for each kind of node."""
    for kind in document.nodes:
        if kind.proof:
            yield f"{display_names(kind.nodes)}: {kind.proof}"


def _copies_cells(copies: Copies) -> tuple[str, str, str]:
    if copies.unbounded:
        return "any number", "", ""
    return str(copies.fits), _display_number(copies.bound), _display_number(copies.first_fit)


def _display_number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _display_limits(kind: NodeCopies) -> str:
    several = len({reason.claim for reason in kind.reasons}) > 1
    return "; ".join(f"{reason.claim}: {reason.message}" if several else reason.message for reason in kind.reasons)
