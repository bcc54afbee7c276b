"""The CP-SAT model of one question: what each alternative takes of each symmetry class, and which are chosen.

An ``Encoder`` is a joint rule with a stable id, what it sees of a device, and the rows it posts. ``OptionalUnits`` are
units that may be left out: the model counts how many of several equal ones are served. ``post_configurations`` serves
units whose entries no count can say: all that one copy could take is listed, and the model counts how many copies take
each configuration. These are the patterns of a cutting-stock problem (Gilmore & Gomory, 1961): equal copies have no
order among them, where copies side by side have as many as there are permutations. The ``justify`` functions make the
sentence of each kind of reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from ..models.formats.errors import plural
from ..problem.messages import Justification, Placeholder, check_deadline
from ..problem.obstacles import Obstacle
from ..problem.problem import Constraint, Problem, Relation
from . import symmetry
from .expressions.posting import OrderLiterals
from .rows import CpSatRows, Term


class EncodingError(Exception):
    """A relation cannot be written in the way that was asked for (CELC-9)."""


@dataclass(frozen=True, slots=True)
class LazyConstraint:
    """A relation whose complete sets are judged one by one, wherever ``guard`` is true; None: always.

    ``order`` has literals for how many devices of each item it takes, an item being symmetry classes that it cannot
    tell apart. ``antimonotone``: what fails for a set fails for every larger one (CELC-10). ``failing`` makes all
    vectors of counts that fail, where they are few enough to be judged beforehand.
    """

    relation: symmetry.MergedRelation
    order: OrderLiterals
    guard: int | None
    antimonotone: bool = False
    failing: Callable[[], Iterable[tuple[int, ...]]] | None = None


PlacementLiteral = tuple[int, tuple[int, ...]]
"""A literal, and devices by their numbers in the Problem."""


class AllocationModel:
    """Variables, and the rows that encoders post.

    ``takes[alternative, class_]`` is the variable for the number of devices of the symmetry class that the alternative
    takes. ``choices`` has for each alternative of a list request the variable for the number of copies served by it,
    and None for other alternatives. ``lazy_constraints`` are relations without rows: solutions that violate them are
    forbidden (CELC-9). ``cel_encodings`` has the encoding of each expression over devices. ``excludes_errors``: some
    sets of devices may be excluded for an error alone (CELC-4). ``units`` are the copies of units that may be left out,
    ``configured_units`` those that are served by listed configurations. ``dealt_placements`` has by alternative the
    devices that one of several equal claims gets if their literal is true. With ``guarded`` every justified row holds
    only while its literal in ``guards`` is true, for explanations.
    """

    def __init__(self, reduced: symmetry.SymmetryReducedProblem, *, guarded: bool = False) -> None:
        self.reduced = reduced
        self.rows = CpSatRows()
        self.guards: dict[Justification, int] = {}
        self._guarded = guarded
        self._used: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self.lazy_constraints: list[LazyConstraint] = []
        self.cel_encodings: list[str] = []
        self.excludes_errors = False
        self.dealt_placements: dict[int, list[PlacementLiteral]] = {}
        self.units = OptionalUnits(self.rows, self.merged.units)
        self.configured_units: list[ConfiguredUnit] = []
        self.choices = [
            self.rows.integer(0, alternative.copies) if self.merged.requests[alternative.request].listed else None
            for alternative in self.merged.alternatives
        ]
        self.takes = dict(self._takes())

    @property
    def merged(self) -> symmetry.MergedProblem:
        """Requests and alternatives."""
        return self.reduced.merged

    def _takes(self) -> Iterator[tuple[tuple[int, int], int]]:
        shared = self.merged.problem.shared
        # A shareable device goes to each copy at most once, as a request takes a device once (DEV-13).
        sizes = [0 if class_.representative in shared else class_.size for class_ in self.reduced.classes]
        for alternative in self.merged.alternatives:
            # With guards a request may be let go, and then takes as many as it likes.
            needed = self.merged.problem.size if self._guarded else alternative.copies * alternative.count
            for class_ in self.reduced.classes_of[alternative.index]:
                most = min(sizes[class_], needed) if sizes[class_] else alternative.copies
                yield (alternative.index, class_), self.rows.integer(0, most)

    def used(self, class_: symmetry.SymmetryClass) -> int:
        """Return the literal that says that anything of a symmetry class is taken."""
        literal = self._used.get(class_.index)
        if literal is None:
            terms = [(self.takes[alternative, class_.index], 1) for alternative in class_.alternatives]
            literal = self._used[class_.index] = self.any_positive(terms)
        return literal

    def any_positive(self, terms: Iterable[Term]) -> int:
        """Return a new literal that is true if any of these terms, none of them negative, is above 0."""
        literal = self.rows.boolean()
        self.post_implied(terms, literal)
        return literal

    def post_implied(self, terms: Iterable[Term], literal: int) -> None:
        """Post that the literal is true if any of these terms, none of them negative, is above 0."""
        for variable, coefficient in terms:
            most = self.rows.range_of(variable)[1]
            self.rows.at_most([(variable, coefficient), (literal, -coefficient * most)], 0)

    @property
    def guarded(self) -> bool:
        """Whether justified rows can be let go."""
        return self._guarded

    def guard(self, justification: Justification) -> int | None:
        """Return the literal under which a row holds, None if all rows hold always."""
        if not self._guarded:
            return None
        literal = self.guards.get(justification)
        if literal is None:
            literal = self.guards[justification] = self.rows.boolean()
        return literal

    def soft_literal(self, relation: symmetry.MergedRelation) -> int:
        """Return the literal that says that a soft relation holds; it may be false although it does."""
        literal = self._kept.get(relation.index)
        if literal is None:
            literal = self._kept[relation.index] = self.rows.boolean()
        return literal

    def enforcement_literal(self, relation: symmetry.MergedRelation) -> int | None:
        """Return the literal under which the rows of a relation hold, None if they hold always."""
        return self.guard(justify_relation(relation)) if relation.record.hard else self.soft_literal(relation)

    def add_lazy_constraint(
        self,
        relation: symmetry.MergedRelation,
        counts: Sequence[Sequence[Term]],
        *,
        antimonotone: bool = False,
        failing: Callable[[], Iterable[tuple[int, ...]]] | None = None,
    ) -> None:
        """Leave a relation to the one who looks at solutions, and notes errors of those that are judged at all."""
        order = OrderLiterals(self.rows, counts)
        self.lazy_constraints.append(
            LazyConstraint(relation, order, self.enforcement_literal(relation), antimonotone, failing)
        )
        self.excludes_errors |= antimonotone

    def taken(self, alternative: int, coefficient: int = 1, classes: Iterable[int] | None = None) -> list[Term]:
        """Terms for what an alternative takes, of some symmetry classes or of all."""
        chosen = self.reduced.classes_of[alternative] if classes is None else classes
        return [(self.takes[alternative, class_], coefficient) for class_ in chosen]

    def certain_count(self, alternative: int) -> int:
        """Return how many devices an alternative takes whatever is chosen; 0 if that depends."""
        if self._guarded or self.choices[alternative] is not None or self.optional(alternative):
            return 0
        return self.merged.alternatives[alternative].copies * self.merged.alternatives[alternative].count

    def optional(self, alternative: int) -> bool:
        """Tell whether the claims that an alternative belongs to may be left out."""
        return self.merged.claim_of(self.merged.alternatives[alternative]) in self.units

    def claims_served(self, alternative: symmetry.MergedAlternative) -> CountExpression:
        """Return how many of the claims that an alternative belongs to are served."""
        return self.units.served(self.merged.requests[alternative.request].claims)

    def served_request_copies(self, alternative: symmetry.MergedAlternative) -> CountExpression:
        """Return how many copies of the alternative's request are served, by this alternative or another one."""
        return self.claims_served(alternative).scaled(alternative.per_claim)

    def served_copies(self, alternative: symmetry.MergedAlternative) -> CountExpression:
        """Return how many copies the alternative serves."""
        choice = self.choices[alternative.index]
        return self.served_request_copies(alternative) if choice is None else CountExpression(0, ((choice, 1),))

    def post_served_multiple(
        self, alternative: symmetry.MergedAlternative, terms: Sequence[Term], factor: int, guard: int | None
    ) -> None:
        """Post ``sum(terms) == factor * copies that the alternative serves``."""
        served = self.served_copies(alternative)
        # What an alternative serves is chosen, and only the choice can be let go.
        held = guard if self.choices[alternative.index] is None else None
        self.rows.equal([*terms, *served.times(-factor)], factor * served.constant, held)


def build_model(
    reduced: symmetry.SymmetryReducedProblem,
    encoders: Sequence[Encoder],
    *,
    guarded: bool = False,
    deadline: float | None = None,
) -> AllocationModel:
    """Let every encoder post its rows. Raises ``CoefficientError``, and ``DeadlineExceededError`` once it is over.

    ``deadline`` is a reading of ``time.monotonic``.
    """
    model = AllocationModel(reduced, guarded=guarded)
    model.rows.deadline = deadline
    for encoder in encoders:
        check_deadline(deadline)
        encoder.post(model)
    # What is added to a finished model must not lose a solution that it has.
    model.rows.deadline = None
    return model


@dataclass(frozen=True, slots=True)
class Encoder:
    """A joint rule. The same ``id`` appears in explanations, in result documents and in the docs.

    ``post`` adds the rows. ``sign`` returns what the rule sees of a device, None if it tells none apart in this
    problem; a device that must be spoken of alone signs with its own number. ``sees`` says the same in words, for
    readers: what the rule adds to the signature of a symmetry class; nothing for a rule that only counts.
    """

    id: str
    description: str
    post: Callable[[AllocationModel], None]
    sign: Callable[[symmetry.MergedProblem], symmetry.Signature | None] = symmetry.no_signature
    sees: str = ""


TakeKey: TypeAlias = tuple[int, int]
"""An alternative and a symmetry class: what takes, and from where."""
Configuration: TypeAlias = tuple[tuple[TakeKey, int], ...]
"""All that one copy of a unit takes: how many devices for each alternative from each symmetry class."""


@dataclass(frozen=True, slots=True)
class ConfiguredUnit:
    """A unit with variables for how many copies take each configuration; ``copies`` is how many there could be."""

    alternatives: tuple[int, ...]
    copies: int
    choices: tuple[tuple[int, Configuration], ...]


def post_configurations(
    model: AllocationModel, number: int, configurations: Sequence[Configuration]
) -> tuple[int, ...]:
    """Let every served copy of a unit take one of its configurations, and nothing else; return who counts each."""
    rows, copies = model.rows, len(model.merged.units[number].claims)
    claims = {claim for own in model.merged.units[number].claims for claim in own}
    alternatives = tuple(one.index for one in model.merged.alternatives if model.merged.claim_of(one) in claims)
    choices = tuple((rows.integer(0, copies), configuration) for configuration in configurations)
    rows.equal([*((variable, 1) for variable, _ in choices), (model.units.placed[number], -1)], 0)
    takers: Mapping[TakeKey, list[Term]] = defaultdict(list)
    for variable, configuration in choices:
        for place, count in configuration:
            takers[place].append((variable, -count))
    for alternative in alternatives:
        for class_ in model.reduced.classes_of[alternative]:
            rows.equal([(model.takes[alternative, class_], 1), *takers[alternative, class_]], 0)
    model.configured_units.append(ConfiguredUnit(alternatives, copies, choices))
    return tuple(variable for variable, _ in choices)


@dataclass(frozen=True, slots=True)
class CountExpression:
    """A number that may depend on what is chosen: a constant and terms that add to it."""

    constant: int
    terms: tuple[Term, ...] = ()

    def times(self, factor: int) -> list[Term]:
        """Return the terms, multiplied."""
        return [(variable, coefficient * factor) for variable, coefficient in self.terms]

    def scaled(self, factor: int) -> CountExpression:
        """Return so many times the number."""
        return self if factor == 1 else CountExpression(self.constant * factor, tuple(self.times(factor)))


class OptionalUnits:
    """Variables for how many copies of each unit are served; ``placed`` has one for each unit.

    Equal claims that are merged only need the number. Where claims of a unit stay alone, a literal a copy says whether
    it is served; copies are equal, so that the first ones are.
    """

    def __init__(self, rows: CpSatRows, units: Sequence[symmetry.UnitCopies]) -> None:
        self.placed = [rows.integer(0, len(unit.claims)) for unit in units]
        self._rows = rows
        self._units = units
        self._copy_of = {
            claim: (number, copy)
            for number, unit in enumerate(units)
            for copy, claims in enumerate(unit.claims)
            for claim in claims
        }
        self._literals: dict[int, list[int]] = {}

    def __contains__(self, claim: int) -> bool:
        return claim in self._copy_of

    def same_unit(self, one: int, other: int) -> bool:
        """Tell whether two claims are of one unit; those that must be served are."""
        return self._copy_of.get(one) == self._copy_of.get(other)

    def served(self, claims: Sequence[int]) -> CountExpression:
        """Return how many of these claims are served."""
        if not self._units:
            return CountExpression(len(claims))
        copies = Counter(self._copy_of[claim] for claim in claims if claim in self._copy_of)
        by_unit: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (unit, copy), times in copies.items():
            by_unit[unit].append((copy, times))
        terms = [term for unit, own in by_unit.items() for term in self._of_unit(unit, own)]
        return CountExpression(len(claims) - copies.total(), tuple(terms))

    def _of_unit(self, unit: int, copies: Sequence[tuple[int, int]]) -> list[Term]:
        """Count by the number of copies if all have equally many of the claims, else copy by copy."""
        times = {number for _, number in copies}
        if len(copies) == len(self._units[unit].claims) and len(times) == 1:
            return [(self.placed[unit], times.pop())]
        literals = self._of_copies(unit)
        return [(literals[copy], number) for copy, number in copies]

    def _of_copies(self, unit: int) -> Sequence[int]:
        literals = self._literals.get(unit)
        if literals is None:
            literals = self._literals[unit] = [self._rows.boolean() for _ in self._units[unit].claims]
            self._rows.equal([*((literal, 1) for literal in literals), (self.placed[unit], -1)], 0)
            for before, after in pairwise(literals):
                self._rows.at_most([(after, 1), (before, -1)], 0)
        return literals

    def unplaced_claims(self, values: Sequence[int]) -> frozenset[int]:
        """List the claims that are not served."""
        return frozenset(
            claim
            for unit, placed in zip(self._units, self.placed, strict=True)
            for claim in (claim for claims in unit.claims[values[placed] :] for claim in claims)
        )


def justify_request(merged: symmetry.MergedProblem, alternative: symmetry.MergedAlternative) -> Justification:
    """Justify that a request must be served at all."""
    request = merged.requests[alternative.request]
    first = merged.problem.demands[alternative.demands[0]]
    if request.listed:
        kind, needs = "firstAvailable", " needs one of its alternatives"
    elif alternative.all_devices:
        kind, needs = "all", f" needs all {_device_count_text(alternative.count)} that it selects"
    else:
        kind, needs = "exactCount", f" needs {_device_count_text(alternative.count)}"
    each = " each" if alternative.copies > 1 else ""
    message = (
        f"request {request.name} of claim ",
        Placeholder.CLAIM,
        f"{_equal_copies_text(alternative.copies)}{needs}{each}",
    )
    return Justification(kind, message, first.claim, subject=request.index)


def justify_constraint(constraint: symmetry.MergedConstraint) -> Justification:
    """Justify an entry of ``constraints``, by its number in the claim."""
    record = constraint.record
    equal, entry = _equal_copies_text(len(constraint.claims)), f"{record.kind} {record.attribute}"
    message = (f"{entry_label(record)} of claim ", Placeholder.CLAIM, f"{equal}, {entry}")
    return Justification(record.kind, message, record.claim, subject=constraint.position)


def entry_label(record: Constraint | Relation) -> str:
    """Name an entry of a claim: by its number in ``constraints`` or in the annotation, or by its own name."""
    return record.label.replace("constraint #", "constraint ") or f"constraint {record.position}"


def justify_relation(relation: symmetry.MergedRelation) -> Justification:
    """Justify an entry that is judged on complete sets, by its number among the entries of its claims."""
    record = relation.record
    message = (
        f"{entry_label(record)} of claim ",
        Placeholder.CLAIM,
        f"{_equal_copies_text(relation.copies)}, {record.id}",
    )
    return Justification(record.id, message, record.claims[0], subject=record.position)


def justify_counter(problem: Problem, row: int) -> Justification:
    """Justify a counter of a pool."""
    counter_set, counter = problem.counters.names[row]
    text = f"counter {counter} of counter set {counter_set}, pool "
    return Justification("counters", (text, Placeholder.POOL), pool=problem.counters.pool_of_row[row], subject=row)


def justify_groups(problem: Problem, place: int) -> Justification:
    """Justify that devices of a counter set have a compatibility group in common."""
    pool, counter_set = problem.groups.sets[place]
    text = f"compatibility groups of counter set {counter_set}, pool "
    return Justification("compatibilityGroups", (text, Placeholder.POOL), pool=pool, subject=place)


def justify_capacity(problem: Problem, row: int) -> Justification:
    """Justify a capacity, of all devices that have it: one at a time they would be too many to read."""
    name = problem.capacities.names[row]
    return Justification("capacity", (f"capacity {name}",), subject=name)


def justify_node_resource(resource: str) -> Justification:
    """Justify what devices take of a resource of the node."""
    return Justification("nodeResources", (f"{resource} of the node",), subject=resource)


def justify_limit(claim: int, most: int) -> Justification:
    """Justify the limit of results."""
    return Justification("resultLimit", ("claim ", Placeholder.CLAIM, f" gets at most {most} devices"), claim)


def justify_obstacle(
    merged: symmetry.MergedProblem, alternative: symmetry.MergedAlternative, obstacle: Obstacle
) -> Justification:
    """Justify what keeps devices away from a request whatever else is chosen."""
    if not obstacle.own:
        return Justification(obstacle.filter, (obstacle.text,), subject=obstacle)
    first = merged.problem.demands[alternative.demands[0]]
    message = (
        f"{obstacle.text} of request {first.label} of claim ",
        Placeholder.CLAIM,
        _equal_copies_text(alternative.copies),
    )
    return Justification(obstacle.filter, message, first.claim, subject=(alternative.index, obstacle))


def _device_count_text(count: int) -> str:
    return plural(count, "device")


def _equal_copies_text(copies: int) -> str:
    return f" (and {copies - 1} equal)" if copies > 1 else ""
