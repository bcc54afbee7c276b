"""One claim's allocation, replayed result by result on top of what its unit has taken already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...models.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from ...models.core import Node
from ...models.entries import annotated_entries
from ...models.given import Given
from ...models.identity import DeviceId
from .asking import Asking, Askings
from .constraints import covers
from .entries import EntryRules
from .findings import Finding
from .inventory import PoolView
from .ledger import device_id
from .requests import Asked, repeated
from .result_nodes import node_selector
from .results import configs
from .scene import Scene, Seat
from .taking import Taking, TakingRules


class ClaimRules:
    """Everything that one claim's allocation must be; ``given`` entries are about every claim."""

    def __init__(self, scene: Scene, given: Sequence[Given] = ()) -> None:
        self._given = given
        self._scene = scene
        self._askings = Askings(scene.classes, scene.gates)
        self._devices = scene.devices
        self._taking = TakingRules(scene)
        self._entries = EntryRules(scene)
        self._views: dict[tuple[str, str, str], PoolView | None] = {}

    def broken(
        self, claim: ResourceClaim, allocation: AllocationResult, seat: Seat, costs: Sequence[int] | None = None
    ) -> Iterator[Finding]:
        """Every rule the allocation breaks; its devices then count as taken by the attempt.

        ``costs`` is what is said of the claim's soft entries, in order; None: nothing is said.
        """
        results = allocation.devices.results or ()
        asking = self._askings.of(claim)
        answer = asking.answer(tuple([result.request for result in results]))
        yield from asking.unsupported
        yield from answer.misshapen
        yield from repeated(results)
        found: list[Taking] = []
        for result in results:
            if result.request in answer.chosen:
                yield from self._result(result, answer.chosen[result.request], seat, found)
        if asking.for_all:
            yield from self._all_requests(asking, answer.chosen, results, seat.node)
        yield from self._constrained(claim, found, seat.node)
        if costs is not None:
            yield from self._entries.misjudged(self._own(claim), found, seat.node, costs)
        yield from configs(answer.configs, allocation)
        if len(found) == len(results):
            entries = [taking.entry for taking in found]
            yield from node_selector(entries, seat.node, allocation.node_selector, self._scene.gates)

    def _result(
        self, result: DeviceRequestAllocationResult, asked: Asked, seat: Seat, found: list[Taking]
    ) -> Iterator[Finding]:
        """One result, with its device added to ``found``."""
        there = self._scene.inventory.among(device_id(result), self._view(result, seat.node))
        if isinstance(there, Finding):
            yield Finding(there.rule, f"{_name(result)}: {there.message}")
            return
        found.append(Taking(result, *there, asked))
        for rule, message, _ in self._taking.broken(found[-1], seat):
            yield Finding(rule, f"{_name(result)}: {message}")

    def _view(self, result: DeviceRequestAllocationResult, node: Node) -> PoolView | None:
        """The result's pool as the node sees it, found once."""
        key = result.driver, result.pool, node.metadata.name
        if key not in self._views:
            self._views[key] = self._scene.inventory.view(key[:2], node)
        return self._views[key]

    def _all_requests(
        self,
        asking: Asking,
        chosen: Mapping[str, Asked],
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

    def _left_out(self, view: PoolView, asked: Asked, held: set[DeviceId], node: Node) -> Iterator[Finding]:
        """PRE-8: a request for all devices has every one that it selects."""
        for entry in view.devices.values():
            reason = None if entry.id in held else self._devices.unselected(entry, asked, node)
            if entry.id not in held and reason is None:
                yield Finding("PRE-8", f"device {'/'.join(entry.id)} is left out by a request for all devices")
            elif reason is not None and reason.fatal and not self._scene.errors_left_out:
                yield Finding(reason.rule, f"device {'/'.join(entry.id)} cannot be left out: {reason.message}")

    def _constrained(self, claim: ResourceClaim, found: Sequence[Taking], node: Node) -> Iterator[Finding]:
        """Section 13, and the entries beyond the API that must hold (SOFT-1)."""
        hard = [entry for entry in self._own(claim) if entry.weight is None]
        for entry in (*(claim.spec.devices.constraints or ()), *hard):
            members = [taking for taking in found if covers(entry, taking.result.request)]
            if members:
                yield from self._entries.broken(entry, members, node)

    def _own(self, claim: ResourceClaim) -> Sequence[Given]:
        """Entries beside those of the API: of the annotation, then those given for all claims."""
        return (*annotated_entries(claim.metadata), *self._given)


def _name(result: DeviceRequestAllocationResult) -> str:
    return f"request {result.request}, device {'/'.join(device_id(result))}"
