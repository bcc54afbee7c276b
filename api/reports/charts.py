"""Charts of result documents, with one palette: what is found against what is possible, room, costs, times.

Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart. Series also differ by
dashes, shapes or letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import altair as alt

from ..models.results.common import StageAnswer, filter_words
from . import plan
from .provision import check_spans
from .tables import display_names, display_unit

if TYPE_CHECKING:
    from ..models.results.capacity import CapacityDocument
    from ..models.results.common import AllocationDocument
    from ..models.results.comparison import ComparisonDocument, PlanComparisonDocument, SweepDocument
    from ..models.results.explanation import ExplanationDocument
    from ..models.results.inventory import InventoryDocument
    from ..models.results.plan import PlanDocument, PlanStage, ShadowPrice, StageProgress
    from ..models.results.provision import ProvisionDocument

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.HConcatChart
Row: TypeAlias = dict[str, Any]
DISTINCT = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW = DISTINCT
GREY, OTHER = "#8c9196", "#4d4d4d"
# Half transparent, so that they can be seen on white and on black.
FREE, UNUSABLE, HOLE = "rgba(128,128,128,0.22)", "rgba(128,128,128,0.55)", "rgba(128,128,128,0.45)"
MARK, INK = "#D55E00", "#111111"
# With the widths of the fonts that draw SVG files, so that words in them have the room that was measured.
_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
_WIDTH, _BAR_STEP = 760, 30
# Charts of more bars than these cannot be read. Axes to so small numbers have whole ones only.
MOST_BARS, _FEW = 40, 12
_CHECK_STATES = {"Pending": SKY, "Ready": GREEN, "Retry": ORANGE, "Rejected": RED}


def styled(chart: Chart) -> Chart:
    """The chart with the looks that all have."""
    made: Chart = (
        chart.configure(font=_FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", labelLimit=300, gridOpacity=0.5)
        .configure_legend(labelFontSize=12, titleFontSize=12, symbolSize=140, symbolOpacity=1)
        .configure_header(labelFontSize=12, titleFontSize=12)
        .configure_title(fontSize=13, anchor="start", fontWeight="bold")
    )
    return made


def data(rows: Iterable[Row], name: str) -> alt.InlineData:
    """Rows as data of a chart. Frames of more than 5,000 rows would be refused."""
    return alt.InlineData(values=list(rows), name=name)


def progress_rows(progress: Sequence[StageProgress], objective: Sequence[PlanStage]) -> list[Row]:
    """Value and bound of each stage by time, the final ones last."""
    rows = [
        {"stage": one.stage, "seconds": round(one.seconds, 4), "what": what, "amount": amount}
        for one in progress
        for what, amount in (("value", one.value), ("bound", one.bound))
        if amount is not None
    ]
    last = max((row["seconds"] for row in rows), default=0.0)
    stages = {row["stage"] for row in rows}
    return rows + [
        {"stage": one.stage, "seconds": last, "what": what, "amount": amount}
        for one in objective
        if one.stage in stages
        for what, amount in (("value", one.value), ("bound", one.bound))
        if amount is not None
    ]


def progress_chart(progress: Sequence[StageProgress], objective: Sequence[PlanStage]) -> Chart:
    """Value against bound over time, a panel for each stage where one of them changed.

    Where nothing changed, or nothing was recorded, it shows how value and bound ended.
    """
    rows = progress_rows(progress, objective)
    changed = Counter(stage for stage, _, _ in {(row["stage"], row["what"], row["amount"]) for row in rows})
    stages = [one.stage for one in objective if changed[one.stage] > 2]
    if not stages:
        return stage_chart(objective)
    rows = [row for row in rows if row["stage"] in stages]
    base = alt.Chart(data(rows, "progress")).encode(
        x=alt.X("seconds:Q", title="seconds", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
        y=alt.Y("amount:Q", title=None, scale=alt.Scale(zero=False)),
        color=alt.Color(
            "what:N",
            scale=alt.Scale(domain=["value", "bound"], range=[BLUE, RED]),
            legend=alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=3, orient="top"),
        ),
        tooltip=[alt.Tooltip("stage:N"), alt.Tooltip("what:N"), alt.Tooltip("amount:Q"), alt.Tooltip("seconds:Q")],
    )
    dashes = alt.StrokeDash("what:N", scale=alt.Scale(domain=["value", "bound"], range=[[1, 0], [6, 4]]), title=None)
    lines = base.mark_line(interpolate="step-after", strokeWidth=2).encode(strokeDash=dashes)
    points = base.mark_point(filled=True, size=30)
    columns = min(2, len(stages))
    made: Chart = (
        alt.layer(lines, points)
        .properties(width=_WIDTH if columns == 1 else _WIDTH // 2 - 30, height=170)
        .facet(alt.Facet("stage:N", title=None, sort=stages), columns=columns)
        .resolve_scale(y="independent", x="shared")
    )
    return made


def stage_chart(objective: Iterable[Any]) -> Chart:
    """Value of each stage as a bar, and its bound as a tick, each stage relative to the larger of the two."""
    rows = []
    for one in objective:
        bound = one.value if one.bound is None else one.bound
        most = max(abs(one.value), abs(bound)) or 1
        state = "proven" if one.proven else "not proven"
        rows.append(
            {
                "stage": one.stage,
                "value": one.value,
                "bound": one.bound,
                "part": one.value / most,
                "limit": None if one.bound is None else bound / most,
                "state": state,
            }
        )
    if not rows:
        raise ValueError("there is nothing to draw: the answer has no stages")
    order = [row["stage"] for row in rows]
    base = alt.Chart(data(rows, "stages")).encode(
        y=alt.Y("stage:N", sort=order, title=None),
        tooltip=[alt.Tooltip(name) for name in ("stage:N", "value:Q", "bound:Q", "state:N")],
    )
    axis = alt.Axis(format="%", title="of the larger of value and bound")
    bars = base.mark_bar(color=BLUE, height=16).encode(x=alt.X("part:Q", axis=axis, scale=alt.Scale(domain=[0, 1])))
    ticks = base.mark_tick(color=RED, thickness=3, size=24).encode(x="limit:Q")
    texts = base.mark_text(align="left", dx=6).encode(x=alt.value(_WIDTH), text="value:Q")
    return alt.layer(bars, ticks, texts).properties(width=_WIDTH, height=alt.Step(_BAR_STEP))


def fragmentation_chart(curves: Mapping[str, Sequence[tuple[int, int, float, float]]]) -> Chart:
    """How much of the free devices the average unit of the queue cannot use, while units are placed.

    A curve has units placed, devices in use, the part of all devices that is free and of no use, and that of the free
    ones, both 0 to 1.
    """
    rows = [
        {"planner": label, "placed": placed, "used": used, "wasted": of_all, "ofFree": of_free}
        for label, points in curves.items()
        for placed, used, of_all, of_free in points
    ]
    labels = list(curves)
    base = alt.Chart(data(rows, "fragmentation")).encode(
        x=alt.X("placed:Q", title="units placed", axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y("wasted:Q", title="free and of no use, part of all devices", axis=alt.Axis(format="%")),
        color=alt.Color(
            "planner:N",
            scale=_series(labels),
            legend=alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=3, orient="right"),
        ),
        tooltip=[
            alt.Tooltip("planner:N"),
            alt.Tooltip("placed:Q", title="units placed"),
            alt.Tooltip("used:Q", title="devices in use"),
            alt.Tooltip("wasted:Q", format=".1%", title="of all devices"),
            alt.Tooltip("ofFree:Q", format=".1%", title="of free devices"),
        ],
    )
    dashes = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
    dash = alt.Scale(domain=labels, range=[dashes[number % 4] for number in range(len(labels))])
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=alt.StrokeDash("planner:N", scale=dash, title=None))
    return alt.layer(lines, base.mark_point(filled=True, size=30)).properties(width=_WIDTH - 60, height=280)


def _series(labels: Sequence[str]) -> alt.Scale:
    colours = [*DISTINCT[:6], GREY, OTHER]
    return alt.Scale(domain=list(labels), range=[colours[number % len(colours)] for number in range(len(labels))])


def capacity_chart(document: CapacityDocument) -> Chart:
    """How many more copies fit on each kind of node, with the bound and what first fit reaches."""
    kinds = [(display_names(kind.nodes), len(kind.nodes), kind.each, kind.reasons) for kind in document.nodes]
    kinds += [(f"{display_names(one.nodes)} together", len(one.nodes), one.together, ()) for one in document.sharing]
    rows = [
        {
            "nodes": f"{number} x {names}" if number > 1 else names,
            "fits": each.fits,
            "bound": each.bound,
            "firstFit": each.first_fit,
            "stops": "; ".join(dict.fromkeys(reason.message for reason in reasons)),
        }
        for names, number, each, reasons in kinds[:MOST_BARS]
        if not each.unbounded
    ]
    if not rows:
        raise ValueError("there is nothing to draw: any number of copies fits, or there are no nodes")
    return bars_with_ticks(
        rows,
        "nodes",
        {"fits": "more copies fit on each", "firstFit": "first fit reaches", "bound": "proven bound"},
        extra=[alt.Tooltip("stops:N", title="what stops the next")],
    )


def bars_with_ticks(rows: Sequence[Row], name: str, series: Mapping[str, str], extra: Sequence[Any] = ()) -> Chart:
    """Bars for the first series, ticks for the others, and the number behind each bar."""
    (bar, bar_title), *others = series.items()
    order = [row[name] for row in rows]
    base = alt.Chart(data(rows, "bars")).encode(
        y=alt.Y(f"{name}:N", sort=order, title=None),
        tooltip=[
            alt.Tooltip(f"{name}:N"),
            *(alt.Tooltip(f"{one}:Q", title=title) for one, title in series.items()),
            *extra,
        ],
    )
    domain, colours = [*series.values()], [BLUE, ORANGE, RED, GREEN]
    scale = alt.Scale(domain=domain, range=colours[: len(domain)])

    def colour(title: str) -> alt.Color:
        return alt.Color("series:N", scale=scale, legend=alt.Legend(title=None, orient="top", symbolType="square"))

    most = max((row[one] or 0 for row in rows for one in series), default=0)
    axis = alt.Axis(values=list(range(int(most) + 1)), format="d") if most <= _FEW else alt.Axis()

    layers = [
        base.transform_calculate(series=f"'{bar_title}'")
        .mark_bar(height=16)
        .encode(x=alt.X(f"{bar}:Q", title=None, axis=axis), color=colour(bar_title))
    ]
    layers += [
        base.transform_calculate(series=f"'{title}'")
        .mark_tick(thickness=3, size=24 - 6 * number)
        .encode(x=f"{one}:Q", color=colour(title))
        for number, (one, title) in enumerate(others)
    ]
    layers.append(base.mark_text(align="left", dx=7, fontSize=11).encode(x=f"{bar}:Q", text=f"{bar}:Q"))
    return alt.layer(*layers).properties(width=_WIDTH - 120, height=alt.Step(_BAR_STEP))


def explanation_chart(document: ExplanationDocument) -> Chart:
    """What becomes of the devices of a node as a request sees them, for each unit that cannot be allocated."""
    rows = [
        {
            "request": f"{display_unit(unit.pod, unit.claims)}: {one.request}, "
            f"{display_names(found.names, found.nodes)}",
            "state": state,
            "devices": number,
            "needed": one.needed,
        }
        for unit in document.units
        for found in unit.failures
        for one in found.requests
        for state, number in (
            ("free", one.free),
            *((filter_words(fallen.filter), fallen.devices) for fallen in one.fallen),
            ("other devices", one.devices - one.matching),
        )
        if number
    ]
    if not rows:
        raise ValueError("there is nothing to draw: nothing is refused")
    return _stacked(rows, "request", "state", "devices", first={"free": GREEN, "other devices": FREE}, needed=True)


def _stacked(
    rows: Sequence[Row], name: str, part: str, amount: str, first: Mapping[str, str], needed: bool = False
) -> Chart:
    names = list(dict.fromkeys(row[name] for row in rows))[:MOST_BARS]
    shown = [row for row in rows if row[name] in names]
    parts = list(dict.fromkeys(row[part] for row in shown))
    spare = iter([colour for colour in (*DISTINCT, GREY, OTHER) if colour not in first.values()] * len(parts))
    scale = alt.Scale(domain=parts, range=[first.get(one) or next(spare) for one in parts])
    base = alt.Chart(data(shown, "stacks")).encode(y=alt.Y(f"{name}:N", sort=names, title=None))
    bars = base.mark_bar(height=18).encode(
        x=alt.X(f"sum({amount}):Q", title=amount, axis=alt.Axis(tickMinStep=1)),
        color=alt.Color(
            f"{part}:N", scale=scale, title=None, legend=alt.Legend(orient="top", columns=4, labelLimit=260)
        ),
        order=alt.Order("place:Q"),
        tooltip=[alt.Tooltip(f"{one}:N") for one in shown[0]],
    )
    layers = [bars.transform_calculate(place=f"indexof({parts!r}, datum.{part})")]
    if needed:
        layers.append(base.mark_tick(color=RED, thickness=3, size=26).encode(x="max(needed):Q"))
    return alt.layer(*layers).properties(width=_WIDTH - 180, height=alt.Step(_BAR_STEP))


def class_chart(document: InventoryDocument) -> Chart:
    """The devices of each class by state."""
    states = {
        "in_use": "in use",
        "tainted": "tainted",
        "blocked": "blocked",
        "unavailable": "unavailable",
        "unknown": "unknown",
        "free": "free",
    }
    classes = [(one.name, one.devices) for one in document.classes]
    if document.unclassified.total:
        classes.append(("(no class)", document.unclassified))
    rows = [
        {"class": name, "state": words, "devices": getattr(counts, field)}
        for name, counts in classes
        for field, words in states.items()
        if getattr(counts, field)
    ]
    if not rows:
        raise ValueError("there is nothing to draw: no class matches a device")
    colours = {
        "in use": BLUE,
        "tainted": ORANGE,
        "blocked": PURPLE,
        "unavailable": OTHER,
        "unknown": GREY,
        "free": FREE,
    }
    return _stacked(rows, "class", "state", "devices", first=colours)


def cost_chart(document: PlanDocument) -> Chart:
    """What the nodes to be bought cost, by template."""
    rows = [
        {"template": one.template, "cost": one.cost, "count": one.count, "price": one.price} for one in document.bought
    ]
    if not rows:
        raise ValueError("there is nothing to draw: the plan buys nothing")
    base = alt.Chart(data(rows, "costs")).encode(
        y=alt.Y("template:N", sort=[str(row["template"]) for row in rows], title=None),
        x=alt.X("cost:Q", title="cost"),
        tooltip=[alt.Tooltip(name) for name in ("template:N", "count:Q", "price:Q", "cost:Q")],
    )
    texts = base.transform_calculate(words="datum.count + ' x ' + datum.price + ' = ' + datum.cost")
    text = texts.mark_text(align="left", dx=6).encode(text="words:N")
    return alt.layer(base.mark_bar(color=BLUE, height=18), text).properties(
        width=_WIDTH - 150, height=alt.Step(_BAR_STEP)
    )


def price_chart(prices: Sequence[ShadowPrice]) -> Chart:
    """What one more unit adds to the cost, and what one more node of a limited template takes from it."""
    rows = [
        {
            "more": plan.display_one_more(one),
            "change": one.change,
            "what": "costs more" if one.change > 0 else "costs less",
        }
        for one in prices
        if one.stage == "cost"
    ][:MOST_BARS]
    if not rows:
        raise ValueError("there is nothing to draw: no linear program says what one more would cost")
    base = alt.Chart(data(rows, "prices")).encode(
        y=alt.Y("more:N", sort=[str(row["more"]) for row in rows], title=None),
        tooltip=[alt.Tooltip("more:N", title="one more"), alt.Tooltip("change:Q", title="changes the cost by")],
    )
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=["costs more", "costs less"], range=[RED, BLUE]),
        legend=alt.Legend(title=None, orient="top", symbolType="square"),
    )
    bars = base.mark_bar(height=18).encode(x=alt.X("change:Q", title="change of the cost"), color=colour)
    up = base.transform_filter("datum.change > 0").mark_text(align="left", dx=6)
    # To the left of a bar stands its name.
    down = base.transform_filter("datum.change <= 0").mark_text(align="left", dx=6)
    number = alt.Text("change:Q", format="+.4~g")
    texts = [up.encode(x="change:Q", text=number), down.encode(x=alt.datum(0), text=number)]
    return alt.layer(bars, *texts).properties(width=_WIDTH - 200, height=alt.Step(_BAR_STEP))


def timeline_chart(document: ProvisionDocument) -> Chart:
    """How long each check of a workload was in each state: a Gantt chart."""
    rows = list(check_spans(document))
    names = list(dict.fromkeys(str(row["name"]) for row in rows))
    if not rows:
        raise ValueError("there is nothing to draw: no time passes")
    if len(names) > MOST_BARS:
        raise ValueError("there is too much to draw: the table has the timeline of all workloads")
    shown = [state for state in _CHECK_STATES if any(row["state"] == state for row in rows)]
    scale = alt.Scale(domain=shown, range=[_CHECK_STATES[state] for state in shown])
    fields = ("name:N", "state:N", "attempt:Q", "start:Q", "end:Q", "message:N")
    bars = alt.Chart(data(rows, "timeline")).mark_bar(height=18)
    made = bars.encode(
        y=alt.Y("name:N", sort=names, title=None),
        x=alt.X("start:Q", title="seconds"),
        x2="end:Q",
        color=alt.Color("state:N", scale=scale, title="check"),
        tooltip=[alt.Tooltip(name) for name in fields],
    )
    drawn: Chart = made.properties(width=_WIDTH - 250, height=alt.Step(_BAR_STEP))
    return drawn


def planners_chart(document: PlanComparisonDocument) -> Chart:
    """How many units each planner places, in each order of the queue; with quota of Kueue, how many workloads."""
    known = [(one.label, one.quota) for one in document.planners if one.quota is not None]
    if known:
        counts = [
            {"planner": label, "placed": own.placed, "admitted": own.admitted, "asked": own.workloads}
            for label, own in known
        ]
        titles = {"placed": "workloads placed", "admitted": "workloads with quota", "asked": "workloads that wait"}
        return bars_with_ticks(counts, "planner", titles)
    rows = [
        {"planner": one.label, "admitted": one.admitted, "used": one.used, "asked": document.asked}
        for one in document.planners
    ]
    series = {"admitted": "units placed", "asked": "units asked for"}
    return bars_with_ticks(rows, "planner", series, extra=[alt.Tooltip("used:Q", title="devices in use")])


def engines_chart(document: ComparisonDocument, seconds: Mapping[str, float]) -> Chart:
    """How many units each engine allocates."""
    rows = [
        {
            "engine": one.engine,
            "admitted": one.admitted,
            "asked": document.asked,
            "steps": one.steps,
            "seconds": seconds.get(one.engine),
        }
        for one in document.engines
    ]
    extra = [alt.Tooltip("steps:Q"), alt.Tooltip("seconds:Q", format=".3f")]
    return bars_with_ticks(rows, "engine", {"admitted": "units allocated", "asked": "units asked for"}, extra)


def sweep_chart(document: SweepDocument) -> Chart:
    """The time of each engine against the size of the question."""
    rows = [
        {"size": point.size, "engine": one.engine, "seconds": one.seconds, "steps": one.steps, "outcome": one.outcome}
        for point in document.points
        for one in point.engines
    ]
    if not rows:
        raise ValueError("there is nothing to draw: no engine answered")
    names = list(dict.fromkeys(str(row["engine"]) for row in rows))
    base = alt.Chart(data(rows, "times")).encode(
        x=alt.X("size:Q", title=document.sweep),
        y=alt.Y("seconds:Q", title="seconds", scale=alt.Scale(type="log")),
        color=alt.Color("engine:N", scale=_series(names), title=None),
        tooltip=[alt.Tooltip(f"{name}:N") for name in rows[0]],
    )
    shape = alt.Shape("engine:N", scale=alt.Scale(domain=names), title=None)
    lines = alt.layer(base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=60).encode(shape=shape))
    return lines.properties(width=_WIDTH - 100, height=300)


def unit_chart(document: AllocationDocument) -> Chart:
    """The stages of all units together."""
    stages: dict[str, list[Any]] = {}
    for unit in document.units:
        for one in unit.objective:
            stages.setdefault(one.stage, []).append(one)
    sums = [
        StageAnswer(
            stage=name,
            value=sum(one.value for one in found),
            bound=sum(one.bound for one in found),
            proven=all(one.proven for one in found),
        )
        for name, found in stages.items()
    ]
    return stage_chart(sums)
