"""ConstraintGroups, judged on all that their claims hold in the end (CON-*, CELC-*, TOPO-* over several claims).

Claims are in the order of their names, each with its results in order. What a group says of claims none of which got
its devices now is nobody's fault any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...models.cluster.node_fit import SelectorError, node_matches
from ...models.kubernetes.claims import AllocationResult, ExactDeviceRequest, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import ConstraintGroup, Entry
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.kubernetes.slices import ResourceSlice
from .constraints import ConstraintRules, covers
from .devices import VerificationContext
from .published import Finding, PublishedDevice, published_devices
from .requests import RequestedSpec, selected_requests
from .state import device_id
from .topology import TopologyRules


@dataclass(frozen=True, slots=True)
class FinalClaim:
    """A claim with what it holds, and the node it got that on; no node if it held it before."""

    claim: ResourceClaim
    allocation: AllocationResult
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class _CoveredDevice:
    """A device that an entry covers."""

    final: FinalClaim
    entry: PublishedDevice
    asked: RequestedSpec


class GroupRules:
    """Judges groups; ``slices`` are all that is published, for devices that a claim holds from before."""

    def __init__(self, scene: VerificationContext, slices: Iterable[ResourceSlice]) -> None:
        self._scene = scene
        self._slices = slices
        self._constraints = ConstraintRules(scene.gates, scene.expressions)
        self._topologies = TopologyRules(scene)

    def broken(
        self, group: ConstraintGroup, members: Iterable[ObjectKey], finals: Mapping[ObjectKey, FinalClaim]
    ) -> Iterator[Finding]:
        """Say what a group that must hold has against what its ``members`` hold."""
        name = f"ConstraintGroup {'/'.join(key_of(group.metadata))}"
        own = {key: finals[key] for key in sorted(members) if key in finals}
        for number, entry in enumerate(group.spec.constraints or ()):
            found = [member for key, final in own.items() for member in self._covered(entry, key[1], final)]
            if entry.weight is None and any(member.final.node for member in found):
                for finding in self._entry(entry, found):
                    told = f"{name}, entry {entry.name or f'#{number}'}: {finding.message}"
                    yield Finding(finding.rule, told)
        if group.spec.same_node_label:
            for finding in self._label(group.spec.same_node_label, own.values()):
                yield Finding(finding.rule, f"{name}: {finding.message}")

    def _covered(self, entry: Entry, claim: str, final: FinalClaim) -> Iterator[_CoveredDevice]:
        """CON-1: a reference is ``REQUEST``, or after ``CLAIM/`` what a claim's own entry would say."""
        pieces = [text.partition("/") for text in entry.requests or ()]
        own = tuple(tail if slash else head for head, slash, tail in pieces if not slash or head == claim)
        if entry.requests and not own:
            return
        results = final.allocation.devices.results or ()
        asked = selected_requests(final.claim, {result.request for result in results})
        for result in results:
            device = self._device(device_id(result), final.node)
            if device is not None and covers(Entry(requests=own), result.request):
                yield _CoveredDevice(final, device, asked.get(result.request) or ExactDeviceRequest())

    def _device(self, device: DeviceId, node: Node | None) -> PublishedDevice | None:
        """Find a device as the node sees it; one held from before as it is published last, if it still is."""
        if node is None:
            return self._known.get(device)
        found = self._scene.inventory.find(device, node)
        return None if isinstance(found, Finding) else found[0]

    @cached_property
    def _known(self) -> Mapping[DeviceId, PublishedDevice]:
        pieces = sorted(self._slices, key=lambda piece: piece.spec.pool.generation)
        return {entry.id: entry for entry in published_devices(pieces)}

    def _entry(self, entry: Entry, members: Sequence[_CoveredDevice]) -> Iterator[Finding]:
        """Judge an entry on all that it covers."""
        devices = [member.entry for member in members]
        if entry.match_attribute is not None or entry.distinct_attribute is not None:
            yield from self._constraints.broken(entry, [(member.entry, member.asked) for member in members])
        elif entry.cel is not None:
            finding = self._scene.expressions.refuses_together(entry.cel.expression, devices)
            if finding is not None:
                yield finding
        elif entry.topology is not None:
            nodes = {member.final.node.metadata.name: member.final.node for member in members if member.final.node}
            yield from self._topologies.spanned(entry.topology, devices, list(nodes.values()))

    def _label(self, label: str, own: Iterable[FinalClaim]) -> Iterator[Finding]:
        """All nodes have one value of a label; claims from before must be usable on a node with it."""
        finals = [final for final in own if final.allocation.devices.results]
        values = {(final.node.metadata.labels or {}).get(label) for final in finals if final.node}
        if len(values) > 1 or None in values:
            yield Finding("NODE-2", f"the nodes have {', '.join(sorted(map(str, values)))} as values of label {label}")
            return
        for final in finals if values else ():
            there = (node for node in self._scene.nodes if (node.metadata.labels or {}).get(label) in values)
            if final.node is None and not any(_is_usable_on(final.allocation, node) for node in there):
                name = "/".join(key_of(final.claim.metadata))
                yield Finding("NODE-2", f"claim {name} is allocated where label {label} has another value")


def _is_usable_on(allocation: AllocationResult, node: Node) -> bool:
    try:
        return node_matches(allocation.node_selector, node)
    except SelectorError:
        return False
