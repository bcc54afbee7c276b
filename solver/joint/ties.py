"""What groups demand, and that all of a seat is on one node, as relations that span claims.

"One node for all" and "one value of this label" are match entries over numbers that stand for nodes and values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from ...models.constraint_groups import requests_in
from ...models.core import Node
from ...models.entries import Entry
from ...problem.asks import Ask
from ...problem.compile import Compiler
from ...problem.entries import Posed, applies, posed_by
from ...problem.outcomes import FatalError
from ...problem.posing import Ground, compile_joint_entry
from ...problem.records import Constraint
from ...problem.relations import Relation
from ...problem.token_condition import TokenCondition
from .coupling import Tie
from .draft import Draft
from .held import HeldClaim

# Entries of claims have lower positions, whatever claim they are of.
_FIRST = 1 << 20


class Ties:
    """Makes the relations of one draft; ``nodes`` are all of the cluster: on some of them ``held`` claims are."""

    def __init__(
        self, draft: Draft, compiler: Compiler, entries: Ground, held: Sequence[HeldClaim], nodes: Collection[Node]
    ) -> None:
        self._draft = draft
        self._compiler = compiler
        self._entries = entries
        self._held = held
        self._nodes = nodes
        self._position = _FIRST

    def one_node(self, seat: int, name: str, nodes: Sequence[Node]) -> Iterator[Relation]:
        """Demand that a seat is on one of its nodes, where that does not go without saying."""
        demands = self._draft.of_seat(seat)
        requests = {(self._draft.demands[demand].claim, self._draft.demands[demand].request) for demand in demands}
        if len(nodes) > 1 and len(requests) > 1:
            places = {node.metadata.name: place for place, node in enumerate(nodes)}
            yield from self._same("node", f"one node for {name}", demands, places)

    def of(self, tie: Tie) -> Iterator[Relation]:
        """Yield what a group demands or wishes of claims that are not held. Raises ``FatalError``."""
        spec, draft = tie.group.spec, self._draft
        inside = [claim for claim, key in enumerate(draft.keys) if key in tie.claims]
        for posed in self._posed(tie, inside):
            covered = [pair for claim in inside for pair in self._covered(posed.entry, claim)]
            claims = tuple(dict.fromkeys(draft.demands[demand].claim for demand, _ in covered))
            if not all(map(draft.is_held, claims)):
                yield self._placed(compile_joint_entry(posed, claims, covered, self._entries))
        if spec.same_node_label:
            yield from self._same_label(tie, spec.same_node_label, inside)

    def _posed(self, tie: Tie, inside: Sequence[int]) -> tuple[Posed, ...]:
        try:
            return posed_by(tie.label, tie.group.spec.constraints or (), self._compiler.gates)
        except FatalError as error:
            error.claim = inside[0]
            raise

    def _covered(self, entry: Entry, claim: int) -> list[tuple[int, Ask]]:
        """List what an entry of a group covers of a claim."""
        names = requests_in(entry, self._draft.keys[claim][1])
        if names is None:
            return []
        own = structs.replace(entry, requests=names)
        return [
            (demand, ask) for demand, ask in self._draft.asks_of(claim) if applies(own, ask.request, ask.subrequest)
        ]

    def _same_label(self, tie: Tie, label: str, inside: Iterable[int]) -> Iterator[Relation]:
        """Demand one value of a label; held claims leave those of the nodes where they can be used."""
        served = self._draft.served
        demands = [demand for claim in inside for demand in self._draft.of_claim[claim] if served[demand].node]
        nodes = {one.node.metadata.name: one.node for one in served if one.node}
        found = {name: (node.metadata.labels or {}).get(label) for name, node in nodes.items()}
        values = {name: value for name, value in found.items() if value is not None}
        for held in self._held:
            if held.key in tie.claims:
                there = held.label_values(label, self._nodes)
                values = {name: value for name, value in values.items() if value in there}
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values.values()))}
        places = {name: numbers[value] for name, value in values.items()}
        yield from self._same("nodeLabel", f"{tie.label}, sameNodeLabel {label}", demands, places)

    def _same(self, id_: str, label: str, demands: Iterable[int], values: Mapping[str, int]) -> Iterator[Relation]:
        """Demand that all nodes where these demands are served have one value; one without any cannot be used."""
        tokens: dict[int, dict[int, int]] = {}
        for demand in demands:
            node = self._draft.served[demand].node
            value = values.get(node.metadata.name) if node else None
            candidates = self._draft.demands[demand].candidates
            tokens[demand] = {} if value is None else dict.fromkeys(candidates, value)
        if tokens:
            claims = tuple(dict.fromkeys(self._draft.demands[demand].claim for demand in tokens))
            condition = TokenCondition(Constraint(claims[0], "matchAttribute", id_, False, tokens))
            yield self._placed(Relation(id_, claims, 0, label, frozenset(tokens), condition))

    def _placed(self, relation: Relation) -> Relation:
        """Give a relation a position of its own."""
        self._position += 1
        return replace(relation, position=self._position)
