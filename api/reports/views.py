"""The views of a report: for each kind of result document a list of them, in the order of the page.

A view is an entry of the table ``VIEWS``: a title, what it shows in a sentence, and functions from the result to a
picture or to a table. What a result has nothing for is left out of its page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..models.results.common import filter_words
from . import capacity, comparison, inventory, plan, provision, quota
from .plots import PlotSource, draw
from .tables import display_names, display_unit

if TYPE_CHECKING:
    from ..models.results.common import AllocationDocument, RequestTable
    from ..models.results.plan import PlanDocument

Row: TypeAlias = Sequence[object]


class ReportTable(NamedTuple):
    """The table of a view: its columns, and its rows."""

    headers: Sequence[str]
    rows: Iterable[Row]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A section of the page.

    ``picture`` is a name in ``PlotSource``'s pictures; ``dataset`` names the data of that picture that is also its
    table, with fields by column. ``table`` makes a table of its own.
    """

    name: str
    title: str
    about: str
    picture: str = ""
    table: Callable[[PlotSource], ReportTable] | None = None
    dataset: str = ""
    columns: Mapping[str, str] | None = None


_CELL_COLUMNS = {
    "node": "node",
    "device": "device",
    "state": "state",
    "owner": "owner",
    "claim": "claim",
    "request": "request",
    "note": "note",
    "attributes": "attributes",
}


def mosaic_view(about: str, dataset: str = "cells") -> ReportView:
    """Nodes and devices."""
    return ReportView("mosaic", "Nodes and devices", about, "mosaic", dataset=dataset, columns=_CELL_COLUMNS)


def table_of(headers: Sequence[str], rows: Callable[[Any], Iterable[Row]]) -> Callable[[PlotSource], ReportTable]:
    """A table whose rows are made of the document."""
    return lambda source: ReportTable(headers, rows(source.document))


def _missing_units(document: AllocationDocument) -> Iterator[Row]:
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


def _unplaced_units(document: PlanDocument) -> Iterator[Row]:
    """Yield a row for all units that are not placed for the same reasons, the most units first."""
    groups: dict[tuple[str, str], list[str]] = {}
    for unit in document.units:
        if unit.outcome != "Placed":
            why = "; ".join(dict.fromkeys(reason.message for reason in unit.reasons)) or "no reason was found in time"
            groups.setdefault((why, unit.kind), []).append(f"{unit.namespace}/{unit.unit}")
    for (why, kind), names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        yield len(names), kind, why, display_names(names)


def _owner_rows(document: PlanDocument) -> Iterator[Row]:
    for *owner, asked, placed, nodes in plan.rows(document):
        yield *owner, asked, placed, display_names(nodes)  # type: ignore[arg-type]


def _stages_of_units(document: AllocationDocument) -> Iterator[Row]:
    for unit in document.units:
        title = display_unit(unit.pod, [f"{one.namespace}/{one.name}" for one in unit.claims])
        for one in unit.objective:
            yield title, one.stage, one.value, one.bound, "proven" if one.proven else "not proven"


def _soft_entries(document: AllocationDocument) -> Iterator[Row]:
    for unit in document.units:
        for one in unit.soft_entries:
            yield one.claim, one.name, one.id, one.weight, "kept" if one.kept else "violated", one.cost


def _minimal_sets(document: Any) -> Iterator[Row]:
    """Yield a row for each reason of each minimal set."""
    for unit in document.units:
        title = display_unit(unit.pod, unit.claims)
        for reason in unit.reasons:
            yield title, "", reason.message, ""
        for number, kind in enumerate(unit.failures, 1):
            state = ("minimal" if kind.minimal else "perhaps not minimal") + ("" if kind.certified else ", shown once")
            for reason in kind.reasons:
                yield title, f"{number}: {display_names(kind.names, kind.nodes)}", reason.message, state


def _changes(document: Any) -> Iterator[Row]:
    """Yield the cheapest changes with which units fit."""
    for unit in document.units:
        for one in unit.relaxations:
            changes = ", and ".join(change.message for change in one.changes)
            yield display_unit(unit.pod, unit.claims), one.cost, changes, one.node or "any node"


def _devices_of_requests(document: Any) -> Iterator[Row]:
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


def _sources(source: PlotSource) -> ReportTable:
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


def _compared_units(document: Any) -> Iterator[Row]:
    """Yield the units that some engine answers differently first."""
    yield from sorted(comparison.comparison_unit_rows(document), key=lambda row: row[-1] in ("equal", ""))


def _comparison_rows(source: PlotSource) -> ReportTable:
    document: Any = source.document
    return ReportTable(comparison.COMPARISON_HEADERS, comparison.comparison_rows(document, source.seconds))


def _planner_rows(source: PlotSource) -> ReportTable:
    document: Any = source.document
    rows = comparison.plan_comparison_rows(document, source.seconds)
    return ReportTable(comparison.PLAN_COMPARISON_HEADERS, rows)


def _claims_of_inventory(source: PlotSource) -> ReportTable:
    document: Any = source.document
    return ReportTable(*inventory.claim_table(document, wide=True))


def _places(source: PlotSource) -> ReportTable:
    from . import topology

    document = source.topology()
    return ReportTable(topology.headers(document), topology.rows(document))


def _room_rows(source: PlotSource) -> ReportTable:
    rows = ((one.unit, len(one.nodes), display_names(one.nodes), one.fits, one.stops) for one in source.room())
    return ReportTable(("units like those of", "nodes", "which", "more on each", "what stops the next"), rows)


def _explained(rows: Callable[[Any], Iterable[Row]], *headers: str) -> Callable[[PlotSource], ReportTable]:
    """A table of the explanation of a result; empty if nothing is to be explained."""

    def table(source: PlotSource) -> ReportTable:
        document = source.explanation()
        return ReportTable(headers, rows(document) if document else ())

    return table


def _stage_rows(source: PlotSource) -> ReportTable:
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


TOPOLOGY = ReportView(
    "topology",
    "Topologies",
    "Devices in their places. The frame marks the largest free shape, after what was chosen is taken.",
    "topology",
    _places,
)
SOURCES = ReportView(
    "sources", "Where it stands", "The file and the document of each object that asks for devices.", table=_sources
)
FRAGMENTATION = ReportView(
    "fragmentation",
    "Fragmentation",
    "The part of the devices that is free and of no use to the average unit of the queue, while units are placed.",
    "fragmentation",
    dataset="fragmentation",
    columns={
        "planner": "planner",
        "units placed": "placed",
        "devices in use": "used",
        "of all devices": "wasted",
        "of free devices": "ofFree",
    },
)
_MOSAIC = mosaic_view(
    "One cell is a device. Partitions and shares are to scale. Hover for details, click an owner to see it alone."
)
VIEWS: Mapping[str, Sequence[ReportView]] = {
    "AllocationDocument": (
        _MOSAIC,
        ReportView(
            "missing",
            "Not allocated",
            "Units that got nothing, with the reasons for each kind of node.",
            table=table_of(("unit", "outcome", "nodes", "reason", "devices", "proof"), _missing_units),
        ),
        ReportView(
            "reasons",
            "Why not",
            "Reasons that are impossible together, and, where they are minimal, possible without any one of them.",
            table=_explained(_minimal_sets, "unit", "set and nodes", "reason", "state"),
        ),
        ReportView(
            "changes",
            "What would help",
            "The cheapest changes. Each was made, allocated and verified.",
            table=_explained(_changes, "unit", "cost", "change", "node"),
        ),
        ReportView(
            "bound",
            "Objective",
            "The stages of all units: bars are values, red ticks are bounds that nothing can beat.",
            "bound",
            table_of(("unit", "stage", "value", "bound", "state"), _stages_of_units),
        ),
        ReportView(
            "soft",
            "Wishes",
            "Soft entries: which are kept, and what the others cost.",
            table=table_of(("claim", "entry", "kind", "weight", "state", "cost"), _soft_entries),
        ),
        TOPOLOGY,
        SOURCES,
    ),
    "PlanDocument": (
        _MOSAIC,
        ReportView(
            "owners",
            "What is placed",
            "Each owner of units, with how many of them are placed, and where.",
            table=table_of(plan.HEADERS, _owner_rows),
        ),
        ReportView(
            "missing",
            "Not placed",
            "Units without a node, by reason.",
            table=table_of(("units", "kind", "reason", "which"), _unplaced_units),
        ),
        ReportView(
            "room",
            "How many more fit",
            "Units of each class that still go on a node beside the plan, and what stops the next.",
            table=_room_rows,
        ),
        ReportView(
            "cost",
            "Cost",
            "The nodes to be bought, by template.",
            "cost",
            table_of(plan.BOUGHT_HEADERS, plan.bought_rows),
        ),
        ReportView(
            "bound",
            "Value and bound",
            "How good the plan became, against what no plan exceeds. A plan whose value meets its bound is the best.",
            "bound",
            _stage_rows,
        ),
        FRAGMENTATION,
        ReportView(
            "nodes",
            "Nodes",
            "Devices, those in use when the plan is carried out, and planned units of each node.",
            table=table_of(plan.NODE_HEADERS, plan.node_rows),
        ),
        TOPOLOGY,
        SOURCES,
    ),
    "ComparisonDocument": (
        ReportView("engines", "Engines", "Units that each engine allocates.", "planners", _comparison_rows),
        ReportView(
            "units",
            "Units",
            "What each engine gives each unit, those with different answers first.",
            table=table_of(comparison.COMPARISON_UNIT_HEADERS, _compared_units),
        ),
        SOURCES,
    ),
    "PlanComparisonDocument": (
        ReportView("planners", "Planners", "Units that each planner places.", "planners", _planner_rows),
        mosaic_view(
            "Two planners side by side. Framed devices have another owner on the other side.", dataset="side0_cells"
        ),
        FRAGMENTATION,
        SOURCES,
    ),
    "SweepDocument": (
        ReportView(
            "times",
            "Times",
            "The time of each engine against the size of the question.",
            "times",
            lambda source: ReportTable(*comparison.sweep_table(source.document)),  # type: ignore[arg-type]
        ),
    ),
    "CapacityDocument": (
        ReportView(
            "capacity",
            "How many more fit",
            "Bars are copies that fit on each node of a kind, ticks what first fit reaches and the proven bound.",
            "capacity",
            table_of(capacity.HEADERS, lambda document: capacity.rows(document, wide=True)),
        ),
        mosaic_view("What is held before any copy is placed. One cell is a device."),
        TOPOLOGY,
        SOURCES,
    ),
    "ExplanationDocument": (
        ReportView(
            "reasons",
            "Why not",
            "Reasons that are impossible together, and, where they are minimal, possible without any one of them.",
            table=table_of(("unit", "set and nodes", "reason", "state"), _minimal_sets),
        ),
        ReportView(
            "changes",
            "What would help",
            "The cheapest changes. Each was made, allocated and verified.",
            table=table_of(("unit", "cost", "change", "node"), _changes),
        ),
        ReportView(
            "devices",
            "Devices as requests see them",
            "The devices of a node by what is in their way. Red ticks are the devices that the request needs.",
            "devices",
            table_of(("unit", "nodes", "request", "needs", "match", "free", "in the way"), _devices_of_requests),
        ),
        mosaic_view("What is held before anything is allocated. One cell is a device."),
        SOURCES,
    ),
    "InventoryDocument": (
        _MOSAIC,
        ReportView(
            "classes",
            "Device classes",
            "Devices that each class matches, by state.",
            "devices",
            table_of(inventory.CLASS_HEADERS, inventory.class_rows),
        ),
        ReportView(
            "nodes",
            "Nodes",
            "Nodes that look the same are one row.",
            table=table_of(inventory.NODE_HEADERS, inventory.node_rows),
        ),
        ReportView(
            "pools",
            "Pools that are not complete",
            "Devices of these pools cannot be allocated.",
            table=table_of(inventory.POOL_HEADERS, inventory.pool_rows),
        ),
        ReportView(
            "claims",
            "Claims",
            "Claims with the devices that they hold, the orphaned first.",
            table=_claims_of_inventory,
        ),
        TOPOLOGY,
        SOURCES,
    ),
    "TopologyDocument": (TOPOLOGY,),
    "ProvisionDocument": (
        ReportView(
            "requests",
            "Requests",
            "The ProvisioningRequests at the end, with their pod sets.",
            table=table_of(provision.REQUEST_HEADERS, provision.request_rows),
        ),
        ReportView(
            "workloads",
            "Workloads",
            "The checks of each workload at the end.",
            table=table_of(provision.WORKLOAD_HEADERS, provision.workload_rows),
        ),
        ReportView(
            "timeline",
            "Timeline",
            "What each event led to.",
            table=table_of(provision.TIMELINE_HEADERS, provision.timeline_rows),
        ),
        ReportView(
            "events",
            "Events",
            "The events of Kubernetes that Kueue would record.",
            table=table_of(provision.EVENT_HEADERS, provision.event_rows),
        ),
    ),
    "QuotaDocument": (
        ReportView(
            "workloads",
            "Workloads",
            "Which workloads get quota, in which cycle and flavors, and why others wait.",
            table=table_of(quota.WORKLOAD_HEADERS, quota.workload_rows),
        ),
        ReportView(
            "quota",
            "Quota",
            "What each queue and cohort has, uses, borrows and can still get.",
            table=table_of(quota.QUOTA_HEADERS, quota.quota_rows),
        ),
        ReportView(
            "evictions",
            "Evictions",
            "Workloads that lost their quota, in the order of cycles.",
            table=table_of(quota.EVICTION_HEADERS, quota.eviction_rows),
        ),
    ),
}
"""By the class of a document, its views in order."""


class DrawnView(NamedTuple):
    """A view with its content; ``note`` says why a picture is missing."""

    view: ReportView
    chart: Any
    table: ReportTable | None
    note: str


def drawn_views(source: PlotSource) -> Iterator[DrawnView]:
    """Yield the views for which the result has something, with their pictures and rows."""
    for view in VIEWS.get(source.document.__class__.__name__, ()):
        chart, note = None, ""
        if view.picture:
            try:
                chart = draw(source, view.picture)
            except ValueError as error:
                note = str(error)
        table = None
        if view.table and (chart is not None or not _is_nothing(note) or not view.picture):
            try:
                headers, rows = view.table(source)
                table = ReportTable(headers, [list(row) for row in rows])
            except ValueError as error:
                note = note or str(error)
        if chart is not None or (table and table.rows) or (note and not _is_nothing(note)):
            yield DrawnView(view, chart, table if table and table.rows else None, note)


def _is_nothing(note: str) -> bool:
    """Whether a picture is left out because there is nothing to be seen."""
    return not note or "nothing to draw" in note or "does not know its cluster" in note
