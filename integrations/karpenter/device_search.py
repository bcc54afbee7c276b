"""Devices for a pod on a node that may still be of several instance types, as Karpenter searches them.

Every type is searched alone: depth first over claims, requests and devices, published devices before those of the type
(karpenter-dra 3.2 to 3.8 and corrections 2, 4, 8, 11). Taints of devices do not count, and admin access takes a
device like any other request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...cel.devices import DeviceShapes
from ...cel.errors import CelCompileError, CelError
from ...cel.selector import Selector, compile_selector
from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import DeviceConstraint, DeviceRequest, RequestSpec, ResourceClaim
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.quantity import Quantity
from ...problem.messages import check_deadline
from .overlays import PooledType
from .requirements import WELL_KNOWN_LABELS, NodeRequirements
from .searched_devices import (
    EVERYTHING,
    Chosen,
    DeviceKey,
    DeviceUse,
    PublishedPools,
    SearchedDevice,
    compared_value,
    consumed_capacity,
    template_devices,
)

MOST_DEVICES = 32
# Karpenter gives up after 5 s for all types of a pod on a node together; steps make the same of it on every machine.
_MOST_STEPS, _STEPS_BETWEEN_READINGS = 100_000, 1024


class _StepsOverError(Exception):
    """The search of a pod on a node has taken too many steps."""


@dataclass
class _Steps:
    """Counts the steps of a pod's search on a node. Raises ``_StepsOverError`` and ``DeadlineExceededError``."""

    deadline: float | None
    left: int = _MOST_STEPS

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _StepsOverError
        if self.left % _STEPS_BETWEEN_READINGS == 0:
            check_deadline(self.deadline)


class DeviceSearchError(Exception):
    """Why a pod's claims cannot be had on any node; one line."""


@dataclass
class ClaimPlacement:
    """Where a claim got its devices in this round: the node, and for each type its devices and what they demand."""

    node: str
    devices: dict[str, tuple[DeviceKey, ...]] = field(default_factory=dict)
    demands: dict[str, NodeRequirements] = field(default_factory=dict)
    uses_template: bool = False


class _Demand(NamedTuple):
    """What one request, or an alternative of it, asks for."""

    name: str
    parent: str
    spec: RequestSpec
    selectors: tuple[Selector, ...]


class DeviceSearch:
    """Finds devices for the claims of pods, and remembers what they take.

    ``taken`` is what claims of the cluster hold. ``claims`` are all that pods name.
    """

    def __init__(self, cluster: Cluster, claims: Mapping[ObjectKey, ResourceClaim], held: DeviceUse) -> None:
        self._classes = cluster.classes
        self._claims = claims
        self._held = held
        self._pools = PublishedPools(cluster)
        self._shapes = DeviceShapes()
        self._templates: dict[tuple[str, str], list[SearchedDevice]] = {}
        # By node and type: what claims of this round take of published devices, and of those of the node.
        self._used: defaultdict[str, defaultdict[str, DeviceUse]] = defaultdict(lambda: defaultdict(DeviceUse))
        self._used_templates: defaultdict[str, defaultdict[str, DeviceUse]] = defaultdict(
            lambda: defaultdict(DeviceUse)
        )
        self.placed: dict[ObjectKey, ClaimPlacement] = {}

    def search(
        self,
        node: str,
        known: NodeRequirements,
        types: Sequence[PooledType | None],
        claims: Sequence[ObjectKey],
        deadline: float | None = None,
    ) -> dict[str, _TypeResult]:
        """Find devices for each type, None standing for a node that is there; types without a way are left out.

        What one type demands of the node holds for those that are searched after it (3.5). If the steps end before the
        last type is reached, none is found (correction 5). Raises ``DeviceSearchError`` for claims that no node can
        serve, and ``DeadlineExceededError``.
        """
        steps = _Steps(deadline)
        wanted = [key for key in claims if key not in self.placed]
        demands = {key: self._demands(self._claims[key]) for key in wanted}
        others = DeviceUse.most_of([])
        for name, by_type in self._used.items():
            if name != node:
                others.add(DeviceUse.most_of(list(by_type.values())))
        others.add(self._held)
        found: dict[str, _TypeResult] = {}
        for one in types:
            name = one.type.name if one else ""
            if any(name not in self.placed[key].devices for key in claims if key in self.placed and self._is_tied(key)):
                continue
            taken = DeviceUse()
            taken.add(others)
            taken.add(self._used[node][name])
            uses = (taken, self._used_templates[node][name])
            run = _TypeSearch(self._visible(node, one), uses, known, self._pools.incomplete, steps)
            try:
                result = run.solve([(key, self._claims[key], demands[key]) for key in wanted])
            except _StepsOverError:
                return {}
            if result is not None:
                known = result.demanded
                found[name] = result
        return found

    def _is_tied(self, key: ObjectKey) -> bool:
        return self.placed[key].uses_template

    def commit(self, node: str, results: Mapping[str, _TypeResult], claims: Sequence[ObjectKey]) -> None:
        """Take the devices that were found, for all types that are left."""
        for key in claims:
            if key in self.placed:
                continue
            placement = self.placed[key] = ClaimPlacement(node)
            for name, result in results.items():
                chosen = result.chosen[key]
                placement.devices[name] = tuple(one.found.key for one in chosen)
                placement.demands[name] = result.demands[key]
                placement.uses_template |= any(one.found.is_template for one in chosen)
        for name, result in results.items():
            published, of_templates = result.uses
            self._used[node][name].add(published)
            self._used_templates[node][name].add(of_templates)

    def release(self, node: str, types: Sequence[str]) -> None:
        """Give back what was taken for types that survived the search and were cut afterwards (correction 4)."""
        for name in types:
            self._used[node].pop(name, None)
            self._used_templates[node].pop(name, None)

    def tied_node(self, claims: Sequence[ObjectKey]) -> set[str]:
        """The new nodes to which claims of this round are bound by devices of templates."""
        return {self.placed[key].node for key in claims if key in self.placed and self.placed[key].uses_template}

    def demanded(self, claims: Sequence[ObjectKey]) -> NodeRequirements:
        """What the claims that have devices already demand of a node."""
        made = EVERYTHING
        for key in claims:
            if key in self.placed:
                for demand in self.placed[key].demands.values():
                    made &= demand
        return made

    def _visible(self, node: str, one: PooledType | None) -> list[SearchedDevice]:
        """Published devices first, then those of the type (3.2)."""
        published = [
            found for found in self._pools.devices if not found.node_name or (one is None and found.node_name == node)
        ]
        return published if one is None else [*published, *self._of_type(one)]

    def _of_type(self, one: PooledType) -> list[SearchedDevice]:
        key = one.pool.metadata.name, one.type.name
        if key not in self._templates:
            self._templates[key] = list(template_devices(one, self._shapes))
        return self._templates[key]

    def _demands(self, claim: ResourceClaim) -> list[list[_Demand]]:
        """For each request its alternatives. Raises ``DeviceSearchError`` (3.4)."""
        devices = claim.spec.devices
        if any(one.distinct_attribute or not one.match_attribute for one in devices.constraints or ()):
            raise DeviceSearchError(f"claim {'/'.join(key_of(claim.metadata))}: only matchAttribute is supported")
        return [list(self._alternatives(request)) for request in devices.requests or ()]

    def _alternatives(self, request: DeviceRequest) -> Iterator[_Demand]:
        if request.exactly is not None:
            yield _Demand(request.name, request.name, request.exactly, self._selectors(request.exactly))
        for one in request.first_available or ():
            yield _Demand(f"{request.name}/{one.name}", request.name, one, self._selectors(one))

    def _selectors(self, spec: RequestSpec) -> tuple[Selector, ...]:
        """Class selectors before those of the request."""
        found = self._classes.get(spec.device_class_name)
        if found is None:
            raise DeviceSearchError(f"DeviceClass {spec.device_class_name} not found")
        texts = [
            one.cel.expression if one.cel else "" for one in (*(found.spec.selectors or ()), *(spec.selectors or ()))
        ]
        try:
            return tuple(map(compile_selector, texts))
        except CelCompileError as error:
            raise DeviceSearchError(str(error)) from None


@dataclass
class _TypeResult:
    """Devices of every claim for one type, what they demand, and what they take of published devices and templates."""

    chosen: dict[ObjectKey, list[Chosen]]
    demands: dict[ObjectKey, NodeRequirements]
    demanded: NodeRequirements
    uses: tuple[DeviceUse, DeviceUse]


_Claim = tuple[ObjectKey, ResourceClaim, list[list[_Demand]]]


def _least_devices(demands: Sequence[Sequence[_Demand]]) -> int:
    """How many devices a claim takes at least: of each request the smallest alternative (3.4)."""
    return sum(min((_least_count(one.spec) for one in listed), default=0) for listed in demands)


def _least_count(spec: RequestSpec) -> int:
    if spec.allocation_mode == "All":
        return 1
    return 1 if spec.count is None else spec.count


class _TypeSearch:
    """The depth-first search for one type."""

    def __init__(
        self,
        devices: Sequence[SearchedDevice],
        taken: tuple[DeviceUse, DeviceUse],
        known: NodeRequirements,
        incomplete: bool,
        steps: _Steps,
    ) -> None:
        self._steps = steps
        self._devices = devices
        self._taken = taken
        self._known = known
        self._incomplete = incomplete
        self._uses = (DeviceUse(), DeviceUse())
        self._chosen: list[list[tuple[_Demand, Chosen]]] = []
        self._demands: list[NodeRequirements] = []
        self._claims: Sequence[_Claim] = ()
        self._matching: dict[tuple[str, int], list[SearchedDevice]] = {}

    def solve(self, claims: Sequence[_Claim]) -> _TypeResult | None:
        """Find devices for all claims; None if there is no way."""
        self._claims = claims
        self._chosen = [[] for _ in claims]
        self._demands = [EVERYTHING for _ in claims]
        if any(_least_devices(demands) > MOST_DEVICES for _, _, demands in claims) or not self._request(0, 0):
            return None
        chosen = {key: [one for _, one in self._chosen[number]] for number, (key, _, _) in enumerate(claims)}
        demands = {key: self._demands[number] for number, (key, _, _) in enumerate(claims)}
        return _TypeResult(chosen, demands, self._known, self._uses)

    def _request(self, claim: int, request: int) -> bool:
        """Serve the requests from here on."""
        if claim == len(self._claims):
            return True
        demands = self._claims[claim][2]
        if request == len(demands):
            return self._request(claim + 1, 0)
        return any(self._alternative(claim, request, demand) for demand in demands[request])

    def _alternative(self, claim: int, request: int, demand: _Demand) -> bool:
        if demand.spec.allocation_mode == "All":
            return self._all(claim, request, demand)
        count = _least_count(demand.spec)
        if len(self._chosen[claim]) + count > MOST_DEVICES:
            return False
        return self._slots(claim, request, demand, count)

    def _slots(self, claim: int, request: int, demand: _Demand, left: int) -> bool:
        if left == 0:
            return self._request(claim, request + 1)
        for found in self._candidates(claim, demand, strict=False) or ():
            if self._with(claim, demand, found, lambda: self._slots(claim, request, demand, left - 1)):
                return True
        return False

    def _all(self, claim: int, request: int, demand: _Demand) -> bool:
        """Every matching device, all of which must be free (3.4)."""
        found = self._candidates(claim, demand, strict=True)
        if self._incomplete or not found or len(self._chosen[claim]) + len(found) > MOST_DEVICES:
            return False

        def take(number: int) -> bool:
            if number == len(found):
                return self._request(claim, request + 1)
            return self._with(claim, demand, found[number], lambda: take(number + 1))

        return take(0)

    def _candidates(self, claim: int, demand: _Demand, *, strict: bool) -> list[SearchedDevice] | None:
        """Devices that the selectors match; with ``strict`` None if one of them fails."""
        key = f"{claim}/{demand.name}", int(strict)
        if key not in self._matching:
            found: list[SearchedDevice] = []
            for device in self._devices:
                results = [selector.result(device.prepared) for selector in demand.selectors]
                if strict and any(isinstance(result, CelError) for result in results):
                    return None
                if all(result is True for result in results):
                    found.append(device)
            self._matching[key] = found
        if strict:
            return [one for one in self._matching[key] if self._known.accepts(one.reach, WELL_KNOWN_LABELS)]
        return self._matching[key]

    def _with(self, claim: int, demand: _Demand, found: SearchedDevice, go_on: Callable[[], bool]) -> bool:
        """Take a device if it is free and fits, and go on; give it back if that leads nowhere."""
        self._steps.take()
        if not self._known.accepts(found.reach, WELL_KNOWN_LABELS) or not self._keeps_constraints(claim, demand, found):
            return False
        taken = self._take(found, demand)
        if taken is None:
            return False
        consumed, drawn = taken
        known, demands = self._known, self._demands[claim]
        self._known, self._demands[claim] = known & found.reach, demands & found.reach
        self._chosen[claim].append((demand, Chosen(found, consumed)))
        if go_on():
            return True
        self._chosen[claim].pop()
        self._known, self._demands[claim] = known, demands
        use = self._uses[found.is_template]
        use.exclusive.discard(found.key)
        for name, amount in consumed.items():
            use.capacity[found.key, name] -= amount
        for counter, amount in drawn.items():
            use.counters[counter] -= amount
        return False

    def _take(
        self, found: SearchedDevice, demand: _Demand
    ) -> tuple[dict[str, int], dict[tuple[str, str, str, str], int]] | None:
        """What the device gives and draws; None if it is not free or there is too little left (3.7)."""
        consumed: dict[str, int] = {}
        held, use = self._taken[found.is_template], self._uses[found.is_template]
        if found.device.allow_multiple_allocations:
            amounts = consumed_capacity(found.device, demand.spec)
            if amounts is None:
                return None
            for name, amount in amounts.items():
                total = Quantity.parse((found.device.capacity or {})[name].value).nano
                used = held.capacity[found.key, name] + use.capacity[found.key, name]
                if used + amount > total:
                    return None
            consumed = amounts
        elif found.key in held.exclusive or found.key in use.exclusive:
            return None
        drawn: dict[tuple[str, str, str, str], int] = {}
        is_drawn = found.device.allow_multiple_allocations and any(
            one.found.key == found.key for own in self._chosen for _, one in own
        )
        for entry in () if is_drawn else found.device.consumes_counters or ():
            for name, counter in (entry.counters or {}).items():
                budget = found.budgets.get((entry.counter_set, name))
                place = (*found.key[:2], entry.counter_set, name)
                amount = Quantity.parse(counter.value).nano
                used = held.counters[place] + use.counters[place]
                if budget is None or used + amount > budget:
                    return None
                drawn[place] = amount
        if not found.device.allow_multiple_allocations:
            use.exclusive.add(found.key)
        for name, amount in consumed.items():
            use.capacity[found.key, name] += amount
        use.counters.update(drawn)
        return consumed, drawn

    def _keeps_constraints(self, claim: int, demand: _Demand, found: SearchedDevice) -> bool:
        for constraint in self._claims[claim][1].spec.devices.constraints or ():
            if not _applies(constraint, demand):
                continue
            name = constraint.match_attribute or ""
            value = compared_value(found, name)
            others = (one for other, one in self._chosen[claim] if _applies(constraint, other))
            if value is None or any(compared_value(one.found, name) != value for one in others):
                return False
        return True


def _applies(constraint: DeviceConstraint, demand: _Demand) -> bool:
    return not constraint.requests or demand.name in constraint.requests or demand.parent in constraint.requests
