"""Compile the entries of claims: to constraints that a search prunes with, or to relations (CON-1, CELC-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .asks import Ask
from .cel_condition import CelCondition
from .constraints import Kind, Values, compile_constraint
from .entries import EntryKind, Posed, applies
from .messages import Blank
from .outcomes import FatalError
from .records import Constraint
from .relations import Condition, Relation
from .selectors import ExpressionError, Expressions
from .shapes import Shape
from .token_condition import TokenCondition

Asks = Sequence[tuple[int, Ask]]
"""Asks with the numbers of their demands."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What entries are compiled against: the devices of a shape, their values, and who evaluates expressions."""

    shape: Shape
    values: Values
    expressions: Expressions
    cel_road: str


def compile_entries(
    entries: Iterable[Posed], claim: int, asks: Asks, ground: Ground
) -> tuple[list[Constraint], list[Relation]]:
    """Compile the entries of a claim. Raises ``FatalError``."""
    constraints: list[Constraint] = []
    relations: list[Relation] = []
    for posed in entries:
        covered = [(index, ask) for index, ask in asks if applies(posed.entry, ask.request, ask.subrequest)]
        made = _COMPILERS[posed.kind](posed, claim, covered, ground)
        if isinstance(made, Constraint):
            constraints.append(made)
        else:
            relations.append(made)
    return constraints, relations


def _attribute(kind: Kind) -> Callable[[Posed, int, Asks, Ground], Constraint | Relation]:
    def compile_(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Constraint | Relation:
        constraint = compile_constraint(posed, kind, claim, asks, ground.values)
        if posed.entry.weight is None:
            return constraint
        return _relation(posed, claim, asks, TokenCondition(constraint))

    return compile_


def _cel(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Relation:
    subject = ("claim ", Blank.CLAIM, f", {posed.label}")
    text = posed.entry.cel.expression if posed.entry.cel else ""
    expression = ground.expressions.device_set(text)
    if isinstance(expression, ExpressionError):
        raise FatalError("cel", (*subject, f": CEL compile error: {expression.text}"), claim=claim)
    condition = CelCondition(expression, ground.shape.profiles, ground.expressions, ground.cel_road, subject)
    return _relation(posed, claim, asks, condition)


def _topology(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Relation:
    raise NotImplementedError


def _relation(posed: Posed, claim: int, asks: Asks, condition: Condition) -> Relation:
    demands = frozenset(index for index, _ in asks)
    per_pair = posed.entry.per == "Pair"
    entry = posed.entry
    return Relation(posed.kind, (claim,), posed.position, posed.label, demands, condition, entry.weight, per_pair)


_COMPILERS: dict[EntryKind, Callable[[Posed, int, Asks, Ground], Constraint | Relation]] = {
    "matchAttribute": _attribute("matchAttribute"),
    "distinctAttribute": _attribute("distinctAttribute"),
    "cel": _cel,
    "topology": _topology,
}
