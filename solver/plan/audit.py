"""Audits of plans, and the duals of stages by name, as exact fractions, from which bounds are found anew.

The verifier bounds the stages, and decides whether what has no node has a place beside the plan.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter

from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.quantity import NANO
from ...models.results.common import ProofKind
from ...models.results.plan import DualKind, DualRow, Number, PlanStage, StageDuals, plan_stage
from ...models.workload.node_resources import NodeResourcesOfDevices
from ...models.workload.unit_classes import UnitShape
from ..allocate.audit import AUDIT_RULE
from ..allocate.check import VerificationError
from ..verification.audit import Refusal, audit
from ..verification.bounds import BoundQuestion, audited_bounds
from ..verification.existence import Audit
from ..verification.plan_replay import plan_placements
from ..verification.verify import Placement, Violation
from .build import PlanInstance, PlanRequest
from .build.objectives import Goal
from .build.units import ColocatedUnits
from .master_problem import CouplingRow, PlanSolution, StageResult, is_past
from .outcome import FEASIBLE, INFEASIBLE, OPTIMAL, PlanOutcome
from .question import PlanQuestion
from .why_not import MOST_UNIT_CLASSES, OUTBID

_DAEMON_SET = "DaemonSet"


@dataclass(frozen=True, slots=True)
class PlanAudit:
    """What was asked, and the cluster with what is bought.

    ``usable`` names the nodes that the plan may use; None: all. ``goals`` are its stages.
    """

    question: PlanQuestion
    request: PlanRequest
    cluster: Cluster
    usable: Container[str] | None
    goals: Sequence[Goal]

    def audited(self, answer: PlanOutcome, deadline: float) -> tuple[PlanOutcome, bool]:
        """Audit an answer until ``deadline``, a reading of ``time.monotonic``; what has no time stays as it is.

        The second value says that Ctrl-C ended it.

        Raises
        ------
        VerificationError
            If a stage is beyond its bound, or a unit that is said to fit nowhere fits: a defect of drasat.

        """
        try:
            if not is_past(deadline):
                answer = self._with_stages(answer, deadline)
            if is_past(deadline):
                return answer, False
            # Who moves or loses the place for a unit is not decided beside the plan.
            return (answer if self.question.lifted else self._with_units(answer, deadline)), False
        except KeyboardInterrupt:
            return answer, True

    def _with_stages(self, answer: PlanOutcome, deadline: float) -> PlanOutcome:
        placed = plan_placements(self.cluster, answer.units, answer.order)
        daemons = [placement for unit, placement in placed if unit.kind == _DAEMON_SET]
        request, session = self.request, self.request.session
        asked, lifted = self.question, self.question.lifted
        cluster = asked.cluster if lifted is None else lifted.given.with_gates(asked.gates)
        question = BoundQuestion(
            cluster,
            session.gates,
            session.policy,
            asked.namespace,
            asked.selector,
            asked.natural_gangs,
            session.caller_constraints,
            request.catalogue is not None,
            request.only_new,
            request.budget,
            daemons,
            request.quota.problem if request.quota else None,
            moves=bool(lifted and lifted.options.moves),
            preempts=bool(lifted and lifted.options.preempts),
        )
        bounds = audited_bounds(question, answer.objective, answer.duals or (), deadline)
        goals = {goal.stage.name: goal.stage for goal in self.goals}
        stages = (
            _audited_stage(stage, bound, goals[stage.stage].gap(answer.gap) if stage.stage in goals else answer.gap)
            for stage, bound in zip(answer.objective, bounds, strict=True)
        )
        return replace(answer, objective=tuple(stages))

    def _with_units(self, answer: PlanOutcome, deadline: float) -> PlanOutcome:
        placements = [placement for _, placement in plan_placements(self.cluster, answer.units, answer.order)]
        return replace(answer, audited=frozenset(self._refused(answer, placements, deadline)))

    def _refused(self, answer: PlanOutcome, placements: Sequence[Placement], deadline: float) -> Iterator[int]:
        """Yield the positions of units that have no place on any node beside the plan."""
        nodes = tuple(node for name, node in self.cluster.nodes.items() if self.usable is None or name in self.usable)
        classes: dict[bytes, list[int]] = {}
        for place, one in enumerate(answer.units):
            own = self.request.queue[place].unit_set
            # The reasons say that it fits no node: of members of gangs, and of what was not looked into, they do not.
            if one.node is None and own.gang is None and any(reason.id == OUTBID for reason in one.reasons):
                classes.setdefault(own.shape.signature, []).append(place)
        asked = list(classes.values())[:MOST_UNIT_CLASSES]
        units = [answer.units[places[0]].unit for places in asked]
        made = {ref.key for one in answer.units for ref, _ in one.allocations}
        refusals = []
        for unit in units:
            held = {ref.key for ref in unit.claims if ref.allocated or ref.key in made}
            claims = [(ref.key in held, ref.claim) for ref in unit.claims if ref.claim is not None]
            new, earlier = (tuple(claim for is_held, claim in claims if is_held is which) for which in (False, True))
            refusals.append(Refusal(nodes, new, unit.pod, earlier))
        session = self.request.session
        verdicts = audit(
            self.cluster,
            [*placements, *refusals],
            session.gates,
            cel_errors=session.policy,
            caller_constraints=session.caller_constraints,
            deadline=deadline,
        )
        for unit, places, verdict in zip(units, asked, verdicts, strict=True):
            possible = [node for node, one in zip(nodes, verdict.nodes, strict=True) if one is Audit.POSSIBLE]
            if possible and self._is_read(self.request.queue[places[0]].unit_set.shape):
                said = f"{unit.namespace}/{unit.name} is said to fit no node, and fits {possible[0].metadata.name}"
                raise VerificationError([Violation(AUDIT_RULE, "", said)])
            if verdict.is_impossible:
                yield from places

    def _is_read(self, shape: UnitShape) -> bool:
        """Whether the audit reads all that may refuse a unit: not what devices take of nodes, groups, or other pods."""
        devices = NodeResourcesOfDevices(self.cluster, self.request.session.gates).devices
        return not (devices or self.cluster.constraint_groups or shape.rules)


def _audited_stage(stage: PlanStage, bound: Fraction | None, gap: float) -> PlanStage:
    """The stage with the bound of the audit in the place of the planner's. Raises ``VerificationError``."""
    value, sign = Fraction(str(stage.value)), 1 if stage.sense == "max" else -1
    if bound is not None and sign * (value - bound) > _NOISE * abs(bound):
        said = f"the stage {stage.stage} is {stage.value}, and no plan is beyond {float(bound)}"
        raise VerificationError([Violation(AUDIT_RULE, "", said)])
    if stage.proof is ProofKind.WITNESS:
        return stage
    if bound is not None and sign * (bound - value) <= 0:
        bound = value
    told = None if bound is None else stage.value if bound == value else _display_bound(bound, sign)
    closes = bound is not None and abs(bound - value) <= Fraction(str(gap)) * abs(bound)
    found = plan_stage(stage.stage, stage.value, told, closes, sign > 0, ProofKind.AUDITED)
    return found if told == stage.bound else replace_fields(found, solver_bound=stage.bound)


def _display_bound(bound: Fraction, sign: int) -> Number:
    """A bound as a number that is not beyond it."""
    if bound.denominator == 1:
        return int(bound)
    near = float(bound)
    return near if sign * (Fraction(str(near)) - bound) >= 0 else nextafter(near, sign * inf)


def rests_on_audits(answer: PlanOutcome, is_complete: bool) -> PlanOutcome:
    """The answer of which nothing is called proven that neither an audit nor a witness shows.

    ``is_complete``: it has all stages that were asked for, so that it is Optimal if all of them are proven.
    """
    stages = tuple(_audited_stage(one, None, 0) if one.proof is ProofKind.SOLVER else one for one in answer.objective)
    proven = all(one.proven for one in stages)
    outcome = FEASIBLE if not proven and answer.outcome in (OPTIMAL, INFEASIBLE) else answer.outcome
    outcome = OPTIMAL if proven and is_complete and answer.outcome == FEASIBLE else outcome
    return replace(answer, objective=stages, outcome=outcome)


# Values that are no short decimals are rounded.
_NOISE = Fraction(1, 10**9)


# Duals of linear programs are fractions of small numbers; floating point hides them behind noise.
_LARGEST_DENOMINATOR = 1_000_000


def named_duals(request: PlanRequest, instance: PlanInstance, solution: PlanSolution) -> tuple[StageDuals, ...]:
    """The duals of each stage of which a linear program was solved. Any of them give a bound; these give a good one."""
    pairs = zip(instance.goals, solution.stages, strict=False)
    return tuple(
        StageDuals(stage=result.name, rows=tuple(_StageDualNames(request, instance, goal, result).rows()))
        for goal, result in pairs
        if result.duals is not None
    )


@dataclass(frozen=True, slots=True)
class _StageDualNames:
    request: PlanRequest
    instance: PlanInstance
    goal: Goal
    result: StageResult

    def rows(self) -> Iterator[DualRow]:
        """Yield the rows that are worth something."""
        duals, problem = self.result.duals, self.instance.problem
        if duals is None:
            return
        # Units of a mix are behind those of the queue, and nobody asks for them.
        homes = self.request.moves.homes if self.request.moves else {}
        for role, dual in zip(self.instance.roles, duals.units, strict=False):
            if role.disruption is not None or role.move_cost is not None:
                continue
            # Units of one class may run and wait.
            entries = [one for one in role.unit_class.entries if homes.keys().isdisjoint(one.positions)]
            names = [f"{one.unit.namespace}/{one.unit.name}" for one in entries[0].units] if entries else []
            domain = ",".join(map("=".join, role.domain or ()))
            choice = self._choice(entries[0]) if entries else 0
            yield from self._row("unit" if entries else "claim", names, self._worth(dual), domain, choice)
        first = len(problem.rows)
        for number, (kind, row) in enumerate(zip(self.instance.row_kinds, problem.rows, strict=True)):
            yield from self._named(kind, number, row, self._worth(duals.rows[number]))
        scales = {goal.stage.name: goal.scale for goal in self.instance.goals}
        for name, dual in zip(self.result.kept, duals.rows[first:], strict=True):
            yield from self._row("stage", [name], abs(self._worth(dual)) * scales[name])

    def _worth(self, dual: float) -> Fraction:
        """A dual in the stage's own unit."""
        return Fraction(dual).limit_denominator(_LARGEST_DENOMINATOR) / self.goal.scale

    def _choice(self, entry: ColocatedUnits) -> int:
        """The number of the flavors that units of a workload have; 0 for others."""
        quota, own = self.request.quota, entry.units[0].unit_set
        member = quota.member_of_set(own) if quota else None
        # Units of a mix have no position.
        if quota is None or member is None or not entry.positions:
            return 0
        queued = self.request.queue[entry.positions[0]]
        choices = quota.problem.workloads[member.workload].pod_sets[member.pod_set].choices
        like = (
            n
            for n in range(len(choices))
            if quota.restricted(queued, n).unit_set.shape.signature == own.shape.signature
        )
        return next(like, 0)

    def _row(
        self, kind: DualKind, names: Sequence[str], value: Fraction, domain: str = "", choice: int = 0
    ) -> Iterator[DualRow]:
        if value:
            yield DualRow(kind=kind, names=tuple(names), domain=domain, choice=choice, value=str(value))

    def _named(self, kind: DualKind, number: int, row: CouplingRow, worth: Fraction) -> Iterator[DualRow]:
        if kind == "device":
            yield from self._of_shared(row, worth)
        elif kind == "budget":
            yield from self._row(kind, [], worth * self._budget_scale(row))
        elif kind == "limit":
            yield from self._of_limit(row, worth)
        else:
            yield from self._row(kind, [str(number)], worth)

    def _of_shared(self, row: CouplingRow, worth: Fraction) -> Iterator[DualRow]:
        """Devices, counters or capacity that several nodes reach; the last rows are about whole pools."""
        shared, number = self.instance.shared, next(iter(row.terms.usage))
        if number < len(shared.classes):
            yield from self._row("device", ["/".join(id_) for id_ in shared.classes[number]], worth)
            return
        number -= len(shared.classes)
        if number < len(shared.counters):
            (pool, counters, name), step = shared.counters[number]
            yield from self._row("counter", ["/".join(pool), counters, name], worth * NANO / step)
            return
        number -= len(shared.counters)
        if number < len(shared.capacities):
            (device, name), step = shared.capacities[number]
            yield from self._row("capacity", ["/".join(device), name], worth * NANO / step)
        else:
            yield from self._row("row", [], worth)

    def _budget_scale(self, row: CouplingRow) -> Fraction:
        """How many units of the budget's row make one of money."""
        catalogue, nodes = self.request.catalogue, self.instance.node_classes
        for index, amount in row.terms.nodes.items() if catalogue else ():
            price = catalogue.price(nodes[index].template) if catalogue else Fraction(0)
            if price:
                return Fraction(amount) / price
        return next((goal.scale for goal in self.instance.goals if goal.stage.name == "cost"), Fraction(1))

    def _of_limit(self, row: CouplingRow, worth: Fraction) -> Iterator[DualRow]:
        catalogue, nodes = self.request.catalogue, self.instance.node_classes
        if catalogue is None:
            return
        counted = {
            catalogue.offers[nodes[index].template].template.metadata.name: n for index, n in row.terms.nodes.items()
        }
        for limit in catalogue.limits:
            steps = {Fraction(limit.amounts.get(name, 0), amount) for name, amount in counted.items()}
            if len(steps) == 1 and (step := steps.pop()) and limit.most // step == row.upper:
                yield from self._row("limit", [limit.label], worth / step)
                return
