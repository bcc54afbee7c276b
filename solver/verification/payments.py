"""Stages of a plan as sums over units and nodes, and duals of a document as payments, in exact fractions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.extensions import VALUE_ANNOTATION
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, PoolId
from ...models.kubernetes.quantity import NANO
from ...models.results.common import ProofKind
from ...models.results.plan import DualRow, Number, PlanDocument, PlanStage, relative_gap
from ...models.workload.unit_classes import Gang, UnitSet, UnitShape
from .consumption import ConsumptionWeights, RequestedCapacities, sum_of_requests
from .devices import CounterStock, VerificationContext
from .nodes import template_of
from .published import Finding, PoolView, nano
from .verify import Replay

ZERO = Fraction(0)
FEWEST_NODES = "fewest-nodes"
FREE_DOMAINS = "free-domains"
PREFERENCE, LEAST_CONSUMPTION = "preference", "least-consumption"
Role = tuple[bytes, str]
"""The signature of a unit's shape, and the domain of its gang as label and value; empty for none."""


@dataclass(frozen=True, slots=True)
class StageForm:
    """A linear form over plans: what a placed unit of a shape counts, and what a node in use costs.

    ``preference`` and ``consumption`` are factors of what the devices of units count in the stages of these names.
    ``leaving`` is what running pods count if they are lost, and if they move.
    """

    units: Mapping[bytes, Fraction] = field(default_factory=dict)
    leaving: Mapping[ObjectKey, tuple[Fraction, Fraction]] = field(default_factory=dict)
    price: Fraction = ZERO
    opened: Fraction = ZERO
    preference: Fraction = ZERO
    consumption: Fraction = ZERO

    @property
    def terms(self) -> dict[object, object]:
        """What units and running pods count, together."""
        return dict[object, object]([*self.units.items(), *self.leaving.items()])

    @property
    def is_of_devices(self) -> bool:
        """Whether it counts which devices units have."""
        return bool(self.preference or self.consumption)

    def plus(self, other: StageForm, factor: Fraction) -> StageForm:
        """The sum with so many times another form."""
        units = {
            key: self.units.get(key, ZERO) + factor * other.units.get(key, ZERO) for key in {*self.units, *other.units}
        }
        nothing = ZERO, ZERO
        leaving = {
            key: (own[0] + factor * more[0], own[1] + factor * more[1])
            for key in {**self.leaving, **other.leaving}
            for own, more in [(self.leaving.get(key, nothing), other.leaving.get(key, nothing))]
        }
        return StageForm(
            units,
            leaving,
            self.price + factor * other.price,
            self.opened + factor * other.opened,
            self.preference + factor * other.preference,
            self.consumption + factor * other.consumption,
        )

    def of_node(self, price: Fraction, opens: bool) -> Fraction:
        """What a node of this price counts when it is in use, and if it was not in use before."""
        return self.price * price + (self.opened if opens else ZERO)


def stage_form(
    name: str, shapes: Mapping[bytes, UnitShape], *, grouped: bool, capacities: RequestedCapacities | None = None
) -> StageForm | None:
    """What a stage counts, by the signatures of shapes; None for one that is not read here.

    ``grouped``: there are ConstraintGroups, so that units may open nodes that stages do not count. Without
    ``capacities`` stages about these are not read.
    """
    head, _, rest = name.partition("=")
    if head == "priority":
        weights = {key: Fraction(str(shape.priority) == rest) for key, shape in shapes.items()}
    elif head == "admitted" and rest in ("", "count"):
        weights = dict.fromkeys(shapes, Fraction(1))
    elif head == "admitted" and rest == "devices":
        weights = {key: sum_of_requests(shape, lambda _: 1) for key, shape in shapes.items()}
    elif head == "admitted" and rest.startswith("annotation:"):
        weights = {key: Fraction(shape.value) for key, shape in shapes.items()}
    elif head == "admitted" and rest.startswith("capacity:") and capacities is not None:
        weights = {key: capacities.of_unit(shape, rest.partition(":")[2]) for key, shape in shapes.items()}
    elif head == "cost":
        return StageForm(price=Fraction(1))
    elif head == FEWEST_NODES and not grouped:
        return StageForm(opened=Fraction(1))
    elif head == PREFERENCE and not grouped:
        return StageForm(preference=Fraction(1))
    elif head == LEAST_CONSUMPTION and not grouped:
        return StageForm(consumption=Fraction(1))
    else:
        return None
    return StageForm({key: weight for key, weight in weights.items() if weight})


def value_annotation(names: Iterable[str]) -> str:
    """The annotation with the values that stages of these names count; the usual one where none names any."""
    return next(filter(None, (name.partition("annotation:")[2] for name in names)), VALUE_ANNOTATION)


@dataclass(frozen=True, slots=True)
class SharedPrices:
    """What must be paid for what several nodes reach: devices, counters and capacities, for one whole unit each.

    ``preference`` is paid for each rank of an alternative, ``consumption`` for one of what devices consume.
    """

    devices: dict[DeviceId, Fraction] = field(default_factory=dict)
    counters: dict[tuple[PoolId, str, str], Fraction] = field(default_factory=dict)
    capacities: dict[tuple[DeviceId, str], Fraction] = field(default_factory=dict)
    preference: Fraction = ZERO
    consumption: Fraction = ZERO
    weights: ConsumptionWeights | None = None


def worth_of_shared(prices: SharedPrices, context: VerificationContext, nodes: Sequence[Node]) -> Fraction:
    """What all that several of the nodes reach is worth at its prices."""
    held, total = context.held_devices, ZERO
    total += sum((price for device, price in prices.devices.items() if not held.dedicates(device)), ZERO)
    # A node may see a part of a pool, or an older generation of it.
    views: dict[PoolId, dict[PoolView, None]] = defaultdict(dict)
    pools = {name[0] for name in prices.counters} | {name[0][:2] for name in prices.capacities}
    for node in nodes if pools else ():
        for view in context.inventory.views(node):
            if view.id in pools and view.trouble is None:
                views[view.id][view] = None
    for (pool, counters, name), price in prices.counters.items():
        for generation in dict.fromkeys(view.generation for view in views[pool]):
            left = CounterStock(pool, generation, held).left() or {}
            total += price * max(0, left.get((counters, name), 0)) / NANO
    for (device, name), price in prices.capacities.items():
        entries = (view.devices.get(device[2]) for view in views[device[:2]])
        offered = ((entry.device.capacity or {}).get(name) for entry in entries if entry is not None)
        most = max((nano(one.value) for one in offered if one is not None), default=0)
        total += price * max(0, most - held.consumed(device, name)) / NANO
    return total


@dataclass
class Payments:
    """Duals by what they are paid for; those that could not be a payment are left out."""

    names: Mapping[tuple[str, int], bytes]
    unpriced: frozenset[PoolId]
    places: dict[Role, Fraction] = field(default_factory=dict)
    stages: dict[str, Fraction] = field(default_factory=dict)
    budget: Fraction = ZERO
    shared: SharedPrices = field(default_factory=SharedPrices)

    def read(self, row: DualRow) -> None:
        """Add a row of a document."""
        value = Fraction(row.value)
        if value <= 0:
            return
        if row.kind == "unit":
            # Units that go together share the payment for their place.
            own = [(name, row.choice) for name in row.names]
            roles = [(self.names[name], row.domain) for name in own if name in self.names]
            self.places.update(
                (role, value / len(row.names)) for role in roles if len(roles) == 1 or role not in self.places
            )
        elif row.kind == "stage":
            self.stages.update(dict.fromkeys(row.names, value))
        elif row.kind == "budget":
            self.budget = value
        elif row.kind == "device":
            devices = (device for device in map(_device_id, row.names) if device[:2] not in self.unpriced)
            self.shared.devices.update(dict.fromkeys(devices, value))
        elif row.kind == "counter" and len(row.names) == 3:
            pool, counters, name = row.names
            self.shared.counters.update(
                {(_split(pool), counters, name): value} if _split(pool) not in self.unpriced else {}
            )
        elif row.kind == "capacity" and len(row.names) == 2:
            device, name = _device_id(row.names[0]), row.names[1]
            self.shared.capacities.update({(device, name): value} if device[:2] not in self.unpriced else {})


def _split(pool: str) -> PoolId:
    """Driver and pool of a name; names of drivers have no slash."""
    driver, _, name = pool.partition("/")
    return driver, name


def _device_id(name: str) -> DeviceId:
    """Driver, pool and device of a name; those of devices have no slash either."""
    pool, _, device = name.rpartition("/")
    return *_split(pool), device


def reached(value: Number, side: int) -> Fraction:
    """The value of a stage that plans keep; one that floating point rounds is a little less far."""
    exact = Fraction(str(value))
    return exact if len(str(value)) <= _EXACT_DIGITS else exact - side * abs(exact) / _ROUNDED_PART


_EXACT_DIGITS, _ROUNDED_PART = 15, 10**12


def cannot_be_better(stage: PlanStage, unplaced: Iterable[UnitShape]) -> bool:
    """Whether the value alone shows that no plan is better: nothing is spent, or no unit that counts is unplaced."""
    if stage.sense == "min":
        return stage.value == 0
    if stage.stage.partition("=")[0] not in ("priority", "admitted"):
        return False
    left = {shape.signature: shape for shape in unplaced}
    form = stage_form(stage.stage, left, grouped=False)
    # What units count in other stages is not read here: then all of them have to be placed.
    return not left if form is None else all(weight <= 0 for weight in form.units.values())


def gang_worth(
    gang: Gang, members: Mapping[bytes, int], domain: str, whole: StageForm, places: Mapping[Role, Fraction]
) -> Fraction:
    """What a gang is worth in a domain: all members, or the best of those that are enough; at least nothing."""
    worths = {key: whole.units.get(key, ZERO) - places.get((key, domain), ZERO) for key in members}
    if gang.minimum is None:
        return max(ZERO, sum((worths[key] * number for key, number in members.items()), ZERO))
    enough, total = max(0, gang.minimum - len(gang.running_nodes)), ZERO
    for key in sorted(members, key=lambda key: -worths[key]):
        taken = members[key] if worths[key] > 0 else min(members[key], enough)
        total += taken * worths[key]
        enough = max(0, enough - taken)
    return max(ZERO, total)


def marginal_cost(
    weights: Mapping[bytes, Fraction], costs: Mapping[bytes, Fraction], units: Mapping[bytes, int], value: Fraction
) -> Fraction:
    """What the last unit costs for one of a stage, the cheapest units being placed until the stage has its value."""
    last, left = ZERO, value
    for ratio, key in sorted((costs[key] / weight, key) for key, weight in weights.items() if weight > 0):
        if left <= 0:
            break
        last, left = ratio, left - weights[key] * units[key]
    return last


def least_spread(units: int, nodes: int) -> Fraction:
    """The smallest sum of the squares of the numbers of units on nodes."""
    each, more = divmod(units, nodes) if nodes else (0, 0)
    return Fraction(more * (each + 1) ** 2 + (nodes - more) * each**2)


def value_step(amounts: Iterable[Fraction]) -> Fraction:
    """The step of all sums of such amounts."""
    positive = {abs(amount) for amount in amounts if amount}
    if not positive:
        return Fraction(1)
    denominator = lcm(*(amount.denominator for amount in positive))
    return Fraction(gcd(*(int(amount * denominator) for amount in positive)), denominator)


def value_findings(
    cluster: Cluster, gates: FeatureGates, placed: Sequence[tuple[str, UnitSet, bool]], stages: Sequence[PlanStage]
) -> Iterator[Finding]:
    """Stages the value of which is not that of the placed units, with their nodes, and of what is bought.

    Each unit has a flag that says whether stages about units count it. Stages of other kinds are left aside.
    """
    if not stages:
        return
    numbers = Counter(one.shape.signature for _, one, counts in placed if counts)
    shapes = {one.shape.signature: one.shape for _, one, _ in placed}
    opened = {node for node, one, _ in placed if not one.node}
    capacities = RequestedCapacities(cluster, gates)
    templates = Counter(filter(None, (template_of(node) for node in cluster.nodes.values())))
    prices = ((cluster.node_templates.get(name), number) for name, number in templates.items())
    cost = sum((Fraction(str(made.spec.price or 0)) * number for made, number in prices if made is not None), ZERO)
    for stage in stages:
        # Other annotations than the usual one are not read here.
        head, _, label = stage.stage.partition("=")
        if head == FREE_DOMAINS and (free := _free_domains(cluster, gates, opened, label)) != stage.value:
            yield Finding("PLAN-VALUE", f"the stage {stage.stage} is said to be {stage.value}, and is {free}")
        form = stage_form(stage.stage, shapes, grouped=bool(cluster.constraint_groups), capacities=capacities)
        if form is None or form.is_of_devices or "annotation:" in stage.stage:
            continue
        value = sum((form.units.get(key, ZERO) * number for key, number in numbers.items()), form.price * cost)
        if form.opened:
            there = [node for node in cluster.nodes.values() if not template_of(node)]
            value += form.opened * len(opened - Replay(cluster, gates).busy_nodes(there))
        if abs(value - Fraction(str(stage.value))) > _NOISE * value:
            yield Finding("PLAN-VALUE", f"the stage {stage.stage} is said to be {stage.value}, and is {float(value):g}")


def _free_domains(cluster: Cluster, gates: FeatureGates, opened: Collection[str], label: str) -> int:
    """How many values of a node label have no node in use, where pods that go with their nodes do not count."""
    parts = {key for key, pod in cluster.pods.items() if is_of_node(pod)}
    claims = [
        key
        for key, claim in cluster.claims.items()
        if (users := (claim.status.reserved_for if claim.status else None) or ())
        and all(one.resource == "pods" and (key[0], one.name) in parts for one in users)
    ]
    there = [node for node in cluster.nodes.values() if not template_of(node)]
    left = cluster.without(pods=parts, claims=claims) if parts else cluster
    used = Replay(left, gates).busy_nodes(there).union(opened)
    values: dict[str, bool] = {}
    for node in there:
        value = (node.metadata.labels or {}).get(label)
        if value is not None:
            values[value] = values.get(value, True) and node.metadata.name not in used
    return sum(values.values())


def is_of_node(pod: Pod) -> bool:
    """Whether a DaemonSet makes a pod for its node, or the node reads it from its disk."""
    annotations, owners = pod.metadata.annotations or {}, pod.metadata.owner_references or ()
    is_static = "kubernetes.io/config.mirror" in annotations or annotations.get(_SOURCE, "api") != "api"
    return is_static or any(one.controller and one.kind in ("DaemonSet", "Node") for one in owners)


_SOURCE = "kubernetes.io/config.source"
# Values that are no short decimals are rounded.
_NOISE = Fraction(1, 10**9)


def _flaws_of_sense(stage: PlanStage) -> Iterator[str]:
    """Whether the stage has a name that plans know, and what is better of it is as its name says."""
    name, _, level = stage.stage.partition("=")
    sense = STAGE_SENSES.get(name)
    if sense is None or (name in _LEVELLED and level and not level.removeprefix("-").isdecimal()):
        yield "there is no such stage"
    elif sense != stage.sense:
        yield f"its sense is {sense}, not {stage.sense}"


# Of these a number says which level they are about.
_LEVELLED = ("priority", "victims", "fair")
# By the names in ``docs/guides/plan.md``.
STAGE_SENSES: Mapping[str, Literal["max", "min"]] = {
    **dict.fromkeys(("priority", "admitted", "coverage", "fair"), "max"),
    **dict.fromkeys(("fragmentation", "free-domains", "preferences"), "max"),
    **dict.fromkeys(("borrowed", "cost", "fewest-nodes", "spread"), "min"),
    **dict.fromkeys(("preference", "soft", "compact", "least-consumption"), "min"),
    **dict.fromkeys(("budgets", "victims", "devices-lost", "capacity-lost", "move-cost", "moves"), "min"),
}


def widest_gap(stage: str, stages: Sequence[PlanStage], gap: float, units: int) -> float:
    """Within which gap a stage of a plan of so many units is proven; those that nobody asked for within a wider one."""
    weighs = any(one.stage.startswith("admitted=") and one.stage != "admitted=count" for one in stages)
    follows = stage == "admitted" == stages[-1].stage and weighs and units >= _MANY_UNITS
    return gap * _BRIEF_GAP if follows or stage in _BRIEF_STAGES else gap


_MANY_UNITS = 2000
_BRIEF_STAGES, _BRIEF_GAP = (PREFERENCE, LEAST_CONSUMPTION), 10


def stage_flaws(
    stage: PlanStage, asked: float, unplaced: Collection[UnitShape] = (), value: Fraction | None = None
) -> list[str]:
    """What is wrong with a stage by itself: its sense, or value, bound, gap, proof and ``proven`` that do not agree.

    It is proven within a gap of ``asked``. ``unplaced`` are the units that have no place, ``value`` is what the stage
    comes to where that is known.
    """
    wrong = [] if value is None or _is_rounded(value, stage.value) else [f"it is {float(value):g}"]
    wrong += _flaws_of_sense(stage)
    if stage.proof is ProofKind.WITNESS and not cannot_be_better(stage, unplaced):
        wrong.append("its value is no witness, for it may be better")
    if stage.bound is None:
        return [*wrong, "it is proven without a bound"] if stage.proven else wrong
    beyond = stage.value > stage.bound if stage.sense == "max" else stage.value < stage.bound
    gap = relative_gap(stage.value, stage.bound)
    wrong += ["it is beyond its bound"] if beyond else []
    if (gap is None) != (stage.gap is None) or abs((gap or 0) - (stage.gap or 0)) > _ROUNDING:
        wrong.append(f"the gap is {gap}")
    if stage.proven and gap is not None and gap > asked + _ROUNDING:
        wrong.append(f"it is not proven with a gap of {gap:g}")
    return wrong


def _is_rounded(value: Fraction, told: Number) -> bool:
    """Whether two numbers are equal, but for the rounding of one that is written with a point."""
    return abs(value - Fraction(str(told))) <= max(abs(value), Fraction(1)) / 10**9


def plan_proof_flaws(document: PlanDocument) -> Iterator[str]:
    """What is wrong with what a plan rests on: the weakest of its stages, certified if all are proven and checked."""
    proofs = [stage.proof for stage in document.objective]
    weakest = ProofKind.weakest(one for one in proofs if one is not None)
    if document.proof is not weakest:
        yield f"proof is {document.proof}, the weakest of the stages is {weakest}"
    decided = document.outcome in ("Optimal", "Infeasible")
    if document.certified and not (decided and all(one is not None and one.is_checked for one in proofs)):
        yield f"certified is true, and proof {weakest}"
    if document.outcome == "Optimal" and not all(stage.proven for stage in document.objective):
        yield "it is Optimal, and not all stages are proven"
    names = Counter(stage.stage for stage in document.objective)
    yield from (f"stage {name} is there twice" for name, times in names.items() if times > 1)
    wrong = [stage.stage for stage in document.objective if (stage.proof is not None) != stage.proven]
    yield from (f"stage {name} has a proof and is not proven, or has none" for name in wrong)


def unread_plan_flaws(document: PlanDocument) -> Iterator[str]:
    """What a plan tells although the queue was not read for it."""
    told: dict[str, object] = {"units": document.units, "bought": document.bought, "objective": document.objective}
    told |= {"asked": document.asked, "placed": document.placed, "proof": document.proof, "steps": document.steps}
    yield from (f"it has {name}" for name, value in told.items() if value)
    if document.outcome != "Unknown":
        yield f"it is {document.outcome}"


_ROUNDING = 1e-9
