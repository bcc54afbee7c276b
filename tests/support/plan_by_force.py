"""The best plan by trying every way to put units on nodes; nothing of the package is used.

Stages: ``priority``, ``admitted`` by count, devices, a capacity or an annotation, ``cost``, ``fewest-nodes``,
``spread``, and what depends on devices: ``preference``, ``soft`` and ``compact``. Values are in the order of
``Force.names``.
"""

from collections import Counter, defaultdict
from fractions import Fraction

from support.plan_devices import MEASURES, Devices, TooLargeError
from support.plan_reading import Reading

MOST_STEPS = 60_000


class Force:
    """A question: manifests, stages, what may be bought and the budget."""

    def __init__(self, documents, stages, buy=False, budget=None, only_new=False):
        self.reading = Reading(documents)
        units = self.reading.units
        order = sorted(range(len(units)), key=lambda place: (units[place].gang or "", units[place].alike))
        self.units = [units[place] for place in order]
        self.nodes = [] if only_new else list(self.reading.nodes)
        devices = list(self.reading.devices)
        if buy:
            limits = [one["spec"].get("limit", len(units)) for one in self.reading.templates]
            more = self.reading.with_bought([min(limit, len(units)) for limit in limits])
            self.nodes += more[0]
            devices += more[1]
        self.devices = Devices(self.reading, self.nodes, devices, [name for name in stages if name in MEASURES])
        there = {node.name for node in self.reading.nodes}
        reached = [self.devices.reach[id_] & there for id_ in self.devices.held if id_ in self.devices.reach]
        held = {name for names in reached if len(names) == 1 for name in names}
        # Nodes that are in use whatever is planned: devices are held that no other node has.
        self.busy = {place for place, node in enumerate(self.nodes) if node.name in held | self.reading.busy}
        self._budget = budget
        self._remote = [device for device in devices if not device.is_local]
        self.names = [name for stage in stages for name in self._named(stage)]
        weighed = [name.partition("=")[2] for name in self.names if name.startswith("admitted=")]
        if weighed and not {"admitted", "admitted=count"} & set(self.names):
            # As many as possible of those that count nothing.
            self.names += ["admitted"] * any(not self._weight(unit, weighed[-1]) for unit in self.units)
        self._signs = [1 if name.startswith(("priority", "admitted")) else -1 for name in self.names]
        self._least, self._steps = {}, 0
        self._worth = [self._unit_worth(unit) for unit in self.units]
        self._open = {
            claim.key for unit in self.units for claim in unit.claims if claim.shared and not claim.allocation
        }
        self.best = self.plan = None

    def _named(self, stage):
        if stage != "priority":
            return [stage]
        return [f"priority={value}" for value in sorted({unit.priority for unit in self.units}, reverse=True)]

    def _unit_worth(self, unit):
        found = []
        for name in self.names:
            kind, _, what = name.partition("=")
            if kind == "priority":
                found.append(Fraction(int(unit.priority == int(what))))
            elif kind == "admitted":
                found.append(self._weight(unit, what or "count"))
            else:
                found.append(Fraction(0))
        return found

    def _weight(self, unit, what):
        if what == "count":
            return Fraction(1)
        if what == "devices":
            return Fraction(sum(self.devices.weight(claim.spec) for claim in unit.claims if not claim.allocation))
        if what.startswith("capacity:"):
            name = what.partition(":")[2]
            return Fraction(sum(self.devices.capacity(one.spec, name) for one in unit.claims if not one.allocation))
        return unit.values[what.partition(":")[2]]

    def solve(self):
        """The value of each stage, and the nodes of the units. Raises ``TooLargeError``."""
        suited = [[place for place, node in enumerate(self.nodes) if self._suits(unit, node)] for unit in self.units]
        rest = [[Fraction(0)] * len(self.names)]
        for worth in reversed(self._worth):
            rest.append([one + more for one, more in zip(rest[-1], worth, strict=True)])
        self._rest = rest[::-1]
        self._assign(suited, [])
        return self.best

    def _suits(self, unit, node):
        if not node.takes(unit) or self._lacks([unit], node):
            return False
        for claim in unit.claims:
            selector = (claim.allocation or {}).get("nodeSelector")
            if selector is not None and not _allows(selector, node):
                return False
        return True

    def _lacks(self, units, node):
        if node.room is None:
            return False
        total = sum((Counter(unit.requests) for unit in units), Counter())
        return any(used > node.room.get(name, used if name == "pods" else 0) for name, used in total.items())

    def _assign(self, suited, chosen):
        """Put the next unit on each node, and on none; equal units in the order of nodes."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooLargeError
        if not self._promising(chosen):
            return
        place = len(chosen)
        if place == len(self.units):
            self._judge(chosen)
            return
        unit = self.units[place]
        same = place and self.units[place - 1].alike == unit.alike
        least = (chosen[-1] if chosen[-1] is not None else len(self.nodes)) if same else 0
        for node in suited[place]:
            if node >= least and not self._skips(node, chosen) and self._fits([*chosen, node]):
                self._assign(suited, [*chosen, node])
        self._assign(suited, [*chosen, None])

    def _skips(self, node, chosen):
        """Of new nodes of one template the first that is not taken yet stands for the others."""
        one = self.nodes[node]
        before = [place for place in range(node) if self.nodes[place].template == one.template]
        return bool(one.template) and any(place not in chosen for place in before)

    def _promising(self, chosen):
        if self.best is None:
            return True
        most = [one + more for one, more in zip(self._values(chosen), self._rest[len(chosen)], strict=True)]
        return self._better(most)

    def _better(self, values):
        signed = [sign * value for sign, value in zip(self._signs, values, strict=True)]
        return self.best is None or signed > [sign * value for sign, value in zip(self._signs, self.best, strict=True)]

    def problem(self, chosen):
        """What is wrong with a plan, nodes in the order of ``units``; empty: nothing that is counted here."""
        for place, node in enumerate(chosen):
            if node is not None and not self._suits(self.units[place], self.nodes[node]):
                return f"{self.units[place].id} does not suit {self.nodes[node].name}"
            if node is not None and not self._fits([*chosen[:place], node]):
                return f"{self.units[place].id} does not fit {self.nodes[node].name}"
        return "" if self._gangs_hold(chosen) else "a gang is broken"

    def values(self, chosen):
        """What a plan comes to."""
        found = self._values(chosen)
        measured = iter(self._measured(chosen))
        return [
            Fraction(next(measured)) if name in MEASURES else one for name, one in zip(self.names, found, strict=True)
        ]

    def _judge(self, chosen):
        if not self._gangs_hold(chosen):
            return
        values = self.values(chosen)
        if self._better(values):
            self.best, self.plan = values, list(chosen)

    def _values(self, chosen):
        """What the stages come to, ranks of alternatives aside."""
        counts = Counter(node for node in chosen if node is not None)
        prices = sum((self.nodes[node].price or Fraction(0) for node in counts), Fraction(0))
        placed = [worth for worth, node in zip(self._worth, chosen, strict=False) if node is not None]
        found = [sum(column, Fraction(0)) for column in zip(*placed, strict=True)] or [Fraction(0)] * len(self.names)
        opened = len(counts.keys() - self.busy)
        plain = {"cost": prices, "fewest-nodes": opened, "spread": sum(count**2 for count in counts.values())}
        return [Fraction(plain.get(name, value)) for name, value in zip(self.names, found, strict=True)]

    def _fits(self, chosen):
        """Whether what is chosen so far is possible: requests, shared claims, devices, and the budget."""
        node = chosen[-1]
        there = [self.units[place] for place, other in enumerate(chosen) if other == node]
        if self._lacks(there, self.nodes[node]):
            return False
        if self._budget is not None and sum(self.nodes[one].price or 0 for one in {*chosen} - {None}) > self._budget:
            return False
        users = defaultdict(set)
        for place, other in enumerate(chosen):
            for claim in self.units[place].claims if other is not None else ():
                if claim.key in self._open:
                    users[claim.key].add(other)
        # Pods that share a claim without devices are on one node.
        if any(len(nodes) > 1 for nodes in users.values()):
            return False
        return self._asked(chosen if self._remote else [one if one == node else None for one in chosen]) is not None

    def _measured(self, chosen):
        """The least that measures come to; where no device is for several nodes each node is asked alone."""
        if self._remote:
            return self._asked(chosen)
        parts = [[one if one == node else None for one in chosen] for node in sorted({*chosen} - {None})]
        found = [self._asked(part) for part in parts]
        return [sum(column) for column in zip(*found, strict=True)] if found else [0] * len(self.devices.measures)

    def _asked(self, chosen):
        seats = {}
        for unit, node in zip(self.units, chosen, strict=False):
            for claim in unit.claims if node is not None else ():
                if not claim.allocation:
                    compared = frozenset().union(*(one.compared for one in unit.claims if not one.allocation))
                    seats.setdefault(claim.key, (claim, set(), compared))[1].add(self.nodes[node].name)
        told = Counter((unit.alike, node) for unit, node in zip(self.units, chosen, strict=False) if node is not None)
        key = frozenset(told.items())
        if key not in self._least:
            asked = [(claim, frozenset(names), compared) for claim, names, compared in seats.values()]
            self._least[key] = self.devices.least(asked)
        return self._least[key]

    def _gangs_hold(self, chosen):
        for key, gang in self.reading.gangs.items():
            own = [node for unit, node in zip(self.units, chosen, strict=True) if unit.gang == key]
            placed = [self.nodes[node] for node in own if node is not None]
            if not placed:
                continue
            if len(placed) + len(gang.placed) < (len(own) + len(gang.placed) if gang.minimum is None else gang.minimum):
                return False
            if gang.domain is not None:
                running = [node for node in self.nodes if node.name in gang.placed]
                values = {node.labels.get(gang.domain) for node in (*placed, *running)}
                if None in values or len(values) > 1:
                    return False
        return True


def _allows(selector, node):
    for term in selector["nodeSelectorTerms"]:
        fields = all(one["values"] == [node.name] for one in term.get("matchFields", ()))
        labels = all(node.labels.get(one["key"]) in one["values"] for one in term.get("matchExpressions", ()))
        if fields and labels:
            return True
    return False


def by_force(documents, stages, **options):
    """Names of the stages and the best value of each. Raises ``TooLargeError``."""
    force = Force(documents, stages, **options)
    return dict(zip(force.names, force.solve(), strict=True))
