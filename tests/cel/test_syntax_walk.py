"""Passes over trees without recursion."""

from __future__ import annotations

from typing import Any

import pytest

from drasat.cel.parser import parse
from drasat.cel.syntax import Call, Chain, Ident, ListLiteral, Literal, Unary, Walk, children, walk


def count(node: Any) -> Walk[int]:
    """The number of nodes in a tree."""
    total = 1
    for child in children(node):
        total += yield child
    return total


HANDLERS = {Literal: lambda node: 1, Ident: lambda node: 1, ListLiteral: count, Unary: count, Chain: count, Call: count}


@pytest.mark.parametrize(("text", "nodes"), [("1", 1), ("[1, 2]", 3), ("-a + f(b, [c])", 7), ("[[[]]]", 3)])
def test_results_of_children_are_sent_to_their_parents(text: str, nodes: int) -> None:
    assert walk(HANDLERS, parse(text)) == nodes


def test_depth_needs_no_stack() -> None:
    def deep(frames: int) -> int:
        return deep(frames - 1) if frames else walk(HANDLERS, tree)

    tree: Any = Literal(1, 0)
    for _ in range(5000):
        tree = Unary("-", tree, 0)
    assert deep(500) == 5001


def test_errors_of_a_handler_reach_the_visits_around() -> None:
    caught: list[str] = []

    def guarded(node: Any) -> Walk[int]:
        total = 0
        for child in children(node):
            total += yield child
        caught.append("done")
        return total

    def failing(node: Any) -> int:
        raise KeyError(node.name)

    with pytest.raises(KeyError, match="x"):
        walk({ListLiteral: guarded, Ident: failing}, parse("[[x]]"))
    assert caught == []
