"""Compile the entries of claims: to constraints that a search prunes with, or to relations (CON-1, CELC-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ..models.entries import TopologyAsk
from ..models.placed_devices import TopologyError
from ..models.predicates import Predicate
from ..models.topology_asks import misfit
from .asks import Ask
from .cel_condition import CelCondition
from .constraints import Kind, Values, compile_constraint
from .entries import EntryKind, Posed, applies
from .messages import Blank
from .outcomes import FatalError
from .predicate_condition import PredicateCondition
from .records import Constraint
from .relations import Condition, Relation
from .selectors import ExpressionError, Expressions
from .shapes import Shape
from .token_condition import TokenCondition
from .topology import TopologyCondition
from .topology_places import TopologyPlaces

Asks = Sequence[tuple[int, Ask]]
"""Asks with the numbers of their demands."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What entries are compiled against: the devices of a shape, their values, and who evaluates expressions.

    ``errors_abort``: a run-time error is the end of the allocation (policy ``kube``, CELC-4).
    """

    shape: Shape
    values: Values
    expressions: Expressions
    cel_road: str
    errors_abort: bool
    topologies: TopologyPlaces


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


def compile_joint_entry(posed: Posed, claims: tuple[int, ...], asks: Asks, ground: Ground) -> Relation:
    """Compile an entry that spans claims, on the asks that it applies to. Raises ``FatalError``."""
    made = _COMPILERS[posed.kind](posed, claims[0], asks, ground)
    if isinstance(made, Constraint):
        made = _relation(posed, claims[0], asks, TokenCondition(made), ground)
    return replace(made, claims=claims)


def _attribute(kind: Kind) -> Callable[[Posed, int, Asks, Ground], Constraint | Relation]:
    def compile_(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Constraint | Relation:
        constraint = compile_constraint(posed, kind, claim, asks, ground.values)
        if posed.entry.weight is None and not constraint.overlap:
            return constraint
        return _relation(posed, claim, asks, TokenCondition(constraint), ground)

    return compile_


def _cel(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Relation:
    subject = ("claim ", Blank.CLAIM, f", {posed.label}")
    text = posed.entry.cel.expression if posed.entry.cel else ""
    expression = ground.expressions.device_set(text)
    if isinstance(expression, ExpressionError):
        raise FatalError("cel", (*subject, f": CEL compile error: {expression.text}"), claim=claim)
    profiles = ground.shape.profiles
    prepared = (ground.expressions.prepared(profile) for profile in dict.fromkeys(profiles))
    ordered = expression.ordered or expression.ordered_among(prepared)
    condition = CelCondition(expression, profiles, ground.expressions, ordered, ground.cel_road, subject)
    return _relation(posed, claim, asks, condition, ground)


def _topology(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Relation:
    ask = posed.entry.topology or TopologyAsk()
    topology = ground.topologies.topologies.get(ask.name)
    problem = misfit(ask, topology.spec) if topology else f"there is no DeviceTopology {ask.name}"
    if topology is None or problem:
        raise FatalError("topology", ("claim ", Blank.CLAIM, f", {posed.label}: {problem}"), claim=claim)
    try:
        condition = TopologyCondition(ask, ground.topologies.of(topology, ground.shape))
    except TopologyError as error:
        raise _misplaced(posed, claim, error) from None
    return _relation(posed, claim, asks, condition, ground)


def _misplaced(posed: Posed, claim: int, error: TopologyError) -> FatalError:
    """Say that devices contradict their topology; whoever validates the input has named them (TOPO-3)."""
    start = ("claim ", Blank.CLAIM, f", {posed.label}: ")
    if not isinstance(error.device, int):
        return FatalError("topology", (*start, str(error)), claim=claim)
    return FatalError("topology", (*start, "no place for device ", Blank.DEVICE), claim=claim, device=error.device)


def _predicate(posed: Posed, claim: int, asks: Asks, ground: Ground) -> Relation:
    condition = PredicateCondition(cast("Predicate", posed.predicate), ground.shape.profiles)
    return _relation(posed, claim, asks, condition, ground)


def _relation(posed: Posed, claim: int, asks: Asks, condition: Condition, ground: Ground) -> Relation:
    demands = frozenset(index for index, _ in asks)
    per_pair = posed.entry.per == "Pair"
    entry = posed.entry
    return Relation(
        posed.kind,
        (claim,),
        posed.position,
        posed.label,
        demands,
        condition,
        entry.weight,
        per_pair,
        fatal=ground.errors_abort,
    )


_COMPILERS: dict[EntryKind, Callable[[Posed, int, Asks, Ground], Constraint | Relation]] = {
    "matchAttribute": _attribute("matchAttribute"),
    "distinctAttribute": _attribute("distinctAttribute"),
    "cel": _cel,
    "topology": _topology,
    "predicate": _predicate,
}
