"""The rules of a claim's allocation, of the entries of claims, and of ConstraintGroups over several claims.

An allocation is replayed result by result on top of what its unit has taken already. Entries are judged on the devices
that they cover; what soft ones are said to cost is counted again (SOFT-1). Groups are judged on all that their claims
hold in the end (CON-*, CELC-*, TOPO-* over several claims): claims in the order of their names, each with its results
in order. An entry of a group is not judged if none of its claims got devices now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TypeAlias

from ...models.cluster.node_fit import SelectorError, node_matches
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import (
    AllocationResult,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    RequestSpec,
    ResourceClaim,
)
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.kubernetes.slices import ResourceSlice
from ...models.kubernetes.workloads import PodGroup
from .constraints import ConstraintRules, covers
from .devices import ClaimContext, ResultDevice, ResultDeviceRules, VerificationContext
from .published import Finding, PoolView, PublishedDevice, published_devices
from .requests import (
    ClaimReading,
    ClaimReadings,
    config_findings,
    node_selector_findings,
    repeated_device_findings,
    selected_requests,
)
from .state import device_id
from .topology import TopologyRules


class ClaimRules:
    """The rules of one claim's allocation; ``caller_constraints`` are entries of every claim."""

    def __init__(
        self, context: VerificationContext, caller_constraints: Sequence[extensions.CallerConstraint] = ()
    ) -> None:
        self._caller_constraints = caller_constraints
        self._context = context
        self._readings = ClaimReadings(context.classes, context.gates)
        self._devices = context.devices
        self._taking = ResultDeviceRules(context)
        self._entries = EntryRules(context)
        self._views: dict[tuple[str, str, str], PoolView | None] = {}

    def findings(
        self,
        claim: ResourceClaim,
        allocation: AllocationResult,
        context: ClaimContext,
        costs: Sequence[int] | None = None,
    ) -> Iterator[Finding]:
        """Yield every rule the allocation breaks; its devices then count as taken by the unit.

        ``costs`` is what is said of the claim's soft entries, in order; None: nothing is said.
        """
        results = allocation.devices.results or ()
        reading = self._readings.of(claim)
        answer = reading.answer(tuple([result.request for result in results]))
        yield from reading.unsupported
        yield from answer.misshapen
        yield from repeated_device_findings(results)
        found: list[ResultDevice] = []
        for result in results:
            if result.request in answer.chosen:
                yield from self._result(result, answer.chosen[result.request], context, found)
        if reading.for_all:
            yield from self._all_requests(reading, answer.chosen, results, context.node)
        yield from self._constrained(claim, found, context.node)
        if costs is not None:
            yield from self._entries.misjudged(self._own(claim), found, context.node, costs)
        yield from config_findings(answer.configs, allocation)
        if len(found) == len(results):
            entries = [device.entry for device in found]
            yield from node_selector_findings(entries, context.node, allocation.node_selector, self._context.gates)

    def _result(
        self,
        result: DeviceRequestAllocationResult,
        requested: RequestSpec,
        context: ClaimContext,
        found: list[ResultDevice],
    ) -> Iterator[Finding]:
        """Judge one result, and add its device to ``found``."""
        there = self._context.inventory.among(device_id(result), self._view(result, context.node))
        if isinstance(there, Finding):
            yield Finding(there.rule, f"{_result_label(result)}: {there.message}")
            return
        found.append(ResultDevice(result, *there, requested))
        for rule, message, _ in self._taking.findings(found[-1], context):
            yield Finding(rule, f"{_result_label(result)}: {message}")

    def _view(self, result: DeviceRequestAllocationResult, node: Node) -> PoolView | None:
        """The result's pool as the node sees it, found once."""
        key = result.driver, result.pool, node.metadata.name
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = self._context.inventory.view(key[:2], node)
        return found

    def _all_requests(
        self,
        reading: ClaimReading,
        chosen: Mapping[str, RequestSpec],
        results: Sequence[DeviceRequestAllocationResult],
        node: Node,
    ) -> Iterator[Finding]:
        """PRE-8: whoever asks for all devices, if only as an alternative, sees no pool in trouble."""
        for name, requested in reading.for_all:
            held = {device_id(result) for result in results if result.request == name}
            for view in self._context.inventory.views(node):
                if view.stops_all and view.trouble is not None:
                    yield Finding("PRE-8", f"request {name} asks for all devices, but {view.trouble.message}")
                elif name in chosen:
                    yield from self._left_out(view, requested, held, node)

    def _left_out(self, view: PoolView, requested: RequestSpec, held: set[DeviceId], node: Node) -> Iterator[Finding]:
        """PRE-8: a request for all devices has every one that it selects."""
        for entry in view.devices.values():
            reason = None if entry.id in held else self._devices.unselected(entry, requested, node)
            if entry.id not in held and reason is None:
                yield Finding("PRE-8", f"device {'/'.join(entry.id)} is left out by a request for all devices")
            elif reason is not None and reason.fatal and not self._context.errors_left_out:
                yield Finding(reason.rule, f"device {'/'.join(entry.id)} cannot be left out: {reason.message}")

    def _constrained(self, claim: ResourceClaim, found: Sequence[ResultDevice], node: Node) -> Iterator[Finding]:
        """Section 13, and the entries beyond the API that must hold (SOFT-1)."""
        hard = [entry for entry in self._own(claim) if entry.weight is None]
        for entry in (*(claim.spec.devices.constraints or ()), *hard):
            members = [(device.entry, device.requested) for device in found if covers(entry, device.result.request)]
            if members:
                yield from self._entries.findings(entry, members, node)

    def _own(self, claim: ResourceClaim) -> Sequence[extensions.CallerConstraint]:
        """Entries beside those of the API: of the annotation, then those given for all claims."""
        return (*extensions.annotated_entries(claim.metadata), *self._caller_constraints)


def _result_label(result: DeviceRequestAllocationResult) -> str:
    return f"request {result.request}, device {'/'.join(device_id(result))}"


Members: TypeAlias = Sequence[tuple[PublishedDevice, RequestSpec]]
"""The devices that an entry covers, each with the spec of the request that got it."""


class EntryRules:
    """Judges entries of claims, of annotations, of groups, and those given by the caller."""

    def __init__(self, context: VerificationContext) -> None:
        self._expressions = context.expressions
        self._constraints = ConstraintRules(context.gates, context.expressions)
        self._topologies = TopologyRules(context)

    def findings(
        self, entry: DeviceConstraint | extensions.Predicate, members: Members, node: Node
    ) -> Iterator[Finding]:
        """Judge an entry on all devices of one node that it covers; an empty entry is reported as unsupported."""
        return self._findings(entry, members, partial(self._topologies.findings, node=node))

    def findings_across_nodes(
        self, entry: extensions.Entry, members: Members, nodes: Sequence[Node]
    ) -> Iterator[Finding]:
        """Judge an entry of a group on all devices that it covers, which may be on several nodes."""
        return self._findings(entry, members, partial(self._topologies.findings_across_nodes, nodes=nodes))

    def _findings(
        self,
        entry: DeviceConstraint | extensions.Predicate,
        members: Members,
        judge_topology: Callable[[extensions.TopologyRequest, Sequence[PublishedDevice]], Iterator[Finding]],
    ) -> Iterator[Finding]:
        devices = [device for device, _ in members]
        if isinstance(entry, extensions.Predicate):
            if not entry.holds([extensions.chosen_device(device.driver, device.device) for device in devices]):
                yield Finding("CELC-10", f"predicate {entry.name} refuses the devices")
        elif entry.match_attribute is not None or entry.distinct_attribute is not None:
            yield from self._constraints.findings(entry, members)
        elif entry.cel is not None:
            finding = self._expressions.refuses_together(entry.cel.expression, devices)
            if finding is not None:
                yield finding
        elif isinstance(entry, extensions.Entry) and entry.topology is not None:
            yield from judge_topology(entry.topology, devices)

    def misjudged(
        self,
        entries: Sequence[extensions.CallerConstraint],
        found: Sequence[ResultDevice],
        node: Node,
        costs: Sequence[int],
    ) -> Iterator[Finding]:
        """SOFT-1, SOFT-2: soft entries cost what is said of them, in their order."""
        counted = [self._cost(entry, found, node) for entry in entries if entry.weight is not None]
        if list(costs) != counted:
            yield Finding("SOFT-1", f"soft entries are said to cost {list(costs)}, and cost {counted}")

    def _cost(self, entry: extensions.CallerConstraint, found: Sequence[ResultDevice], node: Node) -> int:
        members = [(device.entry, device.requested) for device in found if covers(entry, device.result.request)]
        sets = [*combinations(members, 2)] if entry.per == "Pair" else [members] if members else []
        return (entry.weight or 0) * sum(any(self.findings(entry, one, node)) for one in sets)


@dataclass(frozen=True, slots=True)
class FinalClaim:
    """A claim with what it holds, and the node it got that on; no node if it held it before."""

    claim: ResourceClaim
    allocation: AllocationResult
    node: Node | None = None


class GroupRules:
    """Judges groups; ``slices`` are all that is published, for devices that a claim holds from before."""

    def __init__(self, context: VerificationContext, slices: Iterable[ResourceSlice]) -> None:
        self._context = context
        self._slices = slices
        self._entries = EntryRules(context)

    def findings(
        self, group: extensions.ConstraintGroup, members: Iterable[ObjectKey], finals: Mapping[ObjectKey, FinalClaim]
    ) -> Iterator[Finding]:
        """Yield what a group, if it must hold, finds wrong with the devices of its ``members``."""
        name = f"ConstraintGroup {'/'.join(key_of(group.metadata))}"
        own = {key: finals[key] for key in sorted(members) if key in finals}
        for number, entry in enumerate(group.spec.constraints or ()):
            found = [member for key, final in own.items() for member in self._covered(entry, key[1], final)]
            nodes = {node.metadata.name: node for node, *_ in found if node}
            if entry.weight is None and nodes:
                covered = [(device, requested) for _, device, requested in found]
                for finding in self._entries.findings_across_nodes(entry, covered, list(nodes.values())):
                    yield Finding(finding.rule, f"{name}, entry {entry.name or f'#{number}'}: {finding.message}")
        if group.spec.same_node_label:
            for finding in self._label(group.spec.same_node_label, own.values()):
                yield Finding(finding.rule, f"{name}: {finding.message}")

    def _covered(
        self, entry: extensions.Entry, claim: str, final: FinalClaim
    ) -> Iterator[tuple[Node | None, PublishedDevice, RequestSpec]]:
        """Yield the devices that an entry covers, each with its node and the spec of its request."""
        own = entry_of_claim(entry, claim)
        if own is None:
            return
        results = final.allocation.devices.results or ()
        requested = selected_requests(final.claim, {result.request for result in results})
        for result in results:
            device = self._device(device_id(result), final.node)
            if device is not None and covers(own, result.request):
                yield final.node, device, (requested.get(result.request) or ExactDeviceRequest())

    def _device(self, device: DeviceId, node: Node | None) -> PublishedDevice | None:
        """Find a device as the node sees it; one held from before as it is published last, if it still is."""
        if node is None:
            return self._known.get(device)
        found = self._context.inventory.find(device, node)
        return None if isinstance(found, Finding) else found[0]

    @cached_property
    def _known(self) -> Mapping[DeviceId, PublishedDevice]:
        pieces = sorted(self._slices, key=lambda piece: piece.spec.pool.generation)
        return {entry.id: entry for entry in published_devices(pieces)}

    def _label(self, label: str, own: Iterable[FinalClaim]) -> Iterator[Finding]:
        """All nodes have one value of a label; claims from before must be usable on a node with it."""
        finals = [final for final in own if final.allocation.devices.results]
        values = {(final.node.metadata.labels or {}).get(label) for final in finals if final.node}
        if len(values) > 1 or None in values:
            yield Finding("NODE-2", f"the nodes have {', '.join(sorted(map(str, values)))} as values of label {label}")
            return
        for final in finals if values else ():
            there = (node for node in self._context.nodes if (node.metadata.labels or {}).get(label) in values)
            if final.node is None and not any(is_usable_on(final.allocation, node) for node in there):
                name = "/".join(key_of(final.claim.metadata))
                yield Finding("NODE-2", f"claim {name} is allocated where label {label} has another value")


def entry_of_claim(entry: extensions.Entry, claim: str) -> extensions.Entry | None:
    """The requests of a group's entry as an entry of one claim has them; None: it is about none of the claim's.

    CON-1: a reference is ``REQUEST``, or after ``CLAIM/`` what a claim's own entry would say.
    """
    pieces = [text.partition("/") for text in entry.requests or ()]
    own = tuple(tail if slash else head for head, slash, tail in pieces if not slash or head == claim)
    return None if entry.requests and not own else extensions.Entry(requests=own)


class MemberClaims:
    """Judges whose the claims are that were made from templates: of a pod alone, or of all members of its PodGroup."""

    def __init__(self, groups: Mapping[ObjectKey, PodGroup]) -> None:
        self._groups = groups
        self._users: dict[ObjectKey, tuple[str, str]] = {}
        self._of_groups: dict[tuple[str, str], ObjectKey] = {}

    @property
    def has_groups(self) -> bool:
        """Whether there are groups; without them there are no findings."""
        return bool(self._groups)

    def findings(self, pod: Pod, claims: Iterable[ResourceClaim]) -> Iterator[Finding]:
        """Yield claims that a pod has in place of its group's, and those of others (PGC-2, PGC-3)."""
        namespace, name = key_of(pod.metadata)
        named = pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group else None
        group = self._groups.get((namespace, named or ""))
        own = {one.name: one for one in pod.spec.resource_claims or ()}
        shared = {one.name for one in (group.spec.resource_claims if group else None) or () if own.get(one.name) == one}
        for claim in claims:
            entry = (claim.metadata.annotations or {}).get(_MADE_FOR_ENTRY, "")
            if entry not in own or not own[entry].resource_claim_template_name:
                continue
            key = key_of(claim.metadata)
            user = ("PodGroup", named or "") if entry in shared else ("Pod", name)
            known = self._users.setdefault(key, user)
            if known != user and "PodGroup" in (known[0], user[0]):
                yield Finding("PGC-2", f"pod {namespace}/{name} has claim {key[1]}, which is that of {' '.join(known)}")
            if entry in shared and self._of_groups.setdefault((f"{namespace}/{named}", entry), key) != key:
                yield Finding(
                    "PGC-3", f"pod {namespace}/{name} has not the claim that PodGroup {named} has for {entry}"
                )


_MADE_FOR_ENTRY = "resource.kubernetes.io/pod-claim-name"


def is_usable_on(allocation: AllocationResult, node: Node) -> bool:
    """Tell whether an allocation may be used on a node; not where its node selector cannot be parsed."""
    try:
        return node_matches(allocation.node_selector, node)
    except SelectorError:
        return False
