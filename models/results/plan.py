"""The document of ``plan``."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

import msgspec

from ..formats.decode import Model
from ..workload.unit_classes import OwnerKind
from .common import API_VERSION, ClaimAnswer, ProofKind, Reason

Number = int | float
PlanVerdict = Literal["Optimal", "Feasible", "Infeasible", "Unknown"]


class PlanStage(Model, omit_defaults=False):
    """What a stage of the objective came to, in its own unit.

    No plan that is as good in the stages before is beyond ``bound``; null: none is known. ``gap`` is the distance of
    value and bound relative to the bound, null where there is no such number. ``proven``: it is as small as asked for;
    ``proof`` is what that rests on, null where it is not proven. A ``witness`` is a value that cannot be better: all
    units are placed, or nothing is spent. With an audit ``bound`` is the audit's, and ``solverBound`` the planner's if
    that is another one: what it claims is not proven.
    """

    stage: str
    value: Number
    bound: Number | None
    proven: bool
    gap: float | None
    sense: Literal["max", "min"]
    proof: ProofKind | None = None
    solver_bound: Number | msgspec.UnsetType | None = msgspec.UNSET


class StageProgress(NamedTuple):
    """What was known of a stage after so many seconds. No document holds it, for it is not the same every time."""

    seconds: float
    stage: str
    value: Number
    bound: Number | None


def display_number(amount: Fraction) -> float:
    """An amount as documents have it: whole numbers without a point."""
    return amount.numerator if amount.denominator == 1 else float(amount)


def plain_number(amount: Decimal) -> Number:
    """A number as people write it: 12.5, and 25 for 25.0."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


class ShadowPrice(NamedTuple):
    """What one more of something changes, as a rate at the margin. No document holds it.

    ``kind`` says of what there is one more: ``unit`` is a unit to be placed, like those of the owner ``name``; ``node``
    is a node of the NodeTemplate ``name`` beyond its limit; ``budget`` is one more unit of money. ``change`` is added
    to the value of ``stage``, in the stage's unit: a node that lowers the cost has a change below zero.
    """

    stage: str
    kind: Literal["unit", "node", "budget"]
    name: str
    change: float


def relative_gap(value: Number, bound: Number | None) -> float | None:
    """The distance of value and bound, relative to the bound; None where there is no bound, or nothing to relate to."""
    if value == bound:
        return 0.0
    return abs(bound - value) / abs(bound) if bound else None


def plan_stage(
    stage: str, value: Number, bound: Number | None, proven: bool, maximised: bool, proof: ProofKind = ProofKind.SOLVER
) -> PlanStage:
    """Make the record of a stage with the gap of its value and bound; ``proof`` counts where it is proven."""
    return PlanStage(
        stage=stage,
        value=value,
        bound=bound,
        proven=proven,
        gap=relative_gap(value, bound),
        sense="max" if maximised else "min",
        proof=proof if proven else None,
    )


DualKind = Literal[
    "unit", "node", "device", "counter", "capacity", "stage", "budget", "limit", "gang", "quota", "claim", "home", "row"
]


class DualRow(Model, kw_only=True):
    """A row of the linear program of a stage, by what it is about, and its exact ``value``: a fraction as in 3/2.

    The value is what one more is worth, in the stage's unit.

    - ``unit``: a place for units like those named, in a gang's ``domain`` where it is bound to one. With quota,
      ``choice`` is the number of the flavors that the units have.
    - ``node``: a node like the one named.
    - ``device``: a device that several nodes reach, any of those named (driver/pool/device).
    - ``counter``, ``capacity``: one whole unit of what several nodes reach (driver/pool, counter set, counter; or
      driver/pool/device, capacity).
    - ``stage``: one less of the earlier stage of this name. ``budget``: a unit of money.
    - ``limit``: one more in a limit that templates share.
    - ``gang``, ``quota``, ``claim``, ``home``, ``row``: other rows, about gangs, quota of Kueue, claims that several
      units name, running pods that stay, and choices. No bound of an audit rests on them. An audit finds prices of
      quota by itself.
    """

    kind: DualKind
    names: tuple[str, ...] = ()
    domain: str = ""
    choice: int = 0
    value: Annotated[str, msgspec.Meta(pattern=r"^-?[0-9]{1,100}(/[1-9][0-9]{0,99})?$")]


class StageDuals(Model, kw_only=True):
    """The duals with which the bound of a stage was found; rows with a value of zero are left out."""

    stage: str
    rows: tuple[DualRow, ...]


class PlannedUnit(Model, kw_only=False, omit_defaults=False):
    """A unit of the queue: ``kind``, ``namespace`` and ``name`` are its owner's, ``replica`` its number there.

    ``unit`` is the name of the pod or claim itself, that of the owner if it owns itself. ``claims`` are those that get
    devices by the plan; one that several units share is told with each of them. ``gang`` is empty for no gang.
    ``order`` is the unit's number, from 1, in an order in which the units can be placed one after the other.
    ``proof`` is ``audited`` where an audit found, too, that no node has a place for it beside the plan.
    """

    kind: OwnerKind
    namespace: str
    name: str
    replica: int
    unit: str
    gang: str
    node: str | None
    outcome: Literal["Placed", "NotPlaced"]
    order: int | None
    reasons: tuple[Reason, ...]
    claims: tuple[ClaimAnswer, ...]
    proof: ProofKind | None = None


class PlannedNode(Model, kw_only=False, omit_defaults=False):
    """A node with the number of its own devices, of those in use when the plan is carried out, and of planned units.

    ``new``: it must be bought; ``template`` is then the NodeTemplate that it is made from.
    """

    name: str
    new: bool
    template: str
    devices: int
    used: int
    units: int


class BoughtNodes(Model):
    """How many nodes of a NodeTemplate are bought, the price of one, and of all of them.

    Of a node that Karpenter could launch, ``template`` is a name that drasat gives to its ``pool``, ``instance_type``,
    ``zone`` and ``capacity_type``; ``overlay`` is the NodeOverlay that set the price. They are empty for other nodes.
    ``other_types`` are types that serve the same pods, cheapest first, where the pool has ``minValues`` (R18).
    ``labels`` are those of each node that are known before it is there, but for its own name.
    """

    template: str
    count: int
    price: Number
    cost: Number
    pool: str = ""
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    overlay: str = ""
    other_types: tuple[str, ...] = ()
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class RemovedNode(Model, omit_defaults=False):
    """A node that goes, and what it costs now."""

    name: str
    price: Number


class PlanVictim(Model, kw_only=True, omit_defaults=False):
    """A running pod that loses its place on ``node`` for pods of higher priority.

    ``claims`` are those that are free then, as namespace/name, and ``devices`` how many devices they hold. ``budgets``
    are the PodDisruptionBudgets that allow fewer pods to go than do. ``gang`` is the group that it is in, if any.
    ``returns``: a controller makes it again, and it waits then. ``reason`` says what it makes room for.
    """

    namespace: str
    name: str
    node: str
    priority: int
    devices: int
    claims: tuple[str, ...]
    budgets: tuple[str, ...]
    gang: str
    returns: bool
    reason: str


SchedulerAction = Literal["place", "preempt", "nothing", "unknown"]


class SchedulerDecision(Model, kw_only=True, omit_defaults=False):
    """What kube-scheduler would do for a unit of the queue, were it left alone (EVT-20).

    ``place``: it has room without anybody's loss, by the time it comes. ``preempt``: the pods in ``victims``, as
    namespace/name, lose their places for it, or for its PodGroup. ``nothing``: it waits. ``unknown``: that depends on
    chance, or was not found out. ``afterEvictions`` is the node where first fit places the unit once the victims of
    the plan are gone, null for none. ``reason`` says what else there is to know.
    """

    kind: OwnerKind
    namespace: str
    name: str
    replica: int
    unit: str
    action: SchedulerAction
    victims: tuple[str, ...]
    after_evictions: str | None
    reason: str


StepAction = Literal["add", "place", "move", "evict", "remove"]


class PlanStep(Model, kw_only=True, omit_defaults=False):
    """A step of an order in which a plan can be carried out. ``kind`` is that of the object; each state is valid.

    - ``add``: a new node joins.
    - ``place``: a unit that waits goes to ``node``.
    - ``move``: a running pod is evicted from ``source``, and the one that its controller makes goes to ``node``. With
      ``overlap`` both have room at once, so that the new one may start first.
      A pod may move twice, first to a temporary place, which the note says.
    - ``evict``: a running pod is evicted from ``source``, and waits until a later step places it, if one does.
    - ``remove``: a node on which nothing is left goes.

    ``budget`` is the PodDisruptionBudget, as namespace/name, that the step uses one eviction of. ``note`` says what
    else there is to know.
    """

    action: StepAction
    kind: Literal["Pod", "ResourceClaim", "Node"]
    namespace: str
    name: str
    source: str
    node: str
    overlap: bool
    cost: int
    budget: str
    claims: tuple[ClaimAnswer, ...]
    note: str


class PlannedPodSet(Model, kw_only=True, omit_defaults=False):
    """A pod set of a workload: ``admitted`` of its ``count`` pods, with a flavor and the total charged by resource."""

    name: str
    count: int
    admitted: int
    flavors: dict[str, str]
    usage: dict[str, str]


class PlannedWorkload(Model, kw_only=True, omit_defaults=False):
    """A workload that needs quota, with its ClusterQueue; unless it is admitted, it has reasons.

    ``Stranded``: Kueue admits it, and its pods are not placed. Pod sets of one that is not admitted have no flavors.
    """

    namespace: str
    name: str
    queue: str
    outcome: Literal["Admitted", "NotAdmitted", "Stranded"]
    pod_sets: tuple[PlannedPodSet, ...]
    reasons: tuple[Reason, ...]


class QueueUsage(Model, kw_only=True, omit_defaults=False):
    """The quota of a ClusterQueue of one resource in one flavor when the plan is carried out.

    ``used`` has what was held before; ``borrowed`` is what of it is beyond the queue's own quota.
    """

    queue: str
    flavor: str
    resource: str
    nominal: str
    used: str
    borrowed: str


class CoveredGroup(Model, kw_only=False, omit_defaults=False):
    """A coverage group: what it demands, and what its members add up to, those that run included.

    ``members`` are those in the queue, ``units`` how many of them the plan places.
    """

    namespace: str
    name: str
    demand: Number
    covered: Number
    members: int
    units: int

    @property
    def unneeded(self) -> int:
        """How many members have no place because the demand is covered without them."""
        return self.members - self.units if self.covered >= self.demand else 0


class PlanDocument(Model, kw_only=True, omit_defaults=False):
    """What ``plan -o json`` prints. ``asked`` and ``placed`` are numbers of units, ``gap`` is the one asked for.

    ``notices`` say what of the question was left aside. ``workloads`` and ``queues`` are there where quota counts,
    and ``quotaMode`` says whether the plan admits workloads, or Kueue's cycles do,
    ``steps`` where running pods may move or lose their places, ``victims`` where they may lose them, ``removed`` where
    nodes may go, ``duals`` where they are asked for, ``coverage`` where units cover demands. ``schedulerWould`` is
    there beside ``victims``, unless the plan was interrupted.
    ``proof`` is what the proven stages rest on at least, null where none is; ``certified``: all stages are proven, and
    each by a witness or an audit. ``unread`` is there where the time limit ended before the queue was read: so many
    pods, claims and controllers of the input may have units, and the document has none of them.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["PlanResult"] = "PlanResult"
    outcome: PlanVerdict
    asked: int
    placed: int
    objective: tuple[PlanStage, ...]
    units: tuple[PlannedUnit, ...]
    nodes: tuple[PlannedNode, ...]
    bought: tuple[BoughtNodes, ...]
    gap: float
    feature_gates: dict[str, bool]
    cel_errors: str
    verified: bool
    statistics: dict[str, int]
    certified: bool = False
    proof: ProofKind | None = None
    notices: tuple[str, ...] = ()
    quota_mode: Literal["joint", "kueue"] | msgspec.UnsetType = msgspec.UNSET
    workloads: tuple[PlannedWorkload, ...] | msgspec.UnsetType = msgspec.UNSET
    queues: tuple[QueueUsage, ...] | msgspec.UnsetType = msgspec.UNSET
    steps: tuple[PlanStep, ...] | msgspec.UnsetType = msgspec.UNSET
    victims: tuple[PlanVictim, ...] | msgspec.UnsetType = msgspec.UNSET
    scheduler_would: tuple[SchedulerDecision, ...] | msgspec.UnsetType = msgspec.UNSET
    removed: tuple[RemovedNode, ...] | msgspec.UnsetType = msgspec.UNSET
    duals: tuple[StageDuals, ...] | msgspec.UnsetType = msgspec.UNSET
    coverage: tuple[CoveredGroup, ...] | msgspec.UnsetType = msgspec.UNSET
    unread: int | msgspec.UnsetType = msgspec.UNSET
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
