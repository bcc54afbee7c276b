"""What could be changed, and how dear that is.

Costs are for ordering only. They add up over everything that a relaxation touches: dropping a constraint from three
equal claims costs three times as much as from one.

What would have to change about a pod, or about its tolerations, for a node to suit it.

What a unit is asked in: the cluster and the unit itself, each of which a relaxation may change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial, reduce

from msgspec.structs import replace

from ...encoders.classes import MergedAlternative
from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import Misfit, pod_fits
from ...models.kubernetes.claims import DeviceClaim, DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaim
from ...models.kubernetes.core import Node, PodSpec, Toleration
from ...models.kubernetes.extensions import CallerConstraint, annotated_entries, with_entries
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.results.common import Reason
from ...models.workload.units import Unit
from ...problem.asks import ResolvedRequest
from ...problem.in_use import AllocatedState
from ...problem.problem import Justification, claim_text
from .wording import ReasonWording

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
}


@dataclass(frozen=True, slots=True)
class Change:
    """Something that could be changed; ``apply`` makes the scene in which it is.

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
        """What is told of it."""
        return Reason(self.id, self.claim, self.message)


@dataclass(frozen=True, slots=True)
class RelaxationLevel:
    """Changes of one kind, weakest first; if ``graded``, whatever fits with one of them fits with the later ones too.

    Of offers with one ``subject`` the first that helps is enough. ``reason`` is what they are about.
    """

    subject: Hashable
    rungs: tuple[Change, ...]
    reason: Justification | None = None
    graded: bool = True

    @property
    def cost(self) -> int:
        """What it costs at least."""
        return self.rungs[0].cost


def apply_all(changes: Iterable[WhatIfEdit]) -> WhatIfEdit:
    """Apply all of these."""
    listed = tuple(changes)
    return lambda scene: reduce(lambda made, change: change(made), listed, scene)


def single_change_level(change: Change) -> RelaxationLevel:
    """Offer a change that has no weaker form."""
    return RelaxationLevel((change.id, change.message), (change,))


@dataclass(frozen=True, slots=True)
class ChangeTarget:
    """Equal requests (or alternatives) of some claims that a change is made to, and how they are named."""

    words: ReasonWording
    demands: tuple[int, ...]

    @property
    def asks(self) -> list[ResolvedRequest]:
        """What they ask."""
        return [self.words.case.asks[number] for number in self.demands]

    @property
    def claim(self) -> str:
        """The first one's claim."""
        return claim_text(self.words.case.names.claims[self.asks[0].claim])

    @property
    def label(self) -> str:
        """The first one's name."""
        return self.words.case.problem.demands[self.demands[0]].label

    def text(self, name: str) -> str:
        """Write their name, and how many there are."""
        more = f" (and {len(self.demands) - 1} equal)" if len(self.demands) > 1 else ""
        return f"request {name} of claim {self.claim}{more}"

    def change(
        self, id_: str, message: str, edit: Callable[[RequestSpec], RequestSpec], *, times: int = 1, index: int = -1
    ) -> Change:
        """Make a change to the specs of all of them, at ``times`` its usual cost."""
        labels = [self.words.case.problem.demands[number].label for number in self.demands]
        pairs = zip((ask.claim for ask in self.asks), labels, strict=True)
        edits = [partial(WhatIf.with_request, number=claim, name=label, change=edit) for claim, label in pairs]
        whole = f"{message} {self.text(self.label)}"
        return Change(id_, self.claim, whole, CHANGE_COSTS[id_] * times * len(self.demands), apply_all(edits), index)


def change_targets(words: ReasonWording, alternative: MergedAlternative) -> list[ChangeTarget]:
    """Change one of equal requests, the last, or all of them."""
    last = ChangeTarget(words, alternative.demands[-1:])
    return [last, ChangeTarget(words, alternative.demands)] if alternative.copies > 1 else [last]


PodEdit = Callable[[PodSpec], PodSpec]


def pod_changes(scene: WhatIf, node: Node) -> list[Change]:
    """List changes after which the pod itself fits the node; none if there is no pod, or nothing helps."""
    if scene.unit.pod is None:
        return []
    return [_pod_change(misfit, node) for misfit in pod_fits(scene.unit.pod.spec, node)]


def _pod_change(misfit: Misfit, node: Node) -> Change:
    text, edit = _POD_EDITS[misfit.id](node)
    apply: Callable[[WhatIf], WhatIf] = partial(WhatIf.with_pod, change=edit)
    return Change(misfit.id, "", f"{text} ({misfit.message})", CHANGE_COSTS[misfit.id], apply)


def _drop_node_name(_node: Node) -> tuple[str, PodEdit]:
    return "let the pod go to another node", lambda spec: replace(spec, node_name="")


def _drop_node_selector(_node: Node) -> tuple[str, PodEdit]:
    return "drop the pod's node selector", lambda spec: replace(spec, node_selector=None)


def _drop_node_affinity(_node: Node) -> tuple[str, PodEdit]:
    return "drop the pod's required node affinity", lambda spec: replace(spec, affinity=None)


def _tolerate_node_taints(node: Node) -> tuple[str, PodEdit]:
    taints = (node.spec.taints if node.spec else None) or ()
    added = tuple(Toleration(key=one.key, operator="Exists", effect=one.effect) for one in taints)
    return "tolerate the node's taints", lambda spec: replace(spec, tolerations=(*(spec.tolerations or ()), *added))


def _make_schedulable(_node: Node) -> tuple[str, PodEdit]:
    added = Toleration(key="node.kubernetes.io/unschedulable", operator="Exists")
    return "make the node schedulable", lambda spec: replace(spec, tolerations=(*(spec.tolerations or ()), added))


_POD_EDITS: dict[str, Callable[[Node], tuple[str, PodEdit]]] = {
    "nodeName": _drop_node_name,
    "nodeSelector": _drop_node_selector,
    "nodeAffinity": _drop_node_affinity,
    "nodeUnschedulable": _make_schedulable,
    "nodeTaint": _tolerate_node_taints,
}
RequestSpec = ExactDeviceRequest | DeviceSubRequest


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """The cluster as it is when the unit's turn comes, the unit, and entries given beside those of its claims."""

    cluster: Cluster
    unit: Unit
    gates: FeatureGates
    given: tuple[CallerConstraint, ...] = ()

    @property
    def claims(self) -> tuple[ResourceClaim, ...]:
        """The claims to allocate, numbered as in a Problem."""
        return tuple(ref.claim for ref in self.unit.requested_claims if ref.claim is not None)

    def ledger(self) -> AllocatedState:
        """What is in use."""
        return AllocatedState(self.cluster.usage(self.gates))

    def with_claim(self, number: int, change: Callable[[DeviceClaim], DeviceClaim]) -> WhatIf:
        """Change what a claim asks for."""
        return self._with_claim(number, lambda claim: _with_devices(claim, change))

    def without_entry(self, number: int, position: int) -> WhatIf:
        """Drop an entry of a claim by its number: those of the spec come first, then the annotation's, then the given.

        What is given is so for all claims.
        """
        own = count_entries(self.claims[number])
        if position >= own:
            left = tuple(one for place, one in enumerate(self.given, own) if place != position)
            return dataclasses.replace(self, given=left)
        return self._with_claim(number, lambda claim: _without_entry(claim, position))

    def without_request(self, number: int, name: str) -> WhatIf:
        """Drop a request of a claim, and its name from entries; entries for nothing else go with it."""
        return self._with_claim(number, lambda claim: _without_request(claim, name))

    def _with_claim(self, number: int, change: Callable[[ResourceClaim], ResourceClaim]) -> WhatIf:
        chosen = self.unit.requested_claims[number]
        refs = tuple(
            dataclasses.replace(ref, claim=change(ref.claim)) if ref is chosen and ref.claim else ref
            for ref in self.unit.claims
        )
        stored = [ref.claim for ref in refs if ref.claim is not None and ref.key in self.cluster.claims]
        unit = dataclasses.replace(self.unit, claims=refs)
        return dataclasses.replace(self, unit=unit, cluster=self.cluster.with_claims(stored))

    def with_request(self, number: int, name: str, change: Callable[[RequestSpec], RequestSpec]) -> WhatIf:
        """Change a request (``name``) or an alternative of it (``name/alternative``)."""
        request, _, alternative = name.partition("/")
        return self.with_claim(number, lambda claim: _with_request(claim, request, alternative, change))

    def with_pod(self, change: Callable[[PodSpec], PodSpec]) -> WhatIf:
        """Change the unit's pod, if it has one."""
        pod = self.unit.pod
        if pod is None:
            return self
        changed = replace(pod, spec=change(pod.spec))
        return dataclasses.replace(self, unit=dataclasses.replace(self.unit, pod=changed))

    def without_claims(self, keys: Collection[ObjectKey]) -> WhatIf:
        """Free what these claims hold."""
        return dataclasses.replace(self, cluster=self.cluster.without(claims=keys))

    def without_device(self, key: ObjectKey, device: DeviceId) -> WhatIf:
        """Free one device of a claim."""
        claim = self.cluster.claims[key]
        allocation = claim.status.allocation if claim.status else None
        if claim.status is None or allocation is None:
            return self
        kept = tuple(one for one in allocation.devices.results or () if (one.driver, one.pool, one.device) != device)
        left = replace(allocation, devices=replace(allocation.devices, results=kept))
        changed = replace(claim, status=replace(claim.status, allocation=left))
        return dataclasses.replace(self, cluster=self.cluster.with_claims([changed]))


WhatIfEdit = Callable[[WhatIf], WhatIf]


def _with_devices(claim: ResourceClaim, change: Callable[[DeviceClaim], DeviceClaim]) -> ResourceClaim:
    return replace(claim, spec=replace(claim.spec, devices=change(claim.spec.devices)))


def _with_request(
    claim: DeviceClaim, name: str, alternative: str, change: Callable[[RequestSpec], RequestSpec]
) -> DeviceClaim:
    def changed(request: DeviceRequest) -> DeviceRequest:
        if request.name != name:
            return request
        if request.exactly is not None:
            return replace(request, exactly=change(request.exactly))
        options = request.first_available or ()
        return replace(
            request, first_available=tuple(change(one) if alternative in ("", one.name) else one for one in options)
        )

    return replace(claim, requests=tuple(map(changed, claim.requests or ())))


def count_entries(claim: ResourceClaim) -> int:
    """Count the entries of a claim: those of the spec, and those of the annotation."""
    return len(claim.spec.devices.constraints or ()) + len(annotated_entries(claim.metadata))


def _without_request(claim: ResourceClaim, name: str) -> ResourceClaim:
    entries = [(one, _remaining_names(one.requests, name)) for one in annotated_entries(claim.metadata)]
    changed = _with_devices(claim, lambda devices: _without_request_in(devices, name))
    if not entries:
        return changed
    kept = [replace(one, requests=left) for one, left in entries if left != ()]
    return replace(changed, metadata=with_entries(claim.metadata, kept))


def _without_request_in(claim: DeviceClaim, name: str) -> DeviceClaim:
    entries = [(one, _remaining_names(one.requests, name)) for one in claim.constraints or ()]
    configs = [(one, _remaining_names(one.requests, name)) for one in claim.config or ()]
    return replace(
        claim,
        requests=tuple(one for one in claim.requests or () if one.name != name),
        constraints=tuple(replace(one, requests=left) for one, left in entries if left != ()) or None,
        config=tuple(replace(one, requests=left) for one, left in configs if left != ()) or None,
    )


def _remaining_names(names: tuple[str, ...] | None, gone: str) -> tuple[str, ...] | None:
    """None: the entry is about all requests, whichever there are."""
    return tuple(name for name in names if name.split("/")[0] != gone) if names else None


def _without_entry(claim: ResourceClaim, position: int) -> ResourceClaim:
    constraints = claim.spec.devices.constraints or ()
    if position >= len(constraints):
        kept = [one for n, one in enumerate(annotated_entries(claim.metadata), len(constraints)) if n != position]
        return replace(claim, metadata=with_entries(claim.metadata, kept))
    left = tuple(one for number, one in enumerate(constraints) if number != position)
    return _with_devices(claim, lambda devices: replace(devices, constraints=left or None))
