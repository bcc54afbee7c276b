"""Stages about quota: how evenly queues share it, and how much of it they borrow.

The dominant share of a queue is the largest part that it uses of what its tree of cohorts has of a resource, in
thousandths, divided by its weight. ``fair`` is lexicographic: the smallest share is as large as possible, then the
second smallest, and so on. For that the sum of the k smallest shares is maximised, for one k after the other: it is the
largest ``k r - sum of d`` with ``d >= r - share`` for each queue (Ogryczak and Sliwinski, 2003). Of several resources
that may be dominant for a queue one is chosen, and its share counts. ``borrowed`` is the sum of what queues use beyond
their nominal quota, in thousandths of what their tree has of the resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd

from ....models.workload.quota import UNLIMITED, FlavorResource, QuotaProblem
from ..master_problem import CouplingRow, MasterGangClass, ObjectiveStage, Terms
from ..quota_ledger import QuotaLedger
from .gangs import GangAlternative, GangBuilder
from .quota import AdmissionClass, ExcessVariable, usage_by_queue
from .weights import LARGEST_UNIT_COEFFICIENT, Steps

FAIR, BORROWED = "fair", "borrowed"
QUOTA_STAGES = (FAIR, BORROWED)
_THOUSAND = 1000
# Each of the smallest shares has a stage; with more queues these follow in powers of two.
_SINGLE_STAGES = 8


@dataclass(frozen=True, slots=True)
class ShareForm:
    """The share of a queue in one resource, in steps: a sum over gang classes and a constant; at most ``most``."""

    resource: str
    terms: Mapping[int, int]
    constant: int
    most: int

    def value(self, gangs: Mapping[int, int]) -> int:
        """The share for the gangs of a plan."""
        return self.constant + sum(amount * gangs.get(gang, 0) for gang, amount in self.terms.items())

    def is_covered(self, other: ShareForm) -> bool:
        """Whether another resource has at least this share in every plan."""
        if self.constant > other.constant:
            return False
        return all(amount <= other.terms.get(gang, 0) for gang, amount in self.terms.items())


@dataclass(frozen=True, slots=True)
class QueueShare:
    """The shares that may be dominant for a queue, with the choice among several and what it comes to."""

    forms: tuple[ShareForm, ...]
    chosen: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()

    @property
    def most(self) -> int:
        """The most that the dominant share can be."""
        return max(form.most for form in self.forms)

    def settle(self, gangs: dict[int, int]) -> int:
        """Choose the largest share, and return it."""
        values = [form.value(gangs) for form in self.forms]
        best = values.index(max(values))
        for number in range(len(self.chosen)):
            gangs[self.chosen[number]] = int(number == best)
            gangs[self.counted[number]] = values[number] if number == best else 0
        return values[best]


@dataclass(frozen=True, slots=True)
class SmallestShares:
    """The variables of the sum of the ``count`` smallest shares: ``level``, and one for each share."""

    count: int
    level: int
    below: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FairShares:
    """The shares of all queues, and their stages."""

    shares: tuple[QueueShare, ...]
    stages: tuple[SmallestShares, ...]

    def settle(self, gangs: dict[int, int]) -> None:
        """Set all variables to what they come to for the gangs of a plan."""
        values = [share.settle(gangs) for share in self.shares]
        ordered = sorted(values)
        for stage in self.stages:
            gangs[stage.level] = ordered[stage.count - 1]
            for variable, value in zip(stage.below, values, strict=True):
                gangs[variable] = max(0, gangs[stage.level] - value)


@dataclass
class QuotaStages:
    """Makes the variables, rows and terms of the stages in ``names`` that are about quota."""

    problem: QuotaProblem
    classes: Sequence[AdmissionClass]
    names: Sequence[str]
    excess: list[ExcessVariable] = field(default_factory=list)
    fair: FairShares | None = None
    _borrowing: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ledger = QuotaLedger(self.problem)
        self._usage = usage_by_queue(self.classes)

    def post(self, gangs: GangBuilder) -> None:
        """Add variables and rows."""
        if BORROWED in self.names:
            self._post_borrowed(gangs)
        if FAIR in self.names and self._queues:
            self._post_fair(gangs)

    def stages(self, name: str) -> Iterator[tuple[ObjectiveStage, Fraction, int, int]]:
        """Yield the stages of a name with their scale, what is borrowed already, and what no plan exceeds."""
        if name == BORROWED:
            held, stage = self.value(BORROWED, self._ledger), Terms(gangs=self._borrowing)
            yield ObjectiveStage(name, stage, maximise=False), self._borrowed_steps.scale, held, 0
        for one in self.fair.stages if name == FAIR and self.fair else ():
            terms = {**dict.fromkeys(one.below, -1), one.level: one.count}
            most = one.count * max(share.most for share in self.fair.shares) if self.fair else 0
            yield ObjectiveStage(f"{FAIR}={one.count}", Terms(gangs=terms)), self._fair_steps.scale, 0, most

    def value(self, stage: str, ledger: QuotaLedger) -> int:
        """What a stage comes to for the usage of a ledger, in steps, with what is held."""
        head, _, count = stage.partition("=")
        if head == BORROWED:
            return sum(self._borrowed(place, ledger) for place in self._borrowers)
        values = sorted(self._share(place, ledger) for place in self._queues)
        return sum(values[: int(count)])

    @cached_property
    def _queues(self) -> list[int]:
        """Queues with workloads that wait, and a weight."""
        waiting = {one.like.queue for one in self.classes if not one.like.grant}
        return sorted(place for place in waiting if place is not None and self.problem.nodes[place].weight)

    @cached_property
    def _borrowers(self) -> list[int]:
        return [
            place for place, node in enumerate(self.problem.nodes) if not node.is_cohort and node.parent is not None
        ]

    @cached_property
    def _pairs(self) -> dict[str, list[FlavorResource]]:
        """The flavors of each resource, with quota or in use."""
        nodes = self.problem.nodes
        known = {pair for node in nodes for pair in (*node.nominal, *node.held)}
        known.update(pair for by_pair in self._usage.values() for pair in by_pair)
        found: dict[str, list[FlavorResource]] = {}
        for pair in sorted(known):
            found.setdefault(pair[1], []).append(pair)
        return found

    @cached_property
    def _units(self) -> dict[str, int]:
        """What all amounts of a resource are multiples of."""
        found: dict[str, int] = {}
        for resource, pairs in self._pairs.items():
            amounts = [node.held.get(pair, 0) for node in self.problem.nodes for pair in pairs]
            amounts += [node.nominal.get(pair, 0) for node in self.problem.nodes for pair in pairs]
            charged = (by_pair.get(pair, {}) for by_pair in self._usage.values() for pair in pairs)
            found[resource] = gcd(*amounts, *(amount for one in charged for amount in one.values())) or 1
        return found

    def _has(self, place: int, resource: str) -> int:
        """What the tree of a queue has of a resource; 0 where there is no limit."""
        root = self.problem.path(place)[-1]
        total = sum(self._ledger.quota(pair)[0][root] for pair in self._pairs.get(resource, ()))
        return 0 if total >= UNLIMITED else total

    def _parts(self, place: int, resource: str) -> Fraction:
        """What one unit of a resource is of all that the tree of a queue has, in thousandths; 0 if that is nothing."""
        has = self._has(place, resource)
        return Fraction(_THOUSAND * self._units[resource], has) if has else Fraction(0)

    @cached_property
    def _borrowed_steps(self) -> Steps:
        amounts = (self._parts(place, resource) for place in self._borrowers for resource in self._pairs)
        return Steps.of(set(amounts), LARGEST_UNIT_COEFFICIENT)

    @cached_property
    def _fair_steps(self) -> Steps:
        return Steps.of(
            {self._weighed(p, name) for p in self._queues for name in self._pairs}, LARGEST_UNIT_COEFFICIENT
        )

    def _weighed(self, place: int, resource: str) -> Fraction:
        return self._parts(place, resource) / self.problem.nodes[place].weight

    def _borrowed(self, place: int, ledger: QuotaLedger) -> int:
        total, node = 0, self.problem.nodes[place]
        for resource, pairs in self._pairs.items():
            factor = self._borrowed_steps.number(self._parts(place, resource))
            beyond = (max(0, ledger.used(pair)[place] - node.nominal.get(pair, 0)) for pair in pairs)
            total += factor * sum(beyond) // self._units[resource]
        return total

    def _share(self, place: int, ledger: QuotaLedger) -> int:
        shares = [0]
        for resource, pairs in self._pairs.items():
            used = sum(ledger.used(pair)[place] for pair in pairs) // self._units[resource]
            shares.append(used * self._fair_steps.number(self._weighed(place, resource)))
        return max(shares)

    def _post_borrowed(self, gangs: GangBuilder) -> None:
        for place in self._borrowers:
            for pair, weights in sorted(self._usage.get(place, {}).items()):
                unit, used = self._units[pair[1]], self._ledger.used(pair)[place]
                factor = self._borrowed_steps.number(self._parts(place, pair[1]))
                spare = max(0, self.problem.nodes[place].nominal.get(pair, 0) - used) // unit
                most = sum(amount // unit * gangs.gangs[gang].demand for gang, amount in weights.items()) - spare
                if most > 0 and factor:
                    terms = {gang: amount // unit for gang, amount in weights.items()}
                    variable = gangs.add(MasterGangClass((), most), GangAlternative(None, {}))
                    gangs.rows.append(CouplingRow(Terms(gangs={**terms, variable: -1}), upper=spare))
                    self.excess.append(ExcessVariable(variable, terms, -spare))
                    self._borrowing[variable] = factor

    def _post_fair(self, gangs: GangBuilder) -> None:
        shares = tuple(self._queue_share(place, gangs) for place in self._queues)
        largest = max(share.most for share in shares)
        stages = []
        for count in _counts(len(shares)):
            level = _variable(gangs, largest)
            below = tuple(_variable(gangs, largest) for _ in shares)
            for share, variable in zip(shares, below, strict=True):
                # Level - below is at most the share.
                terms, constant = {level: 1, variable: -1}, 0
                if share.counted:
                    terms.update(dict.fromkeys(share.counted, -1))
                else:
                    terms.update((gang, -amount) for gang, amount in share.forms[0].terms.items())
                    constant = share.forms[0].constant
                gangs.rows.append(CouplingRow(Terms(gangs=terms), upper=constant))
            stages.append(SmallestShares(count, level, below))
        self.fair = FairShares(shares, tuple(stages))

    def _queue_share(self, place: int, gangs: GangBuilder) -> QueueShare:
        forms = [self._form(place, resource, gangs) for resource in self._pairs]
        kept: list[ShareForm] = []
        for number, form in enumerate(forms):
            others = [*kept, *forms[number + 1 :]]
            if not any(form.is_covered(other) for other in others):
                kept.append(form)
        if not kept:
            kept = forms[:1]
        if len(kept) == 1:
            return QueueShare(tuple(kept))
        chosen = tuple(_variable(gangs, 1) for _ in kept)
        counted = tuple(_variable(gangs, form.most) for form in kept)
        gangs.rows.append(CouplingRow(Terms(gangs=dict.fromkeys(chosen, 1)), upper=1))
        for form, choice, value in zip(kept, chosen, counted, strict=True):
            terms = {value: 1, **{gang: -amount for gang, amount in form.terms.items()}}
            gangs.rows.append(CouplingRow(Terms(gangs=terms), upper=form.constant))
            gangs.rows.append(CouplingRow(Terms(gangs={value: 1, choice: -form.most}), upper=0))
        return QueueShare(tuple(kept), chosen, counted)

    def _form(self, place: int, resource: str, gangs: GangBuilder) -> ShareForm:
        factor, unit = self._fair_steps.number(self._weighed(place, resource)), self._units[resource]
        terms: dict[int, int] = {}
        used = most = 0
        for pair in self._pairs[resource]:
            own = self._ledger.used(pair)[place]
            weights = self._usage.get(place, {}).get(pair, {})
            used += own
            charged = sum(amount * gangs.gangs[gang].demand for gang, amount in weights.items())
            limit = self._ledger.potential(place, pair) if self.problem.limited else UNLIMITED
            most += max(own, min(own + charged, limit))
            for gang, amount in weights.items() if factor else ():
                terms[gang] = terms.get(gang, 0) + amount // unit * factor
        return ShareForm(resource, terms, used // unit * factor, -(-most // unit) * factor)


def _variable(gangs: GangBuilder, most: int) -> int:
    return gangs.add(MasterGangClass((), most), GangAlternative(None, {}))


def _counts(shares: int) -> Iterable[int]:
    """Of how many of the smallest shares the sum is maximised, in this order."""
    yield from range(1, min(shares, _SINGLE_STAGES) + 1)
    count = 2 * _SINGLE_STAGES
    while count < shares:
        yield count
        count *= 2
    if shares > _SINGLE_STAGES:
        yield shares
