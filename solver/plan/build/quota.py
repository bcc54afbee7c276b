"""Workloads that need quota, as gang classes of the master problem: what is admitted, with which flavors and counts.

Equal workloads of one queue are one admission class. For each way to choose flavors for pod sets of a group it has a
gang class, for each domain of a node label again. Where there are several groups or domains, a switch says how many
workloads are admitted, and each group chooses as often. A pod set that may be admitted in part has gang classes of
single pods, with rows for the least and the most of them.

Rows keep what all this is charged within the tree of queues and cohorts. With S, L and U of ``quota_ledger``, a root
has U at most S, and a node with a borrowing limit b has U at most S + b. A cohort uses the sum of t = max(0, U - L)
over its children. Only lower bounds of t matter, so that t is U where nothing is kept from lending, U - L where so much
is in use, and otherwise a gang class without members, with a row ``t >= U - L``. Where quota was taken away and a
cohort has less than nothing left, what its children may still use is what they keep, less what is missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd

from ....models.workload.expansion import QueuedUnit
from ....models.workload.quota import UNLIMITED, AdmittedPodSet, FlavorResource, QuotaProblem, QuotaQueue, QuotaWorkload
from ....models.workload.unit_classes import Gang
from ..master_problem import CouplingRow, MasterGangClass, Terms
from ..quota_ledger import QuotaLedger
from .gangs import Domain, GangAlternative, GangBuilder
from .units import ColocatedUnits, UnitClass


@dataclass(frozen=True, slots=True, eq=False)
class QuotaEntries:
    """The units of a workload: by pod set, and by choice of flavors, in the order of the queue."""

    workload: int
    gang: Gang | None
    pod_sets: tuple[tuple[tuple[ColocatedUnits, ...], ...], ...]

    def units(self) -> Iterator[ColocatedUnits]:
        """All units with all choices."""
        return (entry for by_choice in self.pod_sets for units in by_choice for entry in units)


def quota_entries(
    quota: QuotaQueue, queue: Sequence[QueuedUnit], units: Iterable[ColocatedUnits]
) -> tuple[list[QuotaEntries], dict[int, str]]:
    """The units of workloads with their flavors, and by position in the queue why some cannot be admitted."""
    found: dict[int, dict[int, list[ColocatedUnits]]] = defaultdict(lambda: defaultdict(list))
    for one in units:
        member = quota.member(one.units[0])
        if member is not None:
            found[member.workload][member.pod_set].append(one)
    entries, refused = [], dict[int, str]()
    for place, own in sorted(found.items()):
        workload = quota.problem.workloads[place]
        counts = [len(own.get(number, ())) for number in range(len(workload.pod_sets))]
        if counts != [one.count for one in workload.pod_sets]:
            said = f"{workload.label} is admitted with all of its pods only, and some of them have to wait"
            refused.update((position, said) for listed in own.values() for one in listed for position in one.positions)
            continue
        pod_sets = tuple(
            tuple(
                tuple(_with_choice(quota, one, choice) for one in own.get(number, ()))
                for choice in range(len(pod_set.choices))
            )
            for number, pod_set in enumerate(workload.pod_sets)
        )
        gang = next((one.units[0].unit_set.gang for listed in own.values() for one in listed), None)
        entries.append(QuotaEntries(place, gang, pod_sets))
    return entries, refused


def _with_choice(quota: QuotaQueue, one: ColocatedUnits, choice: int) -> ColocatedUnits:
    return ColocatedUnits(one.positions, tuple(quota.restricted(planned, choice) for planned in one.units), one.apart)


@dataclass(frozen=True, slots=True)
class FlavorWay:
    """A choice of a group in a domain: its gang class, and those of single pods by pod set and unit class."""

    choice: int
    gang: int
    counts: Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class AdmissionWays:
    """The ways of all groups in one domain; ``switch`` is None where the only group is its own switch."""

    domain: Domain | None
    switch: int | None
    groups: tuple[tuple[FlavorWay, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class AdmissionClass:
    """Equal workloads of one queue, in its order; ``members`` has for each pod set and choice the units of each."""

    like: QuotaWorkload
    entries: tuple[QuotaEntries, ...]
    members: tuple[tuple[Mapping[int, int], ...], ...]
    ways: tuple[AdmissionWays, ...]
    groups: tuple[tuple[int, ...], ...]

    def usage(self, group: int, way: FlavorWay) -> Counter[FlavorResource]:
        """What one workload is charged for the pod sets of a group that are admitted whole."""
        found: Counter[FlavorResource] = Counter()
        for place in self.groups[group]:
            one = self.like.pod_sets[place]
            if place not in way.counts:
                found.update(one.usage(one.choices[way.choice], one.count))
        return found

    def pod_usage(self, place: int, way: FlavorWay) -> dict[FlavorResource, int]:
        """What one pod of a pod set is charged."""
        one = self.like.pod_sets[place]
        return one.usage(one.choices[way.choice], 1)


@dataclass(frozen=True, slots=True)
class AdmittedWorkload:
    """What is admitted of a workload, and its units by role."""

    pod_sets: tuple[AdmittedPodSet, ...]
    units: tuple[tuple[int, ColocatedUnits], ...]


@dataclass
class AdmissionBuilder:
    """Makes admission classes with their gang classes and rows, which are added to those of ``gangs``."""

    quota: QuotaQueue
    gangs: GangBuilder
    classes: list[AdmissionClass] = field(default_factory=list)

    def build(self, entries: Sequence[QuotaEntries], class_of: Mapping[int, UnitClass]) -> None:
        """Add all workloads; ``class_of`` has the unit class of each entry by its id."""
        found: dict[object, list[QuotaEntries]] = defaultdict(list)
        for one in entries:
            found[self._key(one, class_of)].append(one)
        for own in found.values():
            self._add(own, class_of)
        for queue in sorted({one.like.queue for one in self.classes if one.like.queue is not None}):
            if self.quota.problem.nodes[queue].strict and self.quota.problem.limited:
                waiting = [one for one in self.classes if one.like.queue == queue and not one.like.grant]
                self._in_order(waiting)

    def _key(self, one: QuotaEntries, class_of: Mapping[int, UnitClass]) -> object:
        """Equal for workloads that are interchangeable."""
        workload = self.quota.problem.workloads[one.workload]
        strict = workload.queue is not None and self.quota.problem.nodes[workload.queue].strict
        members = [[_members(units, class_of) for units in by_choice] for by_choice in one.pod_sets]
        mixed = any(
            len(counts) > 1 and workload.pod_sets[place].minimum is not None
            for place, by_choice in enumerate(members)
            for counts in by_choice
        )
        if strict or mixed:
            return one.workload
        flavors = [
            (
                tuple(sorted(pod_set.charge.items())),
                pod_set.count,
                pod_set.minimum,
                pod_set.maximum,
                pod_set.group,
                tuple(tuple(sorted(choice.flavors.items())) for choice in pod_set.choices),
                tuple(tuple(sorted(counts.items())) for counts in by_choice),
            )
            for pod_set, by_choice in zip(workload.pod_sets, members, strict=True)
        ]
        domains = (one.gang.domain, one.gang.running_nodes) if one.gang else None
        return workload.queue, tuple(flavors), domains

    def _add(self, own: Sequence[QuotaEntries], class_of: Mapping[int, UnitClass]) -> None:
        first = own[0]
        workload = self.quota.problem.workloads[first.workload]
        classes = {class_of[id(entry)].index: class_of[id(entry)] for entry in first.units()}
        members = tuple(tuple(_members(units, class_of) for units in by_choice) for by_choice in first.pod_sets)
        groups = tuple(map(tuple, workload.groups))
        domains = list(self.gangs.domains_of(first.gang))
        demand = len(own)
        ways = []
        for domain in domains:
            found = tuple(
                tuple(
                    self._way(workload, group, choice, members, classes, domain, demand)
                    for choice in range(len(workload.pod_sets[group[0]].choices))
                )
                for group in groups
            )
            switch = None
            if len(groups) > 1:
                switch = self._gang({}, classes, None, demand)
                for own_ways in found:
                    chosen = {one.gang: 1 for one in own_ways}
                    self.gangs.rows.append(CouplingRow(Terms(gangs={**chosen, switch: -1}), lower=0, upper=0))
            ways.append(AdmissionWays(domain, switch, found))
        made = AdmissionClass(workload, tuple(own), members, tuple(ways), groups)
        admitted = admitted_terms(made)
        if len(admitted) > 1:
            self.gangs.rows.append(CouplingRow(Terms(gangs=dict.fromkeys(admitted, 1)), upper=demand))
        self.classes.append(made)

    def _way(
        self,
        workload: QuotaWorkload,
        group: tuple[int, ...],
        choice: int,
        members: Sequence[Sequence[Mapping[int, int]]],
        classes: Mapping[int, UnitClass],
        domain: Domain | None,
        demand: int,
    ) -> FlavorWay:
        whole: Counter[int] = Counter()
        partial = [place for place in group if workload.pod_sets[place].minimum is not None]
        for place in group:
            if place not in partial:
                whole.update(members[place][choice])
        gang = self._gang(whole, classes, domain, demand)
        counts = {}
        for place in partial:
            pod_set, own = workload.pod_sets[place], dict[int, int]()
            for index, most in sorted(members[place][choice].items()):
                own[index] = self._gang({index: 1}, classes, domain, most * demand)
                self.gangs.rows.append(CouplingRow(Terms(gangs={own[index]: 1, gang: -most}), upper=0))
            pods = dict.fromkeys(own.values(), 1)
            self.gangs.rows.append(CouplingRow(Terms(gangs={**pods, gang: -(pod_set.minimum or 0)}), lower=0))
            if pod_set.most < pod_set.count:
                self.gangs.rows.append(CouplingRow(Terms(gangs={**pods, gang: -pod_set.most}), upper=0))
            counts[place] = own
        return FlavorWay(choice, gang, counts)

    def _gang(
        self, sizes: Mapping[int, int], classes: Mapping[int, UnitClass], domain: Domain | None, demand: int
    ) -> int:
        roles = {index: self.gangs.roles.of(classes[index], domain).index for index in sorted(sizes)}
        members = tuple((roles[index], sizes[index]) for index in roles)
        return self.gangs.add(MasterGangClass(members, demand), GangAlternative(None, roles))

    def _in_order(self, classes: Sequence[AdmissionClass]) -> None:
        """In a strict queue nothing is admitted before what comes first (4.6)."""
        ordered = sorted(classes, key=lambda one: one.entries[0].workload)
        for before, after in pairwise(ordered):
            terms = {**dict.fromkeys(admitted_terms(after), 1), **dict.fromkeys(admitted_terms(before), -1)}
            self.gangs.rows.append(CouplingRow(Terms(gangs=terms), upper=0))


def admitted_terms(one: AdmissionClass) -> list[int]:
    """The gang classes that together say how many workloads are admitted."""
    found = []
    for ways in one.ways:
        found += [way.gang for way in ways.groups[0]] if ways.switch is None else [ways.switch]
    return found


def _members(units: Sequence[ColocatedUnits], class_of: Mapping[int, UnitClass]) -> dict[int, int]:
    return dict(Counter(class_of[id(entry)].index for entry in units))


def admitted_workloads(
    classes: Sequence[AdmissionClass],
    gangs: Sequence[int],
    class_of: Mapping[int, UnitClass],
    roles: Mapping[tuple[int, Domain | None], int],
) -> dict[int, AdmittedWorkload]:
    """Say by position of the workload what a plan admits; of equal workloads the first come first."""
    found: dict[int, AdmittedWorkload] = {}
    for one in classes:
        waiting = iter(one.entries)
        for ways in one.ways:
            number = sum(gangs[way.gang] for way in ways.groups[0])
            own = [next(waiting) for _ in range(number)]
            dealt = [dict[int, tuple[AdmittedPodSet, FlavorWay]]() for _ in own]
            for group, chosen in zip(one.groups, ways.groups, strict=True):
                _deal(one, group, chosen, gangs, dealt)
            for entries, admitted in zip(own, dealt, strict=True):
                units = []
                for place, (each, way) in sorted(admitted.items()):
                    there = entries.pod_sets[place][each.choice]
                    counts = way.counts.get(place, {})
                    left = {index: gangs[gang] for index, gang in counts.items()} if len(counts) > 1 else {}
                    if left:
                        listed = [entry for entry in there if _takes(left, class_of[id(entry)].index)]
                    else:
                        listed = list(there[: each.count])
                    units += [(roles[class_of[id(entry)].index, ways.domain], entry) for entry in listed]
                pod_sets = tuple(each for _, (each, _) in sorted(admitted.items()))
                found[entries.workload] = AdmittedWorkload(pod_sets, tuple(units))
    return found


def _takes(left: dict[int, int], index: int) -> bool:
    left[index] -= 1
    return left[index] >= 0


def _deal(
    one: AdmissionClass,
    group: tuple[int, ...],
    chosen: Sequence[FlavorWay],
    gangs: Sequence[int],
    dealt: Sequence[dict[int, tuple[AdmittedPodSet, FlavorWay]]],
) -> None:
    """Deal the ways of a group to workloads in order, and the pods of each way as evenly as the first ones allow."""
    first = 0
    for way in chosen:
        own = dealt[first : first + gangs[way.gang]]
        first += len(own)
        for place in group:
            pod_set, counts = one.like.pod_sets[place], way.counts.get(place)
            least = pod_set.count if counts is None else pod_set.minimum or 0
            spare = 0 if counts is None else sum(gangs[index] for index in counts.values()) - least * len(own)
            for admitted in own:
                more = min(pod_set.most - least, spare)
                spare -= more
                admitted[place] = AdmittedPodSet(least + more, way.choice), way


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
        shares = self.ledger.shares_of_cohorts(pair)
        # Excess variables are numbered below zero until their step is known.
        for place in reversed(range(len(nodes))):
            own = self._own_usage(place, pair, forms)
            if own is None:
                continue
            limit = self._limit(place, pair, shares[place])
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

    def _limit(self, place: int, pair: FlavorResource, share: int) -> int | None:
        """The most that a node may use; ``share`` is what it can get from its cohort."""
        (has, keeps), node = self.ledger.quota(pair), self.problem.nodes[place]
        if node.parent is None:
            return None if has[place] >= UNLIMITED else has[place]
        if share < 0:
            return keeps[place] + share
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
