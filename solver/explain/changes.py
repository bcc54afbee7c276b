"""What could be changed so that a unit fits, for each kind of reason, and the cost of each change.

Costs only order the changes. They add up over everything that a relaxation touches: dropping a constraint from three
equal claims costs three times as much as dropping it from one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

from msgspec.structs import replace

from ...encoders.symmetry import MergedAlternative
from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import CapacityRequirements, DeviceClass, DeviceSelector, DeviceToleration, RequestSpec
from ...models.kubernetes.core import Container, Node, PodSpec, ResourceRequirements, Toleration
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.kubernetes.quantity import Quantity, display_amount
from ...models.results.common import Reason
from ...models.workload.node_room import ROOM
from ...models.workload.requests import format_amount
from ...problem.messages import Justification, claim_text
from ...problem.obstacles import Obstacle
from ...problem.problem import RESULT_LIMIT
from ...problem.requests import ResolvedRequest
from . import wording
from .conflict import REQUEST_REASONS, obstacle_of
from .what_if import WhatIf, WhatIfEdit, pod_misfits

CHANGE_COSTS = {
    "count": 1,  # for each device less
    "toleration": 1,
    "requestSelector": 2,
    "capacity": 2,
    "constraint": 2,
    "freeDevice": 2,
    "freeClaim": 3,
    "request": 4,
    "featureGate": 5,
    "classSelector": 6,
    # About the pod.
    "nodeTaint": 1,
    "nodeUnschedulable": 1,
    "nodeSelector": 2,
    "nodeAffinity": 2,
    "nodeName": 3,
    ROOM: 3,
}


@dataclass(frozen=True, slots=True)
class Change:
    """Something that could be changed; ``apply`` changes a question.

    ``index`` is the number of what is dropped from a list: of several changes the highest comes first.
    """

    id: str
    claim: str
    message: str
    cost: int
    apply: WhatIfEdit = field(compare=False)
    index: int = -1

    @property
    def reason(self) -> Reason:
        """The change as it is reported."""
        return Reason(self.id, self.claim, self.message)


@dataclass(frozen=True, slots=True)
class RelaxationOption:
    """Changes of one kind, weakest first; if ``is_monotone``, a unit that fits with one fits with the later ones, too.

    Of options with one ``subject`` the first that helps is enough. ``reason`` is the reason that they change.
    """

    subject: Hashable
    changes: tuple[Change, ...]
    reason: Justification | None = None
    is_monotone: bool = True

    @property
    def cost(self) -> int:
        """The least cost."""
        return self.changes[0].cost


def apply_all(changes: Iterable[WhatIfEdit]) -> WhatIfEdit:
    """Apply all of these."""
    listed = tuple(changes)
    return lambda what_if: reduce(lambda made, change: change(made), listed, what_if)


def single_change_option(change: Change) -> RelaxationOption:
    """Return the option of a change that has no weaker form."""
    return RelaxationOption((change.id, change.message), (change,))


@dataclass(frozen=True, slots=True)
class ChangeTarget:
    """Equal requests or alternatives, of one claim or of several equal ones, to which a change is made."""

    words: wording.ReasonWording
    demands: tuple[int, ...]

    @property
    def asks(self) -> list[ResolvedRequest]:
        """The requests as resolved."""
        return [self.words.guarded.asks[number] for number in self.demands]

    @property
    def claim(self) -> str:
        """The first one's claim."""
        return claim_text(self.words.guarded.names.claims[self.asks[0].claim])

    def text(self, name: str) -> str:
        """Write their name, and how many there are."""
        more = f" (and {len(self.demands) - 1} equal)" if len(self.demands) > 1 else ""
        return f"request {name} of claim {self.claim}{more}"

    def change(
        self, id_: str, message: str, edit: Callable[[RequestSpec], RequestSpec], *, times: int = 1, index: int = -1
    ) -> Change:
        """Make a change to the specs of all of them, at ``times`` its usual cost."""
        labels = [self.words.guarded.problem.demands[number].label for number in self.demands]
        pairs = zip((ask.claim for ask in self.asks), labels, strict=True)
        edits = [partial(WhatIf.with_request, number=claim, name=label, change=edit) for claim, label in pairs]
        whole = f"{message} {self.text(labels[0])}"
        return Change(id_, self.claim, whole, CHANGE_COSTS[id_] * times * len(self.demands), apply_all(edits), index)


def change_targets(words: wording.ReasonWording, alternative: MergedAlternative) -> list[ChangeTarget]:
    """Change one of equal requests, the last, or all of them."""
    last = ChangeTarget(words, alternative.demands[-1:])
    return [last, ChangeTarget(words, alternative.demands)] if alternative.copies > 1 else [last]


def pod_changes(what_if: WhatIf, node: Node) -> list[Change]:
    """List changes after which the pod itself fits the node; none if there is no pod, or nothing helps."""
    changes: list[Change] = []
    for misfit in pod_misfits(what_if.unit, node, what_if.rooms):
        if misfit.id == ROOM:
            lowered = _lowered_requests(what_if, node)
            if lowered is None:
                return []
            changes.append(lowered)
            continue
        text, edit = _POD_EDITS[misfit.id]
        apply: Callable[[WhatIf], WhatIf] = partial(WhatIf.with_pod, change=partial(edit, node))
        changes.append(Change(misfit.id, "", f"{text} ({misfit.message})", CHANGE_COSTS[misfit.id], apply))
    return changes


def _lowered_requests(what_if: WhatIf, node: Node) -> Change | None:
    """Ask for no more than the node has left; None where there is nothing left of something, not even for a pod."""
    pod, rooms = what_if.unit.pod, what_if.rooms
    if pod is None or rooms is None:
        return None
    demand = rooms.demand(pod.spec)
    lowered = rooms.lowered_requests(demand, node.metadata.name)
    if demand is None or lowered is None:
        return None
    requests = demand.requests
    less = [
        f"{format_amount(name, amount)} instead of {format_amount(name, requests[name])} of {name}"
        for name, amount in lowered.items()
        if amount < requests[name]
    ]
    amounts = {name: format_amount(name, amount) for name, amount in lowered.items()}
    edit = partial(WhatIf.with_pod, change=partial(_asking_for, amounts))
    return Change(ROOM, "", f"let the pod ask for {' and '.join(less)}", CHANGE_COSTS[ROOM], edit)


def _asking_for(amounts: Mapping[str, QuantityText], spec: PodSpec) -> PodSpec:
    """A pod that takes just these amounts, whichever containers they are for."""
    container = Container(name="all", resources=ResourceRequirements(requests=dict(amounts)))
    return replace(spec, containers=(container,), init_containers=None, overhead=None, resources=None)


def _tolerate_node_taints(node: Node, spec: PodSpec) -> PodSpec:
    taints = (node.spec.taints if node.spec else None) or ()
    added = tuple(Toleration(key=one.key, operator="Exists", effect=one.effect) for one in taints)
    return replace(spec, tolerations=(*(spec.tolerations or ()), *added))


def _tolerate_unschedulable(_node: Node, spec: PodSpec) -> PodSpec:
    added = Toleration(key="node.kubernetes.io/unschedulable", operator="Exists")
    return replace(spec, tolerations=(*(spec.tolerations or ()), added))


_POD_EDITS: dict[str, tuple[str, Callable[[Node, PodSpec], PodSpec]]] = {
    "nodeName": ("let the pod go to another node", lambda _, spec: replace(spec, node_name="")),
    "nodeSelector": ("drop the pod's node selector", lambda _, spec: replace(spec, node_selector=None)),
    "nodeAffinity": ("drop the pod's required node affinity", lambda _, spec: replace(spec, affinity=None)),
    "nodeUnschedulable": ("make the node schedulable", _tolerate_unschedulable),
    "nodeTaint": ("tolerate the node's taints", _tolerate_node_taints),
}


def relaxation_options(words: wording.ReasonWording) -> tuple[RelaxationOption, ...]:
    """List what could be changed about the reasons, the cheapest first."""
    known = (reason for reason in words.reasons if reason.id in _OPTIONS_OF_REASON)
    made = ((reason, _OPTIONS_OF_REASON[reason.id](words, reason)) for reason in known)
    found = dict.fromkeys(dataclasses.replace(option, reason=reason) for reason, own in made for option in own)
    return tuple(sorted(found, key=lambda option: option.cost))


def _request_options(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    merged = words.guarded.model.merged
    own = [alternative for alternative in merged.alternatives if alternative.request == reason.subject]
    # A shape or an expression may hold for so many devices and for no fewer.
    related = {number for relation in merged.relations for number in relation.alternatives}
    for alternative in own:
        if not words.guarded.problem.demands[alternative.demands[0]].all_devices:
            for target in change_targets(words, alternative):
                # The rest must exist, and a claim may have as many (SRCH-8).
                least = max(1, alternative.count - min(words.guarded.problem.size, RESULT_LIMIT))
                reductions = range(least, alternative.count)
                changes = tuple(_fewer_devices(target, alternative.count, less) for less in reductions)
                if changes:
                    yield RelaxationOption(
                        ("count", target.demands), changes, is_monotone=alternative.index not in related
                    )
    if sum(len(claim.requests) for claim in words.guarded.problem.claims) > 1:
        target = change_targets(words, own[0])[0]
        name = target.asks[0].request
        edit = partial(WhatIf.without_request, number=target.asks[0].claim, name=name)
        yield single_change_option(
            Change("request", target.claim, f"drop {target.text(name)}", CHANGE_COSTS["request"], edit)
        )


def _fewer_devices(target: ChangeTarget, count: int, less: int) -> Change:
    text = f"count {count - less} instead of {count} in"
    return target.change("count", text, lambda spec: replace(spec, count=count - less), times=less)


def _constraint_options(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    entry = wording.entry_of_reason(words.guarded, reason)
    equal = wording.claims_of_entry(words.guarded, entry)
    for size in sorted({1, len(equal)}):
        yield single_change_option(_drop_entry(words, entry, equal[-size:]))


def _drop_entry(words: wording.ReasonWording, entry: wording.MergedEntry, claims: Sequence[int]) -> Change:
    claim = claim_text(words.guarded.names.claims[claims[0]])
    more = f" (and {len(claims) - 1} equal)" if len(claims) > 1 else ""
    what = wording.entry_name(entry)
    edits = [partial(WhatIf.without_entry, number=number, position=entry.position) for number in claims]
    text = f"drop {what} of claim {claim}{more}"
    return Change("constraint", claim, text, CHANGE_COSTS["constraint"] * len(claims), apply_all(edits), entry.position)


def _request_selector_options(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    for alternative, obstacle in _alternatives_of_obstacle(words, reason):
        target = ChangeTarget(words, alternative.demands)
        drop = partial(_without_selector, index=obstacle.index)
        text = f"drop selector {obstacle.index} of"
        yield single_change_option(target.change(reason.id, text, drop, index=obstacle.index))


def _without_selector(spec: RequestSpec, index: int) -> RequestSpec:
    return replace(spec, selectors=_without_index(spec.selectors or (), index))


def _without_index(items: Sequence[DeviceSelector], index: int) -> tuple[DeviceSelector, ...] | None:
    return tuple(item for number, item in enumerate(items) if number != index) or None


def _alternatives_of_obstacle(
    words: wording.ReasonWording, reason: Justification
) -> Iterator[tuple[MergedAlternative, Obstacle]]:
    """Find the alternatives among the reasons that a reason about an obstacle is about."""
    found = obstacle_of(reason)
    if found is not None:
        yield from (
            (alternative, found[1]) for alternative in words.alternatives if found[0] in (None, alternative.index)
        )


def _class_selector_options(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    _, obstacle = next(_alternatives_of_obstacle(words, reason))
    text = f"drop selector {obstacle.index} of class {obstacle.name}"
    edit = partial(_without_class_selector, name=obstacle.name, index=obstacle.index)
    yield single_change_option(Change(reason.id, "", text, CHANGE_COSTS[reason.id], edit, obstacle.index))


def _without_class_selector(what_if: WhatIf, name: str, index: int) -> WhatIf:
    known: DeviceClass = what_if.cluster.classes[name]
    changed = replace(known, spec=replace(known.spec, selectors=_without_index(known.spec.selectors or (), index)))
    cluster = dataclasses.replace(what_if.cluster, classes={**what_if.cluster.classes, name: changed})
    return dataclasses.replace(what_if, cluster=cluster)


def _toleration_options(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    for alternative, obstacle in _alternatives_of_obstacle(words, reason):
        if words.stopped_devices(alternative.index, obstacle):
            key, _, effect = obstacle.name.rpartition(":")
            name, equals, value = key.partition("=")
            toleration = DeviceToleration(
                key=name, operator="Equal" if equals else "Exists", value=value, effect=effect
            )
            target = ChangeTarget(words, alternative.demands)
            edit = partial(_with_toleration, toleration=toleration)
            yield single_change_option(target.change("toleration", f"tolerate {obstacle.name} in", edit))


def _with_toleration(spec: RequestSpec, toleration: DeviceToleration) -> RequestSpec:
    return replace(spec, tolerations=(*(spec.tolerations or ()), toleration))


_GATE_OF_REASON = {
    "bindingConditions": "DRADeviceBindingConditions",
    "countersFeature": "DRAPartitionableDevices",
    "groupsFeature": "DRADeviceCompatibilityGroups",
    "nodeOperations": "DRAOptionalNodeOperations",
}


def _feature_gate_options(_words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    gate = _GATE_OF_REASON[reason.id]

    def switch_on(what_if: WhatIf) -> WhatIf:
        return dataclasses.replace(what_if, gates=what_if.gates.with_({gate: True}))

    text = f"switch feature gate {gate} on"
    yield single_change_option(Change("featureGate", "", text, CHANGE_COSTS["featureGate"], switch_on))


def _capacity_options(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    """Ask for less, or free what is consumed; ``reason`` is about a request's own demand or about what is left."""
    found = obstacle_of(reason)
    alternatives = (
        words.alternatives
        if found is None
        else [alternative for alternative, _ in _alternatives_of_obstacle(words, reason)]
    )
    for alternative in alternatives:
        for name, requested in words.guarded.asks[alternative.demands[0]].capacity.items():
            if found is not None or name == reason.subject:
                for target in change_targets(words, alternative):
                    yield from _less_capacity_options(target, alternative, name, requested)
    if found is None:
        yield from _options_freeing_claims(wording.holders_of_capacity(words, str(reason.subject)))


def _less_capacity_options(
    target: ChangeTarget, alternative: MergedAlternative, name: str, requested: Quantity
) -> Iterator[RelaxationOption]:
    guarded = target.words.guarded
    capacities, consumed = guarded.problem.capacities, guarded.in_use.consumed
    left = {
        share
        for device in target.words.selected_devices(alternative)
        for row in capacities.rows.get(device, ())
        if capacities.names[row] == name
        for share in {capacities.totals[row] - consumed.get(row, 0), capacities.totals[row] // alternative.copies}
        if 0 < share < requested.nano
    }
    changes = tuple(
        target.change(
            "capacity",
            f"ask for {display_amount(share)} of {name} instead of {requested} in",
            partial(_with_capacity_request, name=name, text=display_amount(share)),
        )
        for share in sorted(left, reverse=True)
    )
    if changes:
        yield RelaxationOption(("capacity", name, target.demands), changes)


def _with_capacity_request(spec: RequestSpec, name: str, text: str) -> RequestSpec:
    requests = {**((spec.capacity.requests if spec.capacity else None) or {}), name: text}
    return replace(spec, capacity=CapacityRequirements(requests=requests))


# So many devices of a claim are offered to be freed one at a time, and so many claims together.
_MAX_SINGLE_DEVICES = 8
_MAX_CLAIMS_TOGETHER = 16


def options_freeing_devices(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    """Free the devices that a claim has for itself, or the whole claim."""
    yield from _options_freeing_claims(_holdings_of_reason(words, reason))


def options_freeing_counters(words: wording.ReasonWording, reason: Justification) -> Iterator[RelaxationOption]:
    """Free devices that draw from the counters of a pool."""
    if reason.pool is not None:
        yield from _options_freeing_claims(wording.holders_of_counters(words, reason.pool))


def _options_freeing_claims(holds: Sequence[wording.ClaimHolding]) -> Iterator[RelaxationOption]:
    for hold in holds:
        if len(hold.devices) > 1 or hold.more:
            yield from (_free_device(hold.claim, device) for device in hold.devices[:_MAX_SINGLE_DEVICES])
        yield RelaxationOption(("free", hold.claim), (freeing_change([hold.claim]),))


def holding_claims(words: wording.ReasonWording) -> list[ObjectKey]:
    """List the claims that have devices which the requests among the reasons mean, those in the reasons first."""
    of_reasons = [
        hold for reason in words.reasons if reason.id == "inUse" for hold in _holdings_of_reason(words, reason)
    ]
    met = dict.fromkeys(
        one
        for alternative in words.alternatives
        for device in words.selected_devices(alternative)
        for one in words.guarded.obstacles.of[alternative.demands[0]][device]
        if one.filter == "inUse"
    )
    others = (hold for one in met for hold in wording.holders_of_devices(words, one))
    return list(dict.fromkeys(hold.claim for hold in (*of_reasons, *others)))[:_MAX_CLAIMS_TOGETHER]


def _holdings_of_reason(words: wording.ReasonWording, reason: Justification) -> Sequence[wording.ClaimHolding]:
    found = obstacle_of(reason)
    return wording.holders_of_devices(words, found[1]) if found else ()


def _free_device(claim: ObjectKey, device: DeviceId) -> RelaxationOption:
    name = claim_text(claim)
    edit = partial(WhatIf.without_device, key=claim, device=device)
    text = f"free one device of claim {name}: {device[2]}"
    return RelaxationOption(("free", claim), (Change("freeDevice", name, text, CHANGE_COSTS["freeDevice"], edit),))


def freeing_change(claims: Sequence[ObjectKey]) -> Change:
    """Free all that these claims hold."""
    names = ", ".join(map(claim_text, claims))
    text = f"free claim{'s' if len(claims) > 1 else ''} {names}"
    edit = partial(WhatIf.without_claims, keys=tuple(claims))
    return Change("freeClaim", names if len(claims) == 1 else "", text, CHANGE_COSTS["freeClaim"] * len(claims), edit)


_OPTIONS_OF_REASON: dict[str, Callable[[wording.ReasonWording, Justification], Iterator[RelaxationOption]]] = {
    **dict.fromkeys(REQUEST_REASONS, _request_options),
    **dict.fromkeys(("matchAttribute", "distinctAttribute", "cel", "topology", "predicate"), _constraint_options),
    "requestSelector": _request_selector_options,
    "classSelector": _class_selector_options,
    "taint": _toleration_options,
    "inUse": options_freeing_devices,
    "capacity": _capacity_options,
    "counters": options_freeing_counters,
    "compatibilityGroups": options_freeing_counters,
    **dict.fromkeys(_GATE_OF_REASON, _feature_gate_options),
}
