"""What is missing for an unplaced unit, in words, and the smallest changes with which it would fit; each was tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import lcm

from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.claims import RequestSpec
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason, Status
from ...models.workload.node_room import room_misfit
from ...models.workload.requests import format_amount
from ...problem.messages import claim_text
from ..engines.outcome import DemandTable, deletion_filter, device_reasons
from ..explain.what_if import WhatIf
from .node_survey import (
    MOST_NODE_CLASSES,
    NodeScreening,
    RemainingResources,
    ScreenedNodes,
    ScreeningResult,
    UnitDemand,
)

RELAXATION = "relaxation"
# Nodes on which less devices are asked for, or some are freed, and claims that are freed on one of them.
_MOST_NODES = 4
_MOST_CLAIMS = 8


@dataclass
class UnplacedRelaxationSearch:
    """Tries changes of one unit in the state that a plan leaves, one of each sort, on the nodes ``among``.

    ``known`` are changes of pods that help; where they have this ``key``, the units, states and nodes are equal.
    """

    screening: NodeScreening
    demand: UnitDemand
    state: RemainingResources
    among: Container[int]
    gates: FeatureGates
    known: dict[Hashable, str | None] = field(default_factory=dict)
    key: Hashable = None

    @cached_property
    def _what_if(self) -> WhatIf:
        # Only the unit is changed: what the cluster has is in the state.
        return WhatIf(Cluster(), self.demand.unit, self.gates)

    def relaxations(self, found: ScreeningResult) -> Iterator[Reason]:
        """Say what would help: less room, fewer devices, devices of others, a change of the pod."""
        lacking = (screened for screened in found.with_room if screened.lacks_devices)
        without_devices = sorted(lacking, key=_shortfall_key)[:_MOST_NODES]
        without_room = [node for screened in found.without_room if screened.has_devices for node in screened.nodes]
        tried = (
            self._less_room(without_room),
            next((text for screened in without_devices for text in self._fewer_devices(screened)), None),
            next((text for screened in without_devices for text in self._freed(screened)), None),
            self._known_other_pod(),
        )
        yield from (Reason(RELAXATION, "", text) for text in tried if text)

    def _less_room(self, nodes: Sequence[int]) -> str | None:
        if not nodes:
            return None
        node, missing = least_missing(self.screening, self.demand, self.state, nodes)
        return f"it fits node {self.screening.name(node)} with {amounts_text(missing)} less"

    def _fewer_devices(self, screened: ScreenedNodes) -> Iterator[str]:
        """Ask for so many as there are in one request, or in all that find too few; else for one less."""
        short = [table for table in screened.attempt.rejections if table.is_short]
        together = [short] if len(short) > 1 else []
        for tables in [*([table] for table in short or screened.attempt.rejections), *together]:
            if all(map(_reduced_count, tables)) and self._fits(self._asking_less(tables), self.state, screened):
                yield f"it fits node {self._first(screened)} with count {' and '.join(map(self._fewer, tables))}"

    def _asking_less(self, tables: Sequence[DemandTable]) -> UnitDemand:
        what_if = self._what_if
        for table in tables:
            what_if = what_if.with_request(table.claim, table.label, partial(_with_count, count=_reduced_count(table)))
        return replace(self.demand, unit=what_if.unit)

    def _fewer(self, table: DemandTable) -> str:
        names = self.demand.names
        claim = f" of claim {names[table.claim]}" if len(names) > 1 else ""
        return f"{_reduced_count(table)} instead of {table.needed} in request {table.label}{claim}"

    def _freed(self, screened: ScreenedNodes) -> Iterator[str]:
        """Free a claim, or else some together, of those that have devices of the node."""
        holders = self.screening.holders(screened.nodes[0], self.demand, self.state)
        own = {ref.key for ref in self.demand.unit.claims}
        listed = sorted(holders.keys() - own, key=lambda claim: (holders[claim], claim))[:_MOST_CLAIMS]
        for claim in listed:
            if self._fits(self.demand, self.state.without([claim]), screened):
                yield self._without([claim], holders, screened)
                return
        if len(listed) > 1 and self._fits(self.demand, self.state.without(listed), screened):
            # Those that need not go are kept, the largest first.
            largest_first = [[claim] for claim in reversed(listed)]
            needed = deletion_filter(
                largest_first, lambda rest: self._fits(self.demand, self.state.without(rest), screened)
            )
            yield self._without(needed, holders, screened)

    def _without(self, claims: Sequence[ObjectKey], holders: Mapping[ObjectKey, int], screened: ScreenedNodes) -> str:
        more = plural(sum(holders[claim] for claim in claims), "device")
        whose = f"claim{'s' if len(claims) > 1 else ''} {', '.join(map(claim_text, sorted(claims)))}"
        return f"it fits node {self._first(screened)} with {more} more free, such as those of {whose}"

    def _known_other_pod(self) -> str | None:
        if self.key not in self.known:
            self.known[self.key] = self._other_pod()
        return self.known[self.key]

    def _other_pod(self) -> str | None:
        """Change what keeps the pod from nodes that have all it needs, the cheapest change first."""
        lacks = self.screening.lacks(self.demand, self.state)
        misfits = [
            (position, misfit)
            for position, misfit in self.screening.suitable_nodes(self.demand)[0].misfits
            if misfit.id in _RELAXABLE_MISFITS and position in self.among and not lacks(position)
        ]
        if not misfits:
            return None
        # Loaded only here: in most plans no pod need be changed.
        from ..explain.changes import CHANGE_COSTS, pod_changes

        causes: dict[tuple[int, str], list[int]] = defaultdict(list)
        for position, misfit in misfits:
            causes[CHANGE_COSTS[misfit.id], misfit.message].append(position)
        for cause in sorted(causes)[:_MOST_NODES]:
            for nodes in self.screening.node_classes(self.demand, self.state, causes[cause])[:MOST_NODE_CLASSES]:
                if self.screening.fits(self.demand, self.state, nodes[0]):
                    changes = pod_changes(self._what_if, self.screening.nodes[nodes[0]])
                    said = "; ".join(change.message for change in changes)
                    return f"it fits node {self.screening.name(nodes[0])}: {said}"
        return None

    def _fits(self, demand: UnitDemand, state: RemainingResources, screened: ScreenedNodes) -> bool:
        return self.screening.fits(demand, state, screened.nodes[0])

    def _first(self, screened: ScreenedNodes) -> str:
        return self.screening.name(screened.nodes[0])


# What a pod may be changed in; one that is on a node stays there.
_RELAXABLE_MISFITS = frozenset({"nodeSelector", "nodeAffinity", "nodeUnschedulable", "nodeTaint"})


def _with_count(spec: RequestSpec, count: int) -> RequestSpec:
    """A request for all devices stays one."""
    return spec if spec.allocation_mode == "All" else replace_fields(spec, count=count)


def _reduced_count(table: DemandTable) -> int:
    """How many devices a request may ask for instead; 0: that would be none."""
    return min(table.fitting, table.needed - 1)


def _shortfall_key(screened: ScreenedNodes) -> tuple[bool, int, int]:
    """How many devices are missing; nodes of which that is not known come last."""
    missing = sum(table.needed - table.fitting for table in screened.attempt.rejections if table.is_short)
    return missing == 0, missing, screened.nodes[0]


ROOM = "room"
UNDECIDED = "undecided"


def shortage_reasons(
    screening: NodeScreening, demand: UnitDemand, state: RemainingResources, found: ScreeningResult
) -> Iterator[Reason]:
    """Say what is missing on the nodes that suit the unit: devices where there is room, room where there are devices.

    Where no node has either, both are told.
    """
    without_devices = [screened for screened in found.with_room if not screened.has_devices]
    with_devices = [screened for screened in found.without_room if screened.has_devices]
    if not without_devices and not with_devices:
        without_devices = found.without_room
    decided = [screened for screened in without_devices if not screened.is_undecided]
    yield from _device_shortage_reasons(screening, demand, decided)
    unknown = sum(len(screened.nodes) for screened in without_devices if screened.is_undecided)
    if unknown:
        yield Reason(UNDECIDED, "", f"{plural(unknown, 'node')}: it was not decided in time whether devices are left")
    nodes = [node for screened in with_devices or found.without_room for node in screened.nodes]
    if nodes:
        suitable = sum(len(screened.nodes) for screened in (*found.with_room, *found.without_room))
        have = "has" if suitable == 1 else "have"
        without = f"{have} the devices, but no room" if with_devices and demand.claims else f"{have} no room"
        node, missing = least_missing(screening, demand, state, nodes)
        least = f"{room_misfit(demand.requests, missing).message} on node {screening.name(node)}"
        yield Reason(ROOM, "", f"{len(nodes)} of {plural(suitable, 'node')} {without}: {least}")


def least_missing(
    screening: NodeScreening, demand: UnitDemand, state: RemainingResources, nodes: Iterable[int]
) -> tuple[int, Mapping[str, int]]:
    """Find the node that lacks least, by the share of what is asked for; it must be one that lacks something."""
    # Shares as whole numbers: fractions take far longer. An overdrawn node lacks what is not asked for, too.
    asked = {name: max(1, amount) for name, amount in demand.requests.items()}
    parts = {name: lcm(*asked.values()) // amount for name, amount in asked.items()}
    firsts = (own[0] for own in screening.equal_nodes(state, sorted(nodes)))
    listed = ((node, state.missing(screening.name(node), demand.requests)) for node in firsts)
    return min(listed, key=lambda one: (sum(amount * parts[name] for name, amount in one[1].items()), one[0]))


def amounts_text(missing: Mapping[str, int]) -> str:
    """Amounts of resources in words."""
    return " and ".join(f"{format_amount(name, amount)} of {name}" for name, amount in sorted(missing.items()))


def _device_shortage_reasons(
    screening: NodeScreening, demand: UnitDemand, classes: Sequence[ScreenedNodes]
) -> Iterator[Reason]:
    failed = screening.failed(classes)
    for screened in classes:
        if screened.attempt.status is Status.ERROR:
            abort = screened.attempt
            claim = "" if abort.claim is None else demand.names[abort.claim]
            yield Reason(abort.rule, claim, f"node {screening.name(screened.nodes[0])}: {abort.message}")
            return
    erring = failed.first_erring
    if erring is not None:
        yield Reason("expression", "", f"node {screening.name(erring)}: {failed[erring].error}")
        return
    yield from device_reasons(failed.report(), demand.names)
