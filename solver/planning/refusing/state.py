"""What is left of nodes at some moment: devices that nobody holds, and room for pods."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from ....models.identity import ObjectKey
from ....models.pod_requests import Requests
from ....models.running_pods import lacking
from ....problem.in_use import Ledger
from ....problem.visible import Visible

Rooms = Mapping[str, Requests | None]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Usage of devices, and what is left of each node; None: it takes anything.

    ``alike`` says of nodes by name what they are like: those that say the same have equal devices with equal usage.
    ``keys`` are such sayings found out node by node, by position, for all questions that look at the same; ``open`` are
    the nodes that may take a wish.
    """

    ledger: Ledger
    rooms: Rooms
    alike: Mapping[str, Hashable] = field(default_factory=dict)
    keys: dict[Visible, dict[Hashable, Hashable]] = field(default_factory=dict)
    open: dict[Hashable, list[int]] = field(default_factory=dict)

    def lacks(self, node: str, requests: Requests) -> dict[str, int]:
        """What is missing on a node for these requests."""
        return lacking(requests, self.rooms.get(node))

    def without(self, claims: Iterable[ObjectKey]) -> State:
        """With what these claims hold free again."""
        return State(Ledger(self.ledger.usage.without(claims)), self.rooms)
