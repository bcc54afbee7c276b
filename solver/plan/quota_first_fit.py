"""First fit with quota: workloads are admitted one after the other, each where quota is left and its pods find nodes.

This is what a plan with quota is measured against. The highest priority comes first, and of equal ones the order of the
quota's workloads. Flavors are tried in their order. Of a pod set that may be smaller as many pods are admitted as find
quota and nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice, product

from ...models.workload.expansion import QueuedUnit
from ...models.workload.quota import Admissions, AdmittedPodSet, QuotaQueue
from ...models.workload.unit_classes import Gang
from ..engines.engine import Session
from .first_fit import AssignedUnits, FirstFit, SequentialScheduler, context_beside
from .node_choice import FirstFitPolicy
from .node_states import TimeOverError
from .quota_ledger import QuotaLedger

# So many ways to choose flavors for several groups of pod sets are tried.
_MOST_WAYS = 16


def quota_first_fit(
    session: Session,
    queue: Sequence[QueuedUnit],
    quota: QuotaQueue,
    arriving: Sequence[int],
    deadline: float | None = None,
    *,
    placed: AssignedUnits | None = None,
    admissions: Admissions | None = None,
    usable: Container[str] | None = None,
) -> tuple[FirstFit, dict[int, tuple[AdmittedPodSet, ...]]]:
    """Place units of the queue as ``first_fit`` does, and those of workloads with quota; also return the admissions.

    ``admissions`` are those of units that are ``placed`` already.
    """
    before, admitted = placed or {}, admissions or {}
    try:
        return _QuotaFirstFit(session, queue, quota, arriving, deadline, before, admitted, usable).run()
    except TimeOverError:
        return FirstFit(before, False), dict(admitted)


class _QuotaFirstFit:
    def __init__(
        self,
        session: Session,
        queue: Sequence[QueuedUnit],
        quota: QuotaQueue,
        arriving: Sequence[int],
        deadline: float | None,
        placed: AssignedUnits,
        admissions: Admissions,
        usable: Container[str] | None,
    ) -> None:
        self._queue = queue
        self._quota = quota
        self._before = dict(placed)
        self._admissions = dict(admissions)
        self._ledger = QuotaLedger(quota.problem, admissions)
        self._pods: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._plain: dict[Gang | int, list[int]] = defaultdict(list)
        for place in arriving:
            member = quota.member(queue[place])
            if member is None:
                self._plain[queue[place].unit_set.gang or place].append(place)
            elif member.workload not in admissions:
                self._pods[member.workload][member.pod_set].append(place)
        there = quota.admitted_queue(queue, admissions)
        units = [queue[place] for own in self._plain.values() for place in own]
        context = context_beside(session, there, [*units, *self._variants()], deadline, self._before, usable)
        earlier = [(there[place], name) for place, (name, _) in self._before.items()]
        made = {ref.key: allocation for _, own in self._before.values() for ref, allocation in own}
        self._scheduler = SequentialScheduler(context, FirstFitPolicy(), earlier=earlier, made=made)
        self._positions: dict[int, int] = {}

    def run(self) -> tuple[FirstFit, dict[int, tuple[AdmittedPodSet, ...]]]:
        interrupted, blocked = False, set[int]()
        try:
            for item in self._items():
                if not self._scheduler.in_time:
                    break
                if isinstance(item, list):
                    self._scheduler.run([self._known(place, self._queue[place]) for place in item])
                    continue
                queue = self._strict_queue(item)
                if queue is None or queue not in blocked:
                    is_admitted = self._admit(item)
                    if queue is not None and not is_admitted:
                        blocked.add(queue)
        except KeyboardInterrupt:
            interrupted = True
        found = {self._positions[id(unit.unit)]: (name, own) for unit, name, own in self._scheduler.placements()}
        # An interrupt may leave pods of a workload that was not admitted.
        found = {place: one for place, one in found.items() if self._may_stay(place)}
        in_time = self._scheduler.in_time and not interrupted
        return FirstFit({**self._before, **found}, in_time, interrupted), self._admissions

    def _may_stay(self, place: int) -> bool:
        member = self._quota.member(self._queue[place])
        return member is None or member.workload in self._admissions

    def _strict_queue(self, place: int) -> int | None:
        """The queue of a workload that must not be admitted before others."""
        problem = self._quota.problem
        workload = problem.workloads[place]
        if workload.queue is None or workload.grant or not problem.limited:
            return None
        return workload.queue if problem.nodes[workload.queue].strict else None

    def _variants(self) -> Iterator[QueuedUnit]:
        """Yield a unit of each set with each choice of flavors."""
        seen: set[int] = set()
        for workload, own in self._pods.items():
            for number, places in own.items():
                for place in places:
                    planned = self._queue[place]
                    if id(planned.unit_set) not in seen:
                        seen.add(id(planned.unit_set))
                        choices = len(self._quota.problem.workloads[workload].pod_sets[number].choices)
                        yield from (self._quota.restricted(planned, choice) for choice in range(choices))

    def _items(self) -> Iterator[int | list[int]]:
        """Yield workloads, and the places of units without quota, by priority."""
        plain: dict[int, list[int]] = defaultdict(list)
        for places in self._plain.values():
            plain[self._queue[places[0]].unit_set.shape.priority] += places
        charged: dict[int, list[int]] = defaultdict(list)
        for workload in sorted(self._pods):
            first = next(place for places in self._pods[workload].values() for place in places)
            charged[self._queue[first].unit_set.shape.priority].append(workload)
        for priority in sorted({*plain, *charged}, reverse=True):
            yield from charged[priority]
            if plain[priority]:
                yield plain[priority]

    def _known(self, place: int, unit: QueuedUnit) -> QueuedUnit:
        self._positions[id(unit.unit)] = place
        return unit

    def _admit(self, place: int) -> bool:
        """Admit a workload in the first way that finds quota and nodes."""
        workload = self._quota.problem.workloads[place]
        groups = workload.groups
        choices = [range(len(workload.pod_sets[group[0]].choices)) for group in groups]
        for chosen in islice(product(*choices), _MOST_WAYS):
            choice_of = {number: choice for group, choice in zip(groups, chosen, strict=True) for number in group}
            counts = self._charged(place, choice_of)
            if counts is None:
                continue
            admitted = self._placed(place, choice_of, counts)
            self._charge(place, choice_of, counts, -1)
            if admitted is not None:
                self._charge(place, choice_of, admitted, 1)
                self._admissions[place] = tuple(
                    AdmittedPodSet(count, choice_of[number]) for number, count in sorted(admitted.items())
                )
                return True
            if not self._scheduler.in_time:
                break
        return False

    def _charge(self, place: int, choice_of: Mapping[int, int], counts: Mapping[int, int], sign: int) -> None:
        workload = self._quota.problem.workloads[place]
        for number, count in counts.items():
            pod_set = workload.pod_sets[number]
            self._ledger.add(workload, pod_set.usage(pod_set.choices[choice_of[number]], count), sign)

    def _charged(self, place: int, choice_of: Mapping[int, int]) -> dict[int, int] | None:
        """Charge the most pods of each pod set for which there is quota; None if they are too few for some set."""
        workload = self._quota.problem.workloads[place]
        counts: dict[int, int] = {}
        # A pod set that may be smaller gets what the others leave.
        order = sorted(range(len(workload.pod_sets)), key=lambda number: workload.pod_sets[number].minimum is not None)
        for number in order:
            pod_set = workload.pod_sets[number]
            choice = pod_set.choices[choice_of[number]]
            if pod_set.minimum is None:
                fits = self._ledger.most(workload, pod_set.usage(choice, pod_set.count), 1) * pod_set.count
                least = pod_set.count
            else:
                fits = self._ledger.most(workload, pod_set.usage(choice, 1), pod_set.most)
                least = pod_set.minimum
            if fits < least:
                self._charge(place, choice_of, counts, -1)
                return None
            counts[number] = fits
            self._charge(place, choice_of, {number: fits}, 1)
        return counts

    def _placed(self, place: int, choice_of: Mapping[int, int], counts: Mapping[int, int]) -> dict[int, int] | None:
        """Place pods of a workload, and say how many of each pod set are; None if too few, so that none are."""
        own, pod_sets = self._pods[place], self._quota.problem.workloads[place].pod_sets
        units = {
            number: [
                self._known(position, self._quota.restricted(self._queue[position], choice_of[number]))
                for position in own[number][:count]
            ]
            for number, count in counts.items()
        }
        arriving = [unit for _, listed in sorted(units.items()) for unit in listed]
        self._scheduler.run(arriving)
        there = {number: [one for one in listed if self._scheduler.is_placed(one)] for number, listed in units.items()}
        if all(
            len(there[number]) >= (one.count if one.minimum is None else one.minimum)
            for number, one in enumerate(pod_sets)
        ):
            return {number: len(listed) for number, listed in there.items()}
        self._scheduler.withdraw(one for listed in there.values() for one in listed)
        return None
