"""The stage ``preferences`` in a plan's instance: what nodes count for units, and units for one another.

*Nodes*: what a node counts for a unit, beside the pods that run, is the same for all nodes of a class. It is a measure
of bundles. Pods that prefer something about one another on one node are in it, too.

*Rows*: where a topology key has domains of several nodes, units have roles by domain (``pod_rules``), and rows count
them. Of a number n of pods that prefer to be together there are n (n - 1) / 2 pairs: the k-th pod adds k - 1 of them.
So pairs are counted by steps, gangs without members that follow from what is placed (``GangFollowers``). The pairs of
two kinds of pods are those of both together without those of each. Of a spread constraint each domain has the pods that
are no more than ``maxSkew`` above the least one, which is a number of its own.

Steps and numbers may always be zero, and then say too little. So earlier stages do not depend on them. Pairs that have
no rows count nothing in the search; ``slack`` is the most that they come to, which a bound adds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, pairwise

from ....encoders.rows import Term
from ....models.cluster.cluster import Cluster
from ....models.kubernetes.core import HOSTNAME_LABEL, Node, NodeSelectorTerm
from ....models.workload.expansion import QueuedUnit, unit_runs
from ....models.workload.pod_rules import PodTerm, SpreadRule
from ....models.workload.preferences import HEAVIEST, SOFT_EFFECT, PodPreferences, PreferenceLedger, preference_score
from ....problem.problem import InUse
from ..master_problem import CouplingRow, MasterGangClass, MasterProblem, ObjectiveStage, Terms
from ..pricing.bundle import AggregateMeasure, Bundle, BundleQuestion, BundleUnit, MeasureContext, ordered_steps
from .gangs import GangAlternative, GangBuilder, GangRole
from .units import UnitClass

PREFERENCES = "preferences"
# With more steps than this for one topology key its pairs have no rows.
_MOST_STEPS = 2000
# A column may hold more units of a class than are queued.
_MANY_COPIES = 128
_Pods = tuple[PodPreferences, ...]


@dataclass(frozen=True, slots=True)
class PreferencesMeasure(AggregateMeasure):
    """What copies miss of the most that a unit can count: ``costs`` by unit, without pairs on the node.

    Each of ``pairs`` has units, with the pods of one copy, and what each pair of these pods counts.
    """

    costs: Mapping[int, int]
    pairs: tuple[tuple[Mapping[int, int], int], ...] = ()
    id: str = PREFERENCES

    def terms(self, measured: MeasureContext) -> list[Term]:
        """The k-th of several pods makes k - 1 pairs."""
        listed = zip(measured.units, measured.model.units.placed, strict=True)
        placed = {unit.index: variable for unit, variable in listed if unit.measured}
        found = [(variable, cost) for index, variable in placed.items() if (cost := self.costs.get(index, 0))]
        for pods, worth in self.pairs:
            own = [(placed[index], number) for index, number in pods.items() if index in placed]
            steps = ordered_steps(measured.model.rows, own)
            found += [(step, -worth * number) for number, step in enumerate(steps) if number]
        return found

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Count the copies and the pairs of their pods."""
        counts = {unit.index: count for unit, count in zip(units, bundle.counts, strict=True) if unit.measured}
        total = sum(self.costs.get(index, 0) * count for index, count in counts.items())
        for pods, worth in self.pairs:
            total -= worth * _pairs(sum(number * counts.get(index, 0) for index, number in pods.items()))
        return total

    def uniform_cost(self, unit: BundleUnit, in_use: InUse) -> int | None:
        """What each copy costs, unless it makes pairs."""
        if not unit.measured:
            return 0
        return None if any(unit.index in pods for pods, _ in self.pairs) else self.costs.get(unit.index, 0)


def _pairs(number: int) -> int:
    return number * (number - 1) // 2


@dataclass(frozen=True, slots=True)
class _PairSteps:
    """Steps of the number of pods of some roles: of each pair that is there, or of each that is not, up to ``most``."""

    roles: tuple[int, ...]
    gangs: tuple[int, ...]
    absent: bool
    most: int


@dataclass(frozen=True, slots=True)
class _Evenness:
    """The least number of pods in a domain, and by domain the gang, the roles, and how many pods run."""

    least: int
    domains: tuple[tuple[int, tuple[int, ...], int], ...]
    max_skew: int


@dataclass(frozen=True, slots=True)
class PreferenceFollowers:
    """Sets steps and numbers by the units that are placed."""

    steps: tuple[_PairSteps, ...]
    evenness: tuple[_Evenness, ...]

    def settled(self, units: Sequence[int], gangs: Sequence[int]) -> tuple[int, ...]:
        """The gangs with these as good as they can be."""
        found = list(gangs)
        for one in self.steps:
            number = sum(units[role] for role in one.roles)
            reached = max(0, one.most - number) if one.absent else number
            for place, gang in enumerate(one.gangs):
                found[gang] = int(place < reached)
        for rule in self.evenness:
            numbers = [there + sum(units[role] for role in roles) for _, roles, there in rule.domains]
            least = found[rule.least] = min(numbers)
            for (gang, _, _), number in zip(rule.domains, numbers, strict=True):
                found[gang] = min(number, least + rule.max_skew)
        return tuple(found)


@dataclass
class PreferencePlan:
    """What units prefer on the nodes of a plan.

    ``nodes`` may be used, with one for each template; ``new`` are names of those that could be bought. ``earlier`` are
    units that are placed already. ``constant`` is what they count, with what rows count beside their terms.
    """

    cluster: Cluster
    nodes: Sequence[Node]
    new: Collection[str]
    unit_classes: Sequence[UnitClass]
    queue: Sequence[QueuedUnit]
    earlier: Sequence[tuple[QueuedUnit, str]]
    slack: int = 0
    constant: int = 0
    _units: Counter[int] = field(default_factory=Counter)
    _gangs: dict[int, int] = field(default_factory=dict)
    _steps: list[_PairSteps] = field(default_factory=list)
    _evenness: list[_Evenness] = field(default_factory=list)
    _roles: Sequence[GangRole] = ()
    _demands: Sequence[int] = ()

    def __post_init__(self) -> None:
        self._pods = {one.index: _pods_of(one) for one in self.unit_classes}
        self._number: Counter[PodPreferences] = Counter()
        for one in self.unit_classes:
            for wishes, number in self._pods[one.index].items():
                self._number[wishes] += number * len(one.entries)
        self._ledger = PreferenceLedger(self.cluster)
        for wishes, node in placed_pods(self.earlier):
            self._ledger.add(wishes, node)
        self.constant = preference_score(self.cluster, placed_pods(self.earlier), ())
        self._rules = soft_rules(self.queue)
        terms = (term for one in self._number for term in (*dict(one.terms), *sorted(one.selected_by, key=_name)))
        self._terms = list(dict.fromkeys(terms))
        keys = dict.fromkeys(one.topology_key for one in self._terms)
        self._worth = {key: _pair_worth(self._number, key) for key in keys}
        self._local = sorted(filter(self._is_local, self._worth))
        tests = [test for own in self._selectors() for test in own.match_expressions or ()]
        selected = {key for rule in self._own_rules for key in (*rule.keys, *(rule.admission.node_selector or ()))}
        self._labels = sorted({test.key for test in tests} | selected)
        self._by_name = any(own.match_fields for own in self._selectors())
        self._scores: dict[Hashable, tuple[int, ...]] = {}
        self._best: dict[int, int] = {}
        faces = dict.fromkeys(map(self.scores, self.nodes))
        self._node_scores = [dict(zip(self._number, face, strict=False)) for face in faces]

    @property
    def _own_rules(self) -> list[SpreadRule]:
        return [rule for one in self._number for rule in one.spread]

    def _selectors(self) -> Iterator[NodeSelectorTerm]:
        """All terms that look at nodes by themselves."""
        yield from (term for one in self._number for term, _ in one.nodes)
        for rule in self._own_rules:
            affinity = rule.admission.affinity.node_affinity if rule.admission.affinity else None
            selector = affinity.required if affinity else None
            yield from (selector.node_selector_terms if selector else None) or ()

    def _is_local(self, key: str) -> bool:
        """Whether each domain is one node; several new nodes have a host name each, and other labels in common."""
        there = [node for node in self.nodes if key in (node.metadata.labels or {})]
        if key != HOSTNAME_LABEL and any(node.metadata.name in self.new for node in there):
            return False
        values = [(node.metadata.labels or {})[key] for node in there if node.metadata.name not in self.new]
        return len(set(values)) == len(values)

    def keys(self, role: GangRole) -> set[str]:
        """The labels by which a role is to be split."""
        own = self._pods[role.unit_class.index].keys()
        pairs = {key for key, worth in self._worth.items() if any(not own.isdisjoint(pods) for pods in worth)}
        return pairs.difference(self._local) | {
            rule.topology_key for rule in self._rules if any(rule in one.counted_by for one in own)
        }

    def scores(self, node: Node) -> tuple[int, ...]:
        """What a node counts for each kind of pods beside those that run, and in which domains of one node it is."""
        labels, name = node.metadata.labels or {}, node.metadata.name
        taints = (node.spec.taints if node.spec else None) or ()
        domains = [(term, labels.get(term.topology_key)) for term in self._terms]
        face = (
            name if self._by_name or (node.spec and node.spec.unschedulable) else "",
            tuple(labels.get(key) for key in self._labels),
            tuple(taint for taint in taints if self._own_rules or taint.effect == SOFT_EFFECT),
            tuple(own if own is not None and self._ledger.touches(term, own) else None for term, own in domains),
            tuple(key in labels for key in self._local),
        )
        if face not in self._scores:
            there = (int(key in labels) for key in self._local)
            self._scores[face] = (*(self._ledger.score(one, name) for one in self._number), *there)
        return self._scores[face]

    def followed(self, problem: MasterProblem, roles: Sequence[GangRole]) -> MasterProblem:
        """Say which roles there are, and set what follows from the units that are placed."""
        self._roles, self._demands = roles, problem.demands()
        followers = PreferenceFollowers(tuple(self._steps), tuple(self._evenness))
        return replace(problem, followers=followers) if self._steps or self._evenness else problem

    def measure(self, node: Node, question: BundleQuestion) -> PreferencesMeasure:
        """The measure of a node class's question."""
        by_pods = dict(zip(self._number, self.scores(node), strict=False))
        own = {unit.index: self._pods[self._roles[unit.index].unit_class.index] for unit in question.units}
        pairs = []
        for key in self._local:
            for pods, worth in _pair_sums(self._worth[key]) if key in (node.metadata.labels or {}) else ():
                numbers = {index: sum(wishes[one] for one in pods) for index, wishes in own.items()}
                pairs.append(({index: number for index, number in numbers.items() if number}, worth))
        costs = {index: self._most(self._roles[index]) - _sum_over(by_pods, wishes) for index, wishes in own.items()}
        return PreferencesMeasure(
            {index: cost for index, cost in costs.items() if cost}, tuple(pair for pair in pairs if pair[0])
        )

    def _most(self, role: GangRole) -> int:
        """The most that a unit adds on any node, whatever else is there: so no bundle costs less than a part of it."""
        index = role.unit_class.index
        if index not in self._best:
            own = self._pods[index]
            best = max((_sum_over(one, own) for one in self._node_scores), default=0)
            beside: Counter[PodPreferences] = Counter()
            for other, demand in zip(self._roles, self._demands, strict=True):
                for wishes, number in self._pods[other.unit_class.index].items():
                    beside[wishes] += number * max(demand, _MANY_COPIES)
            sums = (pair for key in self._local for pair in _pair_sums(self._worth[key]))
            best += sum(
                worth * sum(own[one] for one in pods) * sum(beside[one] for one in pods)
                for pods, worth in sums
                if worth > 0
            )
            self._best[index] = best
        return self._best[index]

    @property
    def largest(self) -> int:
        """What one more unit changes in the measure at most, roughly."""
        return max((abs(score) for node in self.nodes for score in self.scores(node)), default=0)

    def stage(self, gangs: Sequence[MasterGangClass], meter: int) -> ObjectiveStage:
        """The stage; ``meter`` is that of the measure."""
        most = {role.index: self._most(role) for role in self._roles}
        units = {index: most[index] + self._units[index] for index in most}
        members = {place: sum(size * most[index] for index, size in gang.members) for place, gang in enumerate(gangs)}
        terms = Terms(units=units, gangs={**members, **self._gangs}, usage={meter: -1})
        return ObjectiveStage(PREFERENCES, terms, offset=self.constant)

    @property
    def limit(self) -> int:
        """No plan at all counts more."""
        ledger = PreferenceLedger(self.cluster)
        numbers = _wishes(self.queue)
        total = sum(max(0, ledger.most(one)) * number for one, number in numbers.items())
        keys = {term.topology_key for one in numbers for term, _ in one.terms}
        return total + sum(_most_of_pairs(_pair_worth(numbers, key), numbers) for key in sorted(keys))

    def rows(self, gangs: GangBuilder) -> Iterator[CouplingRow]:
        """Yield the rows about domains of several nodes, once roles are split."""
        members = {index for gang in gangs.gangs for index, _ in gang.members}
        waiting = [role for role in gangs.roles.all if role.ungrouped or role.index in members]
        for key in sorted(self._worth.keys() - set(self._local)):
            yield from self._pair_rows(gangs, key, waiting)
        if not self.new:
            for rule in self._rules:
                yield from self._even_rows(gangs, rule, waiting)

    def _split(
        self, key: str, roles: Iterable[GangRole]
    ) -> tuple[set[PodPreferences], Mapping[str, Sequence[GangRole]]]:
        """The pods of which some are not told apart by domain, and the roles by domain of the others."""
        unsplit: set[PodPreferences] = set()
        found: dict[str, list[GangRole]] = defaultdict(list)
        for role in roles:
            cell = dict(role.cell)
            if key not in cell:
                unsplit |= self._pods[role.unit_class.index].keys()
            elif (value := cell[key]) is not None:
                found[value].append(role)
        return unsplit, found

    def _pair_rows(self, gangs: GangBuilder, key: str, roles: Iterable[GangRole]) -> Iterator[CouplingRow]:
        unsplit, domains = self._split(key, roles)
        told = {pods: worth for pods, worth in self._worth[key].items() if unsplit.isdisjoint(pods)}
        sums = _pair_sums(told)
        listed = [(own, pods, worth) for own in domains.values() for pods, worth in sums]
        counted = [(self._of(own, pods), worth) for own, pods, worth in listed]
        if sum(_demand(own) for own, _ in counted) > _MOST_STEPS:
            told, counted = {}, []
        left = {pods: worth for pods, worth in self._worth[key].items() if pods not in told}
        self.slack += _most_of_pairs(left, self._number)
        for own, worth in counted:
            if own:
                yield from self._step_rows(gangs, own, worth)

    def _of(self, roles: Iterable[GangRole], pods: _Pods) -> list[GangRole]:
        return [role for role in roles if not self._pods[role.unit_class.index].keys().isdisjoint(pods)]

    def _step_rows(self, gangs: GangBuilder, roles: Sequence[GangRole], worth: int) -> Iterator[CouplingRow]:
        """Count pairs that are welcome, and of those that are not all there may be without those that are not there."""
        most, units = _demand(roles), [role.index for role in roles]
        absent = worth < 0
        steps = [self._gang(gangs, 1) for _ in range(most - absent)]
        self._steps.append(_PairSteps(tuple(units), tuple(steps), absent, most))
        for place, step in enumerate(steps):
            self._gangs[step] = (most - 1 - place) * -worth if absent else place * worth
        if absent:
            self.constant += worth * _pairs(most)
            yield CouplingRow(Terms(units=dict.fromkeys(units, 1), gangs=dict.fromkeys(steps, 1)), upper=most)
            return
        yield CouplingRow(Terms(units=dict.fromkeys(units, -1), gangs=dict.fromkeys(steps, 1)), upper=0)
        for step, following in pairwise(steps):
            yield CouplingRow(Terms(gangs={following: 1, step: -1}), upper=0)

    def _even_rows(self, gangs: GangBuilder, rule: SpreadRule, roles: Sequence[GangRole]) -> Iterator[CouplingRow]:
        """Of each domain those count as too many that are no more than the skew above the least, and not counted so."""
        own = [role for role in roles if any(rule in one.counted_by for one in self._pods[role.unit_class.index])]
        unsplit, domains = self._split(rule.topology_key, own)
        numbers, counting = self._ledger.numbers(rule), self._ledger.domains(rule)
        statuses: dict[str | None, set[bool]] = defaultdict(set)
        for node in self.nodes:
            value = (node.metadata.labels or {}).get(rule.topology_key)
            statuses[value].add(node.metadata.name in counting)
        # Of a domain all nodes count, or none.
        mixed = any(len(known) > 1 for known in statuses.values())
        if unsplit or mixed or not numbers:
            return
        total = _demand(own)
        least = self._gang(gangs, max(numbers.values()) + total)
        listed = []
        for value, number in sorted(numbers.items()):
            units = tuple(role.index for role in domains.get(value, ()))
            even = self._gang(gangs, number + total)
            listed.append((even, units, number))
            self._gangs[even] = HEAVIEST
            self.constant -= HEAVIEST * number
            self._units.update(dict.fromkeys(units, -HEAVIEST))
            for gang in (least, even):
                yield CouplingRow(Terms(units=dict.fromkeys(units, -1), gangs={gang: 1}), upper=number)
            yield CouplingRow(Terms(gangs={even: 1, least: -1}), upper=rule.max_skew)
        self._evenness.append(_Evenness(least, tuple(listed), rule.max_skew))

    def _gang(self, gangs: GangBuilder, most: int) -> int:
        return gangs.add(MasterGangClass((), most), GangAlternative(None, {}))


def placed_pods(units: Iterable[tuple[QueuedUnit, str]]) -> Iterator[tuple[PodPreferences, str]]:
    """Yield what units on nodes prefer; loose claims prefer nothing."""
    for planned, node in units:
        if planned.unit_set.shape.preferences is not None:
            yield planned.unit_set.shape.preferences, node


def counted_preferences(
    cluster: Cluster, queue: Sequence[QueuedUnit], assigned: Mapping[int, tuple[Node, object]]
) -> int:
    """What the units that are placed count in the stage ``preferences``; these are given by place, with their nodes."""
    placed = ((queue[place], node.metadata.name) for place, (node, _) in assigned.items())
    return preference_score(cluster, placed_pods(placed), soft_rules(queue))


def soft_rules(queue: Sequence[QueuedUnit]) -> list[SpreadRule]:
    """The spread constraints that count: those of all pods of the queue, each once."""
    return list(dict.fromkeys(rule for one in _wishes(queue) for rule in one.spread))


def _wishes(queue: Sequence[QueuedUnit]) -> Counter[PodPreferences]:
    found: Counter[PodPreferences] = Counter()
    for one, places in unit_runs(queue):
        if one.shape.preferences is not None:
            found[one.shape.preferences] += len(places)
    return found


def _pods_of(unit_class: UnitClass) -> Counter[PodPreferences]:
    return Counter(shape.preferences for shape in unit_class.shapes if shape.preferences is not None)


def _name(term: PodTerm) -> str:
    return term.name


def _demand(roles: Iterable[GangRole]) -> int:
    return sum(len(role.ungrouped) for role in roles)


def _sum_over(by_pods: Mapping[PodPreferences, int], pods: Mapping[PodPreferences, int]) -> int:
    return sum(by_pods[one] * number for one, number in pods.items())


def _pair_worth(pods: Iterable[PodPreferences], key: str) -> dict[_Pods, int]:
    """What a pair of pods in one domain counts, both sides of it together, by what they prefer."""
    kinds = [one for one in pods if any(term.topology_key == key for term in (*dict(one.terms), *one.selected_by))]
    worth = {
        tuple(dict.fromkeys([one, other])): one.about(other)[key] + other.about(one)[key]
        for one, other in combinations_with_replacement(kinds, 2)
    }
    return {own: amount for own, amount in worth.items() if amount}


def _pair_sums(worth: Mapping[_Pods, int]) -> list[tuple[_Pods, int]]:
    """The same as sums over pairs within sets of pods: those of two kinds are those of both without those of each."""
    found: Counter[_Pods] = Counter()
    for pods, amount in worth.items():
        found[pods] += amount
        for one in pods if len(pods) > 1 else ():
            found[one,] -= amount
    return [(pods, amount) for pods, amount in found.items() if amount]


def _most_of_pairs(worth: Mapping[_Pods, int], numbers: Mapping[PodPreferences, int]) -> int:
    """What pairs come to at most, if all pods are in one domain."""
    total = 0
    for pods, amount in worth.items():
        own = [numbers[one] for one in pods]
        total += max(0, amount) * (_pairs(own[0]) if len(own) == 1 else own[0] * own[1])
    return total
