"""The CP-SAT model of an audit: one Boolean for every request and device, and the rows over them.

CP-SAT solves it without presolve and with strong linear relaxations, unlike the engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

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


def make_choices(model: CpModel, options: Sequence[DeviceOption]) -> list[Choice]:
    """Make the Booleans: one option of each request, and as many devices of it as it asks for (PRE-7, PRE-11)."""
    choices: list[Choice] = []
    by_request: dict[tuple[int, str], list[IntVar]] = defaultdict(list)
    for option in options:
        chosen = model.new_bool_var("")
        by_request[option.claim, option.request].append(chosen)
        own = [Choice(option, entry, view, model.new_bool_var("")) for entry, view in option.devices]
        model.add(sum(one.taken for one in own) == option.count * chosen)
        choices += own
    for alternatives in by_request.values():
        model.add_exactly_one(alternatives)
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
