"""Small clusters with claims and groups at random, and all that could be answered, by trying everything."""

from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from random import Random

from support.groups import ISLAND, group, holding
from support.objects import claim, device, draws, either, labels, node, option, partitions, pod, pool, want
from support.soft import apart, cel, near

KIND, SLOT = "d.attributes['d.x'].kind", "d.attributes['d.x'].slot"

# What an expression says of devices, each a mapping of attributes, in result order.
EXPRESSIONS = {
    f"devices.all(d, {KIND} == 'a')": lambda found: all(one["kind"] == "a" for one in found),
    f"devices.exists(d, {KIND} == 'b')": lambda found: any(one["kind"] == "b" for one in found),
    f"devices.exists_one(d, {KIND} == 'a')": lambda found: sum(one["kind"] == "a" for one in found) == 1,
    f"devices.map(d, {SLOT}).sum() % 2 == 0": lambda found: sum(one["slot"] for one in found) % 2 == 0,
    f"devices[0].{KIND[2:]} == 'a'": lambda found: found[0]["kind"] == "a",
    f"devices.map(d, {SLOT}).isSorted()": lambda found: all(
        one["slot"] <= other["slot"] for one, other in pairwise(found)
    ),
}


@dataclass
class Item:
    """A device: who sees it, what it looks like, what it draws from the counters of its pool."""

    pool: str
    name: str
    nodes: frozenset
    values: dict
    draws: bool = False
    used: bool = False

    @property
    def id(self):
        return f"{self.pool}/{self.name}"


@dataclass
class Wish:
    """An entry of a group: the kind, what it is about, its references and weight."""

    kind: str
    about: str
    requests: tuple
    weight: int | None

    @property
    def mapping(self):
        made = {"match": near, "distinct": apart}.get(self.kind)
        if made is None:
            return cel(self.about, *self.requests, weight=self.weight)
        return made(*self.requests, attribute=ISLAND, weight=self.weight)

    def covers(self, claim_, request):
        pieces = [text.split("/") for text in self.requests]
        return not pieces or any(one in ([request], [claim_, request]) for one in pieces)

    def holds(self, found):
        """Judge attributes of devices in result order."""
        if not found:
            return True
        if self.kind == "cel":
            return EXPRESSIONS[self.about](found)
        values = [one.get("island") for one in found]
        if None in values:
            return False
        return len(set(values)) == (1 if self.kind == "match" else len(values))


@dataclass
class Bond:
    """A group: its claims, wishes, and whether their nodes have one rack."""

    name: str
    claims: tuple
    wishes: list
    rack: bool


@dataclass
class Instance:
    """A cluster with units that are all tied by the first group."""

    seed: int
    items: list = field(default_factory=list)
    asked: dict = field(default_factory=dict)
    """By claim its requests: name and counts of the alternatives."""
    pods: dict = field(default_factory=dict)
    """By pod its claims, and the rack that it needs or None."""
    held: dict = field(default_factory=dict)
    """By claim the device it has, and a node or None."""

    def __post_init__(self):
        rng = Random(self.seed)
        names = [f"n{number}" for number in range(1, rng.randint(2, 4) + 1)]
        self.racks = {name: rng.choice(("x", "x", "y", None)) for name in names}
        for name in names:
            self._fill(rng, name, frozenset([name]), rng.randint(0 if len(names) > 2 else 1, 3))
        self.shared = rng.choice((None, None, "everywhere", "rack", "each"))
        if self.shared:
            self._share(rng)
        for item in self.items:
            item.used = rng.random() < 0.12
        self._ask(rng)
        self._hold(rng)
        self._tie(rng)

    def _fill(self, rng, name, nodes, count, counted=False):
        for number in range(count):
            values = {"kind": rng.choice("ab"), "slot": rng.randint(0, 2)}
            if rng.random() < 0.85:
                values["island"] = rng.choice((1, 1, 2))
            self.items.append(Item(name, f"d{number}", nodes, values, counted and rng.random() < 0.6))

    def _share(self, rng):
        self.total = rng.randint(1, 2)
        counted = self.shared == "everywhere" and rng.random() < 0.4
        everyone = frozenset(self.racks)
        nodes = everyone if self.shared != "rack" else frozenset(n for n in everyone if self.racks[n] == "x")
        self._fill(rng, "s", nodes, rng.randint(1, 2), counted)
        if self.shared == "each":
            for item in self.items:
                if item.pool == "s":
                    rack = rng.choice("xy")
                    item.nodes = frozenset(one for one in everyone if self.racks[one] == rack)

    def _ask(self, rng):
        names = "abc"[: rng.choice((1, 2, 2, 2, 3))]
        for name in names:
            requests = [("r", self._counts(rng))]
            if rng.random() < 0.25:
                requests.append(("q", [1]))
            self.asked[name] = requests
        self.pods = {f"u{name}": ((name,), None) for name in names}
        if len(names) > 2 and rng.random() < 0.3:
            self.pods = {"u1": (("a", "c"), None), "u2": (("b",), None)}
        elif len(names) > 1 and rng.random() < 0.15:
            self.pods = {
                "u1": (tuple(names[:2]), rng.choice((None, "x"))),
                **{f"u{n}": ((n,), None) for n in names[2:]},
            }
        elif rng.random() < 0.3:
            self.pods["ua"] = (("a",), rng.choice("xy"))

    def _counts(self, rng):
        return [rng.choice((2, 2, 3)), 1] if rng.random() < 0.25 else [rng.choice((1, 1, 2))]

    def _hold(self, rng):
        free = [item for item in self.items if not item.used]
        if free and rng.random() < 0.3:
            item = rng.choice(free)
            item.used = True
            self.held["h"] = item, (None if item.pool == "s" else next(iter(item.nodes)))

    def _tie(self, rng):
        everyone = (*self.asked, *self.held)
        self.bonds = [Bond("g1", everyone, self._wishes(rng, everyone, soft=0.2), rng.random() < 0.3)]
        if rng.random() < 0.4:
            some = tuple(name for name in everyone if rng.random() < 0.7) or everyone[:1]
            self.bonds.append(Bond("g2", some, self._wishes(rng, some, soft=0.6), rng.random() < 0.2))
        first = self.bonds[0]
        if not first.rack and all(wish.weight for wish in first.wishes):
            first.wishes.append(Wish("match", "", (), None))
        self.bonds = [bond for bond in self.bonds if bond.wishes or bond.rack]

    def _wishes(self, rng, claims, soft):
        return [self._wish(rng, claims, soft) for _ in range(rng.choice((0, 1, 1, 2)))]

    def _wish(self, rng, claims, soft):
        kind = rng.choice(("match", "distinct", "cel", "cel"))
        about = rng.choice(list(EXPRESSIONS)) if kind == "cel" else ""
        own = [name for name in claims if name in self.asked] or [None]
        one = rng.choice(own)
        references = [(), ("r",)] + ([(f"{one}/r",), (f"{one}/{self.asked[one][-1][0]}", f"{own[0]}/r")] if one else [])
        requests = tuple(dict.fromkeys(rng.choice(references)))
        return Wish(kind, about, requests, rng.choice((1, 3)) if rng.random() < soft else None)

    # What is given to the engine.

    def objects(self):
        """All objects but the class."""
        yield from (node(name, **({"rack": rack} if rack else {})) for name, rack in self.racks.items())
        for name in self.racks:
            own = [self._device(item) for item in self.items if item.pool == name]
            if own:
                yield pool(*own, name=name, node_name=name)
        yield from self._shared_pool()
        for number, item in enumerate(item for item in self.items if item.used):
            if all(item is not one for one, _ in self.held.values()):
                yield holding(claim(want(), name=f"other{number}"), item.id)
        for name, (item, where) in self.held.items():
            yield holding(claim(want(), name=name), item.id, on=where)
        for name, requests in self.asked.items():
            yield claim(*(self._request(*request) for request in requests), name=name)
        for name, (claims, rack) in self.pods.items():
            if len(claims) > 1 or rack:
                yield pod(*claims, name=name, node_selector={"rack": rack} if rack else None)
        for bond in self.bonds:
            entries = [wish.mapping for wish in bond.wishes]
            yield group(*bond.claims, name=bond.name, entries=entries, label="rack" if bond.rack else "")

    def _device(self, item):
        taking = [draws("set", memory=1)] if item.draws else []
        where = {}
        if self.shared == "each" and item.pool == "s":
            values = sorted({self.racks[name] for name in item.nodes} - {None})
            where = {"node_selector": labels({"rack": tuple(values or ["nowhere"])})}
        return device(item.name, *taking, **item.values, **where)

    def _shared_pool(self):
        own = [self._device(item) for item in self.items if item.pool == "s"]
        if not own:
            return
        where = {
            "everywhere": {"all_nodes": True},
            "rack": {"node_selector": labels({"rack": ("x",)})},
            "each": {"per_device_node_selection": True},
        }[self.shared]
        if any(item.draws for item in self.items):
            yield from partitions(*own, sets={"set": {"memory": self.total}}, name="s", **where)
        else:
            yield pool(*own, name="s", **where)

    def _request(self, name, counts):
        if len(counts) == 1:
            return want(name, counts[0])
        return either(name, *(option(f"o{rank}", count) for rank, count in enumerate(counts)))

    # What could be answered.

    def answers(self):
        """Yield all allocations that keep what must hold: node of each pod, devices of each claim and request."""
        seats = list(self.pods.items())
        for nodes in product(self.racks, repeat=len(seats)):
            where = {one: name for (_, (claims, _)), name in zip(seats, nodes, strict=True) for one in claims}
            suits = all(rack in (None, self.racks[name]) for (_, (_, rack)), name in zip(seats, nodes, strict=True))
            if suits and all(self._one_rack(bond, where) for bond in self.bonds if bond.rack):
                yield from self._dealt(where, sorted(self.asked), {})

    def _one_rack(self, bond, where):
        found = {self.racks[where[name]] for name in bond.claims if name in where}
        if not found:
            return True
        held = [self.held[name][1] for name in bond.claims if name in self.held]
        known = [{self.racks[one]} if one else set(self.racks.values()) for one in held]
        return len(found) == 1 and None not in found and all(found <= one for one in known)

    def _dealt(self, where, claims, chosen):
        if not claims:
            if self.fits(chosen):
                yield where, chosen
            return
        for own in self._of_claim(claims[0], where[claims[0]], chosen):
            yield from self._dealt(where, claims[1:], {**chosen, claims[0]: own})

    def _of_claim(self, name, on, chosen):
        taken = {item.id for own in chosen.values() for items in own.values() for item in items}
        free = [item for item in self._ordered() if on in item.nodes and not item.used and item.id not in taken]
        yield from self._of_requests(self.asked[name], free)

    def _of_requests(self, requests, free):
        if not requests:
            yield {}
            return
        (name, counts), *rest = requests
        for count in counts:
            for items in combinations(free, count):
                left = [item for item in free if item not in items]
                for more in self._of_requests(rest, left):
                    yield {name: items, **more}

    def _ordered(self):
        return sorted(self.items, key=lambda item: (item.pool, item.name))

    def fits(self, chosen):
        """Whether counters suffice and all that must hold does."""
        items = [item for own in chosen.values() for found in own.values() for item in found]
        drawn = sum(item.draws for item in (*items, *(item for item in self.items if item.used)))
        if any(item.draws for item in items) and drawn > self.total:
            return False
        return all(self.cost(wish, bond, chosen) == 0 for bond in self.bonds for wish in bond.wishes if not wish.weight)

    def cost(self, wish, bond, chosen):
        """What a wish costs; 1 for one that must hold and does not. One about held claims alone says nothing."""
        full = {**chosen, **{name: {"r": (item,)} for name, (item, _) in self.held.items()}}
        covered = [
            (name, item)
            for name in sorted(full)
            if name in bond.claims
            for request, items in full[name].items()
            if wish.covers(name, request)
            for item in items
        ]
        if all(name in self.held for name, _ in covered):
            return 0
        return 0 if wish.holds([item.values for _, item in covered]) else wish.weight or 1
