"""Everything that keeps devices away from demands one by one, taken apart so that each part may be let go alone.

For a search a device is a candidate or it is not. To say why nothing fits, every device is a candidate, and each
selector, taint, claim that holds devices, ... is an obstacle of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..models.cluster.node_fit import untolerated_device_taints
from ..models.kubernetes.gates import FeatureGates
from .filters import CONSTRAINT_ATTRIBUTE, draw_or_error, taint_text
from .problem import Amounts, Demand, Problem
from .requests import CapacityDraw, ResolvedRequest
from .selectors import FailedSelector, SelectorTable
from .shapes import NodeType

# What holds of a device is in its rows (the entries of a claim), or asked anew part by part.
_HANDLED_ELSEWHERE = frozenset({"classSelector", "requestSelector", "taint", CONSTRAINT_ATTRIBUTE, "derivedAttribute"})


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that is in the way: the filter's id and what tells it from others.

    ``name`` is the class, taint or claim, ``index`` the number of a selector and ``expression`` its text, ``own`` says
    that it belongs to the request and to no other one.
    """

    filter: str
    name: str = ""
    index: int = 0
    expression: str = ""
    own: bool = False

    @property
    def text(self) -> str:
        """Say what it is."""
        return _OBSTACLE_TEXTS.get(self.filter, "{0.name}").format(self)


_OBSTACLE_TEXTS = {
    "classSelector": "selector {0.index} of class {0.name}",
    "requestSelector": "selector {0.index}",
    "deviceNode": "devices for other nodes",
    "taint": "taint {0.name}",
    "inUse": "devices in use by claim {0.name}",
    "capacity": "capacity",
    "bindingConditions": "feature gate DRADeviceBindingConditions is off",
    "countersFeature": "feature gate DRAPartitionableDevices is off",
    "groupsFeature": "feature gate DRADeviceCompatibilityGroups is off",
    "nodeOperations": "devices whose node operations the node cannot skip",
}
DeviceObstacles = tuple[Obstacle, ...]


@dataclass(frozen=True, slots=True)
class Obstacles:
    """``of[demand][device]`` are the obstacles; ``details`` say more about the first device that each one stops."""

    of: tuple[tuple[DeviceObstacles, ...], ...]
    details: dict[tuple[int, Obstacle], str] = field(default_factory=dict)


def find_obstacles(
    problem: Problem,
    requests: Sequence[ResolvedRequest],
    shape: NodeType,
    holders: Mapping[int, Sequence[str]],
    selectors: SelectorTable,
    gates: FeatureGates,
) -> Obstacles:
    """Take apart what keeps each device from each demand; ``holders`` are the claims that have dedicated devices."""
    finder = _ObstacleFinder(shape, holders, selectors, gates)
    return Obstacles(tuple(finder.of(demand, requests[demand.index]) for demand in problem.demands), finder.details)


class _ObstacleFinder:
    def __init__(
        self, shape: NodeType, holders: Mapping[int, Sequence[str]], selectors: SelectorTable, gates: FeatureGates
    ) -> None:
        self.details: dict[tuple[int, Obstacle], str] = {}
        self._shape = shape
        self._holders = holders
        self._selectors = selectors
        self._gates = gates
        # Equal ones are one object: there are many devices and few kinds.
        self._known: dict[DeviceObstacles, DeviceObstacles] = {}

    def of(self, demand: Demand, ask: ResolvedRequest) -> tuple[DeviceObstacles, ...]:
        found = (tuple(self._device(demand, ask, device)) for device in range(len(self._shape.profiles)))
        return tuple(self._known.setdefault(obstacles, obstacles) for obstacles in found)

    def _device(self, demand: Demand, ask: ResolvedRequest, device: int) -> Iterator[Obstacle]:
        profile = self._shape.profiles[device]
        for selector in self._selectors.failed(ask, profile):
            yield self._noted(demand, _selector_obstacle(ask, selector), selector.error)
        for failure in demand.failures[device]:
            if failure.filter not in _HANDLED_ELSEWHERE:
                yield self._noted(demand, Obstacle(failure.filter, own=failure.filter == "capacity"), failure.detail)
        if self._gates.device_taints:
            taints = untolerated_device_taints(profile.device.taints, ask.spec.tolerations)
            yield from dict.fromkeys(Obstacle("taint", taint_text(taint)) for taint in taints)
        if not ask.admin:
            yield from (Obstacle("inUse", claim) for claim in self._holders.get(device, ()))

    def _noted(self, demand: Demand, obstacle: Obstacle, detail: str) -> Obstacle:
        if detail:
            self.details.setdefault((demand.index, obstacle), detail)
        return obstacle


def _selector_obstacle(ask: ResolvedRequest, failed: FailedSelector) -> Obstacle:
    if failed.filter == "classSelector":
        return Obstacle(failed.filter, ask.device_class.metadata.name, failed.index, failed.expression)
    return Obstacle(failed.filter, "", failed.index, failed.expression, own=True)


def with_all_candidates(
    problem: Problem, requests: Sequence[ResolvedRequest], shape: NodeType, gates: FeatureGates
) -> Problem:
    """Make every device a candidate of every demand; what they draw of capacities is computed for all.

    What a request for all devices means stays as it is, if it means any: then it takes these. If not, it would take
    one at least.
    """
    demands = tuple(
        _demand_with_all_candidates(demand, requests[demand.index], shape, gates) for demand in problem.demands
    )
    return replace(problem, demands=demands, fatal_constraints=False)


def _demand_with_all_candidates(demand: Demand, ask: ResolvedRequest, shape: NodeType, gates: FeatureGates) -> Demand:
    listed = demand.all_devices and demand.candidates
    return replace(
        demand,
        count=demand.count if listed or not demand.all_devices else 1,
        all_devices=bool(listed),
        candidates=demand.candidates if listed else tuple(range(len(shape.profiles))),
        error_devices={},
        untakeable=frozenset(),
        amounts=dict(_capacity_amounts(ask, shape, gates)),
    )


def _capacity_amounts(ask: ResolvedRequest, shape: NodeType, gates: FeatureGates) -> Iterator[tuple[int, Amounts]]:
    by_profile: dict[int, tuple[int, ...]] = {}
    for device, rows in shape.capacities.rows.items():
        profile = shape.profiles[device]
        if profile.index not in by_profile:
            result = draw_or_error(profile, ask, gates)
            amounts = result.amounts if isinstance(result, CapacityDraw) else {}
            by_profile[profile.index] = tuple(amounts[name].nano for name in sorted(amounts))
        if by_profile[profile.index]:
            yield device, tuple(zip(rows, by_profile[profile.index], strict=True))
