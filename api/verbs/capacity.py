"""The public functions ``capacity`` and ``queue_capacity``, their results, and the documents made of what was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.formats.decode import api_name
from ..models.kubernetes.claims import AllocationResult as ClaimAllocation
from ..models.kubernetes.extensions import Predicate
from ..models.kubernetes.gates import FeatureGates, gates_of
from ..models.results import capacity as records
from ..models.results.capacity import CapacityDocument, CopiedObject, Copies, NodeCopies, SharingNodes
from ..reports import capacity as report
from . import Interrupted, Result
from .allocate import request_table

if TYPE_CHECKING:
    import pandas

    from ..integrations.kueue.copy_placement import PodSetRoom
    from ..integrations.kueue.queue_capacity import QueueCapacity, QueueRoom
    from ..solver.capacity.records import CapacityOutcome, NodeRoom, Room


class CapacityResult(Result[CapacityDocument]):
    """The answer of ``capacity``."""

    @property
    def fits(self) -> int | None:
        """How many more copies fit on all nodes together; None if any number does."""
        return self.document.total.fits

    @property
    def bound(self) -> int | None:
        """How many copies fit at most; None if no such number is known."""
        return self.document.total.bound

    @property
    def proven(self) -> bool:
        """Whether it is known how many fit."""
        return self.document.total.proven

    @property
    def unbounded(self) -> bool:
        """Whether any number of copies fits."""
        return self.document.total.unbounded

    def to_frame(self) -> pandas.DataFrame:
        """One row a node."""
        return self._frame(report.node_rows(self.document), report.NODE_COLUMNS)

    def summary(self) -> str:
        """One line: how many more fit, whether that is proven, and what first fit reaches."""
        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """Why no more fit than the bounds say, a line for each kind of node."""
        return report.proofs(self.document)


class CapacityInterrupted(Interrupted[CapacityResult]):
    """Ctrl-C during ``capacity``; ``result`` holds what was known by then, and is verified."""


def capacity(
    cluster: Cluster,
    *,
    claim: str | None = None,
    template: str | None = None,
    pod: str | None = None,
    node: str | None = None,
    limit: int = 1000,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
    timings: bool = False,
) -> CapacityResult:
    """Say how many more copies of a claim, a claim template or a pod fit, on each node and on all together.

    Copies are placed beside what claims hold already; other claims without allocation do not count. Every number that
    fits is verified, with real allocations that stand side by side.

    Parameters
    ----------
    cluster
        What there is; see ``load``.
    claim, template, pod
        What is copied, by ``[namespace/]name``: at most one of them. Default: the only pod with claims, template or
        open claim there is. Of a pod's claims those from templates are made anew for each copy; those that it names
        must be allocated, are shared by all copies and restrict the nodes.
    node
        Only this node.
    limit
        The number of copies on one node at which counting ends.
    feature_gates
        Switches by upstream name; what is not named is on.
    time_limit
        Seconds for everything; None for no limit. What is not decided in time has a bound above what fits, or none.
    seed
        Decides the share ids of the copies that are verified.
    constraints
        Constraints for every claim of a copy, beside its own, as for ``allocate``.
    audit
        Seconds for which the verifier decides anew, within ``time_limit``, that no more copies fit each node than its
        bound says; None: no audit. A bound that was audited is ``certified``.
    timings
        Put wall times into the document.

    Raises
    ------
    ValueError
        One line, for an unknown gate or name, several things to copy, or a limit below 1.
    VerificationError
        If an audit finds that more copies fit: a defect of drasat.
    CapacityInterrupted
        For a KeyboardInterrupt during the search; ``result`` holds what was known by then.

    """
    from ..solver.capacity.capacity import capacity as solve
    from ..solver.engines.outcome import SearchInterrupted

    ask = partial(solve, cluster, claim=claim, template=template, pod=pod, node=node, limit=limit, audit=audit)
    try:
        found = ask(feature_gates=feature_gates, time_limit=time_limit, seed=seed, constraints=constraints)
    except SearchInterrupted as interrupted:
        raise CapacityInterrupted(CapacityResult(_capacity_document(interrupted.answer, timings), cluster)) from None
    return CapacityResult(_capacity_document(found, timings), cluster)


def _capacity_document(found: CapacityOutcome, timings: bool) -> CapacityDocument:
    asked = {"kind": found.kind, "namespace": found.namespace, "name": found.name}
    return CapacityDocument(
        asked=msgspec.convert(asked, CopiedObject),
        total=_copies_answer(found.total),
        nodes=_nodes_of(found),
        sharing=_sharing_nodes(found),
        limit=found.limit,
        notices=found.notices,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        verified=found.verified,
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.counts).items()},
        timings=found.seconds if timings else msgspec.UNSET,
    )


def _nodes_of(found: CapacityOutcome) -> tuple[NodeCopies, ...]:
    return tuple(_node_copies(one, found.claims, found.examples) for one in found.nodes)


def _sharing_nodes(found: CapacityOutcome) -> tuple[SharingNodes, ...]:
    return tuple(SharingNodes(nodes=one.nodes, together=_copies_answer(one.room)) for one in found.shared)


def _copies_answer(room: Room) -> Copies:
    if room.unbounded:
        return Copies(fits=None, bound=None, proven=True, unbounded=True, first_fit=None)
    return Copies(fits=room.fits, bound=room.bound, proven=room.proven, unbounded=False, first_fit=room.first_fit)


# A node may take any number of copies.
COPIES_SHOWN = 100


def _node_copies(
    found: NodeRoom, claims: tuple[str, ...], examples: Mapping[str, Sequence[Sequence[ClaimAllocation]]]
) -> NodeCopies:
    from ..problem.messages import witness_of

    return NodeCopies(
        nodes=found.nodes,
        each=_copies_answer(found.room),
        reasons=found.reasons,
        proof=found.proof,
        proof_kind=found.proof_kind,
        certified=found.proof_kind.is_checked,
        requests=tuple(request_table(table, claims) for table in found.tables),
        witness=witness_of(found.counted, claims) if found.counted else None,
        example=tuple(map(tuple, examples.get(found.nodes[0], ())[:COPIES_SHOWN])),
    )


class QueueCapacityResult(Result[records.QueueCapacityDocument]):
    """The answer of ``queue_capacity``."""

    @property
    def queues(self) -> tuple[records.QueueCopies, ...]:
        """LocalQueues with a workload each; of a named workload its own LocalQueue is the first."""
        return self.document.queues

    @property
    def fits(self) -> int | None:
        """How many more copies fit in the first row by quota and by placement; None if any number does."""
        return self.queues[0].both.fits if self.queues else 0

    @property
    def proven(self) -> bool:
        """Whether it is known of every row how many copies fit by both."""
        return all(one.both.proven for one in self.queues)

    def to_frame(self, table: Literal["queues", "pods"] = "queues") -> pandas.DataFrame:
        """One row a LocalQueue and workload; or a pod set and flavor with the nodes of one kind."""
        columns, rows = report.QUEUE_FRAMES[table]
        return self._frame(rows(self.document), columns)

    def summary(self) -> str:
        """One line: how many more copies fit, and what limits them."""
        return report.queue_summary(self.document)

    def reasons(self) -> Iterable[str]:
        """What stops the next copy, a line for each row."""
        return report.queue_reasons(self.document)


class QueueCapacityInterrupted(Interrupted[QueueCapacityResult]):
    """Ctrl-C during ``queue_capacity``; ``result`` has the rows that were known by then."""


def queue_capacity(
    cluster: Cluster,
    *,
    workload: str | None = None,
    template: str | None = None,
    pod: str | None = None,
    limit: int = 1000,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
) -> QueueCapacityResult:
    """Say how many more copies of a workload fit by quota of Kueue, by placement, and by both, and what limits them.

    By quota Kueue admits a copy after the other, beside what workloads hold, with borrowing and lending (kueue-dra
    4.2), and preempts nobody. By placement nodes of the flavors have room, with devices. By both Kueue admits the
    copies, and nodes of the flavors that it chooses have room for all of them. Copies are whole. Workloads that wait do
    not count, the copied one among them.

    Parameters
    ----------
    cluster
        ClusterQueues, Cohorts, LocalQueues and ResourceFlavors of Kueue, workloads, and nodes; see ``load``.
    workload
        The ``[namespace/]name`` of a Workload, or of a job or pod with a queue name. The first row has its LocalQueue,
        the others those of its namespace. Default: each sort of workload in its LocalQueue.
    template, pod
        In place of a workload the ``[namespace/]name`` of a ResourceClaimTemplate, of which a pod has one claim, or of
        a pod. Each LocalQueue of the namespace has a row; that of the pod comes first.
    limit
        The number of pods on one node, and of planned copies, at which counting ends.
    feature_gates
        Switches by upstream name; what is not named is on.
    time_limit
        Seconds for everything; None for no limit. What is not decided in time has a bound above what fits, or none.
    seed
        Decides the share ids of the copies that are verified.

    Raises
    ------
    ValueError
        One line, for an unknown gate or workload, a limit below 1, a configuration with which Kueue does not start,
        and a cluster without ClusterQueues.
    QueueCapacityInterrupted
        For a KeyboardInterrupt; ``result`` has the rows that were known by then.

    """
    from ..integrations.kueue.configuration import start_errors
    from ..integrations.kueue.queue_capacity import queue_capacity as solve
    from ..models.kubernetes.kueue import ClusterQueue

    if limit < 1:
        raise ValueError(f"the limit of copies must be above zero, not {limit}")
    if refused := start_errors(cluster):
        raise ValueError(f"Kueue does not start with this configuration: {'; '.join(refused)}")
    if not cluster.objects(ClusterQueue):
        raise ValueError("the input has no ClusterQueue")
    gates = gates_of(feature_gates)
    if sum(one is not None for one in (workload, template, pod)) > 1:
        raise ValueError("copies are made of one template, one pod or one workload: give only one of them")
    asked = partial(solve, cluster, workload, template=template, pod=pod)
    found = asked(limit=limit, gates=gates, time_limit=time_limit, seed=seed)
    result = QueueCapacityResult(_queue_document(found, limit, gates), cluster)
    if found.interrupted:
        raise QueueCapacityInterrupted(result)
    return result


def _queue_document(found: QueueCapacity, limit: int, gates: FeatureGates) -> records.QueueCapacityDocument:
    return records.QueueCapacityDocument(
        queues=tuple(map(_queue_copies, found.rows)),
        limit=limit,
        notices=tuple(found.notices),
        feature_gates=gates.to_dict(),
        verified=True,
    )


def _queue_copies(row: QueueRoom) -> records.QueueCopies:
    return records.QueueCopies(
        namespace=row.namespace,
        local_queue=row.local_queue,
        cluster_queue=row.cluster_queue,
        workload=row.workload,
        quota=_copies_answer(row.quota.room),
        placement=_copies_answer(row.placement),
        both=_copies_answer(row.both),
        limited_by=msgspec.convert(row.limited_by, records.CapacityLimit),
        message=row.quota.message,
        missing=row.quota.missing,
        flavors=tuple(
            records.FlavorCopies(
                copies=run.copies,
                flavors={name: dict(own) for name, own in zip(row.pod_sets, run.flavors, strict=True)},
            )
            for run in row.quota.runs
        ),
        pods=tuple(map(_pod_set_copies, row.pods)),
        problem=row.problem,
    )


def _pod_set_copies(pods: PodSetRoom) -> records.PodSetCopies:
    return records.PodSetCopies(
        pod_set=pods.pod_set,
        count=pods.count,
        flavors=dict(pods.flavors),
        total=_copies_answer(pods.found.total),
        nodes=_nodes_of(pods.found),
        sharing=_sharing_nodes(pods.found),
    )
