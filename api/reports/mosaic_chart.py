"""The chart of a mosaic: where nodes are placed, for every way to group them, and the marks.

All positions are made here, and the chart chooses among them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import altair as alt

from .charts import DISTINCT, FREE, GREY, INK, MARK, OTHER, UNUSABLE, Row
from .mosaic import ACROSS, HELD_BEFORE, PLACED_NOW, DeviceCell, DeviceHold, Holds, MosaicCells, natural_order

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.meta import DeviceId
    from ..models.results.inventory import InventoryDocument

MOST_CELLS = 50_000
# Pixels: as wide as the widest line of nodes, between these.
_WIDTH, _NARROWEST = 1060, 420
# Sides of a cell in pixels: the largest with which everything is at most this high is taken.
_SIDES, _HEIGHT = (40, 28, 22, 16, 12, 9, 7, 5), 640
_GAP, _HEADING, _LABEL = 8, 22, 13
# From this side on cells have room for a letter, and from this width on nodes for their name, which few nodes get.
_LETTERS, _NAMES, _FEW_NODES = 12, 60, 48
# Labels by which nodes are grouped have so many values at most.
_MOST_GROUPS = 60
_FIRST_LABELS = ("topology.kubernetes.io/rack", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type")
# Owners that have a colour alone where there are more of them than colours.
_NAMED_OWNERS = 4
_FREE, _UNUSABLE, _OTHERS = "free", "cannot be used", "other owners"
_TOOLTIP = {
    "node": "node",
    "device": "device",
    "state": "state",
    "owner": "owner",
    "claim": "claim",
    "request": "request",
    "note": "note",
    "attributes": "attributes",
}


@dataclass(frozen=True, slots=True)
class MosaicTables:
    """What the chart is made of: cells and parts of them, nodes with their places, headings, names, and the size."""

    parts: list[Row]
    nodes: list[Row]
    headings: list[Row]
    groupings: list[str]
    side: int
    width: int
    height: int
    heights: list[int]
    """The height of each grouping; ``height`` is the largest."""
    named: bool
    least: int
    """The number of cells of the smallest node, but for those that are wide by their name."""
    changes: bool
    colours: dict[str, str]
    """The colour of each entry of the legend."""

    def datasets(self, prefix: str) -> dict[str, list[Row]]:
        """The rows by the names that marks know them by."""
        return {f"{prefix}cells": self.parts, f"{prefix}nodes": self.nodes, f"{prefix}headings": self.headings}


def mosaic_tables(
    inventory: InventoryDocument,
    cluster: Cluster,
    holds: Holds,
    *,
    by: str | None = None,
    width: int = _WIDTH,
    owners: Sequence[str] | None = None,
    marked: frozenset[DeviceId] = frozenset(),
) -> MosaicTables:
    """Lay everything out.

    ``by`` is the label that groups nodes at first. ``owners`` have colours of their own, by default those with the most
    devices. ``marked`` devices get a frame. Raises ``ValueError``, one line, for too much and for nothing.
    """
    maker = MosaicCells(inventory, cluster, holds, marked)
    blocks = maker.blocks
    cells = sum(map(len, blocks.values()))
    if not cells:
        raise ValueError("there is nothing to draw: the input has no devices")
    if cells > MOST_CELLS:
        raise ValueError(f"{cells:,} devices are too many for a mosaic, which holds {MOST_CELLS:,}")
    groupings = _groupings(cluster, blocks, by)
    for side in _SIDES:
        wide = all(min(len(found), ACROSS) * side >= _NAMES for found in blocks.values())
        named = wide or len(blocks) <= _FEW_NODES
        flow = _NodeFlow(blocks, side, named, width)
        laid = [flow.place(groups) for groups in groupings.values()]
        heights = [bottom for _, _, bottom in laid]
        height = max(heights)
        if height <= _HEIGHT:
            break
    width = max(_NARROWEST, *(flow.right(places) for places, _, _ in laid))
    numbers = {name: number for number, name in enumerate(blocks)}
    nodes: list[Row] = [{"n": number, "node": name or "any node"} for name, number in numbers.items()]
    headings: list[Row] = []
    for choice, (places, titles, _) in enumerate(laid):
        for name, (x, y) in places.items():
            nodes[numbers[name]] |= {f"x{choice}": x, f"y{choice}": y}
        headings += [{"choice": choice, "title": title, "y": y} for title, y in titles]
    parts = [row for name, found in blocks.items() for row in maker.parts(numbers[name], name, found, side)]
    changes = any(one.new for found in holds.values() for one in found)
    least = min(min(len(found), ACROSS) for found in blocks.values())
    colours = _coloured(parts, main_owners([holds]) if owners is None else owners, changes)
    return MosaicTables(
        parts, nodes, headings, [*groupings], side, width, height, heights, named, least, changes, colours
    )


def main_owners(answers: Sequence[Holds]) -> list[str]:
    """All owners, those with the most devices first, of what is new if something is."""
    holds = [one for answer in answers for found in answer.values() for one in found]
    counts = Counter(one.owner for one in [one for one in holds if one.new] or holds)
    return [owner for owner, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _owner_entries(owners: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The letter and the entry of the legend for each owner; where there are many, the smaller ones go by kind."""
    named = owners if len(owners) <= len(DISTINCT) else owners[:_NAMED_OWNERS]
    kinds = Counter(owner.partition(" ")[0] for owner in owners[len(named) :])
    titles = [*named, *(f"other {kind}s" for kind, _ in kinds.most_common(len(DISTINCT) - len(named)))]
    entries = {title: (letter, f"{letter}  {title}") for letter, title in zip("ABCDEFGH", titles, strict=False)}
    by_kind = ((owner, entries.get(f"other {owner.partition(' ')[0]}s")) for owner in owners[len(named) :])
    return {**{one: entries[one] for one in named}, **{owner: entry for owner, entry in by_kind if entry}}


def _coloured(parts: Sequence[Row], owners: Sequence[str], changes: bool) -> dict[str, str]:
    """Give each row its entry of the legend and its letter; return the colours of the entries.

    Where something is new, what was held before is grey.
    """
    entries = _owner_entries(owners)
    shown = PLACED_NOW if changes else HELD_BEFORE
    used: dict[str, str] = {}
    for row in parts:
        letter = ""
        if row["state"] == shown:
            letter, key = entries.get(row["owner"], ("", _OTHERS))
        elif row["state"] == HELD_BEFORE:
            key = HELD_BEFORE
        else:
            key = _FREE if row["state"] == "free" else _UNUSABLE
        row["key"] = used.setdefault(key, key)
        row["letter"] = letter if row["w"] >= _LETTERS - 3 else ""
    colours = dict(zip(sorted({key for _, key in entries.values()}), DISTINCT, strict=False))
    rest = {_OTHERS: OTHER, HELD_BEFORE: GREY, _FREE: FREE, _UNUSABLE: UNUSABLE}
    return {**colours, **{key: colour for key, colour in rest.items() if key in used}}


class _NodeFlow:
    """Blocks side by side, in lines, group below group."""

    def __init__(self, blocks: Mapping[str, Sequence[object]], side: int, named: bool, width: int) -> None:
        self._sizes = {
            name: (max(min(len(cells), ACROSS) * side, _NAMES * named), -(-len(cells) // ACROSS) * side)
            for name, cells in blocks.items()
        }
        self._width, self._gap = width, _GAP if side > 7 else 5
        self._label = _LABEL if named else 0

    def right(self, places: Mapping[str, tuple[int, int]]) -> int:
        """Return where the widest line ends."""
        return max(left + self._sizes[name][0] for name, (left, _) in places.items())

    def place(
        self, groups: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, tuple[int, int]], list[tuple[str, int]], int]:
        places: dict[str, tuple[int, int]] = {}
        titles, top = [], 0
        for title, names in groups.items():
            if title:
                titles.append((title, top + _HEADING - 8))
                top += _HEADING
            left = line = 0
            for name in names:
                width, height = self._sizes[name]
                if left and left + width > self._width:
                    left, top, line = 0, top + line + self._gap, 0
                places[name] = left, top + self._label
                left, line = left + width + self._gap, max(line, height + self._label)
            top += line + self._gap + 4
        return places, titles, top


def _groupings(
    cluster: Cluster, blocks: Mapping[str, Sequence[DeviceCell]], by: str | None
) -> dict[str, dict[str, list[str]]]:
    """The ways to group nodes: not at all, by labels, and by what devices they have. Names of groups are sorted."""
    labels: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    known = {name: dict(cluster.nodes[name].metadata.labels or {}) for name in blocks if name in cluster.nodes}
    names = sorted(blocks, key=natural_order)
    for label in sorted({label for found in known.values() for label in found}):
        for name in names:
            value = known.get(name, {}).get(label)
            labels[label][f"no {label}" if value is None else value].append(name)
    kept = {
        label: found for label, found in labels.items() if 1 < len(found) <= min(_MOST_GROUPS, max(2, len(names) // 2))
    }
    devices: dict[str, list[str]] = defaultdict(list)
    for name in names:
        counts = Counter(cell.devices[0].driver for cell in blocks[name])
        devices[", ".join(f"{count} x {driver}" for driver, count in sorted(counts.items()))].append(name)
    if len(devices) > 1:
        kept["devices of the node"] = devices
    if by is not None and by not in labels:
        raise ValueError(f"no node has the label {by!r}")
    first = [by] if by else []
    order = dict.fromkeys((*first, *(one for one in _FIRST_LABELS if one in kept), *sorted(kept)))
    found = {
        label: {
            title: labels.get(label, devices)[title] for title in sorted(labels.get(label, devices), key=natural_order)
        }
        for label in order
    }
    nothing = {"nothing": {"": names}}
    return {**found, **nothing} if by or any(one in found for one in _FIRST_LABELS[:1]) else {**nothing, **found}


def mosaic_chart(tables: MosaicTables) -> alt.LayerChart:
    """The chart: a filter, a choice of how nodes are grouped, and one of before and after where something is new."""
    made: alt.LayerChart = _mosaic_view(tables, "").add_params(*_controls(tables))
    made.datasets = tables.datasets("")
    return made


def side_by_side(inventory: InventoryDocument, cluster: Cluster, answers: Mapping[str, Holds]) -> alt.HConcatChart:
    """The first two of several answers beside each other; devices that have other owners on each side are framed."""
    labels = list(answers)[:2]
    first, second = (answers[label] for label in labels)
    devices = first.keys() | second.keys()
    marked = frozenset(one for one in devices if _owners(first.get(one, ())) != _owners(second.get(one, ())))
    owners, width = main_owners([first, second]), (_WIDTH - 30) // 2
    sides = [
        mosaic_tables(inventory, cluster, holds, width=width, owners=owners, marked=marked) for holds in (first, second)
    ]
    colours = {**sides[0].colours, **sides[1].colours}
    views = [
        _mosaic_view(replace(side, colours=colours), f"side{number}_").properties(title=label)
        for number, (side, label) in enumerate(zip(sides, labels, strict=True))
    ]
    made: alt.HConcatChart = alt.hconcat(*views, spacing=30).add_params(*_controls(sides[0]))
    made.datasets = {**sides[0].datasets("side0_"), **sides[1].datasets("side1_")}
    return made


def _owners(holds: Sequence[DeviceHold]) -> list[str]:
    return sorted(one.owner for one in holds)


def _controls(tables: MosaicTables) -> list[alt.Parameter]:
    labels, choices = tables.groupings, list(range(len(tables.groupings)))
    group = alt.binding_select(options=choices, labels=labels, name="Group nodes by: ")
    show = alt.binding_select(options=["after", "before"], name="Show: ")
    search = alt.binding(input="search", name="Filter: ", placeholder="node, claim, owner, ...")
    return [
        # A page can make the picture as high as the chosen grouping is, by these.
        alt.param("tall", value=tables.height),
        alt.param("heights", value=tables.heights),
        alt.param("find", value="", bind=search),
        alt.param("group", value=0, bind=group) if len(choices) > 1 else alt.param("group", value=0),
        alt.param("show", value="after", bind=show) if tables.changes else alt.param("show", value="after"),
    ]


def _mosaic_view(tables: MosaicTables, prefix: str) -> Any:
    """The marks; ``prefix`` tells the data and the selection of several mosaics apart."""
    names = {name: f"{prefix}{name}" for name in ("pick", "cells", "nodes", "headings")}
    pick = alt.selection_point(name=names["pick"], fields=["key"], bind="legend")
    tall = alt.Scale(domain=[0, alt.ExprRef("tall")], reverse=True, nice=False, zero=False)
    x = alt.X("left:Q", axis=None, scale=alt.Scale(domain=[0, tables.width], nice=False, zero=False))
    y = alt.Y("top:Q", axis=None, scale=tall)
    cells = _placed_cells(tables, names)
    found: Any = {"test": {"and": [{"param": pick.name}, "datum.hit"]}, "value": 1}
    marked: Any = "datum.mark == 1"
    rectangles = cells.mark_rect(cornerRadius=1 if tables.side > 7 else 0, aria=False).encode(
        x=x,
        y=y,
        x2="right:Q",
        y2="bottom:Q",
        color=alt.Color(
            "key:N",
            scale=alt.Scale(domain=[*tables.colours], range=[*tables.colours.values()]),
            legend=alt.Legend(
                title=None,
                orient="top",
                columns=4 if tables.width < _WIDTH * 0.8 else 5,
                labelLimit=195,
                symbolType="square",
            ),
        ),
        opacity=alt.OpacityValue(0.08, condition=found),
        stroke=alt.condition(marked, alt.value(MARK), alt.value("transparent")),
        strokeWidth=alt.condition(marked, alt.value(2), alt.value(0)),
        tooltip=[alt.Tooltip(f"{name}:N", title=shown) for name, shown in _TOOLTIP.items()],
    )
    layers: list[alt.Chart] = [rectangles.add_params(pick).properties(name=f"{prefix}rectangles")]
    if tables.side >= _LETTERS:
        middle = {"middle": "(datum.left + datum.right) / 2", "centre": "(datum.top + datum.bottom) / 2"}
        letters = cells.transform_filter("datum.letter != ''").transform_calculate(**middle)
        ink = alt.condition("datum.letter == 'A'", alt.value("white"), alt.value(INK))
        letters = letters.mark_text(fontSize=9, fontWeight="bold", aria=False)
        layers.append(letters.encode(x="middle:Q", y="centre:Q", text="letter:N", color=ink))
    if tables.named:
        place = {"left": "datum['x' + group]", "top": "datum['y' + group] - 5"}
        nodes = alt.Chart(alt.NamedData(names["nodes"])).transform_calculate(**place)
        text = nodes.mark_text(
            align="left", fontSize=10, limit=max(_NAMES + 10, tables.least * tables.side), aria=False
        )
        layers.append(text.encode(x="left:Q", y="top:Q", text="node:N"))
    headings = alt.Chart(alt.NamedData(names["headings"])).transform_filter("datum.choice == group")
    text = headings.mark_text(align="left", fontSize=12, fontWeight="bold", limit=tables.width, aria=False)
    layers.append(text.encode(x=alt.value(0), y="y:Q", text="title:N"))
    return alt.layer(*layers, width=tables.width, height=tables.height)


def _placed_cells(tables: MosaicTables, names: Mapping[str, str]) -> alt.Chart:
    """Cells where the chosen grouping puts them, with whether the filter finds them."""
    looked_up = [name for name in tables.nodes[0] if name not in ("n", "node")]
    words = " + ' ' + ".join(f"datum.{name}" for name in _TOOLTIP)
    nodes = alt.LookupData(data=alt.NamedData(names["nodes"]), key="n", fields=looked_up)
    return (
        alt.Chart(alt.NamedData(names["cells"]))
        .transform_filter(f"show == 'after' || datum.state != '{PLACED_NOW}'")
        .transform_lookup(lookup="n", from_=nodes)
        .transform_calculate(
            left="datum['x' + group] + datum.x",
            top="datum['y' + group] + datum.y",
            right="datum['x' + group] + datum.x + datum.w",
            bottom="datum['y' + group] + datum.y + datum.h",
            hit=f"find == '' || indexof(lower({words}), lower(find)) >= 0",
        )
    )
