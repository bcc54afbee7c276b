"""The pricer of linear node classes: their devices are all alike, so that sums say all, and pricing is far quicker.

On such a node every unit takes some whole devices, or a share of one, or none; no constraint relates them, no counter
is drawn, and no other node reaches them. Where units draw counters or several capacities, devices may be folded into
sums (``folding``). A measure may count them as long as each unit costs the same wherever it is.

Where what a unit takes is one vector, and its graph is small, pricing is exact (``filling_graph``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from ....problem.messages import DeadlineExceededError
from ....problem.problem import InUse, Problem
from ...engines.engine import Pick
from ..column_generation import Prices, PricingLimits, PricingResult
from ..filling_graph import MOST_ARCS, Fillings, GraphItem, VectorNode, build_filling_graph
from ..master_problem import Column, is_past
from . import lagrangian
from .bundle import Bundle, BundleQuestion, BundleUnit, Picks, uniform_usage
from .folding import FoldedNode, fold_devices
from .labeling import ENUMERATION_WIDTH, Labeling, filled_beside, label_in_widths
from .vector_labeling import FillingList, FillingResult, all_fillings, best_fillings, knapsack_fillings

Usage = tuple[tuple[int, int], ...]
_MOST_COLUMNS = 6
_MOST_ENUMERATED_ITEMS = 24
_MOST_ENUMERATED_PATHS = 5_000
# Graphs of more node classes, such as offerings of a cloud, take longer than they save; graphs of several are smaller.
_MOST_GRAPHS, _MOST_ARCS_OF_SEVERAL = 64, 400_000
_ANY_NUMBER = 1 << 30


@dataclass(frozen=True, slots=True)
class LinearPricer:
    """Prices node classes with linear resources; ``nodes`` by node class, ``units`` by unit class.

    A column's payload says which unit classes each device takes, and in one more entry those without a device.
    ``usage`` has by node class what a unit of each class uses by measure, ``most`` how many of some units a node takes.
    ``own_units`` are the units of node classes where they take something else than in others. ``demands`` are how many
    units of each class there are, where that is known: columns have no more. Graphs stay behind when the pricer is sent
    to another process.
    """

    units: tuple[lagrangian.LinearUnit, ...]
    nodes: tuple[lagrangian.LinearNode, ...]
    usage: Mapping[int, Mapping[int, Usage]] = field(default_factory=dict)
    most: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    own_units: Mapping[int, tuple[lagrangian.LinearUnit, ...]] = field(default_factory=dict)
    demands: tuple[int, ...] = ()
    _fillings: dict[int, tuple[tuple[int, ...], Fillings | None]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _knapsacks: dict[int, tuple[Sequence[int], list[GraphItem]]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _offers: dict[int, lagrangian.LinearOffers] = field(init=False, default_factory=dict, compare=False, repr=False)
    _vectors: dict[int, VectorNode] = field(init=False, default_factory=dict, compare=False, repr=False)
    # Node classes that are vectors in sums only.
    _sums: set[int] = field(init=False, default_factory=set, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        return LinearPricer, (self.units, self.nodes, self.usage, self.most, self.own_units, self.demands)

    def units_on(self, node_class: int) -> tuple[lagrangian.LinearUnit, ...]:
        """What units take on nodes of a class."""
        return self.own_units.get(node_class, self.units)

    def vector(self, node_class: int) -> VectorNode | None:
        """A node of the class as a vector; None where units share several devices."""
        sizes = self.sizes(node_class)
        return None if node_class in self._sums else sizes

    def sizes(self, node_class: int) -> VectorNode:
        """What units take of a node, and as the last dimension what they take of all its devices."""
        if node_class not in self._vectors:
            node, units, most = self.nodes[node_class], self.units_on(node_class), self.most.get(node_class, {})
            found = self._vectors[node_class] = _vector_of_node(node, units, most)
            if len(node.free) > 1 and any(units[index].share for index in found.needs):
                self._sums.add(node_class)
        return self._vectors[node_class]

    def _offers_on(self, node_class: int) -> lagrangian.LinearOffers:
        """The units that fit a node of the class."""
        if node_class not in self._offers:
            self._offers[node_class] = lagrangian.LinearOffers.of(self.nodes[node_class], self.units_on(node_class))
        return self._offers[node_class]

    def fillings(self, node_class: int, limits_by_class: Sequence[int]) -> Fillings | None:
        """All fillings within these limits, and perhaps more: a graph, else a list; None: both would be too large."""
        if len(self.nodes) > _MOST_GRAPHS:
            return None
        known, found = self._fillings.get(node_class, ((), None))
        if not known or any(limit > built for limit, built in zip(limits_by_class, known, strict=True)):
            known = tuple(map(max, limits_by_class, known)) if known else tuple(limits_by_class)
            vector = self.vector(node_class)
            most = MOST_ARCS if len(self.nodes) == 1 else _MOST_ARCS_OF_SEVERAL
            if vector is not None:
                items, left = vector.items(known), vector.left
                found = build_filling_graph(items, left, most) or FillingList.of(items, left, len(self.nodes))
            self._fillings[node_class] = known, found
        return found

    def filled(self, node_class: int, counts: Sequence[tuple[int, int]]) -> Column:
        """The column of a node that takes so many units of each class, where they may go to any devices."""
        units, groups = self.units_on(node_class), list[tuple[int, ...]]()
        sharing, without = list[int](), list[int]()
        for index, number in counts:
            if units[index].devices:
                groups += [(index,)] * number
            else:
                (sharing if units[index].share else without).extend([index] * number)
        return self.column(node_class, (*groups, tuple(sharing), tuple(without)))

    def price(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], limits: PricingLimits
    ) -> PricingResult:
        """Find columns; what a quick look cannot exclude raises the bound, which is None only after the deadline."""
        values, limits_by_class = self._values(node_class, prices), self._limited(node_class, limits_by_class)
        known = self.fillings(node_class, self.demands or limits_by_class)
        if known is not None:
            best, paths = known.best_paths(values, self._within_demand(limits_by_class))
            return PricingResult(tuple(self.filled(node_class, path) for path in paths), best)
        if is_past(limits.deadline):
            return PricingResult((), None)
        packed = self._knapsack(node_class, values, limits_by_class)
        if packed is not None and packed.is_complete:
            columns = tuple(self.filled(node_class, one) for one in packed.fillings[:_MOST_COLUMNS])
            return PricingResult(columns, packed.bound)
        question = self._offers_on(node_class).question(values, limits_by_class)
        if not question.offers:
            return PricingResult((), 0)
        vector = self._labeled_vector(node_class)
        if vector is not None:
            return self._priced_vector(node_class, vector, values, limits_by_class, limits)
        relaxed = lagrangian.best_relaxation(question, limits.deadline)
        filled = label_in_widths(question, relaxed, limits.effort, _MOST_COLUMNS, limits.deadline)
        columns = tuple(self.column(node_class, filling.devices) for filling in filled.fillings)
        return PricingResult(columns, filled.bound if packed is None else min(packed.bound, filled.bound))

    def _knapsack(self, node_class: int, values: Sequence[int], limits_by_class: Sequence[int]) -> FillingResult | None:
        """The fillings of a node that is a vector, by one dimension alone; None elsewhere and with few node classes."""
        if len(self.nodes) <= _MOST_GRAPHS:
            return None
        if node_class not in self._knapsacks:
            vector = self.vector(node_class)
            alone = vector.items([_ANY_NUMBER] * len(self.units_on(node_class))) if vector else []
            self._knapsacks[node_class] = vector.left if vector else (), alone
        left, items = self._knapsacks[node_class]
        return knapsack_fillings(items, values, limits_by_class, left) if left else None

    def _labeled_vector(self, node_class: int) -> VectorNode | None:
        """A node as a vector, where vectors are labeled."""
        return self.vector(node_class) if len(self.nodes) <= _MOST_GRAPHS else None

    def _priced_vector(
        self,
        node_class: int,
        vector: VectorNode,
        values: Sequence[int],
        limits_by_class: Sequence[int],
        limits: PricingLimits,
    ) -> PricingResult:
        items = vector.items(self._within_demand(limits_by_class))
        try:
            found = best_fillings(items, values, vector.left, limits.effort, limits.deadline)
        except DeadlineExceededError:
            return PricingResult((), None)
        return PricingResult(tuple(self.filled(node_class, one) for one in found.fillings), found.bound)

    def _limited(self, node_class: int, limits_by_class: Sequence[int]) -> Sequence[int]:
        """Limits of units, none of them above what a node takes."""
        most = self.most.get(node_class)
        if not most:
            return limits_by_class
        return [min(limit, most.get(unit, limit)) for unit, limit in enumerate(limits_by_class)]

    def _within_demand(self, limits_by_class: Sequence[int]) -> Sequence[int]:
        """Limits of units, none of them above the number that there are: only graphs are as quick with them."""
        return tuple(map(min, limits_by_class, self.demands)) if self.demands else limits_by_class

    def _values(self, node_class: int, prices: Prices) -> Sequence[int]:
        """The worth of each unit, less what its usage costs."""
        usage = self.usage.get(node_class)
        if not usage:
            return prices.units
        costs = {unit: sum(prices.meters[meter] * amount for meter, amount in own) for unit, own in usage.items()}
        return [price + costs.get(unit, 0) for unit, price in enumerate(prices.units)]

    def column(self, node_class: int, devices: tuple[tuple[int, ...], ...]) -> Column:
        """The column of a node whose devices take these units."""
        counts = Counter(index for device in devices for index in device)
        usage, used = self.usage.get(node_class, {}), Counter[int]()
        for unit, number in counts.items():
            for meter, amount in usage.get(unit, ()):
                used[meter] += number * amount
        return Column(node_class, tuple(sorted(counts.items())), tuple(sorted((+used).items())), devices)

    def enumerate(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], least_value: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns of some worth, but for units that are worth nothing; None if they are too many."""
        node, units, values = self.nodes[node_class], self.units_on(node_class), self._values(node_class, prices)
        limits_by_class, longest = self._limited(node_class, limits_by_class), limits.work or _MOST_ENUMERATED_PATHS
        if any(values[unit] <= 0 < prices.units[unit] and limits_by_class[unit] for unit in node.allowed(units)):
            # A column may still have units that cost more here than they are worth.
            return None
        if (known := self.fillings(node_class, self.demands or limits_by_class)) is not None:
            within = self._within_demand(limits_by_class)
            paths = known.paths(values, within, max(1, least_value), longest)
            return None if paths is None else tuple(self.filled(node_class, path) for path in paths)
        vector = self._labeled_vector(node_class)
        if vector is not None:
            items, least = vector.items(self._within_demand(limits_by_class)), max(1, least_value)
            try:
                found = all_fillings(items, values, vector.left, least, longest, limits.deadline)
            except DeadlineExceededError:
                return None
            return None if found is None else tuple(self.filled(node_class, one) for one in found)
        question = self._offers_on(node_class).question(values, limits_by_class, dominance=False)
        if not question.offers:
            return ()
        if len(question.offers) > _MOST_ENUMERATED_ITEMS:
            return None
        relaxed = lagrangian.best_relaxation(question, limits.deadline)
        least = max(0, least_value - 1)
        labels = Labeling(question, relaxed, ENUMERATION_WIDTH, least, counted=True, deadline=limits.deadline)
        try:
            filled = labels.run(ENUMERATION_WIDTH.labels)
        except DeadlineExceededError:
            return None
        if not filled.is_complete:
            return None
        return tuple(self.column(node_class, filling.devices) for filling in filled.fillings)

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take units out, from the last device to the first."""
        left = Counter({unit: amount - counts.get(unit, 0) for unit, amount in column.counts})
        devices: list[tuple[int, ...]] = []
        for taken in reversed(column.payload):
            gone = Counter(taken) & left
            left -= gone
            devices.append(tuple((Counter(taken) - gone).elements()))
        return self.column(column.node_class, tuple(reversed(devices)))

    def completed(self, column: Column, prices: Prices, left: Sequence[int], limits: PricingLimits) -> Column:
        """Add valuable units; those that are there stay on their devices."""
        node_class, own = column.node_class, dict(column.counts)
        most = self.most.get(node_class, {})
        more = [
            min(number, most[unit] - own.get(unit, 0)) if unit in most else number for unit, number in enumerate(left)
        ]
        node, units, values = self.nodes[node_class], self.units_on(node_class), self._values(node_class, prices)
        try:
            return self.column(node_class, filled_beside(node, units, column.payload, values, more, limits.deadline))
        except DeadlineExceededError:
            return column

    def lightened(self, column: Column) -> Column:
        """Return the column itself: devices that are all alike consume the same."""
        return column


def _vector_of_node(
    node: lagrangian.LinearNode, units: Sequence[lagrangian.LinearUnit], most: Mapping[int, int]
) -> VectorNode:
    """A linear node as a vector, with its devices as one more dimension; several devices that are shared add up."""
    allowed = {index: units[index] for index in node.allowed(units)}
    shares = any(unit.share for unit in allowed.values())
    devices, each = (sum(node.free), node.capacity) if shares else (node.whole, 1)
    needs = {index: (*unit.needs, unit.share or unit.devices * each) for index, unit in allowed.items()}
    return VectorNode((*node.left, devices), needs, most)


# With smaller shares of a device than this part of it, tables of its fillings become too large.
_MOST_SHARES = 1000


@dataclass(frozen=True, slots=True)
class _DeviceAmounts:
    """The devices of a node by number with what is free of each, and what one has when all of it is free."""

    free: Mapping[int, int]
    capacity: int

    def in_steps(self, step: int) -> _DeviceAmounts:
        """The same in larger units."""
        return _DeviceAmounts({device: free // step for device, free in self.free.items()}, self.capacity // step)

    def node(self, left: tuple[int, ...], takes: Iterable[int]) -> lagrangian.LinearNode:
        """A node with these devices, which takes these unit classes."""
        free = tuple(self.free[device] for device in sorted(self.free))
        return lagrangian.LinearNode(free, self.capacity, left, frozenset(takes))


@dataclass(frozen=True, slots=True)
class LinearNodes:
    """The linear node kinds of an instance: their pricer, and how what it finds becomes a bundle."""

    pricer: LinearPricer
    devices: Mapping[int, _DeviceAmounts]
    questions: Mapping[int, BundleQuestion]
    folded: Mapping[int, FoldedNode]
    _places: dict[int, dict[int, int]] = field(init=False, default_factory=dict, compare=False, repr=False)

    def taken(self, node_class: int, groups: Sequence[Sequence[int]]) -> list[tuple[BundleUnit, Sequence[Picks]]]:
        """The units in these groups, each on one device or on several as a whole, with the devices of each copy."""
        copies: Mapping[int, list[Picks]] = defaultdict(list)
        if node_class in self.folded:
            copies = self.folded[node_class].copies([unit for group in groups for unit in group])
        else:
            for group, devices in self._matched(node_class, groups):
                for index in group:
                    copies[index].append(tuple(Pick(0, device) for device in devices))
        units = self.questions[node_class].units
        places = self._places.get(node_class)
        if places is None:
            places = self._places[node_class] = {unit.index: place for place, unit in enumerate(units)}
        return [(units[place], copies[units[place].index]) for place in sorted(map(places.__getitem__, copies))]

    def bundle(self, node_class: int, groups: Sequence[Sequence[int]]) -> Bundle:
        """The bundle of a node with these groups."""
        copies = {unit.index: tuple(own) for unit, own in self.taken(node_class, groups)}
        return Bundle(tuple([copies.get(unit.index, ()) for unit in self.questions[node_class].units]))

    def column(self, node_class: int, bundle: Bundle) -> Column:
        """The column of a node that takes a bundle: units that share a device are one group."""
        groups: list[tuple[int, ...]] = []
        sharing: dict[int, list[int]] = defaultdict(list)
        rest: list[int] = []
        units = self.pricer.units_on(node_class)
        for unit, copies in zip(self.questions[node_class].units, bundle.copies, strict=True):
            for picks in copies:
                if not picks:
                    rest.append(unit.index)
                elif units[unit.index].share:
                    sharing[picks[0].device].append(unit.index)
                else:
                    groups.append((unit.index,))
        return self.pricer.column(node_class, (*groups, *map(tuple, sharing.values()), tuple(rest)))

    def _matched(self, node_class: int, groups: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], list[int]]]:
        """The fullest groups get the devices with most left: if there is any way, this is one."""
        there, units = self.devices[node_class], self.pricer.units
        left = sorted(there.free, key=lambda device: (there.free[device], -device))
        for group in sorted(groups, key=lambda group: -self._size(there, group)):
            number = max((units[index].devices or int(units[index].share > 0) for index in group), default=0)
            yield group, sorted(left.pop() for _ in range(number))

    def _size(self, there: _DeviceAmounts, group: Sequence[int]) -> int:
        units = [self.pricer.units[index] for index in group]
        return there.capacity if any(unit.devices for unit in units) else sum(unit.share for unit in units)


def linear_nodes(questions: Mapping[int, BundleQuestion], roles: int, demands: tuple[int, ...] = ()) -> LinearNodes:
    """Find the node kinds that are linear; there are so many unit ``roles``, with ``demands`` units each."""
    units: dict[int, lagrangian.LinearUnit] = {}
    found: dict[int, _LinearNodeClass] = {}
    folded: dict[int, FoldedNode] = {}
    for index, question in questions.items():
        linear = None if any(question.meters) else _linear_node_class(question)
        if linear is not None and all(units.get(number, own) == own for number, own in linear.units.items()):
            found[index] = linear
            units.update(linear.units)
        elif len(questions) <= _MOST_GRAPHS and (sums := fold_devices(question)) is not None:
            used = {unit.index: uniform_usage(question, unit) for unit in question.units if unit.index in sums.units}
            usage = {number: own for number, own in used.items() if own is not None}
            if len(usage) == len(used):
                folded[index] = sums
                found[index] = _LinearNodeClass(_DeviceAmounts({}, 1), sums.units, usage)
    shares = (unit.share for unit in units.values())
    plain = [linear for index, linear in found.items() if index not in folded]
    free = (amount for linear in plain for amount in linear.devices.free.values())
    step = gcd(*shares, *free, *(linear.devices.capacity for linear in plain)) or 1
    devices = {
        index: linear.devices if index in folded else linear.devices.in_steps(step) for index, linear in found.items()
    }
    resources = max((len(question.left) for question in questions.values()), default=0)
    nowhere = _DeviceAmounts({}, 1).node((0,) * resources, ())

    def node(index: int) -> lagrangian.LinearNode:
        if index in folded:
            return folded[index].node
        return devices[index].node(questions[index].left, found[index].units) if index in found else nowhere

    nothing = lagrangian.LinearUnit(needs=(0,) * resources)
    requested = (units.get(number, nothing) for number in range(roles))
    own_units = {
        index: tuple(
            sums.units.get(number) or lagrangian.LinearUnit(needs=(0,) * len(sums.node.left)) for number in range(roles)
        )
        for index, sums in folded.items()
    }
    usage_by_class = {index: linear.usage for index, linear in found.items() if any(linear.usage.values())}
    most = {index: {unit.index: unit.most for unit in questions[index].units if unit.limited} for index in found}
    for index, sums in folded.items():
        for number, limit in sums.most.items():
            most[index][number] = min(limit, most[index].get(number, limit))
    pricer = LinearPricer(
        tuple(replace(unit, share=unit.share // step) for unit in requested),
        tuple(map(node, sorted(questions))),
        usage_by_class,
        most,
        own_units,
        demands,
    )
    return LinearNodes(pricer, devices, {index: questions[index] for index in found}, folded)


@dataclass(frozen=True, slots=True)
class _LinearNodeClass:
    """A linear node kind: its devices, what it may take, and what that uses by measure."""

    devices: _DeviceAmounts
    units: Mapping[int, lagrangian.LinearUnit]
    usage: Mapping[int, Usage]


def _linear_node_class(question: BundleQuestion) -> _LinearNodeClass | None:
    """Convert a question to a linear node class; None if sums do not express it."""
    asking = {unit.index: unit.problem for unit in question.units if unit.problem.demands}
    if not all(map(_is_simple, asking.values())) or any(unit.provides for unit in question.units):
        return None
    wanted = {index: frozenset(own.demands[0].candidates) - question.in_use.dedicated for index, own in asking.items()}
    sets = {devices: asking[index] for index, devices in wanted.items() if devices}
    if len(sets) > 1:
        return None
    known = (_device_amounts(own, devices, question.in_use) for devices, own in sets.items())
    there = next(known, _DeviceAmounts({}, 1))
    if there is None:
        return None
    units: dict[int, lagrangian.LinearUnit] = {}
    usage: dict[int, Usage] = {}
    for unit in question.units:
        if not wanted.get(unit.index, True):
            continue
        taken = _unit_take(unit.problem, there) if unit.index in wanted else (0, 0)
        used = uniform_usage(question, unit)
        if taken is None or used is None:
            return None
        units[unit.index], usage[unit.index] = lagrangian.LinearUnit(*taken, unit.needs), used
    least = min((unit.share for unit in units.values() if unit.share), default=there.capacity)
    return None if there.capacity > _MOST_SHARES * least else _LinearNodeClass(there, units, usage)


def alike_devices(question: BundleQuestion) -> tuple[int, ...] | None:
    """The devices of a node where all of them are alike and every unit takes whole ones; None elsewhere."""
    linear = _linear_node_class(question)
    if linear is None or any(unit.share for unit in linear.units.values()):
        return None
    return tuple(sorted(linear.devices.free))


def _is_simple(problem: Problem) -> bool:
    """Whether the problem has one exact request, and no constraints."""
    if len(problem.demands) != 1 or problem.constraints or problem.relations:
        return False
    demand = problem.demands[0]
    return not (demand.all_devices or demand.admin or demand.node_draws) and demand.count > 0


def _device_amounts(problem: Problem, devices: frozenset[int], in_use: InUse) -> _DeviceAmounts | None:
    """The free amounts of the devices; None if they are not all alike, or draw on counters or compatibility groups."""
    drawing = problem.counters.consumption.keys() | problem.groups.membership.keys()
    if not devices.isdisjoint(drawing):
        return None
    if devices.isdisjoint(problem.shared):
        return _DeviceAmounts(dict.fromkeys(devices, 1), 1)
    if not devices <= problem.shared:
        return None
    rows = {device: problem.capacities.rows.get(device, ()) for device in devices}
    if any(len(own) != 1 for own in rows.values()):
        return None
    totals = {problem.capacities.totals[own[0]] for own in rows.values()}
    left = {device: problem.capacities.totals[own[0]] - in_use.consumed.get(own[0], 0) for device, own in rows.items()}
    total = totals.pop()
    return None if totals or total <= 0 else _DeviceAmounts({d: max(0, free) for d, free in left.items()}, total)


def _unit_take(problem: Problem, there: _DeviceAmounts) -> tuple[int, int] | None:
    """The whole devices, and the share of one device, that a unit takes; None if it takes neither."""
    demand = problem.demands[0]
    if not problem.shared.intersection(there.free):
        return demand.count, 0
    amounts = {sum(amount for _, amount in demand.amounts.get(device, ())) for device in there.free}
    if len(amounts) != 1:
        return None
    amount = amounts.pop()
    if amount == there.capacity and demand.count > 1:
        return demand.count, 0
    return (0, amount) if amount > 0 and demand.count == 1 else None
