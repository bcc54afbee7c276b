"""Stages about quota: how evenly queues share it, and how much of it they borrow.

The dominant share of a queue is the largest part that it uses of what its tree of cohorts has of a resource, in
thousandths, divided by its weight. ``fair`` is lexicographic: the smallest share is as large as possible, then the
second smallest, and so on. For that the sum of the k smallest shares is maximised, for one k after the other: it is the
largest ``k r - sum of d`` with ``d >= r - share`` for each queue (Ogryczak and Sliwinski, 2003). Of several resources
that may be dominant for a queue one is chosen, and its share counts. ``borrowed`` is the sum of what queues use beyond
their nominal quota, in thousandths of what their tree has of the resource.

Shares are whole numbers of steps. Where no large step divides all of them, what a gang adds to a share is rounded down:
sums of shares with larger numbers are hard to bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd

from ....models.workload.quota import UNLIMITED, FlavorResource, QuotaProblem
from ..master_problem import CouplingRow, MasterGangClass, ObjectiveStage, Terms
from ..quota_ledger import QuotaLedger
from .gangs import GangAlternative, GangBuilder
from .quota import AdmissionClass, ExcessVariable, FlavorWay, usage_by_queue
from .weights import LARGEST_UNIT_COEFFICIENT, Steps

FAIR, BORROWED = "fair", "borrowed"
QUOTA_STAGES = (FAIR, BORROWED)
_THOUSAND = 1000
# No sum of shares has more steps, if they are rounded.
_MOST_STEPS = 1 << 29
# Each of the smallest shares has a stage; with more queues these follow in powers of two.
_SINGLE_STAGES = 8


@dataclass(frozen=True, slots=True)
class ShareForm:
    """The share of a queue in one resource, in steps: a sum over gang classes and a constant; at most ``most``."""

    terms: Mapping[int, int]
    constant: int
    most: int

    def value(self, gangs: Mapping[int, int]) -> int:
        """The share for the gangs of a plan."""
        return self.constant + sum(amount * gangs.get(gang, 0) for gang, amount in self.terms.items())


@dataclass(frozen=True, slots=True)
class UsedAmount:
    """What a queue uses of a resource, as a ``ShareForm`` in units; each of them counts ``part`` of a share."""

    part: Fraction
    form: ShareForm

    def is_covered(self, other: UsedAmount) -> bool:
        """Whether another resource has at least this share in every plan."""
        own, others = self.part.numerator * other.part.denominator, other.part.numerator * self.part.denominator
        if own * self.form.constant > others * other.form.constant:
            return False
        terms = other.form.terms
        return all(own * amount <= others * terms.get(gang, 0) for gang, amount in self.form.terms.items())

    @property
    def divisor(self) -> Fraction:
        """What this share is a multiple of in every plan."""
        return self.part * gcd(self.form.constant, self.form.most, *self.form.terms.values())

    def rounded(self, steps: Steps) -> Iterator[int]:
        """Yield the numbers of this share that are not zero, in steps and rounded down."""
        numbers = {amount for amount in (self.form.constant, *self.form.terms.values()) if amount}
        return (steps.number(self.part * amount) for amount in numbers if self.part)

    def in_steps(self, steps: Steps) -> ShareForm:
        """The share in steps, with all numbers rounded down."""
        form, part = self.form, self.part
        terms = {gang: number for gang, amount in form.terms.items() if (number := steps.number(part * amount))}
        return ShareForm(terms, steps.number(part * form.constant), steps.number(part * form.most))


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


@dataclass(frozen=True, slots=True)
class QuotaGoal:
    """A stage in 1 / ``scale`` of a thousandth; ``earlier`` is what is borrowed already, and no plan exceeds ``most``.

    A plan counts up to ``rounding`` more than the terms of the stage say, and no more than this ``part`` of them. What
    minimises is bounded by its terms.
    """

    stage: ObjectiveStage
    scale: Fraction
    rounding: int
    part: Fraction | None = Fraction(0)
    earlier: int = 0
    most: int = 0


@dataclass
class QuotaStages:
    """Makes the variables, rows and terms of the stages in ``names`` that are about quota."""

    problem: QuotaProblem
    classes: Sequence[AdmissionClass]
    names: Sequence[str]
    excess: list[ExcessVariable] = field(default_factory=list)
    fair: FairShares | None = None
    _borrowing: dict[int, int] = field(default_factory=dict)
    _fair_steps: Steps = field(default_factory=lambda: Steps.of((), 1))
    # By how many steps a plan may count more than it does with rounded numbers: what is borrowed, and the shares of
    # queues, the largest number first.
    _borrowed_rounding: int = 0
    _fair_rounding: Sequence[int] = ()
    # What part of a share in steps is more than what is lost by rounding; None where all of it may be lost.
    _rounded_part: Fraction | None = None

    def __post_init__(self) -> None:
        self._ledger = QuotaLedger(self.problem)
        self._usage = usage_by_queue(self.classes)

    def post(self, gangs: GangBuilder) -> None:
        """Add variables and rows."""
        if BORROWED in self.names:
            self._post_borrowed(gangs)
        if FAIR in self.names and self._queues:
            self._post_fair(gangs)

    def goals(self, name: str) -> Iterator[QuotaGoal]:
        """Yield the stages of a name."""
        if name == BORROWED:
            stage = ObjectiveStage(name, Terms(gangs=self._borrowing), maximise=False)
            held = self.value(BORROWED, self._ledger)
            yield QuotaGoal(stage, self._borrowed_steps.scale, self._borrowed_rounding, earlier=held)
        for one in self.fair.stages if name == FAIR and self.fair else ():
            stage = ObjectiveStage(
                f"{FAIR}={one.count}", Terms(gangs={**dict.fromkeys(one.below, -1), one.level: one.count})
            )
            most = sum(sorted(share.most for share in self.fair.shares)[: one.count]) if self.fair else 0
            rounding = sum(self._fair_rounding[: one.count])
            yield QuotaGoal(stage, self._fair_steps.scale, rounding, self._rounded_part, most=most + rounding)

    def exact_value(self, stage: str, ledger: QuotaLedger) -> Fraction:
        """What a stage comes to for the usage of a ledger, with what is held."""
        head, _, count = stage.partition("=")
        if head == BORROWED:
            return sum((self._borrowed(place, ledger) for place in self._borrowers), Fraction(0))
        return sum(sorted(self._share(place, ledger) for place in self._queues)[: int(count)], Fraction(0))

    def value(self, stage: str, ledger: QuotaLedger) -> int:
        """The same in steps, rounded down."""
        steps = self._borrowed_steps if stage == BORROWED else self._fair_steps
        return steps.number(self.exact_value(stage, ledger))

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
    def _classes_of(self) -> Mapping[int | None, list[AdmissionClass]]:
        found: dict[int | None, list[AdmissionClass]] = defaultdict(list)
        for one in self.classes:
            found[one.like.queue].append(one)
        return found

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

    def _weighed(self, place: int, resource: str) -> Fraction:
        return self._parts(place, resource) / self.problem.nodes[place].weight

    def _borrowed(self, place: int, ledger: QuotaLedger) -> Fraction:
        total, node = Fraction(0), self.problem.nodes[place]
        for resource, pairs in self._pairs.items():
            beyond = (max(0, ledger.used(pair)[place] - node.nominal.get(pair, 0)) for pair in pairs)
            total += self._parts(place, resource) * (sum(beyond) // self._units[resource])
        return total

    def _share(self, place: int, ledger: QuotaLedger) -> Fraction:
        shares = [Fraction(0)]
        for resource, pairs in self._pairs.items():
            used = sum(ledger.used(pair)[place] for pair in pairs) // self._units[resource]
            shares.append(used * self._weighed(place, resource))
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
                    self._borrowed_rounding += 0 if self._borrowed_steps.exact else most

    def _post_fair(self, gangs: GangBuilder) -> None:
        used = [self._used_amounts(place, gangs) for place in self._queues]
        amounts = [one for own in used for one in own]
        largest = max(one.part * one.form.most for one in amounts)
        # Up to two numbers for each queue are added up.
        steps = Steps.of((*(one.divisor for one in amounts), largest), _MOST_STEPS // (2 * len(used)))
        self._fair_steps = steps
        if not steps.exact:
            counted = (max(self._rounded(one, gangs) for one in own) for own in used)
            self._fair_rounding = sorted(counted, reverse=True)
            least = min((number for one in amounts for number in one.rounded(steps)), default=0)
            self._rounded_part = Fraction(1, least) if least else None
        shares = tuple(_chosen_share(tuple(one.in_steps(steps) for one in own), gangs) for own in used)
        most, stages = sorted(share.most for share in shares), []
        for count in _counts(len(shares)):
            level = _variable(gangs, most[count - 1])
            below = tuple(_variable(gangs, most[count - 1]) for _ in shares)
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

    @staticmethod
    def _rounded(used: UsedAmount, gangs: GangBuilder) -> int:
        """How many numbers of a share are rounded at most."""
        return 1 + sum(gangs.gangs[gang].demand for gang in used.form.terms)

    def _used_amounts(self, place: int, gangs: GangBuilder) -> list[UsedAmount]:
        """What may be the dominant share of a queue."""
        found = [self._used_amount(place, resource, gangs) for resource in self._pairs]
        kept: list[UsedAmount] = []
        for number, one in enumerate(found):
            if not any(one.is_covered(other) for other in (*kept, *found[number + 1 :])):
                kept.append(one)
        return kept or [UsedAmount(Fraction(0), ShareForm({}, 0, 0))]

    def _most_charged(self, place: int, terms: Mapping[int, int], gangs: GangBuilder) -> int:
        """The most that these terms come to: of the ways to admit a workload one counts."""
        total = 0
        for one in self._classes_of[place]:
            for group in range(len(one.groups)):
                ways = (_gangs_of(way) for own in one.ways for way in own.groups[group])
                amounts = (sum(terms.get(gang, 0) * gangs.gangs[gang].demand for gang in own) for own in ways)
                total += max(amounts, default=0)
        return total

    def _used_amount(self, place: int, resource: str, gangs: GangBuilder) -> UsedAmount:
        unit = self._units[resource]
        terms: dict[int, int] = {}
        used = most = 0
        for pair in self._pairs[resource]:
            own = self._ledger.used(pair)[place]
            weights = self._usage.get(place, {}).get(pair, {})
            used += own
            charged = sum(amount * gangs.gangs[gang].demand for gang, amount in weights.items())
            limit = self._ledger.potential(place, pair) if self.problem.limited else UNLIMITED
            most += max(own, min(own + charged, limit))
            for gang, amount in weights.items():
                terms[gang] = terms.get(gang, 0) + amount // unit
        most = min(most, used + unit * self._most_charged(place, terms, gangs))
        return UsedAmount(self._weighed(place, resource), ShareForm(terms, used // unit, -(-most // unit)))


def _chosen_share(forms: tuple[ShareForm, ...], gangs: GangBuilder) -> QueueShare:
    """Post which of the shares of a queue counts."""
    if len(forms) == 1:
        return QueueShare(forms)
    chosen = tuple(_variable(gangs, 1) for _ in forms)
    counted = tuple(_variable(gangs, form.most) for form in forms)
    gangs.rows.append(CouplingRow(Terms(gangs=dict.fromkeys(chosen, 1)), upper=1))
    for form, choice, value in zip(forms, chosen, counted, strict=True):
        terms = {value: 1, **{gang: -amount for gang, amount in form.terms.items()}}
        gangs.rows.append(CouplingRow(Terms(gangs=terms), upper=form.constant))
        gangs.rows.append(CouplingRow(Terms(gangs={value: 1, choice: -form.most}), upper=0))
    return QueueShare(forms, chosen, counted)


def _gangs_of(way: FlavorWay) -> Iterator[int]:
    yield way.gang
    yield from (gang for own in way.counts.values() for gang in own.values())


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
