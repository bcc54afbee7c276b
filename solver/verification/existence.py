"""Whether claims have an allocation on a node at all: a formulation of the verifier's own.

The question is read from the manifests with the rules of this package, and has one Boolean for every request and
device: no symmetry classes, nothing collapsed, no candidates of the planner's. What is linear is a row: numbers of
devices, dedicated devices, capacities, counters, compatibility groups, equal and different values. Everything else
(expressions over devices, topologies, predicates, counters that devices give) is judged by the rules of finished
allocations, and a choice that they refuse is cut off. A model that is infeasible proves the no, for each row follows
from a rule. CP-SAT solves it without presolve and with strong linear relaxations, unlike the engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import gcd
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from ...models.formats.decode import QuantityText
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import (
    DeviceConstraint,
    DeviceRequestAllocationResult,
    RequestSpec,
    ResourceClaim,
    SemanticsOptions,
)
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId
from ...models.kubernetes.quantity import Quantity
from .claims import EntryRules
from .constraints import OPTIONS_OF_MODE, ConstraintRules, covers
from .devices import ClaimContext, CounterStock, ResultDevice, ResultDeviceRules, VerificationContext, groups_of
from .published import Finding, PoolView, PublishedDevice
from .requests import ALL, MAX_RESULTS, ClaimReading, is_admin
from .state import UNKNOWN_KIND, ExpressionTimeoutError, TypedValue, UnitUsage

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, CpSolverStatus, IntVar

Entry: TypeAlias = DeviceConstraint | extensions.Predicate


class Audit(Enum):
    """What an audit of a no came to."""

    IMPOSSIBLE = "impossible"
    """There is no allocation."""
    POSSIBLE = "possible"
    """There is one: the no was wrong."""
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class _Option:
    """An exact request, or an alternative, of a claim; ``devices`` are those it may get, ``whole``: all or nothing."""

    claim: int
    request: str
    name: str
    requested: RequestSpec
    devices: tuple[tuple[PublishedDevice, PoolView], ...]
    count: int
    whole: bool


@dataclass(frozen=True, slots=True)
class _Choice:
    """A device for an option, and the Boolean that says whether it is taken."""

    option: _Option
    entry: PublishedDevice
    view: PoolView
    taken: IntVar


class NoAllocationError(Exception):
    """A rule refuses the claims before any device is chosen."""


class NodeAudit:
    """The question whether claims fit on one node, beside what the context says is held.

    ``caller_constraints`` are entries of every claim. ``deadline`` is a reading of ``time.monotonic``.
    """

    def __init__(
        self,
        context: VerificationContext,
        claims: Sequence[ResourceClaim],
        node: Node,
        caller_constraints: Sequence[extensions.CallerConstraint] = (),
        deadline: float | None = None,
    ) -> None:
        self._context = context
        self._claims = claims
        self._node = node
        self._deadline = deadline
        self._devices = context.devices
        self._values = ConstraintRules(context.gates, context.expressions)
        self._entry_rules = EntryRules(context)
        self._sharing = context.gates.consumable_capacity
        self._stocks: dict[PoolView, CounterStock] = {}
        self._entries = [
            (
                *(claim.spec.devices.constraints or ()),
                *(
                    entry
                    for entry in (*extensions.annotated_entries(claim.metadata), *caller_constraints)
                    if entry.weight is None
                ),
            )
            for claim in claims
        ]

    def decide(self) -> Audit:
        """Decide the question, if there is time."""
        try:
            options = [option for number in range(len(self._claims)) for option in self._options(number)]
            return self._solve(options)
        except NoAllocationError:
            return Audit.IMPOSSIBLE
        except ExpressionTimeoutError:
            return Audit.UNDECIDED

    def _options(self, number: int) -> Iterator[_Option]:
        """Read the requests of a claim. Raises ``NoAllocationError``."""
        claim, views = self._claims[number], list(self._context.inventory.views(self._node))
        reading = ClaimReading(claim, self._context.classes, self._context.gates)
        if reading.unsupported or (reading.for_all and any(view.stops_all for view in views)):
            raise NoAllocationError
        for request in claim.spec.devices.requests or ():
            specs = {request.name: request.exactly} if request.exactly is not None else {}
            alternatives = {f"{request.name}/{one.name}": one for one in request.first_available or ()}
            found = [
                self._option(number, request.name, name, one, views) for name, one in (specs | alternatives).items()
            ]
            if not any(found):
                raise NoAllocationError
            yield from filter(None, found)

    def _option(
        self, claim: int, request: str, name: str, requested: RequestSpec, views: Sequence[PoolView]
    ) -> _Option | None:
        """Find the devices of an option; None where it cannot be chosen (PRE-7, PRE-8, SRCH-6, DEV-1 to DEV-10)."""
        whole = requested.allocation_mode == ALL
        found: list[tuple[PublishedDevice, PoolView]] = []
        for view in views:
            for entry in view.devices.values() if view.trouble is None else ():
                refusal = self._devices.unselected(entry, requested, self._node)
                if refusal is not None:
                    if whole and refusal.fatal and not self._context.errors_left_out:
                        return None
                elif self._is_usable(entry, view, requested):
                    found.append((entry, view))
                elif whole:
                    return None
        count = len(found) if whole else requested.count or 0
        if len(found) < count or (whole and not count):
            return None
        return _Option(claim, request, name, requested, tuple(found), count, whole)

    def _is_usable(self, entry: PublishedDevice, view: PoolView, requested: RequestSpec) -> bool:
        """Whether a request may get the device if nothing else of the unit is there."""
        if not is_admin(requested) and self._context.held_devices.dedicates(entry.id):
            return False
        if next(self._devices.unusable(entry, requested, self._node), None) is not None:
            return False
        return not self._draws(entry) or self._stock(view).left() is not None

    def _is_shared(self, entry: PublishedDevice) -> bool:
        return self._sharing and bool(entry.device.allow_multiple_allocations)

    def _draws(self, entry: PublishedDevice) -> bool:
        """Whether taking the device draws counters (CTR-3)."""
        if not self._context.gates.partitionable_devices or not entry.device.consumes_counters:
            return False
        return not (self._is_shared(entry) and self._context.held_devices.shares(entry.id))

    def _stock(self, view: PoolView) -> CounterStock:
        if view not in self._stocks:
            self._stocks[view] = CounterStock(view.id, view.generation, self._context.held_devices)
        return self._stocks[view]

    def _solve(self, options: Sequence[_Option]) -> Audit:
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        choices = _choices(model, options)
        rows = _AuditRows(model, choices)
        self._bound_devices(rows)
        self._bound_counters(rows)
        self._bound_groups(rows)
        for claim, entries in enumerate(self._entries):
            for entry in entries:
                self._bound_values(rows, entry, rows.covered(claim, entry))
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.cp_model_presolve, parameters.linearization_level = False, 2
        parameters.num_workers, parameters.random_seed = 1, _SEED
        # The solver would not give Ctrl-C back.
        parameters.catch_sigint_signal = False
        while True:
            left = _LONGEST_RUN if self._deadline is None else self._deadline - monotonic()
            if left <= 0:
                return Audit.UNDECIDED
            parameters.max_time_in_seconds = left
            status = _run(solver, model)
            if status == cp_model.INFEASIBLE:
                return Audit.IMPOSSIBLE
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return Audit.UNDECIDED
            taken = [one for one in choices if solver.boolean_value(one.taken)]
            refused = self._refused(rows, taken)
            if refused is None:
                return Audit.POSSIBLE
            # What is refused is these devices together, no more and no fewer.
            model.add_bool_or([~one.taken if solver.boolean_value(one.taken) else one.taken for one in refused])

    def _bound_devices(self, rows: _AuditRows) -> None:
        """DEV-1, CAP-6: who has a device alone, and what shares of it consume."""
        for own in rows.by_device().values():
            if self._is_shared(own[0].entry):
                self._bound_capacity(rows, own)
                continue
            others = [one for one in own if not is_admin(one.option.requested)]
            rows.at_most_one(others)
            for claim in {one.option.claim for one in own}:
                rows.at_most_one([one for one in own if one.option.claim == claim])
                # Admin access to what an earlier claim of the unit has is free, not the other way round.
                later = [one for one in others if one.option.claim > claim]
                earlier = [one for one in own if one.option.claim == claim and is_admin(one.option.requested)]
                for one in earlier:
                    rows.at_most_one([one, *later])

    def _bound_capacity(self, rows: _AuditRows, own: Sequence[_Choice]) -> None:
        offered = own[0].entry.device.capacity or {}
        drawn: dict[str, list[tuple[_Choice, int]]] = defaultdict(list)
        for one in own:
            amounts = self._devices.amounts(one.entry, one.option.requested)
            for name, amount in amounts.items() if not isinstance(amounts, Finding) else ():
                drawn[name].append((one, amount))
        for name, parts in drawn.items():
            left = Quantity.parse(offered[name].value).nano - self._context.held_devices.consumed(own[0].entry.id, name)
            rows.at_most(parts, left)

    def _bound_counters(self, rows: _AuditRows) -> None:
        """CTR-2, CTR-3: no pool's counters are overdrawn; pools where devices give are left to the judges."""
        for view, own in rows.by_pool().items():
            drawing = [one for one in own if self._draws(one.entry)]
            left = self._stock(view).left() if drawing else None
            if left is None or any(amount < 0 for one in view.generation.consumers for _, amount in one.consumption):
                continue
            drawn: dict[tuple[str, str], list[tuple[IntVar, int]]] = defaultdict(list)
            for same in rows.by_device(drawing).values():
                entry = same[0].entry
                takers = [rows.any_of(same)] if self._is_shared(entry) else [one.taken for one in same]
                for key, amount in entry.consumption:
                    drawn[key] += [(taker, amount) for taker in takers]
            for key, parts in drawn.items():
                rows.at_most_of(parts, left[key])

    def _bound_groups(self, rows: _AuditRows) -> None:
        """GRP-2, GRP-3: what is taken of a counter set has a group in common, also with what is held."""
        for view, own in rows.by_pool().items():
            sets: dict[str, list[tuple[_Choice, frozenset[str]]]] = defaultdict(list)
            for one in own:
                for taken in (one.entry.device.consumes_counters or ()) if self._draws(one.entry) else ():
                    sets[taken.counter_set].append((one, groups_of(taken)))
            for name, members in sets.items():
                common = self._stock(view).common_groups(name)
                rows.one_in_common([(one, groups if common is None else groups & common) for one, groups in members])

    def _bound_values(self, rows: _AuditRows, entry: Entry, own: Sequence[_Choice]) -> None:
        """CON-2 to CON-9, SEM-2 to SEM-5, as far as they are rows."""
        if isinstance(entry, extensions.Predicate) or not (entry.match_attribute or entry.distinct_attribute):
            return
        matching, attribute = entry.match_attribute is not None, entry.match_attribute or entry.distinct_attribute or ""
        valued: list[tuple[_Choice, TypedValue]] = []
        for one in own:
            value = self._values.value(attribute, one.entry, one.option.requested)
            if value is None or isinstance(value, Finding) or (not matching and value[0] == UNKNOWN_KIND):
                rows.refuse(one)
            else:
                valued.append((one, value))
        semantics = entry.match_semantics or entry.distinct_semantics or entry.semantics
        mode = semantics.mode if semantics is not None else ("" if self._context.gates.list_attributes else "scalars")
        if mode == "scalars" or mode in ("Identical", "AllDistinct"):
            # As a whole; lists that count as sets are told apart by the judges alone.
            tokens = [(one, frozenset({_token(value, mode)})) for one, value in valued]
        else:
            tokens = [(one, frozenset((value[0], element) for element in value[1])) for one, value in valued]
        if semantics is None:
            (rows.one_in_common if matching else rows.no_two_share)(tokens)
            return
        if (mode, matching) not in OPTIONS_OF_MODE or not self._context.gates.list_attributes:
            return
        given = getattr(semantics.options, OPTIONS_OF_MODE[mode, matching], None) or SemanticsOptions()
        plain = not given.coerce_scalar_to_list and given.list_mode != "Set"
        if mode in ("NonEmptyIntersection", "Identical") and (plain or mode == "NonEmptyIntersection"):
            rows.one_in_common(tokens)
        elif mode == "PairwiseDisjoint" or (mode == "AllDistinct" and plain):
            rows.no_two_share(tokens)

    def _refused(self, rows: _AuditRows, taken: Sequence[_Choice]) -> Sequence[_Choice] | None:
        """Find choices of which the rules refuse exactly what is taken; None: they refuse nothing."""
        usage = UnitUsage(self._context.held_devices)
        judges = ResultDeviceRules(self._context)
        for number, one in enumerate(taken):
            amounts = self._devices.amounts(one.entry, one.option.requested)
            consumed = {} if isinstance(amounts, Finding) else amounts
            result = _result(number, one, consumed if self._is_shared(one.entry) else None)
            device = ResultDevice(result, one.entry, one.view, one.option.requested)
            context = ClaimContext(self._node, usage, one.option.claim)
            if any(finding.rule not in _COPIED for finding in judges.findings(device, context)):
                return rows.choices
        held = {id(one) for one in taken}
        for claim, entries in enumerate(self._entries):
            for entry in entries:
                scope = rows.covered(claim, entry)
                members = [(one.entry, one.option.requested) for one in scope if id(one) in held]
                if members and next(self._entry_rules.findings(entry, members, self._node), None) is not None:
                    return scope
        return None


def _run(solver: CpSolver, model: CpModel) -> CpSolverStatus:
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


# What results repeat of requests and devices; there is no claim yet that would say it.
_COPIED = frozenset({"RES-2"})
_SEED = 20_011
# Of one run, in seconds, where there is no limit.
_LONGEST_RUN = 3600.0


def _token(value: TypedValue, mode: str) -> tuple[object, ...]:
    kind, elements, is_list = value
    return (kind, elements) if mode == "scalars" else (kind, elements, is_list)


def _result(number: int, one: _Choice, consumed: Mapping[str, int] | None) -> DeviceRequestAllocationResult:
    """A result as far as the judges of devices read it."""
    driver, pool, device = one.entry.id
    shares: dict[str, QuantityText] | None = (
        None if consumed is None else {name: str(Quantity.from_nano(amount)) for name, amount in consumed.items()}
    )
    return DeviceRequestAllocationResult(
        request=one.option.name,
        driver=driver,
        pool=pool,
        device=device,
        share_id=None if consumed is None else str(UUID(int=number + 1)),
        consumed_capacity=shares,
    )


def _choices(model: CpModel, options: Sequence[_Option]) -> list[_Choice]:
    """Make the Booleans: one option of each request, and as many devices of it as it asks for (PRE-7, PRE-11)."""
    choices: list[_Choice] = []
    by_request: dict[tuple[int, str], list[IntVar]] = defaultdict(list)
    for option in options:
        chosen = model.new_bool_var("")
        by_request[option.claim, option.request].append(chosen)
        own = [_Choice(option, entry, view, model.new_bool_var("")) for entry, view in option.devices]
        model.add(sum(one.taken for one in own) == option.count * chosen)
        choices += own
    for alternatives in by_request.values():
        model.add_exactly_one(alternatives)
    for claim in {option.claim for option in options}:
        model.add(sum(one.taken for one in choices if one.option.claim == claim) <= MAX_RESULTS)
    return choices


class _AuditRows:
    """The rows over the choices."""

    def __init__(self, model: CpModel, choices: Sequence[_Choice]) -> None:
        self._model = model
        self.choices = choices

    def covered(self, claim: int, entry: Entry) -> list[_Choice]:
        """The choices that an entry of a claim covers (CON-1)."""
        return [one for one in self.choices if one.option.claim == claim and covers(entry, one.option.name)]

    def by_device(self, choices: Sequence[_Choice] | None = None) -> dict[DeviceId, list[_Choice]]:
        """The choices of each device."""
        found: dict[DeviceId, list[_Choice]] = defaultdict(list)
        for one in self.choices if choices is None else choices:
            found[one.entry.id].append(one)
        return found

    def by_pool(self) -> dict[PoolView, list[_Choice]]:
        """The choices of each pool."""
        found: dict[PoolView, list[_Choice]] = defaultdict(list)
        for one in self.choices:
            found[one.view].append(one)
        return found

    def refuse(self, one: _Choice) -> None:
        """The device is not taken for this option."""
        self._model.add(one.taken == 0)

    def at_most_one(self, choices: Sequence[_Choice]) -> None:
        """No two of the choices are taken."""
        if len(choices) > 1:
            self._model.add_at_most_one(one.taken for one in choices)

    def any_of(self, choices: Sequence[_Choice]) -> IntVar:
        """A Boolean that is true if one of the choices is taken."""
        found = self._model.new_bool_var("")
        self._model.add_max_equality(found, [one.taken for one in choices])
        return found

    def at_most(self, parts: Sequence[tuple[_Choice, int]], left: int) -> None:
        """What the choices take is no more than is left."""
        self.at_most_of([(one.taken, amount) for one, amount in parts], left)

    def at_most_of(self, parts: Sequence[tuple[IntVar, int]], left: int) -> None:
        """A row in units that the amounts have in common, so that the solver's integers hold it.

        Amounts beyond these are left out of the row, which then says less. Where nothing is left at all, a share of
        nothing is too much as well.
        """
        for taken, amount in parts:
            if amount > left:
                self._model.add(taken == 0)
        unit = gcd(*(amount for _, amount in parts)) or 1
        small = [(taken, amount // unit) for taken, amount in parts if amount <= left and amount // unit < _LARGEST]
        if small:
            self._model.add(sum(amount * taken for taken, amount in small) <= min(left // unit, _LARGEST * len(small)))

    def one_in_common(self, tokens: Sequence[tuple[_Choice, frozenset[object]]]) -> None:
        """All that is taken has one of its tokens in common."""
        chosen = {token: self._model.new_bool_var("") for token in dict.fromkeys(t for _, own in tokens for t in own)}
        if chosen:
            self._model.add_exactly_one(chosen.values())
        for one, own in tokens:
            self._model.add_bool_or([~one.taken, *(chosen[token] for token in own)])

    def no_two_share(self, tokens: Sequence[tuple[_Choice, frozenset[object]]]) -> None:
        """No two of what is taken have a token in common, and all have one (CON-8)."""
        holders: dict[object, list[_Choice]] = defaultdict(list)
        for one, own in tokens:
            if not own:
                self.refuse(one)
            for token in own:
                holders[token].append(one)
        for same in holders.values():
            self.at_most_one(same)


# The largest coefficient: sums of as many as there are devices stay within 64 bits.
_LARGEST = 1 << 40
