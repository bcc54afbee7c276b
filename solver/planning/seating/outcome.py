"""The whole answer: units with their nodes and devices in the order of the queue, nodes, stages, what is bought."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat, takewhile

from ....models.claims import AllocationResult
from ....models.cluster import Cluster
from ....models.core import Node
from ....models.gates import FeatureGates
from ....models.identity import PoolId
from ....models.planned_units import PlannedUnit
from ....models.pod_claims import ClaimRef
from ....problem.shapes import Views
from ...outcome import Reason
from ...plan_outcome import (
    FEASIBLE,
    INFEASIBLE,
    OPTIMAL,
    UNKNOWN,
    NodeOutcome,
    PlannedUnitOutcome,
    PlanOutcome,
    PlanStatistics,
    StageOutcome,
)
from ..bundles.measures import SPREAD
from ..limits import PlanCore, StageResult, is_close
from ..posing.ask import Ask, Posed
from ..posing.buying import with_bought
from ..posing.goals import Goal
from ..posing.node_kinds import NodeKind
from .devices import Dealing, Placed
from .seats import Seat, seats

Allocations = tuple[tuple[ClaimRef, AllocationResult], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Seated:
    """Where everything goes: by place in the queue a node and allocations, and the order in which they are made.

    ``cluster`` has the nodes that are bought, which ``bought`` lists by the name of their template. Nodes of which
    ``alike`` says the same are equal for all that is planned, and get equal units with equal devices.
    """

    cluster: Cluster
    bought: Mapping[str, tuple[Node, ...]]
    where: Mapping[int, tuple[Node, Allocations]]
    order: tuple[int, ...]
    alike: Mapping[str, Hashable]


def seated(ask: Ask, posed: Posed, found: PlanCore) -> Seated:
    """Put a plan into practice. Raises ``FatalError``."""
    placed = seats(posed, found.plan)
    cluster, bought, nodes = _with_nodes(ask, posed, placed)
    gates = ask.session.gates
    views = Views(cluster.pools(gates), gates) if bought else posed.engine.views
    where = {place: (cluster.node(name), made) for place, (name, made) in ask.ahead.where.items()}
    for one in Dealing(posed, views, nodes).placed(placed):
        where.update(_of_party(one))
    return Seated(cluster, bought, where, tuple(where), _alike(ask, nodes, placed))


def _alike(ask: Ask, nodes: Mapping[int, Sequence[Node]], placed: Sequence[Seat]) -> Mapping[str, Hashable]:
    """Say of nodes what they are and get; not of those where something was placed ahead."""
    own: dict[tuple[int, int], list[Hashable]] = defaultdict(list)
    for seat in placed:
        own[seat.node_kind.index, seat.number].append((seat.kind.index, seat.picks))
    taken = ask.ahead.nodes
    listed = ((kind, number, node.metadata.name) for kind, found in nodes.items() for number, node in enumerate(found))
    return {name: (kind, tuple(own.get((kind, number), ()))) for kind, number, name in listed if name not in taken}


def _with_nodes(
    ask: Ask, posed: Posed, placed: Sequence[Seat]
) -> tuple[Cluster, Mapping[str, tuple[Node, ...]], Mapping[int, Sequence[Node]]]:
    """The cluster with what is bought, and the nodes of each kind."""
    nodes: dict[int, Sequence[Node]] = {node.index: node.nodes for node in posed.nodes}
    numbers = {seat.node_kind: seat.number + 1 for seat in sorted(placed, key=lambda seat: seat.number)}
    kinds: dict[str, list[NodeKind]] = defaultdict(list)
    for kind in sorted(numbers, key=lambda kind: kind.index):
        if ask.shop and kind.template:
            kinds[ask.shop.offers[kind.template].template.metadata.name].append(kind)
    counts = {name: sum(numbers[kind] for kind in own) for name, own in sorted(kinds.items())}
    cluster, bought = with_bought(ask.session.cluster, counts)
    for name, own in kinds.items():
        free = iter(bought[name])
        nodes.update((kind.index, list(islice(free, numbers[kind]))) for kind in own)
    return cluster, bought, nodes


def _of_party(placed: Placed) -> Mapping[int, tuple[Node, Allocations]]:
    """Each unit with the claims that it is the first to name."""
    made = {ref.key: (ref, allocation) for ref, allocation in placed.allocations}
    found: dict[int, tuple[Node, Allocations]] = {}
    for place, planned in zip(placed.seat.entry.places, placed.seat.entry.party, strict=True):
        own = [made.pop(ref.key) for ref in planned.unit.asked if ref.key in made]
        found[place] = placed.node, tuple(own)
    return found


def outcome_of(
    ask: Ask,
    posed: Posed,
    found: PlanCore,
    seated: Seated,
    reasons: Mapping[int, tuple[Reason, ...]],
    gap: float,
    looser: Sequence[float | None] = (),
) -> PlanOutcome:
    """Write the answer down; it is not verified yet. ``looser`` are bounds of all plans where posed ones are not."""
    results = [_whole(ask, seated, result) for result in found.stages]
    told = zip(posed.goals, results, chain(looser, repeat(None)), strict=False)
    stages = tuple(_stage(posed, goal, result, bound, gap) for goal, result, bound in told)
    units = tuple(_unit(one, seated.where.get(place), reasons.get(place, ())) for place, one in enumerate(ask.queue))
    return PlanOutcome(
        _verdict(ask, posed, found, stages, len(seated.where)),
        units,
        tuple(_nodes(seated, ask.session.gates)),
        stages,
        ask.session.gates,
        ask.session.policy,
        gap,
        bought=seated.bought,
        statistics=_statistics(ask, posed, found, seated.cluster),
        notices=tuple(ask.ahead.notices),
    )


def _whole(ask: Ask, seated: Seated, result: StageResult) -> StageResult:
    """What a stage came to with what was placed ahead, where that is no sum of both."""
    if result.name != SPREAD.id or not ask.ahead.where:
        return result
    units = Counter(node.metadata.name for node, _ in seated.where.values())
    return replace(result, value=sum(number**2 for number in units.values()))


def _stage(posed: Posed, goal: Goal, result: StageResult, looser: float | None, gap: float) -> StageOutcome:
    """Tell a stage in its own unit. Where the instance leaves something out, what demands less bounds it."""
    value, bound = goal.told(result.value), goal.told(goal.limit - goal.ahead)
    if result.bound is not None and not posed.is_narrowed:
        bound = goal.told(result.bound)
    elif looser is not None:
        bound = (min if goal.stage.maximise else max)(bound, looser)
    return StageOutcome(result.name, value, bound, is_close(value, bound, gap), goal.stage.maximise)


def _unit(
    planned: PlannedUnit, where: tuple[Node, Allocations] | None, reasons: tuple[Reason, ...]
) -> PlannedUnitOutcome:
    node, allocations = (where[0].metadata.name, where[1]) if where else (None, ())
    return PlannedUnitOutcome.of(planned, node, reasons, allocations)


def _verdict(ask: Ask, posed: Posed, found: PlanCore, stages: Sequence[StageOutcome], placed: int) -> str:
    complete = len(stages) == len(posed.goals) and not found.interrupted
    if complete and all(stage.proven for stage in stages):
        is_free = ask.shop is not None and ask.budget is None
        return INFEASIBLE if is_free and _is_short(posed.goals, stages) else OPTIMAL
    nothing = not placed and all(stage.bound is None for stage in found.stages)
    return UNKNOWN if nothing else FEASIBLE


def _is_short(goals: Sequence[Goal], stages: Sequence[StageOutcome]) -> bool:
    """Whether no plan places all units: one that did would be as good in all stages before those about other things."""
    of_units = takewhile(lambda pair: pair[0].is_of_units, zip(goals, stages, strict=True))
    return any(stage.bound is not None and stage.bound < goal.told(goal.limit - goal.ahead) for goal, stage in of_units)


def _nodes(seated: Seated, gates: FeatureGates) -> list[NodeOutcome]:
    """Count devices of nodes' own, those that are held, and planned units."""
    cluster = seated.cluster
    templates = {node.metadata.name: name for name, nodes in seated.bought.items() for node in nodes}
    units = Counter(node.metadata.name for node, _ in seated.where.values())
    own: Counter[str] = Counter()
    home: dict[PoolId, str] = {}
    newest: dict[PoolId, int] = defaultdict(int)
    for slice_ in cluster.slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest[pool], slice_.spec.pool.generation)
    for slice_ in cluster.slices:
        name, pool = slice_.spec.node_name, (slice_.spec.driver, slice_.spec.pool.name)
        if name and slice_.spec.pool.generation == newest[pool]:
            own[name] += len(slice_.spec.devices or ())
            home[pool] = name
    used = _used(seated, home, gates)
    listed = [name for name in cluster.nodes if name not in templates] + list(templates)
    return [NodeOutcome(name, own[name], len(used[name]), units[name], templates.get(name, "")) for name in listed]


def _used(seated: Seated, home: Mapping[PoolId, str], gates: FeatureGates) -> Mapping[str, set[str]]:
    """Devices of nodes that are held, by node."""
    found: dict[str, set[str]] = defaultdict(set)
    made = [allocation for _, pairs in seated.where.values() for _, allocation in pairs]
    claims = (claim.status for claim in seated.cluster.claims.values())
    held = [status.allocation for status in claims if status is not None and status.allocation is not None]
    for allocation in (*held, *made):
        for result in allocation.devices.results or ():
            name = home.get((result.driver, result.pool))
            if name is not None and not result.admin_access:
                found[name].add(result.device)
    return found


def _statistics(ask: Ask, posed: Posed, found: PlanCore, cluster: Cluster) -> PlanStatistics:
    return PlanStatistics(
        units=len(ask.queue),
        unit_classes=len(posed.kinds),
        nodes=len(cluster.nodes),
        node_classes=len(posed.nodes),
        devices=cluster.device_count,
        columns=found.columns,
        rounds=sum(stage.rounds for stage in found.stages),
    )
