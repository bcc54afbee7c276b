"""What a node may take at most, worth what units are worth: a formulation of the verifier's own, as an upper bound.

Units of one kind are counted, and so are the devices that each of their requests takes of devices that no rule here
tells apart. Rows are about what pods take of the node, numbers of devices, dedicated devices, capacities, counters, and
values that are to be equal or different within a claim. All of them follow from rules (PRE-7, DEV-1, CAP-6, CTR-2,
CON-1 to CON-9); rules that are no rows are left aside. So nothing that the node may take is worth more. Groups of
devices and of nodes are no assumption: a row over several devices is the sum of their rows, and nodes are put together
where their models are the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, isfinite, lcm
from typing import TYPE_CHECKING, NamedTuple

from ...models.kubernetes.claims import AllocationResult, ExactDeviceRequest, ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.meta import DeviceId
from ...models.kubernetes.quantity import NANO
from .audit_rows import LARGEST_COEFFICIENT, audit_solver, post_apart, post_at_most, run_audit
from .claims import is_usable_on
from .constraints import covers
from .devices import VerificationContext
from .existence import NoAllocationError, NodeAudit
from .nodes import NodeLoads, node_findings
from .offers import DeviceOption
from .payments import SharedPrices
from .pod_rules import PodSeparation
from .published import CounterKey, PoolView, PublishedDevice
from .requests import is_admin

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

    from .preemption import LeavingPod

Amounts = tuple[tuple[Hashable, int], ...]
PODS = "pods"


@dataclass(frozen=True, slots=True, eq=False)
class UnitKind:
    """Equal units: one of them as a pod with the claims to allocate, and what its other claims hold already."""

    pod: Pod | None
    claims: tuple[ResourceClaim, ...]
    earlier: tuple[AllocationResult, ...] = ()


class _Use(NamedTuple):
    """Devices of a group that a request may take: what of each one's capacities, and what it pays for each.

    ``tokens`` are those that relations of the claim compare, by the number of the relation.
    """

    group: int
    amounts: Amounts
    price: Fraction
    tokens: tuple[tuple[int, int], ...]
    admin: bool


class _Alternative(NamedTuple):
    """So many devices of groups for one request; ``whole``: all of them. ``price`` is paid for choosing it."""

    needed: int
    whole: bool
    uses: tuple[_Use, ...]
    price: Fraction


class _KindFace(NamedTuple):
    """A kind of unit: at most how many there are, what one needs, and the alternatives of each request.

    ``relations`` say of what is compared whether it has to be equal, or different.
    """

    most: int
    needs: Amounts
    requests: tuple[tuple[_Alternative, ...], ...]
    relations: tuple[bool, ...]


class _GroupFace(NamedTuple):
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
    groups: tuple[_GroupFace, ...]
    kinds: tuple[_KindFace, ...]
    apart: tuple[tuple[int, int], ...] = ()


class _Read(NamedTuple):
    """A kind of unit on a node: what it needs of it, the options of its requests, and the rules about them.

    ``ranks`` are those of the options in the lists of their requests.
    """

    needs: Amounts
    options: tuple[DeviceOption, ...]
    audit: NodeAudit
    ranks: tuple[int, ...]


class NodeBundles:
    """What one node may take, beside what the context says is held and what pods take of the node."""

    def __init__(
        self,
        context: VerificationContext,
        loads: NodeLoads,
        node: Node,
        caller_constraints: Sequence[CallerConstraint] = (),
        deadline: float | None = None,
        separation: PodSeparation | None = None,
    ) -> None:
        self.node = node
        self._separation = separation or PodSeparation()
        self._context = context
        self._loads = loads
        self._caller_constraints = caller_constraints
        self._deadline = deadline
        self._read: dict[UnitKind, _Read | None] = {}

    @cached_property
    def _audit(self) -> NodeAudit:
        """The node for no claims at all."""
        return NodeAudit(self._context, [], self.node)

    def _of(self, kind: UnitKind) -> _Read | None:
        if kind not in self._read:
            self._read[kind] = self._reading(kind)
        return self._read[kind]

    def _reading(self, kind: UnitKind) -> _Read | None:
        node, pod = self.node, kind.pod
        if pod is not None and (next(node_findings(pod, node), None) or not self._loads.has_room(pod, node)):
            return None
        if self._separation.keeps_off(kind, node) or not all(is_usable_on(one, node) for one in kind.earlier):
            return None
        claims = [self._loads.claim_on(claim, node) for claim in kind.claims]
        audit = NodeAudit(self._context, claims, node, self._caller_constraints, self._deadline)
        try:
            options = tuple(option for number in range(len(claims)) for option in audit.options(number))
        except NoAllocationError:
            return None
        needs = self._loads.needs(pod, node) if pod is not None else {}
        ranks = {
            (number, f"{request.name}/{one.name}"): rank
            for number, claim in enumerate(claims)
            for request in claim.spec.devices.requests or ()
            for rank, one in enumerate(request.first_available or ())
        }
        return _Read(
            tuple(sorted((name, amount) for name, amount in needs.items() if amount)),
            options,
            audit,
            tuple(ranks.get((one.claim, one.name), 0) for one in options),
        )

    def face(
        self, kinds: Sequence[tuple[UnitKind, int]], prices: SharedPrices, staying: Sequence[LeavingPod] = ()
    ) -> tuple[NodeFace, tuple[int, ...]]:
        """The node for these kinds, at most so many units of each, and the numbers of those that it takes.

        Behind them are the pods that may go on ``staying`` there. All of these may at once, as they do.
        """
        found = [(number, most, self._of(kind)) for number, (kind, most) in enumerate(kinds)]
        taken = [(number, most, read) for number, most, read in found if read is not None]
        there = [(len(kinds) + number, 1, self._staying(one)) for number, one in enumerate(staying)]
        groups = _DeviceGroups([read for _, _, read in (*taken, *there)], prices)
        faces = tuple(
            _KindFace(most, read.needs, *groups.requests(place))
            for place, (_, most, read) in enumerate((*taken, *there))
        )
        asked = {name for one in faces for name, _ in one.needs}
        room = self._loads.left(self.node)
        needed, drawn = Counter[Hashable](), Counter[Hashable]()
        for one in faces[len(taken) :]:
            needed.update(dict(one.needs))
            uses = [use for alternatives in one.requests for use in alternatives[0].uses]
            for use in uses:
                drawn.update(dict(groups.groups[use.group].draws))
        left: Amounts = ()
        if room is not None:
            names = (str(name) for name in asked if name in room or name != PODS)
            left = tuple(sorted((name, max(room[name], needed[name])) for name in names))
        counters = tuple((name, max(amount, drawn[name])) for name, amount in groups.counters)
        apart = self._separation.pairs([kinds[number][0] for number, _, _ in taken], self.node)
        return NodeFace(left, counters, groups.groups, faces, apart), tuple(number for number, _, _ in (*taken, *there))

    def _staying(self, one: LeavingPod) -> _Read:
        """A pod that keeps its devices; those that others have, too, and shares of devices are left aside."""
        audit, held = self._audit, self._context.held_devices
        views = {view.id: view for view in audit.views if view.trouble is None}
        found = [(views.get(device[:2]), device[2]) for device in one.devices]
        there = [(view.devices[name], view) for view, name in found if view is not None and name in view.devices]
        alone = [pair for pair in there if not audit.is_shared(pair[0]) and not held.holds(pair[0].id)]
        options = tuple(
            DeviceOption(0, str(number), str(number), ExactDeviceRequest(count=1), (pair,), 1, False)
            for number, pair in enumerate(alone)
        )
        needs = tuple(sorted((name, amount) for name, amount in one.taken.items() if amount))
        return _Read(needs, options, audit, (0,) * len(options))


class _Taking(NamedTuple):
    """A device that an option may take, with all that rules compare."""

    option: DeviceOption
    amounts: Amounts
    price: Fraction
    tokens: tuple[tuple[int, int], ...]


class _DeviceGroups:
    """Puts devices together that all requests of a node's kinds see alike."""

    def __init__(self, reads: Sequence[_Read], prices: SharedPrices) -> None:
        self._prices = prices
        self._pools: dict[PoolView, int] = {}
        self._takings: list[dict[tuple[DeviceId, int], _Taking]] = []
        self._relations: list[tuple[bool, ...]] = []
        self._reads = reads
        seen: dict[DeviceId, list[Hashable]] = defaultdict(list)
        devices: dict[DeviceId, tuple[PublishedDevice, PoolView, NodeAudit]] = {}
        for place, read in enumerate(reads):
            takings, relations = self._compared(read, devices)
            self._takings.append(takings)
            self._relations.append(relations)
            for (device, number), one in takings.items():
                seen[device].append((place, number, one.amounts, one.price, one.tokens))
        numbers: dict[Hashable, int] = {}
        faces: list[_GroupFace] = []
        sizes = Counter[int]()
        self._group_of: dict[DeviceId, int] = {}
        for device, uses in seen.items():
            face = self._device_face(*devices[device])
            key = (device if face.shared else None, tuple(uses), face)
            group = numbers.setdefault(key, len(numbers))
            faces += [face] if group == len(faces) else []
            sizes[group] += 1
            self._group_of[device] = group
        self.groups = tuple(face._replace(size=sizes[number]) for number, face in enumerate(faces))
        used = {key for face in faces for key, _ in face.draws}
        left = ((view, place, self._left_of(view)) for view, place in self._pools.items())
        self.counters = tuple(
            ((place, *name), amount)
            for _, place, counters in left
            for name, amount in sorted((counters or {}).items())
            if (place, *name) in used
        )

    def _left_of(self, view: PoolView) -> Mapping[CounterKey, int] | None:
        """What is left of a pool's counters; None where devices give, too, so that drawing is no row."""
        audit = self._reads[0].audit
        return None if audit.gives(view) else audit.stock(view).left()

    def _compared(
        self, read: _Read, devices: dict[DeviceId, tuple[PublishedDevice, PoolView, NodeAudit]]
    ) -> tuple[dict[tuple[DeviceId, int], _Taking], tuple[bool, ...]]:
        """The devices of each option, less those that an entry refuses, and the relations that are about one token."""
        found: dict[tuple[DeviceId, int], _Taking] = {}
        entries = [(claim, entry) for claim, own in enumerate(read.audit.entries) for entry in own]
        relations = [read.audit.relation(entry) for _, entry in entries]
        known: list[dict[object, int]] = [{} for _ in entries]
        several = set[int]()
        for number, option in enumerate(read.options):
            about = [
                one
                for one, (claim, entry) in enumerate(entries)
                if relations[one] is not None and claim == option.claim and covers(entry, option.name)
            ]
            for device, view in option.devices:
                tokens = {one: read.audit.tokens(entries[one][1], device, option.requested) for one in about}
                if None in tokens.values():
                    continue
                compared = []
                for one, values in tokens.items():
                    several.update([one] if values is not None and len(values) != 1 else [])
                    compared.append((one, known[one].setdefault(values, len(known[one]))))
                amounts = read.audit.amounts(device, option.requested)
                devices.setdefault(device.id, (device, view, read.audit))
                price = self._price(device, view, amounts, read.audit, is_admin(option.requested))
                found[device.id, number] = _Taking(option, amounts, price, tuple(compared))
        kept = [one for one, kind in enumerate(relations) if kind in ("match", "distinct") and one not in several]
        place = {one: number for number, one in enumerate(kept)}
        for key, taking in found.items():
            tokens_kept = tuple((place[one], token) for one, token in taking.tokens if one in place)
            found[key] = taking._replace(tokens=tokens_kept)
        return found, tuple(relations[one] == "match" for one in kept)

    def _price(
        self, device: PublishedDevice, view: PoolView, amounts: Amounts, audit: NodeAudit, admin: bool
    ) -> Fraction:
        """What taking the device costs of what several nodes reach."""
        if admin:
            return Fraction(0)
        prices, shared = self._prices, audit.is_shared(device)
        # Only of a device that one holds alone there is one.
        total = Fraction(0) if shared else prices.devices.get(device.id, Fraction(0))
        for name, amount in amounts if shared else ():
            total += prices.capacities.get((device.id, str(name)), Fraction(0)) * amount / NANO
        weights = prices.weights if prices.consumption else None
        if weights is not None and shared:
            total += prices.consumption * weights.of_share(device, ((str(name), amount) for name, amount in amounts))
        elif weights is not None:
            total += prices.consumption * weights.of_device(device, audit.draws(device))
        # Where devices give, what is drawn may be more than what is left.
        if prices.counters and not shared and audit.draws(device) and not audit.gives(view):
            for key, amount in device.consumption:
                total += prices.counters.get((device.pool_id, *key), Fraction(0)) * amount / NANO
        return total

    def _device_face(self, device: PublishedDevice, view: PoolView, audit: NodeAudit) -> _GroupFace:
        place = self._pools.setdefault(view, len(self._pools))
        draws: Amounts = ()
        if audit.draws(device) and self._left_of(view) is not None:
            draws = tuple(((place, *key), amount) for key, amount in device.consumption)
        shared = audit.is_shared(device)
        return _GroupFace(1, shared, draws, audit.capacity_left(device) if shared else ())

    def requests(self, place: int) -> tuple[tuple[tuple[_Alternative, ...], ...], tuple[bool, ...]]:
        """The requests of a kind with their alternatives, and its relations."""
        found: dict[tuple[int, str], list[_Alternative]] = defaultdict(list)
        uses: dict[int, dict[_Use, None]] = defaultdict(dict)
        for (device, number), one in self._takings[place].items():
            admin = is_admin(one.option.requested)
            uses[number][_Use(self._group_of[device], one.amounts, one.price, one.tokens, admin)] = None
        for number, option in enumerate(self._reads[place].options):
            paid = self._prices.preference * self._reads[place].ranks[number]
            alternative = _Alternative(option.count, option.whole, tuple(uses[number]), paid)
            found[option.claim, option.request].append(alternative)
        return tuple(map(tuple, found.values())), self._relations[place]


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
    def _most(kind: _KindFace, room: Mapping[Hashable, int]) -> int:
        return min([kind.most, *(max(0, room[name]) // amount for name, amount in kind.needs if name in room)])

    def _kind(self, count: IntVar, kind: _KindFace) -> None:
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

    def _uses(self, chosen: IntVar, alternative: _Alternative, most: int) -> Iterator[tuple[_Use, IntVar]]:
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

    def _draw(self, group: _GroupFace, variable: IntVar, most: int) -> None:
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
        asked: Mapping[int, Sequence[_Alternative]],
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
