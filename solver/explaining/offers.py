"""Offers for each kind of reason: candidates for relaxations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from ...encoders.collapsed import Branch
from ...models.claims import CapacityRequirements, DeviceClass, DeviceSelector
from ...models.quantity import Quantity
from ...models.taints import DeviceToleration
from ...problem.justification import Justification
from ...problem.messages import claim_text
from ...problem.obstacles import Obstacle
from ...problem.records import RESULT_LIMIT
from ..proofs.wording import amount
from .entries import Entry, claims_of, entry_of, named
from .freeing import capacity_in_use, counters_in_use, devices_in_use
from .offer import COSTS, Change, Offer, Target, every, single, targets
from .scene import Scene, Spec
from .sentences import Sentences, obstacle_of


def offers(words: Sentences) -> tuple[Offer, ...]:
    """List what could be changed about the reasons, the cheapest first."""
    made = ((reason, _MAKERS.get(reason.id, _nothing)(words, reason)) for reason in words.reasons)
    found = dict.fromkeys(dataclasses.replace(offer, reason=reason) for reason, own in made for offer in own)
    return tuple(sorted(found, key=lambda offer: offer.cost))


def _nothing(_words: Sentences, _reason: Justification) -> Iterator[Offer]:
    return iter(())


def _request(words: Sentences, reason: Justification) -> Iterator[Offer]:
    merged = words.case.model.merged
    own = [branch for branch in merged.branches if branch.request == reason.subject]
    # A shape or an expression may hold for so many devices and for no fewer.
    related = {number for relation in merged.relations for number in relation.branches}
    for branch in own:
        if not words.case.problem.demands[branch.demands[0]].all_devices:
            for target in targets(words, branch):
                rungs = tuple(_fewer(target, branch.count, less) for less in _lower(words, branch.count))
                if rungs:
                    yield Offer(("count", target.demands), rungs, graded=branch.index not in related)
    if sum(len(claim.requests) for claim in words.case.problem.claims) > 1:
        target = targets(words, own[0])[0]
        name = target.asks[0].request
        edit = partial(Scene.without_request, number=target.asks[0].claim, name=name)
        yield single(Change("request", target.claim, f"drop {target.text(name)}", COSTS["request"], edit))


def _lower(words: Sentences, count: int) -> range:
    """Say how many fewer may help: what is left must be there, and a claim may have as many (SRCH-8)."""
    return range(max(1, count - min(words.case.problem.size, RESULT_LIMIT)), count)


def _fewer(target: Target, count: int, less: int) -> Change:
    text = f"count {count - less} instead of {count} in"
    return target.change("count", text, lambda spec: replace(spec, count=count - less), times=less)


def _constraint(words: Sentences, reason: Justification) -> Iterator[Offer]:
    entry = entry_of(words.case, reason)
    equal = claims_of(words.case, entry)
    sizes = (1, len(equal)) if len(equal) > 1 else (1,)
    for size in sizes:
        yield single(_dropped(words, entry, equal[-size:]))


def _dropped(words: Sentences, entry: Entry, claims: Sequence[int]) -> Change:
    claim = claim_text(words.case.names.claims[claims[0]])
    more = f" (and {len(claims) - 1} equal)" if len(claims) > 1 else ""
    what = named(entry)
    edits = [partial(Scene.without_entry, number=number, position=entry.position) for number in claims]
    text = f"drop {what} of claim {claim}{more}"
    return Change("constraint", claim, text, COSTS["constraint"] * len(claims), every(edits), entry.position)


def _request_selector(words: Sentences, reason: Justification) -> Iterator[Offer]:
    for branch, obstacle in _own(words, reason):
        target = Target(words, branch.demands)
        drop = partial(_without_selector, index=obstacle.index)
        text = f"drop selector {obstacle.index} of"
        yield single(target.change(reason.id, text, drop, index=obstacle.index))


def _without_selector(spec: Spec, index: int) -> Spec:
    return replace(spec, selectors=_except(spec.selectors or (), index))


def _except(items: Sequence[DeviceSelector], index: int) -> tuple[DeviceSelector, ...] | None:
    return tuple(item for number, item in enumerate(items) if number != index) or None


def _own(words: Sentences, reason: Justification) -> Iterator[tuple[Branch, Obstacle]]:
    """Find the branches among the reasons that a reason about an obstacle is about."""
    found = obstacle_of(reason)
    if found is not None:
        yield from ((branch, found[1]) for branch in words.branches if found[0] in (None, branch.index))


def _class_selector(words: Sentences, reason: Justification) -> Iterator[Offer]:
    _, obstacle = next(_own(words, reason))
    text = f"drop selector {obstacle.index} of class {obstacle.name}"
    edit = partial(_without_class_selector, name=obstacle.name, index=obstacle.index)
    yield single(Change(reason.id, "", text, COSTS[reason.id], edit, obstacle.index))


def _without_class_selector(scene: Scene, name: str, index: int) -> Scene:
    known: DeviceClass = scene.cluster.classes[name]
    changed = replace(known, spec=replace(known.spec, selectors=_except(known.spec.selectors or (), index)))
    cluster = dataclasses.replace(scene.cluster, classes={**scene.cluster.classes, name: changed})
    return dataclasses.replace(scene, cluster=cluster)


def _taint(words: Sentences, reason: Justification) -> Iterator[Offer]:
    for branch, obstacle in _own(words, reason):
        if words.stopped(branch.index, obstacle):
            key, _, effect = obstacle.name.rpartition(":")
            name, equals, value = key.partition("=")
            toleration = DeviceToleration(
                key=name, operator="Equal" if equals else "Exists", value=value, effect=effect
            )
            target = Target(words, branch.demands)
            edit = partial(_tolerating, toleration=toleration)
            yield single(target.change("toleration", f"tolerate {obstacle.name} in", edit))


def _tolerating(spec: Spec, toleration: DeviceToleration) -> Spec:
    return replace(spec, tolerations=(*(spec.tolerations or ()), toleration))


_GATES = {
    "bindingConditions": "DRADeviceBindingConditions",
    "countersFeature": "DRAPartitionableDevices",
    "groupsFeature": "DRADeviceCompatibilityGroups",
    "nodeOperations": "DRAOptionalNodeOperations",
}


def _feature(_words: Sentences, reason: Justification) -> Iterator[Offer]:
    gate = _GATES[reason.id]
    edit = partial(_switching, gate=gate)
    yield single(Change("featureGate", "", f"switch feature gate {gate} on", COSTS["featureGate"], edit))


def _switching(scene: Scene, gate: str) -> Scene:
    return dataclasses.replace(scene, gates=scene.gates.with_({gate: True}))


def _capacity(words: Sentences, reason: Justification) -> Iterator[Offer]:
    """Ask for less, or free what is consumed; ``reason`` is about a request's own demand or about what is left."""
    found = obstacle_of(reason)
    branches = words.branches if found is None else [branch for branch, _ in _own(words, reason)]
    for branch in branches:
        for name, asked in words.case.asks[branch.demands[0]].capacity.items():
            if found is not None or name == reason.subject:
                for target in targets(words, branch):
                    yield from _less(target, branch, name, asked)
    if found is None:
        yield from capacity_in_use(words, reason)


def _less(target: Target, branch: Branch, name: str, asked: Quantity) -> Iterator[Offer]:
    case = target.words.case
    capacities, consumed = case.problem.capacities, case.in_use.consumed
    left = {
        share
        for device in target.words.meant(branch)
        for row in capacities.rows.get(device, ())
        if capacities.names[row] == name
        for share in {capacities.totals[row] - consumed.get(row, 0), capacities.totals[row] // branch.copies}
        if 0 < share < asked.nano
    }
    rungs = tuple(
        target.change(
            "capacity",
            f"ask for {amount(share)} of {name} instead of {asked} in",
            partial(_asking, name=name, text=amount(share)),
        )
        for share in sorted(left, reverse=True)
    )
    if rungs:
        yield Offer(("capacity", name, target.demands), rungs)


def _asking(spec: Spec, name: str, text: str) -> Spec:
    requests = {**((spec.capacity.requests if spec.capacity else None) or {}), name: text}
    return replace(spec, capacity=CapacityRequirements(requests=requests))


_MAKERS: dict[str, Callable[[Sentences, Justification], Iterator[Offer]]] = {
    "exactCount": _request,
    "all": _request,
    "firstAvailable": _request,
    "matchAttribute": _constraint,
    "cel": _constraint,
    "topology": _constraint,
    "predicate": _constraint,
    "distinctAttribute": _constraint,
    "requestSelector": _request_selector,
    "classSelector": _class_selector,
    "taint": _taint,
    "inUse": devices_in_use,
    "capacity": _capacity,
    "counters": counters_in_use,
    "compatibilityGroups": counters_in_use,
    **dict.fromkeys(_GATES, _feature),
}
