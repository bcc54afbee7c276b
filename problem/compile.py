"""Compile a question: the claims of one unit on one shape of node (section 6 on the way)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ..models.claims import DeviceClass, ResourceClaim
from ..models.entries import Entry, annotated_entries
from ..models.gates import FeatureGates
from ..models.given import Given
from ..models.placed_devices import Axis
from ..models.topologies import DeviceTopology
from .asks import Alternative, Ask, alternatives, resolve
from .constraints import Values
from .demands import Demands, constrained
from .entries import Posed, entries_of
from .filters import Context
from .messages import Blank
from .outcomes import FatalError, check_deadline
from .policies import KUBE
from .posing import Ground, compile_entries
from .reads import reads_of
from .records import RESULT_LIMIT, Claim, Constraint, Demand, Problem, Request
from .relations import Relation
from .selectors import Expressions
from .shapes import Shape
from .topology_places import TopologyPlaces
from .visible import Visible


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a unit asks for, without names. Equal ones are one object."""

    index: int
    claims: tuple[ResourceClaim, ...]
    visible: Visible
    """What it looks at; shapes for it must be made with that in view."""


class Compiler:
    """Compiles questions of one cluster under one set of gates; remembers what it compiled, errors too.

    ``policy`` says what errors of expressions do: ``kube``, ``strict`` or ``skip``; ``given`` are entries beside those
    of the claims. ``deadline`` is a reading of ``time.monotonic`` or None; passing it raises ``DeadlineExceededError``:
    a node may have very many devices.
    """

    deadline: float | None = None

    def __init__(
        self,
        classes: Mapping[str, DeviceClass],
        gates: FeatureGates,
        expressions: Expressions,
        policy: str,
        cel_road: str = "auto",
        topologies: Mapping[str, DeviceTopology] | None = None,
        given: Sequence[Given] = (),
        axes: Mapping[str, tuple[Axis, ...]] | None = None,
    ) -> None:
        self.gates = gates
        self.cel_road = cel_road
        self.given = given
        self.expressions = expressions
        knows_node_operations = gates.variant == "experimental"
        self.demands = Demands(Context(gates, expressions, knows_node_operations), policy)
        self.topologies = TopologyPlaces(topologies or {}, classes, axes=axes)
        self.classes = classes
        self._questions: dict[bytes, Question] = {}
        self._asks: dict[int, list[Ask]] = defaultdict(list)
        self._compiled: dict[tuple[int, int], Problem | FatalError] = {}

    def question(self, claims: Sequence[ResourceClaim]) -> Question:
        """Find what these claims ask for; equal specs are one question."""
        key = msgspec.msgpack.encode([(claim.spec, annotated_entries(claim.metadata)) for claim in claims])
        question = self._questions.get(key)
        if question is None:
            question = self._questions[key] = Question(len(self._questions), tuple(claims), self.visible(claims))
        return question

    def visible(self, claims: Sequence[ResourceClaim], entries: Sequence[Entry] = ()) -> Visible:
        """Tell what these claims look at, and entries beside their own."""
        return reads_of(claims, (*entries, *self.given), self.classes, self.expressions, self.topologies)

    def ground(self, shape: Shape, topologies: TopologyPlaces | None = None) -> Ground:
        """Return what entries are compiled against on this shape, with places of its own if they are given."""
        values = Values(shape.profiles, self.gates.list_attributes, self.expressions)
        aborting = self.demands.policy == KUBE
        return Ground(shape, values, self.expressions, self.cel_road, aborting, topologies or self.topologies)

    def problem(self, question: Question, shape: Shape) -> Problem:
        """Compile a question for nodes of this shape. Raises ``FatalError`` (section 6), each time anew."""
        key = question.index, shape.index
        if key not in self._compiled:
            try:
                self._compiled[key] = _Compilation(self, question, shape).run()
            except FatalError as error:
                self._compiled[key] = error
        found = self._compiled[key]
        if isinstance(found, FatalError):
            raise found
        return found

    def asks(self, question: Question) -> Sequence[Ask]:
        """List the asks of a question that was compiled, numbered like the demands of its problems."""
        return self._asks[question.index]

    def ask(self, question: Question, number: int, claim: int, request: str, alternative: Alternative) -> Ask:
        """Resolve the ask of this number; one object for all shapes. Raises ``FatalError`` (PRE-3 to PRE-6)."""
        known = self._asks[question.index]
        if number == len(known):
            known.append(resolve(claim, request, alternative, self.classes, self.gates))
        return known[number]


class _Compilation:
    """One question on one shape. Claims are checked in order, their requests first (section 6)."""

    def __init__(self, compiler: Compiler, question: Question, shape: Shape) -> None:
        self._compiler = compiler
        self._question = question
        self._shape = shape
        self._demands: list[Demand] = []
        self._asks: list[Ask] = []
        self._entries: list[tuple[Posed, ...]] = []

    def run(self) -> Problem:
        compiler, shape = self._compiler, self._shape
        claims = tuple(self._claim(number) for number in range(len(self._question.claims)))
        constraints, relations = self._posed()
        policy = compiler.demands.policy
        return Problem(
            len(shape.profiles),
            claims,
            tuple(constrained(demand, constraints, policy) for demand in self._demands),
            constraints,
            shape.shared,
            shape.capacities,
            shape.counters,
            shape.groups,
            relations,
            permutations=compiler.gates.variant == "stable",
            invalid_pools=shape.invalid,
        )

    def _claim(self, number: int) -> Claim:
        spec = self._question.claims[number].spec.devices
        requests: list[Request] = []
        accounted = 0
        for entry in spec.requests or ():
            parts = alternatives(number, entry, self._compiler.gates)
            demands = tuple(self._demand(number, entry.name, part) for part in parts)
            requests.append(Request(entry.name, entry.exactly is None, demands))
            accounted += self._needed(number, entry.name, demands, accounted)
        self._entries.append(
            entries_of(number, self._question.claims[number], self._compiler.given, self._compiler.gates)
        )
        return Claim(tuple(requests))

    def _demand(self, claim: int, request: str, alternative: Alternative) -> int:
        index = len(self._demands)
        ask = self._compiler.ask(self._question, index, claim, request, alternative)
        self._demands.append(self._compiler.demands.demand(ask, index, self._shape))
        self._asks.append(ask)
        check_deadline(self._compiler.deadline)
        return index

    def _needed(self, claim: int, request: str, demands: Sequence[int], accounted: int) -> int:
        """Count what a request needs at least. Raises ``FatalError`` if the claim cannot have that many (PRE-11)."""
        needed = min((self._demands[demand].count for demand in demands), default=0)
        if accounted + needed > RESULT_LIMIT:
            problem = f"adding {needed} devices exceeds the claim limit of {RESULT_LIMIT}"
            text = f", request {request}: {problem}, with {accounted} already accounted for"
            raise FatalError("devicesPerClaim", ("claim ", Blank.CLAIM, text), claim=claim)
        return needed

    def _posed(self) -> tuple[tuple[Constraint, ...], tuple[Relation, ...]]:
        ground = self._compiler.ground(self._shape)
        constraints: list[Constraint] = []
        relations: list[Relation] = []
        for number, entries in enumerate(self._entries):
            asks = [(index, ask) for index, ask in enumerate(self._asks) if ask.claim == number]
            own = compile_entries(entries, number, asks, ground)
            constraints += own[0]
            relations += own[1]
        return tuple(constraints), tuple(relations)
