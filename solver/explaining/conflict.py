"""A minimal set of reasons that are impossible together, by deletion.

Each guard of a model is fixed to on or off, so that a check is an ordinary run: unlike cores of assumptions this
neither depends on the solver's choice nor on its known faults with them (or-tools #5141). What is tried first is most
likely to go, so that reasons are in the order of how readily a reader does without them. Of a sequence that can go as
a whole nothing is tried alone: few of many guards are ever needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ...encoders.model import AllocationModel
from ...problem.justification import Justification
from ..attempts import Counts
from ..cp_sat_run import CONFIRMING, USUAL, Configuration, Limits, Status, run
from ..judging import judged

# Requests go first, so that what is left speaks of few; then what is exotic; last what says which devices are meant.
_ORDER = (
    ("exactCount", "all", "firstAvailable"),
    ("resultLimit",),
    ("compatibilityGroups",),
    ("nodeOperations", "groupsFeature", "countersFeature", "bindingConditions"),
    ("distinctAttribute", "matchAttribute"),
    ("topology", "cel", "predicate"),
    ("counters",),
    ("capacity",),
    ("taint",),
    ("deviceNode",),
    ("inUse",),
    ("requestSelector",),
    ("classSelector",),
)
_RANK = {id_: rank for rank, ids in enumerate(_ORDER) for id_ in ids}


@dataclass(frozen=True, slots=True)
class Conflict:
    """Reasons that are impossible together, those that matter most first; see ``records.NodeClass``."""

    reasons: tuple[Justification, ...]
    minimal: bool
    certified: bool


Proof = Callable[[Collection[Justification]], bool]
"""Tells whether reasons are impossible together without a run of the solver; False: it cannot tell."""


def minimal_conflict(
    model: AllocationModel, limits: Limits, proof: Proof, without: Justification | None = None
) -> Conflict | None:
    """Find a minimal conflict of a model with guards, ``without`` one reason if one is given.

    None if everything is possible together, or that is not known.
    """
    return _Deletion(model, limits, proof, without).run()


class _Deletion:
    def __init__(self, model: AllocationModel, limits: Limits, proof: Proof, without: Justification | None) -> None:
        self._model = model
        self._limits = limits
        self._proof = proof
        self._kept = dict.fromkeys(reason for reason in _ordered(model) if reason != without)
        self._decided = True

    def run(self) -> Conflict | None:
        if self._check(self._kept) is not Status.INFEASIBLE:
            return None
        for block in _blocks(tuple(self._kept)):
            self._delete(block)
        certified = self._proof(self._kept) or self._check(self._kept, CONFIRMING) is Status.INFEASIBLE
        # Requests open the sentence, then come the reasons that were tried last.
        places = {reason: -place for place, reason in enumerate(self._kept)}
        reasons = sorted(self._kept, key=lambda one: (_RANK[one.id] > 0, -_RANK[one.id], places[one]))
        return Conflict(tuple(reasons), self._decided, certified)

    def _delete(self, block: Sequence[Justification], *, needed: bool = False) -> bool:
        """Do without as much of a block as possible, and say whether that was all; ``needed``: some of it is."""
        if not needed and self._goes(block):
            return True
        if len(block) == 1:
            return False
        half = len(block) // 2
        first = self._delete(block[:half])
        # If the first half can go, the second cannot as well.
        self._delete(block[half:], needed=first)
        return False

    def _goes(self, block: Sequence[Justification]) -> bool:
        gone = frozenset(block)
        rest = [reason for reason in self._kept if reason not in gone]
        status = self._check(rest)
        self._decided &= status is not Status.UNKNOWN
        if status is Status.INFEASIBLE:
            self._kept = dict.fromkeys(rest)
        return status is Status.INFEASIBLE

    def _check(self, reasons: Collection[Justification], configuration: Configuration = USUAL) -> Status:
        kept = frozenset(reasons)
        for reason, guard in self._model.guards.items():
            self._model.rows.fix(guard, int(reason in kept))
        rows = self._model.rows
        return judged(self._model, lambda limits: run(rows, limits, configuration), self._limits, Counts()).status


def _ordered(model: AllocationModel) -> list[Justification]:
    """Sort by kind; of one kind the later first, so that the first of them are what is left."""
    numbered = enumerate(model.guards)
    return [reason for _, reason in sorted(numbered, key=lambda item: (_RANK[item[1].id], -item[0]))]


def _blocks(reasons: Sequence[Justification]) -> list[tuple[Justification, ...]]:
    ranks = sorted({_RANK[reason.id] for reason in reasons})
    return [tuple(reason for reason in reasons if _RANK[reason.id] == rank) for rank in ranks]
