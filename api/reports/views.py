"""The views of a report: for each kind of result document a list of them, in the order of the page.

A view is an entry of the table ``VIEWS``: a title, what it shows in a sentence, and functions from the result to a
picture or to a table. What a result has nothing for is left out of its page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from . import capacity, comparison, inventory, plan, provision, quota, study
from .plots import PlotSource, draw
from .report_tables import (
    ReportTable,
    changes,
    claims_of_inventory,
    compared_units,
    comparison_rows,
    devices_of_requests,
    explained,
    minimal_sets,
    missing_units,
    node_changes,
    owner_rows,
    places,
    planner_rows,
    price_rows,
    room_rows,
    soft_entries,
    sources,
    stage_rows,
    stages_of_units,
    table_of,
    unplaced_units,
)

Row: TypeAlias = Sequence[object]


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


_CELL_COLUMNS = {name: name for name in ("node", "device", "state", "owner", "claim", "request", "note", "attributes")}


def mosaic_view(about: str, dataset: str = "cells") -> ReportView:
    """Nodes and devices."""
    return ReportView("mosaic", "Nodes and devices", about, "mosaic", dataset=dataset, columns=_CELL_COLUMNS)


TOPOLOGY = ReportView(
    "topology",
    "Topologies",
    "Devices in their places. The frame marks the largest free shape, after what was chosen is taken.",
    "topology",
    places,
)
SOURCES = ReportView(
    "sources", "Where it stands", "The file and the document of each object that asks for devices.", table=sources
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
_MINIMAL_SETS = ReportView(
    "reasons",
    "Why not",
    "Reasons that are impossible together, and, where they are minimal, possible without any one of them.",
    table=explained(minimal_sets, "unit", "set and nodes", "reason", "state"),
)
_CHANGES = ReportView(
    "changes",
    "What would help",
    "The cheapest changes. Each was made, allocated and verified.",
    table=explained(changes, "unit", "cost", "change", "node"),
)
VIEWS: Mapping[str, Sequence[ReportView]] = {
    "AllocationDocument": (
        _MOSAIC,
        ReportView(
            "missing",
            "Not allocated",
            "Units that got nothing, with the reasons for each kind of node.",
            table=table_of(("unit", "outcome", "nodes", "reason", "devices", "proof"), missing_units),
        ),
        _MINIMAL_SETS,
        _CHANGES,
        ReportView(
            "bound",
            "Objective",
            "The stages of all units: bars are values, red ticks are bounds that nothing can beat.",
            "bound",
            table_of(("unit", "stage", "value", "bound", "state"), stages_of_units),
        ),
        ReportView(
            "soft",
            "Wishes",
            "Soft entries: which are kept, and what the others cost.",
            table=table_of(("claim", "entry", "kind", "weight", "state", "cost"), soft_entries),
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
            table=table_of(plan.HEADERS, owner_rows),
        ),
        ReportView(
            "before-and-after",
            "Before and after",
            "Nodes that steps change: devices in use before and after, the pods that leave, and the units that arrive.",
            table=node_changes,
        ),
        ReportView(
            "steps",
            "Steps",
            "An order in which the plan can be carried out. After each step all that runs has room and devices.",
            table=table_of(plan.STEP_HEADERS, plan.step_rows),
        ),
        ReportView(
            "missing",
            "Not placed",
            "Units without a node, by reason.",
            table=table_of(("units", "kind", "reason", "which"), unplaced_units),
        ),
        replace(
            _MINIMAL_SETS,
            about="The first unit of the most frequent sorts, each alone beside the plan: reasons that are impossible "
            "together, and, where they are minimal, possible without any one of them.",
        ),
        _CHANGES,
        ReportView(
            "room",
            "How many more fit",
            "Units of each class that still go on a node beside the plan, and what stops the next.",
            table=room_rows,
        ),
        ReportView(
            "cost",
            "Cost",
            "The nodes to be bought, by offering or template.",
            "cost",
            lambda source: ReportTable(*plan.bought_table(source.document)),  # type: ignore[arg-type]
        ),
        ReportView(
            "prices",
            "What one more costs",
            "Shadow prices: what one more unit to be placed, one more node of a template that is at its limit, or one "
            "more unit of budget would change. They are rates, as if a part of a node could be bought.",
            "prices",
            price_rows,
        ),
        ReportView(
            "bound",
            "Value and bound",
            "How good the plan became, against what no plan exceeds. A plan whose value meets its bound is the best.",
            "bound",
            stage_rows,
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
        ReportView("engines", "Engines", "Units that each engine allocates.", "planners", comparison_rows),
        mosaic_view(
            "The first two engines side by side. Framed devices have another owner on the other side.",
            dataset="side0_cells",
        ),
        ReportView(
            "units",
            "Units",
            "What each engine gives each unit, those with different answers first.",
            table=table_of(comparison.COMPARISON_UNIT_HEADERS, compared_units),
        ),
        SOURCES,
    ),
    "PlanComparisonDocument": (
        ReportView("planners", "Planners", "Units that each planner places.", "planners", planner_rows),
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
    "QueueCapacityDocument": (
        ReportView(
            "capacity",
            "How many more fit",
            "Bars are copies that Kueue admits and that find nodes. Ticks are what fits by quota or placement alone.",
            "capacity",
            table_of(capacity.QUEUE_HEADERS, capacity.queue_rows),
        ),
        ReportView(
            "pods",
            "Room for pods",
            "Pods of each pod set that fit on each node of a kind, with the flavors that they may have.",
            table=table_of(capacity.POD_HEADERS, capacity.pod_rows),
        ),
        mosaic_view("What is held before any copy is placed. One cell is a device."),
        SOURCES,
    ),
    "ExplanationDocument": (
        replace(_MINIMAL_SETS, table=table_of(("unit", "set and nodes", "reason", "state"), minimal_sets)),
        replace(_CHANGES, table=table_of(("unit", "cost", "change", "node"), changes)),
        ReportView(
            "devices",
            "Devices as requests see them",
            "The devices of a node by what is in their way. Red ticks are the devices that the request needs.",
            "devices",
            table_of(("unit", "nodes", "request", "needs", "match", "free", "in the way"), devices_of_requests),
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
            "claims", "Claims", "Claims with the devices that they hold, the orphaned first.", table=claims_of_inventory
        ),
        TOPOLOGY,
        SOURCES,
    ),
    "TopologyDocument": (TOPOLOGY,),
    "StudyDocument": (
        ReportView(
            "curves",
            "Curves",
            "The mean of a figure against a setting, in a band from the least to the most of all other settings.",
            "curves",
        ),
        ReportView("heatmap", "Two settings", "The mean of a figure by two settings.", "heatmap"),
        ReportView(
            "frontier", "Frontier", "Two figures of each variant. No variant beats those on the line.", "frontier"
        ),
        ReportView("variants", "Variants", "Settings and figures of each variant.", table=study.report_table),
    ),
    "ProvisionDocument": (
        ReportView(
            "requests",
            "Requests",
            "The ProvisioningRequests at the end, with their pod sets.",
            table=table_of(provision.REQUEST_HEADERS, provision.request_rows),
        ),
        ReportView(
            "answers",
            "Answers",
            "What requests got, at what time, which nodes were bought, and why others failed.",
            table=table_of(provision.ANSWER_HEADERS, provision.answer_rows),
        ),
        ReportView(
            "workloads",
            "Workloads",
            "The checks of each workload at the end.",
            table=table_of(provision.WORKLOAD_HEADERS, provision.workload_rows),
        ),
        ReportView(
            "checks", "Checks over time", "How long the check of each workload was in each state.", picture="timeline"
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
            "What each queue and cohort has, uses, borrows and can still get. A bar is a flavor of a queue.",
            "quota",
            table_of(quota.QUOTA_HEADERS, quota.quota_rows),
        ),
        ReportView(
            "flows",
            "From queues to nodes",
            "Pods of workloads with quota, by queue, flavor and node.",
            "flows",
            table_of(quota.FLOW_HEADERS, quota.flows),
        ),
        ReportView(
            "stranded",
            "Admitted, cannot be placed",
            "Workloads that hold quota and find no nodes or devices.",
            table=table_of(quota.STRANDED_HEADERS, quota.stranded_rows),
        ),
        ReportView(
            "limits",
            "What limits",
            "The least changes of quota that admit workloads. Each was judged by Kueue's cycles.",
            table=table_of(quota.LIMIT_HEADERS, quota.limit_rows),
        ),
        ReportView(
            "prices",
            "What more quota admits",
            "Workloads that one step more of an amount admits, and those that lose their quota by it.",
            table=table_of(quota.PRICE_HEADERS, quota.price_rows),
        ),
        ReportView(
            "joint",
            "What more quota admits to a joint plan",
            "Workloads that one step more of an amount admits if admission and placement are decided at once.",
            table=table_of(quota.JOINT_HEADERS, quota.joint_rows),
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
