"""The kinds of units that wait, and what quota lets be admitted at most: rows over workloads, with prices of their own.

A workload is worth what its pods are, less what they are charged, and at least nothing: it need not be admitted. Each
ClusterQueue and each cohort is a row. What is charged within it is no more than what is available to it, together with
what its queues and cohorts keep for themselves and do not use (4.2 of Kueue's quantities, see ``quota``): each charge
takes from one of these. Any prices give a bound. A linear program finds good ones, and sums are exact fractions.
Borrowing within a tree, groups of pod sets that share a flavor, and the order of strict queues are left aside: they
could only make less possible.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from time import monotonic
from typing import Any, NamedTuple

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.workload.expansion import UnitExpander
from ...models.workload.quota import UNLIMITED, FlavorResource, QuotaProblem, QuotaQueue
from ...models.workload.unit_classes import Gang, UnitSet, UnitShape, signature_of
from ...models.workload.units import Unit, allocation_of
from .bundles import UnitKind
from .payments import ZERO
from .quota import QuotaReplay, chosen_pod

Margin = Callable[[bytes, str], Fraction]
"""What a unit of a kind is worth in a domain, beyond the payment for its place."""


class _Way(NamedTuple):
    """A choice of flavors: the kinds of the pods with it and how many there are of each, and what one is charged."""

    kinds: tuple[tuple[bytes, int], ...]
    charges: tuple[tuple[int, int], ...]


class _PodSet(NamedTuple):
    """So many pods that are admitted, with one of the ways."""

    least: int
    most: int
    ways: tuple[_Way, ...]


class _Workload(NamedTuple):
    """The pod sets of a workload; ``label`` of the nodes of all its pods has one value."""

    label: str | None
    pod_sets: tuple[_PodSet, ...]


def _room(problem: QuotaProblem, rows: Sequence[tuple[int, FlavorResource]]) -> list[int | None]:
    """What can still be charged within a ClusterQueue or cohort, of a flavor and resource; None: there is no limit."""
    replay = QuotaReplay(problem.nodes)
    return [None if (room := replay.room(*row)) >= UNLIMITED else room for row in rows]


@dataclass(frozen=True, slots=True)
class QuotaBounds:
    """Workloads with the number of equal ones, and what each row has room for."""

    workloads: Mapping[_Workload, int]
    room: Sequence[int | None]

    def least_worth(
        self, margin: Margin, domains: Mapping[str, Sequence[str]], deadline: float | None = None
    ) -> Fraction:
        """What all workloads are worth, with the prices that are found for rows, and what the rows are worth.

        ``domains`` has those of each node label. Prices are looked for until ``deadline`` (``time.monotonic``).
        """
        items = [
            (one, number, tuple(domains.get(one.label, ())) if one.label is not None else ("",))
            for one, number in self.workloads.items()
        ]
        free = [ZERO] * len(self.room)
        left = _LONGEST_RUN if deadline is None else deadline - monotonic()
        found = self._prices(items, margin, left) if self.room and left > 0 else free
        return min(self._worth(items, margin, prices) for prices in (free, found))

    def _prices(self, items: Sequence[_Item], margin: Margin, seconds: float) -> list[Fraction]:
        """Prices of the rows at which all is worth least, by a linear program; rounded, for any prices will do."""
        from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

        model = mathopt.Model()
        # Amounts of bytes are beyond what the solver takes for numbers of one size.
        scales = self._scales()
        most = [0.0 if room is None else math.inf for room in self.room]
        prices = [model.add_variable(lb=0.0, ub=limit) for limit in most]
        total: Any = sum(p * ((room or 0) / scale) for p, room, scale in zip(prices, self.room, scales, strict=True))
        for one, number, domains in items:
            worth = model.add_variable(lb=0.0)
            total += number * worth
            for domain in domains:
                parts = []
                for pod_set in one.pod_sets:
                    part = model.add_variable(lb=-math.inf)
                    parts.append(part)
                    for way in pod_set.ways:
                        for count in {pod_set.least, pod_set.most}:
                            gain = _best_margins(way, count, margin, domain)
                            charged = sum(prices[row] * (count * amount / scales[row]) for row, amount in way.charges)
                            model.add_linear_constraint(part + charged >= float(gain))
                model.add_linear_constraint(worth >= sum(parts))
        model.minimize(total)
        parameters = mathopt.SolveParameters(time_limit=timedelta(seconds=seconds))
        found = mathopt.solve(model, mathopt.SolverType.GLOP, params=parameters)
        if not found.has_primal_feasible_solution():
            return [ZERO] * len(prices)
        values = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in found.variable_values(prices)]
        return [max(ZERO, value / scale) for value, scale in zip(values, scales, strict=True)]

    def _scales(self) -> list[int]:
        """The largest amount of each row."""
        found = [1] * len(self.room)
        for one in self.workloads:
            for row, amount in (pair for pod_set in one.pod_sets for way in pod_set.ways for pair in way.charges):
                found[row] = max(found[row], amount)
        return found

    def _worth(self, items: Sequence[_Item], margin: Margin, prices: Sequence[Fraction]) -> Fraction:
        total = sum((price * (room or 0) for price, room in zip(prices, self.room, strict=True)), ZERO)
        for one, number, domains in items:
            worths = (_workload_worth(one, margin, prices, domain) for domain in domains)
            total += number * max(worths, default=ZERO)
        return total

    def most_placed(self, form: Mapping[bytes, Fraction], most: Mapping[bytes, Fraction]) -> Fraction:
        """What workloads count in a stage if so many units of each kind have a place at most."""
        total = ZERO
        for one, number in self.workloads.items():
            counts = [[self._placed(way, form, most) for way in pod_set.ways] for pod_set in one.pod_sets]
            total += number * sum((max(worths, default=ZERO) for worths in counts), ZERO)
        return total

    @staticmethod
    def _placed(way: _Way, form: Mapping[bytes, Fraction], most: Mapping[bytes, Fraction]) -> Fraction:
        return sum((min(most.get(kind, ZERO), Fraction(n)) * form.get(kind, ZERO) for kind, n in way.kinds), ZERO)


_Item = tuple[_Workload, int, tuple[str, ...]]
_LARGEST_DENOMINATOR = 1_000_000
# In seconds, where there is no limit.
_LONGEST_RUN = 3600.0


def _best_margins(way: _Way, count: int, margin: Margin, domain: str) -> Fraction:
    """What so many pods are worth with a choice before they are charged."""
    total, left = ZERO, count
    for worth, number in sorted(((margin(kind, domain), number) for kind, number in way.kinds), reverse=True):
        total += min(number, left) * worth
        left -= min(number, left)
    return total


def _workload_worth(one: _Workload, margin: Margin, prices: Sequence[Fraction], domain: str) -> Fraction:
    """What a workload is worth in a domain: all its pod sets, or nothing."""
    total = ZERO
    for pod_set in one.pod_sets:
        worths = (_way_worth(pod_set, way, margin, prices, domain) for way in pod_set.ways)
        best = max(worths, default=None)
        if best is None:
            return ZERO
        total += best
    return max(ZERO, total)


def _way_worth(pod_set: _PodSet, way: _Way, margin: Margin, prices: Sequence[Fraction], domain: str) -> Fraction:
    """What a pod set is worth with a choice: the pods that are worth most, as many as have to be and as gain."""
    total, taken = ZERO, 0
    for worth, number in _sorted_worths(way, margin, prices, domain):
        more = min(number, (pod_set.most if worth > 0 else pod_set.least) - taken)
        if more > 0:
            total, taken = total + more * worth, taken + more
    return total


def _sorted_worths(
    way: _Way, margin: Margin, prices: Sequence[Fraction], domain: str
) -> Iterator[tuple[Fraction, int]]:
    charged = sum((prices[row] * amount for row, amount in way.charges), ZERO)
    yield from sorted(((margin(kind, domain) - charged, number) for kind, number in way.kinds), reverse=True)


@dataclass(frozen=True, slots=True)
class QueuedKind:
    """Units of one shape: how many there are in all, and how many of them are in no gang."""

    kind: UnitKind
    shape: UnitShape
    units: int
    free: int


class QueuedKinds:
    """The units that wait, by kind, with their names, the gangs, and the workloads; ``total`` is how many there are.

    ``labels`` are those that gangs are bound to. ``of_nodes`` counts pods of DaemonSets, which go with their nodes.
    Claims that may be ``freed`` tie no unit to what they hold.
    """

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        sets: Sequence[UnitSet],
        quota: QuotaQueue | None = None,
        freed: Collection[ObjectKey] = (),
    ) -> None:
        self._freed = freed
        self.kinds: dict[bytes, QueuedKind] = {}
        self.gangs: dict[Gang, Counter[bytes]] = defaultdict(Counter)
        self.names: dict[tuple[str, int], bytes] = {}
        self.labels: set[str] = set()
        self.of_nodes: Counter[bytes] = Counter()
        self.demands = len({one.gang.key for one in sets if one.gang is not None and one.gang.demand is not None})
        self.total = 0
        self._quota = quota
        # Of workloads, for each of their pod sets and choices of flavors; and the labels that they are bound to.
        self._members: dict[tuple[int, int, int], Counter[bytes]] = defaultdict(Counter)
        self._bound: dict[int, str | None] = {}
        self._expander = UnitExpander(cluster, gates)
        for one in sets if quota is None else quota.sets:
            if one.numbers and not one.shape.problems:
                self._read(one)
        self.charged = None if quota is None else self._workloads(quota)

    def _read(self, one: UnitSet) -> None:
        quota, choices = self._quota, 0
        member = None if quota is None else quota.member_of_set(one)
        if quota is not None and member is not None and not quota.problems[member.workload]:
            choices = len(quota.problem.workloads[member.workload].pod_sets[member.pod_set].choices)
        unit = self._expander.unit(one, one.numbers[0]) if choices or member is None else None
        if unit is None or unit.problems:
            return
        self.total += one.replicas
        if one.gang is not None and one.gang.domain is not None:
            self.labels.add(one.gang.domain)
        if quota is None or member is None:
            self._add(one.shape.signature, one, unit, 0)
            if one.gang is not None:
                self.gangs[one.gang][one.shape.signature] += one.replicas
            return
        self._bound[member.workload] = one.gang.domain if one.gang else None
        for choice in range(choices):
            pod = chosen_pod(quota, one, unit.pod, choice)
            spec = pod.spec if pod else None
            added = (sorted((spec.node_selector or {}).items()), spec.tolerations) if spec else ()
            key = signature_of(one.shape.signature, repr(added))
            self._add(key, one, unit.with_pod(pod), choice)
            self._members[member.workload, member.pod_set, choice][key] += one.replicas

    def _add(self, key: bytes, one: UnitSet, unit: Unit, choice: int) -> None:
        """Add the units of a set to a kind."""
        known = self.kinds.get(key)
        if known is None:
            shared = {claim.key for claim in one.shape.claims if claim.key is not None and not claim.allocated}
            claims = (ref.claim for ref in unit.claims if ref.claim and not ref.allocated and ref.key not in shared)
            earlier = (allocation_of(ref) for ref in unit.claims if ref.key not in self._freed)
            kind = UnitKind(unit.pod, tuple(claims), tuple(one for one in earlier if one is not None))
            known = QueuedKind(kind, one.shape, 0, 0)
        free = one.replicas if one.gang is None else 0
        self.of_nodes.update({key: one.replicas} if one.node else {})
        self.kinds[key] = replace(known, units=known.units + one.replicas, free=known.free + free)
        self.names.update(((f"{one.namespace}/{one.unit_name(number)}", choice), key) for number in one.numbers)

    def _workloads(self, quota: QuotaQueue) -> QuotaBounds:
        """The workloads and the rows about them."""
        problem = quota.problem
        rows: dict[tuple[int, FlavorResource], int] = {}
        found: Counter[_Workload] = Counter()
        for place, label in self._bound.items():
            workload = problem.workloads[place]
            pod_sets = []
            for number, one in enumerate(workload.pod_sets):
                ways = []
                for choice, option in enumerate(one.choices):
                    kinds = self._members[place, number, choice]
                    charges: Counter[int] = Counter()
                    limited = problem.limited and workload.queue is not None
                    for pair, amount in one.usage(option, 1).items() if limited else ():
                        for node in problem.path(workload.queue or 0):
                            charges[rows.setdefault((node, pair), len(rows))] += amount
                    ways.append(_Way(tuple(sorted(kinds.items())), tuple(sorted(charges.items()))))
                pod_sets.append(_PodSet(one.count if one.minimum is None else one.minimum, one.most, tuple(ways)))
            found[_Workload(label, tuple(pod_sets))] += 1
        return QuotaBounds(found, _room(problem, list(rows)))
