"""Macros over lists whose length depends on the counts.

As in cel-go, ``all`` and ``exists`` absorb errors where another element decides; ``exists_one``, ``filter`` and ``map``
do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from ...cel.syntax import Macro
from ...cel.values import NONE, CelMap, Optional
from .sums import FALSE, TRUE, Handle, Sum, SumTerm
from .symbolic_bags import as_bag, wrapped
from .symbolic_groups import Group
from .symbolic_loops import Loop, Source
from .symbolic_values import FAILED, Bag, Cell, Known, Leaf, NotLoweredError, Symbol, known, one

if TYPE_CHECKING:
    from .symbolic_environment import Environment
    from .symbolic_lowering import Lowering

_Fold: TypeAlias = "Callable[[Lowering, Macro, Loop], Symbol]"
_Placed: TypeAlias = tuple[int, Cell]


def _quantifier(decisive: bool) -> _Fold:
    """``exists`` (true decides) and ``all`` (false decides)."""

    def fold(lowering: Lowering, _step: Macro, loop: Loop) -> Symbol:
        conj, disj = lowering.formulas.conj, lowering.formulas.disj
        deciding: list[Handle] = []
        failing: list[Handle] = []
        for group, symbol in loop.elements(skipped=not decisive):
            verdict = lowering.cases.verdict(symbol)
            decides = verdict.true if decisive else verdict.false
            if decides != FALSE:
                deciding.append(conj((group.present(lowering.cases), decides)))
            if verdict.error != FALSE:
                failing.append(conj((group.present(lowering.cases), verdict.error)))
        decided = disj(deciding)
        error = conj((disj(failing), ~decided))
        return lowering.cases.boolean(decided if decisive else conj((~decided, ~error)), error)

    return fold


class _Collected:
    """Elements that a macro keeps, and when it fails."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._failing: list[Handle] = []
        self.placed: list[_Placed] = []

    def fail(self, group: Group, error: Handle) -> None:
        """An error, where any of the group is there."""
        if error != FALSE:
            present = group.present(self._lowering.cases)
            self._failing.append(self._lowering.formulas.conj((present, error)))

    def keep(self, group: Group, value: Symbol | None, condition: Handle) -> None:
        """Elements with this value, or their own, where the condition holds."""
        self._lowering.budget.spend(len(group.cells))
        for place, cell in zip(group.places, group.cells, strict=True):
            gate = cell.gate if condition == TRUE else self._lowering.formulas.conj((cell.gate, condition))
            self.placed.append((place, Cell(cell.value if value is None else value, cell.item, gate)))

    def symbol(self, make: Callable[[list[Cell]], Symbol]) -> Symbol:
        """What is made of the elements, in their order."""
        cells = [cell for _, cell in sorted(self.placed, key=lambda placed: placed[0])]
        return self._lowering.cases.failing(self._lowering.formulas.disj(self._failing), make(cells))


def _selected(lowering: Lowering, loop: Loop) -> _Collected:
    """The elements for which the condition holds."""
    kept = _Collected(lowering)
    for group, symbol in loop.elements(skipped=False):
        verdict = lowering.cases.verdict(symbol)
        kept.fail(group, verdict.error)
        if verdict.true != FALSE:
            kept.keep(group, None, verdict.true)
    return kept


def _exists_one(lowering: Lowering, _step: Macro, loop: Loop) -> Symbol:
    def once(cells: Iterable[Cell]) -> Symbol:
        terms: list[SumTerm] = [(cell.item, cell.gate, 1) for cell in cells]
        return lowering.cases.boolean(lowering.formulas.equal(Sum.of_terms(0, terms), 1))

    return _selected(lowering, loop).symbol(once)


def _filter(lowering: Lowering, _step: Macro, loop: Loop) -> Symbol:
    return _selected(lowering, loop).symbol(lambda cells: one(Bag(cells)))


def _map(lowering: Lowering, step: Macro, loop: Loop) -> Symbol:
    assert step.body is not None
    kept = _Collected(lowering)
    body = loop.body(step.body)
    found = loop.elements(skipped=False) if step.condition is not None else ((group, None) for group in loop.groups)
    for group, symbol in found:
        condition = TRUE
        if symbol is not None:
            verdict = lowering.cases.verdict(symbol)
            kept.fail(group, verdict.error)
            condition = verdict.true
        if condition != FALSE:
            value = body(group)
            kept.fail(group, lowering.formulas.conj((condition, value.error)))
            kept.keep(group, value if value.error == FALSE else Symbol(value.cases), condition)
    return kept.symbol(lambda cells: one(Bag(cells)))


_FOLDS: dict[str, _Fold] = {
    "all": _quantifier(False),
    "exists": _quantifier(True),
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
}


def macro(lowering: Lowering, step: Macro, receiver: Symbol, environment: Environment) -> Symbol:
    """A macro on its receiver; ``NotLoweredError`` for those that have no formula."""
    if step.name in _OPTIONAL:
        return lowering.cases.combine((receiver,), lambda leaves: _on_optional(lowering, step, leaves[0], environment))
    fold = _FOLDS.get(step.name)
    if fold is None:
        raise NotLoweredError(f"{step.name} of what depends on the counts")

    def apply(leaves: tuple[Leaf, ...]) -> Symbol:
        source = _source(leaves[0], len(step.variables))
        return (
            FAILED
            if source is None
            else _ordered_as(source.bag, fold(lowering, step, Loop(lowering, step, source, environment)))
        )

    return lowering.cases.combine((receiver,), apply)


def _ordered_as(bag: Bag, made: Symbol) -> Symbol:
    """Lists made of one without order have none."""
    if not bag.ordered:
        for _, leaf in made.cases:
            if type(leaf) is Bag:
                leaf.ordered = False
    return made


def _source(leaf: Leaf, variables: int) -> Source | None:
    """What a macro goes over; None where that is no list or map."""
    if type(leaf) is Known and type(leaf.value) is CelMap:
        keys = list(map(known, leaf.value))
        values = [known(value) for value in leaf.value.values()] if variables == 2 else keys
        return Source(Bag([Cell(value) for value in values]), keys)
    bag = as_bag(leaf)
    if bag is None:
        return None
    return Source(bag, list(map(known, range(len(bag.cells)))) if bag.is_literal else None)


_OPTIONAL = frozenset({"optMap", "optFlatMap"})


def _on_optional(lowering: Lowering, step: Macro, leaf: Leaf, environment: Environment) -> Symbol:
    if type(leaf) is not Known or type(leaf.value) is not Optional:
        return FAILED
    if not leaf.value.present:
        return known(NONE)
    assert step.body is not None
    value = lowering.value(step.body, environment.with_({step.variables[0]: known(leaf.value.value)}))
    return wrapped(lowering.cases, value) if step.name == "optMap" else value
