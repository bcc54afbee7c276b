"""The question that is asked about each node class: which units its nodes may take, with their problems and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add, or_

from ....encoders.constraints.relations import PREDICATE_ID
from ....models.cluster.cluster import Cluster
from ....models.kubernetes.gates import FeatureGates
from ....models.results.common import Status
from ....models.workload.node_resources import NodeResourceError, claim_users, draw_ranges, nano_of, whole_amount
from ....models.workload.node_room import DeviceBudget, DeviceBudgets
from ....models.workload.units import allocation_of
from ....problem.compiler import Question
from ....problem.conditions import NodeLimitCondition
from ....problem.constraints import pools_with_negative_draws
from ....problem.messages import FatalError
from ....problem.node_state import AllocatedState, NodeContextBuilder
from ....problem.problem import RESULT_LIMIT, Problem, Relation, Request
from ....problem.requests import ResolvedRequest
from ....problem.shapes import NodeView
from ...engines.auto import SearchThenSolve
from ...engines.engine import Session
from ...engines.engines import NodeCompiler
from ...engines.result import consumed_capacity, has_uncombinable_selector
from ..pricing.bundle import BundleQuestion, BundleUnit, Picks
from .gangs import GangRole
from .nodes import PlanNodeClass, ScaledResources
from .shared_devices import NodeReach
from .units import UnitClass

# What the solver may do for one unit with admin access on one node class, in deterministic units.
_LOOKING_WORK = 1.0


@dataclass
class BundleQuestionBuilder:
    """Compiles questions.

    ``node_context_builder`` describes nodes for stages that look at them; ``residual_roles`` are the roles of the
    target workload, whose questions are needed though nothing of them is queued. Without ``looks``, units that have
    nothing but admin access are in the model with all that they have. With ``relaxed`` admin access takes nothing.
    ``is_narrowed``: it is not known whether a node takes some unit, so that it takes none.
    """

    compiler: NodeCompiler
    allocated_state: AllocatedState
    resources: ScaledResources
    session: Session
    node_context_builder: NodeContextBuilder | None = None
    residual_roles: Sequence[GangRole] = ()
    looks: bool = True
    relaxed: bool = False
    draws: UnitDraws | None = None
    is_narrowed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._decider = SearchThenSolve(replace(self.session, work=_LOOKING_WORK))
        self._own_needs: dict[int, tuple[int, ...]] = {}
        self._questions: dict[int, Hashable] = {}
        self._units: dict[tuple[Hashable, ...], BundleUnit] = {}
        self._without_demands: list[Problem] = []
        # By question and view, which is kept so that no other one has its identity.
        self._problems: dict[tuple[int, int], tuple[NodeView, Problem | None]] = {}

    def view(self, unit_class: UnitClass, node: PlanNodeClass) -> NodeView:
        """Return what a unit class sees of a node."""
        return self.compiler.view(node.nodes[0], self.compiler.question(unit_class.claims))

    def reach(self, node: PlanNodeClass, unit_classes: Sequence[UnitClass], question: BundleQuestion) -> NodeReach:
        """Return what a node shares with others, and what each unit class sees of it."""
        looks = [self.view(unit_class, node).shape for unit_class in unit_classes] if node.shared else []
        return NodeReach(node, looks, question.in_use, [unit.problem for unit in question.units])

    def question(self, node: PlanNodeClass, roles: Sequence[GangRole], most: Sequence[int]) -> BundleQuestion:
        """Ask about a node: at most so many of each role."""
        problems: dict[Hashable, tuple[Problem, Picks, tuple[int, ...]] | None] = {}
        units: list[BundleUnit] = []
        for role in roles:
            shared = role.unit_class.shared
            if not node.takes(role) or not (shared or most[role.index] or role in self.residual_roles):
                continue
            alike = self._alike(role.unit_class)
            if alike not in problems:
                problems[alike] = self._drawing(role.unit_class, node)
            found = problems[alike]
            if found is None:
                continue
            # Where nodes do not differ for a role, its unit is the same in all questions. Units keep their Problems.
            known = role.index, id(found[0]), most[role.index], *found[1:]
            if known not in self._units:
                needs, size = self._needs(role.unit_class, found[2]), role.unit_class.size
                limit, key = (1, shared.key) if shared else (most[role.index], None)
                names = role.unit_class.apart
                self._units[known] = BundleUnit(role.index, found[0], limit, needs, True, size, found[1], key, names)
            units.append(self._units[known])
        return BundleQuestion(tuple(self._with_claims(units)), self.allocated_state.in_use(node.view), node.left)

    def _alike(self, unit_class: UnitClass) -> Hashable:
        """What is the same for unit classes that ask for the same of each node."""
        if unit_class.index not in self._questions:
            own = unit_class.shared or unit_class.apart or (self.draws and self.draws.ranges)
            asked = unit_class.index if own else ("claims", self.compiler.question(unit_class.claims).index)
            self._questions[unit_class.index] = asked
        return self._questions[unit_class.index]

    def _needs(self, unit_class: UnitClass, drawn: tuple[int, ...]) -> tuple[int, ...]:
        """The steps that a unit and its devices take of a node."""
        own = self._own_needs.get(unit_class.index)
        if own is None:
            own = self._own_needs[unit_class.index] = self.resources.needs(unit_class)
        return tuple(map(add, own, drawn)) if any(drawn) else own

    def _with_claims(self, units: Sequence[BundleUnit]) -> Iterator[BundleUnit]:
        """Yield the units all of whose claims may be had, and these claims before them."""
        # Where devices give counters the order decides, and a claim is allocated with the first unit that names it.
        apart = [unit for unit in units if unit.provides or unit.names]
        if not apart:
            yield from units
            return
        ordered = {unit.index for unit in apart if pools_with_negative_draws(unit.problem)}
        self.is_narrowed |= bool(ordered)
        there = frozenset(unit.provides for unit in units if unit.provides and unit.index not in ordered)
        listed = (replace(unit, names=unit.names & there) if self.relaxed else unit for unit in units)
        kept = [unit for unit in listed if unit.names <= there and unit.index not in ordered]
        named = {key for unit in kept for key in unit.names}
        yield from (unit for unit in kept if unit.provides and unit.provides in named)
        yield from (unit for unit in kept if not unit.provides)

    def _drawing(self, unit_class: UnitClass, node: PlanNodeClass) -> tuple[Problem, Picks, tuple[int, ...]] | None:
        """What a unit asks for, and what its devices take of the node whichever they are."""
        drawn = self.drawn(unit_class, node)
        looked = self._looked_at(drawn[0], unit_class, node) if drawn else None
        if drawn is None or looked is None or not looked[1]:
            return None if drawn is None or looked is None else (*looked, drawn[1])
        # Its devices are decided beforehand; with others it might take less.
        self.is_narrowed |= any(demand.node_draws for demand in drawn[0].demands)
        return *looked, self.drawn_by(*drawn, looked[1])

    def drawn(self, unit_class: UnitClass, node: PlanNodeClass) -> tuple[Problem, tuple[int, ...]] | None:
        """What a unit asks for of a node, and the steps that its devices take of it whichever they are."""
        problem = self.problem(unit_class, node)
        if problem is None or self.draws is None or not self.draws.ranges:
            return None if problem is None else (problem, (0,) * len(self.resources.names))
        view = self.view(unit_class, node)
        asks = self.compiler.resolved_requests(self.compiler.question(unit_class.claims), view.shape)
        found = self.draws.counted(unit_class, view, asks, problem, self.resources)
        self.is_narrowed |= self.draws.is_rounded
        return found

    def drawn_by(self, problem: Problem, drawn: tuple[int, ...], picks: Picks) -> tuple[int, ...]:
        """The steps that these devices take of the node, with what is ``drawn`` whichever they are."""
        picked = Counter[int]()
        for pick in picks:
            picked.update(dict(problem.demands[pick.demand].node_draws.get(pick.device, ())))
        return tuple(own + picked[row] for row, own in enumerate(drawn))

    def _looked_at(
        self, problem: Problem | None, unit_class: UnitClass, node: PlanNodeClass
    ) -> tuple[Problem, Picks] | None:
        """Decide what a unit gets that has nothing but admin access: then nothing is left of its claims (IN-3)."""
        if problem is None or not problem.has_admin:
            return None if problem is None else (problem, ())
        if unit_class.shared and self.relaxed:
            # It may be used from several nodes, whatever devices it gets.
            return None
        if unit_class.shared or unit_class.apart or not self.looks or not all(one.admin for one in problem.demands):
            return (problem.without_admin() if self.relaxed else problem), ()
        found = self._decider.decide(problem, self.allocated_state.in_use(node.view), None)
        # What others take may help where devices give counters.
        is_open = found.status is Status.UNKNOWN or bool(pools_with_negative_draws(problem))
        if found.status is not Status.ALLOCATED and not (self.relaxed and is_open):
            self.is_narrowed |= is_open
            return None
        return replace(problem, claims=(), demands=(), constraints=(), relations=()), found.picks

    def problem(self, unit_class: UnitClass, node: PlanNodeClass) -> Problem | None:
        """Compile the claims of a unit class on a node; None where that fails, so that the node takes none of it."""
        question = self.compiler.question(unit_class.claims)
        view = self.compiler.view(node.nodes[0], question)
        known = self._problems.get((question.index, id(view)))
        if known is None:
            known = self._problems[question.index, id(view)] = view, self._compiled(question, view)
        return known[1]

    def _compiled(self, question: Question, view: NodeView) -> Problem | None:
        try:
            problem = self.compiler.problem(question, view.shape).order_independent()
        except FatalError:
            return None
        awkward = {number for number, device in enumerate(view.devices) if has_uncombinable_selector(device)}
        problem = problem.without_devices(awkward) if awkward else problem
        if self.node_context_builder is not None:
            problem = replace(problem, node_context=self.node_context_builder.survey(view, question.visible))
        if problem.demands:
            return problem
        # Most nodes are alike for what asks for no devices.
        self._without_demands.append(problem)
        return next(one for one in self._without_demands if one == problem)


@dataclass(frozen=True, slots=True)
class _PodBudget:
    """What devices of one pod of a unit may take, and by claim of the Problem its number among the pod's own."""

    budget: DeviceBudget
    claims: Mapping[int, int]

    def is_limit(self, name: str) -> bool:
        """Whether the pod says how much there is, and not the node (NAR-6)."""
        return name in self.budget.demand.headroom or name in self.budget.demand.limits


_Key = tuple[int, str]
"""The number of a pod of the unit, and a resource or the text of a limit."""
_Drawn = tuple[tuple[_Key, int], ...]
"""What a device takes, in billionths."""


class UnitDraws:
    """What devices of pods take of their nodes beside the pods' requests (NAR-1 to NAR-7).

    ``ranges`` are the ``draws`` of ``ScaledResources``; there are none where no device takes anything. ``is_rounded``:
    what some device takes is counted as more than it is, so that some plans are left out.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates, unit_classes: Sequence[UnitClass]) -> None:
        self._gates = gates
        self._budgets = DeviceBudgets(cluster, gates)
        self.is_rounded = False
        self.ranges: dict[str, tuple[int, int]] = {}
        if self._budgets.devices.devices:
            units = [planned.unit for one in unit_classes for entry in one.entries[:1] for planned in entry.units]
            number = sum(len(one.entries) * one.size for one in unit_classes)
            uses = (claim_users(unit, ref).total() for unit in units for ref in unit.claims)
            most = number * max((len(unit.claims) for unit in units), default=0) * RESULT_LIMIT
            found = draw_ranges(cluster, max(uses, default=0))
            self.ranges = {name: (step, each * most) for name, (step, each) in found.items()}

    def counted(
        self,
        unit_class: UnitClass,
        view: NodeView,
        asks: Sequence[ResolvedRequest],
        problem: Problem,
        resources: ScaledResources,
    ) -> tuple[Problem, tuple[int, ...]] | None:
        """Count in steps what a unit's devices take of a node: for any devices, and by the device where that differs.

        None: its own limits leave too little for its devices, or nobody can say what these take (NAR-2, NAR-6).
        """
        try:
            pods = list(self._pod_budgets(unit_class))
        except NodeResourceError:
            return None
        drawn: list[dict[int, _Drawn]] = [{} for _ in problem.demands]
        unknown: set[int] = set()
        for demand, ask in zip(problem.demands, asks, strict=True):
            for pod, own in ((pod, one) for pod, one in enumerate(pods) if demand.claim in one.claims):
                for number in demand.candidates:
                    device = view.devices[number]
                    try:
                        consumed = consumed_capacity(device.device, ask, self._gates)
                        amounts = own.budget.draws(own.claims[demand.claim], device.id, consumed)
                    except NodeResourceError:
                        unknown.add(number)
                    else:
                        terms = (((pod, name), amount) for name, amount in sorted(amounts.items()) if amount)
                        drawn[demand.index][number] = (*drawn[demand.index].get(number, ()), *terms)
        problem = problem.without_devices(unknown) if unknown else problem
        given = Counter({(pod, name): n for pod, one in enumerate(pods) for name, n in one.budget.given.items()})
        left = {
            (pod, name): limit
            for pod, one in enumerate(pods)
            for name in (*one.budget.demand.headroom, *one.budget.demand.limits)
            if (limit := one.budget.left(name)) is not None
        }
        totals = [_totals(problem, request, drawn) for claim in problem.claims for request in claim.requests]
        uniform = all(len(own) <= 1 for own in totals)
        if uniform:
            fixed = sum((Counter(dict(one)) for own in totals for one in own), Counter[_Key]())
            if any(fixed[key] > limit for key, limit in left.items()):
                return None
            given += fixed
        elif any(limit < 0 for limit in left.values()):
            return None
        needs = Counter[str]()
        for (pod, name), nano in given.items():
            if not pods[pod].is_limit(name):
                needs[name] += whole_amount(name, nano)
        row_of = {name: row for row, name in enumerate(resources.names)}
        steps = dict(zip(resources.names, resources.steps, strict=True))
        taken = tuple(self._steps(needs[name], step) for name, step in steps.items())
        if not uniform:
            problem = self._with_limits(problem, drawn, totals, left)
            node: list[dict[int, tuple[tuple[int, int], ...]]] = []
            for each in drawn:
                rows: dict[int, Counter[int]] = {number: Counter() for number in each}
                for number, (pod, name), nano in ((number, *one) for number, own in each.items() for one in own):
                    if not pods[pod].is_limit(name):
                        rows[number][row_of[name]] += self._steps(self._whole(name, nano), steps[name])
                node.append({number: tuple(own.items()) for number, own in rows.items()})
            pairs = zip(problem.demands, node, strict=True)
            problem = replace(problem, demands=tuple(replace(demand, node_draws=own) for demand, own in pairs))
        return problem, taken

    def _pod_budgets(self, unit_class: UnitClass) -> Iterator[_PodBudget]:
        """Yield what devices of each pod may take. Raises ``NodeResourceError``."""
        if not unit_class.entries:
            return
        entry = unit_class.entries[0]
        refs = [ref for ref in entry.unallocated_claims if ref.claim is not None]
        for planned in entry.units:
            keys = {ref.key for ref in planned.unit.requested_claims}
            own = [(number, ref) for number, ref in enumerate(refs) if ref.key in keys]
            held = {ref.key: made for ref in planned.unit.claims if (made := allocation_of(ref)) is not None}
            budget = self._budgets.budget(planned.unit, [ref for _, ref in own], held, None)
            if budget is not None:
                yield _PodBudget(budget, {number: place for place, (number, _) in enumerate(own)})

    def _with_limits(
        self,
        problem: Problem,
        drawn: Sequence[Mapping[int, _Drawn]],
        totals: Sequence[set[_Drawn]],
        left: Mapping[_Key, int],
    ) -> Problem:
        """Add a relation about the limits of the pods that some choice of devices may exceed."""
        most = Counter[_Key]()
        for own in totals:
            most += reduce(or_, (Counter(dict(one)) for one in own), Counter[_Key]())
        names = [key for key, limit in left.items() if most[key] > limit]
        if not names:
            return problem
        rows = {key: row for row, key in enumerate(names)}
        draws = {
            demand: {device: tuple((rows[key], n) for key, n in own if key in rows) for device, own in amounts.items()}
            for demand, amounts in enumerate(drawn)
        }
        condition = NodeLimitCondition(draws, tuple(left[key] for key in names))
        claims = tuple(range(len(problem.claims)))
        number, demands = len(problem.relations), frozenset(draws)
        relation = Relation(PREDICATE_ID, claims, number, "limits of the pod", demands, condition)
        return replace(problem, relations=(*problem.relations, relation))

    def _whole(self, name: str, nano: int) -> int:
        whole = whole_amount(name, nano)
        self.is_rounded |= nano_of(name, whole) != nano
        return whole

    def _steps(self, amount: int, step: int) -> int:
        self.is_rounded |= bool(amount % step)
        return -(-amount // step)


def _totals(problem: Problem, request: Request, drawn: Sequence[Mapping[int, _Drawn]]) -> set[_Drawn]:
    """What the devices of a request may take, for each of its alternatives and devices as if all were like it."""
    found: set[_Drawn] = set()
    for demand in (problem.demands[number] for number in request.demands):
        listed = [Counter(dict(drawn[demand.index].get(device, ()))) for device in demand.candidates]
        if demand.all_devices:
            listed = [sum(listed, Counter[_Key]())]
        else:
            listed = [Counter({key: demand.count * amount for key, amount in own.items()}) for own in listed]
        found.update(tuple(sorted(own.items())) for own in listed)
    return found
