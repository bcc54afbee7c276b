"""One Problem for seats on several nodes: its claims, what they and groups demand, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from ...models.core import Node
from ...models.identity import key_of
from ...models.topologies import DeviceTopology
from ...problem.compile import Compiler
from ...problem.demands import constrained
from ...problem.entries import entries_of
from ...problem.messages import Names
from ...problem.posing import compile_entries
from ...problem.records import Constraint, Problem
from ...problem.relations import Relation
from ...problem.topology import TopologyCondition
from ...problem.topology_places import TopologyPlaces
from .coupling import Coupled
from .draft import Draft
from .ground import Ground, UndecidedError
from .held import HeldClaim
from .ties import Ties


@dataclass(frozen=True, slots=True)
class Posed:
    """A joint question with what its numbers mean; ``tied`` are the relations of groups."""

    problem: Problem
    ground: Ground
    draft: Draft
    tied: tuple[Relation, ...]


def joint_names(coupled: Coupled, held: Sequence[HeldClaim], ground: Ground) -> Names:
    """Names for the numbers of a joint Problem, which errors on the way to it have too."""
    keys = [key_of(claim.metadata) for seat in coupled.seats for claim in seat.claims]
    whole = ground.whole
    devices = tuple(device.id for device in whole.devices)
    return Names(tuple(sorted([*keys, *(one.key for one in held)])), devices, tuple(pool.id for pool in whole.pools))


def posed(
    compiler: Compiler,
    ground: Ground,
    coupled: Coupled,
    nodes: Sequence[Sequence[Node]],
    held: Sequence[HeldClaim],
    everywhere: Collection[Node],
) -> Posed:
    """Pose the question; ``nodes`` are those that each seat may go to, ``everywhere`` all of the cluster.

    Raises ``FatalError``, ``SelectorError`` and ``UndecidedError``.
    """
    draft = Draft(compiler, ground)
    draft.add(coupled.seats, nodes, held)
    known, shape = compiler.topologies, ground.whole.shape
    places = TopologyPlaces(known.topologies, compiler.classes, ground.sites, known.axes)
    entries = compiler.ground(shape, places)
    constraints: list[Constraint] = []
    relations: list[Relation] = []
    for number, claim in enumerate(draft.resources):
        if not draft.is_held(number):
            own = entries_of(number, claim, compiler.given, compiler.gates)
            made = compile_entries(own, number, draft.asks_of(number), entries)
            constraints += made[0]
            relations += made[1]
    ties = Ties(draft, compiler, entries, held, everywhere)
    for seat, one in enumerate(coupled.seats):
        relations += ties.one_node(seat, one.units[0].name, nodes[seat])
    tied = tuple(relation for tie in coupled.ties for relation in ties.of(tie))
    problem = Problem(
        len(shape.profiles),
        tuple(draft.claims),
        tuple(constrained(demand, constraints, compiler.demands.policy) for demand in draft.demands),
        tuple(constraints),
        shape.shared,
        shape.capacities,
        shape.counters,
        shape.groups,
        (*relations, *tied),
        permutations=compiler.gates.variant == "stable",
        fatal_constraints=False,
    )
    _check_shapes(problem, compiler, ground)
    return Posed(problem, ground, draft, tied)


def _check_shapes(problem: Problem, compiler: Compiler, ground: Ground) -> None:
    """Raise ``UndecidedError`` where what is asked of topologies has no one meaning on several nodes."""
    found = [relation.condition for relation in problem.relations if relation.id == "topology"]
    for condition in (cast("TopologyCondition", one) for one in found):
        topology = compiler.topologies.topologies[condition.ask.name]
        _check_sites(topology, condition, ground)
        _check_replaced(topology, problem, ground)


def _check_sites(topology: DeviceTopology, condition: TopologyCondition, ground: Ground) -> None:
    """Check that no device is in two instances, and that whoever sees one sees as much of it."""
    instances = [places.devices for places in condition.places]
    seen = [{ground.homes[device] for device in own} for own in instances]
    scope, ask = topology.spec.scope, condition.ask
    if scope == "Node":
        nodes = [node for one in set().union(*seen) for node in one]
        clashing = len(nodes) > len(set(nodes))
    elif ask.max_distance is None and (scope == "Cluster" or topology.spec.size):
        clashing = False
    else:
        # How far it is from device to device, and where an axis ends, others in the instance decide.
        pools = {ground.pools[device] for own in instances for device in own}
        unseen = ground.elsewhere if scope == "Cluster" else ground.elsewhere & pools
        clashing = bool(unseen) or any(len(own) > 1 for own in seen)
    if clashing:
        raise UndecidedError(f"nodes see different devices of one {scope.lower()} of topology {ask.name}")


def _check_replaced(topology: DeviceTopology, problem: Problem, ground: Ground) -> None:
    """Check that nobody can take a device that a claim of the group holds: it would be in two places."""
    taken = {device for demand in problem.demands for device in demand.candidates if demand.admin}
    taken |= {device for demand in problem.demands for device in demand.candidates if device in problem.shared}
    if not ground.replaced.isdisjoint(taken):
        name = topology.metadata.name
        raise UndecidedError(f"a device in topology {name} that a claim of a group holds can be taken again")
