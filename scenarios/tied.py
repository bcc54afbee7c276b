"""Claims tied by matchAttribute that a search answers by trying nearly every combination of devices."""

from collections.abc import Iterator, Sequence

from . import objects
from .drafts import DraftClaim
from .objects import AttributeValue, Mapped
from .single import DRIVER, LISTS_PER_SLICE, single_node

_GROUP = f"{DRIVER}/group"
_LINKS = f"{DRIVER}/links"


def tied_claims(claims: int, *, groups: int = 16, members: int = 8, size: int = 4) -> list[Mapped]:
    """A pod with claims of ``size`` devices of one group each, on groups of ``members`` devices.

    A group serves ``members // size`` claims; a search for one claim more tries the groups in every order.
    """
    devices = [_device(index, {"group": index // members}) for index in range(groups * members)]
    asked = [DraftClaim(f"claim-{number:02d}", [_request(0, size)], [_tie(_GROUP)]) for number in range(claims)]
    return single_node(devices, asked)


def tied_requests(counts: Sequence[int], *, requests: int = 4, size: int = 4) -> list[Mapped]:
    """Requests of ``size`` devices each, all of one group; ``counts`` are the devices of each group."""
    groups = [group for group, count in enumerate(counts) for _ in range(count)]
    devices = [_device(index, {"group": group}) for index, group in enumerate(groups)]
    return single_node(devices, [DraftClaim("tied", _requests(requests, size), [_tie(_GROUP)])])


def tied_lists(requests: int = 32, *, values: int = 47, fits: bool = True) -> list[Mapped]:
    """Requests of one device each that share a value of a list, on twice as many devices.

    Every list has ``values`` values. Of the first half of the devices all but any one share a value, so that a search
    tries them in every order; all of them share none. The second half is as bad, but that a value is in all of its
    lists if ``fits``.
    """
    lists = [*_near_misses("a", requests, values), *_near_misses("b", requests, values, common=fits)]
    devices = [_device(index, {"links": links}) for index, links in enumerate(lists)]
    asked = [DraftClaim("tied", _requests(requests, 1), [_tie(_LINKS)])]
    return single_node(devices, asked, per_slice=LISTS_PER_SLICE)


def _near_misses(prefix: str, lists: int, values: int, *, common: bool = False) -> Iterator[list[str]]:
    """Lists of which each lacks one value that all others have; the rest of a list is its own, or common to all."""
    for own in range(lists):
        made = [f"{prefix}-{number}" for number in range(lists) if number != own]
        made += [f"{prefix}-all"] if common else []
        yield made + [f"{prefix}-{own}-{number}" for number in range(values - len(made))]


def _device(index: int, attributes: dict[str, AttributeValue]) -> Mapped:
    return objects.device(f"gpu-{index:03d}", {"index": index, **attributes})


def _request(number: int, count: int) -> Mapped:
    return objects.exactly(f"r{number:02d}", objects.wanted("gpu", count=count))


def _requests(requests: int, count: int) -> list[Mapped]:
    return [_request(number, count) for number in range(requests)]


def _tie(attribute: str) -> Mapped:
    return {"matchAttribute": attribute}
