"""The public function ``allocate``, its result, and the document made of what the solver found."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from ..models.cluster.cluster import Cluster
from ..models.formats.decode import api_name
from ..models.formats.errors import Source, plural
from ..models.kubernetes.claims import AllocationResult as ClaimAllocation
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.meta import ObjectKey
from ..models.manifests.reader import Manifest
from ..models.manifests.writer import RESOURCE_API, claim_manifest
from ..models.results import common as records
from ..models.workload.expansion import single_units
from ..models.workload.requests import is_extended_claim
from ..models.workload.units import ClaimRef
from . import Interrupted, ResultWithManifests

if TYPE_CHECKING:
    import pandas

    from ..models.kubernetes.extensions import Predicate
    from ..models.results.explanation import ExplanationDocument
    from ..reports.plots import MadeAllocation, PlotSource
    from ..solver.engines.outcome import AllocationOutcome, DemandTable, NodeClassFailure, UnitOutcome
    from ..solver.plan.outcome import PlannedUnitOutcome, PlanOutcome


class AllocationResult(ResultWithManifests[records.AllocationDocument]):
    """The answer of ``allocate``."""

    def __init__(
        self,
        document: records.AllocationDocument,
        manifests: Callable[[], Iterable[dict[str, Any]]] = list,
        cluster: Cluster | None = None,
        explain: Callable[[], ExplanationDocument] | None = None,
    ) -> None:
        super().__init__(document, manifests, cluster)
        self._explain = explain

    @property
    def outcome(self) -> str:
        """``Allocated``, ``Unallocatable``, ``Error`` or ``Unknown``: the gravest of the units'."""
        return self.document.outcome

    @property
    def units(self) -> tuple[records.UnitAnswer, ...]:
        """Pods and loose claims in the order read, each with its node, claims and reasons."""
        return self.document.units

    @property
    def statistics(self) -> dict[str, int]:
        """Steps, CEL evaluations and the like."""
        return self.document.statistics

    def to_frame(self) -> pandas.DataFrame:
        """One row a device; a claim without devices has one row that says its outcome."""
        from ..reports import allocation as report

        return self._frame(report.device_rows(self.document), report.DEVICE_COLUMNS)

    def reasons(self) -> Iterable[str]:
        """Why units were not allocated, a block of lines for each."""
        from ..reports import allocation as report

        return report.reasons(self.document)

    def _plot_source(self) -> PlotSource:
        from ..reports.plots import PlotSource

        made = partial(made_allocations, self.document, self.cluster)
        is_open = self._explain is not None and self.outcome == "Unallocatable"
        explanation = cache(self._explain) if self._explain and is_open else (lambda: None)
        return PlotSource(self.document, self.cluster, made=made, explanation=explanation)

    def summary(self) -> str:
        """The outcome, and how many units are allocated."""
        done = sum(unit.outcome == "Allocated" for unit in self.units)
        return f"{self.outcome}, {done} of {plural(len(self.units), 'unit')} allocated"


def made_allocations(
    document: records.AllocationDocument, cluster: Cluster | None, label: str = ""
) -> dict[str, list[MadeAllocation]]:
    """The allocations of an answer by its label, with their owners: a pod's controller, or the pod or claim itself."""
    from ..reports.mosaic import owner_of

    found: list[MadeAllocation] = []
    for unit in document.units:
        pod = cluster.pods.get(cast("ObjectKey", tuple(unit.pod.split("/")))) if cluster and unit.pod else None
        owner = owner_of(pod.metadata, "Pod") if pod else f"Pod {unit.pod}" if unit.pod else ""
        for one in unit.claims:
            name = f"{one.namespace}/{one.name}"
            if one.allocation is not None:
                found.append((owner or f"claim {name}", name, one.allocation))
    return {label: found}


class AllocationInterrupted(Interrupted[AllocationResult]):
    """Ctrl-C during ``allocate``; ``result`` holds what was decided by then, the other units are ``Unknown``."""


# The longest time that a report takes to explain what is not allocated.
EXPLAIN_SECONDS = 10.0
Progress = Callable[[int, int], None]
AllocationWatch = Callable[[str, int | None, int | None], None]
_DEFAULT_CEL_ERRORS = {"kube-scheduler": "kube"}


def allocate(
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    engine: str = "auto",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    objective: str | Sequence[str] = (),
    cel_encoding: str = "auto",
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
    timings: bool = False,
    progress: Progress | None = None,
    watch: AllocationWatch | None = None,
    cel_road: str | None = None,
) -> AllocationResult:
    """Allocate the claims of pods, and loose claims.

    Units are taken in the order read, each sees what earlier ones took, and the whole is verified jointly. Each goes
    to the first node by name that fits it, and gets the devices that the scheduler would choose there (SRCH-4);
    with an objective to the node and devices that are best by its stages.

    Parameters
    ----------
    cluster
        What there is, and what is asked for; see ``load``.
    node
        Only this node; all loose claims are then one pod's claims.
    namespace, selector, claims
        Which pods and claims are asked about, by namespace, by labels as for kubectl, and by ``[namespace/]name``;
        default all that have no allocation.
    engine
        ``auto``, ``cp-sat``, ``backtracking`` or ``kube-scheduler``.
    feature_gates
        Switches by upstream name; what is not named is on.
    cel_errors
        What a CEL run-time error on a candidate does: ``kube`` (the allocation fails when the search gets there),
        ``strict`` (such a device is never used; if nothing fits without it the outcome is ``Error``) or ``skip``.
        Default: ``strict``, but ``kube`` for the engine kube-scheduler, which knows nothing else.
    time_limit
        Seconds for everything; None for no limit. Units not decided in time are ``Unknown``.
    seed
        Decides the share ids.
    objective
        Stages, the most important first: ``preference``, ``soft``, ``fragmentation``, ``compact``,
        ``fewest-devices-opened`` and ``least-consumption``; a string holds several, separated by commas. For the
        engines ``auto`` and ``cp-sat``.
    cel_encoding
        How the solver takes expressions over ``devices``: ``lower`` (as rows of the model), ``table`` (all
        combinations evaluated beforehand), ``lazy`` (solutions judged one by one), or ``auto``, the first that can be.
    constraints
        Constraints for every claim asked about, beside its own: mappings as in the annotation
        ``drasat.dev/constraints``, and ``Predicate`` objects, Python functions over the chosen devices.
    audit
        Seconds, within the time limit, for deciding every no anew by a formulation of the verifier's own; None: no
        audit. A no that was audited is ``certified``. For the engines ``auto`` and ``cp-sat``.
    timings
        Put wall times into the document.
    progress
        Called with the number of units done and of all units.
    watch
        Called about every second while the solver is at one stage, with its name, the best value and the bound so far,
        None for none yet.
    cel_road
        The name of ``cel_encoding`` in the last release, deprecated.

    Raises
    ------
    ValueError
        One line, for an unknown engine, policy, gate, claim or stage, a bad selector, or an objective or audit
        that the engine does not know.
    AllocationInterrupted
        For a KeyboardInterrupt during the search; ``result`` holds what was decided by then.

    """
    from ..solver.allocate.allocate import allocate as solve
    from ..solver.engines.outcome import SearchInterrupted

    if cel_road is not None:
        warnings.warn("cel_road is now cel_encoding, and tabulate is now table", DeprecationWarning, stacklevel=2)
        cel_encoding = "table" if cel_road == "tabulate" else cel_road
    policy = cel_errors or _DEFAULT_CEL_ERRORS.get(engine, "strict")
    ask = partial(solve, cluster, node=node, namespace=namespace, selector=selector, claims=claims, seed=seed)
    ask = partial(ask, engine=engine, feature_gates=feature_gates, cel_errors=policy, cel_encoding=cel_encoding)
    ask = partial(ask, objective=objective, constraints=constraints, time_limit=time_limit, audit=audit)
    reasons = partial(
        _explanation, cluster, node=node, namespace=namespace, selector=selector, claims=claims, seed=seed
    )
    reasons = partial(reasons, feature_gates=feature_gates, cel_errors=policy, constraints=constraints)
    try:
        found = ask(progress=progress, watch=watch)
    except SearchInterrupted as interrupted:
        raise AllocationInterrupted(_allocation_result(interrupted.answer, cluster, timings)) from None
    return _allocation_result(found, cluster, timings, reasons)


def allocate_each(
    clusters: Iterable[Cluster], *, executor: Executor | None = None, **options: Any
) -> Iterator[AllocationResult]:
    """Allocate in many clusters, one independent of the other.

    Parameters
    ----------
    clusters
        What there is, and what is asked for, in each; see ``load``.
    executor
        Where they are computed side by side: any ``concurrent.futures.Executor``; None: one after the other, each when
        its result is asked for.
    options
        Those of ``allocate``, the same for all.

    Yields
    ------
    AllocationResult
        The results in the order of the clusters, the same with any executor.

    Raises
    ------
    ValueError
        As ``allocate``, when a result is asked for.

    """
    if executor is None:
        yield from (allocate(cluster, **options) for cluster in clusters)
        return
    asked = [(cluster, executor.submit(_allocate_away, cluster, options)) for cluster in clusters]
    try:
        for cluster, future in asked:
            document, manifests = future.result()
            explained = {name: value for name, value in options.items() if name in _EXPLAINED}
            yield AllocationResult(
                document, partial(list, manifests), cluster, partial(_explanation, cluster, **explained)
            )
    finally:
        for _, future in asked:
            future.cancel()


# Options that explanations have, too.
_EXPLAINED = ("node", "namespace", "selector", "claims", "seed", "feature_gates", "cel_errors", "constraints")


def _allocate_away(
    cluster: Cluster, options: Mapping[str, Any]
) -> tuple[records.AllocationDocument, list[dict[str, Any]]]:
    """What comes back from another process: the cluster, which is large, is there already."""
    result = allocate(cluster, **options)
    return result.document, result.manifests()


def _explanation(cluster: Cluster, **options: Any) -> ExplanationDocument:
    """What reports say of units that got nothing."""
    from ..solver.explain.explain import explain

    return explain(cluster, time_limit=EXPLAIN_SECONDS, **options)


def _allocation_result(
    found: AllocationOutcome, cluster: Cluster, timings: bool, explain: Callable[[], ExplanationDocument] | None = None
) -> AllocationResult:
    document = allocation_document(found, timings=timings)
    return AllocationResult(document, partial(allocated_manifests, found), cluster, explain)


def allocation_document(outcome: AllocationOutcome, *, timings: bool = False) -> records.AllocationDocument:
    """The document of an ``allocate``."""
    proof = records.ProofKind.weakest(kind for unit in outcome.units if (kind := unit.proof_kind) is not None)
    return records.AllocationDocument(
        outcome=records.outcome_of(outcome.outcome),
        engine=outcome.engine,
        units=tuple(_unit_answers(outcome.units)),
        feature_gates=outcome.gates.to_dict(),
        verified=outcome.verified,
        certified=proof is None or proof.is_checked,
        proof=proof,
        statistics={api_name(name): count for name, count in dataclasses.asdict(outcome.statistics).items()},
        notices=outcome.notices,
        cel_errors=outcome.cel_errors,
        timings=outcome.seconds if timings else msgspec.UNSET,
    )


def _unit_answers(outcomes: Iterable[UnitOutcome]) -> Iterator[records.UnitAnswer]:
    made: set[ObjectKey] = set()
    for outcome in outcomes:
        yield _unit_answer(outcome, made)
        made.update(ref.key for ref, _ in outcome.allocations)


def _unit_answer(outcome: UnitOutcome, made: Container[ObjectKey]) -> records.UnitAnswer:
    """The document of a unit; failures number the claims that units before have not ``made``."""
    from ..solver.engines.outcome import claim_answers

    unit, allocations = outcome.unit, {ref.key: allocation for ref, allocation in outcome.allocations}
    names = [f"{ref.namespace}/{ref.name}" for ref in unit.requested_claims if ref.key not in made]
    return records.UnitAnswer(
        pod=unit.pod_label,
        node=outcome.node,
        outcome=records.outcome_of(outcome.outcome),
        reasons=outcome.reasons,
        claims=claim_answers(unit, allocations),
        failures=tuple(_rejected_nodes(failure, names) for failure in outcome.failures),
        objective=tuple(
            records.StageAnswer(stage=one.stage, value=one.value, bound=one.bound, proven=one.proven)
            for one in outcome.objective
        ),
        soft_entries=outcome.soft_entries,
    )


def _rejected_nodes(failure: NodeClassFailure, claims: Sequence[str]) -> records.RejectedNodes:
    from ..problem.messages import witness_of

    return records.RejectedNodes(
        nodes=len(failure.nodes),
        names=failure.nodes[: records.NODES_NAMED],
        message=failure.message,
        proof=failure.proof.message if failure.proof else "",
        proof_kind=failure.proof_kind,
        certified=failure.proof_kind.is_checked,
        requests=tuple(request_table(table, claims) for table in failure.tables),
        witness=witness_of(failure.counted, claims) if failure.counted else None,
    )


def request_table(table: DemandTable, claims: Sequence[str]) -> records.RequestTable:
    """The document of a table; ``claims`` are the names by number."""
    return records.RequestTable(
        claim=claims[table.claim],
        request=table.label,
        needed=table.needed,
        devices=table.devices,
        fitting=table.fitting,
        fallen=table.fallen,
    )


def _claim_as_made(ref: ClaimRef, allocation: ClaimAllocation) -> ClaimRef | None:
    """The claim as the scheduler would make it: that for extended resources is for those that the node has not itself.

    None: the node has all of them, and there is no claim (KEP-5004).
    """
    claim = ref.claim
    if claim is None or not ref.generated or not is_extended_claim(claim):
        return ref
    served = {result.request for result in allocation.devices.results or ()}
    kept = tuple(one for one in claim.spec.devices.requests or () if one.name in served)
    spec = replace(claim.spec, devices=replace(claim.spec.devices, requests=kept))
    return replace(ref, claim=replace(claim, spec=spec)) if kept else None


def allocated_manifests(outcome: AllocationOutcome | PlanOutcome) -> Iterator[dict[str, Any]]:
    """The claims that were allocated, as read (or as made from a template) plus ``status.allocation``."""
    units: Iterator[tuple[int, UnitOutcome | PlannedUnitOutcome]] = single_units(outcome.units)
    pairs = ((_claim_as_made(ref, made), made) for _, unit in units for ref, made in unit.allocations)
    return (_allocated_manifest(ref, allocation) for ref, allocation in pairs if ref is not None)


def _allocated_manifest(ref: ClaimRef, allocation: ClaimAllocation) -> dict[str, Any]:
    version = ref.manifest.api_version if ref.manifest else RESOURCE_API
    source = ref.manifest.source if ref.manifest else Source("", 0)
    return claim_manifest(Manifest("ResourceClaim", version, ref.claim, ref.raw, source), allocation)
