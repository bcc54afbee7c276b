"""Which devices could be allocated now, and what stands in the way of the others; which devices a class means.

A device is free if a claim that asks for nothing but this one device could have it on some node: the same filters and
tests decide that as for real claims (``filters.usable_devices``). All nodes that see a pool in the same way share the
answer, and so do equal pools in equal use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

from ..models.cluster.cluster import Cluster
from ..models.cluster.node_fit import apply_taint_rules
from ..models.cluster.pools import COMPLETE, INVALID, Pool, PoolDevice
from ..models.kubernetes.claims import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from ..models.kubernetes.core import Node
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.meta import DeviceId, ObjectMeta, PoolId
from ..models.kubernetes.quantity import Quantity, display_amount
from ..models.results.inventory import Availability, PoolState
from .compiler import Compiler
from .filters import usable_devices
from .messages import DeadlineExceededError, check_deadline
from .node_state import AllocatedState
from .problem import FilterFailure, InUse, Problem
from .selectors import ExpressionEvaluator, evaluate_selectors
from .shapes import NodeView, NodeViews, Profile, Profiles, counter_rows, node_class_key

# Of several nodes the one counts on which most can be done with the device.
_RANK: Mapping[Availability, int] = {"free": 0, "inUse": 1, "tainted": 2, "blocked": 3, "unavailable": 4, "unknown": 5}
_TIME_IS_UP = "the time limit passed"
_Verdict = tuple[Availability, str]
_UNDECIDED: _Verdict = ("unknown", _TIME_IS_UP)
_ANY_CLASS = DeviceClass(metadata=ObjectMeta(name="any"))
_ANY_DEVICE = ResourceClaim(
    metadata=ObjectMeta(name="any"),
    spec=ResourceClaimSpec(
        devices=DeviceClaim(
            requests=(
                DeviceRequest(
                    name="device",
                    exactly=ExactDeviceRequest(device_class_name="any", allocation_mode="ExactCount", count=1),
                ),
            )
        )
    ),
)


@dataclass(slots=True)
class SurveyedDevice:
    """A device, whether it could be allocated now, why not, and the names of the nodes that reach it.

    A device of a pool that is not complete counts as reached by the node that its slice names.
    """

    entry: PoolDevice
    state: Availability = "unavailable"
    reason: str = ""
    reached_by: list[Sequence[str]] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        """How many nodes reach it."""
        return sum(map(len, self.reached_by))

    @property
    def only_node(self) -> str | None:
        """The one node that reaches it; None for no node, and for several."""
        return self.reached_by[0][0] if self.nodes == 1 else None


@dataclass(slots=True)
class SurveyedPool:
    """A pool, the nodes that see it, and its counters: set, name, total and what is left, in billionths (CTR-1)."""

    generation: int
    state: PoolState = "unreachable"
    reason: str = "no node reaches it"
    nodes: list[str] = field(default_factory=list)
    counters: tuple[tuple[str, str, int, int], ...] = ()


@dataclass(slots=True)
class _PoolView:
    """A pool as some nodes see it, which also agree in the features that they declare."""

    pool: Pool
    node: Node
    nodes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeviceSurvey:
    """All devices and pools by name."""

    devices: Mapping[DeviceId, SurveyedDevice]
    pools: Mapping[PoolId, SurveyedPool]
    complete: bool
    """All devices were judged before the deadline."""


def survey_devices(cluster: Cluster, gates: FeatureGates, deadline: float | None = None) -> DeviceSurvey:
    """Judge every device of the cluster; ``deadline`` is a reading of ``time.monotonic``.

    Raises ``SelectorError`` for a node selector that cannot be parsed (NODE-2).
    """
    judge = _PoolJudge(cluster, gates)
    devices: dict[DeviceId, SurveyedDevice] = {}
    pools: dict[PoolId, SurveyedPool] = {}
    views, complete = _pool_views(cluster, gates, deadline)
    for view in views:
        _note_pool(pools, view)
        complete = complete and (deadline is None or monotonic() < deadline)
        verdicts = judge.verdicts(view) if complete else [_UNDECIDED] * len(view.pool.devices)
        for entry, (state, reason) in zip(view.pool.devices, verdicts, strict=True):
            if entry.reachable:
                device = devices.setdefault(entry.id, SurveyedDevice(entry))
                device.reached_by.append(view.nodes)
                if len(device.reached_by) == 1 or _RANK[state] < _RANK[device.state]:
                    device.state, device.reason = state, reason
        known = pools[view.pool.id]
        if complete and not known.counters and view.pool.counter_sets:
            known.counters = judge.counters(view)
    for entry in _published_devices(cluster, gates):
        if entry.id not in devices:
            pool = pools.setdefault(entry.id[:2], SurveyedPool(entry.slice.spec.pool.generation))
            reason = pool.reason if pool.state != COMPLETE else "no node reaches it"
            unseen: _Verdict = ("unavailable", reason) if complete else _UNDECIDED
            state, reason = ("inUse", "") if judge.is_held(entry.id) else unseen
            named = entry.slice.spec.node_name or entry.device.node_name
            nodes: list[Sequence[str]] = [(named,)] if named and named in cluster.nodes else []
            devices[entry.id] = SurveyedDevice(entry, state, reason, nodes)
    return DeviceSurvey(dict(sorted(devices.items())), dict(sorted(pools.items())), complete)


def _pool_views(cluster: Cluster, gates: FeatureGates, deadline: float | None) -> tuple[Iterable[_PoolView], bool]:
    """The pools as nodes see them, and whether all nodes were asked before the deadline."""
    index = cluster.pools(gates)
    found: dict[Hashable, _PoolView] = {}
    for name, node in cluster.nodes.items():
        if deadline is not None and monotonic() >= deadline:
            return found.values(), False
        declared = (node.status.declared_features if node.status else None) or ()
        for pool in index.pools_for(node):
            view = found.setdefault((pool, declared), _PoolView(pool, node))
            view.nodes.append(name)
    return found.values(), True


def _note_pool(pools: dict[PoolId, SurveyedPool], view: _PoolView) -> None:
    """Add what some nodes see of a pool: it is complete if it is so for any of them."""
    seen = view.pool
    known = pools.setdefault(seen.id, SurveyedPool(seen.generation))
    known.nodes += view.nodes
    if known.state == "unreachable" or (seen.status == COMPLETE and known.state != COMPLETE):
        known.generation, known.reason = seen.generation, seen.reason
        known.state = "complete" if seen.status == COMPLETE else "invalid" if seen.status == INVALID else "incomplete"


def _published_devices(cluster: Cluster, gates: FeatureGates) -> Iterator[PoolDevice]:
    """The devices of the newest generation of each pool, whether a node sees them or not."""
    newest: dict[PoolId, int] = {}
    slices = apply_taint_rules(cluster.slices, cluster.taint_rules, gates)
    for slice_ in slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest.get(pool, slice_.spec.pool.generation), slice_.spec.pool.generation)
    for slice_ in slices:
        driver, pool_name = slice_.spec.driver, slice_.spec.pool.name
        if slice_.spec.pool.generation == newest[driver, pool_name]:
            for device in slice_.spec.devices or ():
                yield PoolDevice(device, slice_, (driver, pool_name, device.name))


class _PoolJudge:
    """Judges the devices of one pool after the other, equal ones in equal use once."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._usage = cluster.usage(gates)
        self._state = AllocatedState(self._usage)
        self._views = NodeViews(cluster.pools(gates), gates)
        self._compiler = Compiler({"any": _ANY_CLASS}, gates, ExpressionEvaluator(), "skip")
        self._question = self._compiler.question((_ANY_DEVICE,))
        self._known: dict[Hashable, list[_Verdict]] = {}

    def is_held(self, device: DeviceId) -> bool:
        """Whether a claim holds it."""
        return self._usage.in_use(device)

    def counters(self, seen: _PoolView) -> tuple[tuple[str, str, int, int], ...]:
        """Set, name, total and what is left of each counter of the pool."""
        pool = seen.pool
        totals = (counter.value for set_ in pool.counter_sets for counter in (set_.counters or {}).values())
        rows = zip(counter_rows(pool), totals, self._state.in_use(self._view(seen)).available, strict=True)
        return tuple((*names, Quantity.parse(total).nano, left) for names, total, left in rows)

    def verdicts(self, seen: _PoolView) -> list[_Verdict]:
        """Availability and reason of each device of the pool."""
        if seen.pool.status != COMPLETE:
            return []
        view = self._view(seen)
        in_use = self._state.in_use(view)
        key = node_class_key(view, in_use)
        if key not in self._known:
            self._known[key] = self._judge(view, in_use)
        return self._known[key]

    def _view(self, seen: _PoolView) -> NodeView:
        return self._views.of_pools(seen.node, (seen.pool,), self._question.visible)

    def _judge(self, view: NodeView, in_use: InUse) -> list[_Verdict]:
        problem = self._compiler.problem(self._question, view.shape)
        (usable,) = map(frozenset, usable_devices(problem, in_use))
        failures = problem.demands[0].failures
        verdicts: list[_Verdict] = []
        for number, failed in enumerate(failures):
            if number in usable:
                verdicts.append(("free", ""))
            elif number in in_use.dedicated or number in in_use.shares:
                verdicts.append(("inUse", ""))
            else:
                verdicts.append(_filter_verdict(failed) if failed else ("blocked", _obstacle(problem, in_use, number)))
        return verdicts


def _filter_verdict(failures: Iterable[FilterFailure]) -> _Verdict:
    by_filter = {failure.filter: failure.detail for failure in failures}
    if "taint" in by_filter:
        return "tainted", by_filter["taint"]
    return "unavailable", next(f"{name}: {detail}" if detail else name for name, detail in by_filter.items())


def _obstacle(problem: Problem, in_use: InUse, device: int) -> str:
    """What of the things in use leaves no room for a device that nobody holds (CTR-2, GRP-3)."""
    counters, available = problem.counters, in_use.available
    for row, amount in counters.consumption.get(device, ()):
        if amount > available[row]:
            set_name, name = counters.names[row]
            left = display_amount(available[row])
            return f"counter {name} of set {set_name}: it draws {display_amount(amount)}, {left} is left"
    if counters.overdrawn_pools(available):
        return "counters of the pool are overdrawn"
    return "devices of other compatibility groups are in use"


@dataclass(slots=True)
class ClassMatch:
    """The numbers of the devices that a class matches, and of how many that could not be decided, with the errors."""

    matching: list[int] = field(default_factory=list)
    undecided: int = 0
    errors: dict[str, None] = field(default_factory=dict)

    @property
    def out_of_time(self) -> bool:
        """The time limit passed before all devices were asked about."""
        return _TIME_IS_UP in self.errors


# So many profiles are asked at once, so that little is lost at the deadline.
_PROFILES_AT_ONCE = 256


def match_classes(
    classes: Mapping[str, DeviceClass], devices: Sequence[PoolDevice], gates: FeatureGates, deadline: float | None
) -> dict[str, ClassMatch]:
    """Ask the selectors of each class about each device, once for those that look the same to them (DEV-3).

    What is not asked before the deadline is undecided, and so is a device on which a selector fails.
    """
    expressions = ExpressionEvaluator()
    expressions.deadline = deadline
    compiler = Compiler(classes, gates, expressions, "skip")
    requests = (ExactDeviceRequest(device_class_name=name) for name in classes)
    asked = tuple(DeviceRequest(name=one.device_class_name, exactly=one) for one in requests)
    visible = compiler.visible([ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=asked)))])
    profiles = Profiles(gates, visible, count())
    alike: dict[Profile, list[int]] = {}
    for number, device in enumerate(devices):
        if deadline is not None and monotonic() >= deadline:
            return {name: ClassMatch(undecided=len(devices), errors={_TIME_IS_UP: None}) for name in classes}
        alike.setdefault(profiles.of_all((device,))[0], []).append(number)
    return {name: _match_class(one, alike, expressions) for name, one in classes.items()}


def _match_class(
    one: DeviceClass, alike: Mapping[Profile, Sequence[int]], expressions: ExpressionEvaluator
) -> ClassMatch:
    found = ClassMatch()
    distinct = list(alike)
    for first in range(0, len(distinct), _PROFILES_AT_ONCE):
        chunk = distinct[first : first + _PROFILES_AT_ONCE]
        try:
            check_deadline(expressions.deadline)
            verdicts = evaluate_selectors(one.spec.selectors or (), (), chunk, expressions)
        except DeadlineExceededError:
            found.undecided += sum(len(alike[profile]) for profile in distinct[first:])
            found.errors[_TIME_IS_UP] = None
            break
        for place, profile in enumerate(chunk):
            verdict = verdicts.get(place)
            if verdict is None:
                found.matching += alike[profile]
            elif verdict.error:
                found.undecided += len(alike[profile])
                found.errors[verdict.detail] = None
    found.matching.sort()
    return found
