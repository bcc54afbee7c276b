"""The claims and demands of a joint Problem: a request may be served on any node that its seat may go to.

Devices are those of all nodes together. Serving a request on a node is an alternative of it, in the order of nodes and
then of the request's own, so that the scheduler's preference (SRCH-4) prefers nodes that come first. Claims are in the
order of their names, held ones among them: that is the order in which entries of groups see their devices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

from ...models.claims import ResourceClaim
from ...models.core import Node
from ...models.identity import ObjectKey, key_of
from ...problem.asks import Ask, alternatives, resolve
from ...problem.compile import Compiler
from ...problem.records import Amounts, Claim, Demand, Request
from ...problem.shapes import NodeView
from .coupling import Seat
from .ground import Ground
from .held import HeldClaim, stand_in

HELD = -1


@dataclass(frozen=True, slots=True)
class Served:
    """What a demand stands for: a request of a seat on a node; of a held claim neither.

    ``ask`` has the number of the claim in its seat.
    """

    ask: Ask
    seat: int = HELD
    node: Node | None = None


class Draft:
    """Claims and demands with what they stand for.

    ``keys`` and ``resources`` are the claims, ``of_claim`` lists the demands of each, ``served`` tells demands apart.
    """

    def __init__(self, compiler: Compiler, ground: Ground) -> None:
        self._compiler = compiler
        self._ground = ground
        self.demands: list[Demand] = []
        self.claims: list[Claim] = []
        self.keys: list[ObjectKey] = []
        self.resources: list[ResourceClaim] = []
        self.served: list[Served] = []
        self.of_claim: dict[int, list[int]] = defaultdict(list)

    def add(self, seats: Sequence[Seat], nodes: Sequence[Sequence[Node]], held: Sequence[HeldClaim]) -> None:
        """Add the claims of seats, each with the nodes that it may go to, and those held. Raises ``FatalError``."""
        rows = [
            (key_of(claim.metadata), partial(self._claim, claim, local, seat, nodes[seat]))
            for seat, one in enumerate(seats)
            for local, claim in enumerate(one.claims)
        ]
        rows += [(one.key, partial(self._hold, one)) for one in held]
        for key, add in sorted(rows, key=itemgetter(0)):
            self.keys.append(key)
            add()

    def asks_of(self, claim: int) -> list[tuple[int, Ask]]:
        """List the asks of a claim with the numbers of their demands."""
        return [(demand, self.served[demand].ask) for demand in self.of_claim.get(claim, ())]

    def of_seat(self, seat: int) -> list[int]:
        """List the demands of a seat."""
        return [demand for demand, served in enumerate(self.served) if served.seat == seat]

    def is_held(self, claim: int) -> bool:
        """Tell whether a claim has its devices already."""
        return all(self.served[demand].seat == HELD for demand in self.of_claim[claim])

    def _claim(self, claim: ResourceClaim, local: int, seat: int, nodes: Sequence[Node]) -> None:
        """Add a claim, which is the ``local``-th of its seat."""
        compiler, number = self._compiler, len(self.claims)
        self.resources.append(claim)
        requests = []
        for request in claim.spec.devices.requests or ():
            parts = alternatives(number, request, compiler.gates)
            resolved = [resolve(number, request.name, part, compiler.classes, compiler.gates) for part in parts]
            asks = [replace(ask, claim=local) for ask in resolved]
            demands = tuple(self._demand(Served(ask, seat, node), number) for node in nodes for ask in asks)
            requests.append(Request(request.name, request.exactly is None or len(demands) > 1, demands))
        self.claims.append(Claim(tuple(requests)))

    def _demand(self, served: Served, claim: int) -> int:
        """Compile a request on a node there, then number its devices as all nodes together do."""
        index = len(self.demands)
        view = self._ground.views[served.node.metadata.name if served.node else ""]
        own = self._compiler.demands.demand(served.ask, index, view.shape)
        number = [self._ground.number_of[device.id] for device in view.devices]
        self._add(
            replace(
                own,
                claim=claim,
                candidates=tuple(sorted(number[device] for device in own.candidates)),
                traps={number[device]: failure for device, failure in own.traps.items()},
                barred=frozenset(number[device] for device in own.barred),
                amounts={number[device]: self._amounts(view, device, own, number) for device in own.amounts},
                # Whoever wants to know why devices fall looks at each node alone.
                failures=(),
            ),
            served,
        )
        return index

    def _amounts(self, view: NodeView, device: int, own: Demand, number: Sequence[int]) -> Amounts:
        rows = view.shape.capacities.rows.get(device, ())
        whole = dict(zip(rows, self._ground.whole.shape.capacities.rows.get(number[device], ()), strict=True))
        return tuple((whole[row], amount) for row, amount in own.amounts[device])

    def _hold(self, held: HeldClaim) -> None:
        """Add a claim that can only have what it has; several may have admin access to one device (DEV-1)."""
        claim = len(self.claims)
        self.resources.append(held.claim)
        requests = []
        for ask, devices in held.asks(claim):
            index = len(self.demands)
            numbers = (self._ground.number_of.get(stand_in(id_)) for id_ in devices)
            candidates = tuple(sorted(number for number in numbers if number is not None))
            count, admin = len(candidates), True
            demand = Demand(index, claim, ask.request, ask.subrequest, "", count, False, admin, candidates=candidates)
            self._add(demand, Served(ask))
            requests.append(Request(ask.request, False, (index,)))
        self.claims.append(Claim(tuple(requests)))

    def _add(self, demand: Demand, served: Served) -> None:
        self.of_claim[demand.claim].append(demand.index)
        self.demands.append(demand)
        self.served.append(served)
