"""A report: one HTML file that needs nothing else, with the verdict, the views, and the data.

The verdict says what came out in one sentence, with the facts by which it can be trusted and found again.

Nothing of the input is ever markup: the template escapes all text, and data is JSON without angle brackets. The page
may not load anything, which its own policy says to the browser. Large data is packed.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from ..models.formats.errors import one_line, plural
from ..models.manifests.writer import check_output_file, write_whole
from . import capacity, comparison, inventory, plan, provision, quota, study
from .plots import PlotSource, check_altair
from .views import DrawnView, drawn_views

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster


# Rows of a table that are in the page from the start; the button under it brings the others.
_FIRST_ROWS = 50
# Longer JSON is packed.
_PLAIN = 400_000
_SUFFIXES = (".html", ".htm")
_TITLES = {
    "AllocationResult": "Allocation",
    "PlanResult": "Plan",
    "ComparisonResult": "Comparison of engines",
    "PlanComparison": "Comparison of planners",
    "CapacityResult": "Capacity",
    "QueueCapacityResult": "Capacity of queues",
    "ExplanationResult": "Explanation",
    "InventoryResult": "Inventory",
    "TopologyResult": "Topologies",
    "SweepResult": "Sweep",
    "ProvisionResult": "Provisioning",
    "QuotaResult": "Quota",
}


def check_report_path(path: Path) -> None:
    """Refuse what is no HTML file or cannot be written, and a missing extra. Raises ``ValueError``, one line."""
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"a report is a {_SUFFIXES[0]} file, not {str(path)!r}")
    check_output_file(path)
    check_altair()


def write_report(source: PlotSource, path: Path) -> None:
    """Write the report of a result; the file appears when it is complete. Raises ``ValueError`` and ``OSError``."""
    check_report_path(path)
    page = render_report(source).encode("utf-8", "backslashreplace")
    write_whole(path, lambda part: part.write(page), shared=True)


def render_report(source: PlotSource) -> str:
    """The page; equal for equal results."""
    from .charts import styled

    document: Any = source.document
    verdict = verdict_of(document, source.cluster)
    datasets: dict[str, Any] = {}
    charts: dict[str, Any] = {}
    sections = []
    for drawn in drawn_views(source):
        name = drawn.view.name
        if drawn.chart is not None:
            charts[name] = {"spec": _specification(styled(drawn.chart), name, datasets)}
            charts[name]["datasets"] = sorted(one for one in datasets if one.startswith(f"{name}."))
        sections.append(_section(drawn, datasets))
    title = _TITLES.get(document.kind, document.kind)
    packed = {name: _columns(rows) for name, rows in datasets.items()}
    page: str = _template().render(
        title=title,
        verdict=verdict,
        sections=sections,
        notices=getattr(document, "notices", ()),
        file_name=f"drasat-{title.lower().replace(' ', '-')}.json",
        document=_inlined(msgspec.json.format(msgspec.json.encode(document), indent=1)),
        views=_inlined(msgspec.json.encode({"charts": charts, "datasets": packed})),
        bundle=_bundle() if charts else "",
        style=_own_file("report.css"),
        script=_own_file("report.js"),
        version=_version(),
    )
    return page


def _section(drawn: DrawnView, datasets: dict[str, Any]) -> dict[str, Any]:
    """What the template needs of a view. Rows beyond the first go to the data."""
    view, table = drawn.view, drawn.table
    made: dict[str, Any] = {
        "name": view.name,
        "title": view.title,
        "about": view.about,
        "chart": drawn.chart is not None,
        "note": drawn.note if drawn.chart is None else "",
        "headers": [],
    }
    if drawn.chart is not None and view.dataset and view.columns:
        # Where only one answer is to be shown, there are no sides.
        sided = f"{view.name}.{view.dataset}"
        dataset = sided if sided in datasets else f"{view.name}.cells"
        rows, fields = datasets[dataset], list(view.columns.values())
        made |= {"headers": list(view.columns), "fields": fields, "dataset": dataset}
        made |= {"rows": [[row[field] for field in fields] for row in rows[:_FIRST_ROWS]], "total": len(rows)}
    elif table is not None:
        rows = [[_cell(cell) for cell in row] for row in table.rows]
        kept = [number for number in range(len(table.headers)) if any(row[number] != "" for row in rows)]
        cells = [[row[number] for number in kept] for row in rows]
        fields = [str(number) for number in kept]
        made |= {
            "headers": [table.headers[number] for number in kept],
            "rows": cells[:_FIRST_ROWS],
            "total": len(cells),
            "fields": fields,
        }
        if len(cells) > _FIRST_ROWS:
            made["dataset"] = f"table.{view.name}"
            datasets[made["dataset"]] = [dict(zip(fields, row, strict=True)) for row in cells]
    return made


def _cell(value: object) -> str | int | float:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return value if isinstance(value, int | float) else one_line(str(value))


def _specification(chart: Any, view: str, datasets: dict[str, Any]) -> Any:
    """The specification of a chart, whose data goes to the datasets; long data is not copied."""
    import altair

    own = chart.datasets if chart.datasets is not altair.Undefined else {}
    datasets.update({f"{view}.{name}": rows for name, rows in own.items()})
    chart.datasets = altair.Undefined
    return _without_data(chart.to_dict(validate=False), view, datasets)


def _without_data(part: Any, view: str, datasets: dict[str, Any]) -> Any:
    """The specification with its data taken out and named after the view, so that the page holds each of them once."""
    if isinstance(part, list):
        return [_without_data(one, view, datasets) for one in part]
    if not isinstance(part, dict):
        return part
    found = part.get("data")
    if isinstance(found, dict) and "name" in found:
        name = f"{view}.{found['name']}"
        if "values" in found:
            datasets[name] = found["values"]
        part = {**part, "data": {"name": name}}
    return {key: one if key == "data" else _without_data(one, view, datasets) for key, one in part.items()}


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows by column: one value for all, different ones with their numbers, or all values."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {"rows": len(rows), "columns": {name: _column([row.get(name) for row in rows]) for name in names}}


def _column(values: list[Any]) -> dict[str, Any]:
    try:
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    except TypeError:
        return {"all": values}
    if len(numbers) == 1:
        return {"one": values[0]}
    if len(numbers) * 2 < len(values) and any(isinstance(value, str) for value in numbers):
        return {"of": list(numbers), "at": [numbers[value] for value in values]}
    return {"all": values}


def _inlined(content: bytes) -> dict[str, Any]:
    """Data for a script element: JSON in which nothing can end the element, or packed if it is long."""
    if len(content) > _PLAIN:
        # Neither the time nor a name may be in it, so that equal data is equal.
        return {"packed": True, "text": b64encode(gzip.compress(content, 6, mtime=0)).decode()}
    text = content.decode("utf-8", "backslashreplace")
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return {"packed": False, "text": text}


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and their embedding, which vl-convert has with it."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
    # No end of a script element may stand in a script, not even in a string.
    return re.sub(r"</(?=script)", r"<\\/", bundle, flags=re.IGNORECASE)


@cache
def _template() -> Any:
    import jinja2

    made = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    made.filters["one_line"] = one_line
    return made.from_string(_own_file("report.html.j2"))


def _own_file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _version() -> str:
    try:
        return version("drasat")
    except PackageNotFoundError:
        return ""


GOOD, OPEN, BAD = "good", "open", "bad"


class ReportVerdict(NamedTuple):
    """A sentence, how good the news is, and facts with their names."""

    sentence: str
    tone: str
    facts: list[tuple[str, str]]


def verdict_of(document: Any, cluster: Cluster | None, seconds: Any = None) -> ReportVerdict:
    """The verdict of any document."""
    made = _VERDICTS.get(document.__class__.__name__)
    sentence, tone = made(document) if made else (document.kind, OPEN)
    return ReportVerdict(sentence[:1].upper() + sentence[1:], tone, [*_facts(document), *_input_facts(cluster)])


def _allocated(document: Any) -> tuple[str, str]:
    done = sum(unit.outcome == "Allocated" for unit in document.units)
    tones = {"Allocated": GOOD, "Unknown": OPEN}
    return f"{done} of {plural(len(document.units), 'unit')} allocated", tones.get(document.outcome, BAD)


def _planned(document: Any) -> tuple[str, str]:
    placed = document.placed == document.asked and not document.unread
    tone = GOOD if placed else OPEN if document.outcome in ("Feasible", "Unknown") else BAD
    return plan.summary(document), tone


def _compared(document: Any) -> tuple[str, str]:
    return "; ".join(comparison.comparison_summary(document)), GOOD if document.same_verdict else BAD


def _plans_compared(document: Any) -> tuple[str, str]:
    return comparison.plan_comparison_summary(document), BAD if document.beaten else GOOD


def _room(document: Any) -> tuple[str, str]:
    return capacity.summary(document), GOOD if document.total.fits or document.total.unbounded else BAD


def _room_in_queues(document: Any) -> tuple[str, str]:
    fits = any(one.both.fits or one.both.unbounded for one in document.queues)
    return capacity.queue_summary(document), GOOD if fits else BAD


def _explained(document: Any) -> tuple[str, str]:
    if document.group is not UNSET:
        answers = (f"{one.question} {one.answer}" for one in document.group.trials)
        shade = {"Allocated": GOOD, "Unknown": OPEN}.get(document.outcome, BAD)
        return f"{document.group.kind} {document.group.name}: {', '.join(answers)}", shade
    failed = sum(unit.outcome != "Allocated" for unit in document.units)
    return f"{failed} of {plural(len(document.units), 'unit')} cannot be allocated", BAD if failed else GOOD


def _shown(document: Any) -> tuple[str, str]:
    return inventory.summary(document), GOOD if document.complete else OPEN


def _placed(document: Any) -> tuple[str, str]:
    return plural(sum(len(one.instances) for one in document.topologies), "topology instance"), GOOD


def _provisioned(document: Any) -> tuple[str, str]:
    return provision.summary(document), GOOD


def _with_quota(document: Any) -> tuple[str, str]:
    return quota.summary(document), GOOD if document.settled else OPEN


def _swept(document: Any) -> tuple[str, str]:
    return f"Sweep of {document.sweep}: {plural(len(document.points), 'size')}", GOOD if document.same_verdict else BAD


def _studied(document: Any) -> tuple[str, str]:
    return study.summary(document), BAD if any(one.error for one in document.variants) else GOOD


_VERDICTS = {
    "AllocationDocument": _allocated,
    "PlanDocument": _planned,
    "ComparisonDocument": _compared,
    "PlanComparisonDocument": _plans_compared,
    "CapacityDocument": _room,
    "QueueCapacityDocument": _room_in_queues,
    "ExplanationDocument": _explained,
    "InventoryDocument": _shown,
    "TopologyDocument": _placed,
    "SweepDocument": _swept,
    "ProvisionDocument": _provisioned,
    "QuotaDocument": _with_quota,
    "StudyDocument": _studied,
}


def _facts(document: Any) -> Iterator[tuple[str, str]]:
    """What the document says of itself, as far as its kind has it."""
    if hasattr(document, "placed"):
        yield "Placed", f"{document.placed} of {document.asked}"
    bought = getattr(document, "bought", ())
    if bought:
        cost = sum(Decimal(str(one.cost)) for one in bought)
        yield "Cost", f"{cost:f} for {plural(sum(one.count for one in bought), 'node')}"
    for one in getattr(document, "objective", ()):
        state = "proven" if one.proven else "not proven"
        bound = "" if one.bound == one.value else f", bound {_number(one.bound)}"
        gap = f", gap {one.gap:.2%}" if one.gap else ""
        yield f"Stage {one.stage}", f"{_number(one.value)}{bound}{gap}, {state}"
    for name, words in (("outcome", "Outcome"), ("engine", "Engine"), ("cel_errors", "CEL errors")):
        if getattr(document, name, ""):
            yield words, str(getattr(document, name))
    for name, words in (("verified", "Verified"), ("certified", "Certified"), ("complete", "Complete")):
        if hasattr(document, name):
            yield words, "yes" if getattr(document, name) else "no"
    gates = getattr(document, "feature_gates", {})
    off = [name for name, on in gates.items() if not on]
    if gates:
        yield "Feature gates", f"off: {', '.join(off)}" if off else "all on"


def _number(value: Any) -> str:
    return "none known" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _input_facts(cluster: Cluster | None) -> Iterator[tuple[str, str]]:
    if cluster is not None:
        counts = {name: count for name, count in cluster.summary().items() if count}
        yield "Input", ", ".join(f"{count} {_noun(name) if count == 1 else name}" for name, count in counts.items())
        yield "Input hash", cluster.input_hash()


def _noun(name: str) -> str:
    """One of what a summary counts."""
    return name.removesuffix("es" if name.endswith("classes") else "s")
