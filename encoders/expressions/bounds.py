"""What evaluating an expression over ``devices`` may cost at most (CELC-6).

The limit of costs is an error of its own, which no formula tells: an expression is lowered only where the static
estimate shows that the limit cannot be reached, for the devices there are and as many as may be chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...cel import syntax
from ...cel.checker import Checked
from ...cel.cost import ITEMS, KEYS, VALUES, Path
from ...cel.declarations import UNBOUNDED, Range
from ...cel.meter import COST_LIMIT
from ...cel.program import Program
from ...cel.syntax import Node, Postfix, Step, children
from ...cel.values import CelMap, Value, inner_size
from .formula_nodes import TRUE, GatedSum
from .formulas import Formulas
from .values import LIST_TYPES, NotLoweredError

# Characters that numbers, times and the like are at most written with, and quoting and UTF-8 add to each.
_WRITTEN, _ENCODED = 1024, 6


def require_within_limit(program: Program, items: Sequence[Value], formulas: Formulas) -> None:
    """``NotLoweredError`` where an evaluation might exceed the limit of costs."""
    most = int(formulas.range_of(GatedSum.of_terms(0, [(item, TRUE, 1) for item in range(len(items))]))[1])
    # The size of the largest value in any item.
    largest, pending = 1, list(items)
    while pending:
        value = pending.pop()
        largest = max(largest, inner_size(value))
        pending.extend(_contained_values(value, ""))
        pending.extend(_map_keys(value, ""))
    unknown = Range(0, largest_value_size(program.checked, max(most, largest)))
    if program.estimate_with(_Sizes(items, most).of, unknown).max > COST_LIMIT:
        raise NotLoweredError("evaluating might exceed the limit of costs")


class _Sizes:
    """The sizes of what there is at the paths of ``devices``."""

    def __init__(self, items: Sequence[Value], most: int) -> None:
        self._values: dict[Path, Sequence[Value]] = {("devices", ITEMS): items}
        self._largest: dict[Path, Range | None] = {("devices",): Range(0, most)}

    def of(self, path: Path) -> Range | None:
        """The size of a variable or of what is in it."""
        if path not in self._largest:
            known = path[0] == "devices"
            self._largest[path] = Range(0, max(map(inner_size, self._at(path)), default=0)) if known else None
        return self._largest[path]

    def _at(self, path: Path) -> Sequence[Value]:
        found = self._values.get(path)
        if found is None:
            inside = _INSIDE.get(path[-1], _any_field)
            found = self._values[path] = [part for value in self._at(path[:-1]) for part in inside(value, path[-1])]
        return found


def _any_field(value: Value, name: str) -> Iterable[Value]:
    return (value.entries[name],) if type(value) is CelMap and name in value.entries else ()


def _contained_values(value: Value, _name: str) -> Iterable[Value]:
    if type(value) is CelMap:
        return value.values()
    return value if type(value) in LIST_TYPES else ()


def _map_keys(value: Value, _name: str) -> Iterable[Value]:
    return value if type(value) is CelMap else ()


_INSIDE: dict[str, Callable[[Value, str], Iterable[Value]]] = {
    ITEMS: _contained_values,
    VALUES: _contained_values,
    KEYS: _map_keys,
}


# --- how large values may become that an expression makes


_DOUBLE_SIZE: Callable[[int], int] = lambda size: 2 * size  # noqa: E731
_SIZE_GROWTH: dict[str, Callable[[int], int]] = {
    "+": _DOUBLE_SIZE,
    "flatten": lambda size: size * size,
    "join": lambda size: 2 * size * size,
    "replace": lambda size: size * size,
    "strings.quote": lambda size: _ENCODED * size + 2,
    "bytes": lambda size: _ENCODED * size,
    "string": lambda size: max(_ENCODED * size, _WRITTEN),
    "split": lambda size: size + 1,
    "findAll": lambda size: size + 1,
}
_UNLIMITED = frozenset({"format", "lists.range", "validate", "transformMapEntry", "transformMap"})
# Overloads of + whose results have no size.
_SIZELESS_OVERLOADS = ("add_int64", "add_uint64", "add_double", "add_duration_", "add_timestamp_")


def largest_value_size(checked: Checked, known: int) -> int:
    """A size that no string, list or map reaches beyond, where those that come in are at most ``known`` large.

    Nothing in the language accumulates: what one place of the expression makes is made of what others make, each of
    which lets sizes grow once.
    """
    size, pending = known, [checked.tree]
    while pending and size < UNBOUNDED:
        node = pending.pop()
        for name in _growing_functions(checked, node):
            size = UNBOUNDED if name in _UNLIMITED else _SIZE_GROWTH.get(name, int)(size)
        measure = _LITERALS.get(type(node))
        if measure is not None:
            size = max(size, measure(node))
        pending.extend(children(node))
    return min(size, UNBOUNDED)


_LITERALS: dict[type, Callable[[Any], int]] = {
    syntax.Literal: lambda node: inner_size(node.value),
    syntax.ListLiteral: lambda node: len(node.elements),
    syntax.MapLiteral: lambda node: len(node.entries),
}


def _growing_functions(checked: Checked, node: Node) -> Iterable[str]:
    """The functions that a node calls which may make something large."""
    if type(node) is syntax.Call:
        if node.function != "lists.range" or not _is_size(node.args[0]):
            yield node.function
    elif type(node) is syntax.Chain:
        yield from ("+" for operator, _, pos in node.rest if operator == "+" and _has_size(checked, pos))
    elif type(node) is Postfix:
        yield from map(_step_name, node.steps)


def _is_size(node: Node) -> bool:
    """Whether a number is the size of something."""
    if type(node) is Postfix:
        return _step_name(node.steps[-1]) == "size"
    return type(node) is syntax.Call and node.function == "size"


def _has_size(checked: Checked, pos: int) -> bool:
    return not all(overload.id.startswith(_SIZELESS_OVERLOADS) for overload in checked.overloads.get(pos, ()))


def _step_name(step: Step) -> str:
    return step.name if isinstance(step, syntax.Method | syntax.Macro) else ""
