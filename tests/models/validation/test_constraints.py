"""Entries of constraints beyond attributes: expressions, and semantics of attributes (CELC-1, SEM-1)."""

import pytest
from support.validation import assert_problems, problems, row

AT = "spec.devices.constraints[0]"


def entry(**fields):
    return {"spec devices constraints 0": fields}


def cel(expression="true", **fields):
    return entry(cel={"expression": expression}, **fields)


def match(mode, spelling="matchSemantics", **options):
    return entry(matchAttribute="a/b", **{spelling: {"mode": mode, "options": options}})


def distinct(mode, spelling="distinctSemantics", **options):
    return entry(distinctAttribute="a/b", **{spelling: {"mode": mode, "options": options}})


EXPRESSIONS = [
    row("CELC-1 alone", cel()),
    row(
        "CELC-1 beside a match",
        cel(matchAttribute="a/b"),
        f"structure {AT}.cel: Forbidden: may not be set beside `matchAttribute`",
    ),
    row(
        "CELC-1 beside a distinct",
        cel(distinctAttribute="a/b"),
        f"structure {AT}.cel: Forbidden: may not be set beside `distinctAttribute`",
    ),
    row("CELC-1 empty", cel(" "), f"{AT}.cel.expression: Required value"),
    row("CELC-1 10240 bytes", cel("x" * 10240)),
    row("CELC-1 10241 bytes", cel("x" * 10241), f"{AT}.cel.expression: Too long: may not be more than 10240 bytes"),
]
SEMANTICS = [
    row("SEM-1 Identical", match("Identical", identical={"coerceScalarToList": True, "listMode": "Set"})),
    row("SEM-1 List", match("Identical", identical={"listMode": "List"})),
    row(
        "SEM-1 NonEmptyIntersection",
        match("NonEmptyIntersection", nonEmptyIntersection={"coerceScalarToList": False, "minSize": 2}),
    ),
    row("SEM-1 AllDistinct", distinct("AllDistinct", allDistinct={"coerceScalarToList": True, "listMode": "Set"})),
    row("SEM-1 EmptyIntersection", distinct("EmptyIntersection", emptyIntersection={"coerceScalarToList": True})),
    row("SEM-1 PairwiseDisjoint", distinct("PairwiseDisjoint", pairwiseDisjoint={"coerceScalarToList": True})),
    row("SEM-1 no options", entry(matchAttribute="a/b", matchSemantics={"mode": "Identical"})),
    row("SEM-1 unified, match", match("Identical", "semantics")),
    row("SEM-1 unified, distinct", distinct("AllDistinct", "semantics")),
    row(
        "SEM-1 unified, of the other attribute",
        match("AllDistinct", "semantics"),
        f'structure {AT}.semantics.mode: Unsupported value: "AllDistinct": supported values: '
        '"Identical", "NonEmptyIntersection"',
    ),
    row(
        "SEM-1 unified, both attributes",
        entry(matchAttribute="a/b", distinctAttribute="a/b", semantics={"mode": "Identical"}),
        f"warning {AT}.distinctAttribute: ignored",
        f"structure {AT}.semantics: Forbidden: may only be set beside either `matchAttribute` or `distinctAttribute`",
    ),
    row(
        "SEM-1 unified, no attribute",
        cel(semantics={"mode": "Identical"}),
        f"structure {AT}.semantics: Forbidden: may only be set beside `matchAttribute` or `distinctAttribute`",
    ),
    row(
        "SEM-1 match beside distinct",
        distinct("Identical", "matchSemantics"),
        f"structure {AT}.matchSemantics: Forbidden: may not be set beside `distinctAttribute`",
    ),
    row(
        "SEM-1 distinct beside match",
        match("AllDistinct", "distinctSemantics"),
        f"structure {AT}.distinctSemantics: Forbidden: may not be set beside `matchAttribute`",
    ),
    row(
        "SEM-1 match beside both",
        entry(matchAttribute="a/b", distinctAttribute="a/b", matchSemantics={"mode": "Identical"}),
        f"warning {AT}.distinctAttribute: ignored",
        f"structure {AT}.matchSemantics: Forbidden: may not be set beside `distinctAttribute`",
    ),
    row(
        "SEM-1 semantics without attribute",
        cel(distinctSemantics={"mode": "AllDistinct"}),
        f"structure {AT}.distinctSemantics: Forbidden: may only be set beside `distinctAttribute`",
    ),
    row(
        "SEM-1 two spellings",
        entry(matchAttribute="a/b", matchSemantics={"mode": "Identical"}, semantics={"mode": "Identical"}),
        f"structure {AT}.semantics: Forbidden: may not be set beside `matchSemantics`",
    ),
    row(
        "SEM-1 unknown mode",
        match("identical"),
        f'structure {AT}.matchSemantics.mode: Unsupported value: "identical": supported values: "Identical", ',
    ),
    row("SEM-1 no mode", match(""), f"structure {AT}.matchSemantics.mode: Required value"),
    row(
        "SEM-1 mode of the other attribute",
        distinct("Identical"),
        f'structure {AT}.distinctSemantics.mode: Unsupported value: "Identical": supported values: '
        '"AllDistinct", "EmptyIntersection", "PairwiseDisjoint"',
    ),
    row(
        "SEM-1 options of another mode",
        match("Identical", nonEmptyIntersection={"minSize": 1}),
        f"structure {AT}.matchSemantics.options.nonEmptyIntersection: Forbidden: these are not options of mode "
        "Identical",
    ),
    row(
        "SEM-1 option that the mode lacks",
        match("Identical", identical={"minSize": 1}),
        f"structure {AT}.matchSemantics.options.identical.minSize: Forbidden: the mode has no such option",
    ),
    row(
        "SEM-1 list mode of a mode of sets",
        distinct("EmptyIntersection", emptyIntersection={"listMode": "Set"}),
        f"structure {AT}.distinctSemantics.options.emptyIntersection.listMode: Forbidden: the mode has no such option",
    ),
    row(
        "SEM-1 unknown list mode",
        distinct("AllDistinct", allDistinct={"listMode": "Bag"}),
        f'structure {AT}.distinctSemantics.options.allDistinct.listMode: Unsupported value: "Bag": '
        'supported values: "List", "Set"',
    ),
    row(
        "SEM-1 minSize 0",
        match("NonEmptyIntersection", nonEmptyIntersection={"minSize": 0}),
        f"structure {AT}.matchSemantics.options.nonEmptyIntersection.minSize: Invalid value: 0: "
        "must be greater than zero",
    ),
]


@pytest.mark.parametrize(("edits", "expected"), EXPRESSIONS)
def test_expressions(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), SEMANTICS)
def test_semantics(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)
