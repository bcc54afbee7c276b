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
from enum import Enum
from typing import TYPE_CHECKING
from uuid import UUID

from ...models.formats.decode import QuantityText
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import (
    ConstraintSemantics,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    RequestSpec,
    ResourceClaim,
    SemanticsOptions,
    semantics_of,
)
from ...models.kubernetes.core import Node
from ...models.kubernetes.quantity import Quantity
from .audit_rows import AuditRows, Choice, DeviceOption, audit_solver, make_choices, run_audit
from .claims import EntryRules
from .constraints import OPTIONS_OF_MODE, ConstraintRules, Entry
from .devices import ClaimContext, CounterStock, ResultDevice, ResultDeviceRules, VerificationContext, groups_of
from .published import Finding, PoolView, PublishedDevice
from .requests import ALL, ClaimReading, is_admin
from .state import UNKNOWN_KIND, ExpressionTimeoutError, TypedValue, UnitUsage

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar


class Audit(Enum):
    """What an audit of a no came to."""

    IMPOSSIBLE = "impossible"
    """There is no allocation."""
    POSSIBLE = "possible"
    """There is one: the no was wrong."""
    UNDECIDED = "undecided"


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
        self.entries = [
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
            options = [option for number in range(len(self._claims)) for option in self.options(number)]
            return self._solve(options)
        except NoAllocationError:
            return Audit.IMPOSSIBLE
        except ExpressionTimeoutError:
            return Audit.UNDECIDED

    def options(self, number: int) -> Iterator[DeviceOption]:
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
    ) -> DeviceOption | None:
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
        return DeviceOption(claim, request, name, requested, tuple(found), count, whole)

    def _is_usable(self, entry: PublishedDevice, view: PoolView, requested: RequestSpec) -> bool:
        """Whether a request may get the device if nothing else of the unit is there."""
        if not is_admin(requested) and self._context.held_devices.dedicates(entry.id):
            return False
        if next(self._devices.unusable(entry, requested, self._node), None) is not None:
            return False
        return not self.draws(entry) or self.stock(view).left() is not None

    def is_shared(self, entry: PublishedDevice) -> bool:
        """Whether several claims may hold the device at once."""
        return self._sharing and bool(entry.device.allow_multiple_allocations)

    def amounts(self, entry: PublishedDevice, requested: RequestSpec) -> tuple[tuple[str, int], ...]:
        """What a request takes of each capacity of a device, in billionths, by name."""
        found = self._devices.amounts(entry, requested)
        return () if isinstance(found, Finding) else tuple(sorted(found.items()))

    def capacity_left(self, entry: PublishedDevice) -> tuple[tuple[str, int], ...]:
        """What is left of each capacity of a device, in billionths, by name."""
        held = self._context.held_devices
        offered = sorted((entry.device.capacity or {}).items())
        return tuple((name, Quantity.parse(one.value).nano - held.consumed(entry.id, name)) for name, one in offered)

    def draws(self, entry: PublishedDevice) -> bool:
        """Whether taking the device draws counters (CTR-3)."""
        if not self._context.gates.partitionable_devices or not entry.device.consumes_counters:
            return False
        return not (self.is_shared(entry) and self._context.held_devices.shares(entry.id))

    def stock(self, view: PoolView) -> CounterStock:
        """The counters of a pool, as they are left."""
        if view not in self._stocks:
            self._stocks[view] = CounterStock(view.id, view.generation, self._context.held_devices)
        return self._stocks[view]

    def _solve(self, options: Sequence[DeviceOption]) -> Audit:
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        choices = make_choices(model, options)
        rows = AuditRows(model, choices)
        self._bound_devices(rows)
        self._bound_counters(rows)
        self._bound_groups(rows)
        for claim, entries in enumerate(self.entries):
            for entry in entries:
                self._bound_values(rows, entry, rows.covered(claim, entry))
        while True:
            solver = audit_solver(self._deadline)
            if solver is None:
                return Audit.UNDECIDED
            status = run_audit(solver, model)
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

    def _bound_devices(self, rows: AuditRows) -> None:
        """DEV-1, CAP-6: who has a device alone, and what shares of it consume."""
        for own in rows.by_device().values():
            if self.is_shared(own[0].entry):
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

    def _bound_capacity(self, rows: AuditRows, own: Sequence[Choice]) -> None:
        drawn: dict[str, list[tuple[Choice, int]]] = defaultdict(list)
        for one in own:
            for name, amount in self.amounts(one.entry, one.option.requested):
                drawn[name].append((one, amount))
        left = dict(self.capacity_left(own[0].entry))
        for name, parts in drawn.items():
            rows.at_most(parts, left[name])

    def _bound_counters(self, rows: AuditRows) -> None:
        """CTR-2, CTR-3: no pool's counters are overdrawn; pools where devices give are left to the judges."""
        for view, own in rows.by_pool().items():
            drawing = [one for one in own if self.draws(one.entry)]
            left = self.stock(view).left() if drawing else None
            if left is None or any(amount < 0 for one in view.generation.consumers for _, amount in one.consumption):
                continue
            drawn: dict[tuple[str, str], list[tuple[IntVar, int]]] = defaultdict(list)
            for same in rows.by_device(drawing).values():
                entry = same[0].entry
                takers = [rows.any_of(same)] if self.is_shared(entry) else [one.taken for one in same]
                for key, amount in entry.consumption:
                    drawn[key] += [(taker, amount) for taker in takers]
            for key, parts in drawn.items():
                rows.at_most_of(parts, left[key])

    def _bound_groups(self, rows: AuditRows) -> None:
        """GRP-2, GRP-3: what is taken of a counter set has a group in common, also with what is held."""
        for view, own in rows.by_pool().items():
            sets: dict[str, list[tuple[Choice, frozenset[str]]]] = defaultdict(list)
            for one in own:
                for taken in (one.entry.device.consumes_counters or ()) if self.draws(one.entry) else ():
                    sets[taken.counter_set].append((one, groups_of(taken)))
            for name, members in sets.items():
                common = self.stock(view).common_groups(name)
                rows.one_in_common([(one, groups if common is None else groups & common) for one, groups in members])

    def _bound_values(self, rows: AuditRows, entry: Entry, own: Sequence[Choice]) -> None:
        """CON-2 to CON-9, SEM-2 to SEM-5, as far as they are rows."""
        relation = self.relation(entry)
        if relation is None:
            return
        valued: list[tuple[Choice, frozenset[object]]] = []
        for one in own:
            tokens = self.tokens(entry, one.entry, one.option.requested)
            if tokens is None:
                rows.refuse(one)
            else:
                valued.append((one, tokens))
        if relation == "match":
            rows.one_in_common(valued)
        elif relation == "distinct":
            rows.no_two_share(valued)

    def relation(self, entry: Entry) -> str | None:
        """What devices of an entry must be to one another, as far as it is about tokens of single devices.

        ``match``: they have one in common; ``distinct``: no two have one in common; ``value``: nothing of that kind,
        but each has a value. None: the entry is of another kind.
        """
        if isinstance(entry, extensions.Predicate) or not (entry.match_attribute or entry.distinct_attribute):
            return None
        matching = entry.match_attribute is not None
        mode, semantics = self._mode(entry)
        if semantics is None:
            return "match" if matching else "distinct"
        if (mode, matching) not in OPTIONS_OF_MODE or not self._context.gates.list_attributes:
            return "value"
        given = getattr(semantics.options, OPTIONS_OF_MODE[mode, matching], None) or SemanticsOptions()
        plain = not given.coerce_scalar_to_list and given.list_mode != "Set"
        if mode == "NonEmptyIntersection" or (mode == "Identical" and plain):
            return "match"
        return "distinct" if mode == "PairwiseDisjoint" or (mode == "AllDistinct" and plain) else "value"

    def _mode(self, entry: DeviceConstraint) -> tuple[str, ConstraintSemantics | None]:
        semantics = semantics_of(entry)
        if semantics is not None:
            return semantics.mode, semantics
        return ("" if self._context.gates.list_attributes else "scalars"), None

    def tokens(self, entry: Entry, device: PublishedDevice, requested: RequestSpec) -> frozenset[object] | None:
        """What an entry about an attribute compares of a device; None: it refuses the device."""
        if isinstance(entry, extensions.Predicate):
            return None
        matching, attribute = entry.match_attribute is not None, entry.match_attribute or entry.distinct_attribute or ""
        value = self._values.value(attribute, device, requested)
        if value is None or isinstance(value, Finding) or (not matching and value[0] == UNKNOWN_KIND):
            return None
        mode, _ = self._mode(entry)
        if mode == "scalars" or mode in ("Identical", "AllDistinct"):
            # As a whole; lists that count as sets are told apart by the judges alone.
            return frozenset({_token(value, mode)})
        return frozenset((value[0], element) for element in value[1])

    def _refused(self, rows: AuditRows, taken: Sequence[Choice]) -> Sequence[Choice] | None:
        """Find choices of which the rules refuse exactly what is taken; None: they refuse nothing."""
        usage = UnitUsage(self._context.held_devices)
        judges = ResultDeviceRules(self._context)
        for number, one in enumerate(taken):
            amounts = self._devices.amounts(one.entry, one.option.requested)
            consumed = {} if isinstance(amounts, Finding) else amounts
            result = _result(number, one, consumed if self.is_shared(one.entry) else None)
            device = ResultDevice(result, one.entry, one.view, one.option.requested)
            context = ClaimContext(self._node, usage, one.option.claim)
            if any(finding.rule not in _COPIED for finding in judges.findings(device, context)):
                return rows.choices
        held = {id(one) for one in taken}
        for claim, entries in enumerate(self.entries):
            for entry in entries:
                scope = rows.covered(claim, entry)
                members = [(one.entry, one.option.requested) for one in scope if id(one) in held]
                if members and next(self._entry_rules.findings(entry, members, self._node), None) is not None:
                    return scope
        return None


# What results repeat of requests and devices; there is no claim yet that would say it.
_COPIED = frozenset({"RES-2"})


def _token(value: TypedValue, mode: str) -> tuple[object, ...]:
    kind, elements, is_list = value
    return (kind, elements) if mode == "scalars" else (kind, elements, is_list)


def _result(number: int, one: Choice, consumed: Mapping[str, int] | None) -> DeviceRequestAllocationResult:
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
