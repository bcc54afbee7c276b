"""What the document of ``plan`` says, checked against the manifests: placements, purchases, steps, sums and bounds.

The queue is read anew, and the plan is put together from the document alone: which unit is on which node with which
devices, in which order. Nodes that are bought are made from their NodeTemplates.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_record
from decimal import Decimal
from fractions import Fraction

from msgspec import UNSET
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node, PodStatus
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.karpenter import InstanceType, NodePool
from ...models.kubernetes.kueue import ClusterQueue
from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.node_templates import slices_from_template
from ...models.kubernetes.slices import ResourceSlice
from ...models.results.common import CheckedLine
from ...models.results.plan import BoughtNodes, PlanDocument, PlannedUnit, PlanStage
from ...models.workload.evictions import leaving_pods
from ...models.workload.expansion import UnitExpander
from ...models.workload.node_room import running_pods
from ...models.workload.queue import read_queue
from ...models.workload.unit_classes import UnitSet, UnitShape, signature_of
from ...models.workload.units import Allocations, ClaimRef, Unit
from .bounds import BoundQuestion, audited_bounds
from .consumption import RequestedCapacities
from .documents import LATE, CheckQuestion, Lines, line
from .gangs import covered_groups
from .node_pools import pool_templates, starting_nodes
from .payments import ZERO, plan_proof_flaws, stage_flaws, stage_form, unread_plan_flaws, value_annotation, widest_gap
from .plan_admissions import PlanAdmissions
from .plan_figures import claim_flaws, figure_lines, label_flaws, moved_pods, order_flaws, step_flaws, victim_flaws
from .plan_replay import plan_placements
from .plans import plan_violations
from .pod_amounts import node_of_template
from .preemption import leaving_asked
from .preferences import preference_value
from .state import ExpressionTimeoutError
from .steps import step_violations
from .verify import Replay, Violation


@dataclass(frozen=True, slots=True)
class ToldPlacement:
    """A unit of a plan as its document has it; ``queued`` is what it was in the queue, where it was something else."""

    kind: str
    namespace: str
    name: str
    replica: int
    unit: Unit
    node: str | None
    allocations: Allocations = ()
    queued: Unit | None = None


def plan_lines(document: PlanDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``plan``."""
    if document.unread:
        yield line("plan", "the queue was not read", unread_plan_flaws(document), "nothing is told of its units")
        return
    read = question.cluster.with_gates(gates)
    check = PlanCheck(document, gates, question, read)
    yield from check.purchases()
    yield from check.placements()
    yield from check.whole()
    yield from check.nodes()
    yield from check.steps()
    yield from check.stages()
    yield line("plan", f"{document.outcome}, proof {document.proof}", plan_proof_flaws(document))
    placed = sum(one.outcome == "Placed" for one in document.units)
    told, counted = (document.placed, document.asked), (placed, len(document.units))
    said = f"{document.placed} of {document.asked} units placed"
    yield line("plan", said, [] if told == counted else [f"the document has {counted[0]} of {counted[1]}"])


UnitReading = Callable[[PlannedUnit, Unit], Unit]
"""What a unit of the queue is when it is placed."""


class PlanCheck:
    """A plan, put together from its document; ``units`` are its units in the order of the document."""

    def __init__(
        self,
        document: PlanDocument,
        gates: FeatureGates,
        question: CheckQuestion,
        read: Cluster,
        reading: UnitReading | None = None,
    ) -> None:
        self._document = document
        quota = document.workloads is not UNSET
        self._admissions = PlanAdmissions(document, gates, question) if quota else None
        self._reading = self._admissions.unit if self._admissions else reading
        self._gates = gates
        self._question = question
        self._read = read
        self._unread: list[str] = []
        self._told_twice: list[str] = []
        self.misnamed: list[str] = []
        # Victims wait in the queue, and are no units of the document.
        self._gone: list[ToldPlacement] = []
        # Nodes that start, and those of pools that cannot be made here; and what is wrong with purchases of pools.
        self._pooled: set[str] = set()
        self._refused: Mapping[str, Sequence[str]] = {}
        self._with_nodes = self._bought_nodes(read)
        # Running pods that the plan places are units, so that they wait in what is planned.
        self._cluster = self._lifted(self._with_nodes) if document.steps else self._with_nodes
        self._shapes: dict[tuple[str, str, str, int], UnitShape] = {}
        # Nodes of pools have devices that are not made again here.
        self._capacities = None if read.objects(NodePool) else RequestedCapacities(read, gates, question.deadline)
        self.units = list(self._told_units())
        numbers = [(one.order, place) for place, one in enumerate(document.units) if one.order is not None]
        self._order = [place for _, place in sorted(numbers)]

    def _bought_nodes(self, cluster: Cluster) -> Cluster:
        pooled, self._refused = pool_templates(cluster, self._gates, self._document.bought)
        templates = {**cluster.node_templates, **pooled}
        of_pools = {one.template for one in self._document.bought if one.pool}
        self._pooled |= starting_nodes(cluster) & {one.node for one in self._document.units if one.node is not None}
        nodes: list[Node] = []
        slices: list[ResourceSlice] = []
        for one in self._document.nodes:
            template = templates.get(one.template) if one.new else None
            if one.new and template is None and one.template in of_pools:
                self._pooled.add(one.name)
            elif one.new and (template is None or one.name in cluster.nodes):
                said = "is in the input already" if template else f"has no NodeTemplate {one.template}"
                self._unread.append(f"node {one.name} {said}")
            elif template is not None:
                nodes.append(node_of_template(cluster, template, one.name))
                slices += slices_from_template(template, one.name)
        made = cluster.with_nodes(nodes, slices) if nodes else cluster
        return made.with_templates(templates) if pooled else made

    def _lifted(self, cluster: Cluster) -> Cluster:
        """The cluster in which running pods that are units of the plan wait, with nothing in claims of theirs alone.

        Victims wait, too, beside claims that are free then: that these are free is checked with the steps.
        """
        running = running_pods(cluster)
        keys = {(one.namespace, one.unit) for one in self._document.units} & running.keys()
        victims = self._document.victims or ()
        freed = {
            (namespace, name) for one in victims for namespace, _, name in (key.partition("/") for key in one.claims)
        }
        told = {(one.namespace, one.name) for unit in self._document.units for one in unit.claims} | freed
        keys |= {(one.namespace, one.name) for one in victims} & running.keys()
        pods = []
        for key in keys:
            pod = running[key]
            status = pod.status or PodStatus()
            kept = PodStatus(
                phase="Pending",
                resource_claim_statuses=status.resource_claim_statuses,
                extended_resource_claim_status=status.extended_resource_claim_status,
            )
            pods.append(replace(pod, spec=replace(pod.spec, node_name=None), status=kept))
        emptied = [replace(cluster.claims[key], status=None) for key in told if key in cluster.claims]
        return cluster.with_pods(pods).with_claims(emptied)

    def _told_units(self) -> Iterator[ToldPlacement]:
        """The units of the document, with the pods and claims that the queue has for them."""
        ask = self._question
        sets: dict[tuple[str, str, str], list[UnitSet]] = defaultdict(list)
        placed: list[UnitSet] = []
        queue = read_queue(
            self._cluster,
            namespace=ask.namespace,
            selector=ask.selector,
            gates=self._gates,
            value=value_annotation([stage.stage for stage in self._document.objective]),
            natural_gangs=ask.natural_gangs,
        )
        for one in queue:
            sets[one.kind, one.namespace, one.name].append(one)
        expander = UnitExpander(self._cluster, self._gates)
        running = running_pods(self._with_nodes)
        made: dict[ObjectKey, AllocationResult] = {}
        first = sorted(range(len(self._document.units)), key=lambda place: _rank(self._document.units[place]))
        allocations: dict[int, Allocations] = {}
        units: dict[int, Unit] = {}
        queued: dict[int, Unit] = {}
        for place in first:
            told = self._document.units[place]
            own = next((s for s in sets[told.kind, told.namespace, told.name] if told.replica in s.numbers), None)
            if own is None:
                self.misnamed.append(f"{told.kind} {told.namespace}/{told.name} has no replica {told.replica}")
                units[place] = Unit(None, (), told.namespace, told.unit)
                continue
            placed += [own] if told.node is not None else []
            # A running pod that moves stands for itself, whatever group it is in. Workloads are gangs of their pods.
            moved = [""] if (told.namespace, told.unit) in running else []
            workload = self._admissions.workload_of(told).rpartition("/")[2] if self._admissions else told.gang
            self.misnamed += label_flaws(told, own, *moved, *([workload] if self._reading else []))
            if not moved:
                self._shapes[_key(told)] = self._counted_shape(told, own.shape)
            queued[place] = expander.unit(own, told.replica)
            units[place] = unit = self._reading(told, queued[place]) if self._reading else queued[place]
            allocations[place] = tuple(self._allocations(told, unit, made))
            self.misnamed += claim_flaws(told, {ref.key for ref in unit.claims})
        self._covered = covered_groups(queue, placed)
        victims = {(one.namespace, one.name) for one in self._document.victims or ()}
        self._gone = [
            ToldPlacement(one.kind, one.namespace, one.name, number, Unit(None, (), one.namespace, name), None)
            for one in (queue if victims else ())
            for number, name in ((number, one.unit_name(number)) for number in one.numbers)
            if (one.namespace, name) in victims
        ]
        for place, told in enumerate(self._document.units):
            made_of = told.kind, told.namespace, told.name, told.replica
            yield ToldPlacement(*made_of, units[place], told.node, allocations.get(place, ()), queued.get(place))

    def _counted_shape(self, told: PlannedUnit, shape: UnitShape) -> UnitShape:
        """The shape of a unit with the priority of its workload, which counts where it needs quota."""
        priority = self._admissions.priority(told) if self._admissions else None
        if priority in (None, shape.priority):
            return shape
        key = signature_of(shape.signature, priority)
        return replace_record(shape, priority=priority or 0, signature=key)

    def _allocations(
        self, told: PlannedUnit, unit: Unit, made: dict[ObjectKey, AllocationResult]
    ) -> Iterator[tuple[ClaimRef, AllocationResult]]:
        """What a unit's claims get for it; claims that several units share are told with each of them."""
        refs = {ref.key: ref for ref in unit.claims}
        for one in told.claims:
            key = one.namespace, one.name
            if one.allocation is None:
                continue
            if key in made:
                if made[key] != one.allocation:
                    self._told_twice.append(f"claim {'/'.join(key)} has two allocations")
                continue
            made[key] = one.allocation
            yield refs.get(key) or ClaimRef(*key, None), one.allocation

    def purchases(self) -> Lines:
        """Check that each node that is bought has a template, and what it costs."""
        if self._unread:
            yield line("nodes", "bought nodes", self._unread)
        new = Counter(one.template for one in self._document.nodes if one.new)
        for one in self._document.bought:
            if one.pool:
                yield self._pooled_line(one, new[one.template])
                continue
            template = self._read.node_templates.get(one.template)
            price = None if template is None else Decimal(str(template.spec.price or 0))
            wrong = [] if template is not None else [f"there is no NodeTemplate {one.template}"]
            if price is not None and Decimal(str(one.price)) != price:
                wrong.append(f"the price of one is {price}")
            if new[one.template] != one.count:
                wrong.append(f"{new[one.template]} of the nodes are of it")
            if Decimal(str(one.cost)) != Decimal(str(one.price)) * one.count:
                wrong.append(f"{one.count} at {one.price} cost {Decimal(str(one.price)) * one.count}")
            yield line(f"NodeTemplate {one.template}", f"{one.count} bought for {one.cost}", wrong)
        for name in sorted(new.keys() - {one.template for one in self._document.bought}):
            yield line(f"NodeTemplate {name}", f"{new[name]} new nodes", ["none is bought"])
        for gone in self._document.removed or ():
            wrong = [] if gone.name in self._read.nodes else ["the input has no such node"]
            yield line(f"node {gone.name}", f"goes, and costs {gone.price}", wrong, "its price is not in the document")

    def _pooled_line(self, one: BoughtNodes, new: int) -> CheckedLine:
        """Check a purchase of nodes that Karpenter would launch: their number, sum, labels and price."""
        wrong = [] if new == one.count else [f"{new} of the nodes are of it"]
        if Decimal(str(one.cost)) != Decimal(str(one.price)) * one.count:
            wrong.append(f"{one.count} at {one.price} cost {Decimal(str(one.price)) * one.count}")
        wrong += self._refused.get(one.template, ())
        types = self._read.objects(InstanceType)
        wrong += [f"there is no InstanceType {name}" for name in one.other_types if name not in types]
        unchecked = "" if one.template in self._refused else _POOLED
        others = "that other types serve the same pods is not derived" if one.other_types else ""
        about = f"NodePool {one.pool}, {one.instance_type}"
        return line(about, f"{one.count} bought for {one.cost}", wrong, unchecked or others)

    def placements(self) -> Lines:
        """Check each placed unit, in order, beside what those before it hold."""
        ask, cluster = self._question, self._cluster
        replay = Replay(cluster, self._gates, self._document.cel_errors, ask.constraints, False, True, ask.deadline)
        known = cluster.nodes.keys() - self._pooled
        there = [one for one in self.units if one.node is None or one.node in known]
        for one in self.units:
            if one.node in self._pooled:
                yield line(_label(one), f"Placed on node {one.node}", [], _POOLED)
            elif one.node is not None and one.node not in cluster.nodes:
                yield line(_label(one), f"Placed on node {one.node}", ["the plan has no such node"])
        for unit, placement in plan_placements(cluster, there, self._order_of(there)):
            about, said = f"{unit.kind} {unit.unit.namespace}/{unit.unit.name}", f"Placed on node {unit.node}"
            if ask.is_late:
                yield line(about, said, [], LATE)
                continue
            unknown = [f"claim {'/'.join(ref.key)} is none of it" for ref, _ in unit.allocations if ref.claim is None]
            try:
                yield line(about, said, [*unknown, *replay.unit(placement)])
            except ExpressionTimeoutError:
                yield line(about, said, [], LATE)
            except (ValueError, ArithmeticError) as error:
                yield line(about, said, [f"it cannot be read: {error}"])

    def _order_of(self, units: Sequence[ToldPlacement]) -> list[int]:
        """The positions of those of the units that are placed, in the order of the document."""
        places = {id(one): place for place, one in enumerate(units) if one.node is not None}
        return [places[key] for place in self._order if (key := id(self.units[place])) in places]

    def whole(self) -> Lines:
        """Check the plan as a whole: the queue, rooms, gangs, limits, what pods say of one another."""
        if self._admissions:
            yield from self._admissions.lines()
        elif self._read.objects(ClusterQueue):
            yield line("plan", "quota of workloads", [], "the plan does not look at quota")
        said = "the queue, rooms of nodes, gangs, limits"
        wrong = [*self._told_twice, *order_flaws(self._document.units)]
        ask = self._question
        if self._pooled:
            yield line("plan", said, wrong, _POOLED)
            return
        there = [one for one in self.units if one.node is None or one.node in self._cluster.nodes]
        order = self._order_of(there)
        # The queue is compared as it is, without what flavors add to pods.
        units = [replace_record(one, unit=one.queued) if one.queued else one for one in there] + self._gone
        try:
            found = plan_violations(
                self._cluster,
                units,
                self._gates,
                cel_errors=self._document.cel_errors,
                order=order,
                namespace=ask.namespace,
                selector=ask.selector,
                caller_constraints=ask.constraints,
                natural_gangs=ask.natural_gangs,
                replay=bool(self._cluster.constraint_groups),
                deadline=ask.deadline,
            )
            yield line("plan", said, [*wrong, *found])
        except (ValueError, ArithmeticError) as error:
            yield line("plan", said, [*wrong, f"it cannot be read: {error}"])

    def nodes(self) -> Lines:
        """Check the figures of nodes, the names and gangs of units, and for whom kube-scheduler was asked."""
        made = [allocation for one in self.units for _, allocation in one.allocations]
        yield from figure_lines(self._document, self._cluster, made, self._pooled, self.misnamed)

    def steps(self) -> Lines:
        """Check that each state between the steps is valid, and what comes to be in the end."""
        steps = self._document.steps or ()
        if not steps:
            return
        victims = self._document.victims or ()
        if self._pooled:
            yield line("steps", f"{len(steps)} steps", [], _POOLED)
            return
        try:
            found = step_violations(
                self._with_nodes, steps, self.units, self._gates, self._document.cel_errors, victims
            )
        except (ValueError, ArithmeticError) as error:
            found = [Violation("STEP", "", f"it cannot be read: {error}")]
        of_step: dict[str, list[Violation]] = defaultdict(list)
        told = step_flaws(self._with_nodes, self._gates, steps, victims)
        for one in found:
            # Steps that follow each other are verified together: then the first of them has what is wrong.
            head = one.message.partition(":")[0].partition(" to ")[0]
            of_step[head if head.startswith("step ") else "the end"].append(one)
        for number, step in enumerate(steps, 1):
            name = f"{step.namespace}/{step.name}" if step.kind != "Node" else step.node or step.source
            yield line(
                f"step {number}", f"{step.action} {step.kind} {name}", [*of_step[f"step {number}"], *told[number]]
            )
        # Only a plan without a wrong step has an end.
        rest = [*of_step["the end"], *victim_flaws(self._with_nodes, self._gates, victims)]
        said = f"after {len(steps)} steps all is as planned"
        yield line("steps", said, rest, "" if not found or rest else "a step fails")

    def stages(self) -> Lines:
        """Check values of stages that the document has the terms of, and bounds from the duals."""
        bounds = self._bounds()
        left = [_key(one) for one in self._document.units if one.node is None]
        unplaced = [self._shapes[key] for key in left if key in self._shapes]
        for stage, bound in zip(self._document.objective, bounds, strict=True):
            value = self._value(stage.stage)
            gap = widest_gap(stage.stage, self._document.objective, self._document.gap, len(self._document.units))
            wrong = stage_flaws(stage, gap, unplaced, value)
            unchecked = "" if value is not None else "the document has no terms of this stage to add up"
            yield line("objective", f"{stage.stage} is {stage.value}", wrong, unchecked)
            if stage.bound is not None:
                yield self._bound_line(stage, bound)
        told = {(one.namespace, one.name): one for one in self._document.coverage or ()}
        for key in sorted(told.keys() | self._covered.keys()):
            own, found = told.get(key), self._covered.get(key)
            said = f"{own.covered} of {own.demand} by {own.units} of {own.members} members" if own else "is left out"
            wrong = [] if own == found else [f"it has {found.covered} of {found.demand}" if found else "there is none"]
            yield line(f"coverage group {'/'.join(key)}", said, wrong)

    def _bounds(self) -> Sequence[Fraction | None]:
        question, document = self._question, self._document
        nothing = [None for _ in document.objective]
        # Flavors are not told of bounds, and bounds count what NodeTemplates sell, not what pools do.
        if document.duals is UNSET or self._read.objects(NodePool) or document.workloads is not UNSET:
            return nothing
        moves, preempts = leaving_asked(document)
        asked = BoundQuestion(
            leaving_pods(self._read) if preempts else self._read,
            self._gates,
            document.cel_errors,
            question.namespace,
            question.selector,
            question.natural_gangs,
            question.constraints,
            bool(self._read.node_templates) and any(stage.stage == "cost" for stage in document.objective),
            before=[
                placement
                for unit, placement in plan_placements(self._cluster, self.units, self._order)
                if unit.kind == "DaemonSet"
            ],
            moves=moves,
            preempts=preempts,
        )
        try:
            return list(audited_bounds(asked, document.objective, document.duals, question.deadline))
        except (ValueError, ArithmeticError, KeyError):
            return nothing

    def _bound_line(self, stage: PlanStage, bound: Fraction | None) -> CheckedLine:
        assert stage.bound is not None
        maximised = stage.sense == "max"
        said = f"{stage.stage} is at {'most' if maximised else 'least'} {stage.bound}"
        told = Fraction(str(stage.bound))
        trivial = self._limit(stage)
        known = [one for one in (bound, trivial) if one is not None]
        if not known:
            why = "the duals do not tell it" if self._document.duals else "the document has no duals"
            return line("objective", said, [], f"{why}: it rests on {stage.proof or 'the solver'}")
        best = min(known) if maximised else max(known)
        # The planner's bound may be better than that of the duals: then it is not shown, which is no mistake.
        proves = told >= best if maximised else told <= best
        if proves:
            return line("objective", said, [])
        return line("objective", said, [], f"the manifests and duals show {float(best):g}: the rest is the solver's")

    def _limit(self, stage: PlanStage) -> Fraction | None:
        """A bound that needs no dual: no more than all units count, and nothing below nothing."""
        if stage.stage == "coverage":
            return Fraction(len(self._covered))
        return Fraction(0) if stage.sense == "min" else self._counted(stage.stage, self._document.units)

    def _value(self, stage: str) -> Fraction | None:
        """The value of a stage, added up from the document and the manifests; None where it is not read here."""
        document = self._document
        if stage == "cost" and not document.removed:
            # Prices of purchases have lines of their own.
            return sum((one.count * Fraction(str(one.price)) for one in document.bought), ZERO)
        if stage == "moves" and document.steps:
            return Fraction(moved_pods(document.steps, document.victims or ()))
        if stage.startswith("victims") and document.victims:
            return Fraction(sum(stage in ("victims", f"victims={one.priority}") for one in document.victims))
        if stage == "coverage":
            return Fraction(sum(one.covered >= one.demand for one in self._covered.values()))
        if stage == "preferences" and not self._pooled:
            known = {None, *self._cluster.nodes}
            pods = [(one.unit.pod, one.node) for one in self.units if one.node in known]
            return Fraction(preference_value(self._cluster, [(pod, node) for pod, node in pods if pod is not None]))
        return self._counted(stage, [one for one in document.units if one.outcome == "Placed"])

    def _counted(self, stage: str, units: Sequence[PlannedUnit]) -> Fraction | None:
        """What units that wait count in a stage; None for a stage that is not about units."""
        shapes = {shape.signature: shape for shape in self._shapes.values()}
        form = stage_form(stage, shapes, grouped=bool(self._cluster.constraint_groups), capacities=self._capacities)
        if form is None or form.price or form.opened or form.is_of_devices:
            return None
        counted = [self._shapes[key] for one in units if (key := _key(one)) in self._shapes]
        return sum((form.units.get(shape.signature, ZERO) for shape in counted), ZERO)


_POOLED = "nodes that start are not read as they will be"


def _rank(unit: PlannedUnit) -> tuple[bool, int]:
    return unit.order is None, unit.order or 0


def _key(one: PlannedUnit) -> tuple[str, str, str, int]:
    return one.kind, one.namespace, one.name, one.replica


def _label(one: ToldPlacement) -> str:
    return f"{one.kind} {one.unit.namespace}/{one.unit.name}"
