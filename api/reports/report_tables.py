"""The tables of a report's views: rows that are made of result documents, or of what a result knows beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..models.results.common import filter_words
from . import comparison, inventory, plan
from .plots import PlotSource
from .tables import display_names, display_unit

if TYPE_CHECKING:
    from ..models.results.common import AllocationDocument, RequestTable
    from ..models.results.plan import PlanDocument

Row: TypeAlias = Sequence[object]


class ReportTable(NamedTuple):
    """The table of a view: its columns, and its rows."""

    headers: Sequence[str]
    rows: Iterable[Row]


def table_of(headers: Sequence[str], rows: Callable[[Any], Iterable[Row]]) -> Callable[[PlotSource], ReportTable]:
    """A table whose rows are made of the document."""
    return lambda source: ReportTable(headers, rows(source.document))


def node_changes(source: PlotSource) -> ReportTable:
    """A table with a row for each node that steps change: devices in use before and after, who leaves, who arrives."""
    from ..solver.plan.outcome import planned_nodes

    document: Any = source.document
    headers = ("node", "devices", "used before", "used after", "leave", "arrive")
    leaving, arriving = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for step in document.steps or ():
        if step.kind != "Node":
            leaving[step.source].append(step.name)
            arriving[step.node].append(step.name)
    before = {one.name: one.used for one in planned_nodes(source.cluster, {}, ())} if source.cluster else {}
    rows = (
        (one.name, one.devices, before.get(one.name, 0), one.used, leaving[one.name], arriving[one.name])
        for one in document.nodes
        if leaving[one.name] or arriving[one.name]
    )
    return ReportTable(headers, rows)


def missing_units(document: AllocationDocument) -> Iterator[Row]:
    """Yield a row for each unit and kind of node where it does not fit."""
    for unit in document.units:
        if unit.outcome != "Allocated":
            title = display_unit(unit.pod, [f"{one.namespace}/{one.name}" for one in unit.claims])
            why = "; ".join(dict.fromkeys(reason.message for reason in unit.reasons))
            if not unit.failures:
                yield title, unit.outcome, "", why, "", ""
            for kind in unit.failures:
                names = display_names(kind.names, kind.nodes)
                yield title, unit.outcome, names, kind.message or why, _fallen(kind.requests), kind.proof


def _fallen(tables: Sequence[RequestTable]) -> str:
    """Say of each request how many devices fit it, and what is wrong with the others."""
    parts = (
        f"{table.request} needs {table.needed}, {table.fitting} of {table.devices} fit"
        + "".join(f", {fallen}" for fallen in table.fallen)
        for table in tables
    )
    return "; ".join(parts)


def unplaced_units(document: PlanDocument) -> Iterator[Row]:
    """Yield a row for all units that are not placed for the same reasons, the most units first."""
    groups: dict[tuple[str, str], list[str]] = {}
    for unit in document.units:
        if unit.outcome != "Placed":
            why = "; ".join(dict.fromkeys(reason.message for reason in unit.reasons)) or "no reason was found in time"
            groups.setdefault((why, unit.kind), []).append(f"{unit.namespace}/{unit.unit}")
    for (why, kind), names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        yield len(names), kind, why, display_names(names)


def owner_rows(document: PlanDocument) -> Iterator[Row]:
    """Yield a row for each owner of units."""
    for *owner, asked, placed, nodes in plan.rows(document):
        yield *owner, asked, placed, display_names(nodes)  # type: ignore[arg-type]


def stages_of_units(document: AllocationDocument) -> Iterator[Row]:
    """Yield a row for each stage of each unit."""
    for unit in document.units:
        title = display_unit(unit.pod, [f"{one.namespace}/{one.name}" for one in unit.claims])
        for one in unit.objective:
            yield title, one.stage, one.value, one.bound, "proven" if one.proven else "not proven"


def soft_entries(document: AllocationDocument) -> Iterator[Row]:
    """Yield a row for each soft entry."""
    for unit in document.units:
        for one in unit.soft_entries:
            yield one.claim, one.name, one.id, one.weight, "kept" if one.kept else "violated", one.cost


def minimal_sets(document: Any) -> Iterator[Row]:
    """Yield a row for each reason of each minimal set."""
    for unit in document.units:
        title = display_unit(unit.pod, unit.claims)
        for reason in unit.reasons:
            yield title, "", reason.message, ""
        for number, kind in enumerate(unit.failures, 1):
            state = ("minimal" if kind.minimal else "perhaps not minimal") + f", proof: {kind.proof}"
            for reason in kind.reasons:
                yield title, f"{number}: {display_names(kind.names, kind.nodes)}", reason.message, state


def changes(document: Any) -> Iterator[Row]:
    """Yield the cheapest changes with which units fit."""
    for unit in document.units:
        for one in unit.relaxations:
            changes = ", and ".join(change.message for change in one.changes)
            yield display_unit(unit.pod, unit.claims), one.cost, changes, one.node or "any node"


def devices_of_requests(document: Any) -> Iterator[Row]:
    """Yield a row for each request that finds too few devices on a kind of node."""
    for unit in document.units:
        for kind in unit.failures:
            for one in kind.requests:
                fallen = ", ".join(
                    f"{row.devices} {filter_words(row.filter)} {row.detail}".strip() for row in one.fallen
                )
                names = display_names(kind.names, kind.nodes)
                yield (
                    display_unit(unit.pod, unit.claims),
                    names,
                    one.request,
                    one.needed,
                    one.matching,
                    one.free,
                    fallen,
                )


def sources(source: PlotSource) -> ReportTable:
    """Return where in the input each claim, pod, template and controller stands, and what became of its units."""
    from ..models.kubernetes.meta import key_of

    fates = _fates(source.document)
    rows = []
    for manifest in source.cluster.read if source.cluster else ():
        found = manifest.object
        is_asked = manifest.kind in ("ResourceClaim", "ResourceClaimTemplate", "Pod", *_CONTROLLERS)
        if found is not None and (is_asked or (manifest.kind, *key_of(found.metadata)) in fates):
            key = key_of(found.metadata)
            at = manifest.source
            place = at.file, at.document, ".".join(map(str, at.items))
            rows.append((manifest.kind, "/".join(filter(None, key)), *place, fates.get((manifest.kind, *key), "")))
    return ReportTable(("kind", "name", "file", "document", "item", "what became of it"), rows)


_CONTROLLERS = ("Job", "Deployment", "StatefulSet", "ReplicaSet", "JobSet", "LeaderWorkerSet", "ConstraintGroup")


def _fates(document: Any) -> dict[tuple[str, ...], str]:
    """What became of pods, claims and owners, by kind, namespace and name."""
    units = getattr(document, "units", ())
    if document.__class__.__name__ == "PlanDocument":
        counts = Counter((unit.kind, unit.namespace, unit.name, unit.outcome) for unit in units)
        asked = Counter((unit.kind, unit.namespace, unit.name) for unit in units)
        return {owner: f"{counts[(*owner, 'Placed')]} of {number} units placed" for owner, number in asked.items()}
    if document.__class__.__name__ != "AllocationDocument":
        return {}
    found: dict[tuple[str, ...], str] = {}
    for unit in units:
        fate = unit.outcome if unit.node is None else f"{unit.outcome} on {unit.node or 'any node'}"
        if unit.pod:
            found["Pod", *unit.pod.split("/", 1)] = fate
        found.update({("ResourceClaim", one.namespace, one.name): fate for one in unit.claims})
    return found


def compared_units(document: Any) -> Iterator[Row]:
    """Yield the units that some engine answers differently first."""
    yield from sorted(comparison.comparison_unit_rows(document), key=lambda row: row[-1] in ("equal", ""))


def comparison_rows(source: PlotSource) -> ReportTable:
    """Return a row for each engine."""
    document: Any = source.document
    return ReportTable(comparison.COMPARISON_HEADERS, comparison.comparison_rows(document, source.seconds))


def planner_rows(source: PlotSource) -> ReportTable:
    """Return a row for each planner and order."""
    document: Any = source.document
    return ReportTable(*comparison.plan_comparison_table(document, source.seconds))


def claims_of_inventory(source: PlotSource) -> ReportTable:
    """Return all claims, the orphaned first."""
    document: Any = source.document
    return ReportTable(*inventory.claim_table(document, wide=True))


def places(source: PlotSource) -> ReportTable:
    """Return a row for each instance of a topology."""
    from . import topology

    document = source.topology()
    return ReportTable(topology.headers(document), topology.rows(document))


def room_rows(source: PlotSource) -> ReportTable:
    """Return how many more units fit beside a plan."""
    rows = ((one.unit, len(one.nodes), display_names(one.nodes), one.fits, one.stops) for one in source.room())
    return ReportTable(("units like those of", "nodes", "which", "more on each", "what stops the next"), rows)


def price_rows(source: PlotSource) -> ReportTable:
    """Return what one more unit, node or unit of budget would change."""
    return ReportTable(plan.PRICE_HEADERS, plan.price_rows(source.shadow_prices))


def explained(rows: Callable[[Any], Iterable[Row]], *headers: str) -> Callable[[PlotSource], ReportTable]:
    """A table of the explanation of a result; empty if nothing is to be explained."""

    def table(source: PlotSource) -> ReportTable:
        document = source.explanation()
        return ReportTable(headers, rows(document) if document else ())

    return table


def stage_rows(source: PlotSource) -> ReportTable:
    """Return value and bound of each stage of a plan."""
    document: Any = source.document
    rows = (
        (
            one.stage,
            one.value,
            "none known" if one.bound is None else one.bound,
            "" if one.gap is None else f"{one.gap:.2%}",
            "proven" if one.proven else "not proven",
            one.sense,
        )
        for one in document.objective
    )
    return ReportTable(("stage", "value", "bound", "gap", "state", "sense"), rows)
