"""The stages of an objective as their page defines them, in plain Python over the objects; no Problem and no model.

What was chosen is a list of ``Chosen``, in the order of claims and requests.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from drasat.models.cluster.pools import COMPLETE
from drasat.models.kubernetes.quantity import Quantity
from drasat.solver.verification.devices import capacity_amounts
from drasat.solver.verification.requests import all_requested

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def supply(cluster):
    """By kind what there is by driver and name, and how many cards or devices a driver has for it."""
    found = {kind: (Counter(), Counter()) for kind in ("counter", "capacity")}
    for slice_ in cluster.slices:
        driver = slice_.spec.driver
        for set_ in slice_.spec.shared_counters or ():
            found["counter"][1][driver] += 1
            for name, counter in (set_.counters or {}).items():
                found["counter"][0][driver, name] += Quantity.parse(counter.value).nano
        for device in slice_.spec.devices or ():
            if device.capacity and (device.allow_multiple_allocations or not device.consumes_counters):
                found["capacity"][1][driver] += 1
                for name, capacity in device.capacity.items():
                    found["capacity"][0][driver, name] += Quantity.parse(capacity.value).nano
    return found


@dataclass(frozen=True)
class Chosen:
    """A device taken for a request (``name`` or ``name/alternative``) of the claim of this number."""

    claim: int
    request: str
    device: tuple
    admin: bool


class Measures:
    """What answers for these claims on a node cost; everything beside them is as the cluster says."""

    def __init__(self, cluster, gates, node, claims):
        self.claims = claims
        self.usage = cluster.usage(gates)
        self.pools = cluster.pools(gates).pools_for(node)
        self.pool_of = {device.id: pool for pool in self.pools for device in pool.devices}
        self.devices = {device.id: device for pool in self.pools for device in pool.devices}
        self.attributes = {PCIE_ROOT} | {
            name
            for claim in claims
            for entry in claim.spec.devices.constraints or ()
            for name in (entry.match_attribute, entry.distinct_attribute)
            if name
        }
        self.supply = supply(cluster)
        self.largest = defaultdict(dict)
        for slice_ in cluster.slices:
            for device in slice_.spec.devices or ():
                for name, capacity in (device.capacity or {}).items():
                    known = self.largest[slice_.spec.driver]
                    known[name] = max(known.get(name, 0), Quantity.parse(capacity.value).nano)

    def __call__(self, stage, chosen):
        """What to compare by: a tuple."""
        return {
            "preference": self.preference,
            "soft": lambda _: (0,),
            "fragmentation": lambda picked: (self.fragmentation(picked),),
            "compact": lambda picked: (self.compact(picked),),
            "fewest-devices-opened": lambda picked: (self.opened(picked),),
            "least-consumption": lambda picked: (self.consumption(picked),),
        }[stage](chosen)

    def preference(self, chosen):
        ranks = []
        for number, claim in enumerate(self.claims):
            for request in claim.spec.devices.requests or ():
                if request.first_available:
                    names = [f"{request.name}/{option.name}" for option in request.first_available]
                    ranks.append(
                        next(names.index(one.request) for one in chosen if one.claim == number and one.request in names)
                    )
        return tuple(ranks)

    def compact(self, chosen):
        places = {("pool", self.pool_of[one.device].id) for one in chosen}
        for name in self.attributes:
            places |= {(name, self.value(one.device, name)) for one in chosen}
        return len(places)

    def opened(self, chosen):
        opened = set()
        cards = {card: amounts for pool in self.pools for card, amounts in self.cards(pool).items()}
        touched = {card for card, (total, left) in cards.items() if total != left}
        for one in chosen:
            if one.admin:
                continue
            parts = {key[:2] for key, _ in self.draws(one.device, always=True)}
            if parts:
                opened |= {card for card in parts if card not in touched and self.draws(one.device)}
            elif not (self.is_shared(one.device) and self.usage.in_use(one.device)):
                opened.add(one.device)
        return len(opened)

    def consumption(self, chosen):
        """Draws, shares after rounding, and whole devices; counters of a shareable device once."""
        total, opened = 0, set()
        for one in chosen:
            if one.admin:
                continue
            device = self.devices[one.device].device
            if self.is_shared(one.device):
                asked = dict(all_requested(self.claims[one.claim]))[one.request]
                requests = (asked.capacity.requests if asked.capacity else None) or {}
                for name, amount in capacity_amounts(device, requests, fractional=True).items():
                    total += self.weighed("capacity", one.device, name, amount)
                opened.add(one.device)
            elif self.draws(one.device, always=True):
                total += self.weighed_draws(one.device)
            else:
                for name, capacity in (device.capacity or {}).items():
                    total += self.weighed("capacity", one.device, name, Quantity.parse(capacity.value).nano)
        return total + sum(map(self.weighed_draws, opened))

    def weighed_draws(self, device):
        return sum(self.weighed("counter", device, key[-1], amount) for key, amount in self.draws(device))

    def weighed(self, kind, device, name, amount):
        """Each kind of a driver weighs alike, and a million is an average card or device."""
        totals, holders = self.supply[kind]
        own = {key: total for key, total in totals.items() if key[0] == device[0] and total}
        if amount <= 0 or (device[0], name) not in own:
            return 0
        return ceil(Fraction(amount * 1_000_000 * holders[device[0]], own[device[0], name] * len(own)))

    def fragmentation(self, chosen):
        before = self.free(())
        after = self.free({one.device for one in chosen if not one.admin})
        lost = [size**2 for device, size in before.items() if device not in after]
        groups = dict(self.groups(before))
        lost += [min(size, 46_340) ** 2 for members, size in groups.items() if not members <= after.keys()]
        return sum(lost)

    def free(self, taken):
        """Size of each device on offer once these are taken; what only opens others has no size."""
        left = self.left(taken)
        offered = {}
        for device, entry in self.devices.items():
            pool = self.pool_of[device]
            if device in self.usage.dedicated or device in taken or not entry.reachable or pool.status != COMPLETE:
                continue
            draws = self.draws(device)
            drawn_pool = [amount for key, amount in left.items() if key[0] == pool.id]
            if draws and min(drawn_pool) < 0:
                continue
            if all(amount <= left[key] for key, amount in draws) and (size := self.size(device)):
                offered[device] = size
        return offered

    def size(self, device):
        entry, driver = self.devices[device].device, device[0]
        totals = {name: Quantity.parse(one.value).nano for name, one in (entry.capacity or {}).items()}
        parts = {}
        for name, total in totals.items():
            largest = self.largest[driver][name] * len(self.largest[driver])
            parts[name] = total * 1_000_000 // largest if total > 0 else 0
        if self.is_shared(device):
            used = self.usage.consumed_on(device)
            left = {name: max(0, total - used.get(name, 0)) for name, total in totals.items()}
            return ceil(sum(parts[name] * left[name] // totals[name] for name in totals if totals[name] > 0) / 1000)
        if totals:
            return max(1, ceil(sum(parts.values()) / 1000))
        draws = self.draws(device, always=True)
        if not draws:
            return 1000
        counters = self.left((), full=True)
        cards = {key[:2] for key, _ in draws}
        rows = sum(key[:2] in cards for key in counters)
        share = sum(amount * 1_000_000 // counters[key] for key, amount in draws if counters[key] > 0)
        return min(1000, max(1, ceil(share // max(1, rows) / 1000)))

    def groups(self, free):
        for name in self.attributes:
            matching = defaultdict(list)
            for device in free:
                value = self.value(device, name)
                if value is not None:
                    matching[device[0], value].append(device)
            for devices in matching.values():
                cards = defaultdict(list)
                for device in devices:
                    cards[frozenset(key[:2] for key, _ in self.draws(device, always=True)) or device].append(device)
                if len(cards) > 1:
                    best = [max(free[device] for device in members) for members in cards.values()]
                    members = [
                        device
                        for size, members in zip(best, cards.values(), strict=True)
                        for device in members
                        if free[device] == size
                    ]
                    yield frozenset(members), sum(best)

    def value(self, device, name):
        attributes = self.devices[device].device.attributes or {}
        domain, _, identifier = name.partition("/")
        return attributes.get(name) or (attributes.get(identifier) if domain == device[0] else None)

    def is_shared(self, device):
        return bool(self.devices[device].device.allow_multiple_allocations)

    def draws(self, device, always=False):
        """Counter and amount of all that the device would draw now; ``always``: as if nobody shared it yet."""
        if not always and self.is_shared(device) and self.usage.in_use(device) and device not in self.usage.dedicated:
            return []
        return _draws(self.pool_of[device], self.devices[device].device)

    def left(self, taken, full=False):
        """What is left of each counter."""
        left = {}
        for pool in self.pools:
            for set_ in pool.counter_sets:
                for name, counter in (set_.counters or {}).items():
                    left[pool.id, set_.name, name] = Quantity.parse(counter.value).nano
            held = [] if full else [one for one in (*pool.devices, *pool.other_devices) if self.usage.in_use(one.id)]
            for one in held:
                for key, amount in _draws(pool, one.device):
                    left[key] -= amount
        for device in taken:
            for key, amount in self.draws(device):
                left[key] -= amount
        return left

    def cards(self, pool):
        """What each counter set has in all, and what is left of it."""
        states = self.left((), full=True), self.left(())
        cards = [(pool.id, set_.name) for set_ in pool.counter_sets]
        return {card: tuple([state[key] for key in state if key[:2] == card] for state in states) for card in cards}


def _draws(pool, device):
    if pool.status != COMPLETE or not pool.counter_sets:
        return []
    return [
        ((pool.id, one.counter_set, name), Quantity.parse(counter.value).nano)
        for one in device.consumes_counters or ()
        for name, counter in (one.counters or {}).items()
    ]
