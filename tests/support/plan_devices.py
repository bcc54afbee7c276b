"""Whether claims can have devices together, by trying everything; plain code over what ``plan_reading`` read."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import ceil

from support.plan_reading import amount, selects, tolerates

TOO_MANY = 200_000


class TooLargeError(Exception):
    """Trying everything would take too long."""


class Devices:
    """The devices of a cluster, with what claims hold already."""

    def __init__(self, reading, nodes, devices, measures=()):
        self.measures = [MEASURES[name] for name in measures]
        self._reading = reading
        self._nodes = {node.name: node for node in nodes}
        self._devices = devices
        self.reach = {device.id: frozenset(node.name for node in nodes if device.reached(node)) for device in devices}
        self._known = {device.id: device for device in devices}
        self.left = Counter()
        self.taken = frozenset()
        self.used = Counter()
        self.started = frozenset()
        self._hold()

    def _hold(self):
        """Take away what allocated claims have; devices that are gone hold nothing."""
        taken, started, self.left = set(), set(), Counter(self._reading.totals)
        for claim in self._reading.claims.values():
            for one in (claim.allocation or {}).get("devices", {}).get("results", ()):
                device = self._known.get((one["driver"], one["pool"], one["device"]))
                if device is None:
                    continue
                if not device.multi or device.id not in started:
                    self.left.subtract(device.draws)
                (started if "shareID" in one else taken).add(device.id)
                for name, used in one.get("consumedCapacity", {}).items():
                    self.used[device.id, name] += amount(used)
        self.taken, self.started = frozenset(taken), frozenset(started)

    @property
    def held(self):
        """Devices that somebody has a part of."""
        return self.taken | self.started

    def least(self, seats):
        """The least that the measures come to, in their order, if these claims have devices; None: they cannot.

        ``seats`` are a claim, the names of the nodes where it is used, and the attributes that its unit compares.
        """
        search = _Search(self, seats)
        return search.run(0, _State(self.taken, self.started, self.used, self.left))

    def usable(self, asked):
        """Devices that could be taken if nobody else took any, on whatever node."""
        state = _State(self.taken, self.started, self.used, self.left)
        return [one for one in self.matching(asked, frozenset()) if state.with_(one, asked) is not None]

    def share(self, device, asked):
        """What is taken of each capacity of a device that several may have."""
        return _amounts(device, asked.get("capacity", {}).get("requests", {})) if device.multi else {}

    def unused(self, device, name):
        """What is left of a capacity."""
        return amount(device.capacity[name]["value"]) - self.used[device.id, name]

    def weight(self, spec):
        """How many devices a claim asks for: of alternatives the least number, and one for All."""
        requests = (one.get("firstAvailable") or [one["exactly"]] for one in spec["devices"]["requests"])
        return sum(min(option.get("count", 1) for option in options) for options in requests)

    def capacity(self, spec, name):
        """What a claim takes of a capacity: of each request the alternative that takes least of the smallest device."""
        requests = (one.get("firstAvailable") or [one["exactly"]] for one in spec["devices"]["requests"])
        return sum(min(one.get("count", 1) * self._taken(one, name) for one in options) for options in requests)

    def _taken(self, asked, name):
        wanted = amount(asked.get("capacity", {}).get("requests", {}).get(name, 0))
        found = []
        for device in self.matching(asked, frozenset()):
            whole = amount(device.capacity[name]["value"]) if name in device.capacity else -1
            default = amount(device.capacity[name].get("requestPolicy", {}).get("default", whole)) if whole > 0 else 0
            found += [] if whole < wanted else [(wanted or default) if device.multi else whole]
        return min(found, default=wanted)

    def consumption(self, chosen, before, after):
        """What is drawn of counters and capacity from one state to the next, each kind of a driver weighing alike."""
        total = 0
        for device in {device.id: device for _, device, _ in chosen}.values():
            if device.draws and (not device.multi or device.id not in before.started):
                total += sum(self._weighed("counter", key[0], key[-1], drawn) for key, drawn in device.draws.items())
            if device.multi or not device.draws:
                for name, capacity in device.capacity.items():
                    whole, key = amount(capacity["value"]), (device.id, name)
                    used = after.used[key] - before.used[key] if device.multi else whole
                    total += self._weighed("capacity", device.id[0], name, used)
        return total

    def _weighed(self, kind, driver, name, drawn):
        if kind == "counter":
            totals, holders = Counter(), {key[:-1] for key in self._reading.totals if key[0] == driver}
            for key, total in self._reading.totals.items():
                totals[key[-1]] += total if key[0] == driver else 0
        else:
            counted = [one for one in self._devices if one.id[0] == driver and (one.multi or not one.draws)]
            totals, holders = Counter(), [one for one in counted if one.capacity]
            for one in holders:
                totals.update({key: amount(capacity["value"]) for key, capacity in one.capacity.items()})
        totals = +totals
        return ceil(Fraction(drawn * 1_000_000 * len(holders)) / (totals[name] * len(totals))) if drawn > 0 else 0

    def matching(self, asked, names):
        """Devices that all of these nodes see and the selectors want, in order."""
        cls = self._reading.classes[asked["deviceClassName"]]
        texts = [one["cel"]["expression"] for one in (*cls.get("selectors", ()), *asked.get("selectors", ()))]
        there = (one for one in self._devices if names <= self.reach[one.id])
        return [one for one in there if all(selects(text, one) for text in texts)]


class _State:
    """What is taken by now."""

    def __init__(self, taken, started, used, left):
        self.taken, self.started, self.used, self.left = taken, started, used, left

    def with_(self, device, asked):
        """The state with the device taken as well; None: it cannot be."""
        if device.id in self.taken:
            return None
        if any(not any(tolerates(one, taint) for one in asked.get("tolerations", ())) for taint in device.taints):
            return None
        amounts = _amounts(device, asked.get("capacity", {}).get("requests", {}))
        if amounts is None:
            return None
        left = self.left
        if not (device.multi and device.id in self.started):
            if any(left[key] < drawn for key, drawn in device.draws.items()):
                return None
            left = Counter(left)
            left.subtract(device.draws)
        if not device.multi:
            return _State(self.taken | {device.id}, self.started, self.used, left)
        used = Counter(self.used)
        for name, more in amounts.items():
            used[device.id, name] += more
            if used[device.id, name] > amount(device.capacity[name]["value"]):
                return None
        return _State(self.taken, self.started | {device.id}, used, left)

    def key(self, relevant, pools):
        """What later claims can see of it."""
        return (
            self.taken & relevant,
            self.started & relevant,
            tuple(sorted((key, value) for key, value in self.used.items() if key[0] in relevant)),
            tuple(sorted((key, value) for key, value in self.left.items() if key[:2] in pools)),
        )


def _amounts(device, requested):
    """What a share of the device takes of each capacity (CAP-3), None if it does not suit (CAP-2, CAP-5, CAP-6)."""
    if not requested.keys() <= device.capacity.keys():
        return None
    found = {}
    for name, capacity in device.capacity.items():
        total, policy = amount(capacity["value"]), capacity.get("requestPolicy")
        if name not in requested:
            found[name] = amount(policy["default"]) if policy else total
        else:
            found[name] = _rounded(amount(requested[name]), policy)
        if found[name] is None or found[name] > total:
            return None
    return found


def _rounded(asked, policy):
    if policy is None:
        return asked
    if "validValues" in policy:
        values = sorted(map(amount, policy["validValues"]))
        return next((value for value in values if value >= asked), None)
    range_ = policy["validRange"]
    low, step, high = amount(range_["min"]), amount(range_.get("step", 0)), amount(range_["max"])
    asked = max(asked, low)
    if step:
        asked = low + -((low - asked) // step) * step
    return asked if asked <= high else None


class _Search:
    """Serves claim after claim in every way; what comes after is remembered by what it can see."""

    def __init__(self, devices, seats):
        self._devices = devices
        self._seats = sorted(seats, key=lambda seat: (sorted(seat[1]), seat[0].key))
        self._known = {}
        self._steps = 0
        self._relevant, ids, pools = [], set(), set()
        for _, names, _ in reversed(self._seats):
            for id_, reach in devices.reach.items():
                if names <= reach:
                    ids.add(id_)
                    pools.add(id_[:2])
            self._relevant.append((frozenset(ids), frozenset(pools)))
        self._relevant.reverse()

    def run(self, place, state):
        """The least sum for the claims from this one on."""
        if place == len(self._seats):
            return (0,) * len(self._devices.measures)
        key = place, state.key(*self._relevant[place])
        if key not in self._known:
            self._known[key] = self._least(place, *self._seats[place], state)
        return self._known[key]

    def _least(self, place, claim, names, compared, state):
        best = None
        asked = claim.spec["devices"]
        for chosen, after in self._requests(asked["requests"], asked.get("constraints", ()), names, state, ()):
            rest = self.run(place + 1, after)
            if rest is None:
                continue
            own = [
                self._devices.consumption(chosen, state, after) if measure is None else measure(claim, chosen, compared)
                for measure in self._devices.measures
            ]
            total = tuple(map(int.__add__, own, rest))
            best = total if best is None else min(best, total)
            if not any(best):
                break
        return best

    def _requests(self, requests, constraints, names, state, chosen):
        if not requests:
            yield chosen, state
            return
        first, *others = requests
        options = (
            [(first["name"], first["exactly"])]
            if "exactly" in first
            else [(f"{first['name']}/{one['name']}", one) for one in first["firstAvailable"]]
        )
        for rank, (name, option) in enumerate(options):
            for after, picked in self._picks(name, rank, option, names, state):
                more = (*chosen, *picked)
                if all(_holds(one, more) for one in constraints):
                    yield from self._requests(others, constraints, names, after, more)

    def _picks(self, name, rank, option, names, state):
        self._steps += 1
        if self._steps > TOO_MANY:
            raise TooLargeError
        there = self._devices.matching(option, names)
        if option.get("allocationMode") == "All":
            fits = [one for one in there if _amounts(one, option.get("capacity", {}).get("requests", {})) is not None]
            groups = [fits] if fits else []
        else:
            usable = [one for one in there if state.with_(one, option) is not None]
            groups = combinations(usable, option.get("count", 1))
        for group in groups:
            after = state
            for device in group:
                after = after and after.with_(device, option)
            if after is not None:
                yield after, [(name, device, rank) for device in group]


def _holds(constraint, chosen):
    """Whether a constraint holds of what is chosen so far."""
    values = _values(constraint, chosen)
    if None in values:
        return False
    return len(set(values)) <= 1 if "matchAttribute" in constraint else len(set(values)) == len(values)


def _values(constraint, chosen):
    """What the devices that a constraint is about have of its attribute."""
    names = constraint.get("requests")
    attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
    about = (one for name, one, _ in chosen if not names or name in names or name.partition("/")[0] in names)
    return [device.value(attribute) for device in about]


def _preference(_claim, chosen, _compared):
    """The ranks of alternatives, each once."""
    return sum({name: rank for name, _, rank in chosen}.values())


def _soft(claim, chosen, _compared):
    """The weights of violated wishes; by pairs each unequal pair counts."""
    return sum(one["weight"] * _violations(one, chosen) for one in claim.wishes)


def _violations(wish, chosen):
    if wish.get("per") == "Pair":
        return sum(None in pair or pair[0] != pair[1] for pair in combinations(_values(wish, chosen), 2))
    return int(not _holds(wish, chosen))


def _compact(_claim, chosen, compared):
    """Pools, and values of each attribute, a missing one included."""
    attributes = {"resource.kubernetes.io/pcieRoot", *compared}
    pools = {device.id[:2] for _, device, _ in chosen}
    return len(pools) + sum(len({device.value(name) for _, device, _ in chosen}) for name in attributes)


MEASURES = {"preference": _preference, "soft": _soft, "compact": _compact, "least-consumption": None}
