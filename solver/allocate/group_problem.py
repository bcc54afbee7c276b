"""One Problem for node groups on several nodes: its claims, its relations, and the meaning of its numbers.

Demands of groups are relations that span claims. "One node for all" and "one value of this label" are match entries
over numbers that stand for nodes and values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from msgspec import structs

from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import DeviceTopology, Entry, requests_in_claim
from ...models.kubernetes.meta import key_of
from ...problem.compiler import Compiler, with_constraints
from ...problem.conditions import EntryContext, TokenCondition, compile_entries, compile_spanning_entry
from ...problem.constraints import entries_of_claim, entries_of_owner, entry_applies
from ...problem.messages import FatalError, ProblemNames
from ...problem.problem import Constraint, Problem, Relation
from ...problem.requests import ResolvedRequest
from ...problem.topology import TopologyCondition, TopologyPlaces
from .coupling import CoupledUnits, GroupScope
from .group_builder import ContradictingViewsError, GroupProblemBuilder, HeldClaim, MergedView


@dataclass(frozen=True, slots=True)
class GroupProblem:
    """A joint question with what its numbers mean; ``group_relations`` are the relations of groups."""

    problem: Problem
    merged_view: MergedView
    builder: GroupProblemBuilder
    group_relations: tuple[Relation, ...]


def group_problem_names(coupled: CoupledUnits, held: Sequence[HeldClaim], merged_view: MergedView) -> ProblemNames:
    """Names for the numbers of a joint Problem, which errors on the way to it have too."""
    keys = [key_of(claim.metadata) for node_group in coupled.node_groups for claim in node_group.claims]
    whole = merged_view.view
    devices = tuple(device.id for device in whole.devices)
    return ProblemNames(
        tuple(sorted([*keys, *(one.key for one in held)])), devices, tuple(pool.id for pool in whole.pools)
    )


def build_group_problem(
    compiler: Compiler,
    merged_view: MergedView,
    coupled: CoupledUnits,
    nodes: Sequence[Sequence[Node]],
    held: Sequence[HeldClaim],
    everywhere: Collection[Node],
) -> GroupProblem:
    """Compile the question; ``nodes`` are those that each node group may go to, ``everywhere`` all of the cluster.

    Raises ``FatalError``, ``SelectorError`` and ``ContradictingViewsError``.
    """
    builder = GroupProblemBuilder(compiler, merged_view)
    builder.add(coupled.node_groups, nodes, held)
    known, shape = compiler.topologies, merged_view.view.shape
    places = TopologyPlaces(known.topologies, compiler.classes, merged_view.sites, known.axes)
    entries = compiler.entry_context(shape, places)
    constraints: list[Constraint] = []
    relations: list[Relation] = []
    for number, claim in enumerate(builder.resources):
        if not builder.is_held(number):
            own = entries_of_claim(number, claim, compiler.caller_constraints, compiler.gates)
            made = compile_entries(own, number, builder.asks_of(number), entries)
            constraints += made[0]
            relations += made[1]
    scopes = GroupRelations(builder, compiler, entries, held, everywhere)
    for node_group, one in enumerate(coupled.node_groups):
        relations += scopes.one_node(node_group, one.units[0].name, nodes[node_group])
    tied = tuple(relation for scope in coupled.groups for relation in scopes.of(scope))
    problem = Problem(
        len(shape.profiles),
        tuple(builder.claims),
        tuple(with_constraints(demand, constraints, compiler.demands.policy) for demand in builder.demands),
        tuple(constraints),
        shape.shared,
        shape.capacities,
        shape.counters,
        shape.groups,
        (*relations, *tied),
        permutations=compiler.gates.variant == "stable",
        fatal_constraints=False,
    )
    _check_topologies(problem, compiler, merged_view)
    return GroupProblem(problem, merged_view, builder, tied)


def _check_topologies(problem: Problem, compiler: Compiler, merged_view: MergedView) -> None:
    """Raise ``ContradictingViewsError`` where a topology entry has different meanings on several nodes.

    No request may take a device that a claim of the group holds: it would be in two places.
    """
    taken = {
        device for demand in problem.demands for device in demand.candidates if demand.admin or device in problem.shared
    }
    found = [relation.condition for relation in problem.relations if relation.id == "topology"]
    for condition in (cast("TopologyCondition", one) for one in found):
        topology = compiler.topologies.topologies[condition.ask.name]
        _check_instances(topology, condition, merged_view)
        if not merged_view.replaced.isdisjoint(taken):
            text = f"a device in topology {condition.ask.name} that a claim of a group holds can be taken again"
            raise ContradictingViewsError(text)


def _check_instances(topology: DeviceTopology, condition: TopologyCondition, merged_view: MergedView) -> None:
    """Check that no device is in two instances, and that all nodes that see an instance see the same devices of it."""
    instances = [places.devices for places in condition.places]
    seen = [{merged_view.nodes_of_device[device] for device in own} for own in instances]
    scope, ask = topology.spec.scope, condition.ask
    if scope == "Node":
        nodes = [node for one in set().union(*seen) for node in one]
        clashing = len(nodes) > len(set(nodes))
    elif ask.max_distance is None and (scope == "Cluster" or topology.spec.size):
        clashing = False
    else:
        # How far it is from device to device, and where an axis ends, others in the instance decide.
        pools = {merged_view.pools[device] for own in instances for device in own}
        unseen = merged_view.elsewhere if scope == "Cluster" else merged_view.elsewhere & pools
        clashing = bool(unseen) or any(len(own) > 1 for own in seen)
    if clashing:
        raise ContradictingViewsError(f"nodes see different devices of one {scope.lower()} of topology {ask.name}")


# Entries of claims have lower positions, whatever claim they are of.
_FIRST_GROUP_POSITION = 1 << 20


class GroupRelations:
    """Makes the relations of one draft; ``nodes`` are all of the cluster: on some of them ``held`` claims are."""

    def __init__(
        self,
        builder: GroupProblemBuilder,
        compiler: Compiler,
        entries: EntryContext,
        held: Sequence[HeldClaim],
        nodes: Collection[Node],
    ) -> None:
        self._builder = builder
        self._compiler = compiler
        self._entries = entries
        self._held = held
        self._nodes = nodes
        self._position = _FIRST_GROUP_POSITION

    def one_node(self, node_group: int, name: str, nodes: Sequence[Node]) -> Iterator[Relation]:
        """Demand that a node group is on one of its nodes, where that does not go without saying."""
        demands = self._builder.of_node_group(node_group)
        requests = {(self._builder.demands[demand].claim, self._builder.demands[demand].request) for demand in demands}
        if len(nodes) > 1 and len(requests) > 1:
            places = {node.metadata.name: place for place, node in enumerate(nodes)}
            yield from self._same("node", f"one node for {name}", demands, places)

    def of(self, scope: GroupScope) -> Iterator[Relation]:
        """Yield the relations of a group about claims without devices, hard and soft. Raises ``FatalError``."""
        spec, builder = scope.group.spec, self._builder
        inside = [claim for claim, key in enumerate(builder.keys) if key in scope.claims]
        try:
            entries = entries_of_owner(scope.label, spec.constraints or (), self._compiler.gates)
        except FatalError as error:
            error.claim = inside[0]
            raise
        for group_problem in entries:
            covered = [pair for claim in inside for pair in self._covered(group_problem.entry, claim)]
            claims = tuple(dict.fromkeys(builder.demands[demand].claim for demand, _ in covered))
            if not all(map(builder.is_held, claims)):
                yield self._with_position(compile_spanning_entry(group_problem, claims, covered, self._entries))
        if spec.same_node_label:
            yield from self._same_label(scope, spec.same_node_label, inside)

    def _covered(self, entry: Entry, claim: int) -> list[tuple[int, ResolvedRequest]]:
        """List what an entry of a group covers of a claim."""
        names = requests_in_claim(entry, self._builder.keys[claim][1])
        if names is None:
            return []
        own = structs.replace(entry, requests=names)
        return [
            (demand, ask)
            for demand, ask in self._builder.asks_of(claim)
            if entry_applies(own, ask.request, ask.subrequest)
        ]

    def _same_label(self, scope: GroupScope, label: str, inside: Iterable[int]) -> Iterator[Relation]:
        """Demand one value of a label; held claims leave those of the nodes where they can be used."""
        served = self._builder.served_requests
        demands = [demand for claim in inside for demand in self._builder.of_claim[claim] if served[demand].node]
        nodes = {one.node.metadata.name: one.node for one in served if one.node}
        found = {name: (node.metadata.labels or {}).get(label) for name, node in nodes.items()}
        values = {name: value for name, value in found.items() if value is not None}
        for held in self._held:
            if held.key in scope.claims:
                there = held.label_values(label, self._nodes)
                values = {name: value for name, value in values.items() if value in there}
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values.values()))}
        places = {name: numbers[value] for name, value in values.items()}
        yield from self._same("nodeLabel", f"{scope.label}, sameNodeLabel {label}", demands, places)

    def _same(self, id_: str, label: str, demands: Iterable[int], values: Mapping[str, int]) -> Iterator[Relation]:
        """Demand that all nodes where these demands are served have one value; one without any cannot be used."""
        tokens: dict[int, dict[int, int]] = {}
        for demand in demands:
            node = self._builder.served_requests[demand].node
            value = values.get(node.metadata.name) if node else None
            candidates = self._builder.demands[demand].candidates
            tokens[demand] = {} if value is None else dict.fromkeys(candidates, value)
        if tokens:
            claims = tuple(dict.fromkeys(self._builder.demands[demand].claim for demand in tokens))
            condition = TokenCondition(Constraint(claims[0], "matchAttribute", id_, False, tokens))
            yield self._with_position(Relation(id_, claims, 0, label, frozenset(tokens), condition))

    def _with_position(self, relation: Relation) -> Relation:
        """Give a relation a position of its own."""
        self._position += 1
        return replace(relation, position=self._position)
