"""One Problem for seats on several nodes: a request may be served on any node that its seat may go to.

Devices are those of all nodes together. Serving a request on a node is an alternative of it, in the order of nodes and
then of the request's own, so that the scheduler's preference (SRCH-4) prefers nodes that come first. Ties of the kind
"one node for all", "one value of this label" are match entries over numbers that stand for nodes and values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from ...models.claims import ResourceClaim
from ...models.constraint_groups import requests_in
from ...models.core import Node
from ...models.entries import Entry
from ...models.identity import ObjectKey, key_of
from ...problem.asks import Ask, alternatives, resolve
from ...problem.compile import Compiler
from ...problem.demands import constrained
from ...problem.entries import applies, entries_of, posed_by
from ...problem.posing import compile_entries, compile_joint_entry
from ...problem.records import Amounts, Claim, Constraint, Demand, Problem, Request
from ...problem.relations import Relation
from ...problem.shapes import NodeView
from ...problem.token_condition import TokenCondition
from ...problem.topology_places import TopologyPlaces
from .coupling import Coupled, Seat, Tie
from .held import HeldClaim, stand_in


@dataclass(frozen=True, slots=True)
class Ground:
    """The devices of all nodes together, and each node's own view of its devices; ``homes``: the node of each."""

    whole: NodeView
    views: Mapping[str, NodeView]
    homes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """What a demand stands for: a request of a seat on a node; of a held claim neither."""

    ask: Ask
    seat: int = -1
    node: Node | None = None


class JointPosing:
    """Builds the Problem; ``served`` tells its demands apart, ``keys`` are its claims.

    ``nodes`` are all of the cluster: on some of them held claims are.
    """

    def __init__(self, compiler: Compiler, ground: Ground, held: Sequence[HeldClaim], nodes: Collection[Node]) -> None:
        self._compiler = compiler
        self._nodes = nodes
        self._ground = ground
        self._number_of = {device.id: number for number, device in enumerate(ground.whole.devices)}
        self._held = held
        self._demands: list[Demand] = []
        self._claims: list[Claim] = []
        self._constraints: list[Constraint] = []
        self._relations: list[Relation] = []
        self._of_claim: dict[int, list[int]] = defaultdict(list)
        self.served: list[Served] = []
        self.keys: list[ObjectKey] = []
        known = compiler.topologies
        places = TopologyPlaces(known.topologies, compiler.classes, compiler.expressions, ground.homes, known.axes)
        self._entries = compiler.ground(ground.whole.shape, places)

    def pose(self, coupled: Coupled, nodes: Sequence[Sequence[Node]]) -> Problem:
        """Pose the question; ``nodes`` are those that each seat may go to. Raises ``FatalError``."""
        for number, seat in enumerate(coupled.seats):
            self._seat(number, seat, nodes[number])
        for claim in self._held:
            self._hold(claim)
        for tie in coupled.ties:
            self._tie(tie)
        shape = self._ground.whole.shape
        constraints = tuple(self._constraints)
        policy = self._compiler.demands.policy
        return Problem(
            len(shape.profiles),
            tuple(self._claims),
            tuple(constrained(demand, constraints, policy) for demand in self._demands),
            constraints,
            shape.shared,
            shape.capacities,
            shape.counters,
            shape.groups,
            tuple(self._relations),
            fatal_constraints=False,
        )

    def _seat(self, number: int, seat: Seat, nodes: Sequence[Node]) -> None:
        first = len(self._demands)
        for local, claim in enumerate(seat.claims):
            self._claim(claim, local, number, nodes)
        if len(nodes) > 1:
            places = {node.metadata.name: place for place, node in enumerate(nodes)}
            label = f"one node for {seat.units[0].name}"
            self._same("node", label, range(first, len(self._demands)), places)

    def _claim(self, claim: ResourceClaim, local: int, seat: int, nodes: Sequence[Node]) -> None:
        """Add a claim, which is the ``local``-th of its seat."""
        compiler, number = self._compiler, len(self._claims)
        self.keys.append(key_of(claim.metadata))
        requests = []
        for request in claim.spec.devices.requests or ():
            parts = alternatives(local, request, compiler.gates)
            asks = [resolve(local, request.name, part, compiler.classes, compiler.gates) for part in parts]
            demands = tuple(self._demand(Served(ask, seat, node), number) for node in nodes for ask in asks)
            requests.append(Request(request.name, request.exactly is None or len(demands) > 1, demands))
        self._claims.append(Claim(tuple(requests)))
        posed = entries_of(number, claim, compiler.given, compiler.gates)
        constraints, relations = compile_entries(posed, number, self._asks_of(number), self._entries)
        self._constraints += constraints
        self._relations += relations

    def _asks_of(self, claim: int) -> list[tuple[int, Ask]]:
        return [(demand, self.served[demand].ask) for demand in self._of_claim.get(claim, ())]

    def _demand(self, served: Served, claim: int) -> int:
        """Compile a request on a node there, then number its devices as all nodes together do."""
        index = len(self._demands)
        view = self._ground.views[served.node.metadata.name if served.node else ""]
        own = self._compiler.demands.demand(served.ask, index, view.shape)
        number = [self._number_of[device.id] for device in view.devices]
        self._demands.append(
            replace(
                own,
                claim=claim,
                candidates=tuple(sorted(number[device] for device in own.candidates)),
                traps={number[device]: failure for device, failure in own.traps.items()},
                barred=frozenset(number[device] for device in own.barred),
                amounts={number[device]: self._amounts(view, device, own, number) for device in own.amounts},
                failures=(),
            )
        )
        self._serve(served, claim)
        return index

    def _serve(self, served: Served, claim: int) -> None:
        self._of_claim[claim].append(len(self.served))
        self.served.append(served)

    def _amounts(self, view: NodeView, device: int, own: Demand, number: Sequence[int]) -> Amounts:
        rows = view.shape.capacities.rows.get(device, ())
        whole = dict(zip(rows, self._ground.whole.shape.capacities.rows.get(number[device], ()), strict=True))
        return tuple((whole[row], amount) for row, amount in own.amounts[device])

    def _hold(self, held: HeldClaim) -> None:
        """Add a claim that can only have what it has."""
        claim = len(self._claims)
        self.keys.append(held.key)
        requests = []
        for ask, devices in held.asks(claim):
            index = len(self._demands)
            candidates = sorted(self._number_of[stand_in(id_)] for id_ in devices if stand_in(id_) in self._number_of)
            count = len(candidates)
            self._demands.append(
                Demand(index, claim, ask.request, ask.subrequest, "", count, False, False, candidates=tuple(candidates))
            )
            self._serve(Served(ask), claim)
            requests.append(Request(ask.request, False, (index,)))
        self._claims.append(Claim(tuple(requests)))

    def _tie(self, tie: Tie) -> None:
        """Add what a group demands."""
        spec = tie.group.spec
        inside = {claim: key for claim, key in enumerate(self.keys) if key in tie.claims}
        for posed in posed_by(tie.label, spec.constraints or (), self._compiler.gates):
            covered = [pair for claim, key in inside.items() for pair in self._covered(posed.entry, claim, key)]
            claims = tuple(dict.fromkeys(self._demands[demand].claim for demand, _ in covered))
            if claims:
                self._relations.append(compile_joint_entry(posed, claims, covered, self._entries))
        if spec.same_node_label:
            self._same_label(tie, spec.same_node_label, inside)

    def _covered(self, entry: Entry, claim: int, key: ObjectKey) -> list[tuple[int, Ask]]:
        """List what an entry of a group covers of a claim."""
        names = requests_in(entry, key[1])
        if names is None:
            return []
        own = structs.replace(entry, requests=names)
        return [(demand, ask) for demand, ask in self._asks_of(claim) if applies(own, ask.request, ask.subrequest)]

    def _same_label(self, tie: Tie, label: str, inside: Iterable[int]) -> None:
        demands = [demand for claim in inside for demand in self._of_claim[claim] if self.served[demand].node]
        nodes = {served.node.metadata.name: served.node for served in self.served if served.node}
        values = {name: value for name, node in nodes.items() if (value := _label(node, label)) is not None}
        for held in self._held:
            # Held claims narrow the nodes down to those with their value.
            wanted = held.label_value(label, self._nodes) if held.key in tie.claims else None
            values = {name: value for name, value in values.items() if wanted in (None, value)}
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values.values()))}
        places = {name: numbers[value] for name, value in values.items()}
        self._same("nodeLabel", f"{tie.label}, label {label}", demands, places)

    def _same(self, id_: str, label: str, demands: Iterable[int], values: Mapping[str, int]) -> None:
        """Demand that all nodes where these demands are served have one value; one without any cannot be used."""
        tokens: dict[int, dict[int, int]] = {}
        for demand in demands:
            node = self.served[demand].node
            value = values.get(node.metadata.name) if node else None
            candidates = self._demands[demand].candidates
            tokens[demand] = {} if value is None else dict.fromkeys(candidates, value)
        if not tokens:
            return
        claims = tuple(dict.fromkeys(self._demands[demand].claim for demand in tokens))
        constraint = Constraint(claims[0], "matchAttribute", id_, False, tokens)
        condition = TokenCondition(constraint)
        self._relations.append(Relation(id_, claims, len(self._relations), label, frozenset(tokens), condition))


def _label(node: Node, label: str) -> str | None:
    return (node.metadata.labels or {}).get(label)
