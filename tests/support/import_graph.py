"""The picture of the architecture: packages in rows from the command line down, arrows as wide as there are imports."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

import grimp
from support.rules import ROOT

PICTURE = ROOT / "docs" / "images" / "architecture.svg"
ROWS = (
    ("cli",),
    ("reports", "verbs"),
    ("integrations", "solver.compare", "solver.capacity", "solver.plan", "solver.explain", "solver.allocate"),
    ("solver.verification", "solver.engines", "solver.proofs", "peers"),
    ("encoders",),
    ("problem",),
    ("models.workload", "models.cluster"),
    ("scenarios", "models.validation", "models.manifests", "models.topology", "cel"),
    ("models.results", "models.kubernetes", "models.formats"),
)
# Nearly every package imports these: a number in the box says how often, and there are no arrows.
GROUND = ROWS[-1]
# An arrow stands for at least so many imports. The two heaviest imports of a package have an arrow in any case.
LEAST = 9
_WIDTH, _ROW, _BOX, _HEIGHT, _MARGIN = 1060, 100, 148, 38, 14
_STYLE = """
rect.paper { fill: #ffffff } rect.box { fill: #eef3fa; stroke: #35608d } text { font: 13px sans-serif; fill: #1b2733 }
text.number { font-size: 11px; fill: #51606f } path { fill: none; stroke: #35608d; stroke-opacity: 0.45 }
marker path { fill: #35608d; stroke: none }
"""

Imports = Counter[tuple[str, str]]


def package_of(module: str) -> str:
    """The box of a module; empty for the top of the package, which only names what there is."""
    names = module.split(".")[1:]
    return ".".join(names[: 2 if names[:1] in (["solver"], ["models"]) else 1]).removeprefix("__main__")


def imports() -> Imports:
    """How often modules of one package import modules of another, without imports for types alone."""
    graph = grimp.build_graph("drasat", cache_dir=None, exclude_type_checking_imports=True)
    counts: Imports = Counter()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            pair = (package_of(module), package_of(imported))
            if all(pair) and pair[0] != pair[1]:
                counts[pair] += 1
    return counts


def arrows(counts: Imports) -> Imports:
    """What the picture shows as arrows."""
    above_ground = {pair: number for pair, number in counts.items() if not {*pair} & {*GROUND}}
    by_package: dict[str, list[tuple[str, str]]] = {}
    for pair, _ in sorted(above_ground.items(), key=lambda item: (-item[1], item[0])):
        by_package.setdefault(pair[0], []).append(pair)
    kept = {pair for pairs in by_package.values() for pair in pairs[:2]}
    return Counter({pair: number for pair, number in above_ground.items() if pair in kept or number >= LEAST})


def drawn(svg: str) -> Imports:
    """The arrows of a picture, with their numbers."""
    found = re.findall(r"<title>(\S+) imports (\S+): (\d+)</title>", svg)
    return Counter({(above, below): int(number) for above, below, number in found})


def is_current(shown: Imports, there: Imports) -> bool:
    """Whether the picture is near enough: an import more or less does not call for another one.

    An arrow may differ by a fourth or by three imports, and an arrow of up to three more than the least may be missing.
    """
    near = all(there[pair] and abs(number - there[pair]) <= max(3, there[pair] / 4) for pair, number in shown.items())
    missing = (pair for pair in arrows(there) if pair not in shown)
    return near and all(there[pair] <= LEAST + 3 for pair in missing)


def picture(counts: Imports) -> str:
    """The SVG."""
    places = dict(_places())
    height = _ROW * len(ROWS)
    frame = {"viewBox": f"0 0 {_WIDTH} {height}", "width": str(_WIDTH), "height": str(height), "role": "img"}
    svg = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **frame})
    ET.SubElement(svg, "title").text = "Packages of drasat and the imports between them"
    ET.SubElement(svg, "style").text = _STYLE
    size = {"viewBox": "0 0 6 6", "refX": "5", "refY": "3", "markerWidth": "9", "markerHeight": "9"}
    marker = ET.SubElement(
        ET.SubElement(svg, "defs"), "marker", {"id": "tip", **size, "markerUnits": "userSpaceOnUse", "orient": "auto"}
    )
    ET.SubElement(marker, "path", {"d": "M0 0 6 3 0 6z"})
    ET.SubElement(svg, "rect", {"class": "paper", "width": str(_WIDTH), "height": str(height)})
    for (above, below), number in sorted(arrows(counts).items()):
        course = _course(places[above], places[below])
        width = f"{0.6 + number**0.5:.1f}"
        line = ET.SubElement(svg, "path", {"d": course, "stroke-width": width, "marker-end": "url(#tip)"})
        ET.SubElement(line, "title").text = f"{above} imports {below}: {number}"
    for name, (x, y) in places.items():
        left = {"class": "box", "x": str(x - _BOX // 2), "y": str(y), "rx": "5"}
        ET.SubElement(svg, "rect", {**left, "width": str(_BOX), "height": str(_HEIGHT)})
        label = {"x": str(x), "y": str(y + (17 if name in GROUND else 24)), "text-anchor": "middle"}
        ET.SubElement(svg, "text", label).text = _label(name)
        if name in GROUND:
            number = sum(count for (_, below), count in counts.items() if below == name)
            said = ET.SubElement(svg, "text", {**label, "y": str(y + 31), "class": "number"})
            said.text = f"about {round(number, -1)} imports"
    ET.indent(svg)
    return ET.tostring(svg, encoding="unicode") + "\n"


def _label(name: str) -> str:
    return {"cli": "api.cli", "reports": "api.reports", "verbs": "api.verbs"}.get(name, name)


def _places() -> list[tuple[str, tuple[int, int]]]:
    """The middle of the upper edge of each box."""
    found = []
    for number, row in enumerate(ROWS):
        step = _WIDTH / len(row)
        # A box between two others of one column would hide the arrows that pass it.
        shift = {"reports": 88, "encoders": 150, "problem": -60}.get(row[0], 0)
        found += [(name, (round(step * (at + 0.5)) + shift, number * _ROW + _MARGIN)) for at, name in enumerate(row)]
    return found


def _course(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A curve from the lower edge of a box to the upper edge of another, in one row from side to side."""
    (x1, y1), (x2, y2) = start, end
    if y1 == y2:
        y, over = y1 + _HEIGHT, y1 + _HEIGHT + 26
        return f"M{x1} {y}C{x1} {over} {x2} {over} {x2} {y}"
    top, bottom = (y1 + _HEIGHT, y2 - 4) if y1 < y2 else (y1, y2 + _HEIGHT)
    half = (bottom - top) // 2
    return f"M{x1} {top}C{x1} {top + half} {x2} {bottom - half} {x2} {bottom}"


def rows_are_right(counts: Imports) -> bool:
    """Whether all arrows lead downwards or within a row."""
    level = {name: number for number, row in enumerate(ROWS) for name in row}
    return all(level[above] <= level[below] for above, below in arrows(counts))
