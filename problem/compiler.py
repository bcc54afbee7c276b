"""Compile a question: the claims of one unit on one shape of node (section 6).

``DemandCompiler`` makes demands of resolved requests: which devices are candidates, on which of them a search ends with
an error, and which it must not meet. ``visible_attributes`` finds what a question reads of devices, from its claims and
their classes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from ..cel.devices import Path
from ..models.cluster.pools import COMPLETE, INCOMPLETE
from ..models.kubernetes.claims import DeviceClass, DeviceSelector, RequestSpec, ResourceClaim
from ..models.kubernetes.extensions import CallerConstraint, DeviceTopology, Entry, Predicate, annotated_entries
from ..models.kubernetes.gates import FeatureGates
from ..models.workload.requests import is_extended_claim, without_plugin_requests
from .conditions import EntryContext, compile_entries
from .constraints import ApplicableEntry, AttributeValueTable, entries_of_claim
from .filters import CONSTRAINT_ATTRIBUTE, UNLISTED_FILTERS, CandidateFilter, FilterContext, FilterFailures
from .messages import KUBE, STRICT, FatalError, Placeholder, check_deadline
from .problem import RESULT_LIMIT, Claim, Constraint, Demand, FilterFailure, Problem, Relation, Request, trap_error
from .requests import (
    ALL,
    ATTRIBUTES,
    EXACT_COUNT,
    Alternative,
    ResolvedRequest,
    VisibleAttributes,
    alternatives,
    resolve_request,
)
from .selectors import ExpressionError, ExpressionEvaluator
from .shapes import NodeType
from .topology import AxesFinder, TopologyPlaces, coordinate_names


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a unit asks for, without names. Equal ones are one object."""

    index: int
    claims: tuple[ResourceClaim, ...]
    visible: VisibleAttributes
    """What it looks at; shapes for it must be made with that in view."""


class Compiler:
    """Compiles questions of one cluster under one set of gates; remembers what it compiled, errors too.

    ``policy`` says what errors of expressions do: ``kube``, ``strict`` or ``skip``; ``caller_constraints`` are entries
    beside those of the claims. ``deadline`` is a reading of ``time.monotonic`` or None; passing it raises
    ``DeadlineExceededError``: a node may have very many devices.
    """

    deadline: float | None = None

    def __init__(
        self,
        classes: Mapping[str, DeviceClass],
        gates: FeatureGates,
        expressions: ExpressionEvaluator,
        policy: str,
        cel_encoding: str = "auto",
        topologies: Mapping[str, DeviceTopology] | None = None,
        caller_constraints: Sequence[CallerConstraint] = (),
        axes: AxesFinder | None = None,
    ) -> None:
        self.gates = gates
        self.cel_encoding = cel_encoding
        self.caller_constraints = caller_constraints
        self.expressions = expressions
        knows_node_operations = gates.variant == "experimental"
        self.demands = DemandCompiler(FilterContext(gates, expressions, knows_node_operations), policy)
        self.topologies = TopologyPlaces(topologies or {}, classes, axes=axes)
        self.classes = classes
        self._questions: dict[bytes, Question] = {}
        self._resolved: dict[int, list[ResolvedRequest]] = defaultdict(list)
        self._compiled: dict[tuple[int, int], Problem | FatalError] = {}

    def question(self, claims: Sequence[ResourceClaim]) -> Question:
        """Find what these claims ask for; equal specs are one question."""
        key = msgspec.msgpack.encode(
            [(claim.spec, annotated_entries(claim.metadata), is_extended_claim(claim)) for claim in claims]
        )
        question = self._questions.get(key)
        if question is None:
            question = self._questions[key] = Question(len(self._questions), tuple(claims), self.visible(claims))
        return question

    def visible(self, claims: Sequence[ResourceClaim], entries: Sequence[Entry] = ()) -> VisibleAttributes:
        """Tell what these claims look at, and entries beside their own."""
        return visible_attributes(
            claims, (*entries, *self.caller_constraints), self.classes, self.expressions, self.topologies
        )

    def entry_context(self, shape: NodeType, topologies: TopologyPlaces | None = None) -> EntryContext:
        """Return what entries are compiled against on this shape, with places of its own if they are given."""
        values = AttributeValueTable(shape.profiles, self.gates.list_attributes, self.expressions)
        aborting = self.demands.policy == KUBE
        return EntryContext(shape, values, self.expressions, self.cel_encoding, aborting, topologies or self.topologies)

    def problem(self, question: Question, shape: NodeType) -> Problem:
        """Compile a question for nodes of this shape. Raises ``FatalError`` (section 6), each time anew."""
        question = self._asked_on(question, shape)
        key = question.index, shape.index
        if key not in self._compiled:
            try:
                self._compiled[key] = _QuestionCompiler(self, question, shape).run()
            except FatalError as error:
                self._compiled[key] = error
        found = self._compiled[key]
        if isinstance(found, FatalError):
            raise found
        return found

    def resolved_requests(self, question: Question, shape: NodeType) -> Sequence[ResolvedRequest]:
        """List the resolved requests of a question that was compiled, numbered like the demands of its problem."""
        return self._resolved[self._asked_on(question, shape).index]

    def _asked_on(self, question: Question, shape: NodeType) -> Question:
        """Leave out the requests for extended resources that device plugins of the node provide (KEP-5004)."""
        if not shape.plugin_classes:
            return question
        claims = [without_plugin_requests(claim, shape.plugin_classes) for claim in question.claims]
        return self.question(claims) if claims != list(question.claims) else question

    def resolved_request(
        self, question: Question, number: int, claim: int, request: str, alternative: Alternative
    ) -> ResolvedRequest:
        """Resolve the ask of this number; one object for all shapes. Raises ``FatalError`` (PRE-3 to PRE-6)."""
        known = self._resolved[question.index]
        if number == len(known):
            known.append(resolve_request(claim, request, alternative, self.classes, self.gates))
        return known[number]


class _QuestionCompiler:
    """One question on one shape. Claims are checked in order, their requests first (section 6)."""

    def __init__(self, compiler: Compiler, question: Question, shape: NodeType) -> None:
        self._compiler = compiler
        self._question = question
        self._shape = shape
        self._demands: list[Demand] = []
        self._resolved: list[ResolvedRequest] = []
        self._entries: list[tuple[ApplicableEntry, ...]] = []

    def run(self) -> Problem:
        compiler, shape = self._compiler, self._shape
        claims = tuple(self._claim(number) for number in range(len(self._question.claims)))
        constraints, relations = self._compile_all_entries()
        policy = compiler.demands.policy
        return Problem(
            len(shape.profiles),
            claims,
            tuple(with_constraints(demand, constraints, policy) for demand in self._demands),
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
        claim, compiler = self._question.claims[number], self._compiler
        requests: list[Request] = []
        accounted = 0
        for entry in claim.spec.devices.requests or ():
            parts = alternatives(number, entry, compiler.gates)
            demands = tuple(self._demand(number, entry.name, part) for part in parts)
            requests.append(Request(entry.name, entry.exactly is None, demands))
            accounted += self._needed(number, entry.name, demands, accounted)
        self._entries.append(entries_of_claim(number, claim, compiler.caller_constraints, compiler.gates))
        return Claim(tuple(requests))

    def _demand(self, claim: int, request: str, alternative: Alternative) -> int:
        index = len(self._demands)
        ask = self._compiler.resolved_request(self._question, index, claim, request, alternative)
        self._demands.append(self._compiler.demands.demand(ask, index, self._shape))
        self._resolved.append(ask)
        check_deadline(self._compiler.deadline)
        return index

    def _needed(self, claim: int, request: str, demands: Sequence[int], accounted: int) -> int:
        """Count what a request needs at least. Raises ``FatalError`` if the claim cannot have that many (PRE-11)."""
        needed = min((self._demands[demand].count for demand in demands), default=0)
        if accounted + needed > RESULT_LIMIT:
            problem = f"adding {needed} devices exceeds the claim limit of {RESULT_LIMIT}"
            text = f", request {request}: {problem}, with {accounted} already accounted for"
            raise FatalError("devicesPerClaim", ("claim ", Placeholder.CLAIM, text), claim=claim)
        return needed

    def _compile_all_entries(self) -> tuple[tuple[Constraint, ...], tuple[Relation, ...]]:
        context = self._compiler.entry_context(self._shape)
        constraints: list[Constraint] = []
        relations: list[Relation] = []
        for number, entries in enumerate(self._entries):
            requests = [(index, request) for index, request in enumerate(self._resolved) if request.claim == number]
            own = compile_entries(entries, number, requests, context)
            constraints += own[0]
            relations += own[1]
        return tuple(constraints), tuple(relations)


class DemandCompiler:
    """Makes demands of resolved requests: candidates are what passes all filters, or what All means."""

    def __init__(self, context: FilterContext, policy: str) -> None:
        self.policy = policy
        self._filter = CandidateFilter(context, policy)

    def demand(self, ask: ResolvedRequest, index: int, shape: NodeType) -> Demand:
        """Compile an ask, but for its constraints. Raises ``FatalError`` (PRE-7, PRE-8, PRE-10, CEL-6)."""
        mode = ask.spec.allocation_mode
        if mode not in (EXACT_COUNT, ALL):
            raise FatalError("request", _request_message(ask, f"unsupported count mode {mode}"), claim=ask.claim)
        result = self._filter.result(ask, shape)
        demand = Demand(
            index,
            ask.claim,
            ask.request,
            ask.subrequest,
            ask.spec.device_class_name,
            ask.spec.count or 0,
            mode == ALL,
            ask.admin,
            candidates=result.passing,
            error_devices=result.error_devices,
            failures=result.failures,
            amounts=result.amounts,
        )
        return self._list_all(demand, ask, shape) if mode == ALL else demand

    def _list_all(self, demand: Demand, ask: ResolvedRequest, shape: NodeType) -> Demand:
        """List what All means: everything selectable, whether it can be taken or not (PRE-8, PRE-9).

        Pools are walked in order, and the first that is not complete is an error.
        """
        listed: list[int] = []
        first = 0
        for number, pool in enumerate(shape.pools):
            if pool.status != COMPLETE:
                state = "being updated" if pool.status == INCOMPLETE else "invalid"
                message = _request_message(
                    ask, "asks for all devices, but resource pool ", Placeholder.POOL, f" is currently {state}"
                )
                raise FatalError("pool", message, claim=ask.claim, pool=number)
            devices = range(first, first + len(pool.profiles))
            listed += [device for device in devices if self._is_listed(demand, device)]
            first = devices.stop
        barred = frozenset(device for device in listed if demand.failures[device])
        return replace(demand, count=len(listed), candidates=tuple(listed), error_devices={}, untakeable=barred)

    def _is_listed(self, demand: Demand, device: int) -> bool:
        failed = demand.failures[device]
        unlisted = next((failure for failure in failed if failure.filter in UNLISTED_FILTERS), None)
        if unlisted is None:
            return True
        if self._filter.is_fatal(unlisted):
            raise trap_error(unlisted, demand.claim, device)
        # A device whose test went wrong may be one that is meant, so All cannot do without it.
        return bool(unlisted.error) and self.policy == STRICT


def _request_message(ask: ResolvedRequest, *parts: str | Placeholder) -> tuple[str | Placeholder, ...]:
    return ("claim ", Placeholder.CLAIM, f", request {ask.own_name}: ", *parts)


def with_constraints(demand: Demand, constraints: Sequence[Constraint], policy: str) -> Demand:
    """Link a demand to the constraints that apply to it, and note candidates without a usable value (CON-3).

    ``constraints`` are all of the problem. Under ``kube`` an error of a derived attribute waits for the search to
    meet it, so that it stays where it is; otherwise the candidate is out.
    """
    own = tuple(number for number, constraint in enumerate(constraints) if demand.index in constraint.tokens)
    if not own:
        return demand
    if all(constraints[number].tokens[demand.index].keys() >= set(demand.candidates) for number in own):
        return replace(demand, constraints=own)
    found = {device: _missing_value_failures(device, demand.index, constraints, own) for device in demand.candidates}
    lacking = {device: extra for device, extra in found.items() if extra}
    known = enumerate(demand.failures)
    merged = tuple((*failed, *lacking.get(device, ())) for device, failed in known)
    linked = replace(demand, constraints=own, failures=merged)
    if policy == KUBE and any(failure.error for extra in lacking.values() for failure in extra):
        return linked
    if not demand.all_devices:
        usable = (device for device in demand.candidates if device not in lacking or device in demand.error_devices)
        return replace(linked, candidates=tuple(usable))
    failing = {device for device, extra in lacking.items() if any(failure.error for failure in extra)}
    return replace(linked, untakeable=demand.untakeable | failing)


def _missing_value_failures(
    device: int, demand: int, constraints: Sequence[Constraint], own: Iterable[int]
) -> FilterFailures:
    """List the constraints for which the device has no value."""
    lacking = (constraints[number] for number in own if device not in constraints[number].tokens[demand])
    return tuple(
        constraint.errors.get(demand, {}).get(device) or FilterFailure(CONSTRAINT_ATTRIBUTE, constraint.lack)
        for constraint in lacking
    )


def visible_attributes(
    claims: Iterable[ResourceClaim],
    entries: Iterable[CallerConstraint],
    classes: Mapping[str, DeviceClass],
    expressions: ExpressionEvaluator,
    topologies: TopologyPlaces,
) -> VisibleAttributes:
    """Find all that these claims could look at, in alternatives that nobody needs too, and entries beside their own."""
    paths: set[Path] = set()
    names: set[str] = set()
    coordinates: set[str] = set()
    claims = list(claims)
    given = list(entries)
    if any(isinstance(entry, Predicate) for entry in given):
        paths.add(())
    own = [entry for entry in given if isinstance(entry, Entry)]
    added = [*own, *(entry for claim in claims for entry in annotated_entries(claim.metadata))]
    for entry in (*(entry for claim in claims for entry in claim.spec.devices.constraints or ()), *added):
        names.update(filter(None, (entry.match_attribute, entry.distinct_attribute)))
        expression = expressions.device_set(entry.cel.expression) if entry.cel else None
        # One that does not compile looks at nothing.
        if expression is not None and not isinstance(expression, ExpressionError):
            paths |= expression.reads
    for entry in added:
        topology = topologies.topologies.get(entry.topology.name) if entry.topology else None
        if topology is not None:
            coordinates.update(coordinate_names(topology))
            paths.update(*(expressions.reads(_selector_text(one)) for one in topologies.selectors(topology)))
    for claim in claims:
        for spec in _request_specs(claim):
            known = classes.get(spec.device_class_name)
            for selector in (*((known.spec.selectors if known else None) or ()), *(spec.selectors or ())):
                paths |= expressions.reads(_selector_text(selector))
            for derived in spec.derived_attributes or ():
                paths |= expressions.derivation_reads(derived.expression)
    # What begins with another path adds nothing: equal sets then share a projection more often.
    shortest = (path for path in paths if not any(path[:length] in paths for length in range(len(path))))
    kept = frozenset(path for path in shortest if path[:1] in ((), (ATTRIBUTES,)))
    return VisibleAttributes(kept, frozenset(names), frozenset(coordinates))


def _request_specs(claim: ResourceClaim) -> Iterator[RequestSpec]:
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.exactly
        yield from request.first_available or ()


def _selector_text(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel else ""
