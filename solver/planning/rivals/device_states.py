"""What is left of the devices that a node sees: equal nodes with equal usage are in one state."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import count

from ....models.claims import AllocationResult
from ....models.core import Node
from ....models.selection import SelectorError
from ....models.usage import Usage
from ....problem.in_use import Ledger
from ....problem.records import InUse
from ....problem.shapes import NodeView, Views
from ....problem.visible import Visible


@dataclass(frozen=True, slots=True, eq=False)
class DeviceState:
    """Devices by number, and what is held of them; ``view`` and ``usage`` are those of the first node met like this."""

    view: NodeView
    usage: Usage
    in_use: InUse


class DeviceStates:
    """Finds states; equal ones are one object. ``visible`` is what all questions together look at."""

    def __init__(self, views: Views, visible: Visible) -> None:
        self._views = views
        self._visible = visible
        self._known: dict[Hashable, DeviceState] = {}
        self._names = count()

    def view(self, node: Node) -> NodeView:
        """What a node sees: nothing where a node selector cannot be parsed (NODE-2)."""
        return self._seen(node)[0]

    def of(self, node: Node, ledger: Ledger) -> DeviceState:
        """Find the state of a node."""
        view, broken = self._seen(node)
        return self._state(view, ledger, broken=broken)

    def _seen(self, node: Node) -> tuple[NodeView, bool]:
        try:
            return self._views.of(node, self._visible), False
        except SelectorError:
            return self._views.of_pools(node, (), self._visible), True

    def after(self, state: DeviceState, made: Iterable[AllocationResult]) -> DeviceState:
        """Find the state once these allocations are there, too."""
        # Names that no claim has: what a claim of the queue holds already must stay.
        named = [(("", str(next(self._names))), allocation) for allocation in made]
        return self._state(state.view, Ledger(state.usage.plus(named)), broken=False)

    def _state(self, view: NodeView, ledger: Ledger, *, broken: bool) -> DeviceState:
        in_use = ledger.in_use(view)
        key = broken, view.shape.index, in_use.key
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = DeviceState(view, ledger.usage, in_use)
        return found
