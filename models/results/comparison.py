"""The documents of ``compare`` and ``tune``: engines on one question, sweeps, planners and orders on one queue.

Of planners that buy nodes a document has what each buys, and what pods stay without a place.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ..formats.decode import Model
from .common import API_VERSION, Outcome, ProofKind, Reason
from .plan import Number, PlanStage, PlanVerdict, PlanVictim


class LeftOver(Model, omit_defaults=False):
    """Devices in all, devices that nobody holds, and nodes all of whose own devices are free."""

    devices: int
    free: int
    whole_nodes: int


class EngineAnswer(Model, omit_defaults=False):
    """One engine's answer as a whole; ``version`` is that of a peer, empty for engines of drasat itself.

    ``notices`` say what of the question it left aside.
    """

    engine: str
    version: str
    outcome: Outcome
    admitted: int
    steps: int
    left: LeftOver
    verified: bool
    notices: tuple[str, ...] = ()


class RequestDevices(Model, omit_defaults=False):
    """What a request (``name`` or ``name/alternative``) of a claim got, as ``driver/pool/device``."""

    claim: str
    request: str
    devices: tuple[str, ...]


class UnitSide(Model, omit_defaults=False):
    """One engine's answer to a unit, and how it relates to that of the first engine.

    ``proof`` is what it rests on that the unit is unallocatable, null for other outcomes and for peers.
    """

    engine: str
    relation: AnswerRelation
    outcome: Outcome
    node: str | None
    requests: tuple[RequestDevices, ...]
    reasons: tuple[Reason, ...]
    proof: ProofKind | None = None


class UnitSides(Model, omit_defaults=False):
    """A pod, or a loose claim (``pod`` is null), with all answers; ``request`` is the first that got something else."""

    pod: str | None
    claims: tuple[str, ...]
    relation: AnswerRelation
    claim: str
    request: str
    sides: tuple[UnitSide, ...]


class SkippedAnswer(Model, omit_defaults=False):
    """An engine or a planner that could not answer, and why."""

    name: str
    reason: str


class ComparisonDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare -o json`` prints. ``parting`` is the first unit with which the answers part.

    ``sameVerdict``: outcome and number of admitted units agree among the engines that were done in time (``decided``:
    all were, and there are at least two); ``identical``: every unit got the same node and devices everywhere.
    ``skipped`` engines could not answer.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ComparisonResult"] = "ComparisonResult"
    same_verdict: bool
    identical: bool
    decided: bool
    asked: int
    engines: tuple[EngineAnswer, ...]
    skipped: tuple[SkippedAnswer, ...]
    parting: UnitSides | None
    units: tuple[UnitSides, ...]
    feature_gates: dict[str, bool]
    cel_errors: str
    timings: dict[str, list[float]] | msgspec.UnsetType = msgspec.UNSET


class SweepEngine(Model, omit_defaults=False):
    """One engine at one size; ``seconds`` is the median."""

    engine: str
    outcome: Outcome
    admitted: int
    steps: int
    seconds: float


class SweepPoint(Model, omit_defaults=False):
    """One size; engines that ran out of time at a smaller one are missing."""

    size: int
    asked: int
    engines: tuple[SweepEngine, ...]


class SweepDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare --sweep -o json`` prints. The only document with wall times that are not asked for."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["SweepResult"] = "SweepResult"
    sweep: str
    same_verdict: bool
    decided: bool
    points: tuple[SweepPoint, ...]
    skipped: tuple[SkippedAnswer, ...]


QueueOrder = Literal["given", "random", "priority"]


class FragmentationAnswer(Model, omit_defaults=False):
    """Free devices, and how many of them the average unit of the queue cannot use; parts of shared devices count.

    ``ofFree`` and ``ofAll`` are what that is of the free devices and of all devices, between 0 and 1.
    """

    free: float
    wasted: float
    of_free: float
    of_all: float


class QuotaComparison(Model, kw_only=True, omit_defaults=False):
    """Workloads with quota of Kueue: those that are ``admitted`` are ``placed``, or ``stranded`` without nodes.

    ``leastShare`` is the smallest weighted dominant share of the queues that workloads wait in, over what is placed:
    the largest part of what its tree of cohorts has of a resource, by weight. ``fairness`` is Jain's index of these
    shares: 1 if they are equal. They are null if no queue uses anything.
    """

    workloads: int
    admitted: int
    placed: int
    stranded: int
    least_share: float | None
    fairness: float | None


class PriorityCount(Model):
    """How many there are of a priority."""

    priority: int
    count: int


class PreemptionAnswer(Model, kw_only=True, omit_defaults=False):
    """What running pods lose: ``placed`` units and ``lost`` pods by priority, from the highest down.

    ``beyondBudgets`` are the pods beyond what PodDisruptionBudgets allow, ``devicesLost`` the devices that the
    ``victims`` alone held.
    """

    placed: tuple[PriorityCount, ...]
    lost: tuple[PriorityCount, ...]
    beyond_budgets: int
    devices_lost: int
    victims: tuple[PlanVictim, ...]


class PlannerAnswer(Model, kw_only=True, omit_defaults=False):
    """One planner with one order of the queue; null for ``plan``, which takes it as a whole, and for ``kueue``.

    ``label`` is ``planner/order``, or the planner alone. ``version`` is that of a peer, empty for planners of drasat
    itself. ``used`` are the devices in use at the end, what ran before included, of ``devices`` that nodes reach.
    ``decided``: it was done in time. ``used``, ``devices`` and ``fragmentation`` are null if time was up before they
    were known. ``outcome`` and ``objective`` are those of ``plan``, null and empty for others. ``notices`` say what of
    the question it left aside. ``quota`` is null where it does not count. ``whole`` are the devices on nodes that reach
    no device in use. ``moves`` are the running pods that move, ``moveCost`` is what that costs; null where none may.
    ``proof`` is what it rests on at least that no plan is better, null where that is not proven; ``certified``: it is a
    witness, or audited.
    ``preemption`` is there where running pods may lose their places.
    """

    label: str
    planner: str
    order: QueueOrder | None
    version: str
    outcome: PlanVerdict | None
    admitted: int
    gangs: int
    used: int | None
    devices: int | None
    fragmentation: FragmentationAnswer | None
    decided: bool
    verified: bool
    objective: tuple[PlanStage, ...]
    notices: tuple[str, ...]
    quota: QuotaComparison | None = None
    whole: int | None = None
    moves: int | None = None
    move_cost: int | None = None
    proof: ProofKind | None = None
    certified: bool = False
    preemption: PreemptionAnswer | None = None


class PlanComparisonDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare --plan -o json`` prints; ``asked`` units and ``gangs`` are in the queue.

    ``beaten``: some planner admits more units than ``plan``; ``decided``: all were done in time. ``skipped`` planners
    could not answer. ``timings`` are seconds, by label.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["PlanComparison"] = "PlanComparison"
    beaten: bool
    decided: bool
    asked: int
    gangs: int
    planners: tuple[PlannerAnswer, ...]
    skipped: tuple[SkippedAnswer, ...]
    gap: float
    seed: int
    feature_gates: dict[str, bool]
    cel_errors: str
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


AnswerRelation: TypeAlias = Literal["equal", "equivalent", "different"]
EQUAL: AnswerRelation = "equal"
EQUIVALENT: AnswerRelation = "equivalent"
DIFFERENT: AnswerRelation = "different"


TuneVerdict = Literal["Optimal", "Feasible", "Unknown"]


class TunedOrder(Model, kw_only=True, omit_defaults=False):
    """Items whose order changes. ``before`` and ``after`` are their names.

    ``order`` says what is listed. ``devices`` are those of slices, and ``alternatives`` those of a request. ``slices``
    are those of a pool: what the slice of a name in ``after`` has goes to the slice of the name at that place in
    ``before``. ``objects`` are the slices, the first slices of pools, or claims and templates with kind and namespace.
    """

    order: Literal["devices", "slices", "alternatives"]
    objects: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


class Confirmation(Model, kw_only=True, omit_defaults=False):
    """The units that the real allocator of this version places, for each arrival of the queue."""

    version: str
    before: tuple[int, ...]
    after: tuple[int, ...]


class TuneDocument(Model, kw_only=True, omit_defaults=False):
    """What ``tune -o json`` prints. ``before`` and ``after`` are the units placed of ``asked``, for each arrival.

    ``Optimal``: no order places more, because ``after`` is at the ``bound`` or all orders were tried (``exhausted``).
    ``Unknown``: time was up before anything was known; then both are empty. ``bound`` is the most units that anybody
    can place, null if none is known. ``choices`` is the number of things whose order can be chosen, ``trials`` that of
    the orders that were simulated. ``decided``: no time limit ended the search. ``confirmed`` is there if it was asked.
    ``proof`` is what ``Optimal`` rests on, null for others: a witness where all units are placed, ``exhausted``, or the
    bound of the solver.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["TuneResult"] = "TuneResult"
    outcome: TuneVerdict
    asked: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    bound: int | None
    orders: tuple[TunedOrder, ...]
    choices: int
    trials: int
    exhausted: bool
    decided: bool
    verified: bool
    seed: int
    feature_gates: dict[str, bool]
    cel_errors: str
    notices: tuple[str, ...]
    confirmed: Confirmation | msgspec.UnsetType | None = msgspec.UNSET
    proof: ProofKind | None = None
    certified: bool = False


PurchasePlanner = Literal["karpenter", "karpenter-like", "plan"]


class PurchasedNode(Model, kw_only=False, omit_defaults=False):
    """A node that is bought, and its pods (``namespace/name``)."""

    pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: Number
    pods: tuple[str, ...]


class UnplacedPod(Model, kw_only=False, omit_defaults=False):
    """A pod without a place, and why, in the planner's words."""

    pod: str
    reason: str


class PurchaseAnswer(Model, kw_only=True, omit_defaults=False):
    """What a planner decides. ``cost`` is the price of all its nodes; ``bound`` is below that of any plan.

    ``refused`` are pods that kube-scheduler's rules refuse when the nodes are there and are filled one after the other.
    Of ``plan``, which keeps to these rules, they are pods that Karpenter itself refuses on the node alone.
    ``proof`` is what ``proven`` rests on, null if it is not proven; ``certified``: anyone can check it.
    ``notices`` say what of the question it left aside, and which known defect of Karpenter may have decided.
    """

    planner: PurchasePlanner
    version: str
    placed: int
    cost: Number
    bound: Number | None
    proven: bool
    nodes: tuple[PurchasedNode, ...]
    unplaced: tuple[UnplacedPod, ...]
    refused: tuple[str, ...]
    decided: bool
    notices: tuple[str, ...]
    proof: ProofKind | None = None
    certified: bool = False


class PurchaseComparisonDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare --plan`` prints for planners that buy; ``asked`` are all pods that wait.

    ``cheapest`` are the planners of least cost among those that place most. ``differing`` names the first few pods that
    do not go to the same pool and instance type everywhere.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["PurchaseComparison"] = "PurchaseComparison"
    asked: int
    planners: tuple[PurchaseAnswer, ...]
    skipped: tuple[SkippedAnswer, ...]
    cheapest: tuple[str, ...]
    differing: tuple[str, ...]
    decided: bool
    seed: int
    feature_gates: dict[str, bool]
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
