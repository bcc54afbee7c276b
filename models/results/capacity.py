"""The documents of ``capacity`` and of ``queue_capacity``."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from ..kubernetes.claims import AllocationResult as ClaimAllocation
from .common import API_VERSION, CountedWitness, ProofKind, Reason, RequestTable
from .quota import MissingQuota


class CopiedObject(Model, omit_defaults=False):
    """The object that is copied."""

    kind: Literal["ResourceClaim", "ResourceClaimTemplate", "Pod"]
    namespace: str
    name: str


class Copies(Model, kw_only=True, omit_defaults=False):
    """How many copies fit at the same time, beside what is in use.

    ``fits`` were found and verified; ``bound`` is proven, null where none is known; ``proven``: they are equal, or any
    number fits (``unbounded``, and then the numbers are null). ``firstFit`` is what the scheduler's own search
    reaches, copy by copy; null where that was not decided in time.
    """

    fits: int | None
    bound: int | None
    proven: bool
    unbounded: bool
    first_fit: int | None


class NodeCopies(Model, kw_only=True, omit_defaults=False):
    """Equal nodes, the copies that fit on each of them alone, and what stops the next one.

    ``requests`` says what becomes of the devices when one more copy looks at them beside those that fit; ``proof`` why
    no more than the bound fit however they are placed, where counting is enough. ``proofKind`` is what the bound rests
    on; ``certified``: anyone can check it, or it was audited. ``witness`` is the sum about one copy more than the
    bound, whose copies all have the claims of one. ``example`` has copies that fit on the first node, at most a
    hundred: what their claims get.
    """

    nodes: tuple[str, ...]
    each: Copies
    reasons: tuple[Reason, ...]
    proof: str
    proof_kind: ProofKind
    certified: bool
    requests: tuple[RequestTable, ...]
    witness: CountedWitness | None = None
    example: tuple[tuple[ClaimAllocation, ...], ...] = ()


class SharingNodes(Model, kw_only=True, omit_defaults=False):
    """Nodes that reach the same devices or counters, and the copies that fit on all of them together."""

    nodes: tuple[str, ...]
    together: Copies


class CapacityDocument(Model, kw_only=True, omit_defaults=False):
    """What ``capacity -o json`` prints. ``limit`` is the number of copies on one node at which counting ends.

    ``notices`` say what of the question was left aside.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["CapacityResult"] = "CapacityResult"
    asked: CopiedObject
    total: Copies
    nodes: tuple[NodeCopies, ...]
    sharing: tuple[SharingNodes, ...]
    limit: int
    notices: tuple[str, ...] = ()
    feature_gates: dict[str, bool]
    cel_errors: str
    verified: bool
    statistics: dict[str, int | float]
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


class FlavorCopies(Model, kw_only=True, omit_defaults=False):
    """So many copies in turn that Kueue gives the same flavors, by pod set and resource; null: any number."""

    copies: int | None
    flavors: dict[str, dict[str, str]]


class PodSetCopies(Model, kw_only=True, omit_defaults=False):
    """The pods of a pod set that fit on nodes of these flavors if nothing else is placed; ``count`` are in a copy."""

    pod_set: str
    count: int
    flavors: dict[str, str]
    total: Copies
    nodes: tuple[NodeCopies, ...]
    sharing: tuple[SharingNodes, ...]


CapacityLimit = Literal["", "quota", "placement", "quota and placement"]


class QueueCopies(Model, kw_only=True, omit_defaults=False):
    """How many more copies of a workload fit if they are made in a LocalQueue, each of them whole.

    ``quota``: Kueue admits them beside what workloads hold, and preempts nobody; ``flavors`` are those that it gives
    them. ``placement``: nodes of any flavors of the queue have room, whatever their quota. ``both``: Kueue admits them,
    and nodes of the flavors that it gives them have room. ``limitedBy`` is what stops the next; empty if any number
    fits. ``message`` and ``missing`` say which quota the next one lacks, ``pods`` what nodes have room for.
    """

    namespace: str
    local_queue: str
    cluster_queue: str
    workload: str
    quota: Copies
    placement: Copies
    both: Copies
    limited_by: CapacityLimit
    message: str
    missing: tuple[MissingQuota, ...]
    flavors: tuple[FlavorCopies, ...]
    pods: tuple[PodSetCopies, ...]
    problem: str


class QueueCapacityDocument(Model, kw_only=True, omit_defaults=False):
    """What ``capacity --workload -o json`` prints, and ``capacity`` with ClusterQueues where no object is named.

    Of a named workload the first row is its own LocalQueue. ``limit`` is the number of pods on one node at which
    counting ends.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["QueueCapacityResult"] = "QueueCapacityResult"
    queues: tuple[QueueCopies, ...]
    limit: int
    notices: tuple[str, ...]
    feature_gates: dict[str, bool]
    verified: bool
