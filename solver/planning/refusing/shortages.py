"""What ran out, in words: room, devices, nodes that suit the pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from ....models.pod_requests import written
from ...attempts import Attempt, Ending
from ...outcome import Reason
from ...proofs.wording import plural
from ...reasons import device_reasons
from .state import State
from .survey import Kind, Surveyed, Surveyor
from .wish import Wish

ROOM = "room"
UNDECIDED = "undecided"


def shortages(surveyor: Surveyor, wish: Wish, state: State, found: Surveyed) -> Iterator[Reason]:
    """Say what is missing on the nodes that suit the unit: devices where there is room, room where there are devices.

    Where no node has either, both are told.
    """
    lacking = [kind for kind in found.roomy if not kind.has_devices]
    equipped = [kind for kind in found.cramped if kind.has_devices]
    if not lacking and not equipped:
        lacking = found.cramped
    yield from _of_devices(surveyor, wish, [kind for kind in lacking if not kind.is_undecided])
    unknown = sum(len(kind.nodes) for kind in lacking if kind.is_undecided)
    if unknown:
        yield Reason(UNDECIDED, "", f"{plural(unknown, 'node')}: it was not decided in time whether devices are left")
    yield from _of_room(surveyor, wish, state, found, equipped)


def _of_room(
    surveyor: Surveyor, wish: Wish, state: State, found: Surveyed, equipped: Sequence[Kind]
) -> Iterator[Reason]:
    nodes = [node for kind in equipped or found.cramped for node in kind.nodes]
    if nodes:
        suited = sum(len(kind.nodes) for kind in (*found.roomy, *found.cramped))
        have = "have the devices, but no room" if equipped and wish.claims else "have no room"
        node, missing = least_missing(surveyor, wish, state, nodes)
        least = f"{amounts(missing)} missing on node {surveyor.name(node)}"
        yield Reason(ROOM, "", f"{len(nodes)} of {suited} nodes {have}: {least}")


def least_missing(surveyor: Surveyor, wish: Wish, state: State, nodes: Iterable[int]) -> tuple[int, Mapping[str, int]]:
    """Find the node that lacks least, by the share of what is asked for; it must be one that lacks something."""
    listed = ((node, state.lacks(surveyor.name(node), wish.requests)) for node in nodes)
    return min(listed, key=lambda one: (_share(one[1], wish), one[0]))


def _share(missing: Mapping[str, int], wish: Wish) -> Fraction:
    return sum((Fraction(amount, wish.requests[name]) for name, amount in missing.items()), Fraction())


def amounts(missing: Mapping[str, int]) -> str:
    """Amounts of resources in words."""
    return " and ".join(f"{written(name, amount)} of {name}" for name, amount in sorted(missing.items()))


def _of_devices(surveyor: Surveyor, wish: Wish, kinds: Sequence[Kind]) -> Iterator[Reason]:
    failed = surveyor.failed(kinds)
    for kind in kinds:
        if kind.attempt.ending is Ending.FATAL:
            yield _aborted(kind.attempt, wish, surveyor.name(kind.nodes[0]))
            return
    erring = failed.first_erring
    if erring is not None:
        yield Reason("expression", "", f"node {surveyor.name(erring)}: {failed[erring].error}")
        return
    yield from device_reasons(failed.report(), wish.names)


def _aborted(attempt: Attempt, wish: Wish, node: str) -> Reason:
    claim = "" if attempt.claim is None else wish.names[attempt.claim]
    return Reason(attempt.rule, claim, f"node {node}: {attempt.message}")
