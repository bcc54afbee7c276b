"""Which nodes slices and devices are for, and an index of that (NODE-1, POOL-1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Generic, TypeAlias, TypeVar

from ...models.core import Node, NodeSelector
from ...models.selection import node_matches
from ...models.slices import Device, ResourceSlice, ResourceSliceSpec

Located: TypeAlias = Device | ResourceSliceSpec
Item = TypeVar("Item")


def reaches(place: Located, node: Node) -> bool:
    """NODE-1 on the fields of a device or a slice."""
    if place.node_name:
        return place.node_name == node.metadata.name
    if place.all_nodes:
        return True
    return place.node_selector is not None and node_matches(place.node_selector, node)


def located(piece: ResourceSlice) -> tuple[Located, ...]:
    """Return what says where a slice is: its devices under perDeviceNodeSelection, else the slice (POOL-1)."""
    return piece.spec.devices or () if piece.spec.per_device_node_selection else (piece.spec,)


class Places(Generic[Item]):
    """Items by the nodes they may be for, so that a node need not ask all of them."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Item]] = defaultdict(list)
        self._by_label: dict[tuple[str, str], list[Item]] = defaultdict(list)
        self._labels: set[str] = set()
        self._elsewhere: list[Item] = []

    def add(self, item: Item, place: Located) -> None:
        """Add an item that is where ``place`` says; the same item may be in several places."""
        if place.node_name:
            self._by_name[place.node_name].append(item)
            return
        label, values = (None, ()) if place.all_nodes else _required(place.node_selector)
        if label is None:
            self._elsewhere.append(item)
            return
        self._labels.add(label)
        for value in values:
            self._by_label[label, value].append(item)

    def near(self, node: Node) -> dict[Item, None]:
        """All items that may be for the node, and perhaps others."""
        return dict.fromkeys(self._near(node))

    def _near(self, node: Node) -> Iterator[Item]:
        yield from self._by_name.get(node.metadata.name, ())
        yield from self._elsewhere
        labels = node.metadata.labels or {}
        for label in self._labels & labels.keys():
            yield from self._by_label.get((label, labels[label]), ())


def _required(selector: NodeSelector | None) -> tuple[str | None, tuple[str, ...]]:
    """Find a label, and values of which the selector asks for one; no label where it is not so simple."""
    terms = (selector.node_selector_terms if selector else None) or ()
    if len(terms) == 1:
        for requirement in terms[0].match_expressions or ():
            if requirement.operator == "In":
                return requirement.key, requirement.values or ()
    return None, ()
