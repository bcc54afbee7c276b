"""Symbols: what an expression over ``devices`` may give while the counts of the devices are open.

A *symbol* is a value by cases: conditions on the counts that exclude each other, the *leaf* each of them leads to, and
the condition under which evaluation fails. One of these holds for every vector of counts. ``SymbolBuilder`` puts
symbols together case by case; keys of values find equal or indistinguishable ones without comparing all pairs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from ...cel.closures import lookup
from ...cel.values import MISSING, CelMap, Duration, Timestamp, UInt, Value
from ...models.kubernetes.quantity import Quantity
from ...models.kubernetes.semver import Version
from ...problem.messages import check_deadline
from .formula_nodes import FALSE, ONE, TRUE, GatedSum, Handle
from .formulas import Formulas

# Steps between two looks at the clock.
_PACE = 500


class NotLoweredError(Exception):
    """An expression has no formula: it needs what is not written as one, or more room than allowed."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that does not depend on the counts."""

    value: Value


@dataclass(frozen=True, slots=True)
class LinearNumber:
    """A number of a CEL type (``kind`` is the Python class) that is linear in the counts.

    Quantities are counted in nano units, durations in nanoseconds. ``levels``, where known, are all the values it can
    have, ascending, each with the condition that it is reached or passed; that of the first always holds.
    """

    kind: type
    sum: GatedSum
    levels: tuple[tuple[Value, Handle], ...] = ()


@dataclass(frozen=True, slots=True)
class BagCell:
    """An element of a list: as many copies as there are devices of ``item`` (one for ``ONE``), while ``gate`` holds."""

    value: Symbol
    item: int = ONE
    gate: Handle = TRUE


class Bag:
    """A list whose length depends on the counts; its elements never fail.

    ``ordered`` says that the elements stand in the order of the cells; else nothing may be made of their order.
    """

    def __init__(self, cells: Sequence[BagCell], *, ordered: bool = True) -> None:
        self.cells = tuple(cells)
        self.ordered = ordered
        self.remembered: dict[Hashable, Any] = {}
        """What operations found out about the list, under keys of their own."""

    @cached_property
    def is_literal(self) -> bool:
        """Whether the list has one element for each cell, whatever the counts."""
        return self.ordered and all(cell.item == ONE and cell.gate == TRUE for cell in self.cells)


Leaf: TypeAlias = KnownValue | LinearNumber | Bag


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A value by cases; ``cases`` and ``error`` exclude each other and one of them holds."""

    cases: tuple[tuple[Handle, Leaf], ...]
    error: Handle = FALSE

    @property
    def only(self) -> Leaf | None:
        """The leaf, where there is but one case and no error."""
        return self.cases[0][1] if self.error == FALSE and len(self.cases) == 1 else None


FAILED_SYMBOL: Final = Symbol((), TRUE)


def single_case(leaf: Leaf) -> Symbol:
    """A symbol of one case."""
    return Symbol(((TRUE, leaf),))


TRUE_SYMBOL: Final = single_case(KnownValue(True))
FALSE_SYMBOL: Final = single_case(KnownValue(False))


def known_symbol(value: Value) -> Symbol:
    """A symbol that is always this value; for a bool it is ``TRUE_SYMBOL`` or ``FALSE_SYMBOL``."""
    if value is True:
        return TRUE_SYMBOL
    return FALSE_SYMBOL if value is False else single_case(KnownValue(value))


@dataclass(slots=True)
class StepBudget:
    """Steps left; each is of the order of a few microseconds."""

    left: int
    deadline: float | None = None
    ordered: bool = field(default=False)
    """Whether anything read so far depends on the order of the devices."""
    _looked: int = sys.maxsize

    def spend(self, steps: int) -> None:
        """Take steps off; ``NotLoweredError`` when there are no more, ``DeadlineExceededError`` at the deadline."""
        self.left -= steps
        if self.left < 0:
            raise NotLoweredError("the expression needs too many steps to lower")
        if self.left < self._looked:
            self._looked = self.left - _PACE
            check_deadline(self.deadline)


@dataclass(frozen=True, slots=True)
class TruthFormulas:
    """A symbol as a condition: true, false, or an error, where values of other types count as errors."""

    true: Handle
    false: Handle
    error: Handle


_CONSTANT_TRUTHS = {
    TRUE_SYMBOL: TruthFormulas(TRUE, FALSE, FALSE),
    FALSE_SYMBOL: TruthFormulas(FALSE, TRUE, FALSE),
    FAILED_SYMBOL: TruthFormulas(FALSE, FALSE, TRUE),
}


class SymbolBuilder:
    """Symbols out of symbols, over the formulas of one lowering."""

    def __init__(self, formulas: Formulas, budget: StepBudget) -> None:
        self.formulas = formulas
        self.budget = budget

    def verdict(self, symbol: Symbol) -> TruthFormulas:
        """When a symbol is true, false, and neither."""
        sure = _CONSTANT_TRUTHS.get(symbol)
        if sure is not None:
            return sure
        disj = self.formulas.disj
        true = disj([guard for guard, leaf in symbol.cases if type(leaf) is KnownValue and leaf.value is True])
        false = disj([guard for guard, leaf in symbol.cases if type(leaf) is KnownValue and leaf.value is False])
        others = [guard for guard, leaf in symbol.cases if type(leaf) is not KnownValue or type(leaf.value) is not bool]
        return TruthFormulas(true, false, disj([symbol.error, *others]))

    def boolean(self, true: Handle, error: Handle = FALSE) -> Symbol:
        """The symbol of a condition that excludes ``error``."""
        if true == TRUE or error == TRUE:
            return known_symbol(True) if true == TRUE else FAILED_SYMBOL
        false = self.formulas.conj((~true, ~error))
        cases = ((true, KnownValue(True)), (false, KnownValue(False)))
        return Symbol(tuple(case for case in cases if case[0] != FALSE), error)

    def failing(self, error: Handle, otherwise: Symbol) -> Symbol:
        """A symbol where ``error`` does not hold."""
        return otherwise if error == FALSE else self.gather(((~error, otherwise),), (error,))

    def gather(self, branches: Iterable[tuple[Handle, Symbol]], errors: Iterable[Handle] = ()) -> Symbol:
        """A symbol from others under conditions that, with ``errors``, exclude each other and leave nothing over."""
        conj, disj = self.formulas.conj, self.formulas.disj
        failed = list(errors)
        found: dict[Hashable, tuple[Leaf, list[Handle]]] = {}
        for condition, symbol in branches:
            if condition == FALSE:
                continue
            self.budget.spend(1 + len(symbol.cases))
            failed.append(conj((condition, symbol.error)))
            for guard, leaf in symbol.cases:
                # Leaves that share a key are one.
                key = identity(leaf.value) if type(leaf) is KnownValue else None
                found.setdefault(id(leaf) if key is None else key, (leaf, []))[1].append(conj((condition, guard)))
        cases = [(disj(guards), leaf) for leaf, guards in found.values()]
        return Symbol(tuple(case for case in cases if case[0] != FALSE), disj(failed))

    def combine(self, symbols: Sequence[Symbol], apply: Callable[[tuple[Leaf, ...]], Symbol]) -> Symbol:
        """A strict function: applied for each combination of cases, and an error where an argument is one."""
        only = tuple(leaf for leaf in (symbol.only for symbol in symbols) if leaf is not None)
        if len(only) == len(symbols):
            return apply(only)
        conj = self.formulas.conj
        product: list[tuple[Handle, tuple[Leaf, ...]]] = [(TRUE, ())]
        for symbol in symbols:
            self.budget.spend(len(product) * len(symbol.cases))
            product = [
                (both, (*leaves, leaf))
                for before, leaves in product
                for guard, leaf in symbol.cases
                if (both := conj((before, guard))) != FALSE
            ]
        return self.gather(
            ((guard, apply(leaves)) for guard, leaves in product),
            (self.formulas.disj([symbol.error for symbol in symbols]),),
        )

    def each(self, cases: Iterable[tuple[Handle, Leaf]]) -> Symbol:
        """A symbol of cases that exclude each other and leave nothing over."""
        return self.gather((guard, single_case(leaf)) for guard, leaf in cases)


_SCALARS: tuple[type, ...] = (str, bool, bytes, type(None), Timestamp, Duration)
LIST_TYPES = frozenset({list, tuple})


def _typed_key(value: Any) -> Hashable:
    return type(value), value


def _quantity_key(value: Quantity) -> Hashable:
    return Quantity, value.nano, value.format, value.scale, value.small


def _list_key(values: Any) -> Hashable | None:
    keys = tuple(map(identity, values))
    return None if None in keys else (list, keys)


def identity(value: Value) -> Hashable | None:
    """A key that two values share only if no expression can tell them apart; None: not known."""
    make = _IDENTITIES.get(type(value))
    return None if make is None else make(value)


_IDENTITIES: dict[type, Callable[[Any], Hashable | None]] = {
    **dict.fromkeys((*_SCALARS, int, UInt), _typed_key),
    float: lambda value: (float, repr(value)),
    Version: lambda value: (Version, value.text),
    Quantity: _quantity_key,
    **dict.fromkeys(LIST_TYPES, _list_key),
}


def identity_at(value: Value, path: tuple[str, ...]) -> Hashable | None:
    """As ``identity``, for what constant selections read of a value."""
    for depth, name in enumerate(path):
        if type(value) is not CelMap:
            break
        value = lookup(value, name)
        if value is MISSING:
            return "missing", depth
    return identity(value)


_EQUALITIES: dict[type, Callable[[Any], Hashable | None]] = {
    **dict.fromkeys(_SCALARS, _typed_key),
    **dict.fromkeys((int, UInt), int),
}


def exact_equality(value: Value) -> Hashable | None:
    """A key that two values share exactly if they are equal, provided that both have one; None: it has none."""
    make = _EQUALITIES.get(type(value))
    return None if make is None else make(value)


_LOOSE: dict[type, Callable[[Any], Hashable | None]] = {
    **dict.fromkeys(_SCALARS, _typed_key),
    **dict.fromkeys((int, UInt, float), float),
    **dict.fromkeys((Version, Quantity), _typed_key),
}
OPAQUE: frozenset[type] = frozenset({Version, Quantity})
"""Classes whose values cannot be compared with those of others, but which have a ``loose_equality``."""


def loose_equality(value: Value) -> Hashable | None:
    """A key that equal values always share, and perhaps others; None: it has none.

    Numbers are equal across types, and rounded where one is a double.
    """
    make = _LOOSE.get(type(value))
    return None if make is None else make(value)
