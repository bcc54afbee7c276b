"""Tokens to syntax tree: shapes, places, macros, qualified names."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat.cel.errors import CelCompileError
from drasat.cel.parser import RESERVED, parse
from drasat.cel.syntax import (
    Bind,
    Call,
    Chain,
    Conditional,
    Has,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Logical,
    Macro,
    MapLiteral,
    Method,
    Node,
    Postfix,
    Select,
    Struct,
    Unary,
    children,
    position,
)


def shape(node: object) -> object:
    """A tree without places, in short: names for identifiers, values for literals, lists for everything else."""
    return SHAPES[type(node)](node)  # type: ignore[operator]


SHAPES = {
    Literal: lambda n: n.value,
    Ident: lambda n: n.name,
    ListLiteral: lambda n: ["list", *map(shape, n.elements), *(["?", *sorted(n.optional)] if n.optional else [])],
    MapLiteral: lambda n: ["map", *([shape(k), shape(v)] for k, v in n.entries), *(["?"] if n.optional else [])],
    Struct: lambda n: ["struct", n.name, *([k, shape(v)] for k, v in n.entries)],
    Unary: lambda n: [n.operator, shape(n.operand)],
    Chain: lambda n: [shape(n.first), *(part for op, operand, _ in n.rest for part in (op, shape(operand)))],
    Logical: lambda n: [n.operator, *map(shape, n.operands)],
    Conditional: lambda n: ["?:", *(part for branch in n.branches for part in map(shape, branch)), shape(n.otherwise)],
    Call: lambda n: [f"{n.function}()", *map(shape, n.args)],
    Has: lambda n: ["has", shape(n.operand), n.field],
    Bind: lambda n: ["bind", n.variable, shape(n.init), shape(n.body)],
    Postfix: lambda n: [shape(n.operand), *map(shape, n.steps)],
    Select: lambda n: f".{'?' if n.optional else ''}{n.field}",
    Index: lambda n: [f"[{'?' if n.optional else ''}]", shape(n.key)],
    Method: lambda n: [f".{n.name}()", *map(shape, n.args)],
    Macro: lambda n: [n.name, *n.variables, n.condition and shape(n.condition), n.body and shape(n.body)],
}


@pytest.mark.parametrize(("text", "expected"), cases("cel/parser", "operators_bind_as_the_language_has_it"))
def test_operators_bind_as_the_language_has_it(text: str, expected: object) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(("text", "expected"), cases("cel/parser", "prefixes_are_folded"))
def test_prefixes_are_folded(text: str, expected: object) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(("text", "expected"), cases("cel/parser", "selections_indexes_and_calls_are_one_chain"))
def test_selections_indexes_and_calls_are_one_chain(text: str, expected: object) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(("text", "expected"), cases("cel/parser", "literals_of_many_parts"))
def test_literals_of_many_parts(text: str, expected: object) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(("text", "expected"), cases("cel/parser", "macros_are_known_by_name_and_number_of_arguments"))
def test_macros_are_known_by_name_and_number_of_arguments(text: str, expected: object) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.all(x)", ["a", [".all()", "x"]]),
        ("a.map(x)", ["a", [".map()", "x"]]),
        ("a.existsOne(x, b)", ["a", [".existsOne()", "x", "b"]]),
        ("a.bind(x, b, c)", ["a", [".bind()", "x", "b", "c"]]),
        ("cel.bind(x, b)", ["cel", [".bind()", "x", "b"]]),
        ("has(a, b)", ["has()", "a", "b"]),
        ("all(x, b)", ["all()", "x", "b"]),
        ("a.has(b.c)", ["a", [".has()", ["b", ".c"]]]),
    ],
)
def test_calls_of_other_arity_are_no_macros(text: str, expected: object) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sets.contains(a, b)", ["sets.contains()", "a", "b"]),
        (".sets.contains(a, b)", [".sets.contains()", "a", "b"]),
        ("(sets).contains(a, b)", ["sets.contains()", "a", "b"]),
        ("sets.contains(a, b).c", [["sets.contains()", "a", "b"], ".c"]),
        ("sets.other(a)", ["sets", [".other()", "a"]]),
        ("a.sets.contains(b)", ["a", ".sets", [".contains()", "b"]]),
        ("sets.?contains", ["sets", ".?contains"]),
    ],
)
def test_qualified_functions_are_calls(text: str, expected: object) -> None:
    assert shape(parse(text, functions=frozenset({"sets.contains"}))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("net.IP", "net.IP"),
        (".net.IP", ".net.IP"),
        ("net.IP.x", ["net.IP", ".x"]),
        ("net.IP == a", ["net.IP", "==", "a"]),
        ("net.IP.f(a)", ["net.IP", [".f()", "a"]]),
        ("a.net.IP", ["a", ".net", ".IP"]),
        ("net", "net"),
        ("net.?IP", ["net", ".?IP"]),
        ("v.w.x.y", ["v.w.x", ".y"]),
        ("v.w.y", ["v.w", ".y"]),
    ],
)
def test_longest_qualified_name_is_one_identifier(text: str, expected: object) -> None:
    assert shape(parse(text, names=frozenset({"net.IP", "v.w", "v.w.x"}))) == expected


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_reserved_words_are_no_identifiers(word: str) -> None:
    for text in (word, f"{word}(1)"):
        with pytest.raises(CelCompileError, match=f"1:1: reserved identifier: {word}"):
            parse(text)


@pytest.mark.parametrize(("text", "expected"), cases("cel/parser", "nodes_stand_where_cel_go_places_them"))
def test_nodes_stand_where_cel_go_places_them(text: str, expected: int) -> None:
    assert position(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["a + b * c - d", "a.b[c].d(e).all(x, y)", "a ? b : c ? d : e", "{a: [b, {c: -d}]}", "f(a, g(!b)) && c in d || e"],
)
def test_operations_have_places_of_their_own(text: str) -> None:
    found: list[int] = []

    def visit(node: Node) -> None:
        if type(node) in (Literal, Ident, Call, ListLiteral, MapLiteral, Unary):
            found.append(node.pos)
        elif type(node) is Postfix:
            found.extend(step.pos for step in node.steps)
        elif type(node) is Chain:
            found.extend(pos for _, _, pos in node.rest)
        elif type(node) in (Logical, Conditional):
            found.extend(node.positions)
        for child in children(node):
            visit(child)

    visit(parse(text))
    assert len(found) == len(set(found))


def test_children_are_given_in_written_order() -> None:
    tree = parse("a.b[c].d(e, f).map(x, g, h)")
    assert [shape(child) for child in children(tree)] == ["a", "c", "e", "f", "g", "h"]
    assert [shape(child) for child in children(parse("a ? b : c ? d : e"))] == ["a", "b", "c", "d", "e"]
    assert [shape(child) for child in children(parse("{a: b, c: d}"))] == ["a", "b", "c", "d"]
    assert list(children(parse("a"))) == []


def test_trees_of_equal_texts_are_equal() -> None:
    assert parse("a.b == [1, 'x']") == parse("a.b == [1, 'x']")
    assert parse("a.b == [1, 'x']") != parse("a.b == [1, 'y']")
