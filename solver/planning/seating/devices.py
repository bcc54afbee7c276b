"""What seated parties get: allocations of their claims, with devices that nodes share dealt out among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....models.claims import AllocationResult
from ....models.core import Node
from ....models.identity import DeviceId
from ....models.pod_claims import ClaimRef
from ....problem.shapes import NodeView, Views
from ...search import Pick
from ..posing.ask import Posed
from .seats import Seat


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A seat on its node, with what each claim of the party gets."""

    seat: Seat
    node: Node
    allocations: tuple[tuple[ClaimRef, AllocationResult], ...]


@dataclass
class Dealing:
    """Makes allocations. ``views`` see the cluster as it is when all nodes are there, ``nodes`` are by kind."""

    posed: Posed
    views: Views
    nodes: Mapping[int, Sequence[Node]]
    _classes: dict[DeviceId, int] = field(init=False, default_factory=dict)
    _free: dict[int, Iterator[DeviceId]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for number, own in enumerate(self.posed.shared.classes):
            self._classes.update(dict.fromkeys(own, number))
            self._free[number] = iter(own)

    def placed(self, seats: Sequence[Seat]) -> list[Placed]:
        """Allocate, seat by seat. Raises ``FatalError`` (RES-7)."""
        return [self._placed(seat) for seat in seats]

    def _placed(self, seat: Seat) -> Placed:
        node = self.nodes[seat.node_kind.index][seat.number]
        asked = seat.entry.asked
        if not asked:
            return Placed(seat, node, ())
        compiler = self.posed.engine.compiler
        view = self.views.of(node, seat.node_kind.visible)
        claims = [ref.claim for ref in asked if ref.claim is not None]
        picks = self._dealt(seat, view) if self._classes else seat.picks
        made = self.posed.engine.builder.build(claims, compiler.asks(compiler.question(seat.kind.claims)), picks, view)
        return Placed(seat, node, tuple(zip(asked, made, strict=True)))

    def _dealt(self, seat: Seat, view: NodeView) -> list[Pick]:
        """Give each pick of a shared device the next one of its class that nobody has."""
        numbers = {device.id: number for number, device in enumerate(view.devices)}
        return [self._next(pick, view, numbers) for pick in seat.picks]

    def _next(self, pick: Pick, view: NodeView, numbers: Mapping[DeviceId, int]) -> Pick:
        own = self._classes.get(view.devices[pick.device].id)
        return pick if own is None else Pick(pick.demand, numbers[next(self._free[own])])
