"""The smallest changes with which one more unit would fit beside the plan; each was tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec.structs import replace as changed

from ....models.claims import DeviceSubRequest, ExactDeviceRequest
from ....models.cluster import Cluster
from ....models.gates import FeatureGates
from ....models.identity import ObjectKey
from ....problem.messages import claim_text
from ...explaining.offer import COSTS
from ...explaining.pod_changes import pod_changes
from ...explaining.scene import Scene
from ...outcome import Reason
from ...proofs.wording import plural
from ...tables import DemandTable
from .shortages import amounts, least_missing
from .state import State
from .survey import MOST_KINDS, Kind, Surveyed, Surveyor
from .wish import Wish

RELAXATION = "relaxation"

# Nodes on which less devices are asked for, or some are freed, and claims that are freed on one of them.
_MOST_NODES = 4
_MOST_CLAIMS = 8


class Relaxer:
    """Tries changes about one unit in the state that a plan leaves, one of each sort, on nodes ``among`` these."""

    def __init__(
        self, surveyor: Surveyor, wish: Wish, state: State, among: Container[int], gates: FeatureGates
    ) -> None:
        self._surveyor = surveyor
        self._wish = wish
        self._state = state
        self._among = among
        # Only the unit is changed: what the cluster has is in the state.
        self._scene = Scene(Cluster(), wish.unit, gates)

    def relaxations(self, found: Surveyed) -> Iterator[Reason]:
        """Say what would help: less room, fewer devices, devices of others, another kind of pod."""
        lacking = sorted((kind for kind in found.roomy if kind.lacks_devices), key=_shortfall)[:_MOST_NODES]
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
        return f"it fits node {self._surveyor.name(node)} with {amounts(missing)} less"

    def _fewer_devices(self, kind: Kind) -> Iterator[str]:
        """Ask for so many as there are in one request, or in all that find too few; else for one less."""
        short = [table for table in kind.attempt.tables if table.is_short]
        together = [short] if len(short) > 1 else []
        for tables in [*([table] for table in short or kind.attempt.tables), *together]:
            if all(map(_less, tables)) and self._fits(self._asking_less(tables), self._state, kind):
                yield f"it fits node {self._first(kind)} with count {' and '.join(map(self._fewer, tables))}"

    def _asking_less(self, tables: Sequence[DemandTable]) -> Wish:
        scene = self._scene
        for table in tables:
            scene = scene.with_request(table.claim, table.label, partial(_asking, count=_less(table)))
        return replace(self._wish, unit=scene.unit)

    def _fewer(self, table: DemandTable) -> str:
        names = self._wish.names
        claim = f" of claim {names[table.claim]}" if len(names) > 1 else ""
        return f"{_less(table)} instead of {table.needed} in request {table.label}{claim}"

    def _freed(self, kind: Kind) -> Iterator[str]:
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

    def _needed(self, claims: list[ObjectKey], kind: Kind) -> list[ObjectKey]:
        """Keep those that need not go, the largest first."""
        for claim in reversed(tuple(claims)):
            fewer = [one for one in claims if one != claim]
            if self._fits(self._wish, self._state.without(fewer), kind):
                claims = fewer
        return claims

    def _without(self, claims: Sequence[ObjectKey], holders: Mapping[ObjectKey, int], kind: Kind) -> str:
        more = plural(sum(holders[claim] for claim in claims), "device")
        whose = f"claim{'s' if len(claims) > 1 else ''} {', '.join(map(claim_text, sorted(claims)))}"
        return f"it fits node {self._first(kind)} with {more} more free, such as those of {whose}"

    def _other_pod(self) -> str | None:
        """Change what keeps the pod from nodes that have all it needs, the cheapest change first."""
        suitable, _ = self._surveyor.suited(self._wish)
        causes: dict[tuple[int, str], list[int]] = defaultdict(list)
        for position, misfit in suitable.misfits:
            if misfit.id in _CURABLE and position in self._among and self._has_room(position):
                causes[COSTS[misfit.id], misfit.message].append(position)
        for cause in sorted(causes)[:_MOST_NODES]:
            for nodes in self._surveyor.kinds(self._wish, self._state, causes[cause])[:MOST_KINDS]:
                if self._surveyor.fits(self._wish, self._state, nodes[0]):
                    return self._changes(nodes[0])
        return None

    def _has_room(self, position: int) -> bool:
        return not self._state.lacks(self._surveyor.name(position), self._wish.requests)

    def _changes(self, position: int) -> str:
        changes = pod_changes(self._scene, self._surveyor.nodes[position])
        return f"it fits node {self._surveyor.name(position)}: {'; '.join(change.message for change in changes)}"

    def _fits(self, wish: Wish, state: State, kind: Kind) -> bool:
        return self._surveyor.fits(wish, state, kind.nodes[0])

    def _first(self, kind: Kind) -> str:
        return self._surveyor.name(kind.nodes[0])


# What a pod may be changed in; one that is on a node stays there.
_CURABLE = frozenset({"nodeSelector", "nodeAffinity", "nodeUnschedulable", "nodeTaint"})


def _asking(spec: ExactDeviceRequest | DeviceSubRequest, count: int) -> ExactDeviceRequest | DeviceSubRequest:
    """A request for all devices stays one."""
    return spec if spec.allocation_mode == "All" else changed(spec, count=count)


def _less(table: DemandTable) -> int:
    """How many devices a request may ask for instead; 0: that would be none."""
    return min(table.fitting, table.needed - 1)


def _shortfall(kind: Kind) -> tuple[bool, int, int]:
    """How many devices are missing; kinds of which that is not known come last."""
    missing = sum(table.needed - table.fitting for table in kind.attempt.tables if table.is_short)
    return missing == 0, missing, kind.nodes[0]
