"""Which nodes suit a pod, whatever devices they have (NODE-2, SCHED-2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from ..models.claims import AllocationResult
from ..models.core import Node, PodSpec
from ..models.selection import Misfit, pod_fits, selector_test
from .outcome import Reason
from .reasons import misfit_reasons

_encode = msgspec.msgpack.Encoder().encode


def place_key(spec: PodSpec | None, earlier: Iterable[AllocationResult]) -> bytes:
    """Equal for pods, and claims that are allocated ``earlier``, that the same nodes suit."""
    rules = spec and (spec.node_name, spec.node_selector, spec.affinity, spec.tolerations)
    return _encode((rules, [allocation.node_selector for allocation in earlier]))


class SuitableNodes:
    """Positions of the nodes that suit a pod and its claims that are allocated ``earlier``, in order.

    A node is tested when somebody gets there, once for all who walk. Raises ``SelectorError`` at once for a claim that
    is allocated with a node selector that cannot be parsed.
    """

    def __init__(self, nodes: Sequence[Node], spec: PodSpec | None, earlier: Sequence[AllocationResult]) -> None:
        self._nodes = nodes
        self._spec = spec
        selectors = (allocation.node_selector for allocation in earlier)
        self._tests = [selector_test(selector) for selector in selectors if selector is not None]
        self._tested = 0
        self._positions: list[int] = []
        self._misfits: list[Misfit] = []

    def __iter__(self) -> Iterator[int]:
        index = 0
        while index < len(self._positions) or self._find_one():
            yield self._positions[index]
            index += 1

    def _find_one(self) -> bool:
        """Test nodes until one more suits; False if there is none."""
        while self._tested < len(self._nodes):
            misfit = self._misfit(self._nodes[self._tested])
            self._tested += 1
            if misfit is None:
                self._positions.append(self._tested - 1)
                return True
            self._misfits.append(misfit)
        return False

    def _misfit(self, node: Node) -> Misfit | None:
        """Find the first reason why a node does not suit."""
        found = pod_fits(self._spec, node) if self._spec else []
        if found:
            return found[0]
        if all(test(node) for test in self._tests):
            return None
        return Misfit("allocatedClaim", "a claim of the pod is allocated for other nodes")

    @cached_property
    def misfits(self) -> tuple[tuple[int, Misfit], ...]:
        """Positions of the others, with why; to be asked when all have been walked."""
        suited = set(self._positions)
        others = (position for position in range(self._tested) if position not in suited)
        return tuple(zip(others, self._misfits, strict=True))

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """Why the others do not suit; to be asked when all have been walked."""
        return misfit_reasons(self._misfits, len(self._nodes))
