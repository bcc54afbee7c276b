"""The CP-SAT models of an audit: one Boolean for every request and device, or numbers of a bundle, and the rows.

CP-SAT solves it without presolve and with strong linear relaxations, unlike the engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, isfinite, lcm
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ...models.kubernetes.meta import DeviceId
from .constraints import Entry, covers
from .offers import DeviceOption
from .published import PoolView, PublishedDevice
from .requests import MAX_RESULTS

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, CpSolverStatus, IntVar


@dataclass(frozen=True, slots=True)
class Choice:
    """A device for an option, and the Boolean that says whether it is taken."""

    option: DeviceOption
    entry: PublishedDevice
    view: PoolView
    taken: IntVar


def audit_solver(deadline: float | None) -> CpSolver | None:
    """A solver that ends by a reading of ``time.monotonic``; None where it is past."""
    from ortools.sat.python import cp_model

    left = _LONGEST_RUN if deadline is None else deadline - monotonic()
    if left <= 0:
        return None
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.cp_model_presolve, parameters.linearization_level = False, 2
    parameters.num_workers, parameters.random_seed = 1, _SEED
    parameters.max_time_in_seconds = left
    # The solver would not give Ctrl-C back.
    parameters.catch_sigint_signal = False
    return solver


_SEED = 20_011
# Of one run, in seconds, where there is no limit.
_LONGEST_RUN = 3600.0


def run_audit(solver: CpSolver, model: CpModel) -> CpSolverStatus:
    """Solve in a thread of its own, so that Ctrl-C ends the wait."""
    found: list[CpSolverStatus] = []
    done = Event()

    def solve() -> None:
        try:
            found.append(solver.solve(model))
        finally:
            done.set()

    Thread(target=solve, daemon=True).start()
    try:
        while not done.wait(1.0):
            pass
    except KeyboardInterrupt:
        solver.stop_search()
        raise
    return found[0]


def make_choices(model: CpModel, options: Sequence[DeviceOption], asked: IntVar | None = None) -> list[Choice]:
    """Make the Booleans: one option of each request, and as many devices of it as it asks for (PRE-7, PRE-11).

    ``asked`` says whether the claims are to have devices at all; None: they are.
    """
    choices: list[Choice] = []
    by_request: dict[tuple[int, str], list[IntVar]] = defaultdict(list)
    for option in options:
        chosen = model.new_bool_var("")
        by_request[option.claim, option.request].append(chosen)
        own = [Choice(option, entry, view, model.new_bool_var("")) for entry, view in option.devices]
        model.add(sum(one.taken for one in own) == option.count * chosen)
        choices += own
    for alternatives in by_request.values():
        if asked is None:
            model.add_exactly_one(alternatives)
        else:
            model.add(sum(alternatives) == asked)
    for claim in {option.claim for option in options}:
        model.add(sum(one.taken for one in choices if one.option.claim == claim) <= MAX_RESULTS)
    return choices


class AuditRows:
    """The rows over the choices."""

    def __init__(self, model: CpModel, choices: Sequence[Choice]) -> None:
        self._model = model
        self.choices = choices

    def covered(self, claim: int, entry: Entry) -> list[Choice]:
        """The choices that an entry of a claim covers (CON-1)."""
        return [one for one in self.choices if one.option.claim == claim and covers(entry, one.option.name)]

    def by_device(self, choices: Sequence[Choice] | None = None) -> dict[DeviceId, list[Choice]]:
        """The choices of each device."""
        found: dict[DeviceId, list[Choice]] = defaultdict(list)
        for one in self.choices if choices is None else choices:
            found[one.entry.id].append(one)
        return found

    def by_pool(self) -> dict[PoolView, list[Choice]]:
        """The choices of each pool."""
        found: dict[PoolView, list[Choice]] = defaultdict(list)
        for one in self.choices:
            found[one.view].append(one)
        return found

    def refuse(self, one: Choice) -> None:
        """The device is not taken for this option."""
        self._model.add(one.taken == 0)

    def at_most_one(self, choices: Sequence[Choice]) -> None:
        """No two of the choices are taken."""
        if len(choices) > 1:
            self._model.add_at_most_one(one.taken for one in choices)

    def any_of(self, choices: Sequence[Choice]) -> IntVar:
        """A Boolean that is true if one of the choices is taken."""
        found = self._model.new_bool_var("")
        self._model.add_max_equality(found, [one.taken for one in choices])
        return found

    def at_most(self, parts: Sequence[tuple[Choice, int]], left: int) -> None:
        """What the choices take is no more than is left."""
        self.at_most_of([(one.taken, amount) for one, amount in parts], left)

    def at_most_of(self, parts: Sequence[tuple[IntVar, int]], left: int) -> None:
        """What is taken is no more than is left."""
        post_at_most(self._model, parts, left)

    def one_in_common(self, tokens: Sequence[tuple[Choice, frozenset[object]]]) -> None:
        """All that is taken has one of its tokens in common."""
        chosen = {token: self._model.new_bool_var("") for token in dict.fromkeys(t for _, own in tokens for t in own)}
        if chosen:
            self._model.add_exactly_one(chosen.values())
        for one, own in tokens:
            self._model.add_bool_or([~one.taken, *(chosen[token] for token in own)])

    def no_two_share(self, tokens: Sequence[tuple[Choice, frozenset[object]]]) -> None:
        """No two of what is taken have a token in common, and all have one (CON-8)."""
        holders: dict[object, list[Choice]] = defaultdict(list)
        for one, own in tokens:
            if not own:
                self.refuse(one)
            for token in own:
                holders[token].append(one)
        for same in holders.values():
            self.at_most_one(same)


def post_at_most(model: CpModel, parts: Sequence[tuple[IntVar, int]], left: int) -> None:
    """Post a row in units that the amounts have in common, so that the solver's integers hold it.

    Amounts beyond these are left out of the row, which then says less. Where nothing is left at all, a share of nothing
    is too much as well.
    """
    for taken, amount in parts:
        if amount > left:
            model.add(taken == 0)
    unit = gcd(*(amount for _, amount in parts)) or 1
    small = [
        (taken, amount // unit) for taken, amount in parts if amount <= left and amount // unit < LARGEST_COEFFICIENT
    ]
    if small:
        most = sum(amount * max(taken.proto.domain) for taken, amount in small)
        model.add(sum(amount * taken for taken, amount in small) <= min(left // unit, most))


def post_apart(model: CpModel, counts: Sequence[tuple[IntVar, int]], pairs: Sequence[tuple[int, int]]) -> None:
    """Post rows for pairs of numbers that say which of the counts, with their largest values, are not of one node."""
    some = {number: model.new_bool_var("") for number in {one: None for pair in pairs for one in pair}}
    for number, there in some.items():
        count, most = counts[number]
        model.add(count <= most * there)
    for one, other in pairs:
        if one == other:
            model.add(counts[one][0] <= 1)
        else:
            model.add_at_most_one(some[one], some[other])


# Sums of as many as there are devices stay within 64 bits.
LARGEST_COEFFICIENT = 1 << 40

Amounts = tuple[tuple[Hashable, int], ...]


class BundleUse(NamedTuple):
    """Devices of a group that a request may take: what of each one's capacities, and what it pays for each.

    ``tokens`` are those that relations of the claim compare, by the number of the relation.
    """

    group: int
    amounts: Amounts
    price: Fraction
    tokens: tuple[tuple[int, int], ...]
    admin: bool


class BundleAlternative(NamedTuple):
    """So many devices of groups for one request; ``whole``: all of them. ``price`` is paid for choosing it."""

    needed: int
    whole: bool
    uses: tuple[BundleUse, ...]
    price: Fraction


class KindFace(NamedTuple):
    """A kind of unit: at most how many there are, what one needs, and the alternatives of each request.

    ``relations`` say of what is compared whether it has to be equal, or different.
    """

    most: int
    needs: Amounts
    requests: tuple[tuple[BundleAlternative, ...], ...]
    relations: tuple[bool, ...]


class GroupFace(NamedTuple):
    """Devices that no rule tells apart: their number, who may hold them at once, and what each draws of counters.

    ``left`` is what is left of the capacities of a shared one.
    """

    size: int
    shared: bool
    draws: Amounts
    left: Amounts


class NodeFace(NamedTuple):
    """All that counts of a node for its most valuable bundle; equal for nodes that are alike.

    Of kinds that are ``apart`` no two units are there.
    """

    room: Amounts
    counters: Amounts
    groups: tuple[GroupFace, ...]
    kinds: tuple[KindFace, ...]
    apart: tuple[tuple[int, int], ...] = ()


def most_valuable(face: NodeFace, worth: Sequence[Fraction], deadline: float | None) -> Fraction | None:
    """Bound what a bundle of the node is worth, units of its kinds being worth so much; None: there is no time."""
    from ortools.sat.python import cp_model

    solver = audit_solver(deadline)
    if solver is None:
        return None
    model = cp_model.CpModel()
    built = _BundleModel(model, face)
    prices = [(variable, price) for variable, price in built.paid if price]
    fractions = [*worth, *(price for _, price in prices)]
    scale = lcm(*(one.denominator for one in fractions))
    largest = max(fractions, default=Fraction(0))
    if largest * scale > LARGEST_COEFFICIENT:
        scale = max(1, int(LARGEST_COEFFICIENT / largest))
    # Rounded so that nothing is worth less.
    gains = [(variable, ceil(one * scale)) for variable, one in zip(built.kinds, worth, strict=True)]
    costs = [(variable, floor(price * scale)) for variable, price in prices]
    model.maximize(sum(value * one for one, value in gains) - sum(value * one for one, value in costs))
    status = run_audit(solver, model)
    if status == cp_model.OPTIMAL:
        # The solver tells its objective in floating point, which does not hold every whole number.
        worth_of_all = sum(value * solver.value(one) for one, value in gains)
        return Fraction(worth_of_all - sum(price * solver.value(one) for one, price in costs), scale)
    if status not in (cp_model.FEASIBLE, cp_model.UNKNOWN):
        return None
    bound = solver.best_objective_bound
    return Fraction(floor(bound + max(_NOISE, abs(bound) * _ROUNDED_PART)), scale) if isfinite(bound) else None


# Bounds of whole numbers are told in floating point, which rounds large ones.
_NOISE, _ROUNDED_PART = 1e-3, 2.0**-50


class _BundleModel:
    """The rows of one node."""

    def __init__(self, model: CpModel, face: NodeFace) -> None:
        self._model = model
        self._taken: dict[int, list[IntVar]] = defaultdict(list)
        self._drawn: dict[Hashable, list[tuple[IntVar, int]]] = defaultdict(list)
        self.paid: list[tuple[IntVar, Fraction]] = []
        self._face = face
        room = dict(face.room)
        self.kinds = [model.new_int_var(0, self._most(kind, room), "") for kind in face.kinds]
        for name, left in face.room:
            needs = ((one, dict(kind.needs).get(name, 0)) for one, kind in zip(self.kinds, face.kinds, strict=True))
            post_at_most(model, [(one, amount) for one, amount in needs if amount], max(0, left))
        for count, kind in zip(self.kinds, face.kinds, strict=True):
            self._kind(count, kind)
        for number, group in enumerate(face.groups):
            if not group.shared and self._taken[number]:
                model.add(sum(self._taken[number]) <= group.size)
            for name, left in group.left:
                post_at_most(model, self._drawn[number, name], left)
        for name, left in face.counters:
            post_at_most(model, self._drawn[name], left)
        post_apart(model, [(count, kind.most) for count, kind in zip(self.kinds, face.kinds, strict=True)], face.apart)

    @staticmethod
    def _most(kind: KindFace, room: Mapping[Hashable, int]) -> int:
        return min([kind.most, *(max(0, room[name]) // amount for name, amount in kind.needs if name in room)])

    def _kind(self, count: IntVar, kind: KindFace) -> None:
        most = max(1, self._most(kind, dict(self._face.room)))
        compared: list[dict[int, list[tuple[int, IntVar]]]] = [defaultdict(list) for _ in kind.relations]
        covered: list[set[int]] = [set() for _ in kind.relations]
        for number, alternatives in enumerate(kind.requests):
            chosen = [count]
            if len(alternatives) > 1:
                chosen = [self._model.new_int_var(0, most, "") for _ in alternatives]
                self._model.add(sum(chosen) == count)
            for one, alternative in zip(chosen, alternatives, strict=True):
                self.paid += [(one, alternative.price)] if alternative.price else []
                for use, variable in self._uses(one, alternative, most):
                    for relation, token in use.tokens:
                        compared[relation][token].append((number, variable))
                        covered[relation].add(number)
        for equal, tokens, numbers in zip(kind.relations, compared, covered, strict=True):
            if equal and numbers:
                asked = {number: kind.requests[number] for number in sorted(numbers)}
                self._count_tokens(count, most, tokens, asked)
            else:
                # Of each of several different ones a unit has one at most.
                for members in tokens.values():
                    self._model.add(sum(variable for _, variable in members) <= count)

    def _uses(self, chosen: IntVar, alternative: BundleAlternative, most: int) -> Iterator[tuple[BundleUse, IntVar]]:
        """Count the devices that an alternative takes of each group."""
        variables = []
        for use in alternative.uses:
            group = self._face.groups[use.group]
            alone = not group.shared and not use.admin
            variable = self._model.new_int_var(0, group.size if alone else group.size * most, "")
            variables.append(variable)
            # Each unit takes a device once.
            self._model.add(variable <= group.size * chosen)
            if alternative.whole:
                self._model.add(variable == group.size * chosen)
            if use.price:
                self.paid.append((variable, use.price))
            if not use.admin:
                self._taken[use.group].append(variable)
                for name, amount in use.amounts if group.shared else ():
                    self._drawn[use.group, name].append((variable, amount))
                self._draw(group, variable, most)
            yield use, variable
        if not alternative.whole:
            self._model.add(sum(variables) == alternative.needed * chosen)

    def _draw(self, group: GroupFace, variable: IntVar, most: int) -> None:
        if not group.draws:
            return
        taker = variable
        if group.shared:
            taker = self._model.new_bool_var("")
            self._model.add(variable <= group.size * most * taker)
        for name, amount in group.draws:
            # Shares of one device draw once.
            self._drawn[name].append((taker, amount))

    def _count_tokens(
        self,
        count: IntVar,
        most: int,
        tokens: Mapping[int, Sequence[tuple[int, IntVar]]],
        asked: Mapping[int, Sequence[BundleAlternative]],
    ) -> None:
        """Count units by the token that their devices have in common."""
        parts = {token: self._model.new_int_var(0, most, "") for token in tokens}
        self._model.add(sum(parts.values()) == count)
        for token, members in tokens.items():
            for number, alternatives in asked.items():
                own = sum(variable for request, variable in members if request == number)
                needed = max(one.needed for one in alternatives)
                if len(alternatives) == 1:
                    self._model.add(own == needed * parts[token])
                else:
                    self._model.add(own <= needed * parts[token])
