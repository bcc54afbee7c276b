"""The question plan where running pods may move: which pods may, the stages, and the steps of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import gates_of
from ...models.kubernetes.karpenter import NodePool
from ...models.kubernetes.meta import ObjectKey, matches_labels, parse_label_selector
from ...models.workload.node_room import running_pods
from ...models.workload.queue import read_queue
from ...models.workload.running import read_running_pods
from ..engines.outcome import SearchInterrupted
from .build.moves import UnmovableError
from .build.nodes import busy_nodes, with_bought_nodes
from .build.objectives import (
    COST,
    FEWEST_NODES,
    FRAGMENTATION,
    MOVE_STAGES,
    PLACED_STAGES,
    last_stages,
    parse_objective,
)
from .lifted import LiftedPods, MoveOptions
from .outcome import PlanOutcome
from .plan import plan
from .steps import ordered_steps


def plan_with_moves(cluster: Cluster, options: MoveOptions, **asked: Any) -> PlanOutcome:
    """Answer ``plan`` where running pods may move; ``asked`` are the arguments of ``plan``.

    Raises as ``plan`` does, and ``ValueError`` with quota, or with pods whose cost of a move cannot be read.
    """
    if asked.get("quota") is not None:
        raise ValueError("plans that move running pods do not look at quota: say --quota ignore")
    asked["objective"] = _objective(cluster, options, asked)
    allowed = _allowed(cluster, asked.get("namespace"), asked.get("selector", ""))
    gates = gates_of(asked.get("feature_gates"))
    running = read_running_pods(cluster, gates, move_bare=options.bare, allowed=allowed)
    keys = frozenset(key for key, one in running.items() if not one.stays)
    while True:
        lifted = LiftedPods.of(cluster, running, keys, options)
        try:
            return _with_steps(lifted, partial(plan, lifted.cluster, lifted=lifted, **asked))
        except UnmovableError as error:
            keys -= error.keys


def _with_steps(lifted: LiftedPods, ask: Callable[[], PlanOutcome]) -> PlanOutcome:
    def ordered(answer: PlanOutcome) -> PlanOutcome:
        counts = {name: len(nodes) for name, nodes in answer.bought.items()}
        answer = replace(answer, removed=tuple(_removed(lifted, answer)))
        return ordered_steps(with_bought_nodes(lifted.given, counts)[0], answer)

    try:
        return ordered(ask())
    except SearchInterrupted as interrupted:
        raise SearchInterrupted(ordered(interrupted.answer)) from None


def _objective(cluster: Cluster, options: MoveOptions, asked: Mapping[str, Any]) -> tuple[str, ...]:
    """The stages with those about moves: behind what is placed, or last where nothing waits that moves could help.

    Stages about moves that are named stay where they are. Without any name, and with nothing that waits, the room for a
    mix counts, or else how many nodes are in use.
    """
    given, buys = asked.get("objective", ()), bool(asked.get("buy"))
    few_nodes, alternatives = bool(cluster.objects(NodePool)), asked.get("alternatives", "any")
    names = list(parse_objective(given, buys, few_nodes=few_nodes, alternatives=alternatives))
    gates, narrowed = asked.get("feature_gates"), {key: asked[key] for key in ("namespace", "selector") if key in asked}
    waits = any(one.numbers for one in read_queue(cluster, gates=gates_of(gates), **narrowed))
    if options.prices and COST not in names:
        names.append(COST)
    elif not waits and last_stages(given) and not buys:
        names.append(FEWEST_NODES if asked.get("mix") is None else FRAGMENTATION)
    missing = [name for name in MOVE_STAGES if name not in names]
    first = next((n for n, name in enumerate(names) if name.partition("=")[0] not in PLACED_STAGES), len(names))
    place = first if waits or buys or COST in names else len(names)
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
