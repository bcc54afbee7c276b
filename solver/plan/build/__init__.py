"""Build a planning instance: a request becomes a master problem and a pricing question for each node class.

``PlanRequest`` is what is asked, ``PlanInstance`` what the solver gets. ``EarlierPlacements`` are the units that
ConstraintGroups couple (``groups``): they are placed before, and the instance starts from what they leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ....models.kubernetes.core import Node
from ....models.results.common import Reason
from ....models.results.plan import DualKind
from ....models.workload.expansion import QueuedUnit, unit_runs
from ....models.workload.node_resources import NodeResourcesOfDevices
from ....models.workload.node_room import missing_resources, remaining_allocatable
from ....models.workload.quota import QuotaQueue
from ....models.workload.requests import Requests
from ....models.workload.unit_classes import Gang
from ....models.workload.units import Allocations
from ....problem.messages import until
from ....problem.node_state import STANDARD_GROUPINGS, AllocatedState, NodeContextBuilder
from ....problem.requests import VisibleAttributes
from ...engines.engine import Session
from ...engines.engines import NodeCompiler
from ..master_problem import CouplingRow, IntegerPlan, MasterProblem, Terms
from ..pricing import DispatchingPricer
from ..pricing.bundle import BundleQuestion, SharedClaimMeasure
from ..pricing.consumption import ConsumptionMeasure, ConsumptionSurvey, least_consumption, stages_with_choice
from .departures import Departures, PlanMoves, PreemptingStart
from .free_domains import DomainChoices, busy_nodes
from .gangs import GangAlternative, GangBuilder, GangMembership, GangRole, GangRoles, MemberAlternatives, master_problem
from .moves import HomeBuilder, HomeSlots
from .nodes import (
    NodeCatalogue,
    NodeClassifier,
    PlanNodeClass,
    ScaledResources,
    may_span_nodes,
    without_spanning_claims,
)
from .objectives import COMPACT, FRAGMENTATION, LEAST_CONSUMPTION, SOFT, Goal, ObjectiveBuilder
from .pod_rules import read_pod_rules
from .preferences import PREFERENCES, PreferencePlan
from .questions import BundleQuestionBuilder, UnitDraws
from .quota import QuotaEntries, quota_entries
from .quota_admission import PlannedAdmissions, build_admissions
from .quota_stages import QuotaStages
from .shared_devices import SharedDevices, shared_devices
from .units import (
    ColocatedUnits,
    SharedClaims,
    UnitClass,
    colocated_signature,
    group_unit_classes,
    group_units,
    omits_variants,
    waiting_shapes,
)
from .weights import DeviceCapacities

# How often what all units take may be on one node, where a plan is to leave room for more of them.
_RESIDUAL_MULTIPLE = 1000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is planned: stages by name, the open positions of the queue, and what may be bought.

    ``earlier`` is what was placed before, and what it leaves; ``target_workload`` are the units that ``fragmentation``
    leaves room for, None for those of the queue. ``node_names``: there is time for these nodes only; None: for all.
    ``last_stages`` follow the objective where a unit has a choice between devices that consume different amounts.
    ``relaxed``: the instance has all plans, and such as cannot be carried out, so that its bounds hold for all: admin
    access takes nothing, pools that cannot be counted have no limit, and a claim takes nothing that could be used from
    several nodes. ``quota`` says which units need quota, and what there is. ``moves`` are pods that may move: they
    are in the queue, and have homes. ``is_narrowed``: units that could be placed are left out.
    """

    session: Session
    queue: Sequence[QueuedUnit]
    open_positions: Sequence[int]
    objective: tuple[str, ...]
    earlier: EarlierPlacements
    catalogue: NodeCatalogue | None = None
    only_new: bool = False
    budget: Fraction | None = None
    target_workload: Sequence[QueuedUnit] | None = None
    node_names: frozenset[str] | None = None
    relaxed: bool = False
    last_stages: tuple[str, ...] = ()
    quota: QuotaQueue | None = None
    moves: PlanMoves | None = None
    is_narrowed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PlanInstance:
    """A master problem with its pricer, and what its numbers mean.

    ``unplaceable`` says by position in the queue why a unit cannot be placed; ``is_narrowed``: the instance leaves out
    some plans, so that its bounds do not hold for all; ``busy`` are the nodes in use whatever is planned. ``objective``
    are the stages by name, with those that follow; ``consumption`` weighs devices where a stage asks for it.
    ``admissions`` reads from a plan what is admitted. ``homes`` say which running pods stay, ``unmoved`` is the plan in
    which all do; ``row_kinds`` what rows are about; ``losses`` puts running pods back for which there is room.
    """

    problem: MasterProblem
    goals: tuple[Goal, ...]
    pricer: DispatchingPricer
    unit_classes: tuple[UnitClass, ...]
    roles: tuple[GangRole, ...]
    gang_alternatives: tuple[GangAlternative, ...]
    node_classes: tuple[PlanNodeClass, ...]
    questions: Mapping[int, BundleQuestion]
    shared: SharedDevices
    compiler: NodeCompiler
    unplaceable: Mapping[int, str]
    is_narrowed: bool
    busy: frozenset[str]
    objective: tuple[str, ...]
    consumption: ConsumptionSurvey | None
    admissions: PlannedAdmissions | None = None
    homes: HomeSlots | None = None
    row_kinds: tuple[DualKind, ...] = ()
    losses: PreemptingStart | None = None
    unmoved: IntegerPlan | None = None


def build_plan_instance(request: PlanRequest, deadline: float | None = None) -> PlanInstance:
    """Build the instance. Raises ``SelectorError``, and ``DeadlineExceededError`` after the deadline (SRCH-10)."""
    return _PlanInstanceBuilder(request).build(deadline)


class _PlanInstanceBuilder:
    def __init__(self, request: PlanRequest) -> None:
        self._request = request
        self._cluster = request.catalogue.cluster if request.catalogue else request.session.cluster
        self._compiler = NodeCompiler(replace(request.session, cluster=self._cluster))
        self._ledger = request.earlier.allocated_state
        self._roles = GangRoles()
        self._apart = SharedClaims(request.relaxed)
        self._rows: list[CouplingRow] = []
        self._entries: list[QuotaEntries] = []
        self._refused: dict[int, str] = {}
        self._wishes: PreferencePlan | None = None
        self._narrowed = bool(request.earlier.coupled) or request.node_names is not None or request.is_narrowed
        self._narrowed |= request.quota is not None and not request.quota.problem.complete
        offers = request.catalogue.offers if request.catalogue else {}
        there = (node for name, node in self._cluster.nodes.items() if name not in offers and self._may_use(name))
        moves, gates = request.moves, request.session.gates
        self._busy = busy_nodes(self._cluster, gates, there, moves.parts if moves else ())
        self._busy |= moves.kept if moves else frozenset()

    def build(self, deadline: float | None) -> PlanInstance:
        """Units and gangs come first, then nodes and what they share, then the stages."""
        self._compiler.limit(deadline)
        instance = self._built()
        self._compiler.limit(None)
        return instance

    def _may_use(self, node: str) -> bool:
        """Whether there is time for a node that there is."""
        return self._request.node_names is None or node in self._request.node_names

    def _built(self) -> PlanInstance:
        queued, members = self._units()
        mix = [ColocatedUnits((), (planned,)) for planned in self._target_workload()]
        residual_classes = group_unit_classes(mix, len(queued))
        unit_classes = [*queued, *residual_classes]
        nodes = self._nodes()
        gangs = GangBuilder(self._roles, nodes, self._cluster.nodes)
        gangs.build(members)
        moves, catalogue, queue = self._request.moves, self._request.catalogue, self._request.queue
        earlier = [(queue[place], name) for place, (name, _) in self._request.earlier.assigned.items()]
        # Running pods that may move, and room for a mix, are about roles as they are.
        splits = moves is None and FRAGMENTATION not in self._request.objective
        places = {place: home.node for place, home in moves.homes.items()} if moves else {}
        offers = catalogue.offers if catalogue else ()
        if PREFERENCES in self._request.objective:
            self._wishes = PreferencePlan(self._cluster, nodes, offers, unit_classes, queue, earlier)
        rules = read_pod_rules(gangs, unit_classes, self._cluster, earlier, places, splits, bool(offers), self._wishes)
        self._rows += rules.rows
        departures = Departures.of(moves, self._roles, gangs, queued) if moves and moves.tells_arrivals_apart else None
        objective, entries, quota = self._request.objective, self._entries, self._request.quota
        admissions = build_admissions(quota, gangs, entries, queued, objective) if quota else None
        residual_roles = [self._roles.of(unit_class) for unit_class in residual_classes]
        roles = self._roles.all
        times = _RESIDUAL_MULTIPLE if FRAGMENTATION in objective else 1
        session, used, relaxed = self._request.session, self._request.earlier.nodes, self._request.relaxed
        draws = UnitDraws(self._cluster, session.gates, unit_classes)
        resources = ScaledResources.of(unit_classes, times, rules.limits, draws.ranges)
        bound = {*members, *(entry.gang for entry in entries if entry.gang)}
        free = DomainChoices.of(objective, self._cluster, session.gates, nodes, used, gangs)
        labels = {own for gang in bound for own in (gang.domain, *(one.domain for one in gang.parents))}
        domains = sorted({*rules.keys, *free.labels.values(), *filter(None, labels)})
        node_classes = self._node_classes(unit_classes, nodes, resources, domains)
        if admissions:
            admissions = replace(admissions, sizes=[resources.size(role, node_classes) for role in roles])
        instance = master_problem(roles, (node.count for node in node_classes), gangs, admissions)
        instance = self._wishes.followed(instance, roles) if self._wishes else instance
        contexts = NodeContextBuilder(self._cluster) if COMPACT in self._request.objective else None
        # These stages count what admin access looks at.
        looks = not {SOFT, COMPACT}.intersection(self._request.objective)
        questions = BundleQuestionBuilder(
            self._compiler, self._ledger, resources, session, contexts, residual_roles, looks, relaxed, draws
        )
        ends, demands = self._compiler.deadline, instance.demands()
        plain = {node.index: questions.question(node, roles, demands) for node in until(node_classes, ends, every=1)}
        homes: HomeBuilder | None = None
        if moves:
            homes = HomeBuilder(moves, queue, self._roles, questions, self._compiler, departures)
            homes.split(node_classes, plain, unit_classes, self._request.objective)
            node_classes, plain, roles = homes.nodes, homes.asked, self._roles.all
            instance = master_problem(roles, (node.count for node in node_classes), gangs, admissions)
        instance = replace(instance, domains=tuple(free.domains(node_classes)))
        self._rows += free.rows(node_classes)
        plain = without_spanning_claims(node_classes, plain) if relaxed else plain
        reaches = [questions.reach(node, unit_classes, plain[node.index]) for node in until(node_classes, ends)]
        shared = shared_devices(reaches, relaxed=relaxed)
        self._narrowed |= shared.is_narrowed or questions.is_narrowed or may_span_nodes(node_classes, plain)
        objective, survey, consumption = self._request.objective, None, dict[int, ConsumptionMeasure]()
        least: Mapping[int, int] = {}
        # Nothing could be proven of stages that follow where plans are left out.
        following = () if self._narrowed else self._request.last_stages
        if LEAST_CONSUMPTION in {*objective, *following}:
            survey = ConsumptionSurvey(NodeContextBuilder(self._cluster), self._ledger)
            consumption = {node.index: survey.of_question(plain[node.index], node.view) for node in node_classes}
            objective = (*objective, *stages_with_choice(following, plain, consumption))
            least = least_consumption(plain, consumption)
        stages = admissions.stages if admissions else None
        target_roles = residual_roles or [role for role in roles if role.disruption is None]
        goals = self._goals(objective, gangs, roles, target_roles, node_classes, stages, least, homes, free)
        measured = {
            node.index: self._measured(plain[node.index], node, shared, goals, consumption.get(node.index))
            for node in until(node_classes, ends)
        }
        first = len(shared.limits) + len(self._apart.refs)
        on_one_node = [CouplingRow(Terms(usage={meter: 1}), upper=1) for meter in range(len(shared.limits), first)]
        limits = list(catalogue.limit_rows(node_classes)) if catalogue else []
        residual, at_home = goals.residual_workload, list(homes.rows()) if homes else []
        first_kind: DualKind = "quota" if quota else "gang"
        kinds: tuple[DualKind, ...] = (first_kind, "row", "device", "claim", "budget", "limit", "home")
        rows = (gangs.rows, self._rows, shared.rows, on_one_node, goals.budget(first), limits, at_home)
        instance = replace(
            residual.instance(instance) if residual else instance,
            rows=tuple(row for own in rows for row in own),
            meters=first + len(goals.measures),
            sizes=((1,) * first + goals.sizes),
        )
        pricer = DispatchingPricer.of(measured, instance.demands())
        if homes:
            instance = replace(instance, start=homes.start(instance, measured, pricer))
        return PlanInstance(
            instance,
            goals.stages(first),
            pricer,
            tuple(unit_classes),
            tuple(roles),
            tuple(gangs.alternatives),
            tuple(node_classes),
            measured,
            shared,
            self._compiler,
            {**gangs.unplaceable, **self._refused},
            self._narrowed,
            self._busy,
            objective,
            survey,
            admissions,
            homes.slots() if homes else None,
            tuple(kind for kind, own in zip(kinds, rows, strict=True) for _ in own),
            homes.losses if homes else None,
            instance.start,
        )

    def _goals(
        self,
        objective: tuple[str, ...],
        gangs: GangBuilder,
        roles: Sequence[GangRole],
        target_roles: Sequence[GangRole],
        nodes: Sequence[PlanNodeClass],
        quota: QuotaStages | None,
        least: Mapping[int, int],
        homes: HomeBuilder | None,
        free: DomainChoices,
    ) -> ObjectiveBuilder:
        request, catalogue, moves = self._request, self._request.catalogue, self._request.moves
        prices = {node.index: catalogue.price(node.template) for node in nodes if catalogue and node.template}
        going = moves.prices if moves else {}
        for node in nodes:
            if not node.template and not node.is_in_use and node.nodes[0].metadata.name in going:
                prices[node.index] = going[node.nodes[0].metadata.name]
        running = moves.homes if moves else {}
        return ObjectiveBuilder(
            objective,
            roles,
            list(zip(gangs.gangs, gangs.alternatives, strict=True)),
            nodes,
            prices,
            sum((price for name, price in going.items() if name in self._busy), Fraction(0)),
            request.budget,
            waiting_shapes(request.queue, running),
            [request.queue[place].unit_set.shape for place in request.earlier.assigned],
            len(request.earlier.nodes - self._busy),
            target_roles,
            DeviceCapacities(self._cluster, request.session.gates),
            request.last_stages,
            quota,
            least,
            # Told apart from what waits they count nothing.
            [] if homes and homes.departures else [request.queue[place].unit_set.shape for place in running],
            homes.stage if homes else None,
            homes.departures.victim_priorities if homes and homes.departures else (),
            free.stage,
            self._wishes,
            {one.gang for one, _ in unit_runs(request.queue)},
        )

    def _measured(
        self,
        question: BundleQuestion,
        node: PlanNodeClass,
        shared: SharedDevices,
        goals: ObjectiveBuilder,
        consumption: ConsumptionMeasure | None,
    ) -> BundleQuestion:
        """Add the meters and measures to a question that stages and rows count."""
        claims = map(SharedClaimMeasure, self._apart.refs)
        measures = (*shared.measures[node.index], *claims, *goals.measures_of(node, question, consumption))
        measured = replace(question, meters=shared.meters[node.index], holding=len(shared.classes), measures=measures)
        # Residual units on nodes that are not bought would cost nothing.
        residual = None if node.template else goals.residual_workload
        return residual.question(measured) if residual else measured

    def _target_workload(self) -> Sequence[QueuedUnit]:
        """The units for which a stage leaves room, where roles of the queue do not stand for them."""
        given, is_asked = self._request.target_workload, FRAGMENTATION in self._request.objective
        if given is None and is_asked and self._request.quota:
            # The units of a workload have a role for each choice of flavors.
            return [self._request.queue[place] for place in self._request.open_positions]
        return given or ()

    def _units(self) -> tuple[list[UnitClass], Mapping[Gang, list[MemberAlternatives]]]:
        """Return the unit classes, and the members of gangs; all other units get roles one by one."""
        apart, quota = FRAGMENTATION not in self._request.objective, self._request.quota
        may_wait = quota is None and self._request.moves is None
        alone, single, sets = group_units(self._request.queue, self._request.open_positions, may_wait=may_wait)
        # Units that are placed beside the plan have their claims with them.
        # What a claim takes of its node each of its pods pays in full (NAR-8).
        apart &= self._request.relaxed or not NodeResourcesOfDevices(self._cluster, self._request.session.gates).devices
        charged = [quota is not None and any(map(quota.member, variants[0].units)) for variants in sets]
        pairs = zip(sets, charged, strict=True)
        separated = [self._apart.separated(variants, always=own) if apart else [] for variants, own in pairs]
        single += [entry for own in separated for entry in own]
        sets = [variants for variants, own in zip(sets, separated, strict=True) if not own]
        if quota:
            single, sets = self._without_charged(quota, single, sets)
        listed = [*single, *(entry for variants in sets for entry in variants)]
        unit_classes = group_unit_classes(
            [*listed, *(entry for one in self._entries for entry in one.units())], alone=alone
        )
        class_of = {colocated_signature(one.entries[0]): one for one in unit_classes}
        found, ungrouped = GangMembership(), defaultdict[int, list[ColocatedUnits]](list)
        for entry in single:
            own = entry.units[0].unit_set
            if own.gang is not None:
                found.add([(class_of[own.shape.signature,], entry)])
            else:
                ungrouped[self._roles.of(class_of[own.shape.signature,]).index].append(entry)
        for variants in sets:
            self._narrowed |= omits_variants(variants)
            found.add([(class_of[colocated_signature(entry)], entry) for entry in variants])
        for choice in found.free:
            roles = [self._roles.of(unit_class) for unit_class, _ in choice]
            for role, (_, entry) in zip(roles, choice, strict=True):
                ungrouped[role.index].append(entry)
            if len(choice) > 1:
                self._rows.append(CouplingRow(Terms(units={role.index: 1 for role in roles}), upper=1))
        for role in self._roles.all:
            role.ungrouped = alone.get(colocated_signature(role.unit_class.entries[0]), ungrouped[role.index])
        self._narrowed |= found.is_narrowed or self._apart.is_narrowed
        shared = self._apart.unit_classes(len(unit_classes))
        for unit_class in shared:
            self._roles.of(unit_class)
        return [*unit_classes, *shared], found.gangs()

    def _without_charged(
        self, quota: QuotaQueue, single: Sequence[ColocatedUnits], sets: Sequence[list[ColocatedUnits]]
    ) -> tuple[list[ColocatedUnits], list[list[ColocatedUnits]]]:
        """Keep units that need no quota, and leave those of workloads to ``_entries`` or among the refused."""
        charged = [entry for entry in single if quota.member(entry.units[0]) is not None]
        self._entries, self._refused = quota_entries(quota, self._request.queue, charged)
        there = {id(entry) for entry in charged}
        left = []
        for variants in sets:
            if any(map(quota.member, variants[0].units)):
                # The claims of too many units would have to be planned apart.
                self._narrowed = True
                self._refused.update(dict.fromkeys(variants[0].positions, "it shares claims with too many others"))
            else:
                left.append(variants)
        return [entry for entry in single if id(entry) not in there], left

    def _nodes(self) -> list[Node]:
        """Return the nodes that may be used, with one for each template."""
        catalogue = self._request.catalogue
        nodes = self._cluster.nodes.values()
        if catalogue is None:
            return [node for node in nodes if self._may_use(node.metadata.name)]
        # Without any node that is known, one without a name stands for all that there could be.
        return [
            node
            for node in nodes
            if node.metadata.name in catalogue.offers
            or (node.metadata.name and not self._request.only_new and self._may_use(node.metadata.name))
        ]

    def _node_classes(
        self,
        unit_classes: Sequence[UnitClass],
        nodes: Sequence[Node],
        resources: ScaledResources,
        domains: Sequence[str],
    ) -> list[PlanNodeClass]:
        gates, catalogue, moves = self._request.session.gates, self._request.catalogue, self._request.moves
        rooms = {**remaining_allocatable(self._cluster, gates), **self._request.earlier.room_by_node}
        visible = frozenset(STANDARD_GROUPINGS if COMPACT in self._request.objective else ())
        classifier = NodeClassifier(
            self._compiler,
            self._cluster.pools(gates),
            self._ledger,
            unit_classes,
            resources,
            # Nodes that could be bought are empty.
            rooms,
            VisibleAttributes(names=visible),
            domains,
            self._busy | self._request.earlier.nodes,
            frozenset(home.node for home in moves.homes.values()) if moves else frozenset(),
            self._wishes,
        )
        most = len(self._request.open_positions)
        bought = {name: catalogue.limit(name, most) for name in catalogue.offers} if catalogue else {}
        return classifier.node_classes(nodes, bought)


MutableRoomByNode = dict[str, Requests | None]


@dataclass
class EarlierPlacements:
    """Units placed before all others: by position in the queue a node and allocations, or reasons.

    ``allocated_state`` and ``room_by_node`` are what these placements leave. ``daemons`` are the positions of pods of
    DaemonSets, which are part of their nodes.
    """

    allocated_state: AllocatedState
    room_by_node: MutableRoomByNode
    assigned: dict[int, tuple[str, Allocations]] = field(default_factory=dict)
    reasons: dict[int, tuple[Reason, ...]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    daemons: frozenset[int] = frozenset()

    @property
    def positions(self) -> set[int]:
        """Positions in the queue of the units that are placed, or have reasons."""
        return {*self.assigned, *self.reasons}

    @property
    def coupled(self) -> set[int]:
        """Those of them that are no pods of DaemonSets: a plan that places them later may be better."""
        return self.positions - self.daemons

    @property
    def nodes(self) -> set[str]:
        """Names of the nodes that got units other than pods of DaemonSets, which make no node a used one."""
        return {name for place, (name, _) in self.assigned.items() if place not in self.daemons}

    def copied(self) -> EarlierPlacements:
        """The same, to be added to."""
        rooms = {name: room and dict(room) for name, room in self.room_by_node.items()}
        state = AllocatedState(self.allocated_state.usage)
        return EarlierPlacements(
            state, rooms, dict(self.assigned), dict(self.reasons), list(self.notices), self.daemons
        )

    def lacks(self, requests: Mapping[str, int], node: str) -> bool:
        """Whether a node has no room for so much."""
        return bool(missing_resources(requests, self.room_by_node.get(node)))


def no_earlier_placements(session: Session) -> EarlierPlacements:
    """Return the state of a cluster before any placement."""
    rooms = dict(remaining_allocatable(session.cluster, session.gates))
    return EarlierPlacements(AllocatedState(session.cluster.usage(session.gates)), rooms)
