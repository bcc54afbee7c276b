"""Pictures of what nodes cost: what each planner buys, and what overlays make of prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from .charts import BLUE, DISTINCT, GREY, MOST_BARS, Chart, data

if TYPE_CHECKING:
    from ..models.results.comparison import PurchaseComparisonDocument
    from ..models.results.overlay import OverlayDocument

_WIDTH, _STEP = 520, 34


def purchases_chart(document: PurchaseComparisonDocument) -> Chart:
    """The cost of each planner's nodes, a part for each pool and instance type, and the bound below all plans."""
    rows = [
        {
            "planner": one.planner,
            "nodes": f"{node.pool} {node.instance_type}".strip(),
            "price": node.price,
            "place": f"{node.zone} {node.capacity_type}".strip(),
            "pods": len(node.pods),
            "placed": f"{one.placed} of {document.asked}",
        }
        for one in document.planners
        for node in one.nodes
    ]
    if not rows:
        raise ValueError("there is nothing to draw: no planner buys a node")
    order = [one.planner for one in document.planners]
    bars = (
        alt.Chart(data(rows, "purchases"))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("planner:N", sort=order, title=None),
            x=alt.X("sum(price):Q", title="price of the nodes"),
            color=alt.Color(
                "nodes:N",
                scale=alt.Scale(range=list(DISTINCT)),
                legend=alt.Legend(title="pool and type", columns=1, symbolLimit=16),
            ),
            tooltip=[
                "planner:N",
                "nodes:N",
                alt.Tooltip("count():Q", title="nodes"),
                "sum(price):Q",
                "sum(pods):Q",
                "placed:N",
            ],
        )
    )
    bounds = [{"planner": one.planner, "bound": one.bound} for one in document.planners if one.bound is not None]
    ticks = (
        alt.Chart(data(bounds, "bounds"))
        .mark_tick(color="black", thickness=2, size=28)
        .encode(y=alt.Y("planner:N", sort=order, title=None), x="bound:Q", tooltip=["planner:N", "bound:Q"])
    )
    made: Chart = alt.layer(bars, ticks).properties(width=_WIDTH, height=alt.Step(_STEP))
    return made


def overlays_chart(document: OverlayDocument) -> Chart:
    """Offerings whose price an overlay set: the list price as a ring, the price that counts as a dot."""
    rows = [
        {
            "offering": f"{one.pool} · {one.type} · {made.zone} {made.capacity_type}",
            "what": what,
            "price": float(price),
            "overlay": made.overlay,
        }
        for one in document.types
        for made in one.offerings
        if made.overlay
        for what, price in (("list price", made.list_price), ("price", made.price))
    ]
    if not rows:
        raise ValueError("there is nothing to draw: no overlay sets a price")
    if len(rows) > 4 * MOST_BARS:
        raise ValueError("there is too much to draw: the table has all offerings")
    base = alt.Chart(data(rows, "overlays")).encode(
        y=alt.Y("offering:N", title=None),
        x=alt.X("price:Q", title="price of a node"),
        tooltip=["offering:N", "what:N", "price:Q", "overlay:N"],
    )
    lines = base.mark_line(color=GREY).encode(detail="offering:N")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=alt.Color(
            "what:N",
            scale=alt.Scale(domain=["list price", "price"], range=[GREY, BLUE]),
            legend=alt.Legend(title=None, orient="top"),
        ),
        shape=alt.Shape(
            "what:N", scale=alt.Scale(domain=["list price", "price"], range=["circle", "diamond"]), title=None
        ),
    )
    made: Chart = alt.layer(lines, points).properties(width=_WIDTH)
    return made
