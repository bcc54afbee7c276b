"""The model of one question: how many devices of each lot each branch takes, and which branches are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..problem.justification import Justification
from ..problem.outcomes import check_deadline
from .collapsed import Branch, Collapsed, Lot, Merged, MergedRelation
from .configurations import ConfiguredUnit
from .encoder import Encoder
from .lowering.order_literals import OrderLiterals
from .optional_units import Number, OptionalUnits
from .rows import Rows, Term
from .wording import about_relation


class RoadError(Exception):
    """A relation cannot be written in the way that was asked for (CELC-9)."""


@dataclass(frozen=True, slots=True)
class Lazy:
    """A relation whose complete sets are judged one by one, wherever ``guard`` is true; None: always.

    ``order`` has literals for how many devices of each item it takes, an item being lots that it cannot tell apart.
    ``antimonotone``: what fails for a set fails for every larger one (CELC-10). ``failing`` makes all vectors of counts
    that fail, where they are few enough to be judged beforehand.
    """

    relation: MergedRelation
    order: OrderLiterals
    guard: int | None
    antimonotone: bool = False
    failing: Callable[[], Iterable[tuple[int, ...]]] | None = None


Bundle = tuple[int, tuple[int, ...]]
"""A literal, and devices by their numbers in the Problem."""


class AllocationModel:
    """Variables, and the rows that encoders post.

    ``takes[branch, lot]`` is the variable for the number of devices of the lot that the branch takes; ``choices`` has
    for each branch of a list request the variable for the number of copies served by it, and None for others.
    ``lazies`` are relations that no rows say: solutions are judged, and forbidden if they fail (CELC-9), ``roads`` say
    how each expression over devices was taken. ``troubled``: some sets of devices may be left out for an error alone
    (CELC-4).
    ``units`` are the copies of units that may be left out, ``configured`` those whose entries are said by a list of
    all that a copy could take. ``bundles`` are devices that go to one claim of several
    equal ones, if their literal is true, by branch.
    With ``guarded`` every justified row holds only while its literal in ``guards`` is true, for explanations.
    """

    def __init__(self, collapsed: Collapsed, *, guarded: bool = False) -> None:
        self.collapsed = collapsed
        self.rows = Rows()
        self.guards: dict[Justification, int] = {}
        self._guarded = guarded
        self._used: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self.lazies: list[Lazy] = []
        self.roads: list[str] = []
        self.troubled = False
        self.bundles: dict[int, list[Bundle]] = {}
        self.units = OptionalUnits(self.rows, self.merged.units)
        self.configured: list[ConfiguredUnit] = []
        self.choices = [self._choice(branch) for branch in self.merged.branches]
        self.takes = dict(self._takes())

    @property
    def merged(self) -> Merged:
        """Requests and branches."""
        return self.collapsed.merged

    def _choice(self, branch: Branch) -> int | None:
        listed = self.merged.requests[branch.request].listed
        return self.rows.integer(0, branch.copies) if listed else None

    def _takes(self) -> Iterator[tuple[tuple[int, int], int]]:
        shared = self.merged.problem.shared
        # A shareable device goes to each copy at most once, as a request takes a device once (DEV-13).
        sizes = [0 if lot.first in shared else lot.size for lot in self.collapsed.lots]
        for branch in self.merged.branches:
            # With guards a request may be let go, and then takes as many as it likes.
            needed = self.merged.problem.size if self._guarded else branch.copies * branch.count
            for lot in self.collapsed.lots_of[branch.index]:
                most = min(sizes[lot], needed) if sizes[lot] else branch.copies
                yield (branch.index, lot), self.rows.integer(0, most)

    def used(self, lot: Lot) -> int:
        """Return the literal that says that anything of a lot is taken."""
        literal = self._used.get(lot.index)
        if literal is None:
            literal = self._used[lot.index] = self.rows.boolean()
            for branch in lot.branches:
                variable = self.takes[branch, lot.index]
                self.rows.at_most([(variable, 1), (literal, -self.rows.range_of(variable)[1])], 0)
        return literal

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

    def kept(self, relation: MergedRelation) -> int:
        """Return the literal that says that a soft relation holds; it may be false although it does."""
        literal = self._kept.get(relation.index)
        if literal is None:
            literal = self._kept[relation.index] = self.rows.boolean()
        return literal

    def enforcement(self, relation: MergedRelation) -> int | None:
        """Return the literal under which the rows of a relation hold, None if they hold always."""
        return self.guard(about_relation(relation)) if relation.record.hard else self.kept(relation)

    def judge(
        self,
        relation: MergedRelation,
        counts: Sequence[Sequence[Term]],
        *,
        antimonotone: bool = False,
        failing: Callable[[], Iterable[tuple[int, ...]]] | None = None,
    ) -> None:
        """Leave a relation to the one who looks at solutions, and notes errors of those that are judged at all."""
        order = OrderLiterals(self.rows, counts)
        self.lazies.append(Lazy(relation, order, self.enforcement(relation), antimonotone, failing))
        self.troubled |= antimonotone

    def taken(self, branch: int, coefficient: int = 1, lots: Iterable[int] | None = None) -> list[Term]:
        """Terms for what a branch takes, of some lots or of all."""
        chosen = self.collapsed.lots_of[branch] if lots is None else lots
        return [(self.takes[branch, lot], coefficient) for lot in chosen]

    def certain(self, branch: int) -> int:
        """Return how many devices a branch takes whatever is chosen; 0 if that depends."""
        if self._guarded or self.choices[branch] is not None or self.optional(branch):
            return 0
        return self.merged.branches[branch].copies * self.merged.branches[branch].count

    def optional(self, branch: int) -> bool:
        """Tell whether the claims that a branch belongs to may be left out."""
        return self.merged.claim_of(self.merged.branches[branch]) in self.units

    def claims_served(self, branch: Branch) -> Number:
        """Return how many of the claims that a branch belongs to are served."""
        return self.units.served(self.merged.requests[branch.request].claims)

    def due(self, branch: Branch) -> Number:
        """Return how many copies of the branch's request are served, by this alternative or another one."""
        return self.claims_served(branch).scaled(branch.per_claim)

    def served(self, branch: Branch) -> Number:
        """Return how many copies the branch serves."""
        choice = self.choices[branch.index]
        return self.due(branch) if choice is None else Number(0, ((choice, 1),))

    def times_chosen(self, branch: Branch, terms: Sequence[Term], factor: int, guard: int | None) -> None:
        """Post ``sum(terms) == factor * copies that the branch serves``."""
        served = self.served(branch)
        # What an alternative serves is chosen, and only the choice can be let go.
        held = guard if self.choices[branch.index] is None else None
        self.rows.equal([*terms, *served.times(-factor)], factor * served.constant, held)


def build(
    collapsed: Collapsed,
    encoders: Sequence[Encoder],
    *,
    guarded: bool = False,
    deadline: float | None = None,
) -> AllocationModel:
    """Let every encoder post its rows. Raises ``CoefficientError``, and ``DeadlineExceededError`` once it is over.

    ``deadline`` is a reading of ``time.monotonic``.
    """
    model = AllocationModel(collapsed, guarded=guarded)
    for encoder in encoders:
        check_deadline(deadline)
        encoder.post(model)
    return model
