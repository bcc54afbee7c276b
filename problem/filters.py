"""Filters: tests of one candidate device for one request, in the order in which upstream makes them (section 7).

A candidate keeps every filter it fails: what the search does follows from the first one, explanations need them all.
``CandidateFilter`` evaluates each filter once for requests that look alike to it, and once for each device profile.

``usable_devices`` lists the devices that each demand could take, looked at alone, beside what is in use. Everything
that holds of one device whatever else is chosen is decided there once, so that the proofs and the model are about joint
rules only. A candidate whose test is an error is not usable: whoever cannot replay the order of a search must not
depend on an error that only this order meets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from ..models.cluster.node_fit import untolerated_device_taints
from ..models.kubernetes.claims import DeviceSelector
from ..models.kubernetes.core import Taint
from ..models.kubernetes.gates import FeatureGates
from .constraints import draws_counters, pools_with_negative_draws
from .messages import KUBE, Message, Placeholder
from .problem import Amounts, Constraint, Demand, FilterFailure, InUse, Problem, groups_compatible
from .requests import CapacityDraw, CapacityError, ResolvedRequest, compute_capacity_draw
from .selectors import ExpressionEvaluator, SelectorVerdict, evaluate_selectors
from .shapes import NodeType, Profile


@dataclass(frozen=True, slots=True)
class FilterContext:
    """What filters know beside the candidate."""

    gates: FeatureGates
    expressions: ExpressionEvaluator
    # Only the experimental variant knows what it means to skip node operations.
    knows_node_operations: bool


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A device that may be asked for, without its name; ``reachable`` and ``node_skips`` are about the node.

    Equal ones are one object.
    """

    profile: Profile
    reachable: bool
    node_skips: bool


@dataclass(frozen=True, slots=True)
class FilterQuery:
    """An ask and the candidates that a filter is to judge for it, all at once.

    ``draw_or_error`` says what the ask takes of a device's capacities, None if that is not asked (CAP-1).
    """

    ask: ResolvedRequest
    context: FilterContext
    candidates: Sequence[Candidate]
    drawn: Callable[[Profile], CapacityDraw | CapacityError | None]

    def each(self, test: Callable[[Candidate], str | SelectorVerdict | None]) -> FailuresByPlace:
        """Ask a test about each candidate alone."""
        return {number: found for number, one in enumerate(self.candidates) if (found := test(one))}

    def selected(self, selectors: Sequence[DeviceSelector] | None, subject: Message) -> FailuresByPlace:
        """Ask selectors about all candidates."""
        profiles = [candidate.profile for candidate in self.candidates]
        return evaluate_selectors(selectors or (), subject, profiles, self.context.expressions)


FailuresByPlace = Mapping[int, str | SelectorVerdict]
"""Why candidates fail, by their places in the inquiry."""
FilterTest = Callable[[FilterQuery], FailuresByPlace]


def _reads_nothing(_ask: ResolvedRequest) -> None:
    """Read for a test that is about the device and the node only."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A test with its stable id; ``listed`` says that All does not even list a device that fails it (PRE-8, PRE-9).

    ``reads`` is what it reads of a request, beside names in the texts of errors: requests that agree in it get the
    same.
    """

    id: str
    description: str
    listed: bool
    test: FilterTest
    reads: Callable[[ResolvedRequest], object] = _reads_nothing

    def __call__(self, inquiry: FilterQuery) -> dict[int, FilterFailure]:
        """Return the failures of candidates that fail; equal ones are mostly one object."""
        made: dict[str, FilterFailure] = {}
        return {number: self._failure(result, made) for number, result in self.test(inquiry).items()}

    def _failure(self, result: str | SelectorVerdict, made: dict[str, FilterFailure]) -> FilterFailure:
        detail, error = (result, ()) if isinstance(result, str) else (result.detail, result.error)
        if error:
            return FilterFailure(self.id, detail, error)
        return made.get(detail) or made.setdefault(detail, FilterFailure(self.id, detail))


def _binding_conditions(inquiry: FilterQuery) -> FailuresByPlace:
    if inquiry.context.gates.binding_conditions:
        return {}
    return inquiry.each(lambda candidate: ", ".join(candidate.profile.device.binding_conditions or ()))


def _class_selectors(inquiry: FilterQuery) -> FailuresByPlace:
    device_class = inquiry.ask.device_class
    return inquiry.selected(device_class.spec.selectors, (f"class {device_class.metadata.name}",))


def draw_or_error(profile: Profile, ask: ResolvedRequest, gates: FeatureGates) -> CapacityDraw | CapacityError | None:
    """Compute what the ask takes of the device's capacities, errors as values."""
    if not gates.consumable_capacity:
        return None
    try:
        return compute_capacity_draw(profile.device, ask.capacity, gates.fractional_capacity_range)
    except CapacityError as error:
        return error


def _capacity_suffices(inquiry: FilterQuery) -> FailuresByPlace:
    ask = inquiry.ask
    # Upstream names the device shortly while it lists all devices.
    device = Placeholder.DEVICE_NAME if ask.all_devices else Placeholder.DEVICE
    place = ("claim ", Placeholder.CLAIM, f", request {ask.own_name}: checking capacity for device ", device)

    def test(candidate: Candidate) -> str | SelectorVerdict | None:
        result = inquiry.drawn(candidate.profile)
        if isinstance(result, CapacityError):
            return SelectorVerdict(str(result), (*place, f": {result}"))
        return result.mismatch if result else None

    return inquiry.each(test)


def _counters_feature(inquiry: FilterQuery) -> FailuresByPlace:
    if inquiry.context.gates.partitionable_devices:
        return {}
    text = "needs DRAPartitionableDevices"
    return inquiry.each(lambda candidate: text if candidate.profile.device.consumes_counters else None)


def _groups_feature(inquiry: FilterQuery) -> FailuresByPlace:
    if inquiry.context.gates.compatibility_groups:
        return {}

    def test(candidate: Candidate) -> str | None:
        consumed = candidate.profile.device.consumes_counters or ()
        groups = any(consumption.compatibility_groups for consumption in consumed)
        return "needs DRADeviceCompatibilityGroups" if groups else None

    return inquiry.each(test)


def _node_operations(inquiry: FilterQuery) -> FailuresByPlace:
    if not inquiry.context.knows_node_operations:
        return {}
    text = "needs DRAOptionalNodeOperations, declared by the node"
    return inquiry.each(lambda one: text if one.profile.skips_node_operations and not one.node_skips else None)


def _taints(inquiry: FilterQuery) -> FailuresByPlace:
    if not inquiry.context.gates.device_taints:
        return {}
    tolerations = inquiry.ask.spec.tolerations
    return inquiry.each(
        lambda candidate: ", ".join(
            map(taint_text, untolerated_device_taints(candidate.profile.device.taints, tolerations))
        )
    )


def taint_text(taint: Taint) -> str:
    """Write a taint as kubectl does: ``key=value:effect``."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def reads_capacity(ask: ResolvedRequest) -> object:
    """Read what an ask takes of capacities, and how an error in that is told."""
    return ask.spec.capacity, ask.all_devices


FILTERS: tuple[Filter, ...] = (
    Filter("bindingConditions", "binding conditions need their feature (DEV-2)", True, _binding_conditions),
    Filter(
        "classSelector",
        "all selectors of the class are true (DEV-3)",
        True,
        _class_selectors,
        lambda ask: ask.device_class.metadata.name,
    ),
    Filter(
        "requestSelector",
        "all selectors of the request are true (DEV-3)",
        True,
        lambda inquiry: inquiry.selected(inquiry.ask.spec.selectors, ("claim ", Placeholder.CLAIM)),
        lambda ask: ask.spec.selectors,
    ),
    Filter(
        "deviceNode",
        "the device is for this node (DEV-4)",
        True,
        lambda inquiry: inquiry.each(lambda candidate: None if candidate.reachable else "for other nodes"),
    ),
    Filter("capacity", "capacities suffice when nothing is consumed (DEV-6)", True, _capacity_suffices, reads_capacity),
    Filter("countersFeature", "counters need their feature (DEV-7)", False, _counters_feature),
    Filter("groupsFeature", "compatibility groups need their feature (GRP-5)", False, _groups_feature),
    Filter("nodeOperations", "the node may skip the operations that the device skips (DEV-9)", False, _node_operations),
    Filter("taint", "all taints are tolerated (DEV-10)", False, _taints, lambda ask: ask.spec.tolerations),
)
# Asked last, by the constraints themselves.
CONSTRAINT_ATTRIBUTE = "constraintAttribute"
# Filters whose errors are about expressions, so that the policy for them applies.
EXPRESSION_FILTERS = frozenset({"classSelector", "requestSelector", "derivedAttribute"})
UNLISTED_FILTERS = frozenset(filter_.id for filter_ in FILTERS if filter_.listed)
FilterFailures = tuple[FilterFailure, ...]
FailuresByKind = Mapping[int, FilterFailure]
"""What one filter says of the kinds of devices of a shape: those that fail, by number."""
_CAPACITY = next(number for number, filter_ in enumerate(FILTERS) if filter_.reads is reads_capacity)
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class FilterResult:
    """What filters make of all devices of a shape, for requests that are alike: one object for all of them."""

    failures: tuple[FilterFailures, ...]
    passing: tuple[int, ...]
    error_devices: dict[int, FilterFailure]
    amounts: dict[int, Amounts]


@dataclass(frozen=True, slots=True)
class _CandidateKinds:
    """The different devices of a shape: most devices of a node are like another one."""

    candidates: tuple[Candidate, ...]
    of_device: tuple[int, ...]


class CandidateFilter:
    """Judges all devices of a shape at once, and remembers what each filter said about each profile."""

    def __init__(self, context: FilterContext, policy: str) -> None:
        self._context = context
        self._policy = policy
        self._parts: dict[Hashable, int] = {}
        self._kinds: dict[int, _CandidateKinds] = {}
        self._candidates: dict[Hashable, Candidate] = {}
        self._results: dict[Hashable, FilterResult] = {}
        self._columns: dict[Hashable, FailuresByKind] = {}
        self._failure_of: dict[int, dict[Candidate, FilterFailure | None]] = defaultdict(dict)
        self._offers: dict[int, bytes] = {}
        self._drawn: dict[Hashable, CapacityDraw | CapacityError | None] = {}
        self._taken: dict[Hashable, dict[int, Amounts]] = {}

    def result(self, ask: ResolvedRequest, shape: NodeType) -> FilterResult:
        """Judge all devices of the shape for the ask."""
        parts = [
            self._parts.setdefault((filter_.id, _encode(filter_.reads(ask))), len(self._parts)) for filter_ in FILTERS
        ]
        # Errors of capacities name the request, and are kept for it alone.
        key = *parts, shape.index
        result = self._results.get(key) or self._results.get((ask.own_name, *key))
        if result is None:
            result = self._filter_all(ask, shape, parts)
            named = any(map(_names_request, chain.from_iterable(result.failures)))
            self._results[(ask.own_name, *key) if named else key] = result
        return result

    def is_fatal(self, failure: FilterFailure) -> bool:
        """Tell whether meeting this failure aborts everything; the policy is about expressions only."""
        return bool(failure.error) and (self._policy == KUBE or failure.filter not in EXPRESSION_FILTERS)

    def _kinds_of(self, shape: NodeType) -> _CandidateKinds:
        kinds = self._kinds.get(shape.index)
        if kinds is None:
            seen = list(zip(shape.profiles, shape.reachable, strict=True))
            numbers = {device: number for number, device in enumerate(dict.fromkeys(seen))}
            candidates = tuple([self._candidate(*device, shape.node_skips) for device in numbers])
            kinds = self._kinds[shape.index] = _CandidateKinds(candidates, tuple([numbers[device] for device in seen]))
        return kinds

    def _candidate(self, profile: Profile, reachable: bool, node_skips: bool) -> Candidate:
        key = profile.index, reachable, node_skips
        return self._candidates.get(key) or self._candidates.setdefault(key, Candidate(profile, reachable, node_skips))

    def _filter_all(self, ask: ResolvedRequest, shape: NodeType, parts: Sequence[int]) -> FilterResult:
        kinds = self._kinds_of(shape)
        failing: dict[int, FilterFailures] = {}
        for filter_, part in zip(FILTERS, parts, strict=True):
            for kind, failure in self._column(filter_, part, ask, shape, kinds.candidates).items():
                failing[kind] = (*failing.get(kind, ()), failure)
        failures = tuple([failing.get(kind, ()) for kind in kinds.of_device])
        fatal = {kind for kind, failed in failing.items() if self.is_fatal(failed[0])}
        error_devices = {device: failures[device][0] for device, kind in enumerate(kinds.of_device) if kind in fatal}
        passing = tuple([device for device, failed in enumerate(failures) if not failed or device in error_devices])
        return FilterResult(failures, passing, error_devices, self._amounts(ask, parts[_CAPACITY], shape))

    def _column(
        self, filter_: Filter, part: int, ask: ResolvedRequest, shape: NodeType, candidates: Sequence[Candidate]
    ) -> FailuresByKind:
        key = part, shape.index
        column = self._columns.get(key)
        if column is None:
            known = self._failure_of[part]
            unknown = [candidate for candidate in candidates if candidate not in known]
            failed = filter_(FilterQuery(ask, self._context, unknown, lambda profile: self._draw(profile, ask, part)))
            fresh = {candidate: failed.get(place) for place, candidate in enumerate(unknown)}
            named = any(map(_names_request, failed.values()))
            if named:
                known = {**known, **fresh}
            else:
                known |= fresh
            column = {kind: one for kind, candidate in enumerate(candidates) if (one := known[candidate]) is not None}
            if not named:
                self._columns[key] = column
        return column

    def _amounts(self, ask: ResolvedRequest, part: int, shape: NodeType) -> dict[int, Amounts]:
        """List what the ask takes of each device's capacities, in the order of their names (CAP-3)."""
        known = self._taken.get((part, shape.index))
        if known is not None:
            return known
        amounts = self._taken[part, shape.index] = dict[int, Amounts]()
        for device, rows in shape.capacities.rows.items():
            result = self._draw(shape.profiles[device], ask, part)
            if isinstance(result, CapacityDraw) and result.amounts:
                taken = (result.amounts[name].nano for name in sorted(result.amounts))
                amounts[device] = tuple(zip(rows, taken, strict=True))
        return amounts

    def _draw(self, profile: Profile, ask: ResolvedRequest, part: int) -> CapacityDraw | CapacityError | None:
        """Compute what the ask takes once for devices that have the same capacities."""
        offer = self._offers.get(profile.index)
        if offer is None:
            offer = self._offers[profile.index] = _encode(profile.device.capacity)
        key = part, offer
        result = self._drawn.get(key, _NOT_COMPUTED)
        if result is _NOT_COMPUTED:
            result = self._drawn[key] = draw_or_error(profile, ask, self._context.gates)
        return result


def _names_request(failure: FilterFailure) -> bool:
    return bool(failure.error) and failure.filter == FILTERS[_CAPACITY].id


_NOT_COMPUTED = CapacityDraw({}, "unasked")
DeviceTest = Callable[[Demand, int], bool]


def usable_devices(problem: Problem, in_use: InUse) -> tuple[tuple[int, ...], ...]:
    """List the devices that each demand could take, in visiting order.

    An All demand takes every device of its list or nothing: if one of them is not usable, none is.
    """
    tests = _device_tests(problem, in_use)
    known: dict[Hashable, tuple[int, ...]] = {}
    found: list[tuple[int, ...]] = []
    for demand in problem.demands:
        # Demands that are alike share these objects.
        values = (id(problem.constraints[number].tokens[demand.index]) for number in demand.constraints)
        alike = id(demand.candidates), demand.all_devices, id(demand.amounts), demand.admin, demand.untakeable, *values
        if alike not in known:
            known[alike] = _usable_for_demand(demand, tests)
        found.append(known[alike])
    return tuple(found)


def _usable_for_demand(demand: Demand, tests: tuple[DeviceTest, ...]) -> tuple[int, ...]:
    found = tuple(
        device
        for device in demand.candidates
        if device not in demand.error_devices
        and device not in demand.untakeable
        and all(test(demand, device) for test in tests)
    )
    return () if demand.all_devices and len(found) < demand.count else found


def _device_tests(problem: Problem, in_use: InUse) -> tuple[DeviceTest, ...]:
    """List the tests that can fail at all for this problem."""
    tests: list[DeviceTest] = []
    if in_use.dedicated:
        tests.append(lambda demand, device: demand.admin or device not in in_use.dedicated)
    if problem.capacities.rows:
        # CAP-6 for one allocation alone.
        consumed, totals = in_use.consumed, problem.capacities.totals
        tests.append(
            lambda demand, device: all(
                consumed.get(row, 0) + amount <= totals[row] for row, amount in demand.amounts.get(device, ())
            )
        )
    if problem.counters.consumption:
        tests.append(_counter_device_test(problem, in_use))
    if any(state is not None for state in in_use.groups):
        tests.append(_group_device_test(problem, in_use))
    if problem.constraints:
        tests.append(lambda demand, device: _has_values(problem.constraints, demand, device))
    return tuple(tests)


def _counter_device_test(problem: Problem, in_use: InUse) -> DeviceTest:
    """CTR-2 for one device alone: a row that is overdrawn already blocks its whole pool."""
    counters, available = problem.counters, in_use.available
    giving = pools_with_negative_draws(problem)
    blocked = counters.overdrawn_pools(available)

    def test(_demand: Demand, device: int) -> bool:
        amounts = counters.consumption.get(device, ())
        if not amounts or not draws_counters(problem, in_use, device):
            return True
        pool = counters.pool_of_row[amounts[0][0]]
        if pool in giving:
            # Devices before it may make room.
            return True
        return pool not in blocked and all(amount <= available[row] for row, amount in amounts)

    return test


def _group_device_test(problem: Problem, in_use: InUse) -> DeviceTest:
    """GRP-3 against the devices that are in use."""
    membership = problem.groups.membership

    def test(_demand: Demand, device: int) -> bool:
        if not draws_counters(problem, in_use, device):
            return True
        return all(groups_compatible(in_use.groups[place], groups) for place, groups in membership.get(device, ()))

    return test


def _has_values(constraints: tuple[Constraint, ...], demand: Demand, device: int) -> bool:
    """CON-3, and CON-8: a set without members matches nothing and is distinct from nothing."""
    for number in demand.constraints:
        constraint = constraints[number]
        token = constraint.tokens[demand.index].get(device)
        if token is None or (constraint.sets and not token):
            return False
    return True
