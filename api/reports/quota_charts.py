"""Pictures of quota: what each queue uses, borrows and has room for, and which pods go over flavors to nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import altair as alt

from ..models.kubernetes.quantity import NANO, Quantity
from .charts import BLUE, DISTINCT, FREE, GREY, MOST_BARS, ORANGE, Chart, Row, bars_with_ticks, data
from .quota import NOWHERE, flows

if TYPE_CHECKING:
    from ..models.results.capacity import QueueCapacityDocument
    from ..models.results.quota import QuotaDocument

Flow: TypeAlias = tuple[str, str, str]
_PARTS = {"own quota": BLUE, "borrowed": ORANGE, "unused": FREE}
_WIDTH, _HEIGHT, _BAR_STEP = 560, 380, 22
_MOST_QUEUES, _MOST_FLAVORS, _MOST_NODES = 7, 10, 14
# Of the picture's width: a block. Of its height: the gaps of a column together. Points of the edge of a ribbon.
_BLOCK, _GAPS, _STEPS = 0.02, 0.12, 24


def quota_rows_of_chart(document: QuotaDocument) -> list[Row]:
    """The parts of each bar, of amounts that a queue or cohort has or uses."""
    rows = []
    for one in document.quota:
        nominal, used, borrowed = (_number(text) for text in (one.nominal, one.used, one.borrowed))
        if one.cohort or not (nominal or used):
            continue
        parts = {"own quota": used - borrowed, "borrowed": borrowed, "unused": max(0.0, nominal - used)}
        place = {"queue": one.node, "flavor": one.flavor, "resource": one.resource, "nominal": nominal}
        rows += [
            {**place, "name": f"{one.node} · {one.flavor}", "part": part, "amount": amount, "order": order}
            for order, (part, amount) in enumerate(parts.items())
            if amount
        ]
    return rows


def _number(text: str) -> float:
    return Quantity.parse(text).nano / NANO


def quota_chart(document: QuotaDocument) -> Chart:
    """What queues use of their own quota, what they borrow, and what is unused: a panel for each resource."""
    rows = quota_rows_of_chart(document)
    if not rows:
        raise ValueError("there is nothing to draw: no queue has quota")
    names: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        names[row["resource"]].add(row["name"])
    if sum(map(len, names.values())) > 2 * MOST_BARS:
        raise ValueError("there is too much to draw: the table has the quota of all queues")
    panels = [_quota_panel(name, [row for row in rows if row["resource"] == name]) for name in names]
    made: Chart = alt.vconcat(*panels).resolve_scale(x="independent", y="independent", color="shared")
    return made


def _quota_panel(resource: str, rows: Sequence[Row]) -> Chart:
    base = alt.Chart(data(rows, f"quota of {resource}")).encode(
        y=alt.Y("name:N", title=None, sort=list(dict.fromkeys(row["name"] for row in rows)))
    )
    bars = base.mark_bar(height=14).encode(
        x=alt.X("amount:Q", title=None, stack="zero", axis=alt.Axis(format="~s")),
        color=alt.Color(
            "part:N",
            scale=alt.Scale(domain=list(_PARTS), range=list(_PARTS.values())),
            legend=alt.Legend(title=None, orient="top"),
        ),
        order=alt.Order("order:Q"),
        tooltip=[alt.Tooltip(name) for name in ("queue:N", "flavor:N", "part:N", "amount:Q", "nominal:Q")],
    )
    ticks = base.mark_tick(color=GREY, thickness=2, height=18).encode(x=alt.X("nominal:Q"))
    made: Chart = alt.layer(bars, ticks).properties(
        width=_WIDTH, height=alt.Step(_BAR_STEP), title=f"{resource} (the tick is the nominal quota)"
    )
    return made


def flow_chart(document: QuotaDocument) -> Chart:
    """A Sankey diagram of the pods that have quota: from their queue over their flavor to their node."""
    found = Counter[Flow]()
    for queue, flavor, node, pods in flows(document):
        found[queue, flavor, node] += pods
    if not found:
        raise ValueError("there is nothing to draw: no pods with quota were planned")
    for column, most, rest in ((0, _MOST_QUEUES, "queues"), (1, _MOST_FLAVORS, "flavors"), (2, _MOST_NODES, "nodes")):
        found = _merged(found, column, most, rest)
    queues = _names(found, 0)
    colours = dict(zip(queues, [*DISTINCT[: len(queues)], *[GREY] * len(queues)], strict=False))
    blocks, slots = _layout(found)
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    y = alt.Y("top:Q", axis=None, scale=alt.Scale(domain=[1, 0], nice=False))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    ribbons = (
        alt.Chart(data(_ribbons(found, slots), "ribbons"))
        .mark_area(opacity=0.45, line=False)
        .encode(
            x=x,
            y=y,
            y2="bottom:Q",
            detail="ribbon:N",
            color=alt.Color("queue:N", scale=scale, legend=None),
            tooltip=[alt.Tooltip(name) for name in ("queue:N", "flavor:N", "node:N", "pods:Q")],
        )
    )
    base = alt.Chart(data(blocks, "blocks"))
    bars = base.mark_rect(color=GREY).encode(x=x, x2="end:Q", y=y, y2="bottom:Q", tooltip=["name:N", "pods:Q"])
    left = base.transform_filter("datum.column === 0").mark_text(align="right", dx=-5, fontSize=11, color=GREY)
    right = base.transform_filter("datum.column !== 0").mark_text(align="left", dx=5, fontSize=11, color=GREY)
    texts = [
        words.encode(x=alt.X(edge, type="quantitative"), y=alt.Y("middle:Q"), text="label:N")
        for words, edge in ((left, "x"), (right, "end"))
    ]
    made: Chart = alt.layer(ribbons, bars, *texts).properties(
        width=_WIDTH, height=_HEIGHT, title="pods by queue, flavor and node", padding={"left": 110, "right": 190}
    )
    return made


def queue_capacity_chart(document: QueueCapacityDocument) -> Chart:
    """How many more copies of each workload fit in its LocalQueue, with ticks for quota and placement alone."""
    rows = [
        {
            "queue": f"{one.namespace}/{one.local_queue} · {one.workload}",
            "both": one.both.fits,
            "quota": one.quota.fits,
            "placement": one.placement.fits,
            "limit": one.limited_by,
        }
        for one in document.queues[:MOST_BARS]
        if not one.both.unbounded
    ]
    if not rows:
        raise ValueError("there is nothing to draw: any number of copies fits, or there are no workloads")
    series = {"both": "more copies fit", "quota": "by quota", "placement": "by placement"}
    return bars_with_ticks(rows, "queue", series, extra=[alt.Tooltip("limit:N", title="limited by")])


def _names(found: Mapping[Flow, int], column: int) -> list[str]:
    """The names of a column, by its size."""
    sizes: Counter[str] = Counter()
    for flow, pods in found.items():
        sizes[flow[column]] += pods
    return [name for name, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]


def _merged(found: Mapping[Flow, int], column: int, most: int, rest: str) -> Counter[Flow]:
    """The flows with all but the largest of a column as one; what cannot be placed stays."""
    names = _names(found, column)
    kept = set(names if len(names) <= most else names[: most - 1])
    other = f"{len(names) - len(kept)} other {rest}"
    merged: Counter[Flow] = Counter()
    for flow, pods in found.items():
        changed = list(flow)
        if flow[column] not in kept and flow[column] != NOWHERE:
            changed[column] = other
        merged[changed[0], changed[1], changed[2]] += pods
    return merged


_Slots: TypeAlias = "list[dict[Flow, tuple[float, float]]]"


def _layout(found: Mapping[Flow, int]) -> tuple[list[Row], _Slots]:
    """The blocks of each column, and the part of a block that each flow has, from top to bottom."""
    total, blocks, slots = sum(found.values()), list[Row](), list[dict[Flow, tuple[float, float]]]()
    orders: Sequence[Callable[[Flow], object]] = (
        lambda flow: (flow[1], flow[2]),
        lambda flow: (flow[0], flow[2]),
        lambda flow: (flow[1], flow[0]),
    )
    for column, order in enumerate(orders):
        names = _names(found, column)
        names.sort(key=lambda name: name == NOWHERE)
        gap = _GAPS / max(1, len(names) - 1)
        scale = (1 - (_GAPS if len(names) > 1 else 0)) / total
        at, own = 0.0, dict[Flow, tuple[float, float]]()
        left = (1 - _BLOCK) * column / 2
        for name in names:
            top, pods = at, 0
            for flow in sorted((flow for flow in found if flow[column] == name), key=order):  # type: ignore[arg-type]
                own[flow] = at, at + found[flow] * scale
                at, pods = own[flow][1], pods + found[flow]
            place = {"x": left, "end": left + _BLOCK, "top": top, "bottom": at, "middle": (top + at) / 2}
            blocks.append({**place, "column": column, "name": name, "pods": pods, "label": f"{name} ({pods})"})
            at += gap
        slots.append(own)
    return blocks, slots


def _ribbons(found: Mapping[Flow, int], slots: _Slots) -> Iterator[Row]:
    """Points along the upper and lower edge of each ribbon."""
    for number, (flow, pods) in enumerate(found.items()):
        for column in (0, 1):
            start = (1 - _BLOCK) * column / 2 + _BLOCK
            end = (1 - _BLOCK) * (column + 1) / 2
            before, after = slots[column][flow], slots[column + 1][flow]
            for step in range(_STEPS + 1):
                part = step / _STEPS
                bent = part * part * (3 - 2 * part)
                top, bottom = (round(one + (other - one) * bent, 5) for one, other in zip(before, after, strict=True))
                point = {"x": round(start + (end - start) * part, 5), "top": top, "bottom": bottom}
                words = {"queue": flow[0], "flavor": flow[1], "node": flow[2], "pods": pods}
                yield {**point, **words, "ribbon": f"{number}-{column}"}
