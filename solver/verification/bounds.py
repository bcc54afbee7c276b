"""Bounds of a plan's stages, found anew in exact arithmetic from the duals that its document has.

Any numbers are a bound: where each unit is paid for its place and each node takes what it is paid most for, no plan is
worth more than all payments together (Lagrangian relaxation). The duals of the planner's linear program are good ones.
The queue and the nodes are read from the manifests, and what a node takes at most is decided by ``bundles``. Gangs are
paid whole, in their best domain. What an earlier stage reached is a row with its own dual. Quota has rows with prices
of their own (``quota_bounds``). ConstraintGroups, claims that several units name, and limits that NodePools have are
left aside: they could only make less possible.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replace_record
from fractions import Fraction
from functools import cached_property, partial
from math import floor
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.node_templates import slices_from_template
from ...models.results.plan import DualRow, PlanStage, StageDuals
from ...models.workload.pod_sets import looking
from ...models.workload.queue import GroupSelection, read_queue
from ...models.workload.quota import QuotaProblem, QuotaQueue
from ...models.workload.unit_classes import Gang, UnitSet
from .audit import without_never_placed
from .audit_rows import NodeFace, most_valuable
from .bundles import EqualBundles, NodeBundles, PodSeparation, UnitKind
from .consumption import ConsumptionWeights, RequestedCapacities
from .payments import (
    FEWEST_NODES,
    ZERO,
    Payments,
    SharedPrices,
    StageForm,
    gang_worth,
    least_spread,
    marginal_cost,
    reached,
    stage_form,
    value_annotation,
    value_step,
    worth_of_shared,
)
from .pod_amounts import template_nodes
from .pod_rules import PlacedPods, have_pod_rules
from .preemption import LeavingPod, LeavingPods
from .quota_bounds import QueuedKinds
from .state import ExpressionTimeoutError
from .verify import Placement, Replay


@dataclass(frozen=True, slots=True)
class BoundQuestion:
    """What a plan was asked, as its bounds need it.

    ``cluster`` is what was read, without nodes that are bought. ``before`` are units that have their place whatever is
    planned, such as pods of DaemonSets, and count only where no running pod may leave. ``quota`` is what workloads of
    the queue need to be admitted. ``group`` is the group that the plan is about, if it is about one alone. Running pods
    may move with ``moves``, and lose their places with ``preempts``.
    """

    cluster: Cluster
    gates: FeatureGates
    cel_errors: str = "strict"
    namespace: str | None = None
    selector: str = ""
    natural_gangs: bool = False
    caller_constraints: Sequence[CallerConstraint] = ()
    buy: bool = False
    only_new: bool = False
    budget: Fraction | None = None
    before: Sequence[Placement] = ()
    quota: QuotaProblem | None = None
    group: GroupSelection | None = None
    moves: bool = False
    preempts: bool = False


def audited_bounds(
    question: BoundQuestion, stages: Sequence[PlanStage], duals: Sequence[StageDuals], deadline: float | None = None
) -> Iterator[Fraction | None]:
    """Yield a bound of each stage, in its own unit, for all plans that are as good in the stages before it.

    None: the stage is of a kind that is not read here, or there is no time until ``deadline``, a reading of
    ``time.monotonic``. Raises ``ValueError`` for duals that are no fractions.
    """
    rows = {one.stage: one.rows for one in duals}
    try:
        audit = _PlanBounds(question, [stage.stage for stage in stages], deadline)
    except ExpressionTimeoutError:
        yield from (None for _ in stages)
        return
    found: list[tuple[PlanStage, Fraction | None]] = []
    for stage in stages:
        bound = audit.bound(stage, found, rows.get(stage.stage, ()))
        found.append((stage, bound))
        yield bound


_Staying = tuple[LeavingPod, Fraction]
"""A running pod that may leave its node, and what it is worth there."""


@dataclass(frozen=True, slots=True)
class _NodeKind:
    """A node, or one of those that could be bought of a template, of which there are so many at most."""

    bundles: NodeBundles
    number: int
    price: Fraction = ZERO
    opens: bool = False


class _PlanBounds:
    """The queue and the nodes of one question, with what nodes are known to take."""

    def __init__(self, question: BoundQuestion, names: Sequence[str], deadline: float | None) -> None:
        self._question, self._deadline, self._nodes = question, deadline, list[_NodeKind]()
        gates, errors = question.gates, question.cel_errors
        sets: Sequence[UnitSet] = read_queue(
            question.cluster,
            namespace=question.namespace,
            selector=question.selector,
            gates=gates,
            value=value_annotation(names),
            natural_gangs=question.natural_gangs,
            group=question.group,
            look=self._look,
        )
        terms = {"moves": question.moves, "preempts": question.preempts}
        given = question.caller_constraints
        if question.cluster.constraint_groups and not (question.buy or question.quota or any(terms.values())):
            fresh = Replay(question.cluster, gates, errors, given, deadline=deadline)
            sets = without_never_placed(question.cluster, sets, fresh, given, deadline)
        leaving = LeavingPods(question.cluster, gates, sets, **terms) if any(terms.values()) else None
        self._leaving = leaving
        cluster = question.cluster if leaving is None else leaving.without()
        quota = None if question.quota is None else QuotaQueue(question.quota, sets)
        freed = () if leaving is None else leaving.freed
        self._queued = QueuedKinds(question.cluster, gates, sets, quota, freed)
        # Running pods that may leave, by node, and how many units there are in all.
        self._homes: dict[str, list[LeavingPod]] = defaultdict(list)
        for one in leaving.pods if leaving else ():
            self._homes[one.node].append(one)
        self._total = total = self._queued.total + (len(leaving.pods) if leaving else 0)
        offers = template_nodes(question.cluster) if question.buy else []
        slices = [made for template, node in offers for made in slices_from_template(template, node.metadata.name)]
        # Each node that is bought has such pools of its own: nothing in them has a price that all nodes share.
        self._own_pools = frozenset((one.spec.driver, one.spec.pool.name) for one in slices)
        cluster = cluster.with_nodes([node for _, node in offers], slices) if offers else cluster
        replay = Replay(cluster, gates, errors, given, deadline=deadline)
        there = [
            node
            for name, node in question.cluster.nodes.items()
            if not question.only_new and (name or not question.buy)
        ]
        busy = replay.busy_nodes(there) if FEWEST_NODES in names else frozenset()
        for placement in question.before if leaving is None else ():
            replay.enter(placement)
        self._context = replay.context
        bundles = partial(
            NodeBundles, replay.context, replay.loads, caller_constraints=question.caller_constraints, deadline=deadline
        )
        self._pods, self._separation = self._read_rules(cluster)
        alike = EqualBundles(replay.context, [one.kind for one in self._queued.kinds.values()])
        bundles = partial(bundles, separation=self._separation, equal=alike)
        self._nodes = [
            _NodeKind(bundles(node), 1, opens=node.metadata.name not in busy) for node in looking(there, self._look)
        ]
        for template, node in offers:
            limit = template.spec.limit
            number = total if limit is None else min(limit, total)
            self._nodes.append(_NodeKind(bundles(node), number, Fraction(str(template.spec.price or 0)), opens=True))
        self._known: dict[tuple[NodeFace, tuple[Fraction, ...]], Fraction | None] = {}
        capacities = RequestedCapacities(question.cluster, gates, deadline)
        self._forms = {name: self._form(name, capacities) for name in names}

    def _look(self) -> None:
        if self._deadline is not None and monotonic() > self._deadline:
            raise ExpressionTimeoutError

    def _read_rules(self, cluster: Cluster) -> tuple[PlacedPods | None, PodSeparation]:
        """The pods that run, and rules about one another; where some of these may leave they are left aside."""
        pods: dict[Hashable, Pod] = {
            one.kind: one.kind.pod for one in self._queued.kinds.values() if one.kind.pod is not None
        }
        if self._leaving is not None or not have_pod_rules(cluster, pods.values()):
            return None, PodSeparation()
        state = PlacedPods.of_running(cluster)
        return state, PodSeparation.of(state, pods)

    def bound(
        self, stage: PlanStage, earlier: Sequence[tuple[PlanStage, Fraction | None]], rows: Sequence[DualRow]
    ) -> Fraction | None:
        """Bound a stage: by bounds of stages that it is the sum of, by its duals, and by what there is at all."""
        form = self._forms[stage.stage]
        if form is None:
            return self._counted(stage, earlier)
        sign = 1 if stage.sense == "max" else -1
        amounts = [*form.units.values(), *(one for pair in form.leaving.values() for one in pair)]
        step = value_step([*amounts, *(form.of_node(node.price, node.opens) for node in self._nodes)])
        ways: list[Callable[[], Fraction | None]] = [
            partial(self._implied, stage, form, earlier),
            lambda: self._at(stage, form, earlier, self._payments(rows)),
            lambda: self._at(stage, form, earlier, self._payments(())),
            partial(self._at_least_costs, stage, form, earlier),
            partial(self._by_kind, stage, form),
        ]
        best: Fraction | None = None
        with suppress(ExpressionTimeoutError, SelectorError):
            for way in ways:
                self._look()
                bound = way()
                if bound is not None:
                    known = floor(sign * bound / step) * step
                    best = known if best is None else min(best, known)
                if best is not None and best <= sign * reached(stage.value, sign):
                    break
        return None if best is None else sign * best

    def _counted(self, stage: PlanStage, earlier: Sequence[tuple[PlanStage, Fraction | None]]) -> Fraction | None:
        """Bound a stage that is no sum over units by the number of coverage groups, or of units and nodes."""
        if self._leaving is not None:
            return None
        if stage.stage == "coverage":
            return Fraction(self._queued.demands)
        if stage.stage != "spread":
            return None
        counts = [Fraction(str(one.value)) for one, _ in earlier if one.stage in ("admitted", "admitted=count")]
        made = len(self._question.before) if self._question.buy else 0
        counted = floor(max(counts, default=ZERO)) - self._queued.of_nodes.total() - made
        return least_spread(max(0, counted), sum(node.number for node in self._nodes))

    def _form(self, name: str, capacities: RequestedCapacities) -> StageForm | None:
        """What a stage counts; None for one that is not read here."""
        shapes = {key: one.shape for key, one in self._queued.kinds.items()}
        of_devices = name.startswith(("admitted=devices", "admitted=capacity:"))
        is_about_units = name.partition("=")[0] in ("priority", "admitted") and not of_devices
        if self._leaving is not None and not is_about_units:
            # Whether claims that are free then ask for devices anew is not read here.
            weights = self._leaving.weights(name)
            return None if weights is None else StageForm(leaving=weights)
        form = stage_form(name, shapes, grouped=bool(self._question.cluster.constraint_groups), capacities=capacities)
        # What there is of each kind is not known where nodes are bought.
        return None if form is not None and form.consumption and self._question.buy else form

    def _payments(self, rows: Sequence[DualRow]) -> Payments:
        payments = Payments(self._queued.names, self._own_pools)
        for row in rows:
            payments.read(row)
        return payments

    def _implied(
        self, stage: PlanStage, form: StageForm, earlier: Sequence[tuple[PlanStage, Fraction | None]]
    ) -> Fraction | None:
        """The sum of the bounds of earlier stages that together count what this one does."""
        left, total = form.terms, ZERO
        for one, bound in earlier:
            own = self._forms[one.stage]
            if (
                own
                and own.terms
                and bound is not None
                and one.sense == stage.sense
                and own.terms.items() <= left.items()
            ):
                left = {key: weight for key, weight in left.items() if key not in own.terms}
                total += bound
        return total if form.terms and not left else None

    def _at(
        self,
        stage: PlanStage,
        form: StageForm,
        earlier: Sequence[tuple[PlanStage, Fraction | None]],
        payments: Payments,
    ) -> Fraction | None:
        """Bound a stage at these payments."""
        sign = 1 if stage.sense == "max" else -1
        whole, constant = StageForm().plus(form, Fraction(sign)), ZERO
        for one, _ in earlier:
            factor = payments.stages.get(one.stage, ZERO)
            own = self._forms[one.stage] if factor > 0 else None
            if own is not None:
                side = 1 if one.sense == "max" else -1
                whole = whole.plus(own, factor * side)
                constant -= factor * side * reached(one.value, side)
        if self._question.budget is not None and payments.budget > 0 and self._leaving is None:
            whole = whole.plus(StageForm(price=Fraction(1)), -payments.budget)
            constant += payments.budget * self._question.budget
        if whole.opened or whole.is_of_devices:
            # Units that go with their nodes count nothing in such a stage: they have their place for nothing.
            kept = {role: one for role, one in payments.places.items() if role[0] not in self._queued.of_nodes}
            payments.places = kept
        constant += worth_of_shared(payments.shared, self._context, [node.bundles.node for node in self._nodes])
        payments.shared = self._with_costs(payments.shared, whole)
        gone, staying = self._leaving.worth(whole.leaving) if self._leaving else (ZERO, {})
        nodes = self._nodes_worth(whole, payments, staying)
        return None if nodes is None else sign * (constant + gone + self._units_worth(whole, payments) + nodes)

    def _with_costs(self, shared: SharedPrices, form: StageForm) -> SharedPrices:
        """Prices with what a form, which costs, counts of devices."""
        if not form.is_of_devices:
            return shared
        costs = replace_record(shared, preference=-form.preference, consumption=-form.consumption)
        return replace_record(costs, weights=self._weights if form.consumption else None)

    @cached_property
    def _weights(self) -> ConsumptionWeights:
        return ConsumptionWeights(self._question.cluster)

    def _at_least_costs(
        self, stage: PlanStage, form: StageForm, earlier: Sequence[tuple[PlanStage, Fraction | None]]
    ) -> Fraction | None:
        """Bound a stage about devices: each placed unit counts at least what it does alone on its best node."""
        if not form.is_of_devices:
            return None
        shared, payments = self._with_costs(SharedPrices(), StageForm().plus(form, Fraction(-1))), self._payments(())
        costs: dict[bytes, Fraction] = {}
        for key, one in self._queued.kinds.items():
            worths = [self._most_worth(node, {(one.kind, 1): _LARGEST_COST}, shared) for node in self._nodes]
            if None in worths:
                return None
            costs[key] = _LARGEST_COST - max(filter(None, worths), default=ZERO)
        domains = ("", *(domain for own in self._domains.values() for domain in own))
        payments.places = {(key, domain): cost for key, cost in costs.items() for domain in domains}
        counted: set[bytes] = set()
        for known, _ in earlier:
            own = self._forms[known.stage]
            if own and own.units and known.sense == "max" and counted.isdisjoint(own.units):
                counted.update(own.units)
                numbers = {key: one.units for key, one in self._queued.kinds.items()}
                payments.stages[known.stage] = marginal_cost(own.units, costs, numbers, reached(known.value, 1))
        return self._at(stage, form, earlier, payments)

    def _units_worth(self, whole: StageForm, payments: Payments) -> Fraction:
        """What units and gangs are worth beyond the payments for their places."""
        total = ZERO
        for key, one in self._queued.kinds.items():
            total += one.free * max(ZERO, whole.units.get(key, ZERO) - payments.places.get((key, ""), ZERO))
        for gang, members in self._queued.gangs.items():
            if self._never_fits(gang, members):
                continue
            domains = self._domains.get(gang.domain, ()) if gang.domain is not None else ("",)
            worths = (gang_worth(gang, members, domain, whole, payments.places) for domain in domains)
            total += max(worths, default=ZERO)
        if self._queued.charged is not None:
            paid = payments.places

            def margin(key: bytes, domain: str) -> Fraction:
                return whole.units.get(key, ZERO) - paid.get((key, domain), ZERO)

            total += self._queued.charged.least_worth(margin, self._domains, self._deadline)
        return total

    def _never_fits(self, gang: Gang, members: Counter[bytes]) -> bool:
        """Whether no member is placed, wherever there is room; where members that run may leave, this may change."""
        return bool(gang.too_small(members.total()) or (gang.problem and self._leaving is None))

    @cached_property
    def _domains(self) -> Mapping[str, Sequence[str]]:
        """The values of each label that a gang is bound to, as payments name them."""
        found: dict[str, dict[str, None]] = {label: {} for label in self._queued.labels}
        for node in self._nodes:
            for domain in self._domains_of(node.bundles.node):
                found[domain.partition("=")[0]][domain] = None
        return {label: tuple(values) for label, values in found.items()}

    def _domains_of(self, node: Node) -> list[str]:
        labels = node.metadata.labels or {}
        return [f"{label}={labels[label]}" for label in sorted(self._queued.labels) if label in labels]

    def _by_kind(self, stage: PlanStage, form: StageForm) -> Fraction | None:
        """Bound a stage about units by how many of each kind fit all nodes if nothing else is there."""
        if stage.sense != "max" or not form.units:
            return None
        rooms: dict[bytes, list[Fraction]] = {}
        for key, one in self._queued.kinds.items():
            rooms[key] = []
            for node in self._nodes if key in form.units or self._pods is not None else ():
                worth = self._most_worth(node, {(one.kind, one.units): Fraction(1)}, SharedPrices())
                if worth is None:
                    return None
                rooms[key].append(worth * node.number)
        most = {key: self._most_of(key, rooms) for key in rooms}
        total = sum(
            (min(most[key], Fraction(self._queued.kinds[key].free)) * weight for key, weight in form.units.items()),
            ZERO,
        )
        for gang, members in self._queued.gangs.items():
            counted = [(key, number) for key, number in members.items() if key in form.units]
            missing = gang.minimum is None and any(most[key] < number for key, number in counted)
            if not (missing or self._never_fits(gang, members) or self._fits_nowhere(gang, members)):
                total += sum(
                    (min(most[key], Fraction(n)) * form.units.get(key, ZERO) for key, n in members.items()), ZERO
                )
        return total if self._queued.charged is None else total + self._queued.charged.most_placed(form.units, most)

    def _most_of(self, key: bytes, rooms: Mapping[bytes, Sequence[Fraction]]) -> Fraction:
        """How many units of a kind there are at most, nodes having room for so many, by rules of pods about domains."""
        own, kind = rooms[key], self._queued.kinds[key].kind
        most = sum(own, ZERO)
        nodes = [one.bundles.node for one in self._nodes]
        for label in self._separation.apart.get((kind, kind), ()):
            # Nodes of one template may have other values than another of them.
            domains: dict[str, Fraction] = defaultdict(Fraction)
            values = ((made.metadata.labels or {}).get(label) for made in nodes)
            parts = [(value, room) for value, room in zip(values, own, strict=True)]
            for value, room in parts if not self._question.buy else ():
                domains[value or ""] += room
            if domains:
                most = min(
                    most, sum((room if not value else min(room, Fraction(1)) for value, room in domains.items()), ZERO)
                )
        if self._pods is None or kind.pod is None or self._question.buy or self._question.before:
            return most
        names = [node.metadata.name for node in nodes]
        others = [
            (other.kind.pod, dict(zip(names, rooms[one], strict=True)))
            for one, other in self._queued.kinds.items()
            if other.kind.pod is not None
        ]
        return min(most, self._pods.most_spread(kind.pod, dict(zip(names, own, strict=True)), others))

    def _fits_nowhere(self, gang: Gang, members: Counter[bytes]) -> bool:
        """Whether no domain has room for as many members as have to be placed, each node for itself."""
        if gang.minimum is not None and gang.minimum <= len(gang.running_nodes):
            return False
        needed = members.total() if gang.minimum is None else gang.minimum - len(gang.running_nodes)
        of_members = {(self._queued.kinds[key].kind, number): Fraction(1) for key, number in members.items()}
        room: dict[str, Fraction] = defaultdict(Fraction)
        for node in self._nodes:
            worth = self._most_worth(node, of_members, SharedPrices())
            if worth is None:
                return False
            for domain in self._domains_of(node.bundles.node) if gang.domain is not None else ("",):
                room[domain] += worth * node.number
        own = (most for domain, most in room.items() if gang.domain is None or domain.startswith(f"{gang.domain}="))
        return max(own, default=ZERO) < needed

    def _nodes_worth(
        self, whole: StageForm, payments: Payments, at_home: Mapping[ObjectKey, Fraction]
    ) -> Fraction | None:
        """What all nodes take at most; no more of them than there are units."""
        worths: list[tuple[Fraction, int]] = []
        known = {node.bundles.node.metadata.name for node in self._nodes}
        elsewhere = (one for name, own in self._homes.items() if name not in known for one in own)
        for node in self._nodes:
            own = self._homes.get(node.bundles.node.metadata.name, ())
            staying = [(one, at_home[one.key]) for one in own if one.key in at_home]
            worth = self._node_worth(node, payments, staying)
            if worth is None:
                return None
            worths.append((worth + whole.of_node(node.price, node.opens), node.number))
        left, total = self._total, sum((at_home.get(one.key, ZERO) for one in elsewhere), ZERO)
        for worth, number in sorted(worths, reverse=True):
            taken = min(number, left) if worth > 0 else 0
            total, left = total + taken * worth, left - taken
        return total

    def _node_worth(self, node: _NodeKind, payments: Payments, staying: Sequence[_Staying]) -> Fraction | None:
        domains = ["", *self._domains_of(node.bundles.node)]
        paid = {}
        for key, one in self._queued.kinds.items():
            most = max(payments.places.get((key, domain), ZERO) for domain in domains)
            if most > 0:
                paid[one.kind, one.units] = most
        return self._most_worth(node, paid, payments.shared, staying)

    def _most_worth(
        self,
        node: _NodeKind,
        paid: Mapping[tuple[UnitKind, int], Fraction],
        shared: SharedPrices,
        staying: Sequence[_Staying] = (),
    ) -> Fraction | None:
        """What a node takes at most of kinds with their numbers, each unit being worth so much, and of who may stay."""
        self._look()
        if not paid:
            return sum((worth for _, worth in staying), ZERO)
        face, taken = node.bundles.face(list(paid), shared, [one for one, _ in staying])
        prices = [*paid.values(), *(worth for _, worth in staying)]
        worth = tuple(prices[number] for number in taken)
        if (face, worth) not in self._known:
            self._known[face, worth] = most_valuable(face, worth, self._deadline) if taken else ZERO
        return self._known[face, worth]


# More than any unit counts; a lower one would only make bounds worse.
_LARGEST_COST = Fraction(10**9)
