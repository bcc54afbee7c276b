"""Whether claims have an allocation on a node at all: a formulation of the verifier's own.

The question is read from the manifests with the rules of this package, and has one Boolean for every request and
device: no symmetry classes, nothing collapsed, no candidates of the planner's. What is linear is a row: numbers of
devices, dedicated devices, capacities, counters, compatibility groups, equal and different values. Shapes in topologies
are rows as well (``topology_rows``). Everything else (expressions over devices, predicates, counters that devices give)
is judged by the rules of finished allocations, and a choice that they refuse is cut off. A model that is infeasible
proves the no, for each row follows from a rule. CP-SAT solves it without presolve and with strong linear relaxations,
unlike the engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING
from uuid import UUID

from ...models.cluster.node_fit import SelectorError
from ...models.formats.decode import QuantityText
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import DeviceRequestAllocationResult, RequestSpec, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.quantity import Quantity
from ...models.workload.units import Unit
from .audit_rows import AuditRows, Choice, audit_solver, make_choices, post_at_most, run_audit
from .claims import EntryRules, entry_of_claim, is_usable_on
from .constraints import ConstraintRules, Entry, Relation, covers
from .devices import ClaimContext, ResultDevice, ResultDeviceRules, VerificationContext, groups_of
from .nodes import node_findings
from .offers import DeviceOption, NodeOffers
from .published import Finding, PublishedDevice
from .requests import all_requested, is_admin
from .state import ExpressionTimeoutError, UnitUsage
from .topology import TopologyRules
from .topology_rows import post_shape
from .verify import Replay

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


class Audit(Enum):
    """What an audit of a no came to."""

    IMPOSSIBLE = "impossible"
    """There is no allocation."""
    POSSIBLE = "possible"
    """There is one: the no was wrong."""
    UNDECIDED = "undecided"


class NoAllocationError(Exception):
    """A rule refuses the claims before any device is chosen."""


class NodeAudit(NodeOffers):
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
        super().__init__(context, node)
        self._claims = claims
        self._deadline = deadline
        self._values = ConstraintRules(context.gates, context.expressions)
        self._entry_rules = EntryRules(context)
        self._topologies = TopologyRules(context)
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
        claim = self._claims[number]
        if self.refuses(claim):
            raise NoAllocationError
        for request in claim.spec.devices.requests or ():
            found = [option for option in self.offered(number, request) if not option.is_short]
            if not found:
                raise NoAllocationError
            yield from found

    def _solve(self, options: Sequence[DeviceOption]) -> Audit:
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        choices = make_choices(model, options)
        rows = AuditRows(model, choices)
        self.bound_devices(rows)
        self.bound_counters(rows)
        self.bound_groups(rows)
        for claim, entries in enumerate(self.entries):
            for entry in entries:
                self.bound_entry(model, rows, entry, rows.covered(claim, entry))
        return self.search(model, rows)

    def search(self, model: CpModel, rows: AuditRows) -> Audit:
        """Look for choices that the rules do not refuse; one that they do is cut off."""
        from ortools.sat.python import cp_model

        while True:
            solver = audit_solver(self._deadline)
            if solver is None:
                return Audit.UNDECIDED
            status = run_audit(solver, model)
            if status == cp_model.INFEASIBLE:
                return Audit.IMPOSSIBLE
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return Audit.UNDECIDED
            taken = [one for one in rows.choices if solver.boolean_value(one.taken)]
            refused = self.refused(rows, taken)
            if refused is None:
                return Audit.POSSIBLE
            # What is refused is these devices together, no more and no fewer.
            model.add_bool_or([~one.taken if solver.boolean_value(one.taken) else one.taken for one in refused])

    def bound_devices(self, rows: AuditRows) -> None:
        """DEV-1, CAP-6: who has a device alone, and what shares of it consume."""
        for own in rows.by_device().values():
            if self.is_shared(own[0].entry):
                self.bound_capacity(rows, own)
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

    def bound_capacity(self, rows: AuditRows, own: Sequence[Choice]) -> None:
        """CAP-6: what shares of a device consume."""
        drawn: dict[str, list[tuple[Choice, int]]] = defaultdict(list)
        for one in own:
            for name, amount in self.amounts(one.entry, one.option.requested):
                drawn[name].append((one, amount))
        left = dict(self.capacity_left(own[0].entry))
        for name, parts in drawn.items():
            rows.at_most(parts, left[name])

    def bound_counters(self, rows: AuditRows) -> None:
        """CTR-2, CTR-3: no pool's counters are overdrawn; pools where devices give are left to the judges."""
        for view, own in rows.by_pool().items():
            drawing = [one for one in own if self.draws(one.entry)]
            left = self.stock(view).left() if drawing else None
            if left is None or self.gives(view):
                continue
            drawn: dict[tuple[str, str], list[tuple[IntVar, int]]] = defaultdict(list)
            for same in rows.by_device(drawing).values():
                entry = same[0].entry
                takers = [rows.any_of(same)] if self.is_shared(entry) else [one.taken for one in same]
                for key, amount in entry.consumption:
                    drawn[key] += [(taker, amount) for taker in takers]
            for key, parts in drawn.items():
                rows.at_most_of(parts, left[key])

    def bound_groups(self, rows: AuditRows) -> None:
        """GRP-2, GRP-3: what is taken of a counter set has a group in common, also with what is held."""
        for view, own in rows.by_pool().items():
            sets: dict[str, list[tuple[Choice, frozenset[str]]]] = defaultdict(list)
            for one in own:
                for taken in (one.entry.device.consumes_counters or ()) if self.draws(one.entry) else ():
                    sets[taken.counter_set].append((one, groups_of(taken)))
            for name, members in sets.items():
                common = self.stock(view).common_groups(name)
                rows.one_in_common([(one, groups if common is None else groups & common) for one, groups in members])

    def bound_entry(self, model: CpModel, rows: AuditRows, entry: Entry, own: Sequence[Choice]) -> None:
        """TOPO-1 to TOPO-4; CON-2 to CON-9, SEM-2 to SEM-5, as far as they are rows."""
        if isinstance(entry, extensions.Entry) and entry.topology is not None:
            ask, topologies = entry.topology, self._topologies
            instances = partial(topologies.instance, ask, node=self._node)
            post_shape(model, rows, ask, own, instances, self._deadline)
            return
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

    def relation(self, entry: Entry) -> Relation | None:
        """What devices of an entry must be to one another, as ``ConstraintRules`` says; None: it is of another kind."""
        if isinstance(entry, extensions.Predicate) or not (entry.match_attribute or entry.distinct_attribute):
            return None
        return self._values.relation(entry)

    def tokens(self, entry: Entry, device: PublishedDevice, requested: RequestSpec) -> frozenset[object] | None:
        """What an entry about an attribute compares of a device; None: it refuses the device."""
        return None if isinstance(entry, extensions.Predicate) else self._values.tokens(entry, device, requested)

    def refused(self, rows: AuditRows, taken: Sequence[Choice]) -> Sequence[Choice] | None:
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


Seat = Sequence[Unit]
_Entries = Sequence[extensions.CallerConstraint]
TyingGroup = tuple[extensions.ConstraintGroup, Collection[ObjectKey]]
"""A ConstraintGroup, and the claims that it is about."""


class TiedAudit:
    """The question whether units that ConstraintGroups tie have places together, with devices, on these nodes.

    A Boolean says for each unit and node whether it goes there, and one for each request and device there what it has.
    Rows are those of ``NodeAudit``, what pods take of nodes, one value of a node label, and entries of groups about
    attributes. Other entries of groups, shapes, what members hold already, and rules of pods about one another are left
    aside: they could only refuse more. So only a no is known.
    """

    def __init__(self, replay: Replay, nodes: Sequence[Node], given: _Entries, deadline: float | None) -> None:
        from ortools.sat.python import cp_model

        self._context, self._loads, self._nodes = replay.context, replay.loads, nodes
        self._caller_constraints, self._deadline = given, deadline
        self._model = cp_model.CpModel()
        self._choices: list[Choice] = []
        # By number, as options have it.
        self._claims: list[ObjectKey] = []
        self._there: list[tuple[Seat, Node, IntVar]] = []

    def is_impossible(self, seats: Sequence[Seat], groups: Sequence[TyingGroup]) -> bool:
        """Whether they have no places together; False says nothing."""
        from ortools.sat.python import cp_model

        claims = (claim for seat in seats for claim in _claims_of(seat))
        if any(is_admin(one) for claim in claims for _, one in all_requested(claim)):
            return False
        try:
            for seat in seats:
                there = [one for node in self._nodes if (one := self._on(seat, node)) is not None]
                if len(self._choices) > _MOST_CHOICES or self._is_late:
                    return False
                if not there:
                    return True
                self._model.add_exactly_one(there)
                self._claims += [key_of(claim.metadata) for claim in _claims_of(seat)]
        except (ExpressionTimeoutError, SelectorError):
            return False
        self._bound_nodes()
        for group, members in groups:
            self._bound_group(group, members)
        solver = audit_solver(self._deadline)
        return solver is not None and run_audit(solver, self._model) == cp_model.INFEASIBLE

    @property
    def _is_late(self) -> bool:
        return self._deadline is not None and monotonic() > self._deadline

    def _on(self, seat: Seat, node: Node) -> IntVar | None:
        """The Boolean of a node that suits the units; None where they find no devices, each request by itself."""
        held = (is_usable_on(one, node) for unit in seat for one in unit.existing_allocations())
        if self._is_late or not all(held):
            return None
        if any(unit.pod is not None and next(node_findings(unit.pod, node), None) for unit in seat):
            return None
        claims = [self._loads.claim_on(claim, node) for claim in _claims_of(seat)]
        audit = NodeAudit(self._context, claims, node, self._caller_constraints, self._deadline)
        try:
            options = [option for number in range(len(claims)) for option in audit.options(number)]
        except NoAllocationError:
            return None
        first, there = len(self._claims), self._model.new_bool_var("")
        choices = make_choices(self._model, [replace(one, claim=first + one.claim) for one in options], there)
        rows = AuditRows(self._model, choices)
        for number, entries in enumerate(audit.entries):
            for entry in entries:
                if not isinstance(entry, extensions.Entry) or entry.topology is None:
                    audit.bound_entry(self._model, rows, entry, rows.covered(first + number, entry))
        self._choices += choices
        self._there.append((seat, node, there))
        return there

    def _bound_nodes(self) -> None:
        """Devices, counters and groups of devices on all nodes, and what pods take of each node."""
        reader = NodeAudit(self._context, [], self._nodes[0])
        devices: dict[int, list[Choice]] = defaultdict(list)
        for one in self._choices:
            devices[id(one.entry.device)].append(one)
        for own in devices.values():
            reader.bound_devices(AuditRows(self._model, own))
        rows = AuditRows(self._model, self._choices)
        reader.bound_counters(rows)
        reader.bound_groups(rows)
        needs: dict[str, dict[str, list[tuple[IntVar, int]]]] = defaultdict(dict)
        for seat, node, there in self._there:
            for pod in (unit.pod for unit in seat if unit.pod is not None):
                for name, amount in self._loads.needs(pod, node).items():
                    needs[node.metadata.name].setdefault(name, []).append((there, amount))
        for node in self._nodes:
            left = self._loads.left(node)
            for name, parts in needs[node.metadata.name].items() if left is not None else ():
                if left is not None and (name in left or name != "pods"):
                    post_at_most(self._model, parts, max(0, left[name]))

    def _bound_group(self, group: extensions.ConstraintGroup, members: Collection[ObjectKey]) -> None:
        """Entries about attributes over the devices of all members, and the value of the label of their nodes."""
        rows, reader = AuditRows(self._model, self._choices), NodeAudit(self._context, [], self._nodes[0])
        for entry in group.spec.constraints or ():
            if entry.weight is None and reader.relation(entry) is not None:
                of_claims = [entry_of_claim(entry, name) if (n, name) in members else None for n, name in self._claims]
                pairs = ((one, of_claims[one.option.claim]) for one in self._choices)
                own = [one for one, of_claim in pairs if of_claim is not None and covers(of_claim, one.option.name)]
                reader.bound_entry(self._model, rows, entry, own)
        if not group.spec.same_node_label:
            return
        values: dict[str, IntVar] = {}
        for seat, node, there in self._there:
            value = (node.metadata.labels or {}).get(group.spec.same_node_label)
            if any(key_of(one.metadata) in members and one.spec.devices.requests for one in _claims_of(seat)):
                chosen = values.setdefault(value, self._model.new_bool_var("")) if value is not None else 0
                self._model.add(there <= chosen)
        self._model.add_at_most_one(values.values())


_MOST_CHOICES = 20_000


def _claims_of(seat: Seat) -> Iterator[ResourceClaim]:
    """The claims to allocate, each once."""
    refs = {ref.key: ref for unit in seat for ref in unit.requested_claims}
    return (ref.claim for ref in refs.values() if ref.claim is not None)


# What results repeat of requests and devices; there is no claim yet that would say it.
_COPIED = frozenset({"RES-2"})


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
