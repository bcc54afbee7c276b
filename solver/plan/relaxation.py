"""What is missing for an unplaced unit, in words, and the smallest changes with which it would fit; each was tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from msgspec.structs import replace as changed

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import DeviceSubRequest, ExactDeviceRequest
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason, Status
from ...models.workload.requests import format_amount
from ...problem.problem import claim_text
from ..engines.engine import NodeResult
from ..engines.outcome import DemandTable
from ..engines.reasons import deletion_filter, device_reasons
from ..explain.changes import CHANGE_COSTS, WhatIf, pod_changes
from ..proofs.counting import plural
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


class UnplacedRelaxationSearch:
    """Tries changes about one unit in the state that a plan leaves, one of each sort, on nodes ``among`` these."""

    def __init__(
        self,
        surveyor: NodeScreening,
        wish: UnitDemand,
        state: RemainingResources,
        among: Container[int],
        gates: FeatureGates,
    ) -> None:
        self._surveyor = surveyor
        self._wish = wish
        self._state = state
        self._among = among
        # Only the unit is changed: what the cluster has is in the state.
        self._scene = WhatIf(Cluster(), wish.unit, gates)

    def relaxations(self, found: ScreeningResult) -> Iterator[Reason]:
        """Say what would help: less room, fewer devices, devices of others, another kind of pod."""
        lacking = sorted((kind for kind in found.roomy if kind.lacks_devices), key=_shortfall_key)[:_MOST_NODES]
        tried = (
            self._less_room([node for kind in found.cramped if kind.has_devices for node in kind.nodes]),
            next((text for kind in lacking for text in self._fewer_devices(kind)), None),
            next((text for kind in lacking for text in self._freed(kind)), None),
            self._other_pod(),
        )
        yield from (Reason(RELAXATION, "", text) for text in tried if text)

    def _less_room(self, nodes: Sequence[int]) -> str | None:
        if not nodes:
            return None
        node, missing = least_missing(self._surveyor, self._wish, self._state, nodes)
        return f"it fits node {self._surveyor.name(node)} with {amounts_text(missing)} less"

    def _fewer_devices(self, kind: ScreenedNodes) -> Iterator[str]:
        """Ask for so many as there are in one request, or in all that find too few; else for one less."""
        short = [table for table in kind.attempt.rejections if table.is_short]
        together = [short] if len(short) > 1 else []
        for tables in [*([table] for table in short or kind.attempt.rejections), *together]:
            if all(map(_reduced_count, tables)) and self._fits(self._asking_less(tables), self._state, kind):
                yield f"it fits node {self._first(kind)} with count {' and '.join(map(self._fewer, tables))}"

    def _asking_less(self, tables: Sequence[DemandTable]) -> UnitDemand:
        scene = self._scene
        for table in tables:
            scene = scene.with_request(table.claim, table.label, partial(_with_count, count=_reduced_count(table)))
        return replace(self._wish, unit=scene.unit)

    def _fewer(self, table: DemandTable) -> str:
        names = self._wish.names
        claim = f" of claim {names[table.claim]}" if len(names) > 1 else ""
        return f"{_reduced_count(table)} instead of {table.needed} in request {table.label}{claim}"

    def _freed(self, kind: ScreenedNodes) -> Iterator[str]:
        """Free a claim, or else some together, of those that have devices of the node."""
        holders = self._surveyor.holders(kind.nodes[0], self._wish, self._state)
        own = {ref.key for ref in self._wish.unit.claims}
        listed = sorted(holders.keys() - own, key=lambda claim: (holders[claim], claim))[:_MOST_CLAIMS]
        for claim in listed:
            if self._fits(self._wish, self._state.without([claim]), kind):
                yield self._without([claim], holders, kind)
                return
        if len(listed) > 1 and self._fits(self._wish, self._state.without(listed), kind):
            yield self._without(self._needed(listed, kind), holders, kind)

    def _needed(self, claims: list[ObjectKey], kind: ScreenedNodes) -> list[ObjectKey]:
        """Keep those that need not go, the largest first."""
        largest_first = [[claim] for claim in reversed(claims)]
        return deletion_filter(largest_first, lambda rest: self._fits(self._wish, self._state.without(rest), kind))

    def _without(self, claims: Sequence[ObjectKey], holders: Mapping[ObjectKey, int], kind: ScreenedNodes) -> str:
        more = plural(sum(holders[claim] for claim in claims), "device")
        whose = f"claim{'s' if len(claims) > 1 else ''} {', '.join(map(claim_text, sorted(claims)))}"
        return f"it fits node {self._first(kind)} with {more} more free, such as those of {whose}"

    def _other_pod(self) -> str | None:
        """Change what keeps the pod from nodes that have all it needs, the cheapest change first."""
        suitable, _ = self._surveyor.suited(self._wish)
        causes: dict[tuple[int, str], list[int]] = defaultdict(list)
        for position, misfit in suitable.misfits:
            if misfit.id in _RELAXABLE_MISFITS and position in self._among and self._has_room(position):
                causes[CHANGE_COSTS[misfit.id], misfit.message].append(position)
        for cause in sorted(causes)[:_MOST_NODES]:
            for nodes in self._surveyor.kinds(self._wish, self._state, causes[cause])[:MOST_NODE_CLASSES]:
                if self._surveyor.fits(self._wish, self._state, nodes[0]):
                    return self._changes(nodes[0])
        return None

    def _has_room(self, position: int) -> bool:
        return not self._state.lacks(self._surveyor.name(position), self._wish.requests)

    def _changes(self, position: int) -> str:
        changes = pod_changes(self._scene, self._surveyor.nodes[position])
        return f"it fits node {self._surveyor.name(position)}: {'; '.join(change.message for change in changes)}"

    def _fits(self, wish: UnitDemand, state: RemainingResources, kind: ScreenedNodes) -> bool:
        return self._surveyor.fits(wish, state, kind.nodes[0])

    def _first(self, kind: ScreenedNodes) -> str:
        return self._surveyor.name(kind.nodes[0])


# What a pod may be changed in; one that is on a node stays there.
_RELAXABLE_MISFITS = frozenset({"nodeSelector", "nodeAffinity", "nodeUnschedulable", "nodeTaint"})


def _with_count(spec: ExactDeviceRequest | DeviceSubRequest, count: int) -> ExactDeviceRequest | DeviceSubRequest:
    """A request for all devices stays one."""
    return spec if spec.allocation_mode == "All" else changed(spec, count=count)


def _reduced_count(table: DemandTable) -> int:
    """How many devices a request may ask for instead; 0: that would be none."""
    return min(table.fitting, table.needed - 1)


def _shortfall_key(kind: ScreenedNodes) -> tuple[bool, int, int]:
    """How many devices are missing; kinds of which that is not known come last."""
    missing = sum(table.needed - table.fitting for table in kind.attempt.rejections if table.is_short)
    return missing == 0, missing, kind.nodes[0]


ROOM = "room"
UNDECIDED = "undecided"


def shortage_reasons(
    surveyor: NodeScreening, wish: UnitDemand, state: RemainingResources, found: ScreeningResult
) -> Iterator[Reason]:
    """Say what is missing on the nodes that suit the unit: devices where there is room, room where there are devices.

    Where no node has either, both are told.
    """
    lacking = [kind for kind in found.roomy if not kind.has_devices]
    equipped = [kind for kind in found.cramped if kind.has_devices]
    if not lacking and not equipped:
        lacking = found.cramped
    yield from _device_shortage_reasons(surveyor, wish, [kind for kind in lacking if not kind.is_undecided])
    unknown = sum(len(kind.nodes) for kind in lacking if kind.is_undecided)
    if unknown:
        yield Reason(UNDECIDED, "", f"{plural(unknown, 'node')}: it was not decided in time whether devices are left")
    yield from _room_reasons(surveyor, wish, state, found, equipped)


def _room_reasons(
    surveyor: NodeScreening,
    wish: UnitDemand,
    state: RemainingResources,
    found: ScreeningResult,
    equipped: Sequence[ScreenedNodes],
) -> Iterator[Reason]:
    nodes = [node for kind in equipped or found.cramped for node in kind.nodes]
    if nodes:
        suited = sum(len(kind.nodes) for kind in (*found.roomy, *found.cramped))
        have = "have the devices, but no room" if equipped and wish.claims else "have no room"
        node, missing = least_missing(surveyor, wish, state, nodes)
        least = f"{amounts_text(missing)} missing on node {surveyor.name(node)}"
        yield Reason(ROOM, "", f"{len(nodes)} of {suited} nodes {have}: {least}")


def least_missing(
    surveyor: NodeScreening, wish: UnitDemand, state: RemainingResources, nodes: Iterable[int]
) -> tuple[int, Mapping[str, int]]:
    """Find the node that lacks least, by the share of what is asked for; it must be one that lacks something."""
    listed = ((node, state.lacks(surveyor.name(node), wish.requests)) for node in nodes)
    return min(listed, key=lambda one: (_missing_share(one[1], wish), one[0]))


def _missing_share(missing: Mapping[str, int], wish: UnitDemand) -> Fraction:
    return sum((Fraction(amount, wish.requests[name]) for name, amount in missing.items()), Fraction())


def amounts_text(missing: Mapping[str, int]) -> str:
    """Amounts of resources in words."""
    return " and ".join(f"{format_amount(name, amount)} of {name}" for name, amount in sorted(missing.items()))


def _device_shortage_reasons(
    surveyor: NodeScreening, wish: UnitDemand, kinds: Sequence[ScreenedNodes]
) -> Iterator[Reason]:
    failed = surveyor.failed(kinds)
    for kind in kinds:
        if kind.attempt.status is Status.ERROR:
            yield _abort_reason(kind.attempt, wish, surveyor.name(kind.nodes[0]))
            return
    erring = failed.first_erring
    if erring is not None:
        yield Reason("expression", "", f"node {surveyor.name(erring)}: {failed[erring].error}")
        return
    yield from device_reasons(failed.report(), wish.names)


def _abort_reason(attempt: NodeResult, wish: UnitDemand, node: str) -> Reason:
    claim = "" if attempt.claim is None else wish.names[attempt.claim]
    return Reason(attempt.rule, claim, f"node {node}: {attempt.message}")
