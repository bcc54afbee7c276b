"""Quota as a plan sees it: the tree of queues and cohorts, workloads that wait for admission, and their flavors.

The records know nothing of the objects of Kueue that they were read from. A queue or cohort has amounts by flavor and
resource. A workload is a gang over its pod sets. Each pod set, or pod sets of one group together, gets one of its
flavor choices, which decides what is charged and restricts the nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace as replace_fields

from ..kubernetes.core import PodSpec, Toleration
from .expansion import QueuedUnit
from .unit_classes import Gang, UnitSet, UnitShape, signature_of
from .units import Unit

FlavorResource: TypeAlias = tuple[str, str]
"""Names of a flavor and of a resource, in this order."""
Amounts: TypeAlias = Mapping[FlavorResource, int]
UNLIMITED = (1 << 63) - 1
"""Amounts from here on are no limit, as in Kueue."""
_MOST_DIGITS = 10
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

    ``minimum`` is the least count with which it may be admitted, None for all, and ``maximum`` the most, None for all.
    Pod sets with the same ``group`` have equally many choices and get the same one of them. ``template`` tells units of
    the same owner apart.
    """

    name: str
    count: int
    charge: Mapping[str, int]
    choices: tuple[FlavorOption, ...]
    minimum: int | None = None
    group: str = ""
    template: PodSpec | None = None
    maximum: int | None = None

    @property
    def most(self) -> int:
        """The most pods that may be admitted."""
        return self.count if self.maximum is None else min(self.count, self.maximum)

    def usage(self, choice: FlavorOption, count: int) -> dict[FlavorResource, int]:
        """What so many pods are charged with a choice."""
        pairs = ((name, amount) for name, amount in self.charge.items() if amount)
        return {(choice.flavors[name], name): amount * count for name, amount in pairs if name in choice.flavors}


@dataclass(frozen=True, slots=True, eq=False)
class QuotaWorkload:
    """A workload; ``queue`` is the position of its ClusterQueue in the tree.

    ``owners`` own its pods. ``problem`` says why none of its pods can be placed, whatever quota there is. ``priority``
    is that of its pods in the plan, None for their own. ``grant`` says that it has quota, with the only choice of each
    pod set: ``held`` for that which it had before, which is not charged again, ``given`` for what Kueue gives it now.
    ``domain`` is a node label of which the nodes of all its pods have one value.
    """

    namespace: str
    name: str
    queue: int | None
    owners: tuple[OwnerKey, ...]
    pod_sets: tuple[QuotaPodSet, ...] = ()
    priority: int | None = None
    problem: str = ""
    grant: Literal["", "held", "given"] = ""
    domain: str | None = None

    @property
    def granted(self) -> tuple[AdmittedPodSet, ...] | None:
        """What it is granted of each pod set; None for one that waits."""
        return tuple(AdmittedPodSet(one.most, 0) for one in self.pod_sets) if self.grant else None

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
    ``complete``: no way to choose flavors is left out. ``notices`` say what of the question is left aside.
    """

    nodes: tuple[QuotaHolder, ...]
    workloads: tuple[QuotaWorkload, ...]
    limited: bool = True
    complete: bool = True
    notices: tuple[str, ...] = ()

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


_SetKey: TypeAlias = tuple[str, str, str, int]
"""Kind, namespace and name of the owner, and the first replica: these tell a set from others."""
_Piece: TypeAlias = tuple[UnitSet, int]
"""Some replicas of a set, and the position of their workload."""


class QuotaQueue:
    """The sets of a queue with their workloads: those of one workload are a gang with its priority."""

    def __init__(self, problem: QuotaProblem, sets: Iterable[UnitSet]) -> None:
        self.problem = problem
        self.problems: dict[int, str] = {place: one.problem for place, one in enumerate(problem.workloads)}
        self._owned: dict[OwnerKey, list[int]] = defaultdict(list)
        for place, one in enumerate(problem.workloads):
            for owner in one.owners:
                self._owned[owner].append(place)
        self._members: dict[_SetKey, QuotaMember] = {}
        self._shapes: dict[tuple[bytes, int], UnitShape] = {}
        self.sets = tuple(self._with_workload(one) for one in self._joined(list(sets)))
        self._restriction = UnitRestriction()
        # By the identity of a unit, which is kept with it, and the position of its choice.
        self._restricted: dict[tuple[int, int], tuple[QueuedUnit, Unit]] = {}

    def member(self, planned: QueuedUnit) -> QuotaMember | None:
        """The workload and pod set of a unit; None: it needs no quota."""
        return self._members.get(_set_key(planned.unit_set))

    def member_of_set(self, one: UnitSet) -> QuotaMember | None:
        """The workload and pod set of the units of a set; None: they need no quota."""
        return self._members.get(_set_key(one))

    def restricted(self, planned: QueuedUnit, choice: int) -> QueuedUnit:
        """A unit of a workload as it is with a flavor choice of its pod set."""
        key = id(planned.unit), choice
        known = self._restricted.get(key)
        if known is None:
            member = self._members[_set_key(planned.unit_set)]
            choices = self.problem.workloads[member.workload].pod_sets[member.pod_set].choices
            known = self._restricted[key] = self._restriction.of(planned, choices[choice]), planned.unit
        return known[0]

    def admitted_queue(self, queue: Sequence[QueuedUnit], admissions: Admissions) -> list[QueuedUnit]:
        """The queue with the units of admitted workloads as they are with their flavors."""
        found = []
        for planned in queue:
            member = self.member(planned) if planned.unit_set.gang else None
            admitted = admissions.get(member.workload) if member else None
            found.append(self.restricted(planned, admitted[member.pod_set].choice) if member and admitted else planned)
        return found

    def _joined(self, sets: Sequence[UnitSet]) -> list[UnitSet]:
        """Find the pod set of each set; sets are divided where replicas are of different workloads or pod sets."""
        pieces: list[UnitSet | _Piece] = [piece for one in sets for piece in self._pieces(one)]
        left: dict[int, list[int]] = {}
        own: dict[int, list[UnitSet]] = defaultdict(list)
        found: list[UnitSet] = []
        for piece in pieces:
            if isinstance(piece, UnitSet):
                found.append(piece)
                continue
            one, place = piece
            room = left.setdefault(place, [pod_set.count for pod_set in self.problem.workloads[place].pod_sets])
            for part, pod_set in self._dealt(one, place, room):
                self._members[_set_key(part)] = QuotaMember(place, pod_set)
                own[place].append(part)
                found.append(part)
        for place, workload in enumerate(self.problem.workloads):
            if place not in own:
                if workload.pod_sets:
                    self._spoil(place, "none of its pods is waiting")
                continue
            if any(left[place]):
                self._spoil(place, "some of its pods are not waiting")
            domains = {one.gang.domain if one.gang else None for one in own[place]}
            if len(domains) > 1 or (workload.domain and not domains <= {None, workload.domain}):
                self._spoil(place, "its pods are bound to different domains")
        return found

    def _pieces(self, one: UnitSet) -> Iterator[UnitSet | _Piece]:
        """Divide a set among workloads: an owner may have one, one for each of its copies, or one for each pod."""
        owned = self._owned.get((one.kind, one.namespace, one.name))
        if owned is not None and len(owned) == 1:
            yield one, owned[0]
            return
        by_pod = owned is None and bool(self._owned) and one.kind != "Pod"
        if owned is None and not by_pod:
            yield one
            return
        runs: list[tuple[int | None, list[int]]] = []
        for number in one.numbers:
            if owned is None:
                place = next(iter(self._owned.get(("Pod", one.namespace, one.unit_name(number)), ())), None)
            else:
                copy = _copy_number(one.unit_name(number), one.name)
                place = owned[copy] if copy is not None and copy < len(owned) else None
            if not runs or runs[-1][0] != place:
                runs.append((place, []))
            runs[-1][1].append(number)
        for place, numbers in runs:
            part = one if len(numbers) == len(one.numbers) else one._replace(numbers=tuple(numbers))
            yield part if place is None else (part, place)

    def _dealt(self, one: UnitSet, place: int, room: list[int]) -> Iterator[tuple[UnitSet, int]]:
        """Deal replicas to pod sets with their template, or else to any, while these have room."""
        pod_sets = self.problem.workloads[place].pod_sets
        spec = one.pod.spec if one.pod else None
        alike = [number for number, pod_set in enumerate(pod_sets) if pod_set.template == spec]
        numbers = list(one.numbers)
        for pod_set in (*alike, *(number for number in range(len(pod_sets)) if number not in alike)):
            taken, numbers = numbers[: room[pod_set]], numbers[room[pod_set] :]
            if taken:
                room[pod_set] -= len(taken)
                whole = len(taken) == len(one.numbers)
                yield (one if whole else one._replace(numbers=tuple(taken))), pod_set
        if numbers:
            self._spoil(place, "its pods are not those of its pod sets")
            yield one._replace(numbers=tuple(numbers)), 0

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
        return Gang(WORKLOAD_GANG, workload.namespace, workload.name, minimum, domain or workload.domain, running)

    def _with_priority(self, shape: UnitShape, priority: int) -> UnitShape:
        key = shape.signature, priority
        if shape.priority == priority:
            return shape
        if key not in self._shapes:
            self._shapes[key] = replace(shape, priority=priority, signature=signature_of(*key))
        return self._shapes[key]


def _copy_number(unit: str, owner: str) -> int | None:
    """The number behind the name of the owner in that of a unit, as leaders and workers of a group have it."""
    text = unit.removeprefix(f"{owner}-").partition("-")[0]
    return int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else None


def _set_key(one: UnitSet) -> _SetKey:
    return one.kind, one.namespace, one.name, one.numbers[0] if one.numbers else -1


@dataclass(frozen=True, slots=True)
class _RestrictedUnitMaker:
    """Makes a unit with another spec of its pod."""

    of: Unit
    spec: PodSpec

    def unit(self, _planned: UnitSet, _number: int) -> Unit:
        pod = self.of.pod
        return self.of if pod is None else self.of.with_pod(replace_fields(pod, spec=self.spec))


class UnitRestriction:
    """Makes units with the node selector and the tolerations of flavors; equal ones share their spec and shape."""

    def __init__(self) -> None:
        self._specs: dict[tuple[int, int], tuple[PodSpec, PodSpec, FlavorOption]] = {}
        self._shapes: dict[tuple[bytes, bytes], UnitShape] = {}
        self._keys: dict[int, tuple[bytes, FlavorOption]] = {}
        self._sets: dict[tuple[int, int], tuple[UnitSet, UnitSet]] = {}

    def of(self, planned: QueuedUnit, choice: FlavorOption) -> QueuedUnit:
        """A unit that has been given flavors; a loose claim stays as it is."""
        pod = planned.unit_set.pod
        if pod is None or not (choice.labels or choice.tolerations):
            return planned
        maker = _RestrictedUnitMaker(planned.unit, self._spec(pod.spec, choice))
        own = self._set(planned.unit_set, choice)
        return QueuedUnit(own, planned.number, maker)

    def _set(self, one: UnitSet, choice: FlavorOption) -> UnitSet:
        key = id(one), id(choice)
        if key not in self._sets:
            shape = self._shape(one.shape, choice)
            pod = one.pod and replace_fields(one.pod, spec=self._spec(one.pod.spec, choice))
            made = one._replace(shape=shape, signature=signature_of(one.signature, shape.signature), pod=pod)
            self._sets[key] = made, one
        return self._sets[key][0]

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
