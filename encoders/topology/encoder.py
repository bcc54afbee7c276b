"""``topology``: the devices of an entry make a shape (TOPO-1 to TOPO-4)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import chain

from ...problem.topology import TopologyCondition
from ..collapsed import Merged, MergedRelation
from ..encoder import Encoder, Signature
from ..model import AllocationModel
from .compact import post_compact
from .connected import post_connected
from .covered import Covered
from .placements import boxes, segments
from .placing import post_placements
from .runs import post_run
from .trees import post_common_node


def _sign(merged: Merged) -> Signature | None:
    conditions = tuple(dict.fromkeys(condition for _, condition in _asked(merged)))
    return partial(_sights, conditions) if conditions else None


def _sights(conditions: Iterable[TopologyCondition], device: int) -> Hashable:
    return tuple(condition.sight(device) for condition in conditions)


def _asked(merged: Merged) -> Iterator[tuple[MergedRelation, TopologyCondition]]:
    for relation in merged.relations:
        condition = relation.record.condition
        if isinstance(condition, TopologyCondition):
            yield relation, condition


def _post(model: AllocationModel) -> None:
    for relation, condition in _asked(model.merged):
        covered = Covered(model, relation, condition)
        _POSTING[_kind(condition)](covered)


def _kind(condition: TopologyCondition) -> str:
    """Name the encoding: in a Tree all shapes ask for one tree node, and on a Ring what is connected is a segment."""
    if any(places.shape == "Tree" for places in condition.places):
        return "Subtree"
    return "Segment" if condition.enumerable and condition.ask.shape == "Connected" else condition.ask.shape


def _segment(covered: Covered) -> None:
    if covered.open_ended:
        post_run(covered)
        return
    placed = (segments(places, devices, covered.sizes) for places, devices in covered.instances())
    post_placements(covered, chain.from_iterable(placed))


def _box(covered: Covered) -> None:
    ask, sizes = covered.condition.ask, covered.sizes
    placed = (boxes(places, devices, ask, sizes) for places, devices in covered.instances())
    post_placements(covered, chain.from_iterable(placed))


_POSTING: dict[str, Callable[[Covered], None]] = {
    "Segment": _segment,
    "Box": _box,
    "Connected": post_connected,
    "Compact": post_compact,
    "Subtree": post_common_node,
}

TOPOLOGY = Encoder(
    "topology",
    "chosen devices make a shape in a topology (TOPO-1, TOPO-2)",
    _post,
    _sign,
    sees="the device itself, if it has a place in a topology that an entry names; in a Tree its tree node",
)
