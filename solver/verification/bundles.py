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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ...models.kubernetes.claims import AllocationResult, ExactDeviceRequest, ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.meta import DeviceId
from ...models.kubernetes.quantity import NANO
from .audit_rows import Amounts, BundleAlternative, BundleUse, GroupFace, KindFace, NodeFace
from .claims import is_usable_on
from .constraints import covers
from .devices import VerificationContext
from .equal_nodes import EqualNodes
from .existence import NoAllocationError, NodeAudit
from .nodes import NodeLoads, node_findings
from .offers import DeviceOption, NodeOffers
from .payments import SharedPrices
from .pod_rules import PlacedPods
from .published import CounterKey, PoolView, PublishedDevice
from .requests import is_admin

if TYPE_CHECKING:
    from .preemption import LeavingPod

PODS = "pods"


@dataclass(frozen=True, slots=True)
class PodSeparation:
    """Kinds of pods that are never together, by labels (``apart_by``), and what each one keeps off (``kept_from``)."""

    apart: Mapping[tuple[Hashable, Hashable], frozenset[str]] = field(default_factory=dict)
    kept: Mapping[Hashable, frozenset[tuple[str, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, state: PlacedPods, pods: Mapping[Hashable, Pod]) -> PodSeparation:
        """Read the rules of kinds of pods, and of those that are there."""
        kinds = list(pods.items())
        pairs = (
            ((one, other), state.apart_by(pod, beside))
            for number, (one, pod) in enumerate(kinds)
            for other, beside in kinds[number:]
        )
        return cls({pair: keys for pair, keys in pairs if keys}, {one: state.kept_from(pod) for one, pod in kinds})

    def pairs(self, kinds: Sequence[Hashable], node: Node) -> tuple[tuple[int, int], ...]:
        """The numbers of kinds of which no two such pods are ever on the node."""
        there = {"", *(node.metadata.labels or {})}
        numbers = ((a, b) for a in range(len(kinds)) for b in range(len(kinds))) if self.apart else ()
        return tuple((a, b) for a, b in numbers if not there.isdisjoint(self.apart.get((kinds[a], kinds[b]), ())))

    def keeps_off(self, kind: Hashable, node: Node) -> bool:
        """Whether such a pod is never on the node."""
        kept = self.kept.get(kind, frozenset())
        return not kept.isdisjoint({("", node.metadata.name), *(node.metadata.labels or {}).items()})


@dataclass(frozen=True, slots=True, eq=False)
class UnitKind:
    """Equal units: one of them as a pod with the claims to allocate, and what its other claims hold already."""

    pod: Pod | None
    claims: tuple[ResourceClaim, ...]
    earlier: tuple[AllocationResult, ...] = ()


class _Read(NamedTuple):
    """A kind of unit on a node: the options of its requests, their ranks in the lists of requests, and the rules."""

    options: tuple[DeviceOption, ...]
    audit: NodeAudit
    ranks: tuple[int, ...]


class _DevicesFace(NamedTuple):
    """The devices of a node for some kinds: which of these find any, their requests and relations, groups, counters."""

    takers: tuple[int, ...]
    requests: tuple[tuple[tuple[tuple[BundleAlternative, ...], ...], tuple[bool, ...]], ...]
    groups: tuple[GroupFace, ...]
    counters: Amounts


class EqualBundles:
    """What is known of the devices of nodes that are alike, for kinds of units with these claims."""

    def __init__(self, context: VerificationContext, kinds: Sequence[UnitKind]) -> None:
        self.nodes = EqualNodes([claim for one in kinds for claim in one.claims], context.classes)
        self.known: dict[Hashable, _DevicesFace] = {}


class NodeBundles:
    """What one node may take, beside what the context says is held and what pods take of the node.

    ``equal`` is shared by nodes of one context that are asked about the same claims.
    """

    def __init__(
        self,
        context: VerificationContext,
        loads: NodeLoads,
        node: Node,
        caller_constraints: Sequence[CallerConstraint] = (),
        deadline: float | None = None,
        separation: PodSeparation | None = None,
        equal: EqualBundles | None = None,
    ) -> None:
        self.node = node
        self._equal = None if caller_constraints else equal
        self._class: Hashable | None = None
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

    def _is_kept_off(self, kind: UnitKind) -> bool:
        """Whether the node is none for such a unit, whatever devices it has."""
        node, pod = self.node, kind.pod
        if pod is not None and (next(node_findings(pod, node), None) or not self._loads.has_room(pod, node)):
            return True
        return self._separation.keeps_off(kind, node) or not all(is_usable_on(one, node) for one in kind.earlier)

    def _needs(self, kind: UnitKind) -> Amounts:
        needs = self._loads.needs(kind.pod, self.node) if kind.pod is not None else {}
        return tuple(sorted((name, amount) for name, amount in needs.items() if amount))

    def _reading(self, kind: UnitKind) -> _Read | None:
        node = self.node
        claims = [self._loads.claim_on(claim, node) for claim in kind.claims]
        audit = NodeAudit(self._context, claims, node, self._caller_constraints, self._deadline)
        try:
            options = tuple(option for number in range(len(claims)) for option in audit.options(number))
        except NoAllocationError:
            return None
        ranks = {
            (number, f"{request.name}/{one.name}"): rank
            for number, claim in enumerate(claims)
            for request in claim.spec.devices.requests or ()
            for rank, one in enumerate(request.first_available or ())
        }
        return _Read(options, audit, tuple(ranks.get((one.claim, one.name), 0) for one in options))

    def face(
        self, kinds: Sequence[tuple[UnitKind, int]], prices: SharedPrices, staying: Sequence[LeavingPod] = ()
    ) -> tuple[NodeFace, tuple[int, ...]]:
        """The node for these kinds, at most so many units of each, and the numbers of those that it takes.

        Behind them are the pods that may go on ``staying`` there. All of these may at once, as they do.
        """
        able = [(number, kind) for number, (kind, _) in enumerate(kinds) if not self._is_kept_off(kind)]
        devices = self._devices([kind for _, kind in able], prices, staying)
        taken = [able[place][0] for place in devices.takers]
        needs = [self._needs(kinds[number][0]) for number in taken] + [_needs_of(one) for one in staying]
        mosts = [kinds[number][1] for number in taken] + [1] * len(staying)
        parts = zip(mosts, needs, devices.requests, strict=True)
        faces = tuple(KindFace(most, needed, *asked) for most, needed, asked in parts)
        asked = {name for one in faces for name, _ in one.needs}
        room = self._loads.left(self.node)
        needed, drawn = Counter[Hashable](), Counter[Hashable]()
        for one in faces[len(taken) :]:
            needed.update(dict(one.needs))
            uses = [use for alternatives in one.requests for use in alternatives[0].uses]
            for use in uses:
                drawn.update(dict(devices.groups[use.group].draws))
        left: Amounts = ()
        if room is not None:
            names = (str(name) for name in asked if name in room or name != PODS)
            left = tuple(sorted((name, max(room[name], needed[name])) for name in names))
        counters = tuple((name, max(amount, drawn[name])) for name, amount in devices.counters)
        apart = self._separation.pairs([kinds[number][0] for number in taken], self.node)
        there = range(len(kinds), len(kinds) + len(staying))
        return NodeFace(left, counters, devices.groups, faces, apart), (*taken, *there)

    def _devices(self, kinds: Sequence[UnitKind], prices: SharedPrices, staying: Sequence[LeavingPod]) -> _DevicesFace:
        """What kinds may take of the devices; known of another node where that has the same (``EqualBundles``)."""
        equal, key = self._equal, None
        claims = [claim for kind in kinds for claim in kind.claims]
        is_local = not (staying or prices.devices or prices.counters or prices.capacities)
        if equal is not None and is_local and all(self._loads.claim_on(one, self.node) is one for one in claims):
            self._class = self._class or equal.nodes.class_of(NodeOffers(self._context, self.node))
            key = self._class and (self._class, tuple(kinds), prices.preference, prices.consumption, prices.weights)
            known = equal.known.get(key) if key else None
            if known is not None:
                return known
        found = [(place, read) for place, kind in enumerate(kinds) if (read := self._of(kind)) is not None]
        reads = [read for _, read in found] + [self._staying(one) for one in staying]
        groups = _DeviceGroups(reads, prices)
        requests = tuple(map(groups.requests, range(len(reads))))
        made = _DevicesFace(tuple(place for place, _ in found), requests, groups.groups, groups.counters)
        if equal is not None and key:
            equal.known[key] = made
        return made

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
        return _Read(options, audit, (0,) * len(options))


def _needs_of(one: LeavingPod) -> Amounts:
    return tuple(sorted((name, amount) for name, amount in one.taken.items() if amount))


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
        faces: list[GroupFace] = []
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

    def _device_face(self, device: PublishedDevice, view: PoolView, audit: NodeAudit) -> GroupFace:
        place = self._pools.setdefault(view, len(self._pools))
        draws: Amounts = ()
        if audit.draws(device) and self._left_of(view) is not None:
            draws = tuple(((place, *key), amount) for key, amount in device.consumption)
        shared = audit.is_shared(device)
        return GroupFace(1, shared, draws, audit.capacity_left(device) if shared else ())

    def requests(self, place: int) -> tuple[tuple[tuple[BundleAlternative, ...], ...], tuple[bool, ...]]:
        """The requests of a kind with their alternatives, and its relations."""
        found: dict[tuple[int, str], list[BundleAlternative]] = defaultdict(list)
        uses: dict[int, dict[BundleUse, None]] = defaultdict(dict)
        for (device, number), one in self._takings[place].items():
            admin = is_admin(one.option.requested)
            uses[number][BundleUse(self._group_of[device], one.amounts, one.price, one.tokens, admin)] = None
        for number, option in enumerate(self._reads[place].options):
            paid = self._prices.preference * self._reads[place].ranks[number]
            alternative = BundleAlternative(option.count, option.whole, tuple(uses[number]), paid)
            found[option.claim, option.request].append(alternative)
        return tuple(map(tuple, found.values())), self._relations[place]
