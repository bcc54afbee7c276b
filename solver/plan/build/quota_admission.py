"""What a plan admits, read from its gang classes, and a greedy choice of admissions that keeps to quota and room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....models.workload.quota import AdmittedPodSet, QuotaProblem, QuotaQueue
from ..master_problem import MasterGangClass, ObjectiveStage
from ..quota_ledger import QuotaLedger
from .gangs import Domain, GangBuilder
from .quota import (
    AdmissionBuilder,
    AdmissionClass,
    AdmissionWays,
    AdmittedWorkload,
    ExcessVariable,
    FlavorWay,
    QuotaEntries,
    QuotaRows,
    admitted_workloads,
)
from .quota_stages import QuotaStages
from .units import UnitClass


@dataclass(frozen=True, slots=True, eq=False)
class PlannedAdmissions:
    """The admission classes of an instance; see ``PlanCompletion`` for ``choose``."""

    problem: QuotaProblem
    classes: Sequence[AdmissionClass]
    gangs: Sequence[MasterGangClass]
    excess: Sequence[ExcessVariable]
    stages: QuotaStages
    class_of: Mapping[int, UnitClass]
    roles: Mapping[tuple[int, Domain | None], int]
    sizes: Sequence[int] = ()

    @property
    def decided(self) -> Sequence[Sequence[int]]:
        """The gang classes of the workloads of each queue, and not those that count their usage."""
        found: dict[int | None, list[int]] = {}
        for one in self.classes:
            found.setdefault(one.like.queue, []).extend(_gang_numbers(one))
        return list(found.values())

    def admitted(self, gangs: Sequence[int]) -> dict[int, AdmittedWorkload]:
        """What a plan with these numbers of gangs admits, by position of the workload."""
        return admitted_workloads(self.classes, gangs, self.class_of, self.roles)

    def settled(self, gangs: Sequence[int]) -> tuple[int, ...]:
        """The gangs of a plan, where those that only count usage are no more than they must be."""
        found = dict(enumerate(gangs))
        self.settle(found)
        return tuple(found.values())

    def settle(self, found: dict[int, int]) -> None:
        """Set what only counts the usage of gangs."""
        for variable in (*self.excess, *self.stages.excess):
            found[variable.gang] = variable.value(found)
        if self.stages.fair is not None:
            self.stages.fair.settle(found)

    def choose(self, room: list[int], stages: Sequence[ObjectiveStage], wished: Sequence[float]) -> dict[int, int]:
        """Admit one workload after the other while quota and room last."""
        return _GreedyAdmission(self, room, stages, wished).chosen()


def build_admissions(
    quota: QuotaQueue,
    gangs: GangBuilder,
    entries: Sequence[QuotaEntries],
    unit_classes: Sequence[UnitClass],
    objective: Sequence[str],
) -> PlannedAdmissions:
    """Add gang classes and rows for the workloads of an instance, and for the stages of its objective about quota."""
    class_of = {id(entry): unit_class for unit_class in unit_classes for entry in unit_class.entries}
    builder = AdmissionBuilder(quota, gangs)
    builder.build(entries, class_of)
    rows = QuotaRows(quota.problem, builder.classes, gangs)
    rows.post()
    stages = QuotaStages(quota.problem, builder.classes, objective)
    stages.post(gangs)
    roles = {(role.unit_class.index, role.domain): role.index for role in gangs.roles.all}
    return PlannedAdmissions(quota.problem, builder.classes, gangs.gangs, rows.excess, stages, class_of, roles)


# Floating-point values this close to the next whole number are it.
_WHOLE = 1e-6


class _GreedyAdmission:
    """Takes admission classes in order, each as often as possible; strict queues end at the first that does not fit."""

    def __init__(
        self, admissions: PlannedAdmissions, room: list[int], stages: Sequence[ObjectiveStage], wished: Sequence[float]
    ) -> None:
        self._admissions = admissions
        self._room = room
        self._stages = stages
        self._wished = wished
        self._ledger = QuotaLedger(admissions.problem)
        # Where admissions are given, nobody asks what is left of quota.
        self._limited = admissions.problem.limited
        self._found: dict[int, int] = {}

    def chosen(self) -> dict[int, int]:
        problem, classes = self._admissions.problem, self._admissions.classes
        for one in classes:
            self._found.update(dict.fromkeys(_gang_numbers(one), 0))
        strict = {place for place, node in enumerate(problem.nodes) if node.strict and problem.limited}
        waiting: dict[int, list[AdmissionClass]] = {}
        for one in sorted(classes, key=lambda one: -one.entries[0].workload):
            if one.like.queue in strict and not one.like.grant:
                waiting.setdefault(one.like.queue or 0, []).append(one)
        ordered = sorted(classes, key=self._key)
        free = [one for one in ordered if one.like.queue not in waiting or one.like.grant]
        left = {id(one): len(one.entries) for one in free}
        if self._wished:
            left = {id(one): len(one.entries) - self._take_wished(one) for one in free}
            for own in waiting.values():
                while own and self._take_wished(own[-1]):
                    own.pop()
        for one in ordered:
            if id(one) in left:
                self._take(one, left[id(one)])
                continue
            own = waiting[one.like.queue or 0]
            if own and not self._take(own.pop(), 1):
                # Nothing is admitted before what comes first.
                own.clear()
        self._admissions.settle(self._found)
        return self._found

    def _take_wished(self, one: AdmissionClass) -> int:
        """Admit as many as are wished for, with the flavors and the pods that are."""
        taken = 0
        for ways in one.ways:
            left = [[int(self._wished[way.gang] + _WHOLE) for way in group] for group in ways.groups]
            if len(one.groups) == 1 and not any(way.counts for way in ways.groups[0]):
                for way, wished in zip(ways.groups[0], left[0], strict=True):
                    number = self._whole_fits(one, 0, way, min(wished, len(one.entries) - taken))
                    self._charge(one, 0, way, number)
                    taken += number
                continue
            while taken < len(one.entries) and all(map(any, left)):
                chosen = [next(number for number, wished in enumerate(group) if wished) for group in left]
                if not self._take_one(one, ways, chosen, left):
                    break
                taken += 1
                for group, number in zip(left, chosen, strict=True):
                    group[number] -= 1
        return taken

    def _wished_pods(self, one: AdmissionClass, way: FlavorWay, workloads: int) -> dict[int, int]:
        """How many pods of each gang class the next of so many workloads may have."""
        found: dict[int, int] = {}
        for place, own in way.counts.items():
            later = (one.like.pod_sets[place].minimum or 0) * (workloads - 1)
            found.update((gang, int(self._wished[gang] + _WHOLE) - self._found[gang] - later) for gang in own.values())
        return found

    def _key(self, one: AdmissionClass) -> tuple[object, ...]:
        """What counts most for each pod comes first, then what is small."""
        pods = sum(pod_set.count for pod_set in one.like.pod_sets) or 1
        ways = one.ways[0] if one.ways else None
        gangs = [way for group in (ways.groups if ways else ()) for way in group[:1]]
        gains = []
        for stage in self._stages:
            gain = sum(stage.terms.gangs.get(way.gang, 0) + self._partial_gain(one, way, stage) for way in gangs)
            gains.append((-gain if stage.maximise else gain) / pods)
        return (*gains, pods, one.entries[0].workload)

    @staticmethod
    def _partial_gain(one: AdmissionClass, way: FlavorWay, stage: ObjectiveStage) -> int:
        return sum(
            stage.terms.gangs.get(gang, 0) * one.members[place][way.choice][index]
            for place, own in way.counts.items()
            for index, gang in own.items()
        )

    def _take(self, one: AdmissionClass, most: int) -> int:
        """Admit up to so many workloads of a class; where it has one group only, many at once."""
        taken = 0
        for ways in one.ways:
            if len(one.groups) == 1 and not any(way.counts for way in ways.groups[0]):
                for way in ways.groups[0]:
                    number = self._whole_fits(one, 0, way, most - taken)
                    self._charge(one, 0, way, number)
                    taken += number
            else:
                while taken < most and self._take_one(one, ways):
                    taken += 1
        return taken

    def _take_one(
        self, one: AdmissionClass, ways: AdmissionWays, chosen: Sequence[int] = (), wished: Sequence[Sequence[int]] = ()
    ) -> bool:
        """Admit one workload, each group with the first choice that fits beside the groups before it.

        Choices may be given by group, with the numbers of workloads that are wished for.
        """
        done: list[tuple[int, FlavorWay, dict[int, int]]] = []
        for group, own in enumerate(ways.groups):
            for way in own[chosen[group] : chosen[group] + 1] if chosen else own:
                if not self._whole_fits(one, group, way, 1):
                    continue
                self._charge(one, group, way, 1)
                most = self._wished_pods(one, way, wished[group][chosen[group]]) if chosen else None
                counts = self._partial_counts(one, way, most)
                if counts is not None:
                    done.append((group, way, counts))
                    break
                self._charge(one, group, way, -1)
            else:
                for number, way, counts in reversed(done):
                    self._charge_pods(one, way, counts, -1)
                    self._charge(one, number, way, -1)
                return False
        if ways.switch is not None:
            self._found[ways.switch] += 1
        return True

    def _whole_fits(self, one: AdmissionClass, group: int, way: FlavorWay, most: int) -> int:
        """How often a way fits, by room and quota."""
        for role, size in self._admissions.gangs[way.gang].members:
            most = min(most, self._room[role] // size)
        if most <= 0 or not self._limited:
            return max(0, most)
        return self._ledger.most(one.like, one.usage(group, way), most)

    def _charge(self, one: AdmissionClass, group: int, way: FlavorWay, times: int) -> None:
        if not times:
            return
        if self._limited:
            self._ledger.add(one.like, one.usage(group, way), times)
        for role, size in self._admissions.gangs[way.gang].members:
            self._room[role] -= size * times
        self._found[way.gang] += times

    def _partial_counts(
        self, one: AdmissionClass, way: FlavorWay, limits: Mapping[int, int] | None = None
    ) -> dict[int, int] | None:
        """Charge as many pods as fit of pod sets that may be smaller; None, and nothing, if they are too few."""
        done: dict[int, int] = {}
        for place, own in way.counts.items():
            pod_set, usage, placed = one.like.pod_sets[place], one.pod_usage(place, way), 0
            for index, gang in own.items():
                role, _ = self._admissions.gangs[gang].members[0]
                room = min(self._room[role], one.members[place][way.choice][index], pod_set.most - placed)
                room = max(0, room if limits is None else min(room, limits[gang]))
                number = self._ledger.most(one.like, usage, room)
                self._charge_pods(one, way, {gang: number}, 1)
                done[gang] = number
                placed += number
            if placed < (pod_set.minimum or 0):
                self._charge_pods(one, way, done, -1)
                return None
        return done

    def _charge_pods(self, one: AdmissionClass, way: FlavorWay, counts: Mapping[int, int], sign: int) -> None:
        places = {gang: place for place, own in way.counts.items() for gang in own.values()}
        for gang, number in counts.items():
            if self._limited:
                self._ledger.add(one.like, one.pod_usage(places[gang], way), number * sign)
            role, _ = self._admissions.gangs[gang].members[0]
            self._room[role] -= number * sign
            self._found[gang] += number * sign


def _gang_numbers(one: AdmissionClass) -> Iterator[int]:
    for ways in one.ways:
        if ways.switch is not None:
            yield ways.switch
        for group in ways.groups:
            for way in group:
                yield way.gang
                yield from (gang for own in way.counts.values() for gang in own.values())


def pod_sets_by_workload(found: Mapping[int, AdmittedWorkload]) -> dict[int, tuple[AdmittedPodSet, ...]]:
    """The records of what is admitted, without units."""
    return {place: one.pod_sets for place, one in found.items()}
