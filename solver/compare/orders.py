"""Orders that somebody can choose: of devices in slices, of slices in pools, of alternatives in requests.

The allocator takes pools by driver and name, the slices of a pool by name, devices as a slice lists them (POOL-11), and
alternatives as a request lists them (SRCH-4). A driver can list its devices in another order, and can put what one of
its slices has into another one. The names of pools stay, for allocations name them. Who writes a template can put its
alternatives into another order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial, prod
from random import Random
from typing import Literal, TypeAlias

import msgspec
from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import DeviceRequest, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.slices import Device, ResourceSlice
from ..verification.equal_devices import is_plain

OrderKind: TypeAlias = Literal["devices", "slices", "alternatives"]
ORDER_KINDS: tuple[OrderKind, ...] = ("devices", "slices", "alternatives")
Order: TypeAlias = tuple[int, ...]
_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True, eq=False)
class OrderedItems:
    """Items whose order can be chosen, with their names as they are listed now.

    ``places`` are what has just these items: names of slices, names of the slices of a pool, or a claim or template
    with the number of a request. Items of the same number in ``alike`` make no difference to one another.
    """

    kind: OrderKind
    names: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]
    alike: tuple[int, ...]

    @property
    def as_listed(self) -> Order:
        """The order as it is."""
        return tuple(range(len(self.names)))

    @property
    def orders(self) -> int:
        """How many orders there are that differ."""
        return factorial(len(self.alike)) // prod(map(factorial, Counter(self.alike).values()))

    def all_orders(self) -> Iterator[Order]:
        """Yield all orders that differ; items that are alike stay in their order."""
        members = [
            [place for place, one in enumerate(self.alike) if one == kind] for kind in range(max(self.alike) + 1)
        ]
        for kinds in _arrangements(Counter(self.alike), len(self.alike)):
            left = [iter(own) for own in members]
            yield tuple(next(left[kind]) for kind in kinds)

    def by_class(self, kinds: Sequence[int]) -> Order:
        """The order in which items that are alike stand together, in this order of their numbers."""
        return tuple(sorted(self.as_listed, key=lambda place: kinds.index(self.alike[place])))

    def in_turns(self) -> Order:
        """The order in which one item of each number comes after the other."""
        seen = Counter[int]()
        ranks = []
        for place, kind in enumerate(self.alike):
            ranks.append((seen[kind], place))
            seen[kind] += 1
        return tuple(place for _, place in sorted(ranks))

    def changed(self, order: Order, rng: Random) -> Order:
        """A neighbour: two items swapped, one put elsewhere, a part reversed, or all of them by class."""
        first, second = sorted(rng.sample(range(len(order)), 2))
        listed = list(order)
        change = rng.randrange(4)
        if change == 0:
            listed[first], listed[second] = listed[second], listed[first]
        elif change == 1:
            listed.insert(first, listed.pop(second)) if rng.random() < 0.5 else listed.insert(second, listed.pop(first))
        elif change == 2:
            listed[first : second + 1] = reversed(listed[first : second + 1])
        else:
            kinds = sorted(set(self.alike))
            rng.shuffle(kinds)
            return self.by_class(kinds)
        return tuple(listed)


def _arrangements(counts: Counter[int], length: int) -> Iterator[tuple[int, ...]]:
    if not length:
        yield ()
        return
    for kind in sorted(counts):
        if counts[kind]:
            rest = counts - Counter([kind])
            yield from ((kind, *behind) for behind in _arrangements(rest, length - 1))


def all_orders(choices: Sequence[OrderedItems]) -> Iterator[tuple[Order, ...]]:
    """Yield all combinations of an order for each of the choices, one at a time however many there are."""
    if not choices:
        yield ()
        return
    for order in choices[0].all_orders():
        yield from ((order, *others) for others in all_orders(choices[1:]))


def orders_of(cluster: Cluster, gates: FeatureGates, kinds: Sequence[OrderKind]) -> Iterator[OrderedItems]:
    """Yield what has an order that can be chosen. Slices with the same device names are listed in the same order."""
    for kind in kinds:
        if kind == "devices":
            yield from _device_orders(cluster, gates)
        elif kind == "slices":
            yield from _slice_orders(cluster)
        else:
            yield from _alternative_orders(cluster)


def _device_orders(cluster: Cluster, gates: FeatureGates) -> Iterator[OrderedItems]:
    usage, asked = cluster.usage(gates), _asked_text(cluster)
    groups: dict[tuple[str, ...], list[ResourceSlice]] = defaultdict(list)
    for slice_ in cluster.slices:
        devices = slice_.spec.devices or ()
        groups[slice_.spec.driver, *(device.name for device in devices)].append(slice_)
    for (driver, *names), slices in groups.items():
        numbers: dict[bytes, int] = {}
        alike = []
        for place, name in enumerate(names):
            there = [(one.spec.devices or ())[place] for one in slices]
            held = [usage.in_use((driver, one.spec.pool.name, name)) for one in slices]
            apart = [name] if cluster.taint_rules or any(held) else []
            key = _encode([apart, [_relevant(device, asked) for device in there]])
            alike.append(numbers.setdefault(key, len(numbers)))
        if len(numbers) > 1:
            places = tuple((one.metadata.name,) for one in slices)
            yield OrderedItems("devices", tuple(names), places, tuple(alike))


# What reads or looks for one attribute by its name; a name with an opening bracket behind it is a function.
_READS_ONE = re.compile(
    r"""\battributes\[[^\]]*\]\.\??[A-Za-z_]\w*\b(?!\s*\()"""
    r"""|\\*["'][^"'\\]*\\*["'] in \w+\.attributes(?:\[[^\]]*\])?(?!\s*[.\[])"""
)


def _asked_text(cluster: Cluster) -> str | None:
    """All that asks for devices, as text: attributes that it does not name make no difference.

    None where attributes can be read without their names, as by a macro or by an index that is computed.
    """
    asking = [*cluster.classes.values(), *cluster.templates.values(), *cluster.claims.values()]
    asking += [*cluster.topologies.values(), *cluster.constraint_groups.values()]
    text = " ".join(_encode(one).decode() for one in asking)
    return None if "attributes" in _READS_ONE.sub(" ", text) else text


def _relevant(device: Device, asked: str | None) -> Device:
    attributes = device.attributes or {}
    if asked is not None:
        # Others than plain ones may be unreadable, which fails every expression (CEL-3).
        attributes = {
            key: value for key, value in attributes.items() if key.rpartition("/")[2] in asked or not is_plain(value)
        }
    return structs.replace(device, name="", attributes=attributes)


def _slice_orders(cluster: Cluster) -> Iterator[OrderedItems]:
    pools: dict[tuple[str, str], list[ResourceSlice]] = defaultdict(list)
    for slice_ in cluster.slices:
        pools[slice_.spec.driver, slice_.spec.pool.name].append(slice_)
    groups: dict[tuple[tuple[str, ...], ...], list[list[ResourceSlice]]] = defaultdict(list)
    for (driver, _), own in pools.items():
        with_devices = sorted((one for one in own if one.spec.devices), key=lambda one: one.metadata.name)
        newest = max((one.spec.pool.generation for one in own), default=0)
        if len(with_devices) > 1 and all(one.spec.pool.generation == newest for one in own):
            key = tuple((driver, *(device.name for device in one.spec.devices or ())) for one in with_devices)
            groups[key].append(with_devices)
    for same in groups.values():
        names = tuple(one.metadata.name for one in same[0])
        places = tuple(tuple(one.metadata.name for one in own) for own in same)
        yield OrderedItems("slices", names, places, tuple(range(len(names))))


_Asking: TypeAlias = ResourceClaim | ResourceClaimTemplate


def _alternative_orders(cluster: Cluster) -> Iterator[OrderedItems]:
    groups: dict[bytes, list[tuple[tuple[str, ...], DeviceRequest]]] = defaultdict(list)
    asking: list[_Asking] = [*cluster.templates.values(), *cluster.claims.values()]
    for owner in asking:
        if isinstance(owner, ResourceClaim) and owner.status is not None and owner.status.allocation is not None:
            continue
        for number, request in enumerate(_spec_of(owner).devices.requests or ()):
            if len(request.first_available or ()) > 1:
                place = type(owner).__name__, *key_of(owner.metadata), str(number)
                groups[_encode(request)].append((place, request))
    for same in groups.values():
        alternatives = same[0][1].first_available or ()
        names = tuple(one.name for one in alternatives)
        yield OrderedItems("alternatives", names, tuple(place for place, _ in same), tuple(range(len(names))))


def _spec_of(owner: _Asking) -> ResourceClaimSpec:
    return owner.spec.spec if isinstance(owner, ResourceClaimTemplate) else owner.spec


def with_orders(cluster: Cluster, choices: Sequence[OrderedItems], orders: Sequence[Order]) -> Cluster:
    """The cluster with these orders; devices are ordered in their slices before slices change places."""
    slices = {one.metadata.name: one for one in cluster.slices}
    changed: dict[str, ResourceSlice] = {}
    asking: dict[tuple[str, ObjectKey], _Asking] = {}
    for choice, order in zip(choices, orders, strict=True):
        if order == choice.as_listed:
            continue
        for place in choice.places:
            if choice.kind == "devices":
                one = slices[place[0]]
                devices = one.spec.devices or ()
                spec = structs.replace(one.spec, devices=tuple(devices[number] for number in order))
                changed[place[0]] = structs.replace(one, spec=spec)
            elif choice.kind == "slices":
                specs = [changed.get(name, slices[name]).spec for name in place]
                for name, number in zip(place, order, strict=True):
                    changed[name] = structs.replace(slices[name], spec=specs[number])
            else:
                kind, namespace, name, request = place
                key = namespace, name
                owner: _Asking = cluster.templates[key] if kind == "ResourceClaimTemplate" else cluster.claims[key]
                asking[kind, key] = _reordered(asking.get((kind, key), owner), int(request), order)
    made = cluster.with_nodes((), changed.values()) if changed else cluster
    claims = [one for one in asking.values() if isinstance(one, ResourceClaim)]
    made = made.with_claims(claims) if claims else made
    templates = {key: one for (_, key), one in asking.items() if isinstance(one, ResourceClaimTemplate)}
    return made.with_claim_templates(templates) if templates else made


def _reordered(owner: _Asking, number: int, order: Order) -> _Asking:
    """The owner of a request, with its alternatives in another order."""
    spec = _spec_of(owner)
    requests = list(spec.devices.requests or ())
    alternatives = requests[number].first_available or ()
    reordered = tuple(alternatives[place] for place in order)
    requests[number] = structs.replace(requests[number], first_available=reordered)
    new = structs.replace(spec, devices=structs.replace(spec.devices, requests=tuple(requests)))
    if isinstance(owner, ResourceClaimTemplate):
        return structs.replace(owner, spec=structs.replace(owner.spec, spec=new))
    return structs.replace(owner, spec=new)
