"""The question ``allocate``: which devices claims get, and on which nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...models.cluster.cluster import Cluster
from ...models.formats.runtime import gc_young_only
from ...models.kubernetes.extensions import Predicate
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.results.common import Reason, Status
from ...models.validation.entries import read_caller_constraints
from ...models.workload.controllers import read_controllers
from ...models.workload.node_room import unknown_room_notices
from ...models.workload.requested import dropped_fields, merge_units, requested_units
from ...models.workload.units import Unit
from ...problem.messages import check_policy
from ...problem.node_state import AllocatedState
from ..engines import registry
from ..engines.engine import Engine, ObjectiveWatch, Session, work_for_time_limit
from ..engines.outcome import AllocationOutcome, SearchInterrupted, Statistics, UnitOutcome
from .check import (
    DOUBT_SECONDS,
    AuditQuestion,
    check_allocations,
    derived_outcomes,
    verification_ends,
    verified_outcomes,
)
from .coupling import CoupledUnits, find_coupled_units, in_request_order
from .placement import NodeWalk, Placer, unplaced_outcome
from .unsupported import check_engine_support, ignored_soft_entries, incomplete_gang_notices, placed_pods

if TYPE_CHECKING:
    from ...encoders.objectives.stage import AllocationStage

TIME_LIMIT = 60.0
# What a unit takes to verify and to write down, in seconds, and what part of the time limit all of them take at most.
_CHECKED_UNIT_SECONDS, _LARGEST_CHECKED_SHARE = 100e-6, 0.4
Progress = Callable[[int, int], None]


@gc_young_only()
def allocate(
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    engine: str = "auto",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    objective: str | Sequence[str] = (),
    cel_encoding: str = "auto",
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
    progress: Progress | None = None,
    watch: ObjectiveWatch | None = None,
) -> AllocationOutcome:
    """Answer ``drasat.allocate``, which describes the arguments; units are placed in the order read.

    Raises
    ------
    ValueError
        As ``drasat.allocate`` says; one line.
    VerificationError
        If the answer does not pass the independent check; that is a defect of drasat.
    SearchInterrupted
        For a KeyboardInterrupt during the search, with what was decided by then; the other units are ``Unknown``.

    """
    check_policy(cel_errors)
    given = read_caller_constraints(constraints)
    stages = stages_of(objective)
    name = registry.check_optimizer(engine) if stages else registry.check_engine(engine)
    if audit is not None:
        registry.check_optimizer(name, "audit")
    policy = registry.effective_policy(name, cel_errors)
    gates = gates_of(feature_gates)
    dropped, cluster = dropped_fields(cluster, gates), cluster.with_gates(gates)
    registry.load_solver(name, bool(stages))
    started = monotonic()
    requested = units_to_place(cluster, node, namespace, selector, claims, gates)
    check_engine_support(name, cluster, requested, given)
    work = work_for_time_limit(time_limit)
    session = Session(
        cluster, gates, policy, seed, stages, watch, work, registry.check_cel_encoding(cel_encoding), given
    )
    nodes = cluster.nodes if node is None else {node: cluster.node(node)}
    deadline = None if time_limit is None else started + search_seconds(time_limit, len(requested))
    allocated_state = AllocatedState(cluster.usage(gates))
    worker: Engine
    walk: NodeWalk | None = None
    if stages:
        from .placement import BestNodeWalk

        optimizer = worker = registry.OPTIMIZERS[name](session)
        share = None if work is None else work / max(1, len(requested))
        walk = BestNodeWalk(optimizer, list(nodes.values()), allocated_state, deadline, share)
    else:
        worker = registry.ENGINES[name](session)
    placer = Placer(session, worker, allocated_state, nodes, deadline, walk)
    sets = (
        find_coupled_units(cluster, requested) if cluster.constraint_groups and not registry.is_upstream(name) else ()
    )
    placed: dict[int, UnitOutcome] = {}
    interrupted = place_units(
        placer, requested, sets, lambda found, _: placed.update((id(one.unit), one) for one in found), progress
    )
    outcomes = tuple(
        placed.get(id(unit)) or unplaced_outcome(unit, Status.UNKNOWN, [_INTERRUPTED_REASON]) for unit in requested
    )
    searched = monotonic()
    check = partial(check_allocations, cluster, outcomes, gates, policy, given, groups=not registry.is_upstream(name))
    ends = verification_ends(started, time_limit)
    outcomes = verified_outcomes(outcomes, partial(check, deadline=ends), sets)
    complete = not placer.rooms.devices.devices
    question = AuditQuestion(cluster, tuple(nodes.values()), gates, policy, given, complete)
    outcomes, doubtful = derived_outcomes(question, outcomes, sets, ends)
    seconds = {"search": searched - started, "verify": monotonic() - searched}
    if doubtful and audit is None and name in registry.OPTIMIZERS:
        audit = DOUBT_SECONDS
    if audit is not None:
        from .audit import audited_outcomes

        audit_ends = monotonic() + audit if time_limit is None else min(monotonic() + audit, started + time_limit)
        try:
            outcomes = audited_outcomes(question, outcomes, sets, audit_ends)
        except KeyboardInterrupt:
            interrupted = True
        seconds["audit"] = monotonic() - searched - seconds["verify"]
    counts = replace(worker.counts, devices=cluster.device_count)
    statistics = Statistics(**{field.name: getattr(counts, field.name) for field in fields(Statistics)})
    notices = (
        *dropped,
        *read_controllers(cluster).notices,
        *ignored_soft_entries(name, cluster, requested, given),
        *unknown_room_notices(nodes.values(), requested),
        *placer.notices,
        *incomplete_gang_notices(cluster, gates, placed_pods((one.unit, one.outcome, one.node) for one in outcomes)),
    )
    answer = AllocationOutcome(name, outcomes, gates, policy, True, statistics, seconds, notices)
    if interrupted:
        raise SearchInterrupted(answer)
    return answer


def search_seconds(time_limit: float, units: int) -> float:
    """How much of a time limit the search has: the rest is for verifying so many units, and for the document."""
    return time_limit - min(_LARGEST_CHECKED_SHARE * time_limit, units * _CHECKED_UNIT_SECONDS)


def stages_of(objective: str | Sequence[str]) -> tuple[AllocationStage, ...]:
    """Find the stages of an objective. Raises ``ValueError``."""
    if not objective:
        return ()
    # Most questions have none.
    from ...encoders.objectives.stages import stages_named

    return stages_named(objective)


def units_to_place(
    cluster: Cluster,
    node: str | None,
    namespace: str | None,
    selector: str,
    claims: Sequence[str] | None = None,
    gates: FeatureGates | None = None,
) -> list[Unit]:
    """Find the requested units; with a node, all loose claims are one unit. Raises ``ValueError``."""
    found = requested_units(cluster, namespace=namespace, selector=selector, claims=claims, gates=gates)
    return with_joined_loose_claims(found, node)


def with_joined_loose_claims(found: Sequence[Unit], node: str | None) -> list[Unit]:
    """With a node, loose claims are one unit, in the place of the first."""
    loose = [unit for unit in found if unit.pod is None]
    if node is None or len(loose) < 2:
        return list(found)
    whole = merge_units(loose)
    return [whole if unit is loose[0] else unit for unit in found if unit.pod is not None or unit is loose[0]]


def place_units(
    placer: Placer,
    requested: Sequence[Unit],
    sets: Sequence[CoupledUnits],
    record: Callable[[Sequence[UnitOutcome], str], None],
    progress: Progress | None,
) -> bool:
    """Place all units in the order requested, those of a set together; return whether Ctrl-C ended that early.

    ``record`` is called with the outcomes of a unit or a set, and with the labels of the set's groups.
    """
    done = 0
    try:
        for one in in_request_order(requested, sets):
            if isinstance(one, Unit):
                found, groups = [placer.place(one)], ""
            else:
                found, groups = placer.place_together(one), ", ".join(group.label for group in one.groups)
            record(found, groups)
            done += len(found)
            if progress:
                progress(done, len(requested))
            if placer.interrupted:
                return True
    except KeyboardInterrupt:
        return True
    return False


_INTERRUPTED_REASON = Reason("interrupted", "", "interrupted before this was decided")
