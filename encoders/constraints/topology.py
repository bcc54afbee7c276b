"""``topology``: the devices of an entry make a shape (TOPO-1 to TOPO-4).

``CoveredDevices`` is what an entry covers in a model: what is taken of each device, and how many devices there can be.
Segments and boxes are placements: all sets of devices that make the shape, without holes, and a literal for each. In
explanations a segment may have any length, as requests that are let go take as many devices as they like. ``Connected``
sets are listed where they are few, else every device is reached step by step from one in the middle. ``Compact`` keeps
devices within a distance of each other; without one, ``distance_terms`` add the distances of all pairs. In a Tree, and
for one instance of a topology, devices have a node in common as with a matchAttribute.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise, permutations, product
from math import prod

from ...models.kubernetes.extensions import TopologyRequest
from ...models.topology.places import FIXED_ORIENTATION, Axis, Places
from ...problem.problem import RESULT_LIMIT
from ...problem.topology import TopologyCondition
from ..model import AllocationModel, Encoder
from ..rows import Term
from ..symmetry import MergedRelation
from .common_value import post_common_value
from .relations import relation_signature


def _post_topology(model: AllocationModel) -> None:
    for relation in model.merged.relations:
        condition = relation.record.condition
        if isinstance(condition, TopologyCondition):
            _SHAPE_POSTERS[_shape_encoding(condition)](CoveredDevices(model, relation, condition))


def _shape_encoding(condition: TopologyCondition) -> str:
    """Name the encoding: in a Tree all shapes ask for one tree node, and on a Ring what is connected is a segment."""
    if any(places.shape == "Tree" for places in condition.places):
        return "Subtree"
    return "Segment" if condition.enumerable and condition.ask.shape == "Connected" else condition.ask.shape


def _post_segment(covered: CoveredDevices) -> None:
    if covered.open_ended:
        post_segment_of_any_length(covered)
        return
    work = covered.model.rows.check_time
    placed = (segments(places, devices, covered.sizes, work) for places, devices in covered.instances())
    post_placements(covered, chain.from_iterable(placed))


def _post_box(covered: CoveredDevices) -> None:
    ask, sizes, work = covered.condition.ask, covered.sizes, covered.model.rows.check_time
    placed = (boxes(places, devices, ask, sizes, work) for places, devices in covered.instances())
    post_placements(covered, chain.from_iterable(placed))


def post_compact(covered: CoveredDevices) -> None:
    """Post for each device that nothing far from it is taken with it; without a distance, that all are of one instance.

    Devices near which there are not enough others for the shape are left out.
    """
    if covered.condition.minimizes_distance:
        post_common_node(covered)
        return
    kept = _with_enough_near(covered)
    covered.allow_only(kept)
    rows, guard, most = covered.model.rows, covered.guard, max(covered.sizes)
    for device in sorted(kept):
        near = _near(covered, device)
        rows.check_time(len(kept))
        far = [term for other in kept if other > device and other not in near for term in covered.taken[other]]
        if far:
            room = min(len(far), most)
            rows.at_most([*far, *((variable, room) for variable, _ in covered.taken[device])], room, guard)


def _with_enough_near(covered: CoveredDevices) -> set[int]:
    kept, least = set(covered.taken), min((size for size in covered.sizes if size), default=0)
    while True:
        lonely = {device for device in kept if len(_near(covered, device) & kept) < least}
        if not lonely:
            return kept
        kept -= lonely


def _near(covered: CoveredDevices, device: int) -> AbstractSet[int]:
    """Devices near one; on large graphs it takes long to find them for all."""
    near = covered.condition.near(device)
    covered.model.rows.check_time(len(near))
    return near


MOST_ENUMERATED_SETS = 500
"""So many sets of devices are written down one by one."""


def post_connected(covered: CoveredDevices) -> None:
    """Demand that devices hang together in the graph of those that are taken."""
    # Who is next to whom among the devices that can be taken, of components that are large enough.
    beside: dict[int, tuple[int, ...]] = {}
    for places, devices in covered.instances():
        there = frozenset(devices)
        beside |= {device: tuple(one for one in places.neighbours[device] if one in there) for device in devices}
    least = min((size for size in covered.sizes if size), default=0)
    kept = chain.from_iterable(part for part in components(beside) if len(part) >= least)
    neighbours = {device: beside[device] for device in sorted(kept)}
    sets = _enumerated_sets(neighbours, covered)
    if sets is not None:
        post_placements(covered, sets)
        return
    covered.allow_only(neighbours)
    _post_reachability(covered, neighbours)


def _enumerated_sets(neighbours: NeighbourMap, covered: CoveredDevices) -> list[Placement] | None:
    found: list[Placement] = []
    for size in sorted(covered.sizes - {0}):
        for devices in connected_sets(neighbours, size, MOST_ENUMERATED_SETS * 8):
            if devices is None or len(found) == MOST_ENUMERATED_SETS:
                return None
            found.append(devices)
    return found


def _post_reachability(covered: CoveredDevices, neighbours: NeighbourMap) -> None:
    """Reach every device from the middle one: in a connected set of n there is one at most n // 2 steps from all."""
    rows = covered.model.rows
    # The newest variables are tried first: the middle, then what is next to it, and so on outwards.
    steps = [_step_literals(covered, neighbours) for _ in range(max(covered.sizes) // 2 + 1)]
    for device, terms in covered.taken.items():
        if device in neighbours:
            rows.at_most([*terms, (steps[0][device], -1)], 0, covered.guard)
    for after, before in pairwise(steps):
        for device, literal in after.items():
            beside = [(before[one], -1) for one in (device, *neighbours[device])]
            rows.at_most([(literal, 1), *beside], 0)
    rows.at_most([(literal, 1) for literal in steps[-1].values()], 1)


def _step_literals(covered: CoveredDevices, neighbours: NeighbourMap) -> dict[int, int]:
    """A literal for each device, under which it is taken."""
    rows = covered.model.rows
    found = {device: rows.boolean() for device in neighbours}
    for device, literal in found.items():
        rows.at_most([(literal, 1), *((variable, -1) for variable, _ in covered.taken[device])], 0)
    return found


@dataclass
class CoveredDevices:
    """A relation in a model; every device that has a place is alone in its symmetry class, known by its number."""

    model: AllocationModel
    relation: MergedRelation
    condition: TopologyCondition

    @cached_property
    def guard(self) -> int | None:
        """The literal under which the shape is demanded."""
        return self.model.enforcement_literal(self.relation)

    @cached_property
    def _takes(self) -> dict[int, list[Term]]:
        """By first device of each symmetry class what is taken of it."""
        classes = self.model.reduced.classes
        found: dict[int, list[Term]] = defaultdict(list)
        for alternative in self.relation.alternatives:
            for class_ in self.model.reduced.classes_of[alternative]:
                found[classes[class_].representative].append((self.model.takes[alternative, class_], 1))
        return found

    @cached_property
    def taken(self) -> dict[int, list[Term]]:
        """By device with a place, ascending, terms that are 1 if it is part of the shape and 0 if it is not."""
        homes = self.condition.instance_of
        return {device: self._once(device) for device in sorted(self._takes) if device in homes}

    def _once(self, device: int) -> list[Term]:
        """A device that can be taken several times is part of the shape once."""
        terms = self._takes[device]
        if not self._repeats(device):
            return terms
        rows = self.model.rows
        literal = rows.boolean()
        most = sum(rows.range_of(variable)[1] for variable, _ in terms)
        rows.between([*terms, (literal, -most)], None, 0)
        rows.at_most([(literal, 1), *((variable, -1) for variable, _ in terms)], 0)
        return [(literal, 1)]

    def _repeats(self, device: int) -> bool:
        merged = self.model.merged
        return device in merged.problem.shared or any(
            merged.alternatives[one].admin for one in self.relation.alternatives
        )

    def instances(self) -> Iterator[tuple[Places[int], list[int]]]:
        """Yield the devices of each instance of the topology that can be taken."""
        homes = self.condition.instance_of
        for number, places in enumerate(self.condition.places):
            yield places, [device for device in self.taken if homes[device] == number]

    def allow_only(self, devices: Container[int]) -> None:
        """Keep away from all other devices, such as those without coordinates (TOPO-3)."""
        others = [term for device, terms in self._takes.items() if device not in devices for term in terms]
        if others:
            self.model.rows.at_most(others, 0, self.guard)

    @cached_property
    def sizes(self) -> frozenset[int]:
        """How many devices the shape can have: one number, unless alternatives or shareable devices are covered.

        None where the claims may be left out.

        Where requests may be let go, they take as many as they like, and a claim still no more than it may have.
        """
        if self.open_ended:
            return frozenset(range(min(len(self.taken), RESULT_LIMIT) + 1))
        alternatives = self.model.merged.alternatives
        found = {0}
        for request in sorted({alternatives[number].request for number in self.relation.alternatives}):
            own = self.model.merged.requests[request].alternatives
            counts = {alternatives[number].count if number in self.relation.alternatives else 0 for number in own}
            for _ in range(alternatives[own[0]].copies // self.relation.copies):
                found = {size + count for size in found for count in counts}
        if any(map(self.model.optional, self.relation.alternatives)):
            found.add(0)
        if any(self._repeats(device) for device in self._takes):
            return frozenset(range(min(1, *found), max(found) + 1))
        return frozenset(found)

    @property
    def open_ended(self) -> bool:
        """Whether requests may be let go one by one; those of equal claims are one request, let go as a whole."""
        return self.model.guarded and self.relation.copies == 1

    @property
    def certain(self) -> int | None:
        """The number of devices, None if that depends."""
        return next(iter(self.sizes)) if len(self.sizes) == 1 else None


Placement = tuple[int, ...]
"""Devices that make a shape, each once."""


def segments(
    places: Places[int], devices: Collection[int], lengths: Iterable[int], work: Callable[[int], None]
) -> Iterator[Placement]:
    """Yield the segments of these lengths on a Ring or Line; ``work`` is told how many cells were looked at."""
    for length in lengths:
        yield from _boxes(places, devices, (length,), work)


def boxes(
    places: Places[int],
    devices: Collection[int],
    ask: TopologyRequest,
    sizes: Collection[int],
    work: Callable[[int], None],
) -> Iterator[Placement]:
    """Yield the boxes that are asked for in each orientation, if they have a number of devices that is possible."""
    size = tuple(ask.size or ())
    if prod(size) in sizes:
        turned = [size] if ask.orientation == FIXED_ORIENTATION else sorted(set(permutations(size)))
        for edges in turned:
            yield from _boxes(places, devices, edges, work)


def _boxes(
    places: Places[int], devices: Collection[int], edges: Sequence[int], work: Callable[[int], None]
) -> Iterator[Placement]:
    """Yield the boxes of these edges by their first cells, those all around an axis from its first place only.

    A lattice may have far more cells than devices: boxes begin at devices.
    """
    there = {places.cells[device]: device for device in devices}
    if not all(0 < edge <= axis.size for axis, edge in zip(places.axes, edges, strict=True)):
        return
    starts = [_starts(axis, edge) for axis, edge in zip(places.axes, edges, strict=True)]
    for first in sorted(there):
        if not all(place in own for place, own in zip(first, starts, strict=True)):
            continue
        ranges = (
            [other % axis.size for other in range(place, place + edge)]
            for place, axis, edge in zip(first, places.axes, edges, strict=True)
        )
        found: list[int] = []
        for cell in product(*ranges):
            device = there.get(cell)
            if device is None:
                break
            found.append(device)
        work(len(found))
        if device is not None:
            yield tuple(found)


def _starts(axis: Axis, edge: int) -> range:
    """Where a range of an axis may begin."""
    return range(1 if edge == axis.size else axis.size if axis.periodic else axis.size - edge + 1)


def post_placements(covered: CoveredDevices, placements: Iterable[Placement]) -> None:
    """Take the devices of one placement for each claim, and no others; a placement with a hole is none.

    Where the shape may be let go, or requests may (guards), what is taken lies in the placement; the number of devices
    then makes it all of them.
    """
    rows, guard = covered.model.rows, covered.guard
    covered.allow_only(covered.taken)
    over: dict[int, list[int]] = defaultdict(list)
    chosen: list[tuple[int, Placement]] = []
    for placement in placements:
        rows.check_time(len(placement))
        chosen.append((rows.boolean(), placement))
    for literal, placement in chosen:
        for device in placement:
            over[device].append(literal)
    copies = covered.relation.copies
    least = 0 if guard is not None or 0 in covered.sizes else copies
    rows.between([(literal, 1) for literal, _ in chosen], least, copies)
    for device, terms in covered.taken.items():
        _link_device(covered, terms, over[device])
    if guard is not None and covered.certain is None:
        # Take as many devices as the placement has.
        taken = [term for terms in covered.taken.values() for term in terms]
        covered.model.rows.equal([*taken, *((literal, -len(placement)) for literal, placement in chosen)], 0, guard)
    if copies > 1:
        # All that is covered is one alternative of equal claims, so that it does not matter which of them gets which.
        covered.model.dealt_placements[covered.relation.alternatives[0]] = chosen


def _link_device(covered: CoveredDevices, terms: list[Term], over: list[int]) -> None:
    """Take a device if one of the placements over it is chosen, which are never two."""
    rows, guard = covered.model.rows, covered.guard
    if guard is not None:
        rows.at_most([*terms, *((literal, -1) for literal in over)], 0, guard)
    elif len(terms) == 1 and rows.range_of(terms[0][0]) == (0, 1):
        # Either it is not taken, or it is in one of them.
        rows.one_of([~terms[0][0], *over])
    else:
        rows.equal([*terms, *((literal, -1) for literal in over)], 0)


def post_segment_of_any_length(covered: CoveredDevices) -> None:
    """Take devices of one Ring or Line of which at most one is the last: the next one is not taken, or is none."""
    rows, guard = covered.model.rows, covered.guard
    covered.allow_only(covered.taken)
    lasts: list[int] = []
    homes: list[int] = []
    for places, devices in covered.instances():
        homes.append(rows.boolean())
        for device in devices:
            terms = covered.taken[device]
            next_one = places.at.get(places.wrapped((places.cells[device][0] + 1,)) or ())
            follows = covered.taken.get(next_one, []) if next_one is not None else []
            lasts.append(rows.boolean())
            rows.at_most([*terms, *((variable, -1) for variable, _ in follows), (lasts[-1], -1)], 0, guard)
            rows.at_most([*terms, (homes[-1], -1)], 0, guard)
    rows.at_most([(literal, 1) for literal in lasts], 1)
    rows.at_most([(literal, 1) for literal in homes], 1)


def distance_terms(model: AllocationModel, relations: Iterable[MergedRelation] | None = None) -> Iterator[Term]:
    """Yield terms whose sum is that of the distances, once they are as low as they can be; None: of all relations."""
    for relation in model.merged.relations if relations is None else relations:
        condition = relation.record.condition
        if isinstance(condition, TopologyCondition) and condition.minimizes_distance:
            yield from _pair_distance_terms(CoveredDevices(model, relation, condition))


def _pair_distance_terms(covered: CoveredDevices) -> Iterator[Term]:
    """Yield for each device its distances to those after it, which count if it is taken (Glover, 1975).

    Where it is not, as many others may be after it as are taken at all.
    """
    rows, most = covered.model.rows, max(covered.sizes)
    for device, terms in covered.taken.items():
        rows.check_time(10 * len(covered.taken))
        distances = covered.condition.distances(device)
        later = [(other, steps) for other in covered.taken if other > device and (steps := distances.get(other))]
        bound = sum(sorted((steps for _, steps in later), reverse=True)[:most])
        if bound:
            sum_ = rows.integer(0, bound)
            weighted = [(variable, steps) for other, steps in later for variable, _ in covered.taken[other]]
            rows.at_most([*weighted, (sum_, -1), *((variable, bound) for variable, _ in terms)], bound)
            yield sum_, 1


NeighbourMap = Mapping[int, Sequence[int]]
"""By device those next to it."""
_PartialSet = tuple[tuple[int, ...], tuple[int, ...], set[int]]
"""What is chosen, what may come next, and all that is chosen or next to it."""


def components(neighbours: NeighbourMap) -> Iterator[list[int]]:
    """Yield the devices that hang together."""
    seen: set[int] = set()
    for start in neighbours:
        if start not in seen:
            seen.add(start)
            found = [start]
            for device in found:
                beside = [one for one in neighbours[device] if one not in seen]
                seen.update(beside)
                found += beside
            yield found


def connected_sets(neighbours: NeighbourMap, size: int, steps: int) -> Iterator[tuple[int, ...] | None]:
    """Yield each connected set of so many devices once (ESU, Wernicke 2006); None, and no more, after so many steps.

    A set grows from its lowest device by devices next to it that were not next to it before.
    """
    for start in neighbours:
        stack: list[_PartialSet] = [
            ((start,), tuple(one for one in neighbours[start] if one > start), {start, *neighbours[start]})
        ]
        while stack:
            steps -= 1
            if steps < 0:
                yield None
                return
            chosen, edge, seen = stack.pop()
            if len(chosen) == size:
                yield chosen
                continue
            for position, device in enumerate(edge):
                new = tuple(one for one in neighbours[device] if one > start and one not in seen)
                stack.append(((*chosen, device), (*edge[position + 1 :], *new), seen | {*neighbours[device]}))


def post_common_node(covered: CoveredDevices) -> None:
    """Take devices under one tree node only, and none without a place.

    All shapes in a Tree say how far up that node may be; an instance that is no Tree counts as one node.
    """
    model, condition = covered.model, covered.condition
    numbers: dict[Hashable, int] = {}
    values: dict[tuple[int, int], int] = {}
    for alternative in covered.relation.alternatives:
        for class_ in model.reduced.classes_of[alternative]:
            device = model.reduced.classes[class_].representative
            if device in condition.instance_of:
                values[alternative, class_] = 1 << numbers.setdefault(condition.node_of(device), len(numbers))
            else:
                values[alternative, class_] = 0
    post_common_value(model, values, covered.guard, covers_all=True)


_SHAPE_POSTERS: dict[str, Callable[[CoveredDevices], None]] = {
    "Segment": _post_segment,
    "Box": _post_box,
    "Connected": post_connected,
    "Compact": post_compact,
    "Subtree": post_common_node,
}
TOPOLOGY = Encoder(
    "topology",
    "chosen devices make a shape in a topology (TOPO-1, TOPO-2)",
    _post_topology,
    partial(relation_signature, "topology"),
    sees="the device itself, if it has a place in a topology that an entry names; in a Tree its tree node",
)
