"""Audits of explanations: every refusal, and every set of reasons, is decided anew by the verifier's formulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields

from msgspec.structs import replace

from ...models.results.common import ProofKind
from ...models.results.explanation import ExplainedNodes, ExplainedUnit
from ..allocate.audit import audit_refusals, impossible_nodes
from ..allocate.check import AuditQuestion, derive_refusals, derived_outcomes
from ..allocate.coupling import CoupledUnits
from ..engines.outcome import UnitOutcome
from ..verification.audit import RefusalVerdict
from ..verification.reasons import ReasonSet
from ..verification.refusals import CountedFailure, DerivedRefusal


@dataclass(frozen=True, slots=True)
class ExplainedClass:
    """Equal nodes behind a failure: their names, and what an audit asks about the first; None: it is about the node."""

    names: tuple[str, ...]
    asked: ReasonSet | None


@dataclass(frozen=True, slots=True)
class UnitExplanation:
    """A unit explained; ``classes`` are those of each of its failures, in the same order."""

    unit: ExplainedUnit
    classes: tuple[tuple[ExplainedClass, ...], ...] = ()

    @property
    def asked(self) -> tuple[ReasonSet, ...]:
        """The sets of reasons, in the order of the classes."""
        return tuple(one.asked for own in self.classes for one in own if one.asked is not None)

    def audited(self, verdict: RefusalVerdict, impossible: frozenset[str]) -> UnitExplanation:
        """Say of failures that they are audited: no node has a place, and the reasons are needed on the first."""
        verdicts = iter(verdict.reasons)

        def audited(failure: ExplainedNodes, classes: Sequence[ExplainedClass]) -> ExplainedNodes:
            holding = [one.asked is None or next(verdicts).holds for one in classes]
            refused = (impossible.issuperset(one.names) for one in classes)
            holds = all(holding) and all(refused)
            return replace(failure, proof=ProofKind.AUDITED, certified=True) if holds else failure

        failures = (audited(*pair) for pair in zip(self.unit.failures, self.classes, strict=True))
        return replace_fields(self, unit=replace(self.unit, failures=tuple(failures)))

    def counted(self) -> Iterator[CountedFailure]:
        """Yield the failures that rest on witnesses, in their order."""
        for failure, classes in zip(self.unit.failures, self.classes, strict=False):
            if failure.proof is ProofKind.WITNESS:
                # The witness is about the first of all names.
                names = tuple(sorted(name for one in classes for name in one.names))
                yield CountedFailure(names, failure.witness, "bound")

    def derived(self, refusal: DerivedRefusal) -> UnitExplanation:
        """Say of failures that rest on witnesses that are not derived that they rest on the solver."""
        kept = iter(refusal.derived)
        failures = tuple(
            replace(one, proof=ProofKind.SOLVER, certified=False, witness=None if refusal.wrong else one.witness)
            if one.proof is ProofKind.WITNESS and not next(kept)
            else one
            for one in self.unit.failures
        )
        return replace_fields(self, unit=replace(self.unit, failures=failures))


def derive_explanations(
    question: AuditQuestion,
    outcomes: Sequence[UnitOutcome],
    explanations: Mapping[int, UnitExplanation],
    sets: Sequence[CoupledUnits],
    deadline: float | None,
) -> tuple[list[UnitOutcome], dict[int, UnitExplanation], bool]:
    """Let the verifier derive what rests on witnesses, see ``derived_outcomes``; what is not explained is left out."""
    known = {number: own for number, one in enumerate(outcomes) if (own := explanations.get(id(one.unit)))}
    asked = {number: counted for number, own in known.items() if (counted := tuple(own.counted()))}
    refusals = derive_refusals(question, outcomes, sets, asked, deadline)
    for number, refusal in refusals.items():
        known[number] = known[number].derived(refusal)
    explained = {**explanations, **{id(outcomes[number].unit): own for number, own in known.items()}}
    # Of nodes without a set of reasons the outcome says what the no rests on.
    size = len(question.nodes)
    whole = {
        id(outcomes[number].unit)
        for number, own in known.items()
        if sum(failure.nodes for failure in own.unit.failures) == size
    }
    placed, doubtful = derived_outcomes(question, outcomes, sets, deadline, whole)
    return list(placed), explained, doubtful or any(one.wrong for one in refusals.values())


def audit_explanations(
    question: AuditQuestion,
    outcomes: Sequence[UnitOutcome],
    explanations: Mapping[int, UnitExplanation],
    sets: Iterable[CoupledUnits],
    deadline: float,
) -> tuple[list[UnitOutcome], dict[int, UnitExplanation]]:
    """Audit what is refused, and why, until ``deadline``, a reading of ``time.monotonic``.

    ``explanations`` are by the identity of their units. What has no time stays as it was.

    Raises
    ------
    VerificationError
        If a refused unit has an allocation, or reasons are possible together or not needed: a defect of drasat.

    """
    reasons = {number: explanations[id(one.unit)].asked for number, one in enumerate(outcomes)}
    found, explained = list(outcomes), dict(explanations)
    for number, verdict in audit_refusals(question, outcomes, sets, deadline, reasons).items():
        unit = outcomes[number].unit
        found[number] = replace_fields(outcomes[number], audited=verdict.is_impossible)
        own = explained[id(unit)]
        # Units that are tied are refused together, and explained each by itself.
        if len(own.asked) == len(verdict.reasons):
            explained[id(unit)] = own.audited(verdict, impossible_nodes(question, verdict))
    return found, explained
