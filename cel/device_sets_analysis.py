"""What an expression over ``devices`` can depend on of each device, and whether their order matters (CELC-5, CELC-7).

One pass over the tree follows devices and their parts through variables, lists and functions. Where it loses track,
everything counts as read and order as mattering.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import syntax
from .checker import Checked, result_position
from .device_sets_flow import DEVICES, Flow, Order, joined, strict, typed, worst
from .device_sets_functions import apply, concatenated, contained, opaque
from .device_sets_macros import MACROS
from .device_sets_reads import Demand, Reads
from .devices_projection import Path, outermost
from .syntax import Node, Select
from .walk import Walk, children, walk

_OPERATORS = {"+": concatenated, "in": contained}


@dataclass(frozen=True, slots=True)
class Dependence:
    """What an expression reads of devices, whether it compares them, and how it depends on their order.

    ``demands`` are what must hold for the order not to matter, where ``ordered`` does not say that it does.
    """

    reads: frozenset[Path]
    compares: bool
    ordered: bool
    demands: frozenset[Demand]


def dependence(checked: Checked) -> Dependence:
    """Analyse a checked expression over ``devices``."""
    analysis = Analysis(checked)
    result = walk(analysis.handlers, checked.tree)
    reads = analysis.reads
    compares = reads.compares
    reads.consume(result)
    return Dependence(outermost(reads.paths), compares, result.order is not Order.FREE, frozenset(reads.demands))


class Analysis:
    """The state of the pass: what has been read, and what the names in scope stand for."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.reads = Reads()
        self._scopes: list[dict[str, Flow]] = []
        self.handlers: dict[type, Callable[[Any], Walk[Flow] | Flow]] = {
            **dict.fromkeys((syntax.MapLiteral, syntax.Struct, syntax.Unary, syntax.Logical), self._opaque),
            syntax.Literal: self._literal,
            syntax.Ident: self._ident,
            syntax.ListLiteral: self._list,
            syntax.Chain: self._chain,
            syntax.Conditional: self._conditional,
            syntax.Call: self._call,
            syntax.Has: self._has,
            syntax.Bind: self._bind,
            syntax.Postfix: self._postfix,
        }
        self._steps: dict[type, Callable[[Any, Flow], Walk[Flow]]] = {
            Select: self._select,
            syntax.Index: self._index,
            syntax.Method: self._method,
            syntax.Macro: self._macro,
        }

    @contextmanager
    def scope(self, names: dict[str, Flow]) -> Iterator[None]:
        """The names that a macro binds."""
        self._scopes.append(names)
        yield
        self._scopes.pop()

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> Flow:
        text = node.value if type(node.value) is str else None
        return Flow(rest=frozenset({self.checked.types[node.pos]}), text=text)

    def _ident(self, node: syntax.Ident) -> Flow:
        name = node.name.removeprefix(".")
        bound = [scope[name] for scope in reversed(self._scopes) if name in scope]
        if bound and name == node.name:
            return bound[0]
        own = DEVICES if name == "devices" else typed(self.checked.types[node.pos])
        return joined([own, *bound])

    def _list(self, node: syntax.ListLiteral) -> Walk[Flow]:
        elements = yield from _visit_all(iter(node.elements))
        return Flow(items=self.reads.shallow(joined(elements), Order.FREE), order=strict(*elements))

    # --- operators

    def _opaque(self, node: Node) -> Walk[Flow]:
        flows = yield from _visit_all(children(node))
        return opaque(self.reads, flows, self.checked.types[result_position(node)])

    def _chain(self, node: syntax.Chain) -> Walk[Flow]:
        left = yield node.first
        for operator, operand, pos in node.rest:
            right = yield operand
            left = _OPERATORS.get(operator, opaque)(self.reads, (left, right), self.checked.types[pos])
        return left

    def _conditional(self, node: syntax.Conditional) -> Walk[Flow]:
        flows = yield from _visit_all(part for branch in node.branches for part in branch)
        otherwise = yield node.otherwise
        conditions, values = flows[::2], [*flows[1::2], otherwise]
        self.reads.consume(*conditions)
        return self.reads.shallow(joined(values), max(strict(*conditions), worst(values)))

    # --- functions

    def _call(self, node: syntax.Call) -> Walk[Flow]:
        args = yield from _visit_all(iter(node.args))
        return apply(node.function, self.reads, args, self.checked.types[node.pos])

    def _has(self, node: syntax.Has) -> Walk[Flow]:
        target = yield node.operand
        self.reads.touch(Flow(self.reads.select(target.parts, node.field)))
        return typed(self.checked.types[node.pos], strict(target))

    def _bind(self, node: syntax.Bind) -> Walk[Flow]:
        init = yield node.init
        with self.scope({node.variable: init}):
            return (yield node.body)

    # --- postfix steps

    def _postfix(self, node: syntax.Postfix) -> Walk[Flow]:
        flow = yield node.operand
        for step in node.steps:
            flow = yield from self._steps[type(step)](step, flow)
        return flow

    def _select(self, step: Select, target: Flow) -> Walk[Flow]:
        return self._selected(step, target, step.field)
        yield  # Steps are visited as generators.

    def _index(self, step: syntax.Index, target: Flow) -> Walk[Flow]:
        key = yield step.key
        if key.text is not None:
            return self._selected(step, target, key.text)
        self.reads.touch(target)
        self.reads.consume(key)
        found = joined([target.element(value=True), Flow(rest=self._open(step, target))])
        return self.reads.shallow(found, strict(target, key))

    def _selected(self, step: syntax.Select | syntax.Index, target: Flow, name: str) -> Flow:
        parts = self.reads.select(target.parts, name)
        return Flow(parts, self._open(step, target), order=strict(target))

    def _open(self, step: syntax.Select | syntax.Index, target: Flow) -> frozenset[Any]:
        """The type of what is selected from something that is no part of a device."""
        return frozenset({self.checked.types[step.pos]}) if target.rest else frozenset()

    def _method(self, step: syntax.Method, target: Flow) -> Walk[Flow]:
        args = yield from _visit_all(iter(step.args))
        return apply(step.name, self.reads, [target, *args], self.checked.types[step.pos])

    def _macro(self, step: syntax.Macro, target: Flow) -> Walk[Flow]:
        return (yield from MACROS[step.name](self, step, target))


def _visit_all(nodes: Iterator[Node]) -> Generator[Node, Flow, list[Flow]]:
    flows = []
    for node in nodes:
        flow = yield node
        flows.append(flow)
    return flows
