"""Whether a group of pods can be scheduled: on the empty cluster, on this one, and after which evictions or moves.

Each question is a plan of the group alone, with what runs in the state of the cluster that the question is about. A yes
is a verified plan. A no is a bound: no plan places as many members as the group needs. The empty cluster has all room
that evictions and moves could make, so that its no is one of theirs, unless members run or pods have rules about one
another, which may hold because of what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Literal

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.kueue import ClusterQueue
from ...models.kubernetes.workloads import CompositePodGroup
from ...models.results.common import ClaimAnswer, ProofKind, Status, outcome_of
from ...models.results.explanation import ExplainedGroup, ExplainedUnit, ExplanationDocument, GroupTrial
from ...models.results.plan import plan_stage
from ...models.validation.entries import read_caller_constraints
from ...models.workload.evictions import emptied_cluster
from ...models.workload.gangs import GangKey
from ...models.workload.group_trees import COMPOSITE
from ...models.workload.pod_rules import pod_rule_book
from ...models.workload.queue import GroupMembers, GroupSelection, read_groups
from ...models.workload.requested import dropped_fields
from ..allocate.audit import AUDIT_RULE
from ..allocate.check import VerificationError
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.outcome import SearchInterrupted
from ..engines.registry import effective_policy
from ..explain.explain import explained_unit
from ..verification.bounds import BoundQuestion, audited_bounds
from ..verification.verify import Violation
from .build.objectives import LOSS_STAGES, MOVE_STAGES
from .lifted import MoveOptions
from .master_problem import is_past
from .moves import plan_with_moves
from .outcome import PlanOutcome
from .plan import plan

_Question = Literal["empty", "now", "evictions", "moves"]
_MOST_NAMED = 5
_COUNTED = "admitted"
# What a plan may take, of the time that is left, while questions follow.
_SHARE = 0.5
# In reasons of units that a plan refuses although they might have a place.
_NOT_PLANNED = ("is not counted here", "not planned")
_NOT_EVEN_EMPTY = "not even on the empty cluster"


def explain_group(
    cluster: Cluster,
    group: str,
    *,
    namespace: str | None = None,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = 60.0,
    natural_gangs: bool = False,
    cel_errors: str = "strict",
    audit: float | None = None,
    **asked: Any,
) -> ExplanationDocument:
    """Answer ``drasat.explain`` about a group; ``asked`` are the other arguments of ``plan``.

    With ``audit`` the verifier has so many seconds to find bounds for the empty cluster and this one anew: a no is
    audited where fewer members than are needed fit by them.

    Raises ``ValueError``, one line, for a group that is not there, or for a name that several groups have, and as
    ``plan`` does. A KeyboardInterrupt becomes a ``SearchInterrupted`` with what was answered by then.
    """
    started, gates = monotonic(), gates_of(feature_gates)
    dropped, cluster = dropped_fields(cluster, gates), cluster.with_gates(gates)
    key, natural_gangs = find_group(cluster, gates, group, namespace, natural_gangs)
    asked_group = read_groups(cluster, gates, natural_gangs=natural_gangs)[key].gang
    if asked_group is not None and asked_group.parents:
        raise ValueError(f"{asked_group.label} is scheduled with others: ask about {asked_group.parents[-1].label}")
    notices = list(dropped)
    if cluster.objects(ClusterQueue):
        notices.append("quota of Kueue is not looked at where a group is explained")
    ask = partial(
        plan, gap=0.0, objective=_COUNTED, group=GroupSelection(key), natural_gangs=natural_gangs, feature_gates=gates
    )
    ask = partial(ask, feature_gates=gates, cel_errors=cel_errors, duals=audit is not None, **asked)
    deadline = None if time_limit is None else started + time_limit
    run = _GroupRun(cluster, gates, key, natural_gangs, ask, deadline, notices, audit)
    interrupted = run.answer()
    members = run.members(cluster)
    proof = ProofKind.weakest(one.proof for one in run.trials if one.answer == "no" and one.proof is not None)
    document = ExplanationDocument(
        outcome=outcome_of(_OUTCOMES[run.trials[1].answer]),
        units=(),
        group=ExplainedGroup(
            kind=key[0],
            namespace=key[1],
            name=key[2],
            minimum=_minimum(members, cluster, key, gates),
            domain=_domain(members, cluster, key),
            trials=tuple(run.trials),
        ),
        notices=tuple(dict.fromkeys(notices)),
        feature_gates=gates.to_dict(),
        cel_errors=effective_policy("cp-sat", cel_errors),
        proof=proof,
        certified=proof is ProofKind.AUDITED,
        timings={"explain": monotonic() - started},
    )
    if interrupted:
        raise SearchInterrupted(document)
    return document


def _minimum(members: GroupMembers, cluster: Cluster, key: GangKey, gates: FeatureGates) -> int | None:
    if key[0] == COMPOSITE:
        policy = cluster.objects(CompositePodGroup)[key[1:]].spec.scheduling_policy
        gang = policy.gang if gates.gangs else None
        return max(1, gang.min_group_count if gang else 1)
    return members.gang.minimum if members.gang else 1


def _domain(members: GroupMembers, cluster: Cluster, key: GangKey) -> str:
    asking = cluster.objects(CompositePodGroup)[key[1:]] if key[0] == COMPOSITE else members.gang
    return (asking.domain if asking else None) or ""


_OUTCOMES = {"yes": Status.ALLOCATED, "no": Status.UNALLOCATABLE, "unknown": Status.UNKNOWN}


def find_group(
    cluster: Cluster, gates: FeatureGates, name: str, namespace: str | None, natural_gangs: bool
) -> tuple[GangKey, bool]:
    """The key of a group by NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME, and whether it is a gang by its kind alone.

    Raises ``ValueError``, one line, if there is none, or more than one.
    """
    known: list[GangKey] = []
    for natural in dict.fromkeys((natural_gangs, True)):
        known = [key for key in read_groups(cluster, gates, natural_gangs=natural) if namespace in (None, key[1])]
        found = [key for key in known if name in (key[2], "/".join(key[1:]), "/".join(key))]
        if len(found) == 1:
            return found[0], natural
        if found:
            raise ValueError(f"{len(found)} groups are named {name}: {_listed(found)}")
    raise ValueError(f"there is no group {name}: {f'groups are {_listed(known)}' if known else 'no pod is in a group'}")


def _listed(keys: Sequence[GangKey]) -> str:
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return ", ".join("/".join(key) for key in keys[:_MOST_NAMED]) + more


@dataclass
class _GroupRun:
    """The questions one after the other; ``trials`` has an answer to each of them in the end."""

    cluster: Cluster
    gates: FeatureGates
    key: GangKey
    natural_gangs: bool
    ask: partial[PlanOutcome]
    deadline: float | None
    notices: list[str]
    audit_seconds: float | None = None

    def __post_init__(self) -> None:
        self.trials: list[GroupTrial] = []

    def members(self, cluster: Cluster) -> GroupMembers:
        """The members in a state of the cluster."""
        return read_groups(cluster, self.gates, natural_gangs=self.natural_gangs)[self.key]

    def answer(self) -> bool:
        """Ask all questions; say whether Ctrl-C ended that, and the rest is unknown."""
        there = self.members(self.cluster)
        empty = emptied_cluster(self.cluster, there.running)
        questions: tuple[tuple[_Question, Cluster, Callable[..., PlanOutcome]], ...] = (
            ("empty", empty, partial(self.ask, empty)),
            ("now", self.cluster, partial(self.ask, self.cluster)),
            ("evictions", self.cluster, self._moving(MoveOptions(preempts=True, moves=False), there)),
            ("moves", self.cluster, self._moving(MoveOptions(), there)),
        )
        interrupted = False
        for number, (question, cluster, ask) in enumerate(questions):
            members = self.members(cluster)
            known = _unknown(question, members) if interrupted else self._known(question, members)
            found: PlanOutcome | None = None
            if known is None:
                try:
                    found = ask(time_limit=self._seconds(last=number == len(questions) - 1))
                except SearchInterrupted as stopped:
                    found, interrupted = stopped.answer, True
                self.notices += found.notices
                known = _trial(question, members, found)
            if question in _STATES and known.answer == "no" and self.audit_seconds and not interrupted:
                known, interrupted = self._audited(known, cluster, members, found)
            self.trials.append(known)
        return interrupted

    def _audited(
        self, trial: GroupTrial, cluster: Cluster, members: GroupMembers, found: PlanOutcome | None
    ) -> tuple[GroupTrial, bool]:
        """A no, audited if by the verifier's own bound fewer members have a place than are needed.

        The second value says that Ctrl-C ended the audit. Raises ``VerificationError`` if more are placed than that.
        """
        began, given = monotonic(), self.ask.keywords
        seconds = self.audit_seconds or 0.0
        ends = began + seconds if self.deadline is None else min(began + seconds, self.deadline)
        question = BoundQuestion(
            cluster,
            self.gates,
            given["cel_errors"],
            natural_gangs=self.natural_gangs,
            caller_constraints=read_caller_constraints(given.get("constraints", ())),
            group=GroupSelection(self.key),
        )
        stages = [one for one in (found.objective if found else ()) if one.stage == _COUNTED]
        asked, duals = stages or [plan_stage(_COUNTED, 0, None, False, True)], (found.duals if found else None) or ()
        try:
            [bound] = audited_bounds(question, asked, duals, ends)
        except KeyboardInterrupt:
            return trial, True
        self.audit_seconds = max(0.0, seconds - (monotonic() - began))
        if bound is not None and bound < trial.placed:
            said = f"{trial.placed} members are placed, and no plan places more than {float(bound):g}"
            raise VerificationError([Violation(AUDIT_RULE, "", said)])
        if bound is None or bound >= _needed(members):
            return trial, False
        return structs.replace(trial, proof=ProofKind.AUDITED, most=min(trial.most or 0, int(bound))), False

    def _moving(self, options: MoveOptions, members: GroupMembers) -> Callable[..., PlanOutcome]:
        """The plan for no more members than are needed, for nobody goes for the others."""
        scope = GroupSelection(self.key, exactly=_needed(members) if _has_optional_members(members) else None)
        return partial(plan_with_moves, self.cluster, options, **{**self.ask.keywords, "group": scope})

    def _seconds(self, *, last: bool) -> float | None:
        if self.deadline is None:
            return None
        left = max(0.0, self.deadline - monotonic())
        return left if last else left * _SHARE

    def _known(self, question: _Question, members: GroupMembers) -> GroupTrial | None:
        """The answer that needs no plan; None where one is needed."""
        problem = _problem(members)
        # Members that run in several domains are in the way of others, and may be enough by themselves.
        has_domain = members.gang is not None and members.gang.domain is not None and members.running
        if problem and not (has_domain and _needed(members) <= 0):
            return _no(question, members, problem, 0)
        if _needed(members) <= 0:
            return structs.replace(_unknown(question, members), answer="yes" if question in _STATES else "notNeeded")
        if question in _STATES:
            return None
        empty, now = self.trials[0], self.trials[1]
        if now.answer == "yes":
            return structs.replace(_unknown(question, members), answer="notNeeded")
        alone = not members.running and not self.cluster.constraint_groups and pod_rule_book(self.cluster).is_empty
        if empty.answer == "no" and alone:
            return structs.replace(_no(question, members, _NOT_EVEN_EMPTY, empty.most), proof=empty.proof)
        return _unknown(question, members) if is_past(self.deadline) else None


_STATES = ("empty", "now")


def _problem(members: GroupMembers) -> str:
    """Why nobody of the group is placed, whatever room there is."""
    if members.is_tree and members.running and not members.waiting:
        return "" if members.is_satisfied else "too few of its groups run, and no member waits"
    if members.gang is None:
        return "" if members.waiting or members.running else "it has no members"
    return members.gang.problem or members.gang.too_small(members.waiting)


def _needed(members: GroupMembers) -> int:
    """How many of the members that wait have to be placed at least; one counts where a group asks for no number.

    Of a group of groups nobody is placed unless enough are, or run already.
    """
    if members.is_tree:
        return 0 if members.is_satisfied else min(1, members.waiting)
    minimum = members.gang.minimum if members.gang else 0
    return members.waiting if minimum is None else max(1, minimum) - len(members.running)


def _has_optional_members(members: GroupMembers) -> bool:
    """Whether fewer members than wait are enough."""
    return not members.is_tree and 0 < _needed(members) < members.waiting


def _unknown(question: _Question, members: GroupMembers) -> GroupTrial:
    return GroupTrial(
        question=question,
        answer="unknown",
        wait=members.waiting,
        run=len(members.running),
        placed=0,
        most=None,
        proof=None,
        units=(),
        victims=(),
        steps=(),
        stages=(),
        reasons=(),
    )


def _no(question: _Question, members: GroupMembers, reason: str, most: int | None) -> GroupTrial:
    trial = _unknown(question, members)
    return structs.replace(trial, answer="no", most=most, proof=ProofKind.WITNESS, reasons=(reason,))


def _trial(question: _Question, members: GroupMembers, found: PlanOutcome) -> GroupTrial:
    moved = {(one.unit.unit.namespace, one.unit.unit.name) for one in found.moves}
    own = [one for one in found.units if (one.unit.namespace, one.unit.name) not in moved]
    placed = sum(one.node is not None for one in own)
    most = _bound(found, members.waiting)
    trial = structs.replace(_unknown(question, members), placed=placed, most=most)
    if placed >= _needed(members):
        return structs.replace(
            trial,
            answer="yes",
            units=tuple(_placed_unit(one.unit, one.node, one.allocations) for one in own if one.node is not None),
            victims=found.victims,
            steps=found.steps,
            stages=tuple(one for one in found.objective if one.stage.partition("=")[0] in (*LOSS_STAGES, *MOVE_STAGES)),
        )
    said = dict.fromkeys(reason.message for one in own for reason in one.reasons)
    reasons = tuple(said)
    # What a plan does not look at at all is no reason why nobody could.
    is_planned = not any(mark in one for one in reasons for mark in _NOT_PLANNED)
    if most is not None and most < _needed(members) and is_planned:
        proof = found.objective[0].proof or ProofKind.SOLVER if found.objective else ProofKind.WITNESS
        return structs.replace(trial, answer="no", proof=proof, reasons=reasons)
    return structs.replace(trial, most=most if is_planned else None, reasons=reasons)


def _bound(found: PlanOutcome, waiting: int) -> int | None:
    """How many members a plan places at most: the first stage bounds them where all have one priority."""
    first = found.objective[0] if found.objective else None
    if first is None:
        # Everybody is refused for a reason other than time.
        ids = [{reason.id for reason in one.reasons} for one in found.units]
        return 0 if all(own and TIME_LIMIT_RULE not in own for own in ids) else None
    several = sum(one.stage.startswith("priority=") for one in found.objective) > 1
    return None if several or first.bound is None else min(waiting, int(first.bound))


def _placed_unit(unit: Any, node: str | None, made: Sequence[Any]) -> ExplainedUnit:
    allocations = tuple(ClaimAnswer(namespace=ref.namespace, name=ref.name, allocation=one) for ref, one in made)
    return structs.replace(explained_unit(unit, Status.ALLOCATED, node=node), allocations=allocations)
