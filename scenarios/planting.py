"""Claims around devices that are chosen first, so that what they ask for can be allocated."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from . import objects
from .drafts import DraftClaim
from .objects import Mapped

# The attributes of a device by name: scalars, or lists of strings.
Facts = Mapping[str, int | str | list[str]]


class Planted(NamedTuple):
    """A device that a claim is to get; ``bodies`` are ways to ask for it, the one that it satisfies last."""

    facts: Facts
    bodies: Sequence[Mapped]


class Bond(NamedTuple):
    """A constraint of a claim, and how many devices it is to hold for."""

    kind: str
    attribute: str
    size: tuple[int, int]


def claims_for(
    rng: Random, driver: str, devices: Sequence[Planted], bonds: Sequence[tuple[Bond | None, float]], name: str
) -> list[DraftClaim]:
    """Claims for all of the devices, each with one of the bonds (None: no constraint), drawn by weight."""
    left, claims = rng.sample(devices, len(devices)), list[DraftClaim]()
    kinds, weights = [bond for bond, _ in bonds], [weight for _, weight in bonds]
    while left:
        (bond,) = rng.choices(kinds, weights)
        size = rng.randint(*bond.size) if bond else rng.randint(1, 3)
        chosen = _CHOICES[bond.kind](left, bond.attribute, size) if bond else left[:size]
        left = [device for device in left if not any(device is other for other in chosen)]
        claims.append(_claim(rng, driver, chosen, bond if len(chosen) > 1 else None, f"{name}-{len(claims):02d}"))
    return claims


def _claim(rng: Random, driver: str, chosen: Sequence[Planted], bond: Bond | None, name: str) -> DraftClaim:
    constraints = [{bond.kind: f"{driver}/{bond.attribute}"}] if bond else []
    return DraftClaim(name, _requests(rng, chosen), constraints)


def _requests(rng: Random, chosen: Sequence[Planted]) -> list[Mapped]:
    """Devices that are asked for alike are one request with a count; now and then with better alternatives."""
    alike: dict[str, list[Planted]] = defaultdict(list)
    for device in chosen:
        alike[repr(device.bodies[-1])].append(device)
    requests = []
    for number, members in enumerate(alike.values()):
        bodies, count = members[0].bodies, {"count": len(members)}
        if len(bodies) > 1 and rng.random() < 0.3:
            ways = [(f"s{way}", {**body, **count}) for way, body in enumerate(bodies)]
            requests.append(objects.first_available(f"r{number}", ways))
        else:
            requests.append(objects.exactly(f"r{number}", {**bodies[-1], **count}))
    return requests


def _values(device: Planted, attribute: str) -> set[int | str]:
    value = device.facts[attribute]
    return set(value) if isinstance(value, list) else {value}


def _matching(left: Sequence[Planted], attribute: str, size: int) -> list[Planted]:
    """Devices with a value in common: the smallest of the first one's, so that the same seed gives the same."""
    common = min(_values(left[0], attribute), key=str)
    return [device for device in left if common in _values(device, attribute)][:size]


def _distinct(left: Sequence[Planted], attribute: str, size: int) -> list[Planted]:
    chosen, seen = list[Planted](), set[int | str]()
    for device in left:
        values = _values(device, attribute)
        if len(chosen) < size and not values & seen:
            chosen.append(device)
            seen |= values
    return chosen


_CHOICES: dict[str, Callable[[Sequence[Planted], str, int], list[Planted]]] = {
    "matchAttribute": _matching,
    "distinctAttribute": _distinct,
}
