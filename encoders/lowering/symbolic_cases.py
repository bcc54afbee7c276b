"""Putting symbols together case by case."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from .formulas import Formulas
from .sums import FALSE, TRUE, Handle
from .symbolic_keys import identity
from .symbolic_values import FAILED, NO, YES, Budget, Known, Leaf, Symbol, known, one


@dataclass(frozen=True, slots=True)
class Verdict:
    """A symbol as a condition: true, false, or an error, where values of other types count as errors."""

    true: Handle
    false: Handle
    error: Handle


_SURE = {YES: Verdict(TRUE, FALSE, FALSE), NO: Verdict(FALSE, TRUE, FALSE), FAILED: Verdict(FALSE, FALSE, TRUE)}


class Cases:
    """Symbols out of symbols, over the formulas of one lowering."""

    def __init__(self, formulas: Formulas, budget: Budget) -> None:
        self.formulas = formulas
        self.budget = budget

    def verdict(self, symbol: Symbol) -> Verdict:
        """When a symbol is true, false, and neither."""
        sure = _SURE.get(symbol)
        if sure is not None:
            return sure
        disj = self.formulas.disj
        true = disj([guard for guard, leaf in symbol.cases if type(leaf) is Known and leaf.value is True])
        false = disj([guard for guard, leaf in symbol.cases if type(leaf) is Known and leaf.value is False])
        others = [guard for guard, leaf in symbol.cases if type(leaf) is not Known or type(leaf.value) is not bool]
        return Verdict(true, false, disj([symbol.error, *others]))

    def boolean(self, true: Handle, error: Handle = FALSE) -> Symbol:
        """The symbol of a condition that excludes ``error``."""
        if true == TRUE or error == TRUE:
            return known(True) if true == TRUE else FAILED
        false = self.formulas.conj((~true, ~error))
        cases = ((true, Known(True)), (false, Known(False)))
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
                found.setdefault(_sameness(leaf), (leaf, []))[1].append(conj((condition, guard)))
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
        return self.gather((guard, one(leaf)) for guard, leaf in cases)


def _sameness(leaf: Leaf) -> Hashable:
    """Leaves that share this are one."""
    key = identity(leaf.value) if type(leaf) is Known else None
    return id(leaf) if key is None else key
