"""The question plan where running pods may move or lose their places: which may, the stages, and the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, combinations, islice
from time import monotonic
from typing import Any

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.karpenter import NodePool
from ...models.kubernetes.meta import ObjectKey, matches_labels, parse_label_selector
from ...models.results.common import Reason
from ...models.results.plan import PlanStep, PlanVictim
from ...models.workload.evictions import Evictions, leaving_pods, preempting_units, preempts, read_evictions
from ...models.workload.node_room import running_pods
from ...models.workload.queue import read_queue
from ...models.workload.running import eviction_notices, read_running_pods
from ...problem.messages import DeadlineExceededError, check_deadline
from ..allocate.check import VerificationError
from ..engines.outcome import SearchInterrupted
from ..verification.steps import step_violations
from .build.departures import UnitKey
from .build.free_domains import busy_nodes
from .build.moves import UnmovableError
from .build.nodes import with_bought_nodes
from .build.objectives import (
    COST,
    FEWEST_NODES,
    FRAGMENTATION,
    LOSS_STAGES,
    MOVE_STAGES,
    PLACED_STAGES,
    last_stages,
    parse_objective,
)
from .lifted import LiftedPods, MoveOptions, outcome_key, with_victims
from .master_problem import is_past
from .outcome import PlannedMove, PlanOutcome
from .plan import plan
from .steps import StepOrder, TemporaryPlaces, node_step
from .time_budget import PlanTimeBudget

_NO_ROOM = "without taking others' places there is no room"
# What of the arguments of a plan says which units it is about.
_NARROWING = ("namespace", "selector", "natural_gangs", "group")
# What to order and verify steps takes, as a part of the time to read what runs.
_STEPS_SHARE = 0.6
# How many orders are tried in which some pods come last: of so many moves, and of so many pods and nodes in all.
_MOST_ORDERS = 200
_MOST_REORDERED = 50
_MOST_OBJECTS = 100_000


def plan_with_moves(cluster: Cluster, options: MoveOptions, **asked: Any) -> PlanOutcome:
    """Answer ``plan`` where running pods may move or lose their places; ``asked`` are the arguments of ``plan``.

    Raises as ``plan`` does, and ``ValueError`` with quota, or with pods whose cost of a move cannot be read. With
    ``may_be_unread`` raises ``DeadlineExceededError`` where pods are not read in time.
    """
    if asked.get("quota") is not None:
        said = "move running pods or take their places" if options.preempts else "move running pods"
        raise ValueError(f"plans that {said} do not look at quota: say --quota ignore")
    limit = asked.get("time_limit")
    ends = None if limit is None else monotonic() + limit
    gates = gates_of(asked.get("feature_gates"))
    latest = PlanTimeBudget(limit).queue_ends() if asked.get("may_be_unread") else None
    look = partial(check_deadline, latest)
    narrowed = {key: asked[key] for key in _NARROWING if key in asked} | {"look": look}
    refused: dict[UnitKey, Reason] = {}
    notices: tuple[str, ...] = ()
    if options.preempts:
        given, cluster = cluster, leaving_pods(cluster)
        if leaving := len(given.pods) - len(cluster.pods):
            notices = (f"{plural(leaving, 'pod')} being deleted count as gone: wait until they are",)
        refused = _without_preemption(cluster, gates, options, asked, narrowed)
    reading = monotonic()
    asked["objective"] = _objective(cluster, gates, options, asked, narrowed)
    allowed = _allowed(cluster, asked.get("namespace"), asked.get("selector", ""))
    running = read_running_pods(cluster, gates, move_bare=options.bare, allowed=allowed, look=look)
    evictions = Evictions()
    if options.preempts:
        highest, gangs = preempting_units(cluster, gates, **narrowed)
        if highest is not None:
            evictions = read_evictions(cluster, gates, running, highest, gangs)
    keys = {("Pod", key) for key, one in running.items() if options.moves and not one.stays}
    keys |= {("Pod", key) for key in evictions.pods} | {("ResourceClaim", key) for key in evictions.shared}
    is_narrowed = False
    while True:
        look()
        lifted = LiftedPods.of(cluster, running, frozenset(keys), options, evictions, refused)
        lifted = replace(lifted, is_narrowed=is_narrowed)
        if ends is not None:
            now = monotonic()
            asked["time_limit"] = max(0.0, ends - now - _STEPS_SHARE * (now - reading))
        try:
            found = _with_steps(lifted, partial(plan, lifted.cluster, lifted=lifted, **asked), ends)
            return replace(found, notices=(*notices, *found.notices))
        except UnmovableError as error:
            is_narrowed |= error.is_narrowed
            evictions = evictions.without(
                {key for kind, key in error.keys if kind == "Pod"}, {key for kind, key in error.keys if kind != "Pod"}
            )
            gone = {("Pod", key) for key, one in running.items() if (one.stays or not options.moves)}
            gone = {key for key in gone if key[1] not in evictions.pods}
            gone |= {key for key in keys if key[0] != "Pod" and key[1] not in evictions.shared}
            keys -= error.keys | gone


def _without_preemption(
    cluster: Cluster, gates: FeatureGates, options: MoveOptions, asked: dict[str, Any], narrowed: Mapping[str, Any]
) -> dict[UnitKey, Reason]:
    """Units that may not take others' places, as claims of no pod may not, and have none without that (EVT-1).

    They are planned before, beside everything else that waits, where nobody loses a place.
    """
    sets = read_queue(cluster, gates=gates, **narrowed)
    shy = {(one.kind, one.namespace, one.name) for one in sets if not preempts(cluster, gates, one)}
    if not shy:
        return {}
    limit = asked.get("time_limit")
    share = None if limit is None else limit / 3
    before = {**asked, "time_limit": share, "objective": "priority,admitted"}
    alone = replace(options, preempts=False)
    found = plan_with_moves(cluster, alone, **before) if options.moves else plan(cluster, **before)
    if found.unread:
        raise DeadlineExceededError
    why = {True: "no pod asks for it", False: "its preemptionPolicy is Never"}
    return {
        outcome_key(one): Reason("preemption", "", f"{why[one.unit.pod is None]}, and {_NO_ROOM}")
        for one in found.units
        if one.node is None and (one.kind, one.namespace, one.name) in shy
    }


def _with_steps(lifted: LiftedPods, ask: Callable[[], PlanOutcome], ends: float | None) -> PlanOutcome:
    """The plan with steps; Ctrl-C leaves time for an order of what was found, without temporary places."""

    def ordered(answer: PlanOutcome, ends: float | None) -> PlanOutcome:
        if answer.unread:
            return answer
        counts = {name: len(nodes) for name, nodes in answer.bought.items()}
        answer = replace(answer, removed=tuple(_removed(lifted, answer)))
        answer = with_victims(lifted, answer) if lifted.options.preempts else answer
        leaving = [*(one.running.key for one in answer.moves), *((one.namespace, one.name) for one in answer.victims)]
        said = eviction_notices(lifted.given, map(lifted.running.__getitem__, leaving))
        answer = replace(answer, notices=(*answer.notices, *said))
        return _ordered_steps(with_bought_nodes(lifted.given, counts)[0], answer, ends)

    try:
        answer, is_whole = ask(), True
    except SearchInterrupted as interrupted:
        answer, is_whole = interrupted.answer, False
    try:
        found = ordered(answer, ends)
    except KeyboardInterrupt:
        found, is_whole = ordered(answer, monotonic()), False
    if not is_whole:
        raise SearchInterrupted(found)
    return found


def _ordered_steps(cluster: Cluster, answer: PlanOutcome, ends: float | None) -> PlanOutcome:
    """The outcome with steps; ``cluster`` has the nodes that are bought. Temporary places are looked for until then.

    Raises ``VerificationError`` if a state between two steps breaks a rule; that is a defect of drasat.
    """
    bought = [node.metadata.name for nodes in answer.bought.values() for node in nodes]
    order, ordered = order_of_steps(cluster, answer.gates, answer.cel_errors, answer.moves, answer.victims, ends)
    placed = {("Pod", move.running.key) for move in answer.moves}
    waiting = [answer.units[place] for place in answer.order]
    steps = [
        *(node_step("add", name) for name in bought),
        *ordered,
        *(order.placed(one) for one in waiting if outcome_key(one) not in placed),
        *(node_step("remove", name) for name, _ in answer.removed),
    ]
    check = partial(step_violations, cluster, steps, answer.units, answer.gates, answer.cel_errors)
    violations = check(victims=answer.victims)
    if violations:
        raise VerificationError(violations)
    return replace(answer, steps=tuple(steps))


def order_of_steps(
    cluster: Cluster,
    gates: FeatureGates,
    policy: str,
    moves: Sequence[PlannedMove],
    victims: Sequence[PlanVictim],
    ends: float | None,
) -> tuple[StepOrder, list[PlanStep]]:
    """The order of moves with its steps: without temporary places and pods that wait, if one is found.

    Pods that arrive early may be in the way of a circle that would open without them. So some come last: one, then two,
    and so on.
    """
    order = StepOrder(cluster, gates, moves, TemporaryPlaces(cluster, gates, policy, ends), victims)
    steps, least = list(order.steps()), len(moves) + len(victims)
    keys = [one.running.key for one in moves] if least < len(steps) and len(moves) <= _MOST_REORDERED else []
    late = chain.from_iterable(combinations(keys, number) for number in range(1, len(keys)))
    # Verification needs the rest of the time. On large clusters each order takes longer.
    now = monotonic()
    until = None if ends is None else now + (ends - now) / 4
    for last in islice(late, min(_MOST_ORDERS, _MOST_OBJECTS // (1 + len(cluster.pods) + len(cluster.nodes)))):
        if is_past(until):
            break
        # Nothing is looked for: an order that needs another place is none that helps.
        places = TemporaryPlaces(cluster, gates, policy, monotonic())
        other = StepOrder(cluster, gates, moves, places, victims, last)
        found = list(other.steps())
        if len(found) == least and not any(one.note for one in found[len(victims) :]):
            return other, found
    return order, steps


def _objective(
    cluster: Cluster, gates: FeatureGates, options: MoveOptions, asked: Mapping[str, Any], narrowed: Mapping[str, Any]
) -> tuple[str, ...]:
    """The stages with those about moves: behind what is placed, or last where nothing waits that moves could help.

    Stages about moves that are named stay where they are. Without any name, and with nothing that waits, the room for a
    mix counts, or else how many nodes are in use.
    """
    given, buys = asked.get("objective", ()), bool(asked.get("buy"))
    few_nodes, alternatives = bool(cluster.objects(NodePool)), asked.get("alternatives", "any")
    names = list(parse_objective(given, buys, few_nodes=few_nodes, alternatives=alternatives))
    waits = any(one.numbers for one in read_queue(cluster, gates=gates, **narrowed))
    if options.prices and COST not in names:
        names.append(COST)
    elif not waits and last_stages(given) and not buys and options.moves:
        names.append(FEWEST_NODES if asked.get("mix") is None else FRAGMENTATION)
    moving = MOVE_STAGES if options.moves else ()
    missing = [name for name in (*(LOSS_STAGES if options.preempts else ()), *moving) if name not in names]
    if options.preempts and "priority" not in names:
        # Who may take whose place is a question of priority.
        names.insert(0, "priority")
    first = next((n for n, name in enumerate(names) if name.partition("=")[0] not in PLACED_STAGES), len(names))
    place = first if waits or buys or COST in names or options.preempts else len(names)
    return (*names[:place], *missing, *names[place:])


def _removed(lifted: LiftedPods, answer: PlanOutcome) -> Iterator[tuple[str, Fraction]]:
    """The nodes that can go, with their prices: nothing uses them that does not go with them."""
    prices = lifted.options.prices
    if not prices:
        return
    moved = {one.running.key for one in answer.moves}
    left = lifted.given.without(pods=moved, claims=[held.ref.key for one in answer.moves for held in one.running.held])
    parts = [key for key, one in lifted.running.items() if one.goes_with_node]
    used = {*busy_nodes(left, answer.gates, left.nodes.values(), parts), *(unit.node for unit in answer.units)}
    for name, price in prices.items():
        if name not in used and name not in lifted.options.kept:
            yield name, price


def _allowed(cluster: Cluster, namespace: str | None, selector: str) -> frozenset[ObjectKey] | None:
    """The running pods that a plan is about; None for all."""
    if namespace is None and not selector:
        return None
    requirements = parse_label_selector(selector)
    return frozenset(
        key
        for key, pod in running_pods(cluster).items()
        if namespace in (None, key[0]) and matches_labels(requirements, pod.metadata.labels)
    )
