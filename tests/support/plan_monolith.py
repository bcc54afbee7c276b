"""The best plan by one CP-SAT model: which unit is on which node, and which device serves which request.

It knows requests for a number of devices, with everything about them that is a sum: not All, and no alternatives.
"""

from collections import defaultdict
from itertools import combinations
from math import lcm

from ortools.sat.python import cp_model
from support.plan_by_force import Force


class UndecidedError(Exception):
    """The model was not solved in time."""


class Monolith(Force):
    """The same question as a model. It shares with brute force what is read, and nothing of the search."""

    def knows(self):
        """Whether there is nothing but exact numbers of devices."""
        requests = [one for _, claim, _ in self._claims() for one in claim.spec["devices"]["requests"]]
        return all("exactly" in one and one["exactly"].get("allocationMode") != "All" for one in requests)

    def _claims(self):
        """Claims without devices, each with the places of its units."""
        users = defaultdict(list)
        claims = {}
        for place, unit in enumerate(self.units):
            for claim in unit.claims:
                if not claim.allocation:
                    claims[claim.key] = claim
                    users[claim.key].append(place)
        return [(key, claim, users[key]) for key, claim in claims.items()]

    def solve(self):
        """The value of each stage. Raises ``UndecidedError``."""
        self._model = cp_model.CpModel()
        self._on = {
            (place, number): self._model.new_bool_var("")
            for place, unit in enumerate(self.units)
            for number, node in enumerate(self.nodes)
            if self._suits(unit, node)
        }
        self._placed = [self._sum(lambda key, own=place: key[0] == own) for place in range(len(self.units))]
        for placed in self._placed:
            self._model.add(placed <= 1)
        self._opened = [self._open_node(number) for number in range(len(self.nodes))]
        self._rooms()
        self._devices_taken()
        self._gangs()
        if self._budget is not None:
            self._model.add(self._scaled(self._prices(), self._opened)[0] <= self._scale * self._budget)
        return self._stages()

    def _sum(self, wanted):
        return sum(one for key, one in self._on.items() if wanted(key))

    def _open_node(self, number):
        own = [one for key, one in self._on.items() if key[1] == number]
        opened = self._model.new_bool_var("")
        self._model.add_max_equality(opened, own or [0])
        return opened

    def _rooms(self):
        for number, node in enumerate(self.nodes):
            own = {place: one for (place, on), one in self._on.items() if on == number}
            for name in {name for place in own for name in self.units[place].requests} if node.room else ():
                if name in node.room or name != "pods":
                    needs = [self.units[place].requests.get(name, 0) for place in own]
                    used, scale = _linear(needs, own.values(), node.room.get(name, 0))
                    self._model.add(used <= int(scale * node.room.get(name, 0)))

    def _devices_taken(self):
        """A variable for each request and device; claims of pods on one node only, as long as they have no devices."""
        taken, counters, shares = defaultdict(list), defaultdict(list), defaultdict(list)
        for _, claim, users in self._claims():
            used = self._used_on(users)
            chosen = []
            for request in claim.spec["devices"]["requests"]:
                picks = {device: self._pick(device, used) for device in self.devices.usable(request["exactly"])}
                self._model.add(sum(picks.values()) == request["exactly"].get("count", 1) * sum(used.values()))
                chosen += [(request["name"], device, pick) for device, pick in picks.items()]
                for device, pick in picks.items():
                    taken[device].append(pick)
                    for name, amount in self.devices.share(device, request["exactly"]).items():
                        shares[device, name].append((amount, pick))
            for constraint in claim.spec["devices"].get("constraints", ()):
                self._constrain(constraint, chosen)
        for device, picks in taken.items():
            if not device.multi:
                self._model.add_at_most_one(picks)
            held = device.multi and device.id in self.devices.started
            if device.draws and not held:
                touched = self._model.new_bool_var("")
                self._model.add_max_equality(touched, picks)
                for key, amount in device.draws.items():
                    counters[key].append((amount, touched))
        for key, drawn in counters.items():
            self._limit(drawn, self.devices.left[key])
        for (device, name), used in shares.items():
            self._limit(used, self.devices.unused(device, name))

    def _limit(self, pairs, left):
        form, scale = _linear([amount for amount, _ in pairs], [one for _, one in pairs], left)
        self._model.add(form <= int(scale * left))

    def _used_on(self, users):
        """Node by node whether a claim is used there; it is on one node at most."""
        used = {}
        for number in range(len(self.nodes)):
            own = [self._on[place, number] for place in users if (place, number) in self._on]
            if own:
                used[number] = own[0] if len(own) == 1 else self._model.new_bool_var("")
                if len(own) > 1:
                    self._model.add_max_equality(used[number], own)
        self._model.add(sum(used.values()) <= 1)
        return used

    def _pick(self, device, used):
        pick = self._model.new_bool_var("")
        seen = [one for number, one in used.items() if self.nodes[number].name in self.devices.reach[device.id]]
        self._model.add(pick <= sum(seen))
        return pick

    def _constrain(self, constraint, chosen):
        attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
        names = constraint.get("requests")
        about = [(device.value(attribute), pick) for name, device, pick in chosen if not names or name in names]
        for value, pick in about:
            if value is None:
                self._model.add(pick == 0)
        for (value, pick), (other, second) in combinations(about, 2):
            if (value == other) is ("distinctAttribute" in constraint):
                self._model.add(pick + second <= 1)

    def _gangs(self):
        for key, gang in self.reading.gangs.items():
            own = [place for place, unit in enumerate(self.units) if unit.gang == key]
            whole = len(own) + len(gang.placed)
            least = whole if gang.minimum is None else gang.minimum
            there = self._model.new_bool_var("")
            for place in own:
                self._model.add(self._placed[place] <= there)
            self._model.add(sum(self._placed[place] for place in own) >= (least - len(gang.placed)) * there)
            if gang.domain is not None:
                self._domain(gang, own)

    def _domain(self, gang, own):
        running = {node.labels.get(gang.domain) for node in self.nodes if node.name in gang.placed}
        values = {node.labels.get(gang.domain) for node in self.nodes}
        chosen = {value: self._model.new_bool_var("") for value in values - {None} if running <= {value}}
        self._model.add(sum(chosen.values()) <= 1)
        for (place, number), one in self._on.items():
            if place in own:
                self._model.add(one <= chosen.get(self.nodes[number].labels.get(gang.domain), 0))

    def _prices(self):
        return [node.price or 0 for node in self.nodes]

    def _scaled(self, coefficients, variables):
        form, self._scale = _linear(coefficients, variables, 0)
        return form, self._scale

    def _stages(self):
        self.best = []
        for place, name in enumerate(self.names):
            form, scale = self._form(place, name)
            self._model.maximize(form) if self._signs[place] > 0 else self._model.minimize(form)
            solver = cp_model.CpSolver()
            # Without this a later Ctrl-C would end the process at once.
            solver.parameters.catch_sigint_signal = False
            solver.parameters.num_workers = 1
            solver.parameters.max_deterministic_time = 20
            if solver.solve(self._model) != cp_model.OPTIMAL:
                raise UndecidedError
            reached = round(solver.objective_value)
            self._model.add(form == reached)
            self.best.append(reached / scale if reached % scale else reached // scale)
        return self.best

    def _form(self, place, name):
        if name == "cost":
            return self._scaled(self._prices(), self._opened)
        if name == "fewest-nodes":
            return sum(one for number, one in enumerate(self._opened) if number not in self.busy), 1
        if name == "spread":
            return self._spread(), 1
        return _linear([worth[place] for worth in self._worth], self._placed, 0)

    def _spread(self):
        squares = []
        for number in range(len(self.nodes)):
            count = self._model.new_int_var(0, len(self.units), "")
            self._model.add(count == self._sum(lambda key, own=number: key[1] == own))
            squares.append(self._model.new_int_var(0, len(self.units) ** 2, ""))
            self._model.add_multiplication_equality(squares[-1], [count, count])
        return sum(squares)


def _linear(coefficients, variables, limit):
    """A sum with whole coefficients, and what they were multiplied by."""
    pairs = [(coefficient, one) for coefficient, one in zip(coefficients, variables, strict=True) if coefficient]
    scale = lcm(*(getattr(number, "denominator", 1) for number in (limit, *(number for number, _ in pairs))))
    return sum(int(coefficient * scale) * one for coefficient, one in pairs), scale
