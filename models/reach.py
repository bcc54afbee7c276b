"""Which slices a node can reach, found without asking every slice (NODE-1, POOL-1, IN-6)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .core import Node, NodeSelector, NodeSelectorTerm
from .selection import NAME_FIELD, SelectorError, selector_test
from .slices import Device, ResourceSlice, ResourceSliceSpec

# The fields of NODE-1 stand on slices and on devices alike.
Located = ResourceSliceSpec | Device

# A node property and the value a selector asks of it. None as the key means the node's name.
_Anchor = tuple[str | None, str]


def reaches(located: Located, node: Node) -> bool:
    """NODE-1; raises ``SelectorError`` for a selector that cannot be parsed."""
    if located.node_name:
        return located.node_name == node.metadata.name
    if located.all_nodes:
        return True
    return located.node_selector is not None and selector_test(located.node_selector)(node)


def per_device(slice_: ResourceSlice) -> bool:
    """Whether the slice leaves the choice of nodes to its devices (DEV-4)."""
    spec = slice_.spec
    decided = spec.node_name or spec.all_nodes or spec.node_selector is not None
    return bool(spec.per_device_node_selection) and not decided


def located_parts(slice_: ResourceSlice) -> Sequence[Located]:
    """What says where the slice is: the slice, or its devices."""
    return slice_.spec.devices or () if per_device(slice_) else (slice_.spec,)


def reachable_devices(slice_: ResourceSlice, node: Node) -> tuple[bool, ...]:
    """Whether the node may use each device of a slice that leaves this to its devices (DEV-4)."""
    return tuple(reaches(device, node) for device in slice_.spec.devices or ())


class ReachIndex:
    """Positions of slices by the nodes they are for.

    A selector is looked up by a label value (or node name) that one of its ``In`` requirements asks
    for, so a node is tested against few of many selectors, and once against equal ones.
    """

    def __init__(self, slices: Sequence[ResourceSlice]) -> None:
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._everywhere: list[int] = []
        self._by_selector: dict[NodeSelector, list[int]] = defaultdict(list)
        for position, slice_ in enumerate(slices):
            self._place(position, located_parts(slice_))
        self._by_anchor: dict[_Anchor, list[NodeSelector]] = defaultdict(list)
        self._unanchored: list[NodeSelector] = []
        self._error: SelectorError | None = None
        for selector in self._by_selector:
            self._anchor(selector)
        self._anchor_keys = {key for key, _ in self._by_anchor}

    def _place(self, position: int, parts: Iterable[Located]) -> None:
        for part in parts:
            if part.node_name:
                self._append(self._by_name[part.node_name], position)
            elif part.all_nodes:
                self._append(self._everywhere, position)
            elif part.node_selector is not None:
                self._append(self._by_selector[part.node_selector], position)

    @staticmethod
    def _append(positions: list[int], position: int) -> None:
        if not positions or positions[-1] != position:
            positions.append(position)

    def _anchor(self, selector: NodeSelector) -> None:
        try:
            selector_test(selector)
        except SelectorError as error:
            self._error = self._error or error
            return
        anchors = [_term_anchors(term) for term in selector.node_selector_terms or ()]
        if not all(anchors):
            self._unanchored.append(selector)
            return
        for anchor in {anchor for term in anchors for anchor in term}:
            self._by_anchor[anchor].append(selector)

    @property
    def node_names(self) -> Iterable[str]:
        """All names of nodes that slices or devices give."""
        return self._by_name.keys()

    def positions(self, node: Node) -> list[int]:
        """The slices that are relevant for the node (POOL-1), ascending.

        Raises ``SelectorError`` if any selector of the cluster cannot be parsed, whether or not it is this node's.
        """
        if self._error:
            raise self._error
        found = {*self._by_name.get(node.metadata.name, ()), *self._everywhere}
        for selector in self._candidates(node):
            if selector_test(selector)(node):
                found.update(self._by_selector[selector])
        return sorted(found)

    def _candidates(self, node: Node) -> Iterator[NodeSelector]:
        yield from self._unanchored
        labels = node.metadata.labels or {}
        for key in self._anchor_keys:
            value = node.metadata.name if key is None else labels.get(key)
            if value is not None:
                yield from self._by_anchor.get((key, value), ())


def _term_anchors(term: NodeSelectorTerm) -> list[_Anchor]:
    """The values one ``In`` requirement of the term allows; none without such a requirement."""
    for field in term.match_fields or ():
        if field.key == NAME_FIELD and field.operator == "In":
            return [(None, value) for value in field.values or ()]
    for label in term.match_expressions or ():
        if label.operator == "In":
            return [(label.key, value) for value in label.values or ()]
    return []
