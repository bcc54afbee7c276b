"""Whether the reasons of an explanation are impossible together, and each of them is needed: read from the manifests.

A reason is what would have to change: a request that must be served, what keeps devices away, an entry, a counter, and
so on. Only those that are held count: a request that is let go may take any devices, and what else is let go refuses
nothing. Who has a device alone always counts (DEV-1, DEV-13), and so does that pools in trouble have no devices.

The formulation is that of ``existence``: a Boolean for every request and device, and the rules of finished allocations
for what is no row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...models.cluster.node_fit import untolerated_device_taints
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import DeviceRequest, RequestSpec, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId
from .audit_rows import AuditRows, Choice
from .claims import EntryRules
from .constraints import Entry, covers
from .devices import VerificationContext, groups_of
from .existence import Audit, NodeAudit
from .offers import DeviceOption
from .published import CounterKey, Finding, PoolView, PublishedDevice, reaches
from .requests import ALL, MAX_RESULTS, is_admin
from .state import ExpressionTimeoutError

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


@dataclass(frozen=True, slots=True)
class HeldReason:
    """A reason by its id (``docs/guides/explain.md``) and what it is about, in the terms of the manifests.

    ``requests`` are numbers of claims with names of requests, or of requests and alternatives for what belongs to one.
    ``claims`` are numbers of claims that have an entry, ``index`` is its number among their entries, or that of a
    selector. ``names`` are those of a class, a taint, a claim that holds devices, a capacity, or a pool's driver, name,
    counter set and counter.
    """

    id: str
    requests: tuple[tuple[int, str], ...] = ()
    claims: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    index: int = 0


@dataclass(frozen=True, slots=True)
class ReasonSet:
    """Reasons that are said to be impossible together on a node; ``minimal``: and not without any one of them."""

    node: Node
    reasons: tuple[HeldReason, ...]
    minimal: bool


@dataclass(frozen=True, slots=True)
class ReasonVerdict:
    """What an audit of a set of reasons came to: ``holds``, or what is ``wrong``; neither: it was not decided."""

    holds: bool = False
    wrong: str = ""


REQUESTS = frozenset({"exactCount", "all", "firstAvailable"})
_ENTRIES = frozenset({"matchAttribute", "distinctAttribute", "topology", "cel", "predicate"})
_OBSTACLES = frozenset(
    {
        "bindingConditions",
        "capacity",
        "classSelector",
        "countersFeature",
        "deviceNode",
        "groupsFeature",
        "inUse",
        "nodeOperations",
        "requestSelector",
        "taint",
    }
)
_JOINT = frozenset({"capacity", "compatibilityGroups", "counters", "resultLimit"})
_Obstacle = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _OpenOption:
    """An option to which every device is open, with what would keep each one away."""

    option: DeviceOption
    obstacles: Mapping[DeviceId, frozenset[_Obstacle]]


class ReasonAudit(NodeAudit):
    """Audits sets of reasons about claims on one node; ``holders`` are the claims that have devices alone."""

    def __init__(
        self,
        context: VerificationContext,
        claims: Sequence[ResourceClaim],
        node: Node,
        holders: Mapping[DeviceId, Collection[str]],
        caller_constraints: Sequence[extensions.CallerConstraint] = (),
        deadline: float | None = None,
    ) -> None:
        super().__init__(context, claims, node, caller_constraints, deadline)
        self._holders = holders
        self._all_entries: list[tuple[Entry, ...]] = [
            (*(one.spec.devices.constraints or ()), *extensions.annotated_entries(one.metadata), *caller_constraints)
            for one in claims
        ]
        self._judges = EntryRules(context)
        self._reasons: Sequence[HeldReason] = ()

    def verdict(self, asked: ReasonSet) -> ReasonVerdict:
        """Audit a set: its reasons are impossible together and, if it is minimal, not without any one of them."""
        known = REQUESTS | _ENTRIES | _OBSTACLES | _JOINT
        if any(one.id not in known for one in asked.reasons):
            return ReasonVerdict()
        try:
            found = self.decide_reasons(asked.reasons)
            if found is Audit.POSSIBLE:
                return ReasonVerdict(wrong="its reasons are possible together")
            if found is Audit.UNDECIDED:
                return ReasonVerdict()
            for number, one in enumerate(asked.reasons if asked.minimal else ()):
                rest = asked.reasons[:number] + asked.reasons[number + 1 :]
                found = self.decide_reasons(rest)
                if found is Audit.IMPOSSIBLE:
                    return ReasonVerdict(wrong=f"its reason {number + 1}, {one.id}, is not needed")
                if found is Audit.UNDECIDED:
                    return ReasonVerdict()
        except ExpressionTimeoutError:
            return ReasonVerdict()
        return ReasonVerdict(holds=True)

    def decide_reasons(self, reasons: Sequence[HeldReason]) -> Audit:
        """Decide whether all that these reasons hold is possible. Raises ``ExpressionTimeoutError``."""
        from ortools.sat.python import cp_model

        self._reasons = reasons
        model = cp_model.CpModel()
        rows = AuditRows(model, self._post_choices(model))
        self.bound_devices(rows)
        self._bound_single_capacities(rows)
        self._bound_held_counters(rows)
        self._bound_held_groups(rows)
        for claim, entry in self._held_entries:
            own = rows.covered(claim, entry)
            # The rows of a shape count on the numbers of devices, which only requests that are held have.
            if self.relation(entry) is not None or self._are_served(own):
                self.bound_entry(model, rows, entry, own)
        self._bound_results(model, rows)
        return self.search(model, rows)

    @cached_property
    def _open_options(self) -> Sequence[_OpenOption]:
        found: list[_OpenOption] = []
        for number, claim in enumerate(self._claims):
            for request in claim.spec.devices.requests or ():
                found += self._opened(number, request)
        return found

    def _opened(self, claim: int, request: DeviceRequest) -> Iterator[_OpenOption]:
        """Read an exact request, or its alternatives, with all devices of the node."""
        named = [(request.name, request.exactly)] if request.exactly is not None else []
        parts: list[tuple[str, RequestSpec]] = [*named]
        parts += [(f"{request.name}/{one.name}", one) for one in request.first_available or ()]
        pairs = [(entry, view) for view in self.views if view.trouble is None for entry in view.devices.values()]
        for name, requested in parts:
            meant = [pair for pair in pairs if self._is_meant(pair[0], requested)]
            # A request for all devices means those that it selects; where it selects none it needs one.
            whole = requested.allocation_mode == ALL and bool(meant)
            devices = tuple(meant if whole else pairs)
            option = DeviceOption(claim, request.name, name, requested, devices, len(devices), whole)
            obstacles = {one.id: frozenset(self._in_the_way(option, one)) for one, _ in devices}
            yield _OpenOption(option, obstacles)

    def _is_meant(self, entry: PublishedDevice, requested: RequestSpec) -> bool:
        refusal = self._devices.unselected(entry, requested, self._node)
        return refusal is None or (refusal.fatal and not self._context.errors_left_out)

    def _in_the_way(self, option: DeviceOption, entry: PublishedDevice) -> Iterator[_Obstacle]:
        """DEV-1 to DEV-10, each by the reason that it would be."""
        requested, device, gates = option.requested, entry.device, self._context.gates
        of_class = self._context.classes.get(requested.device_class_name)
        for index, selector in enumerate((of_class.spec.selectors if of_class else None) or ()):
            if selector.cel and self._context.expressions.refuses(selector.cel.expression, entry):
                yield "classSelector", requested.device_class_name, index
        for index, selector in enumerate(requested.selectors or ()):
            if selector.cel and self._context.expressions.refuses(selector.cel.expression, entry):
                yield "requestSelector", option.claim, option.name, index
        if isinstance(self._devices.amounts(entry, requested), Finding):
            yield "capacity", option.claim, option.name
        if not reaches(entry.place, self._node):
            yield ("deviceNode",)
        if device.binding_conditions and not gates.binding_conditions:
            yield ("bindingConditions",)
        if device.consumes_counters and not gates.partitionable_devices:
            yield ("countersFeature",)
        grouped = any(one.compatibility_groups for one in device.consumes_counters or ())
        if grouped and not gates.compatibility_groups:
            yield ("groupsFeature",)
        if any(one.rule == "DEV-9" for one in self._devices.unusable(entry, requested, self._node)):
            yield ("nodeOperations",)
        for taint in untolerated_device_taints(device.taints, requested.tolerations) if gates.device_taints else ():
            yield "taint", f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for holder in () if is_admin(requested) else self._holders.get(entry.id, ()):
            yield "inUse", holder

    def _of(self, id_: str) -> Iterator[HeldReason]:
        return (one for one in self._reasons if one.id == id_)

    def _held_obstacles(self) -> set[_Obstacle]:
        found: set[_Obstacle] = set()
        for one in self._reasons:
            if one.id == "requestSelector":
                found.update((one.id, *request, one.index) for request in one.requests)
            elif one.id == "classSelector":
                found.add((one.id, *one.names, one.index))
            elif one.id == "capacity":
                found.update((one.id, *request) for request in one.requests)
            elif one.id in _OBSTACLES:
                found.add((one.id, *one.names))
        return found

    @property
    def _held_entries(self) -> list[tuple[int, Entry]]:
        held = (one for one in self._reasons if one.id in _ENTRIES)
        return [(claim, self._all_entries[claim][one.index]) for one in held for claim in one.claims]

    @property
    def _served(self) -> set[tuple[int, str]]:
        return {request for one in self._reasons if one.id in REQUESTS for request in one.requests}

    def _are_served(self, own: Sequence[Choice]) -> bool:
        served, options = self._served, {id(one.option): one.option for one in own}.values()
        return all(
            (one.claim, one.request) in served and (one.whole or one.requested.allocation_mode != ALL)
            for one in options
        )

    def _post_choices(self, model: CpModel) -> list[Choice]:
        """One option of each request that is held (PRE-7), and of others at most one, with devices that help it."""
        held = self._held_obstacles()
        served = self._served
        choices: list[Choice] = []
        by_request: dict[tuple[int, str], list[IntVar]] = defaultdict(list)
        for opened in self._open_options:
            option = opened.option
            key, listed = (option.claim, option.request), option.name != option.request
            chosen = model.new_bool_var("")
            by_request[key].append(chosen)
            own = [Choice(option, entry, view, model.new_bool_var("")) for entry, view in option.devices]
            if option.whole:
                for one in own:
                    if key in served or listed:
                        model.add(one.taken == chosen)
            elif key in served or listed:
                # Where it means all devices, and there are none, it needs one.
                count = option.requested.count or 0 if option.requested.allocation_mode != ALL else 1
                model.add(sum(one.taken for one in own) == count * chosen)
            for one in own:
                if held & opened.obstacles[one.entry.id] or (key not in served and not self._may_help(one)):
                    model.add(one.taken == 0)
            choices += own
        for key, alternatives in by_request.items():
            (model.add_exactly_one if key in served else model.add_at_most_one)(alternatives)
        return choices

    def _may_help(self, one: Choice) -> bool:
        """Whether a device more could make something possible; nearly all rules only get harder."""
        giving = self.draws(one.entry) and self.gives(one.view)
        if giving and any(reason.names[:2] == one.view.id for reason in self._of("counters")):
            return True
        own = (entry for claim, entry in self._held_entries if claim == one.option.claim)
        return any(
            covers(entry, one.option.name) and self.relation(entry) not in ("match", "distinct") for entry in own
        )

    def _bound_results(self, model: CpModel, rows: AuditRows) -> None:
        """PRE-11; an expression over devices is about as many at most whatever is held."""
        for claim in {claim for one in self._of("resultLimit") for claim in one.claims}:
            model.add(sum(one.taken for one in rows.choices if one.option.claim == claim) <= MAX_RESULTS)
        for claim, entries in enumerate(self.entries):
            for entry in entries:
                if not isinstance(entry, extensions.Predicate) and entry.cel is not None:
                    model.add(sum(one.taken for one in rows.covered(claim, entry)) <= MAX_RESULTS)

    def bound_capacity(self, rows: AuditRows, own: Sequence[Choice]) -> None:
        """CAP-6 for the capacities that are held."""
        left = dict(self.capacity_left(own[0].entry))
        for name in (one.names[0] for one in self._of("capacity") if one.names):
            drawn = ((one, dict(self.amounts(one.entry, one.option.requested)).get(name)) for one in own)
            parts = [(one, amount) for one, amount in drawn if amount is not None]
            if parts:
                rows.at_most(parts, left[name])

    def _bound_single_capacities(self, rows: AuditRows) -> None:
        """CAP-7: nothing accumulates on a device that is not shared."""
        held = {one.names[0] for one in self._of("capacity") if one.names}
        for one in rows.choices if held else ():
            left = dict(self.capacity_left(one.entry))
            drawn = () if self.is_shared(one.entry) else self.amounts(one.entry, one.option.requested)
            if any(name in held and amount > left[name] for name, amount in drawn):
                rows.refuse(one)

    def _held_counters(self, view: PoolView) -> set[CounterKey]:
        return {(one.names[2], one.names[3]) for one in self._of("counters") if one.names[:2] == view.id}

    def _bound_held_counters(self, rows: AuditRows) -> None:
        """CTR-2, CTR-3 for the counters that are held; where devices give, ``refused`` replays them in order."""
        for view, own in rows.by_pool().items():
            held = self._held_counters(view)
            drawing = [one for one in own if self.draws(one.entry)] if held else []
            if not drawing or self.gives(view):
                continue
            left = self.stock(view).balance()
            drawn: dict[CounterKey, list[tuple[IntVar, int]]] = defaultdict(list)
            for same in rows.by_device(drawing).values():
                taker = rows.any_of(same) if self.is_shared(same[0].entry) else None
                for key, amount in same[0].entry.consumption:
                    drawn[key] += [(taker, amount)] if taker is not None else [(one.taken, amount) for one in same]
            for key in held:
                if left[key] < 0:
                    # What is overdrawn already stops all devices of the pool that draw anything.
                    for one in drawing:
                        rows.refuse(one)
                else:
                    rows.at_most_of(drawn[key], left[key])

    def _bound_held_groups(self, rows: AuditRows) -> None:
        """GRP-2, GRP-3 for the counter sets that are held."""
        sets = {(one.names[:2], one.names[2]) for one in self._of("compatibilityGroups")}
        for view, own in rows.by_pool().items() if sets else ():
            for name in sorted(name for pool, name in sets if pool == view.id):
                common = self.stock(view).common_groups(name)
                members = [
                    (one, groups_of(taken) if common is None else groups_of(taken) & common)
                    for one in own
                    for taken in (one.entry.device.consumes_counters or ())
                    if taken.counter_set == name and self.draws(one.entry)
                ]
                rows.one_in_common(members)

    def refused(self, rows: AuditRows, taken: Sequence[Choice]) -> Sequence[Choice] | None:
        """Find choices of which what is held refuses exactly what is taken; None: it refuses nothing."""
        held = {id(one) for one in taken}
        for claim, entry in self._held_entries:
            scope = rows.covered(claim, entry)
            members = [(one.entry, one.option.requested) for one in scope if id(one) in held]
            if members and next(self._judges.findings(entry, members, self._node), None) is not None:
                return scope
        for view, own in rows.by_pool().items():
            counters = self._held_counters(view) if self.gives(view) else set()
            if counters and not self._suffice(view, counters, [one for one in own if id(one) in held]):
                return own
        return None

    def _suffice(self, view: PoolView, counters: Collection[CounterKey], taken: Sequence[Choice]) -> bool:
        """Whether no device overdraws one of the counters when its turn comes (CTR-2); shares draw once (CTR-3)."""
        left, seen = self.stock(view).balance(), set[DeviceId]()
        for one in taken:
            if not self.draws(one.entry) or (self.is_shared(one.entry) and one.entry.id in seen):
                continue
            seen.add(one.entry.id)
            for key, amount in one.entry.consumption:
                left[key] -= amount
            if any(left[key] < 0 for key in counters):
                return False
        return True
