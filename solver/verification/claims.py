"""One claim's allocation, replayed result by result on top of what its unit has taken already.

Entries of any kind, judged on the devices that they cover; what is said of soft ones is looked at again (SOFT-1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from ...models.kubernetes.claims import AllocationResult, DeviceConstraint, DeviceRequestAllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint, Entry, Predicate, annotated_entries, chosen_device
from ...models.kubernetes.meta import DeviceId
from .constraints import ConstraintRules, covers
from .devices import ClaimContext, ResultDevice, ResultDeviceRules, VerificationContext
from .published import Finding, PoolView, PublishedDevice
from .requests import (
    ClaimReading,
    ClaimReadings,
    RequestedSpec,
    config_findings,
    node_selector_findings,
    repeated_device_findings,
)
from .state import device_id
from .topology import TopologyRules


class ClaimRules:
    """Everything that one claim's allocation must be; ``given`` entries are about every claim."""

    def __init__(self, scene: VerificationContext, given: Sequence[CallerConstraint] = ()) -> None:
        self._given = given
        self._scene = scene
        self._askings = ClaimReadings(scene.classes, scene.gates)
        self._devices = scene.devices
        self._taking = ResultDeviceRules(scene)
        self._entries = EntryRules(scene)
        self._views: dict[tuple[str, str, str], PoolView | None] = {}

    def broken(
        self, claim: ResourceClaim, allocation: AllocationResult, seat: ClaimContext, costs: Sequence[int] | None = None
    ) -> Iterator[Finding]:
        """Every rule the allocation breaks; its devices then count as taken by the attempt.

        ``costs`` is what is said of the claim's soft entries, in order; None: nothing is said.
        """
        results = allocation.devices.results or ()
        asking = self._askings.of(claim)
        answer = asking.answer(tuple([result.request for result in results]))
        yield from asking.unsupported
        yield from answer.misshapen
        yield from repeated_device_findings(results)
        found: list[ResultDevice] = []
        for result in results:
            if result.request in answer.chosen:
                yield from self._result(result, answer.chosen[result.request], seat, found)
        if asking.for_all:
            yield from self._all_requests(asking, answer.chosen, results, seat.node)
        yield from self._constrained(claim, found, seat.node)
        if costs is not None:
            yield from self._entries.misjudged(self._own(claim), found, seat.node, costs)
        yield from config_findings(answer.configs, allocation)
        if len(found) == len(results):
            entries = [taking.entry for taking in found]
            yield from node_selector_findings(entries, seat.node, allocation.node_selector, self._scene.gates)

    def _result(
        self, result: DeviceRequestAllocationResult, asked: RequestedSpec, seat: ClaimContext, found: list[ResultDevice]
    ) -> Iterator[Finding]:
        """One result, with its device added to ``found``."""
        there = self._scene.inventory.among(device_id(result), self._view(result, seat.node))
        if isinstance(there, Finding):
            yield Finding(there.rule, f"{_result_label(result)}: {there.message}")
            return
        found.append(ResultDevice(result, *there, asked))
        for rule, message, _ in self._taking.broken(found[-1], seat):
            yield Finding(rule, f"{_result_label(result)}: {message}")

    def _view(self, result: DeviceRequestAllocationResult, node: Node) -> PoolView | None:
        """The result's pool as the node sees it, found once."""
        key = result.driver, result.pool, node.metadata.name
        if key not in self._views:
            self._views[key] = self._scene.inventory.view(key[:2], node)
        return self._views[key]

    def _all_requests(
        self,
        asking: ClaimReading,
        chosen: Mapping[str, RequestedSpec],
        results: Sequence[DeviceRequestAllocationResult],
        node: Node,
    ) -> Iterator[Finding]:
        """PRE-8: whoever asks for all devices, if only as an alternative, sees no pool in trouble."""
        for name, asked in asking.for_all:
            held = {device_id(result) for result in results if result.request == name}
            for view in self._scene.inventory.views(node):
                if view.stops_all and view.trouble is not None:
                    yield Finding("PRE-8", f"request {name} asks for all devices, but {view.trouble.message}")
                elif name in chosen:
                    yield from self._left_out(view, asked, held, node)

    def _left_out(self, view: PoolView, asked: RequestedSpec, held: set[DeviceId], node: Node) -> Iterator[Finding]:
        """PRE-8: a request for all devices has every one that it selects."""
        for entry in view.devices.values():
            reason = None if entry.id in held else self._devices.unselected(entry, asked, node)
            if entry.id not in held and reason is None:
                yield Finding("PRE-8", f"device {'/'.join(entry.id)} is left out by a request for all devices")
            elif reason is not None and reason.fatal and not self._scene.errors_left_out:
                yield Finding(reason.rule, f"device {'/'.join(entry.id)} cannot be left out: {reason.message}")

    def _constrained(self, claim: ResourceClaim, found: Sequence[ResultDevice], node: Node) -> Iterator[Finding]:
        """Section 13, and the entries beyond the API that must hold (SOFT-1)."""
        hard = [entry for entry in self._own(claim) if entry.weight is None]
        for entry in (*(claim.spec.devices.constraints or ()), *hard):
            members = [taking for taking in found if covers(entry, taking.result.request)]
            if members:
                yield from self._entries.broken(entry, members, node)

    def _own(self, claim: ResourceClaim) -> Sequence[CallerConstraint]:
        """Entries beside those of the API: of the annotation, then those given for all claims."""
        return (*annotated_entries(claim.metadata), *self._given)


def _result_label(result: DeviceRequestAllocationResult) -> str:
    return f"request {result.request}, device {'/'.join(device_id(result))}"


_PER_PAIR = "Pair"


class EntryRules:
    """Judges entries of claims, of annotations and those given in Python."""

    def __init__(self, scene: VerificationContext) -> None:
        self._expressions = scene.expressions
        self._constraints = ConstraintRules(scene.gates, scene.expressions)
        self._topologies = TopologyRules(scene)

    def broken(
        self, entry: DeviceConstraint | Predicate, members: Sequence[ResultDevice], node: Node
    ) -> Iterator[Finding]:
        """Judge an entry on all that it covers; an empty one is reported as unsupported."""
        devices = [taking.entry for taking in members]
        if isinstance(entry, Predicate):
            yield from _predicate_findings(entry, devices)
        elif entry.match_attribute is not None or entry.distinct_attribute is not None:
            yield from self._constraints.broken(entry, [(taking.entry, taking.asked) for taking in members])
        elif entry.cel is not None:
            finding = self._expressions.refuses_together(entry.cel.expression, devices)
            if finding is not None:
                yield finding
        elif isinstance(entry, Entry) and entry.topology is not None:
            yield from self._topologies.broken(entry.topology, devices, node)

    def misjudged(
        self, entries: Sequence[CallerConstraint], found: Sequence[ResultDevice], node: Node, told: Sequence[int]
    ) -> Iterator[Finding]:
        """SOFT-1, SOFT-2: soft entries cost what is said of them, in their order."""
        soft = [entry for entry in entries if entry.weight is not None]
        costs = [self._cost(entry, found, node) for entry in soft]
        if list(told) != costs:
            yield Finding("SOFT-1", f"soft entries are said to cost {list(told)}, and cost {costs}")

    def _cost(self, entry: CallerConstraint, found: Sequence[ResultDevice], node: Node) -> int:
        members = [taking for taking in found if covers(entry, taking.result.request)]
        sets = [*combinations(members, 2)] if entry.per == _PER_PAIR else [members] if members else []
        return (entry.weight or 0) * sum(any(self.broken(entry, one, node)) for one in sets)


def _predicate_findings(predicate: Predicate, devices: Sequence[PublishedDevice]) -> Iterator[Finding]:
    """CELC-10: a function in Python accepts the devices."""
    if not predicate.function([chosen_device(entry.driver, entry.device) for entry in devices]):
        yield Finding("CELC-10", f"predicate {predicate.name} refuses the devices")
