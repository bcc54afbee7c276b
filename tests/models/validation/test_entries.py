"""Entries of annotations: one subject each, weights, and shapes in topologies (SOFT-1, SOFT-2, TOPO-2)."""

import json

import pytest
from support.validation import assert_problems, problems, row

from drasat.models.entries import ANNOTATION

AT = f"metadata.annotations[{ANNOTATION}]"
ONE_OF = "exactly one of `matchAttribute`, `distinctAttribute`, `cel` or `topology` is required"


def annotated(*entries, where="metadata"):
    return {f"{where} annotations": {ANNOTATION: json.dumps(entries)}}


def match(**fields):
    return annotated({"matchAttribute": "a/b", **fields})


def shape(shape="Segment", **fields):
    return annotated({"topology": {"name": "t", "shape": shape, **fields}})


ENTRIES = [
    row("SOFT-1 must hold", match()),
    row("SOFT-1 weight", match(weight=1)),
    row("SOFT-1 largest weight", match(weight=2**31 - 1)),
    row("SOFT-1 weight 0", match(weight=0), f"structure {AT}[0].weight: Invalid value: 0: must be between 1 and 2147"),
    row("SOFT-1 weight -1", match(weight=-1), f"structure {AT}[0].weight: Invalid value: -1: must be between"),
    row("SOFT-1 weight 2^31", match(weight=2**31), f"structure {AT}[0].weight: Invalid value: 2147483648: must be"),
    row("SOFT-2 Pair", match(weight=1, per="Pair")),
    row("SOFT-2 Entry", match(weight=1, per="Entry")),
    row(
        "SOFT-2 per",
        match(weight=1, per="Device"),
        f'structure {AT}[0].per: Unsupported value: "Device": supported values: "Entry", "Pair"',
    ),
    row(
        "SOFT-2 must hold",
        match(per="Pair"),
        f"structure {AT}[0].per: Forbidden: is for `matchAttribute` with a `weight` only",
    ),
    row(
        "SOFT-2 distinct",
        annotated({"distinctAttribute": "a/b", "weight": 1, "per": "Pair"}),
        f"structure {AT}[0].per: Forbidden: is for `matchAttribute` with a `weight` only",
    ),
    row("CON-1 requests", match(requests=["one", "any", "any/b"])),
    row(
        "CON-1 other request",
        match(requests=["one", "two"]),
        f'{AT}[0].requests[1]: Invalid value: "two": must be the name of a request in the claim',
    ),
    row("CON-1 twice", match(requests=["one", "one"]), f'{AT}[0].requests[1]: Duplicate value: "one"'),
    row("entry name", match(name="near")),
    row("entry name shape", match(name="Near"), f'{AT}[0].name: Invalid value: "Near": a lowercase RFC 1123 label'),
    row(
        "entry name twice",
        annotated(*({"name": "near", "matchAttribute": "a/b"} for _ in range(2))),
        f'{AT}[1].name: Duplicate value: "near"',
    ),
    row("32 entries", annotated(*[{"matchAttribute": "a/b"}] * 32)),
    row("33 entries", annotated(*[{"matchAttribute": "a/b"}] * 33), f"{AT}: Too many: 33: must have at most 32 items"),
    row("entry about nothing", annotated({"weight": 1}), f"structure {AT}[0]: Required value: {ONE_OF}"),
    row(
        "entry about two things",
        match(distinctAttribute="a/b"),
        f"structure {AT}[0]: Invalid value: ...{ONE_OF}, but multiple fields are set",
    ),
    row("entry attribute", annotated({"matchAttribute": "b"}), f'{AT}[0].matchAttribute: Invalid value: "b": must'),
    row("entry expression", annotated({"cel": {"expression": " "}}), f"{AT}[0].cel.expression: Required value"),
    row(
        "SEM-1 in an entry",
        match(matchSemantics={"mode": "AllDistinct"}),
        f'structure {AT}[0].matchSemantics.mode: Unsupported value: "AllDistinct"',
    ),
]
TOPOLOGIES = [
    row("TOPO-2 Segment", shape()),
    row("TOPO-2 Box", shape("Box", size=[2, 2], orientation="Fixed")),
    row("TOPO-2 Connected", shape("Connected")),
    row("TOPO-2 Compact", shape("Compact", maxDistance=2)),
    row("TOPO-2 Subtree", shape("Subtree", level="island")),
    row("TOPO-1 name", shape(name=""), f"{AT}[0].topology.name: Required value"),
    row("TOPO-1 no shape", shape(""), f"structure {AT}[0].topology.shape: Required value"),
    row("TOPO-2 shape", shape("Ball"), f'structure {AT}[0].topology.shape: Unsupported value: "Ball"...Connected'),
    row("TOPO-2 Box without size", shape("Box"), f"structure {AT}[0].topology.size: Required value"),
    row(
        "TOPO-2 Box of nothing",
        shape("Box", size=[2, 0]),
        f"structure {AT}[0].topology.size[1]: Invalid value: 0: must be greater than zero",
    ),
    row(
        "TOPO-2 orientation",
        shape("Box", size=[1], orientation="Left"),
        f'structure {AT}[0].topology.orientation: Unsupported value: "Left": supported values: "Any", "Fixed"',
    ),
    row(
        "TOPO-2 distance",
        shape("Compact", maxDistance=-1),
        f"structure {AT}[0].topology.maxDistance: Invalid value: -1: must not be negative",
    ),
    row("TOPO-2 no level", shape("Subtree"), f"structure {AT}[0].topology.level: Required value"),
    row(
        "TOPO-2 field of another shape",
        shape(size=[2], level="x"),
        f'structure {AT}[0].topology.size: Forbidden: is not for shape "Segment"',
        f'structure {AT}[0].topology.level: Forbidden: is not for shape "Segment"',
    ),
]


@pytest.mark.parametrize(("edits", "expected"), [*ENTRIES, *TOPOLOGIES])
def test_entries(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), ENTRIES)
def test_entries_of_a_template(edits, expected):
    """The same in the template's own metadata, and in that of the claims to be made."""
    assert_problems(problems("ResourceClaimTemplate", edits), expected)
    moved = {f"spec {path}": value for path, value in edits.items()}
    found = [problem.replace(f"spec.{AT}", AT, 1) for problem in problems("ResourceClaimTemplate", moved)]
    assert_problems(found, expected)


def test_a_template_has_them_in_one_place():
    both = {**match(), "spec metadata annotations": match()["metadata annotations"]}
    assert_problems(
        problems("ResourceClaimTemplate", both),
        (f"structure spec.{AT}: Forbidden: is in metadata.annotations of the template too",),
    )
