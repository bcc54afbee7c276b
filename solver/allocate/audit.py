"""Every refused unit is put to the audit of the verifier, beside what the units before it got."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import ProofKind, Status
from ..engines.outcome import UnitOutcome
from ..verification.audit import Refusal, RefusalVerdict, TiedUnits, audit, tied_units
from ..verification.existence import Audit
from ..verification.reasons import ReasonSet
from ..verification.verify import Placement, Violation
from .check import AuditQuestion, VerificationError, placements_of_outcomes, placing_order
from .coupling import CoupledUnits

AUDIT_RULE = "AUDIT"


def audited_outcomes(
    question: AuditQuestion, outcomes: Sequence[UnitOutcome], sets: Iterable[CoupledUnits], deadline: float
) -> tuple[UnitOutcome, ...]:
    """Audit every no until ``deadline``, a reading of ``time.monotonic``; what has no time stays as it was.

    Units that ``sets`` couple are audited as the verifier finds them tied. Those that soft entries couple are left out.

    Raises
    ------
    VerificationError
        If a refused unit has an allocation: a defect of drasat.

    """
    found = list(outcomes)
    for number, verdict in audit_refusals(question, outcomes, sets, deadline).items():
        found[number] = _audited(outcomes[number], impossible_nodes(question, verdict), verdict.is_impossible)
    return tuple(found)


def impossible_nodes(question: AuditQuestion, verdict: RefusalVerdict) -> frozenset[str]:
    """The nodes that have no place."""
    pairs = zip(question.nodes, verdict.nodes, strict=True)
    return frozenset(node.metadata.name for node, one in pairs if one is Audit.IMPOSSIBLE)


def audit_refusals(
    question: AuditQuestion,
    outcomes: Sequence[UnitOutcome],
    sets: Iterable[CoupledUnits],
    deadline: float,
    reasons: Mapping[int, tuple[ReasonSet, ...]] | None = None,
) -> dict[int, RefusalVerdict]:
    """Audit as ``audited_outcomes`` does, and sets of reasons, which are by the number of their unit.

    Return what became of each unit that is refused, by its number.
    """
    sets = tuple(sets)
    coupled = {id(unit) for one in sets for unit in one.units}
    explained = {number: own for number, own in (reasons or {}).items() if own}
    order = placing_order(outcomes, sets)
    tied = _tied_by_first(question, outcomes, order) if coupled else {}
    refused = {
        number: explained.get(number, ())
        for number in order
        if (_is_audited(outcomes[number]) or number in explained) and id(outcomes[number].unit) not in coupled
    }
    verdicts = audit(
        question.cluster,
        _steps(question, outcomes, order, refused, tied),
        question.gates,
        cel_errors=question.cel_errors,
        caller_constraints=question.caller_constraints,
        deadline=deadline,
    )
    found = dict(zip((number for number in order if number in refused or number in tied), verdicts, strict=True))
    numbers = {id(one.unit): number for number, one in enumerate(outcomes)}
    for number, own in tied.items():
        found.update({numbers[id(unit)]: found[number] for unit in own.units})
    # What was placed together is entered in the order of the units, which need not be that of their placement.
    for number, verdict in found.items() if question.is_complete and not coupled else ():
        unit = outcomes[number].unit
        nodes = zip(question.nodes, verdict.nodes, strict=True)
        possible = next((node.metadata.name for node, one in nodes if one is Audit.POSSIBLE), None)
        # After an error no other node is tried.
        if possible is not None and outcomes[number].outcome is Status.UNALLOCATABLE:
            what = f"{unit.namespace}/{unit.name} is refused, and has an allocation on node {possible}"
            raise VerificationError([Violation(AUDIT_RULE, "", what)])
        for asked, one in zip(explained.get(number, ()), verdict.reasons, strict=True):
            if one.wrong:
                what = f"{unit.namespace}/{unit.name} is explained on node {asked.node.metadata.name}, and {one.wrong}"
                raise VerificationError([Violation(AUDIT_RULE, "", what)])
    return found


def _is_audited(outcome: UnitOutcome) -> bool:
    """Whether there is a no about devices or nodes; of what is missing anyone can see that it is."""
    return outcome.outcome is Status.UNALLOCATABLE and not outcome.unit.problems


def _tied_by_first(
    question: AuditQuestion, outcomes: Sequence[UnitOutcome], order: Sequence[int]
) -> dict[int, TiedUnits]:
    """Units that are tied, of which all are refused, by the number of the first of them in the order of placing."""
    places = {id(outcomes[number].unit): place for place, number in enumerate(order)}
    found = {}
    for one in tied_units(question.cluster, [outcome.unit for outcome in outcomes]):
        own = sorted(places[id(unit)] for unit in one.units)
        if all(_is_audited(outcomes[order[place]]) for place in own):
            one.nodes = question.nodes
            found[order[own[0]]] = one
    return found


def _steps(
    question: AuditQuestion,
    outcomes: Sequence[UnitOutcome],
    order: Sequence[int],
    refused: Mapping[int, tuple[ReasonSet, ...]],
    tied: Mapping[int, TiedUnits],
) -> Iterator[Placement | Refusal | TiedUnits]:
    """What was placed and what was refused, in the order of placing."""
    placements = placements_of_outcomes(question.cluster, [outcomes[number] for number in order])
    made: set[ObjectKey] = set()
    for number in order:
        outcome = outcomes[number]
        if outcome.outcome is Status.ALLOCATED:
            yield next(placements)
            made.update(ref.key for ref, _ in outcome.allocations)
        elif number in tied:
            yield tied[number]
        elif number in refused:
            new = {ref.key for ref in outcome.unit.requested_claims} - made
            claims = tuple(ref.claim for ref in outcome.unit.claims if ref.key in new and ref.claim is not None)
            earlier = tuple(ref.claim for ref in outcome.unit.claims if ref.key not in new and ref.claim is not None)
            yield Refusal(question.nodes, claims, outcome.unit.pod, earlier, refused[number])


def _audited(outcome: UnitOutcome, impossible: frozenset[str], everywhere: bool) -> UnitOutcome:
    failures = tuple(
        replace(failure, proof_kind=ProofKind.AUDITED) if impossible.issuperset(failure.nodes) else failure
        for failure in outcome.failures
    )
    return replace(outcome, failures=failures, audited=everywhere)
