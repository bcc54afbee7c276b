"""Entries of claims: compiled to constraints that a search prunes with, or to relations (CON-1, CELC-3).

The conditions of relations: match and distinct entries that are soft or that a search cannot prune with, expressions
over ``devices`` (KEP-5254, CELC-2 to CELC-4), Python predicates, and what a pod leaves for its devices (NAR-6); that of
topologies has a module of its own. What a choice of devices costs by soft entries (SOFT-1, SOFT-2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate, combinations
from operator import and_, or_
from typing import TYPE_CHECKING, cast

from ..models.kubernetes.extensions import Predicate, TopologyRequest, chosen_device
from ..models.topology.places import TopologyError, shape_mismatch
from .constraints import (
    INCOMPARABLE,
    ApplicableEntry,
    AttributeConstraintKind,
    AttributeValueTable,
    EntryKind,
    compile_constraint,
    entry_applies,
    has_first_only_values,
)
from .messages import FatalError, Message, Placeholder
from .problem import Amounts, Constraint, Member, Problem, Relation, RelationCondition, RelationError
from .requests import ResolvedRequest
from .selectors import ExpressionError, ExpressionEvaluator
from .shapes import NodeType, Profile
from .topology import TopologyCondition, TopologyPlaces

if TYPE_CHECKING:
    from ..cel.devices import PreparedDevice
    from ..cel.selector import DeviceSetExpression


@dataclass(frozen=True, slots=True)
class TokenCondition:
    """The condition of an entry; a device without a value violates it (CON-3)."""

    constraint: Constraint

    @property
    def ordered(self) -> bool:
        """Order matters where a list among scalars may only come first (CON-9)."""
        return has_first_only_values(self.constraint)

    def visible_key(self, device: int) -> Hashable:
        """Return its value for each demand, and where it is an error."""
        values = tuple(tokens.get(device) for tokens in self.constraint.tokens.values())
        return values, tuple(demand for demand, failures in self.constraint.errors.items() if device in failures)

    def demand_key(self, demand: int) -> Hashable:
        """Return all values as this demand has them: derived attributes are its own (CON-12)."""
        return tuple(self.constraint.tokens[demand].items()), frozenset(self.constraint.errors.get(demand, ()))

    def evaluate(self, members: Sequence[Member]) -> bool | RelationError:
        """Compare the values of all members; a derived attribute that cannot be computed is trouble (CON-12)."""
        for demand, device in members:
            failure = self.constraint.errors.get(demand, {}).get(device)
            if failure is not None:
                return RelationError(("claim ", Placeholder.CLAIM, f", {self.constraint.kind}: {failure.detail}"))
        tokens = self.constraint.tokens
        values = [tokens[demand].get(device) for demand, device in members]
        found = [value for value in values if value is not None]
        return len(found) == len(values) and values_satisfy(self.constraint, found)

    def renumbered(self, demands: Mapping[int, int]) -> TokenCondition:
        """Return the condition on the same values under the new numbers."""
        return TokenCondition(self.constraint.renumbered(0, demands))


def _disjoint(values: Sequence[int], _least: int) -> bool:
    before = accumulate(values, or_)
    return all(values) and not any(taken & value for taken, value in zip(before, values[1:], strict=False))


# By kind, sets and overlap of the entry.
_VALUE_RULES: dict[tuple[str, bool, bool], Callable[[Sequence[int], int], bool]] = {
    ("matchAttribute", False, False): lambda values, _least: (
        len(values) == 1 or (len(set(values)) == 1 and values[0] != INCOMPARABLE)
    ),
    ("matchAttribute", True, False): lambda values, least: reduce(and_, values).bit_count() >= least,
    ("distinctAttribute", False, False): lambda values, _least: (
        len(set(values)) == len(values) and INCOMPARABLE not in values[1:]
    ),
    ("distinctAttribute", True, False): _disjoint,
    ("distinctAttribute", True, True): lambda values, _least: not reduce(and_, values),
}


def values_satisfy(constraint: Constraint, values: Sequence[int]) -> bool:
    """Tell whether these values, in result order and one at least, are what an entry requests for."""
    rule = _VALUE_RULES[constraint.kind, constraint.sets, constraint.overlap]
    return rule(values, constraint.min_size)


def pruning_constraint(relation: Relation) -> Constraint | None:
    """Return the entry of a relation that a search can prune with: what fails for a set fails for all larger ones."""
    condition = relation.condition
    if not relation.hard or not isinstance(condition, TokenCondition):
        return None
    constraint = condition.constraint
    return None if constraint.overlap or any(constraint.errors.values()) else constraint


@dataclass(frozen=True, slots=True, eq=False)
class CelCondition:
    """An expression, and what each device of the Problem looks like to it.

    ``ordered``: the order of devices can matter, as to some expressions always, and to others where devices do not
    agree in the types of what is read (CELC-7). ``encoding`` is how a model is to take it: ``auto``, ``lower``,
    ``table`` or ``lazy`` (CELC-9). ``subject`` begins the text of an error.
    """

    expression: DeviceSetExpression
    profiles: tuple[Profile, ...]
    expressions: ExpressionEvaluator
    ordered: bool
    encoding: str
    subject: Message

    def prepared(self, device: int) -> PreparedDevice:
        """Return the device as expressions see it."""
        return self.expressions.prepared(self.profiles[device])

    def visible_key(self, device: int) -> Hashable:
        """Return what the expression reads of a device, all of it if it compares devices."""
        return self.expressions.device_set_key(self.expression, self.profiles[device])

    def demand_key(self, demand: int) -> Hashable:
        """Return nothing: an expression does not know which request a device is for."""
        return None

    def evaluate(self, members: Sequence[Member]) -> bool | RelationError:
        """Evaluate the expression on the devices, in result order."""
        profiles = [self.profiles[device] for _, device in members]
        found = self.expressions.evaluate_device_set(self.expression, profiles, ordered=self.ordered)
        if isinstance(found, ExpressionError):
            return RelationError((*self.subject, f": CEL runtime error: {found.text}"))
        return found

    def renumbered(self, demands: Mapping[int, int]) -> CelCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class PredicateCondition:
    """A predicate, and what each device of the Problem looks like to it."""

    predicate: Predicate
    profiles: tuple[Profile, ...]
    ordered: bool = False
    _known: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def visible_key(self, device: int) -> Hashable:
        """Return all that is published of the device."""
        return self.profiles[device].index

    def demand_key(self, demand: int) -> Hashable:
        """Return nothing: a predicate does not know which request a device is for."""
        return None

    def evaluate(self, members: Sequence[Member]) -> bool:
        """Ask the predicate, once for devices that look alike. Raises ``PredicateError``."""
        profiles = [self.profiles[device] for _, device in members]
        key = tuple(sorted(profile.index for profile in profiles))
        if key not in self._known:
            devices = [chosen_device(profile.driver, profile.device) for profile in profiles]
            self._known[key] = self.predicate.holds(devices)
        return self._known[key]

    def renumbered(self, demands: Mapping[int, int]) -> PredicateCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class NodeLimitCondition:
    """What a pod's own requests and limits leave for its devices (NAR-6), in billionths.

    ``draws`` is by demand and device what a device takes of each limit, by the number of the limit.
    """

    draws: Mapping[int, Mapping[int, Amounts]]
    limits: tuple[int, ...]

    @property
    def ordered(self) -> bool:
        """Which request a device is for matters where it takes more for one of them than for another."""
        devices = {device for own in self.draws.values() for device in own}
        return any(len({own[one] for own in self.draws.values() if one in own}) > 1 for one in devices)

    def visible_key(self, device: int) -> Hashable:
        """Return what the device takes for each request."""
        return tuple(own.get(device) for own in self.draws.values())

    def demand_key(self, demand: int) -> Hashable:
        """Return what devices take for this request."""
        return tuple(sorted(self.draws[demand].items()))

    def evaluate(self, members: Sequence[Member]) -> bool:
        """Add up what the devices take."""
        left = list(self.limits)
        for demand, device in members:
            for number, amount in self.draws[demand].get(device, ()):
                left[number] -= amount
        return all(amount >= 0 for amount in left)

    def renumbered(self, demands: Mapping[int, int]) -> NodeLimitCondition:
        """Return the condition on the same devices under the new numbers."""
        return replace(self, draws={demands[number]: own for number, own in self.draws.items() if number in demands})


def penalty(relation: Relation, members: Sequence[Member]) -> int:
    """Return what a soft relation costs: its weight if it does not hold, or its weight for each pair that fails it.

    What cannot be judged for an error does not hold. ``members`` are all devices that were chosen.
    """
    weight = relation.weight or 0
    if not relation.per_pair:
        return 0 if relation.verdict(members) is True else weight
    covered = sorted(member for member in members if member[0] in relation.demands)
    return weight * sum(relation.condition.evaluate(pair) is not True for pair in combinations(covered, 2))


def has_no_penalty(problem: Problem, members: Sequence[Member]) -> bool:
    """Tell whether nothing is to be paid at all."""
    return not any(penalty(relation, members) for relation in problem.soft_relations)


NumberedRequests = Sequence[tuple[int, ResolvedRequest]]
"""Asks with the numbers of their demands."""


@dataclass(frozen=True, slots=True)
class EntryContext:
    """What entries are compiled against: the devices of a shape, their values, and who evaluates expressions.

    ``errors_abort``: a run-time error is the end of the allocation (policy ``kube``, CELC-4).
    """

    shape: NodeType
    values: AttributeValueTable
    expressions: ExpressionEvaluator
    cel_encoding: str
    errors_abort: bool
    topologies: TopologyPlaces


def compile_entries(
    entries: Iterable[ApplicableEntry], claim: int, requests: NumberedRequests, context: EntryContext
) -> tuple[list[Constraint], list[Relation]]:
    """Compile the entries of a claim. Raises ``FatalError``."""
    constraints: list[Constraint] = []
    relations: list[Relation] = []
    for applicable in entries:
        covered = [
            (index, ask) for index, ask in requests if entry_applies(applicable.entry, ask.request, ask.subrequest)
        ]
        made = _COMPILERS[applicable.kind](applicable, claim, covered, context)
        if isinstance(made, Constraint):
            constraints.append(made)
        else:
            relations.append(made)
    return constraints, relations


def compile_spanning_entry(
    applicable: ApplicableEntry, claims: tuple[int, ...], requests: NumberedRequests, context: EntryContext
) -> Relation:
    """Compile an entry that spans claims, on the requests that it applies to. Raises ``FatalError``."""
    made = _COMPILERS[applicable.kind](applicable, claims[0], requests, context)
    if isinstance(made, Constraint):
        made = _make_relation(applicable, claims[0], requests, TokenCondition(made), context)
    return replace(made, claims=claims)


def _attribute_compiler(
    kind: AttributeConstraintKind,
) -> Callable[[ApplicableEntry, int, NumberedRequests, EntryContext], Constraint | Relation]:
    def compile_(
        applicable: ApplicableEntry, claim: int, requests: NumberedRequests, context: EntryContext
    ) -> Constraint | Relation:
        constraint = compile_constraint(applicable, kind, claim, requests, context.values)
        if applicable.entry.weight is None and not constraint.overlap:
            return constraint
        return _make_relation(applicable, claim, requests, TokenCondition(constraint), context)

    return compile_


def _compile_cel(
    applicable: ApplicableEntry, claim: int, requests: NumberedRequests, context: EntryContext
) -> Relation:
    subject = ("claim ", Placeholder.CLAIM, f", {applicable.label}")
    text = applicable.entry.cel.expression if applicable.entry.cel else ""
    expression = context.expressions.device_set(text)
    if isinstance(expression, ExpressionError):
        raise FatalError("cel", (*subject, f": CEL compile error: {expression.text}"), claim=claim)
    profiles = context.shape.profiles
    prepared = (context.expressions.prepared(profile) for profile in dict.fromkeys(profiles))
    ordered = expression.is_order_sensitive or expression.is_order_sensitive_among(prepared)
    condition = CelCondition(expression, profiles, context.expressions, ordered, context.cel_encoding, subject)
    return _make_relation(applicable, claim, requests, condition, context)


def _compile_topology(
    applicable: ApplicableEntry, claim: int, requests: NumberedRequests, context: EntryContext
) -> Relation:
    ask = applicable.entry.topology or TopologyRequest()
    topology = context.topologies.topologies.get(ask.name)
    problem = shape_mismatch(ask, topology.spec) if topology else f"there is no DeviceTopology {ask.name}"
    if topology is None or problem:
        raise FatalError("topology", ("claim ", Placeholder.CLAIM, f", {applicable.label}: {problem}"), claim=claim)
    try:
        condition = TopologyCondition(ask, context.topologies.of(topology, context.shape))
    except TopologyError as error:
        raise _topology_position_error(applicable, claim, error) from None
    return _make_relation(applicable, claim, requests, condition, context)


def _topology_position_error(applicable: ApplicableEntry, claim: int, error: TopologyError) -> FatalError:
    """Say that devices contradict their topology; whoever validates the input has named them (TOPO-3)."""
    start = ("claim ", Placeholder.CLAIM, f", {applicable.label}: ")
    if not isinstance(error.device, int):
        return FatalError("topology", (*start, str(error)), claim=claim)
    return FatalError(
        "topology", (*start, "no place for device ", Placeholder.DEVICE), claim=claim, device=error.device
    )


def _compile_predicate(
    applicable: ApplicableEntry, claim: int, requests: NumberedRequests, context: EntryContext
) -> Relation:
    condition = PredicateCondition(cast("Predicate", applicable.predicate), context.shape.profiles)
    return _make_relation(applicable, claim, requests, condition, context)


def _make_relation(
    applicable: ApplicableEntry,
    claim: int,
    requests: NumberedRequests,
    condition: RelationCondition,
    context: EntryContext,
) -> Relation:
    demands = frozenset(index for index, _ in requests)
    per_pair = applicable.entry.per == "Pair"
    entry = applicable.entry
    return Relation(
        applicable.kind,
        (claim,),
        applicable.position,
        applicable.label,
        demands,
        condition,
        entry.weight,
        per_pair,
        fatal=context.errors_abort,
    )


_COMPILERS: dict[EntryKind, Callable[[ApplicableEntry, int, NumberedRequests, EntryContext], Constraint | Relation]] = {
    "matchAttribute": _attribute_compiler("matchAttribute"),
    "distinctAttribute": _attribute_compiler("distinctAttribute"),
    "cel": _compile_cel,
    "topology": _compile_topology,
    "predicate": _compile_predicate,
}
