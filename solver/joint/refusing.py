"""Why coupled units cannot be allocated together: one that finds nothing even alone, or what groups demand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...problem.messages import claim_text
from ...problem.outcomes import DeadlineExceededError, FatalError
from ...problem.relations import Relation
from ...problem.token_condition import TokenCondition
from ..attempts import Ending
from ..decision import Answer
from ..failed_nodes import FailedNodes
from ..outcome import UNALLOCATABLE, UNKNOWN, NodeClassFailure, Reason, UnitOutcome
from ..reasons import device_reasons
from .coupling import Seat, Suited
from .posing import Posed

if TYPE_CHECKING:
    from .asking import Asking

# Demands of groups that are tried one by one; of more all are named.
MOST_DEMANDS = 16

GROUP = "constraintGroup"

Alone = tuple[tuple[Reason, ...], tuple[NodeClassFailure, ...]]
"""Why a seat finds nothing even alone."""


class Refusal:
    """Finds the reasons of a no; ``posed`` is the whole question, None if a seat has nothing to go to."""

    def __init__(self, asking: Asking, suited: Sequence[Suited], posed: Posed | None) -> None:
        self._asking = asking
        self._suited = suited
        self._posed = posed
        coupled = asking.coupled
        self._units = ", ".join(unit.name for unit in coupled.units)
        self._groups = ", ".join(tie.label for tie in coupled.ties)

    def outcomes(self) -> list[UnitOutcome]:
        """Give each unit its outcome, with reasons."""
        coupled = self._asking.coupled
        doubt = self._doubt()
        if doubt:
            return [UnitOutcome(unit, UNKNOWN, reasons=(Reason(GROUP, "", doubt),)) for unit in coupled.units]
        alone = [self._alone(seat, own) for seat, own in zip(coupled.seats, self._suited, strict=True)]
        reasons = self._of_others(alone) if any(alone) else self._of_groups()
        found = []
        for seat, own in zip(coupled.seats, alone, strict=True):
            mine, failures = own or (tuple(reasons), ())
            found += [UnitOutcome(unit, UNALLOCATABLE, reasons=mine, failures=failures) for unit in seat.units]
        return found

    def _doubt(self) -> str:
        """Say why the no is not sure, if it is not."""
        together = f"{self._units} cannot be allocated together as {self._groups} demands"
        if any(map(self._asking.may_part, self._asking.coupled.seats)):
            return f"{together} with pods that share a claim on one node"
        return ""

    def _alone(self, seat: Seat, suited: Suited) -> Alone | None:
        """Try a seat alone on all its nodes; None if it fits, or if that is not known."""
        asking = self._asking
        failed = FailedNodes([node.metadata.name for node in suited.nodes])
        for position, node in enumerate(suited.nodes):
            attempt = asking.engine.attempt(node, seat.claims, asking.ledger, asking.deadline)
            if attempt.ending is not Ending.NONE:
                return None
            failed.add(position, attempt)
        report = failed.report()
        names = [claim_text(ref.key) for ref in seat.asked]
        reasons = (*device_reasons(report, names), *suited.reasons)
        return reasons or (Reason("nodes", "", "there are no nodes"),), report

    def _of_others(self, alone: Sequence[Alone | None]) -> list[Reason]:
        """Say whose fault it is that a unit that finds devices alone gets none."""
        pairs = zip(self._asking.coupled.seats, alone, strict=True)
        names = ", ".join(unit.name for seat, own in pairs if own for unit in seat.units)
        return [
            Reason(GROUP, "", f"{names} finds no devices, and {self._groups} demands that all are allocated together")
        ]

    def _of_groups(self) -> list[Reason]:
        """Name a minimal set of demands of groups, so that without any one of them all could be allocated."""
        try:
            needed = self._needed()
        except (DeadlineExceededError, FatalError):
            needed = None
        if needed is None:
            return [Reason(GROUP, "", f"{self._units} cannot be allocated together as {self._groups} demands")]
        if not needed:
            text = "each finds devices alone, but not all of them together, whatever groups demand"
            return [Reason("combination", "", f"{self._units}: {text}")]
        together = "cannot hold for devices of all of them" if len(needed) == 1 else "cannot hold with the others named"
        head = Reason(GROUP, "", f"{self._units}: each finds devices alone, but not all of them as groups demand")
        return [head, *(Reason(one.id, "", f"{_named(one)}: {together}") for one in needed)]

    def _needed(self) -> list[Relation] | None:
        """Leave out demands as long as the rest is still too much (deletion filter); None: too many to try."""
        if self._posed is None:
            return None
        kept = [relation for relation in self._posed.tied if relation.hard]
        if self._is_no(self._posed, ()):
            return []
        if len(kept) > MOST_DEMANDS:
            return None
        for one in tuple(kept):
            rest = [other for other in kept if other is not one]
            if rest and self._is_no(self._posed, rest):
                kept = rest
        return kept

    def _is_no(self, posed: Posed, kept: Collection[Relation]) -> bool:
        """Tell whether the units still do not fit with only these demands of groups."""
        positions = {relation.position for relation in posed.tied} - {relation.position for relation in kept}
        relations = tuple(one for one in posed.problem.relations if one.position not in positions)
        decision = self._asking.decide(posed, replace(posed.problem, relations=relations))
        return decision.answer is Answer.NO


def _named(relation: Relation) -> str:
    condition = relation.condition
    if relation.id == "nodeLabel" or not isinstance(condition, TokenCondition):
        return relation.label
    return f"{relation.label} ({relation.id} {condition.constraint.attribute})"
