"""Rows of quota: what admission classes are charged stays within the tree of queues and cohorts.

With S, L and U of ``quota_ledger``, a root has U at most S, and a node with a borrowing limit b has U at most S + b.
A cohort uses the sum of t = max(0, U - L) over its children. Only lower bounds of t matter, so that t is U where
nothing is kept from lending, U - L where so much is in use, and otherwise a gang class without members, with a row
``t >= U - L``. Where quota was taken away and a cohort has less than nothing left, what its children may still use is
what they keep, less what is missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from ....models.workload.quota import UNLIMITED, FlavorResource, QuotaProblem
from ..master_problem import CouplingRow, MasterGangClass, Terms
from ..quota_ledger import QuotaLedger
from .quota import AdmissionClass
from .units import GangAlternative, GangBuilder


@dataclass(frozen=True, slots=True)
class LinearUsage:
    """A usage as a sum over gang classes and a constant; no plan exceeds ``most``."""

    terms: Mapping[int, int]
    constant: int
    most: int


@dataclass(frozen=True, slots=True)
class ExcessVariable:
    """A gang class without members that is at least a usage, which is 0 at least."""

    gang: int
    terms: Mapping[int, int]
    constant: int

    def value(self, gangs: Mapping[int, int]) -> int:
        """The least value for the gangs of a plan; those that are not named are 0."""
        used = sum(amount * gangs.get(gang, 0) for gang, amount in self.terms.items()) + self.constant
        return max(0, used)


@dataclass
class QuotaRows:
    """Posts the rows; ``excess`` are the variables in the order in which they depend on each other."""

    problem: QuotaProblem
    classes: Sequence[AdmissionClass]
    gangs: GangBuilder
    excess: list[ExcessVariable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = QuotaLedger(self.problem)
        self.usage = usage_by_queue(self.classes)

    def post(self) -> None:
        """Post rows for all pairs that some workload is charged."""
        pairs = sorted({pair for by_pair in self.usage.values() for pair in by_pair})
        for pair in pairs if self.problem.limited else ():
            self._post(pair)

    def _post(self, pair: FlavorResource) -> None:
        """Collect what a pair needs in its own unit, and post it in the largest step that divides everything."""
        rows: list[tuple[dict[int, int], int]] = []
        waiting: list[tuple[LinearUsage, int]] = []
        forms: dict[int, LinearUsage] = {}
        nodes, (_, keeps), used = self.problem.nodes, self.ledger.quota(pair), self.ledger.used(pair)
        # Excess variables are numbered below zero until their step is known.
        for place in reversed(range(len(nodes))):
            own = self._own_usage(place, pair, forms)
            if own is None:
                continue
            limit = self._limit(place, pair)
            if limit is not None:
                limit = max(limit, used[place])
                if own.most > limit:
                    rows.append((dict(own.terms), limit - own.constant))
                    own = LinearUsage(own.terms, own.constant, limit)
            if nodes[place].parent is not None and own.most > keeps[place]:
                forms[place] = self._excess(own, keeps[place], used[place], waiting)
        self._commit(rows, waiting)

    def _own_usage(self, place: int, pair: FlavorResource, forms: Mapping[int, LinearUsage]) -> LinearUsage | None:
        """U of a node; None if no plan changes it."""
        terms: Counter[int] = Counter()
        used = self.ledger.used(pair)[place]
        if not self.problem.nodes[place].is_cohort:
            weights = self.usage.get(place, {}).get(pair)
            if not weights:
                return None
            most = sum(amount * self.gangs.gangs[gang].demand for gang, amount in weights.items())
            return LinearUsage(weights, used, used + most)
        changed = [child for child in self.problem.children[place] if child in forms]
        if not changed:
            return None
        constant, most = used, used
        keeps = self.ledger.quota(pair)[1]
        for child in changed:
            before = max(0, self.ledger.used(pair)[child] - keeps[child])
            terms.update(forms[child].terms)
            constant += forms[child].constant - before
            most += forms[child].most - before
        return LinearUsage(terms, constant, most)

    def _limit(self, place: int, pair: FlavorResource) -> int | None:
        """The most that a node may use."""
        (has, keeps), node = self.ledger.quota(pair), self.problem.nodes[place]
        if node.parent is None:
            return None if has[place] >= UNLIMITED else has[place]
        missing = self.ledger.share_of_cohort(place, pair)
        if missing < 0:
            return keeps[place] + missing
        limit = node.borrowing_limit.get(pair)
        return None if limit is None or limit >= UNLIMITED else has[place] + limit

    def _excess(self, own: LinearUsage, kept: int, used: int, waiting: list[tuple[LinearUsage, int]]) -> LinearUsage:
        """What a usage is beyond what is kept."""
        if used >= kept:
            return LinearUsage(own.terms, own.constant - kept, own.most - kept)
        waiting.append((LinearUsage(own.terms, own.constant - kept, own.most - kept), -len(waiting) - 1))
        return LinearUsage({waiting[-1][1]: 1}, 0, own.most - kept)

    def _commit(self, rows: Iterable[tuple[dict[int, int], int]], waiting: Sequence[tuple[LinearUsage, int]]) -> None:
        plain = [(terms, most) for terms, most in rows if all(gang >= 0 for gang in terms)]
        for terms, most in plain:
            step = gcd(*terms.values()) or 1
            scaled = {gang: amount // step for gang, amount in terms.items()}
            self.gangs.rows.append(CouplingRow(Terms(gangs=scaled), upper=max(0, most // step)))
        if not waiting:
            return
        mixed = [(terms, most) for terms, most in rows if any(gang < 0 for gang in terms)]
        numbers = [own for form, _ in waiting for own in (form.constant, *_real(form.terms))]
        step = gcd(*numbers, *(one for terms, most in mixed for one in (most, *_real(terms)))) or 1
        made: dict[int, int] = {}
        for form, number in waiting:
            made[number] = self.gangs.add(MasterGangClass((), max(0, form.most // step)), GangAlternative(None, {}))
            scaled = _scaled(form.terms, step, made)
            self.gangs.rows.append(CouplingRow(Terms(gangs={**scaled, made[number]: -1}), upper=-form.constant // step))
            self.excess.append(ExcessVariable(made[number], scaled, form.constant // step))
        for terms, most in mixed:
            self.gangs.rows.append(CouplingRow(Terms(gangs=_scaled(terms, step, made)), upper=most // step))


def _real(terms: Mapping[int, int]) -> Iterator[int]:
    return (amount for gang, amount in terms.items() if gang >= 0)


def _scaled(terms: Mapping[int, int], step: int, made: Mapping[int, int]) -> dict[int, int]:
    """Terms in steps, where excess variables count steps."""
    return {
        (made[gang] if gang < 0 else gang): (amount if gang < 0 else amount // step) for gang, amount in terms.items()
    }


def usage_by_queue(classes: Sequence[AdmissionClass]) -> Mapping[int, Mapping[FlavorResource, Mapping[int, int]]]:
    """By queue and pair, what one of each gang class is charged."""
    found: dict[int, dict[FlavorResource, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for one in classes:
        if one.like.queue is None:
            continue
        by_pair = found[one.like.queue]
        for ways in one.ways:
            for number, group in enumerate(ways.groups):
                for way in group:
                    for pair, amount in one.usage(number, way).items():
                        by_pair[pair][way.gang] = amount
                    for place, own in way.counts.items():
                        for pair, amount in one.pod_usage(place, way).items():
                            by_pair[pair].update(dict.fromkeys(own.values(), amount))
    return found
