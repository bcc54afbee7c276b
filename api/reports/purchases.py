"""Planners that buy nodes as rows of tables, and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ..models.formats.errors import plural
from .comparison import display_duration
from .tables import display_names

if TYPE_CHECKING:
    from ..models.results.purchases import PurchaseAnswer, PurchaseComparisonDocument

Row: TypeAlias = tuple[object, ...]
HEADERS = ("planner", "placed", "nodes", "cost", "bound", "against plan", "refused", "time")
NODE_HEADERS = ("planner", "pool", "type", "zone", "capacity type", "price", "pods")


def rows(document: PurchaseComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """One row a planner, under ``HEADERS``."""
    least = next((one for one in document.planners if one.planner == "plan"), None)
    for one in document.planners:
        bound = "" if one.bound is None else f"{one.bound:g}"
        # Planners that place less also pay less.
        share = _share(one, least) if least and one.planner != "plan" else ""
        yield (
            f"{one.planner} {one.version}".strip(),
            f"{one.placed} of {document.asked}",
            str(len(one.nodes)),
            f"{one.cost:g}",
            bound,
            share,
            str(len(one.refused)),
            display_duration(seconds[one.planner]),
        )


def bought_rows(document: PurchaseComparisonDocument) -> Iterator[tuple[str, ...]]:
    """One row for equal nodes of a planner, under ``NODE_HEADERS`` with numbers of nodes and pods."""
    for one in document.planners:
        kinds = Counter((n.pool, n.instance_type, n.zone, n.capacity_type, n.price) for n in one.nodes)
        for kind, count in sorted(kinds.items()):
            pods = sum(
                len(n.pods) for n in one.nodes if (n.pool, n.instance_type, n.zone, n.capacity_type, n.price) == kind
            )
            yield (one.planner, *map(str, kind[:4]), f"{kind[4]:g}", str(count), str(pods))


BOUGHT_HEADERS = ("planner", "pool", "type", "zone", "capacity type", "price", "nodes", "pods")


def node_rows(document: PurchaseComparisonDocument) -> Iterator[Row]:
    """One row a node, under ``NODE_HEADERS``; ``pods`` is a list."""
    for one in document.planners:
        for node in one.nodes:
            place = node.pool, node.instance_type, node.zone, node.capacity_type
            yield (one.planner, *place, node.price, list(node.pods))


def summary(document: PurchaseComparisonDocument) -> str:
    """One line: who buys cheapest, and what the others pay."""
    found: dict[str, PurchaseAnswer] = {one.planner: one for one in document.planners}
    best = found[document.cheapest[0]]
    others = [_against(one, best) for one in document.planners if one.planner not in document.cheapest]
    names = " and ".join(document.cheapest)
    verb = "place" if len(document.cheapest) > 1 else "places"
    head = f"{names} {verb} {best.placed} of {plural(document.asked, 'pod')} for {best.cost:g}"
    return "; ".join([head, *others])


def _against(one: PurchaseAnswer, best: PurchaseAnswer) -> str:
    share = _share(one, best)
    return f"{one.planner} {one.placed} for {one.cost:g}{f' ({share})' if share else ''}"


def _share(one: PurchaseAnswer, best: PurchaseAnswer) -> str:
    """How much more a planner pays for as many pods; empty where it places others."""
    return f"{one.cost / best.cost - 1:+.1%}" if best.cost and one.placed == best.placed else ""


def reasons(document: PurchaseComparisonDocument) -> Iterator[str]:
    """Pods without a place, pods that the replay refuses, and where the planners part."""
    for one in document.planners:
        for pod in one.unplaced:
            yield f"{one.planner}: {pod.pod} has no place: {pod.reason}"
        if one.refused:
            who = "Karpenter" if one.planner == "plan" else "kube-scheduler"
            yield f"{one.planner}: {who} would refuse {display_names(one.refused)} on these nodes"
    for skipped in document.skipped:
        yield f"{skipped.name} could not answer: {skipped.reason}"
    if document.differing:
        yield f"the planners differ in the nodes of {display_names(document.differing)}"
