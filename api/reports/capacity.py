"""Room for copies, on nodes and in queues, as rows of a table and as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from .quota import missing_text
from .tables import display_names

if TYPE_CHECKING:
    from ..models.results.capacity import CapacityDocument, Copies, NodeCopies, QueueCapacityDocument, QueueCopies

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


QUEUE_HEADERS = ("workload", "queue", "by quota", "by placement", "by both", "limited by", "why")
POD_HEADERS = ("workload", "queue", "pod set", "count", "flavors", "nodes", "names", "fits", "at most", "stops")
_Row: TypeAlias = "tuple[object, ...]"


def queue_rows(document: QueueCapacityDocument) -> Iterator[tuple[str, ...]]:
    """One row a LocalQueue and workload, under ``QUEUE_HEADERS``."""
    for one in document.queues:
        numbers = (_copies_text(room) for room in (one.quota, one.placement, one.both))
        yield (f"{one.namespace}/{one.workload}", one.local_queue, *numbers, one.limited_by, _why(one))


def pod_rows(document: QueueCapacityDocument) -> Iterator[_Row]:
    """One row a pod set, flavors and kind of node, under ``POD_HEADERS``; counts are pods on each of these nodes."""
    for one in document.queues:
        for pods in one.pods:
            flavors = ", ".join(dict.fromkeys(pods.flavors.values()))
            place = f"{one.namespace}/{one.workload}", one.local_queue, pods.pod_set, pods.count, flavors
            for kind in pods.nodes:
                fits, bound, _ = _copies_cells(kind.each)
                yield *place, len(kind.nodes), display_names(kind.nodes), fits, bound, _display_limits(kind)


QUEUE_FRAMES: Mapping[str, tuple[tuple[str, ...], Callable[[QueueCapacityDocument], Iterable[_Row]]]] = {
    "queues": (QUEUE_HEADERS, queue_rows),
    "pods": (POD_HEADERS, pod_rows),
}


def _copies_text(copies: Copies) -> str:
    """A number, with the bound behind it where it is not proven."""
    if copies.unbounded:
        return "any number"
    return str(copies.fits) if copies.proven else f"{copies.fits} to {_display_number(copies.bound)}"


def _why(one: QueueCopies) -> str:
    """What stops the next copy: the quota that it lacks, or what its pods lack on nodes of the flavors."""
    said = []
    if "quota" in one.limited_by:
        said.append("; ".join(map(missing_text, one.missing)) or one.message)
    if "placement" in one.limited_by:
        stops = (_display_limits(kind) for pods in one.pods for kind in pods.nodes)
        said.append(one.problem or "; ".join(dict.fromkeys(filter(None, stops))))
    return "; ".join(filter(None, said))


def queue_summary(document: QueueCapacityDocument) -> str:
    """One line: how many more copies fit in the first row, and what limits them."""
    if not document.queues:
        return "no workload has a LocalQueue"
    one = document.queues[0]
    others = len(document.queues) - 1
    more = f"; {others} more {'row' if others == 1 else 'rows'}" if others else ""
    limit = f", limited by {one.limited_by}" if one.limited_by else ""
    return f"{one.namespace}/{one.workload} in {one.local_queue}: {_copies_text(one.both)} more fit{limit}{more}"


def queue_reasons(document: QueueCapacityDocument) -> Iterator[str]:
    """What stops the next copy, a line for each row."""
    for one in document.queues:
        if why := _why(one):
            yield f"{one.namespace}/{one.workload} in {one.local_queue}: {why}"
