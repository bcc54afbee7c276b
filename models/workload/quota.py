"""Quota as a plan sees it: the tree of queues and cohorts, workloads that wait for admission, and their flavors.

The records know nothing of the objects of Kueue that they were read from. A queue or cohort has amounts by flavor and
resource. A workload is a gang over its pod sets. Each pod set, or pod sets of one group together, gets one of its
flavor choices, which decides what is charged and restricts the nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace as replace_fields

from ..kubernetes.core import PodSpec, Toleration
from .expansion import QueuedUnit
from .unit_classes import Gang, UnitSet, UnitShape, signature_of

FlavorResource: TypeAlias = tuple[str, str]
"""Names of a flavor and of a resource, in this order."""
Amounts: TypeAlias = Mapping[FlavorResource, int]
UNLIMITED = (1 << 63) - 1
"""Amounts from here on are no limit, as in Kueue."""
WORKLOAD_GANG = "Workload.kueue.x-k8s.io"
OwnerKey: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name of what owns units of the queue."""


@dataclass(frozen=True, slots=True, eq=False)
class QuotaHolder:
    """A ClusterQueue or a cohort: ``parent`` is the position of its cohort in the tree, None for a root.

    ``nominal`` is its own quota; limits are there for those pairs that have one. ``held`` is what workloads hold that
    are admitted already, for queues only. ``weight`` is that of fair sharing. In a ``strict`` queue a workload is
    admitted only together with all that come before it.
    """

    name: str
    parent: int | None = None
    is_cohort: bool = False
    nominal: Amounts = field(default_factory=dict)
    borrowing_limit: Amounts = field(default_factory=dict)
    lending_limit: Amounts = field(default_factory=dict)
    held: Amounts = field(default_factory=dict)
    weight: Fraction = Fraction(1)
    strict: bool = False

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{'Cohort' if self.is_cohort else 'ClusterQueue'} {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class FlavorOption:
    """A flavor for each resource of a pod set; pods get ``labels`` as node selector and ``tolerations`` beside theirs.

    What the flavors of all resource groups ask for is joined.
    """

    flavors: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class QuotaPodSet:
    """A pod set: ``charge`` is what each of its ``count`` pods is charged, by resource.

    ``minimum`` is the least count with which it may be admitted, None for all. Pod sets with the same ``group`` have
    equally many choices and get the same one of them. ``template`` tells units of the same owner apart.
    """

    name: str
    count: int
    charge: Mapping[str, int]
    choices: tuple[FlavorOption, ...]
    minimum: int | None = None
    group: str = ""
    template: PodSpec | None = None

    def usage(self, choice: FlavorOption, count: int) -> dict[FlavorResource, int]:
        """What so many pods are charged with a choice."""
        pairs = ((name, amount) for name, amount in self.charge.items() if amount)
        return {(choice.flavors[name], name): amount * count for name, amount in pairs if name in choice.flavors}


@dataclass(frozen=True, slots=True, eq=False)
class QuotaWorkload:
    """A workload that is not admitted yet; ``queue`` is the position of its ClusterQueue in the tree.

    ``owners`` own its pods. ``problem`` says why it cannot be admitted whatever quota there is; then nothing else
    counts. ``priority`` is that of its pods in the plan, None for their own.
    """

    namespace: str
    name: str
    queue: int | None
    owners: tuple[OwnerKey, ...]
    pod_sets: tuple[QuotaPodSet, ...] = ()
    priority: int | None = None
    problem: str = ""

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"Workload {self.namespace}/{self.name}"

    @property
    def groups(self) -> list[list[int]]:
        """Positions of the pod sets that get one choice together."""
        found: dict[tuple[str, int], list[int]] = {}
        for place, one in enumerate(self.pod_sets):
            found.setdefault((one.group, -1) if one.group else ("", place), []).append(place)
        return list(found.values())


@dataclass(frozen=True, eq=False)
class QuotaProblem:
    """The tree, a cohort before its children, and the workloads in the order in which a greedy admission takes them.

    Without ``limited`` the admissions are given: workloads have one choice each, and amounts are counted only.
    """

    nodes: tuple[QuotaHolder, ...]
    workloads: tuple[QuotaWorkload, ...]
    limited: bool = True

    @cached_property
    def children(self) -> Sequence[Sequence[int]]:
        """Positions of the children of each node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for place, node in enumerate(self.nodes):
            if node.parent is not None:
                found[node.parent].append(place)
        return found

    def path(self, node: int) -> list[int]:
        """The node, its cohort, and so on to the root."""
        found: list[int] = []
        here: int | None = node
        while here is not None:
            found.append(here)
            here = self.nodes[here].parent
        return found


class QuotaMember(NamedTuple):
    """Positions of a workload, and of one of its pod sets."""

    workload: int
    pod_set: int


@dataclass(frozen=True, slots=True)
class AdmittedPodSet:
    """How many pods of a pod set are admitted, with the position of their flavor choice."""

    count: int
    choice: int


Admissions: TypeAlias = Mapping[int, tuple[AdmittedPodSet, ...]]
"""By position of the workload: what is admitted of each of its pod sets."""


class QuotaQueue:
    """The sets of a queue with their workloads: those of one workload are a gang with its priority."""

    def __init__(self, problem: QuotaProblem, sets: Iterable[UnitSet]) -> None:
        self.problem = problem
        self.problems: dict[int, str] = {place: one.problem for place, one in enumerate(problem.workloads)}
        self._owners = {owner: place for place, one in enumerate(problem.workloads) for owner in one.owners}
        self._members: dict[tuple[str, str, str, int], QuotaMember] = {}
        self._shapes: dict[tuple[bytes, int], UnitShape] = {}
        listed = list(sets)
        self._join(listed)
        self.sets = tuple(self._with_workload(one) for one in listed)
        self._restricted = UnitRestriction()

    def member(self, planned: QueuedUnit) -> QuotaMember | None:
        """The workload and pod set of a unit; None: it needs no quota."""
        return self._members.get(_set_key(planned.unit_set))

    def member_of_set(self, one: UnitSet) -> QuotaMember | None:
        """The workload and pod set of the units of a set; None: they need no quota."""
        return self._members.get(_set_key(one))

    def restricted(self, planned: QueuedUnit, choice: int) -> QueuedUnit:
        """A unit of a workload as it is with a flavor choice of its pod set."""
        member = self._members[_set_key(planned.unit_set)]
        choices = self.problem.workloads[member.workload].pod_sets[member.pod_set].choices
        return self._restricted.of(planned, choices[choice])

    def admitted_queue(self, queue: Sequence[QueuedUnit], admissions: Admissions) -> list[QueuedUnit]:
        """The queue with the units of admitted workloads as they are with their flavors."""
        found = []
        for planned in queue:
            member = self.member(planned) if planned.unit_set.gang else None
            admitted = admissions.get(member.workload) if member else None
            found.append(self.restricted(planned, admitted[member.pod_set].choice) if member and admitted else planned)
        return found

    def _join(self, sets: Sequence[UnitSet]) -> None:
        """Find the pod set of each set: the first with its template and enough pods left, or with enough pods left."""
        own: dict[int, list[UnitSet]] = defaultdict(list)
        for one in sets:
            place = self._owners.get((one.kind, one.namespace, one.name))
            if place is not None:
                own[place].append(one)
        for place, listed in own.items():
            pod_sets = self.problem.workloads[place].pod_sets
            left = [one.count for one in pod_sets]
            for one in listed:
                spec = one.pod.spec if one.pod else None
                fits = [number for number, room in enumerate(left) if one.replicas <= room]
                alike = [number for number in fits if pod_sets[number].template == spec]
                chosen = next(iter(alike or fits), None)
                if chosen is None:
                    self._spoil(place, "its pods are not those of its pod sets")
                else:
                    left[chosen] -= one.replicas
                self._members[_set_key(one)] = QuotaMember(place, chosen or 0)
            if any(left):
                self._spoil(place, "some of its pods are not waiting")
            domains = {one.gang.domain for one in listed if one.gang}
            if len(domains) > 1 or (domains - {None} and any(one.gang is None for one in listed)):
                self._spoil(place, "its pods are bound to different domains")
        for place, workload in enumerate(self.problem.workloads):
            if place not in own and workload.pod_sets:
                self._spoil(place, "none of its pods is waiting")

    def _spoil(self, workload: int, text: str) -> None:
        self.problems[workload] = self.problems[workload] or text

    def _with_workload(self, one: UnitSet) -> UnitSet:
        member = self._members.get(_set_key(one))
        if member is None:
            return one
        workload = self.problem.workloads[member.workload]
        shape = one.shape if workload.priority is None else self._with_priority(one.shape, workload.priority)
        gang = self._gang(member.workload, one.gang)
        signature = signature_of(shape.signature, (gang.kind, gang.namespace, gang.name), member.pod_set)
        return one._replace(shape=shape, gang=gang, signature=signature)

    def _gang(self, place: int, own: Gang | None) -> Gang:
        workload = self.problem.workloads[place]
        total = sum(one.count for one in workload.pod_sets)
        least = sum(one.count if one.minimum is None else one.minimum for one in workload.pod_sets)
        minimum = None if least == total else least
        domain, running = (own.domain, own.running_nodes) if own else (None, ())
        return Gang(WORKLOAD_GANG, workload.namespace, workload.name, minimum, domain, running)

    def _with_priority(self, shape: UnitShape, priority: int) -> UnitShape:
        key = shape.signature, priority
        if shape.priority == priority:
            return shape
        if key not in self._shapes:
            self._shapes[key] = replace(shape, priority=priority, signature=signature_of(*key))
        return self._shapes[key]


def _set_key(one: UnitSet) -> tuple[str, str, str, int]:
    """The first of its replicas tells a set from others of its owner."""
    return one.kind, one.namespace, one.name, one.numbers[0] if one.numbers else -1


class UnitRestriction:
    """Makes units with the node selector and the tolerations of flavors; equal ones share their spec and shape."""

    def __init__(self) -> None:
        self._specs: dict[tuple[int, int], tuple[PodSpec, PodSpec, FlavorOption]] = {}
        self._shapes: dict[tuple[bytes, bytes], UnitShape] = {}
        self._keys: dict[int, tuple[bytes, FlavorOption]] = {}

    def of(self, planned: QueuedUnit, choice: FlavorOption) -> QueuedUnit:
        """A unit that has been given flavors; a loose claim stays as it is."""
        pod = planned.unit.pod
        if pod is None or not (choice.labels or choice.tolerations):
            return planned
        spec = self._spec(pod.spec, choice)
        unit = replace(planned.unit, pod=replace_fields(pod, spec=spec))
        shape = self._shape(planned.unit_set.shape, choice)
        own = planned.unit_set
        pod_of_set = own.pod and replace_fields(own.pod, spec=spec)
        signature = signature_of(own.signature, shape.signature)
        return QueuedUnit(own._replace(shape=shape, signature=signature, pod=pod_of_set), planned.number, unit)

    def _spec(self, spec: PodSpec, choice: FlavorOption) -> PodSpec:
        # Specs and choices are kept with what is made of them, so that the numbers stay theirs.
        key = id(spec), id(choice)
        if key not in self._specs:
            self._specs[key] = (restricted_spec(spec, choice), spec, choice)
        return self._specs[key][0]

    def _shape(self, shape: UnitShape, choice: FlavorOption) -> UnitShape:
        if id(choice) not in self._keys:
            key = signature_of(sorted(choice.labels.items()), choice.tolerations)
            self._keys[id(choice)] = key, choice
        both = shape.signature, self._keys[id(choice)][0]
        if both not in self._shapes:
            self._shapes[both] = replace(shape, signature=signature_of(*both))
        return self._shapes[both]


def restricted_spec(spec: PodSpec, choice: FlavorOption) -> PodSpec:
    """The spec with which Kueue starts a pod: flavors add node labels and tolerations."""
    labels = {**(spec.node_selector or {}), **choice.labels} or None
    tolerations = (*(spec.tolerations or ()), *choice.tolerations) or None
    return replace_fields(spec, node_selector=labels, tolerations=tolerations)


def admitted_usage(problem: QuotaProblem, admissions: Admissions) -> dict[int, Counter[FlavorResource]]:
    """What admissions charge each queue, without what is held already."""
    found: dict[int, Counter[FlavorResource]] = defaultdict(Counter)
    for place, pod_sets in admissions.items():
        workload = problem.workloads[place]
        for one, admitted in zip(workload.pod_sets, pod_sets, strict=True):
            if workload.queue is not None and admitted.count:
                found[workload.queue].update(one.usage(one.choices[admitted.choice], admitted.count))
    return found
