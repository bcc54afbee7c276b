"""Units that share a claim which has no devices yet: they go to one node, and it need not be all of them.

Which of them come is one choice among *variants*: for each kind of unit how many. Each variant is a party of its own,
and at most one variant of a set is placed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from math import prod

from ....models.identity import ObjectKey
from ....models.planned_units import PlannedUnit
from ..bundles.question import BundleQuestion
from .node_kinds import NodeKind
from .unit_kinds import Entry

# With more ways to choose some of the units, only those are looked at that leave out the last ones.
_MOST_VARIANTS = 64

Place = tuple[int, PlannedUnit]


def entries_of(queue: Sequence[PlannedUnit], left: Iterable[int]) -> tuple[list[Entry], list[list[Entry]]]:
    """Return the units that stand alone, as parties, and for each set of units that share claims its variants."""
    places = list(left)
    sharing = _sets([(place, queue[place]) for place in places])
    shared = {place for own in sharing for place, _ in own}
    single = [Entry((place,), (queue[place],)) for place in places if place not in shared]
    return single, [list(_variants(own)) for own in sharing]


def is_narrowed(variants: Sequence[Entry]) -> bool:
    """Whether not all ways to choose some of the units are among the variants, of which the first has all units."""
    whole = variants[0]
    return _ways(_alike(zip(whole.places, whole.party, strict=True))) > len(variants)


def _sets(units: Sequence[Place]) -> list[list[Place]]:
    """Sets of units that share claims, directly or through others, in their order."""
    users: dict[ObjectKey, list[Place]] = defaultdict(list)
    for place, planned in units:
        for claim in planned.set.shape.claims:
            if claim.key is not None and not claim.allocated:
                users[claim.key].append((place, planned))
    found: dict[int, list[Place]] = {}
    for own in users.values():
        known = {id(found[place]): found[place] for place, _ in own if place in found}
        whole = dict(chain.from_iterable([*known.values(), own]))
        merged = sorted(whole.items())
        found.update(dict.fromkeys(whole, merged))
    distinct = {id(own): own for own in found.values() if len(own) > 1}
    return sorted(distinct.values(), key=lambda own: own[0][0])


def _variants(units: Sequence[Place]) -> Iterator[Entry]:
    """All choices of some of the units, the whole first; units of one shape come in their order."""
    shapes = _alike(units)
    if _ways(shapes) > _MOST_VARIANTS:
        for count in range(len(units), max(0, len(units) - _MOST_VARIANTS), -1):
            yield _entry(units[:count])
        return
    for counts in product(*(range(len(own), -1, -1) for own in shapes)):
        chosen = [unit for own, count in zip(shapes, counts, strict=True) for unit in own[:count]]
        if chosen:
            yield _entry(sorted(chosen, key=lambda unit: unit[0]))


def _alike(units: Iterable[Place]) -> list[list[Place]]:
    """Units of one shape together, in their order."""
    shapes: dict[bytes, list[Place]] = defaultdict(list)
    for place, planned in units:
        shapes[planned.set.shape.signature].append((place, planned))
    return list(shapes.values())


def _ways(shapes: Sequence[Sequence[Place]]) -> int:
    """How many ways there are to choose some."""
    return prod(len(own) + 1 for own in shapes) - 1


def _entry(units: Sequence[Place]) -> Entry:
    return Entry(tuple(place for place, _ in units), tuple(planned for _, planned in units))


def is_scattered(nodes: Sequence[NodeKind], questions: Mapping[int, BundleQuestion]) -> bool:
    """Whether units that share a claim might use its devices from several nodes: they are planned on one."""
    for node in nodes:
        pools = {pool.id for pool in node.shared}
        for unit in questions[node.index].units if pools else ():
            devices = {device for demand in unit.problem.demands for device in demand.candidates}
            if unit.size > 1 and any(node.view.devices[number].id[:2] in pools for number in devices):
                return True
    return False
