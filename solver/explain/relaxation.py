"""The smallest relaxations with which a unit fits: single changes first, then pairs, then freeing many claims.

Whatever helps must change one of the reasons of every conflict. So candidates for single changes come from the
conflict of a node, and those to go with a change that does not help alone from the conflict that is left with it (a
hitting-set tree, Reiter 1987).

Offers for each kind of reason: candidates for relaxations.

Offers to free what other claims hold.

Which claims hold what is missing.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from ...encoders.classes import MergedAlternative
from ...models.kubernetes.claims import CapacityRequirements, DeviceClass, DeviceSelector, DeviceToleration
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.kubernetes.quantity import Quantity
from ...models.results.explanation import RelaxationAnswer
from ...problem.obstacles import Obstacle
from ...problem.problem import RESULT_LIMIT, Justification, claim_text
from ..engines.reasons import deletion_filter
from ..proofs.counting import display_amount
from .changes import (
    CHANGE_COSTS,
    Change,
    ChangeTarget,
    RelaxationLevel,
    RequestSpec,
    WhatIf,
    apply_all,
    change_targets,
    pod_changes,
    single_change_level,
)
from .trials import TrialLimitError, WhatIfTrials
from .wording import MergedEntry, ReasonWording, claims_of_entry, entry_name, entry_of_reason, obstacle_of

# Pairs are looked for while fewer single changes help.
ENOUGH_RELAXATIONS = 3
# More are not told.
MAX_RELAXATIONS = 5
RemainingConflict = Callable[[WhatIf, ReasonWording, Node, RelaxationLevel], ReasonWording | None]
"""Finds what is still impossible on a node after the strongest change of an offer."""


@dataclass(frozen=True, slots=True)
class RelaxationNode:
    """A node and why the unit does not fit there; ``words`` is None if the pod itself does not."""

    node: Node
    words: ReasonWording | None


class UnitRelaxationSearch:
    """Looks for relaxations of one unit."""

    def __init__(self, scene: WhatIf, trials: WhatIfTrials, rest: RemainingConflict) -> None:
        self._scene = scene
        self._trials = trials
        self._rest = rest
        self.found: list[RelaxationAnswer] = []
        self._settled: set[Hashable] = set()

    def run(self, places: Sequence[RelaxationNode]) -> bool:
        """Fill ``found``; False: stopped early."""
        try:
            for search in (self._singles, self._pairs, self._many):
                if len(self.found) < ENOUGH_RELAXATIONS:
                    search(places)
        except TrialLimitError:
            return False
        finally:
            self.found.sort(key=lambda one: (len(one.changes), one.cost))
        return True

    def _singles(self, places: Sequence[RelaxationNode]) -> None:
        for place in places:
            if place.words is None:
                self._try_pod(place.node)
        by_subject: dict[Hashable, list[tuple[Node, RelaxationLevel]]] = defaultdict(list)
        for place in places:
            for offer in self._offers(place.words) if place.words else ():
                by_subject[offer.subject].append((place.node, offer))
        for subject, listed in sorted(by_subject.items(), key=lambda item: min(one.cost for _, one in item[1])):
            if len(self.found) < MAX_RELAXATIONS:
                self._try_all(subject, listed)

    def _try_all(self, subject: Hashable, listed: Sequence[tuple[Node, RelaxationLevel]]) -> None:
        """Find the cheapest change of a subject, whatever the node: another node may need less of it."""
        best: tuple[Node, Change] | None = None
        try:
            for node, offer in listed:
                rungs = tuple(one for one in offer.rungs if best is None or one.cost < best[1].cost)
                change = self._weakest(self._scene, node, dataclasses.replace(offer, rungs=rungs)) if rungs else None
                best = (node, change) if change else best
        finally:
            if best is not None:
                self._tell(best[0], subject, best[1])

    def _offers(self, words: ReasonWording) -> Iterator[RelaxationLevel]:
        """Leave out freeing what the unit itself has."""
        own = {("free", ref.key) for ref in self._scene.unit.claims}
        return (offer for offer in relaxation_levels(words) if offer.subject not in own)

    def _try_pod(self, node: Node) -> None:
        changes = pod_changes(self._scene, node)
        if changes and self._trials.fits(_apply_changes(self._scene, changes), node):
            self._tell(node, tuple(change.message for change in changes), *changes)

    def _weakest(self, scene: WhatIf, node: Node, offer: RelaxationLevel) -> Change | None:
        """Find the weakest change of an offer with which the unit fits, by bisection if it may be; None: none does."""
        if not offer.graded:
            return next((one for one in offer.rungs if self._trials.fits(_apply_changes(scene, [one]), node)), None)
        low, high = 0, len(offer.rungs) - 1
        if not self._trials.fits(_apply_changes(scene, offer.rungs[-1:]), node):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._trials.fits(_apply_changes(scene, [offer.rungs[middle]]), node):
                high = middle
            else:
                low = middle + 1
        return offer.rungs[high]

    def _pairs(self, places: Sequence[RelaxationNode]) -> None:
        for place in places:
            if place.words is not None:
                for first in self._offers(place.words):
                    if first.subject not in self._settled and len(self.found) < ENOUGH_RELAXATIONS:
                        self._pairs_with(place.node, place.words, first)

    def _pairs_with(self, node: Node, words: ReasonWording, first: RelaxationLevel) -> None:
        rest = self._rest(self._scene, words, node, first)
        if rest is None:
            return
        for second in self._offers(rest):
            key = frozenset({first.subject, second.subject})
            if (
                len(self.found) >= ENOUGH_RELAXATIONS
                or len(key) < 2
                or key in self._settled
                or second.subject in self._settled
            ):
                continue
            self._settled.add(key)
            pair = self._weakest_pair(node, first, second)
            if pair is not None:
                self._tell(node, key, *pair)

    def _weakest_pair(
        self, node: Node, first: RelaxationLevel, second: RelaxationLevel
    ) -> tuple[Change, Change] | None:
        """Weaken the second change as far as the strongest first one lets it, then the first."""
        if not self._trials.fits(_apply_changes(self._scene, [first.rungs[-1], second.rungs[-1]]), node):
            return None
        other = self._weakest_with(node, second, first.rungs[-1])
        return self._weakest_with(node, first, other), other

    def _weakest_with(self, node: Node, offer: RelaxationLevel, other: Change) -> Change:
        for change in offer.rungs[:-1]:
            if self._trials.fits(_apply_changes(self._scene, [change, other]), node):
                return change
        return offer.rungs[-1]

    def _many(self, places: Sequence[RelaxationNode]) -> None:
        """Free one claim after the other until the unit fits, and then keep those that need not go."""
        own = {ref.key for ref in self._scene.unit.claims}
        for place in places:
            claims = [key for key in holding_claims(place.words) if key not in own] if place.words else []
            if len(claims) > 1 and len(self.found) < ENOUGH_RELAXATIONS:
                offer = RelaxationLevel(
                    "many", tuple(freeing_change(claims[:size]) for size in range(1, len(claims) + 1))
                )
                change = self._weakest(self._scene, place.node, offer)
                if change is not None:
                    needed = self._needed(place.node, claims[: offer.rungs.index(change) + 1])
                    self._tell(place.node, ("free", *needed), freeing_change(needed))

    def _needed(self, node: Node, claims: list[ObjectKey]) -> list[ObjectKey]:
        def is_enough(fewer: list[ObjectKey]) -> bool:
            return bool(fewer) and self._trials.fits(_apply_changes(self._scene, [freeing_change(fewer)]), node)

        return deletion_filter([[claim] for claim in claims], is_enough)

    def _tell(self, node: Node, subject: Hashable, *changes: Change) -> None:
        self._settled.add(subject)
        reasons = tuple(change.reason for change in changes)
        if all(set(one.changes) != set(reasons) for one in self.found):
            cost = sum(change.cost for change in changes)
            self.found.append(RelaxationAnswer(changes=reasons, cost=cost, node=node.metadata.name))


def _apply_changes(scene: WhatIf, changes: Sequence[Change]) -> WhatIf:
    """Make changes: what drops entries by number goes from the last one down, and whole requests go last."""
    for change in sorted(changes, key=lambda change: -change.index):
        scene = change.apply(scene)
    return scene


def relaxation_levels(words: ReasonWording) -> tuple[RelaxationLevel, ...]:
    """List what could be changed about the reasons, the cheapest first."""
    made = ((reason, _LEVELS_OF_REASON.get(reason.id, _no_levels)(words, reason)) for reason in words.reasons)
    found = dict.fromkeys(dataclasses.replace(offer, reason=reason) for reason, own in made for offer in own)
    return tuple(sorted(found, key=lambda offer: offer.cost))


def _no_levels(_words: ReasonWording, _reason: Justification) -> Iterator[RelaxationLevel]:
    return iter(())


def _request_levels(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    merged = words.case.model.merged
    own = [alternative for alternative in merged.alternatives if alternative.request == reason.subject]
    # A shape or an expression may hold for so many devices and for no fewer.
    related = {number for relation in merged.relations for number in relation.alternatives}
    for alternative in own:
        if not words.case.problem.demands[alternative.demands[0]].all_devices:
            for target in change_targets(words, alternative):
                rungs = tuple(
                    _fewer_devices(target, alternative.count, less)
                    for less in _helpful_reductions(words, alternative.count)
                )
                if rungs:
                    yield RelaxationLevel(("count", target.demands), rungs, graded=alternative.index not in related)
    if sum(len(claim.requests) for claim in words.case.problem.claims) > 1:
        target = change_targets(words, own[0])[0]
        name = target.asks[0].request
        edit = partial(WhatIf.without_request, number=target.asks[0].claim, name=name)
        yield single_change_level(
            Change("request", target.claim, f"drop {target.text(name)}", CHANGE_COSTS["request"], edit)
        )


def _helpful_reductions(words: ReasonWording, count: int) -> range:
    """Say how many fewer may help: what is left must be there, and a claim may have as many (SRCH-8)."""
    return range(max(1, count - min(words.case.problem.size, RESULT_LIMIT)), count)


def _fewer_devices(target: ChangeTarget, count: int, less: int) -> Change:
    text = f"count {count - less} instead of {count} in"
    return target.change("count", text, lambda spec: replace(spec, count=count - less), times=less)


def _constraint_levels(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    entry = entry_of_reason(words.case, reason)
    equal = claims_of_entry(words.case, entry)
    sizes = (1, len(equal)) if len(equal) > 1 else (1,)
    for size in sizes:
        yield single_change_level(_drop_entry(words, entry, equal[-size:]))


def _drop_entry(words: ReasonWording, entry: MergedEntry, claims: Sequence[int]) -> Change:
    claim = claim_text(words.case.names.claims[claims[0]])
    more = f" (and {len(claims) - 1} equal)" if len(claims) > 1 else ""
    what = entry_name(entry)
    edits = [partial(WhatIf.without_entry, number=number, position=entry.position) for number in claims]
    text = f"drop {what} of claim {claim}{more}"
    return Change("constraint", claim, text, CHANGE_COSTS["constraint"] * len(claims), apply_all(edits), entry.position)


def _request_selector_levels(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    for alternative, obstacle in _alternatives_of_obstacle(words, reason):
        target = ChangeTarget(words, alternative.demands)
        drop = partial(_without_selector, index=obstacle.index)
        text = f"drop selector {obstacle.index} of"
        yield single_change_level(target.change(reason.id, text, drop, index=obstacle.index))


def _without_selector(spec: RequestSpec, index: int) -> RequestSpec:
    return replace(spec, selectors=_without_index(spec.selectors or (), index))


def _without_index(items: Sequence[DeviceSelector], index: int) -> tuple[DeviceSelector, ...] | None:
    return tuple(item for number, item in enumerate(items) if number != index) or None


def _alternatives_of_obstacle(
    words: ReasonWording, reason: Justification
) -> Iterator[tuple[MergedAlternative, Obstacle]]:
    """Find the alternatives among the reasons that a reason about an obstacle is about."""
    found = obstacle_of(reason)
    if found is not None:
        yield from (
            (alternative, found[1]) for alternative in words.alternatives if found[0] in (None, alternative.index)
        )


def _class_selector_levels(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    _, obstacle = next(_alternatives_of_obstacle(words, reason))
    text = f"drop selector {obstacle.index} of class {obstacle.name}"
    edit = partial(_without_class_selector, name=obstacle.name, index=obstacle.index)
    yield single_change_level(Change(reason.id, "", text, CHANGE_COSTS[reason.id], edit, obstacle.index))


def _without_class_selector(scene: WhatIf, name: str, index: int) -> WhatIf:
    known: DeviceClass = scene.cluster.classes[name]
    changed = replace(known, spec=replace(known.spec, selectors=_without_index(known.spec.selectors or (), index)))
    cluster = dataclasses.replace(scene.cluster, classes={**scene.cluster.classes, name: changed})
    return dataclasses.replace(scene, cluster=cluster)


def _toleration_levels(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    for alternative, obstacle in _alternatives_of_obstacle(words, reason):
        if words.stopped(alternative.index, obstacle):
            key, _, effect = obstacle.name.rpartition(":")
            name, equals, value = key.partition("=")
            toleration = DeviceToleration(
                key=name, operator="Equal" if equals else "Exists", value=value, effect=effect
            )
            target = ChangeTarget(words, alternative.demands)
            edit = partial(_with_toleration, toleration=toleration)
            yield single_change_level(target.change("toleration", f"tolerate {obstacle.name} in", edit))


def _with_toleration(spec: RequestSpec, toleration: DeviceToleration) -> RequestSpec:
    return replace(spec, tolerations=(*(spec.tolerations or ()), toleration))


_GATE_OF_REASON = {
    "bindingConditions": "DRADeviceBindingConditions",
    "countersFeature": "DRAPartitionableDevices",
    "groupsFeature": "DRADeviceCompatibilityGroups",
    "nodeOperations": "DRAOptionalNodeOperations",
}


def _feature_gate_levels(_words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    gate = _GATE_OF_REASON[reason.id]
    edit = partial(_with_gate_on, gate=gate)
    yield single_change_level(
        Change("featureGate", "", f"switch feature gate {gate} on", CHANGE_COSTS["featureGate"], edit)
    )


def _with_gate_on(scene: WhatIf, gate: str) -> WhatIf:
    return dataclasses.replace(scene, gates=scene.gates.with_({gate: True}))


def _capacity_levels(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    """Ask for less, or free what is consumed; ``reason`` is about a request's own demand or about what is left."""
    found = obstacle_of(reason)
    alternatives = (
        words.alternatives
        if found is None
        else [alternative for alternative, _ in _alternatives_of_obstacle(words, reason)]
    )
    for alternative in alternatives:
        for name, asked in words.case.asks[alternative.demands[0]].capacity.items():
            if found is not None or name == reason.subject:
                for target in change_targets(words, alternative):
                    yield from _less_capacity_levels(target, alternative, name, asked)
    if found is None:
        yield from levels_freeing_capacity(words, reason)


def _less_capacity_levels(
    target: ChangeTarget, alternative: MergedAlternative, name: str, asked: Quantity
) -> Iterator[RelaxationLevel]:
    case = target.words.case
    capacities, consumed = case.problem.capacities, case.in_use.consumed
    left = {
        share
        for device in target.words.meant(alternative)
        for row in capacities.rows.get(device, ())
        if capacities.names[row] == name
        for share in {capacities.totals[row] - consumed.get(row, 0), capacities.totals[row] // alternative.copies}
        if 0 < share < asked.nano
    }
    rungs = tuple(
        target.change(
            "capacity",
            f"ask for {display_amount(share)} of {name} instead of {asked} in",
            partial(_with_capacity_request, name=name, text=display_amount(share)),
        )
        for share in sorted(left, reverse=True)
    )
    if rungs:
        yield RelaxationLevel(("capacity", name, target.demands), rungs)


def _with_capacity_request(spec: RequestSpec, name: str, text: str) -> RequestSpec:
    requests = {**((spec.capacity.requests if spec.capacity else None) or {}), name: text}
    return replace(spec, capacity=CapacityRequirements(requests=requests))


# So many devices of a claim are offered to be freed one at a time, and so many claims together.
_MAX_SINGLE_DEVICES = 8
_MAX_CLAIMS_TOGETHER = 16


def levels_freeing_devices(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    """Free the devices that a claim has for itself, or the whole claim."""
    yield from _levels_freeing_claims(_holdings_of_reason(words, reason))


def levels_freeing_counters(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    """Free devices that draw from the counters of a pool."""
    if reason.pool is not None:
        yield from _levels_freeing_claims(holders_of_counters(words, reason.pool))


def levels_freeing_capacity(words: ReasonWording, reason: Justification) -> Iterator[RelaxationLevel]:
    """Free shares of devices with a capacity."""
    yield from _levels_freeing_claims(holders_of_capacity(words, str(reason.subject)))


def _levels_freeing_claims(holds: Sequence[ClaimHolding]) -> Iterator[RelaxationLevel]:
    for hold in holds:
        if len(hold.devices) > 1 or hold.more:
            yield from (_free_device(hold.claim, device) for device in hold.devices[:_MAX_SINGLE_DEVICES])
        yield RelaxationLevel(("free", hold.claim), (freeing_change([hold.claim]),))


def holding_claims(words: ReasonWording) -> list[ObjectKey]:
    """List the claims that have devices which the requests among the reasons mean, those in the reasons first."""
    of_reasons = [
        hold for reason in words.reasons if reason.id == "inUse" for hold in _holdings_of_reason(words, reason)
    ]
    met = dict.fromkeys(
        one
        for alternative in words.alternatives
        for device in words.meant(alternative)
        for one in words.case.obstacles.of[alternative.demands[0]][device]
        if one.filter == "inUse"
    )
    others = (hold for one in met for hold in holders_of_devices(words, one))
    return list(dict.fromkeys(hold.claim for hold in (*of_reasons, *others)))[:_MAX_CLAIMS_TOGETHER]


def _holdings_of_reason(words: ReasonWording, reason: Justification) -> Sequence[ClaimHolding]:
    found = obstacle_of(reason)
    return holders_of_devices(words, found[1]) if found else ()


def _free_device(claim: ObjectKey, device: DeviceId) -> RelaxationLevel:
    name = claim_text(claim)
    edit = partial(WhatIf.without_device, key=claim, device=device)
    text = f"free one device of claim {name}: {device[2]}"
    return RelaxationLevel(("free", claim), (Change("freeDevice", name, text, CHANGE_COSTS["freeDevice"], edit),))


def freeing_change(claims: Sequence[ObjectKey]) -> Change:
    """Free all that these claims hold."""
    names = ", ".join(map(claim_text, claims))
    text = f"free claim{'s' if len(claims) > 1 else ''} {names}"
    edit = partial(WhatIf.without_claims, keys=tuple(claims))
    return Change("freeClaim", names if len(claims) == 1 else "", text, CHANGE_COSTS["freeClaim"] * len(claims), edit)


@dataclass(frozen=True, slots=True)
class ClaimHolding:
    """A claim with those of its devices that matter; ``more``: it has others too."""

    claim: ObjectKey
    devices: tuple[DeviceId, ...]
    more: bool


def holders_of_devices(words: ReasonWording, obstacle: Obstacle) -> tuple[ClaimHolding, ...]:
    """Find the claim that has these devices for itself."""
    stopped = words.stopped(None, obstacle)
    return _claim_holdings(words, (words.case.view.devices[number].id for number in stopped), obstacle.name)


def holders_of_counters(words: ReasonWording, pool: int) -> tuple[ClaimHolding, ...]:
    """Find the claims that have devices which draw from a pool's counters, on any node (CTR-1)."""
    there = words.case.view.pools[pool]
    drawing = (device.id for device in (*there.devices, *there.other_devices) if device.device.consumes_counters)
    return _claim_holdings(words, drawing)


def holders_of_capacity(words: ReasonWording, name: str) -> tuple[ClaimHolding, ...]:
    """Find the claims that share devices with this capacity."""
    capacities = words.case.problem.capacities
    having = (
        words.case.view.devices[device].id
        for alternative in words.alternatives
        for device in words.meant(alternative)
        if any(capacities.names[row] == name for row in capacities.rows.get(device, ()))
    )
    return _claim_holdings(words, dict.fromkeys(having))


def _claim_holdings(words: ReasonWording, devices: Iterable[DeviceId], only: str = "") -> tuple[ClaimHolding, ...]:
    usage = words.case.ledger.usage
    by_claim: dict[ObjectKey, dict[DeviceId, None]] = {}
    for device in devices:
        for hold in usage.holds(device):
            if only in ("", claim_text(hold.claim)):
                by_claim.setdefault(hold.claim, {})[device] = None
    return tuple(
        ClaimHolding(claim, tuple(found), len(found) < len(usage.held_by(claim))) for claim, found in by_claim.items()
    )


_LEVELS_OF_REASON: dict[str, Callable[[ReasonWording, Justification], Iterator[RelaxationLevel]]] = {
    "exactCount": _request_levels,
    "all": _request_levels,
    "firstAvailable": _request_levels,
    "matchAttribute": _constraint_levels,
    "cel": _constraint_levels,
    "topology": _constraint_levels,
    "predicate": _constraint_levels,
    "distinctAttribute": _constraint_levels,
    "requestSelector": _request_selector_levels,
    "classSelector": _class_selector_levels,
    "taint": _toleration_levels,
    "inUse": levels_freeing_devices,
    "capacity": _capacity_levels,
    "counters": levels_freeing_counters,
    "compatibilityGroups": levels_freeing_counters,
    **dict.fromkeys(_GATE_OF_REASON, _feature_gate_levels),
}
