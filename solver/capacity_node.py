"""The room on one node, and what stops the copy after the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..models.core import Node
from ..problem.in_use import Ledger
from .attempts import Attempt, Ending
from .capacity_engine import CopyEngine, Filled, Picks, Scene, slice_of
from .capacity_outcome import NodeRoom, Room
from .capacity_search import Most, Together, most
from .decision import Answer
from .outcome import NodeClassFailure, Reason
from .reasons import class_reasons

_ENDLESS = Reason("unbounded", "", "a copy leaves nothing in use that the next one needs: any number fit")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The room on a node; ``copies`` are the picks of those that fit, of two of them where any number does."""

    answer: NodeRoom
    copies: tuple[Picks, ...] = ()


def measure(
    engine: CopyEngine, node: Node, scene: Scene, ledger: Ledger, limit: int, deadline: float | None
) -> Measured:
    """Find how many copies fit on the node beside what the ledger, which is not changed, says is in use."""
    endless = Together(scene.problem, ledger.in_use(scene.view), engine.joint).endless(slice_of(deadline, 4))
    if endless.answer is Answer.YES:
        return Measured(_told(node, Room(unbounded=True), [_ENDLESS]), (endless.picks, endless.picks))
    first, found = count_copies(engine, scene, ledger, limit, deadline)
    room = Room(len(found.copies), found.bound, len(first.copies) if first.decided else None)
    if room.fits >= limit and not room.proven:
        text = f"{limit} copies fit, which is as far as counting goes"
        return Measured(_told(node, room, [Reason("limit", "", text)]), found.copies)
    return Measured(_explained(engine, node, scene, ledger, room, found, deadline), found.copies)


def count_copies(
    engine: CopyEngine, scene: Scene, ledger: Ledger, limit: int, deadline: float | None
) -> tuple[Filled, Most]:
    """Find what first fit reaches, and then how many copies fit, where the number is finite."""
    first = engine.fill(scene, Ledger(ledger.usage), limit, slice_of(deadline, 3))
    together = Together(scene.problem, ledger.in_use(scene.view), engine.joint)
    return first, most(together, first.copies, limit, deadline)


def _told(node: Node, room: Room, reasons: Sequence[Reason]) -> NodeRoom:
    return NodeRoom((node.metadata.name,), room, tuple(reasons))


def _explained(
    engine: CopyEngine, node: Node, scene: Scene, ledger: Ledger, room: Room, found: Most, deadline: float | None
) -> NodeRoom:
    """Try one more copy beside those that fit, for the reasons why it does not."""
    full = Ledger(ledger.usage)
    for picks in found.copies:
        engine.commit(scene, full, picks)
    attempt = engine.one_more(node, full, deadline)
    answer = failed(engine, node, attempt, room)
    if not room.proven:
        reasons = (Reason("undecided", "", "it is not decided whether more fit"), *answer.reasons)
        return replace(answer, reasons=reasons)
    against = found.refuted
    proof = engine.tell(scene, against.witness, room.fits + 1) if against and against.witness else ""
    return replace(answer, proof=proof, certified=against is not None and against.certified)


def failed(engine: CopyEngine, node: Node, attempt: Attempt, room: Room) -> NodeRoom:
    """Say why an attempt at one more copy failed."""
    names = engine.asked.claims
    if attempt.ending is Ending.ALLOCATED:
        return _told(node, room, [])
    if attempt.ending is Ending.FATAL or attempt.error:
        claim = "" if attempt.claim is None else names[attempt.claim]
        return _told(node, room, [Reason(attempt.rule or "expression", claim, attempt.error or attempt.message)])
    if attempt.ending is Ending.TIMEOUT:
        return _told(node, room, [])
    name = (node.metadata.name,)
    proof = Reason(attempt.witness.id, "", attempt.proof) if attempt.witness else None
    failure = NodeClassFailure(name, attempt.message, attempt.tables, proof, attempt.certified)
    return NodeRoom(name, room, class_reasons(failure, names), attempt.tables)
