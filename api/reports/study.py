"""Studies as rows of tables, files, lines and charts: frontiers, heat maps of two settings, curves with bands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..models.formats.errors import plural
from ..models.manifests.writer import check_output_file
from ..models.results.study import display_setting
from .report_tables import ReportTable

if TYPE_CHECKING:
    from ..models.results.study import StudyDocument, StudyVariant
    from .charts import Chart
    from .plots import PlotSource

Row: TypeAlias = tuple[object, ...]
SUFFIXES = (".parquet", ".csv", ".json")
# Figures of which less is better; of others more is.
_COSTS = frozenset(
    (
        "cost",
        "unplaced",
        "bought",
        "nodes-used",
        "devices-used",
        "fragmentation",
        "wasted",
        "steps",
        "pending",
        "moved",
        "evicted",
    )
)
_WIDTH, _HEIGHT, _CELL = 560, 300, 44
_SEED = "seed"


def _cell(value: Any) -> Any:
    """A value of a setting as a cell: numbers, texts and truth values as they are."""
    return value if isinstance(value, int | float | str) else None if value is None else display_setting(value)


def columns_of(document: StudyDocument) -> tuple[str, ...]:
    """Headers of all rows. A figure that has the name of a setting gets a dot."""
    settings = document.settings
    figures = (f"{name}." if name in settings else name for name in document.figures)
    return ("variant", *settings, "outcome", *figures, "error")


def variant_rows(document: StudyDocument) -> Iterator[Row]:
    """One row a variant, under ``columns_of``."""
    for one in document.variants:
        settings = (_cell(one.settings.get(name)) for name in document.settings)
        yield (one.name, *settings, one.outcome, *(one.figures.get(name) for name in document.figures), one.error)


def frame_rows(document: StudyDocument, seconds: Mapping[str, float] | None) -> tuple[tuple[str, ...], list[Row]]:
    """Columns and rows of a data frame, with seconds if they are given. A column of mixed types has texts."""
    columns, rows = columns_of(document), [list(row) for row in variant_rows(document)]
    for place in range(len(columns)):
        kinds = {_kind(row[place]) for row in rows if row[place] is not None}
        if len(kinds) > 1:
            for row in rows:
                row[place] = None if row[place] is None else str(row[place])
    if seconds is None:
        return columns, [tuple(row) for row in rows]
    return (*columns, "seconds"), [(*row, seconds[str(row[0])]) for row in rows]


def _kind(value: object) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def table_cells(document: StudyDocument, *, wide: bool) -> tuple[list[str], list[list[str]]]:
    """Headers and cells for printing.

    Unless it is ``wide`` the variant's name is left out, which repeats its settings, and so are figures of a part of
    the answer, such as a stage, unless no others are there.
    """
    parts = {name for name in document.figures if "." in name}
    if wide or len(parts) == len(document.figures):
        parts = set()
    columns, rows = columns_of(document), list(variant_rows(document))
    shown = [
        place
        for place, name in enumerate(columns)
        if (wide or name != "variant" or not document.settings)
        and (name != "error" or any(row[-1] for row in rows))
        and name not in parts
    ]
    return [columns[place] for place in shown], [[_text(row[place]) for place in shown] for row in rows]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else display_setting(value)


def report_table(source: PlotSource) -> ReportTable:
    """All variants, as the table of a report."""
    document: Any = source.document
    return ReportTable(columns_of(document), variant_rows(document))


def summary(document: StudyDocument) -> str:
    """One line: how many variants there are, and how many failed."""
    failed = sum(bool(one.error) for one in document.variants)
    return plural(len(document.variants), "variant") + (f", {failed} failed" if failed else "")


def reasons(document: StudyDocument) -> Iterator[str]:
    """Why variants failed: one line for all with the same reason."""
    alike: dict[str, list[str]] = defaultdict(list)
    for one in document.variants:
        if one.error:
            alike[one.error].append(one.name)
    for error, names in alike.items():
        others = f" and {plural(len(names) - 1, 'other')}" if len(names) > 1 else ""
        yield f"{names[0]}{others}: {error}"
    yield from document.notices


def check_study_path(path: Path) -> None:
    """Refuse a file that no study can be written into, before anything is computed. Raises ``ValueError``."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"a study is written as {', '.join(SUFFIXES)}, not {str(path)!r}")
    check_output_file(path)
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError("parquet files need pyarrow: pip install 'drasat[study]'")


def _numbers(document: StudyDocument) -> list[str]:
    """Settings that are numbers and differ."""
    found = []
    for name in document.settings:
        values = {_cell(one.settings.get(name)) for one in document.variants if not one.error} - {None}
        if len(values) > 1 and all(_kind(value) == "number" for value in values):
            found.append(name)
    return found


def _varied(document: StudyDocument) -> list[str]:
    """Settings that differ: numbers first, and seeds not among them."""
    differ = [
        name
        for name in document.settings
        if name != _SEED and len({_text(_cell(one.settings.get(name))) for one in document.variants}) > 1
    ]
    numbers = _numbers(document)
    return sorted(differ, key=lambda name: name not in numbers)


def _figure(document: StudyDocument, asked: str | None) -> str:
    """The figure asked for, or the first that is a number and differs. Raises ``ValueError``."""
    return _named(asked, _number_figures(document), "figure")


def _number_figures(document: StudyDocument) -> list[str]:
    found = []
    for name in document.figures:
        values = [one.figures.get(name) for one in document.variants if one.figures.get(name) is not None]
        if values and all(_kind(value) == "number" for value in values):
            found.append((len(set(values)) == 1, name))
    return [name for _, name in sorted(found, key=lambda pair: pair[0])]


def _named(asked: str | None, known: Sequence[str], what: str) -> str:
    if asked is None and known:
        return known[0]
    if asked is None:
        raise ValueError(f"there is nothing to draw: no {what} differs between variants")
    if asked not in known:
        raise ValueError(f"there is no {what} {asked!r}, known are: {', '.join(known) or 'none'}")
    return asked


def _means(document: StudyDocument, names: Iterable[str | None], figure: str) -> dict[tuple[Any, ...], list[float]]:
    """Values of a figure by the values of settings; what else differs, such as seeds, is in the lists."""
    found: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    keys = list(names)
    for one in document.variants:
        value = one.figures.get(figure)
        if isinstance(value, int | float):
            found[tuple("" if key is None else _cell(one.settings.get(key)) for key in keys)].append(float(value))
    return found


def curves_chart(source: PlotSource, x: str | None = None, figure: str | None = None, by: str | None = None) -> Chart:
    """A figure against a setting: the mean of all other settings, such as seeds, in a band from least to most."""
    import altair as alt

    from .charts import DISTINCT, data

    document: Any = source.document
    varied = _varied(document)
    across, shown = _named(x, [*varied, *([_SEED] if x == _SEED else [])], "setting"), _figure(document, figure)
    others = [name for name in varied if name != across]
    line = _named(by, others, "setting") if by is not None else next(iter(others), None)
    rows = [
        {"x": key[0], "series": _text(key[1]), "mean": sum(v) / len(v), "least": min(v), "most": max(v), "runs": len(v)}
        for key, v in _means(document, (across, line), shown).items()
    ]
    numeric = across in _numbers(document)
    kind: Literal["quantitative", "ordinal"] = "quantitative" if numeric else "ordinal"
    series = list(dict.fromkeys(row["series"] for row in rows))
    base = alt.Chart(data(rows, "curves")).encode(
        x=alt.X("x", type=kind, title=across, scale=alt.Scale(zero=False) if numeric else alt.Undefined),
        color=alt.Color(
            "series:N",
            scale=alt.Scale(domain=series, range=[DISTINCT[n % len(DISTINCT)] for n in range(len(series))]),
            legend=alt.Legend(title=line) if line is not None else None,
        ),
        tooltip=[alt.Tooltip("x", type=kind), "series:N", "mean:Q", "least:Q", "most:Q", "runs:Q"],
    )
    band = base.mark_area(opacity=0.25).encode(
        y=alt.Y("least:Q", title=shown, scale=alt.Scale(zero=False)), y2="most:Q"
    )
    lines = base.mark_line(strokeWidth=2, point=True).encode(y="mean:Q")
    return alt.layer(band, lines).properties(width=_WIDTH, height=_HEIGHT)


def heatmap_chart(source: PlotSource, x: str | None = None, y: str | None = None, figure: str | None = None) -> Chart:
    """A figure by two settings: the mean of all others, such as seeds."""
    import altair as alt

    from .charts import data

    document: Any = source.document
    varied = _varied(document)
    shown, across = _figure(document, figure), _named(x, varied, "setting")
    down = _named(y, [name for name in varied if name != across], "setting")
    rows = [
        {"x": _text(key[0]), "y": _text(key[1]), "mean": sum(v) / len(v), "runs": len(v)}
        for key, v in _means(document, (across, down), shown).items()
    ]
    orders = {name: _in_order(document, name) for name in (across, down)}
    base = alt.Chart(data(rows, "cells")).encode(
        x=alt.X("x:O", title=across, sort=orders[across], axis=alt.Axis(labelAngle=0)),
        y=alt.Y("y:O", title=down, sort=orders[down]),
        tooltip=[alt.Tooltip("x:O", title=across), alt.Tooltip("y:O", title=down), "mean:Q", "runs:Q"],
    )
    cells = base.mark_rect().encode(color=alt.Color("mean:Q", title=shown, scale=alt.Scale(scheme="viridis")))
    means = [sum(v) / len(v) for v in _means(document, (across, down), shown).values()]
    middle = (max(means) + min(means)) / 2
    light = alt.condition(f"datum.mean > {middle}", alt.value("black"), alt.value("white"))
    texts = base.mark_text().encode(text=alt.Text("mean:Q", format=".4~g"), color=light)
    return alt.layer(cells, texts).properties(width=alt.Step(_CELL * 2), height=alt.Step(_CELL))


def _in_order(document: StudyDocument, name: str) -> list[str]:
    values = [_cell(one.settings.get(name)) for one in document.variants]
    ordered = sorted(set(values)) if name in _numbers(document) and None not in values else values
    return list(dict.fromkeys(map(_text, ordered)))


def frontier_chart(source: PlotSource, x: str | None = None, y: str | None = None, by: str | None = None) -> Chart:
    """Two figures of every variant, and the line of those that no other variant beats in both.

    With ``by`` there is a line for each value of this setting.
    """
    import altair as alt

    from .charts import BLUE, DISTINCT, GREY, data

    document: Any = source.document
    known = _number_figures(document)
    across = _named(x, [name for name in known if x is not None or name in _COSTS], "figure")
    up = _named(y, [name for name in known if name != across and (y is not None or name not in _COSTS)], "figure")
    line = None if by is None else _named(by, _varied(document), "setting")
    groups: dict[str, list[tuple[StudyVariant, float, float]]] = defaultdict(list)
    for one in document.variants:
        if one.figures.get(across) is not None and one.figures.get(up) is not None:
            series = "" if line is None else _text(_cell(one.settings.get(line)))
            groups[series].append((one, float(one.figures[across]), float(one.figures[up])))
    rows = []
    for series, points in groups.items():
        best = frontier(points, less_x=across in _COSTS, less_y=up in _COSTS)
        rows += [{"x": a, "y": b, "variant": v.name, "series": series, "best": v.name in best} for v, a, b in points]
    colours = [BLUE] if line is None else [DISTINCT[number % len(DISTINCT)] for number in range(len(groups))]
    base = alt.Chart(data(rows, "variants")).encode(
        x=alt.X("x:Q", title=across, scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", title=up, scale=alt.Scale(zero=False)),
        tooltip=["variant:N", alt.Tooltip("x:Q", title=across), alt.Tooltip("y:Q", title=up)],
    )
    shade = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(groups), range=colours),
        legend=None if line is None else alt.Legend(title=line),
    )
    steps = base.mark_line(interpolate="step-after").transform_filter("datum.best").encode(order="x:Q", color=shade)
    others = base.mark_point(filled=True, size=60, color=GREY).transform_filter("!datum.best")
    best_points = base.mark_point(filled=True, size=60, opacity=1).transform_filter("datum.best").encode(color=shade)
    return alt.layer(steps, others, best_points).properties(width=_WIDTH, height=_HEIGHT)


def frontier(points: Sequence[tuple[StudyVariant, float, float]], *, less_x: bool, less_y: bool) -> set[str]:
    """Names of variants that no other one beats: as good in both figures, and better in one."""
    signed = [(one.name, a if less_x else -a, b if less_y else -b) for one, a, b in points]
    best: set[str] = set()
    least: float | None = None
    columns: dict[float, list[tuple[str, float]]] = defaultdict(list)
    for name, a, b in signed:
        columns[a].append((name, b))
    for a in sorted(columns):
        lowest = min(b for _, b in columns[a])
        if least is None or lowest < least:
            best |= {name for name, b in columns[a] if b == lowest}
            least = lowest
    return best
