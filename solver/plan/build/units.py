"""The queue as unit classes.

Units that share a claim without devices go to one node. It need not be all of them. Where one claim is common to all,
each way to choose some of them is a variant, and at most one variant of a set is placed. Chains of units that share
claims, and sets with too many variants, are planned as single units beside their claims: a node has a claim once, for
all units there that name it, and one node at most has it (``SharedClaims``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from ....models.kubernetes.claims import AllocationResult, ResourceClaim
from ....models.kubernetes.core import PodSpec
from ....models.kubernetes.meta import ObjectKey
from ....models.workload.expansion import QueuedUnit, unit_runs
from ....models.workload.requests import Requests, sum_requests
from ....models.workload.unit_classes import UnitShape
from ....models.workload.units import ClaimRef
from ....problem.shapes import group_equal
from ...engines.copies import connected_groups


class ColocatedUnits(Struct, frozen=True, eq=False):
    """Units of the queue that go to one node together: one, or several that share a claim without devices.

    The claims ``apart`` are planned on their own.
    """

    positions: tuple[int, ...]
    units: tuple[QueuedUnit, ...]
    apart: frozenset[ObjectKey] = frozenset()

    @property
    def unallocated_claims(self) -> tuple[ClaimRef, ...]:
        """The claims that need devices, each once, but for those that are planned apart."""
        if len(self.units) == 1 and not self.apart:
            # The claims of one unit have different names.
            return self.units[0].unit.requested_claims
        refs: dict[object, ClaimRef] = {}
        for planned in self.units:
            for ref in planned.unit.requested_claims:
                if ref.key not in self.apart:
                    refs.setdefault(ref.key, ref)
        return tuple(refs.values())


@dataclass(frozen=True, eq=False)
class UnitClass:
    """Equal units of the queue, or equal sets of units that go together; ``shapes`` are those of one entry.

    One without entries is ``shared``, a claim that several units name.
    """

    index: int
    entries: Sequence[ColocatedUnits]
    shapes: tuple[UnitShape, ...]
    shared: ClaimRef | None = None

    @cached_property
    def claims(self) -> list[ResourceClaim]:
        """The claims of one entry that need devices."""
        refs = self.entries[0].unallocated_claims if self.shared is None else (self.shared,)
        return [ref.claim for ref in refs if ref.claim is not None]

    @property
    def apart(self) -> frozenset[ObjectKey]:
        """The claims that it names and that are planned on their own."""
        return self.entries[0].apart if self.entries else frozenset()

    @cached_property
    def has_own_claims(self) -> bool:
        """Whether nothing else has or names the claims of its units, and none has an allocation."""
        claims = chain.from_iterable(shape.claims for shape in self.shapes)
        return all(one.key is None and not one.allocated and not one.problem for one in claims)

    @cached_property
    def _units(self) -> tuple[QueuedUnit, ...]:
        return self.entries[0].units if self.entries else ()

    @cached_property
    def specs(self) -> list[PodSpec]:
        """The specs of its pods."""
        return [planned.unit.pod.spec for planned in self._units if planned.unit.pod is not None]

    @cached_property
    def earlier(self) -> list[AllocationResult]:
        """Allocations that its claims have already, which restrict its nodes (SCHED-2)."""
        return [made for planned in self._units for made in planned.unit.existing_allocations()]

    @cached_property
    def requests(self) -> Requests:
        """The amounts that one entry takes of a node's allocatable."""
        return sum_requests(shape.requests for shape in self.shapes)

    @property
    def size(self) -> int:
        """How many units one entry has."""
        return len(self.shapes)


class SingleUnits(Sequence[ColocatedUnits]):
    """Units of a queue, by their positions, each on its own; an entry is made when it is looked at."""

    def __init__(self, queue: Sequence[QueuedUnit], positions: Sequence[int]) -> None:
        self._queue, self._positions = queue, positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[one] for one in range(len(self))[number]]
        place = self._positions[number]
        return ColocatedUnits((place,), (self._queue[place],))


EntrySignature: TypeAlias = tuple[bytes, ...]


def group_unit_classes(
    entries: Iterable[ColocatedUnits],
    first: int = 0,
    alone: Mapping[EntrySignature, SingleUnits] = MappingProxyType({}),
) -> list[UnitClass]:
    """Group equal entries, in the order of the first of each class, and number the classes from ``first``.

    ``alone`` are more, by signature; the first of them are among the entries.
    """
    found: list[UnitClass] = []
    for index, own in enumerate(group_equal(entries, colocated_signature), first):
        more: Sequence[ColocatedUnits] = alone.get(colocated_signature(own[0]), ())
        every = sorted([*own, *more[1:]], key=lambda entry: entry.positions) if more and len(own) > 1 else more or own
        found.append(UnitClass(index, every, tuple(planned.unit_set.shape for planned in own[0].units)))
    return found


def group_units(
    queue: Sequence[QueuedUnit], left: Sequence[int], *, may_wait: bool
) -> tuple[dict[EntrySignature, SingleUnits], list[ColocatedUnits], list[list[ColocatedUnits]]]:
    """Return equal units by signature, entries that stand alone, and the variants of each set that shares claims.

    With ``may_wait`` entries of units in no gang that share no claim are made when they are looked at; of equal ones
    the first is among the entries that stand alone.
    """
    runs: dict[EntrySignature, list[Sequence[int]]] = defaultdict(list)
    others: list[int] = []
    for one, places in unit_runs(queue, left):
        if may_wait and one.gang is None and all(claim.key is None or claim.allocated for claim in one.shape.claims):
            runs[one.shape.signature,].append(places)
        else:
            others += places
    joined = ((key, own[0] if len(own) == 1 else list(chain.from_iterable(own))) for key, own in runs.items())
    alone = {key: SingleUnits(queue, places) for key, places in joined}
    single, sets = group_by_shared_claims(queue, others)
    return alone, sorted([*single, *(own[0] for own in alone.values())], key=lambda entry: entry.positions), sets


def waiting_shapes(queue: Sequence[QueuedUnit], running: Collection[int]) -> Counter[UnitShape]:
    """The shapes of the units of a queue but for those at some places, with numbers."""
    found: Counter[UnitShape] = Counter()
    for one, places in unit_runs(queue):
        waiting = [place for place in places if place not in running] if running else places
        found.update({one.shape: len(waiting)} if waiting else {})
    return found


def colocated_signature(entry: ColocatedUnits) -> EntrySignature:
    """Equal for equal entries."""
    return tuple(planned.unit_set.shape.signature for planned in entry.units)


# With more ways to choose some of the units, only those are looked at that leave out the last ones.
_MOST_VARIANTS = 64
SharingUnit = tuple[int, QueuedUnit]


def group_by_shared_claims(
    queue: Sequence[QueuedUnit], left: Iterable[int]
) -> tuple[list[ColocatedUnits], list[list[ColocatedUnits]]]:
    """Return the units that stand alone, and for each set of units that share claims its variants."""
    positions = list(left)
    sharing = _claim_sharing_sets([(position, queue[position]) for position in positions])
    shared = {position for own in sharing for position, _ in own}
    single = [ColocatedUnits((position,), (queue[position],)) for position in positions if position not in shared]
    return single, [list(_variants(own)) for own in sharing]


def omits_variants(variants: Sequence[ColocatedUnits]) -> bool:
    """Whether some ways to choose units are not among the variants, of which the first has all units.

    Where no claim is common to all units, some of them may be on one node, and others on another one.
    """
    whole = variants[0]
    in_common = frozenset.intersection(*map(_open_claims, whole.units))
    return not in_common or _variant_count(_by_shape(zip(whole.positions, whole.units, strict=True))) > len(variants)


def _open_claims(planned: QueuedUnit) -> frozenset[ObjectKey]:
    return frozenset(ref.key for ref in planned.unit.requested_claims)


# So many claims are planned apart from the units that name them; each is a question of its own on each node.
_MOST_CLAIMS_APART = 64


@dataclass
class SharedClaims:
    """Claims that are planned apart from the units that name them, by key.

    ``relaxed``: all shared claims are planned apart, and those beyond the most that are so take nothing.
    """

    relaxed: bool = False
    is_narrowed: bool = False
    refs: dict[ObjectKey, ClaimRef] = field(default_factory=dict)

    def separated(self, variants: Sequence[ColocatedUnits], *, always: bool = False) -> list[ColocatedUnits]:
        """The units of a set one by one, with what they share apart; none where the variants are all that there is.

        With ``always`` the variants do not matter; none then if there are too many claims.

        A claim with admin access is allocated together with the others of the first unit that names it, in whose way it
        is (DEV-1). As that may be any unit, it is in the way of all, and some plans are left out.
        """
        whole = variants[0]
        gangs = {planned.unit_set.gang for planned in whole.units}
        refs = {ref.key: ref for planned in whole.units for ref in planned.unit.requested_claims}
        named = Counter(key for planned in whole.units for key in _open_claims(planned))
        shared = [key for key in refs if named[key] > 1]
        pairs = zip(whole.positions, whole.units, strict=True)
        single = [ColocatedUnits((place,), (one,), _open_claims(one).intersection(shared)) for place, one in pairs]
        if self.relaxed:
            self.refs.update([(key, refs[key]) for key in shared][: _MOST_CLAIMS_APART - len(self.refs)])
            return single
        if len(self.refs) + len(shared) > _MOST_CLAIMS_APART:
            return []
        if not always and len(gangs) == 1 and not omits_variants(variants):
            return []
        self.is_narrowed |= any(map(_has_admin_access, refs.values()))
        self.refs.update((key, refs[key]) for key in shared)
        return single

    def unit_classes(self, first: int) -> list[UnitClass]:
        """The claims as unit classes without entries, numbered from ``first``."""
        return [UnitClass(index, (), (), ref) for index, ref in enumerate(self.refs.values(), first)]


def _has_admin_access(ref: ClaimRef) -> bool:
    requests = (ref.claim.spec.devices.requests if ref.claim else None) or ()
    return any(request.exactly is not None and request.exactly.admin_access for request in requests)


def _claim_sharing_sets(units: Sequence[SharingUnit]) -> list[list[SharingUnit]]:
    """Sets of units that share claims, directly or through others, in their order."""
    claims: dict[int, list[ObjectKey]] = {}
    for position, planned in units:
        keys = [claim.key for claim in planned.unit_set.shape.claims if claim.key is not None and not claim.allocated]
        if keys:
            claims[position] = keys
    by_position = dict(units)
    sets = [group for group in connected_groups(claims) if len(group) > 1]
    return [[(position, by_position[position]) for position in group] for group in sets]


def _variants(units: Sequence[SharingUnit]) -> Iterator[ColocatedUnits]:
    """Yield all ways to choose some of the units, all of them first; units of one shape come in their order."""
    shapes = _by_shape(units)
    if _variant_count(shapes) > _MOST_VARIANTS:
        for count in range(len(units), max(0, len(units) - _MOST_VARIANTS), -1):
            yield _colocated(units[:count])
        return
    for counts in product(*(range(len(own), -1, -1) for own in shapes)):
        chosen = [unit for own, count in zip(shapes, counts, strict=True) for unit in own[:count]]
        if chosen:
            yield _colocated(sorted(chosen, key=lambda unit: unit[0]))


def _by_shape(units: Iterable[SharingUnit]) -> list[list[SharingUnit]]:
    """Units of one shape together, in their order."""
    return group_equal(units, lambda unit: unit[1].unit_set.shape.signature)


def _variant_count(shapes: Sequence[Sequence[SharingUnit]]) -> int:
    """How many ways there are to choose some."""
    return prod(len(own) + 1 for own in shapes) - 1


def _colocated(units: Sequence[SharingUnit]) -> ColocatedUnits:
    return ColocatedUnits(tuple(position for position, _ in units), tuple(planned for _, planned in units))
