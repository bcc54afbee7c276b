"""The document of ``quota``: which workloads get quota, cycle by cycle, and what is left of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from .common import API_VERSION, ProofKind, Reason
from .plan import PlannedUnit

QuotaState = Literal["pending", "quotaReserved", "admitted", "finished"]
QueuePlace = Literal["", "active", "parked"]
QuotaField = Literal["nominalQuota", "borrowingLimit", "lendingLimit"]


class ChargedPodSet(Model, kw_only=False, omit_defaults=False):
    """What a pod set is charged as: so many pods, and the total amounts of resources."""

    pod_set: str
    count: int
    requests: dict[str, str]


class QuotaAssignment(Model, kw_only=False, omit_defaults=False):
    """What a pod set has got: so many pods, a flavor for each resource, and the total amounts."""

    pod_set: str
    count: int
    flavors: dict[str, str]
    usage: dict[str, str]


class QuotaEviction(Model, kw_only=False, omit_defaults=False):
    """An eviction in a cycle (0: before the first); ``preempted`` is the reason if another workload took the place."""

    cycle: int
    reason: str
    preempted: str
    message: str


class WorkloadQuota(Model, kw_only=False, omit_defaults=False):
    """A workload. ``cycle`` admitted it; it is None for one that is not admitted, or held quota in the input.

    ``reason`` and ``message`` say why it waits. ``place``: it is tried again (``active``), or only once something
    changes (``parked``). ``charge`` is empty if it could not be counted or is in no queue.
    """

    namespace: str
    name: str
    queue: str
    cluster_queue: str
    priority: int
    state: QuotaState
    place: QueuePlace
    cycle: int | None
    reason: str
    message: str
    charge: tuple[ChargedPodSet, ...]
    assignments: tuple[QuotaAssignment, ...]
    evictions: tuple[QuotaEviction, ...]


class NodeQuotaReport(Model, kw_only=False, omit_defaults=False):
    """A flavor and resource at a queue or cohort.

    ``borrowed`` is usage above the own quota, for a cohort above that of its subtree; ``lendable`` what others may use
    of it; ``available`` what can still be used, None for a cohort.
    """

    node: str
    cohort: bool
    flavor: str
    resource: str
    nominal: str
    used: str
    borrowed: str
    available: str | None
    lendable: str


class QuotaShare(Model, kw_only=False, omit_defaults=False):
    """The weighted share of a queue or cohort, in thousandths of what can be lent; None is infinite."""

    node: str
    cohort: bool
    share: float | None


class QuotaCycle(Model, kw_only=False, omit_defaults=False):
    """A cycle in which something changed, with ``namespace/name`` of workloads; 0 is before the first."""

    number: int
    admitted: tuple[str, ...]
    evicted: tuple[str, ...]
    waiting: tuple[str, ...]


class WorkloadPlacement(Model, kw_only=False, omit_defaults=False):
    """A workload with quota whose pods wait: ``placed`` of the ``asked`` pods have a node, all of them or none.

    Pods of one that held quota in the input are placed as far as they fit, for others of its pods may run.

    ``nodes`` has their numbers by node. ``reasons`` say why it is admitted and cannot be placed.
    """

    namespace: str
    name: str
    asked: int
    placed: int
    nodes: dict[str, int]
    reasons: tuple[Reason, ...]


class QuotaPlacement(Model, kw_only=False, omit_defaults=False):
    """The plan of the pods of all workloads with quota. ``proven``: no plan places more.

    Workloads whose pods all run are not in it. ``units`` are the units of the plan with their devices, those that need
    no quota included; ``gang`` is the workload. ``proof`` is what ``proven`` rests on, null if it is not proven: it is
    a ``witness`` where all pods are placed. ``certified``: it is a witness, or audited.
    """

    proven: bool
    verified: bool
    workloads: tuple[WorkloadPlacement, ...]
    notices: tuple[str, ...]
    units: tuple[PlannedUnit, ...] = ()
    proof: ProofKind | None = None
    certified: bool = False


class MissingQuota(Model, kw_only=False, omit_defaults=False):
    """A workload asks for so much of a flavor's resource, and less is available.

    ``node``, a queue or cohort, has no more: all ``nominalQuota`` of it and below it is in use, or its
    ``borrowingLimit`` is reached.
    """

    flavor: str
    resource: str
    asked: str
    available: str
    node: str
    cohort: bool
    field: QuotaField


class ChangedAmount(Model, kw_only=False, omit_defaults=False):
    """An amount that is raised by ``more``."""

    flavor: str
    resource: str
    before: str
    after: str
    more: str


class QuotaChange(Model, kw_only=False, omit_defaults=False):
    """Amounts of one field of a queue or cohort; with any of them less by one the workload waits."""

    owner: str
    cohort: bool
    field: QuotaField
    amounts: tuple[ChangedAmount, ...]


class WorkloadLimit(Model, kw_only=False, omit_defaults=False):
    """What the first of equal workloads lacks, and the changes that admit it: the least first, one for each field.

    Every change is judged by Kueue's cycles. Without changes no more quota of one owner helps, if the search is
    ``complete``: the time limit did not end it.
    """

    workloads: tuple[str, ...]
    cluster_queue: str
    message: str
    missing: tuple[MissingQuota, ...]
    changes: tuple[QuotaChange, ...]
    complete: bool = True


class QuotaPrice(Model, kw_only=False, omit_defaults=False):
    """With so much more of an amount these workloads have quota as well, and those that are ``lost`` no longer."""

    owner: str
    cohort: bool
    field: QuotaField
    flavor: str
    resource: str
    more: str
    admitted: tuple[str, ...]
    lost: tuple[str, ...]


class QuotaLimitReport(Model, kw_only=False, omit_defaults=False):
    """What limits the workloads that wait. It is not ``complete`` if the time limit passed."""

    workloads: tuple[WorkloadLimit, ...]
    prices: tuple[QuotaPrice, ...]
    complete: bool


class JointPriceReport(Model, kw_only=False, omit_defaults=False):
    """What a step more of an amount admits to a plan that decides quota and placement at once.

    The joint plan admits so many workloads, and others are ``waiting``. Each price is another joint plan; ``proven``:
    all plans are the best. It is not ``complete`` if the time limit passed.
    """

    admitted: int
    waiting: int
    prices: tuple[QuotaPrice, ...]
    proven: bool
    complete: bool


class QuotaDocument(Model, kw_only=True, omit_defaults=False):
    """What Kueue does with the workloads. ``settled``: nothing more happens; ``repeating``: the same states come back.

    ``cycles_run`` counts all cycles, ``cycles`` has those in which something changed. ``inactive`` has the queues that
    admit nothing, with the reason. ``shares`` is empty without fair sharing. ``placement`` is there if pods were
    planned, ``limits`` and ``joint`` if asked for.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["QuotaResult"] = "QuotaResult"
    settled: bool
    repeating: bool
    cycles_run: int
    workloads: tuple[WorkloadQuota, ...]
    quota: tuple[NodeQuotaReport, ...]
    shares: tuple[QuotaShare, ...]
    cycles: tuple[QuotaCycle, ...]
    inactive: dict[str, str]
    notices: tuple[str, ...]
    placement: QuotaPlacement | msgspec.UnsetType = msgspec.UNSET
    limits: QuotaLimitReport | msgspec.UnsetType = msgspec.UNSET
    joint: JointPriceReport | msgspec.UnsetType = msgspec.UNSET
