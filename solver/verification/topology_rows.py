"""Rows of an audit about shapes in topologies (TOPO-1 to TOPO-4, read anew).

Boxes, and segments where no device has more than two neighbours, are placements of which one is chosen. Any other
connected set is a tree from its first device: each of its devices has a parent, and levels forbid circles. In a compact
set no device is far from the first one, nor from any other. In a tree all devices have one path in common. Where two
devices are on one place nothing is posted: finished allocations are judged anyway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod
from time import monotonic
from typing import TYPE_CHECKING

from ...models.kubernetes.extensions import TopologyRequest
from ...models.kubernetes.meta import DeviceId
from .audit_rows import AuditRows, Choice
from .published import PublishedDevice
from .state import ExpressionTimeoutError
from .topology import TopologyInstanceView

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

Instances = Callable[[PublishedDevice], TopologyInstanceView | None]
"""The instance of the topology in which a set with this device is; None: there is no such topology."""


def post_shape(
    model: CpModel,
    rows: AuditRows,
    ask: TopologyRequest,
    own: Sequence[Choice],
    instances: Instances,
    deadline: float | None,
) -> None:
    """Post that what is taken of ``own``, the choices of one claim, has the shape.

    Raises ``ExpressionTimeoutError`` if that takes until ``deadline``, a reading of ``time.monotonic``.
    """
    parts: dict[int, list[Choice]] = defaultdict(list)
    known: dict[int, TopologyInstanceView] = {}
    for one in own:
        site = instances(one.entry)
        if site is None or one.entry.id not in site.spots:
            rows.refuse(one)
        else:
            known[id(site)] = site
            parts[id(site)].append(one)
    numbers = _numbers(rows, own)
    shapes = [_Shape(model, rows, ask, site, parts[key], numbers, deadline) for key, site in known.items()]
    if ask.shape == "Subtree" or (known and shapes[0].is_tree):
        rows.one_in_common([pair for number, one in enumerate(shapes) for pair in one.paths(number)])
        return
    # All of a set are in one instance, and it has one beginning there.
    if len(shapes) > 1:
        rows.one_in_common([(one, frozenset({key})) for key, part in parts.items() for one in part])
    begins = [begin for one in shapes for begin in one.begins()]
    if begins:
        model.add_at_most_one(begins)


def _numbers(rows: AuditRows, own: Sequence[Choice]) -> range:
    """How many devices an entry may cover if it covers any."""
    covered = {id(one.option) for one in own}
    counts: dict[str, set[int]] = defaultdict(set)
    for one in rows.choices if own else ():
        if one.option.claim == own[0].option.claim:
            counts[one.option.request].add(one.option.count if id(one.option) in covered else 0)
    least = [min(numbers) for numbers in counts.values()]
    shared = any(one.entry.device.allow_multiple_allocations for one in own)
    # Several requests may have shares of one device.
    fewest = max(least, default=0) if shared else sum(least)
    return range(max(1, fewest), sum(map(max, counts.values())) + 1)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The shape of what is taken in one instance, so many devices of ``own``."""

    model: CpModel
    rows: AuditRows
    ask: TopologyRequest
    site: TopologyInstanceView
    own: Sequence[Choice]
    numbers: range
    deadline: float | None

    @property
    def is_tree(self) -> bool:
        return self.site.spec.shape == "Tree"

    def _on_time(self) -> None:
        if self.deadline is not None and monotonic() > self.deadline:
            raise ExpressionTimeoutError

    def paths(self, instance: int) -> Iterator[tuple[Choice, frozenset[object]]]:
        """Yield each choice with the path in the tree that all devices have in common, none where none will do."""
        levels = self.site.spec.coordinates or ()
        depth: int | None = len(levels)
        if self.ask.shape == "Subtree":
            named = [n for n, level in enumerate(levels, 1) if self.ask.level in (level, level.partition("/")[2])]
            depth = named[0] if len(named) == 1 else None
        elif self.ask.shape == "Compact":
            # The first step leads from the device itself to its tree node.
            climbed = self.ask.max_distance
            depth = 0 if climbed is None else max(0, len(levels) + 1 - climbed)
        for one in self.own:
            path = (*self.site.spots[one.entry.id], one.entry.id)
            yield one, frozenset() if depth is None else frozenset({(instance, path[:depth])})

    def begins(self) -> list[IntVar]:
        """Post the shape, and return the Booleans of which one says where it begins."""
        taken = self._taken()
        if len(set(self.site.spots.values())) < len(self.site.spots):
            return []
        if self.ask.shape == "Box":
            return self._placed(taken, list(self._boxes(taken)))
        if self.ask.shape != "Compact":
            return self._connected(taken)
        return [] if self.ask.max_distance is None else self._compact(taken, self.ask.max_distance)

    def _taken(self) -> dict[DeviceId, IntVar]:
        """A Boolean of each device that says whether it is taken, in the order of their places."""
        devices = self.rows.by_device(self.own)
        order = sorted(devices, key=lambda name: (str(self.site.spots[name]), name))
        if self.site.spec.shape != "Links" and not self.is_tree:
            order.sort(key=self.site.cell)
        return {
            name: devices[name][0].taken if len(devices[name]) == 1 else self.rows.any_of(devices[name])
            for name in order
        }

    def _placed(self, taken: Mapping[DeviceId, IntVar], placements: Sequence[Sequence[DeviceId]]) -> list[IntVar]:
        """Choose a placement: what is taken is what is in it."""
        chosen = [self.model.new_bool_var("") for _ in placements]
        holders: dict[DeviceId, list[IntVar]] = defaultdict(list)
        for one, placement in zip(chosen, placements, strict=True):
            for name in placement:
                holders[name].append(one)
        for name, variable in taken.items():
            self.model.add(variable == sum(holders[name]))
        return chosen

    def _boxes(self, taken: Iterable[DeviceId]) -> Iterator[Sequence[DeviceId]]:
        """Yield every box of which all cells have a device to take, each once."""
        there = {self.site.cell(name): name for name in taken}
        size = tuple(self.ask.size or ())
        turned = [size] if self.ask.orientation == "Fixed" else sorted(set(permutations(size)))
        found = set[frozenset[DeviceId]]()
        for edges in turned if prod(size) in self.numbers and len(size) == len(self.site.axes) else ():
            steps = list(product(*map(range, edges)))
            for corner in there:
                self._on_time()
                cells = {self.site.moved(corner, step) for step in steps}
                box = frozenset(there[cell] for cell in cells if cell in there)
                if len(box) == len(steps) and box not in found:
                    found.add(box)
                    yield sorted(box)

    def _connected(self, taken: Mapping[DeviceId, IntVar]) -> list[IntVar]:
        """The devices hang together: within one component, as a run or as a tree from the first of them."""
        beside = self.site.neighbours(taken)
        found: list[IntVar] = []
        left = dict(taken)
        while left:
            component = _reached(beside, next(iter(left)), left, len(left))
            part = {name: left.pop(name) for name in list(left) if name in component}
            if max(len(beside[name]) for name in part) <= _RUN_DEGREE:
                found += self._placed(part, list(self._runs(part, beside)))
            else:
                found += self._rooted(part, beside)
        return found

    def _runs(self, part: Mapping[DeviceId, IntVar], beside: _Neighbours) -> Iterator[Sequence[DeviceId]]:
        """Yield every run of devices one beside the other, in a component that is a path or a circle."""
        ends = [name for name in part if len(beside[name]) <= 1]
        order = _walk(beside, (ends or list(part))[0])
        for number in self.numbers:
            if not ends and number == len(order):
                yield order
            elif number <= len(order):
                self._on_time()
                firsts = range(len(order) - number + 1) if ends else range(len(order))
                yield from ([order[(first + step) % len(order)] for step in range(number)] for first in firsts)

    def _rooted(self, part: Mapping[DeviceId, IntVar], beside: _Neighbours) -> list[IntVar]:
        """A tree that reaches all that is taken from the first of it."""
        roots = self._roots(part, lambda name, later: _reached(beside, name, later, self.numbers[-1] - 1))
        parents: dict[DeviceId, list[IntVar]] = defaultdict(list)
        level = {name: self.model.new_int_var(0, self.numbers[-1] - 1, "") for name in part}
        for parent in part:
            for child in beside[parent]:
                way = self.model.new_bool_var("")
                parents[child].append(way)
                self.model.add_implication(way, part[parent])
                self.model.add(level[child] >= level[parent] + 1).only_enforce_if(way)
        for name, variable in part.items():
            own = [roots[name]] if name in roots else []
            self.model.add(variable == sum([*parents[name], *own]))
        return list(roots.values())

    def _compact(self, taken: Mapping[DeviceId, IntVar], most: int) -> list[IntVar]:
        """No two devices are farther apart than so many steps, over any devices of the topology."""
        beside = self.site.neighbours(self.site.spots)
        near = {name: _reached(beside, name, beside, most) & taken.keys() for name in taken}
        roots = self._roots(taken, lambda name, later: near[name] & later.keys())
        for name, root in roots.items():
            self.model.add_implication(root, taken[name])
        names = list(taken)
        for place, name in enumerate(names):
            # With the first device near, only two on either side of it may be too far apart.
            around = set[DeviceId]().union(*(near[other] for other in near[name]))
            for other in names[place + 1 :]:
                if other in around and other not in near[name]:
                    self.model.add_bool_or(~taken[name], ~taken[other])
        return list(roots.values())

    def _roots(
        self, part: Mapping[DeviceId, IntVar], reached: Callable[[DeviceId, Mapping[DeviceId, None]], set[DeviceId]]
    ) -> dict[DeviceId, IntVar]:
        """The Booleans of which one says which device is the first: all that is taken is reached from it."""
        found: dict[DeviceId, IntVar] = {}
        before: dict[DeviceId, list[IntVar]] = defaultdict(list)
        later = dict.fromkeys(part)
        for name in part:
            self._on_time()
            within = reached(name, later)
            if len(within) >= self.numbers[0]:
                found[name] = self.model.new_bool_var("")
                for other in within:
                    before[other].append(found[name])
            del later[name]
        for name, variable in part.items():
            self.model.add(sum(before[name]) >= variable)
        return found


_Neighbours = Mapping[DeviceId, Sequence[DeviceId]]
_RUN_DEGREE = 2


def _walk(beside: _Neighbours, first: DeviceId) -> list[DeviceId]:
    """The devices of a path or circle, one after the other."""
    order, known = [first], {first}
    while True:
        following = next((name for name in beside[order[-1]] if name not in known), None)
        if following is None:
            return order
        order.append(following)
        known.add(following)


def _reached(beside: _Neighbours, first: DeviceId, among: Container[DeviceId], steps: int) -> set[DeviceId]:
    """What of ``among`` is reached in so many steps over no others."""
    found, border = {first}, [first]
    for _ in range(steps):
        border = [*{other for name in border for other in beside[name] if other in among and other not in found}]
        if not border:
            break
        found.update(border)
    return found
