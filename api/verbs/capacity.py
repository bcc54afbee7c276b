"""The public function ``capacity``, its result, and the document made of what the solver found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.formats.decode import api_name
from ..models.kubernetes.extensions import Predicate
from ..models.kubernetes.gates import FeatureGates
from ..models.results.capacity import CapacityDocument, CopiedObject, Copies, NodeCopies, SharingNodes
from . import Interrupted, Result
from .allocate import request_table

if TYPE_CHECKING:
    import pandas

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
        from ..reports import capacity as report

        return self._frame(report.node_rows(self.document), report.NODE_COLUMNS)

    def summary(self) -> str:
        """One line: how many more fit, whether that is proven, and what first fit reaches."""
        from ..reports import capacity as report

        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """Why no more fit than the bounds say, a line for each kind of node."""
        from ..reports import capacity as report

        return report.proofs(self.document)

    def __repr__(self) -> str:
        return f"CapacityResult({self.summary()})"


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
    timings
        Put wall times into the document.

    Raises
    ------
    ValueError
        One line, for an unknown gate or name, several things to copy, or a limit below 1.
    CapacityInterrupted
        For a KeyboardInterrupt during the search; ``result`` holds what was known by then.

    """
    from ..solver.capacity.capacity import capacity as solve
    from ..solver.engines.outcome import SearchInterrupted

    ask = partial(solve, cluster, claim=claim, template=template, pod=pod, node=node, limit=limit)
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
        nodes=tuple(_node_copies(one, found.claims) for one in found.nodes),
        sharing=tuple(SharingNodes(nodes=one.nodes, together=_copies_answer(one.room)) for one in found.shared),
        limit=found.limit,
        notices=found.notices,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        verified=found.verified,
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.counts).items()},
        timings=found.seconds if timings else msgspec.UNSET,
    )


def _copies_answer(room: Room) -> Copies:
    if room.unbounded:
        return Copies(fits=None, bound=None, proven=True, unbounded=True, first_fit=None)
    return Copies(fits=room.fits, bound=room.bound, proven=room.proven, unbounded=False, first_fit=room.first_fit)


def _node_copies(found: NodeRoom, claims: tuple[str, ...]) -> NodeCopies:
    return NodeCopies(
        nodes=found.nodes,
        each=_copies_answer(found.room),
        reasons=found.reasons,
        proof=found.proof,
        certified=found.certified,
        requests=tuple(request_table(table, claims) for table in found.tables),
    )
