"""Shapes of units: what is interchangeable for a plan has one.

Queues are long and hold few shapes: a unit is looked up by the bytes of what it was read from, and only what is new is
looked into.
"""

from collections.abc import Hashable, Mapping
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from .claims import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from .core import Pod, PodSpec
from .entries import ANNOTATION, carried
from .extended_resources import extended_spec
from .identity import ObjectKey
from .planned_sets import ClaimShape, UnitShape
from .pod_requests import effective_requests
from .priorities import default_priority, priority_of

if TYPE_CHECKING:
    from .cluster import Cluster

# Fast, and the same bytes for the same object; equal objects may differ in the order of their mappings.
_raw = msgspec.msgpack.Encoder().encode
_ordered = msgspec.json.Encoder(order="deterministic").encode
_DIGEST = 16


def signature_of(*parts: Any) -> bytes:
    """The same bytes for equal parts, in every run and process."""
    return blake2b(_ordered(parts), digest_size=_DIGEST).digest()


class ClaimShapes:
    """Shapes of claims, numbered: equal numbers are claims that a plan cannot tell apart."""

    def __init__(self) -> None:
        self.shapes: list[ClaimShape] = []
        self._by_text: dict[bytes, int] = {}
        self._by_content: dict[Hashable, int] = {}

    def number(self, spec: ResourceClaimSpec, constraints: str = "", key: ObjectKey | None = None) -> int:
        """The number of a claim without an allocation; ``key`` only if units share it."""
        text = _raw((spec, constraints, key))
        found = self._by_text.get(text)
        if found is None:
            # Parameters for drivers have no part in allocation.
            plain = replace(spec, devices=replace(spec.devices, config=None))
            content = signature_of(plain, constraints, key)
            found = self._by_text[text] = self._new(content, ClaimShape(plain, constraints, key))
        return found

    def other(self, shape: ClaimShape) -> int:
        """The number of a claim that is allocated, or that cannot be had."""
        return self._new((shape.key, shape.allocated, shape.problem), shape)

    def _new(self, content: Hashable, shape: ClaimShape) -> int:
        number = self._by_content.setdefault(content, len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(shape)
        return number


class UnitShapes:
    """Shapes of pods and of loose claims."""

    def __init__(self, cluster: "Cluster", backing: Mapping[str, str]) -> None:
        self.claims = ClaimShapes()
        self._backing = backing
        self._classes = cluster.priority_classes
        self._default = default_priority(cluster.priority_classes)
        self._known: dict[Hashable, UnitShape] = {}
        self._by_signature: dict[bytes, UnitShape] = {}

    def of_pod(self, pod: Pod, claims: tuple[int, ...], value: Decimal) -> UnitShape:
        """The shape of a pod with these claims, among them that for its extended resources if it was made already."""
        spec, status = pod.spec, pod.status
        served = status is not None and status.extended_resource_claim_status is not None
        parts = (
            spec.node_name,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
            spec.priority_class_name,
            spec.priority,
        )
        key = _raw(parts), claims, value, served
        return self._known.get(key) or self._remember(key, self._pod_shape(spec, claims, value, served))

    def of_claim(self, claim: int, value: Decimal) -> UnitShape:
        """The shape of a loose claim: it takes nothing else, and nothing is more important."""
        key = claim, value
        return self._known.get(key) or self._remember(key, self._made({}, 0, value, (claim,), PodSpec()))

    def _remember(self, key: Hashable, shape: UnitShape) -> UnitShape:
        self._known[key] = shape
        return shape

    def _pod_shape(self, spec: PodSpec, claims: tuple[int, ...], value: Decimal, served: bool) -> UnitShape:
        extended = None if served else extended_spec(spec, self._backing)
        if extended is not None:
            claims = (*claims, self.claims.number(extended))
        requests = effective_requests(spec, self._backing)
        return self._made(requests, priority_of(spec, self._classes, self._default), value, claims, spec)

    def _made(
        self, requests: dict[str, int], priority: int, value: Decimal, claims: tuple[int, ...], spec: PodSpec
    ) -> UnitShape:
        shapes = tuple(self.claims.shapes[number] for number in claims)
        told = [(one.spec, one.constraints, one.key, one.allocated, one.problem) for one in shapes]
        signature = signature_of(requests, priority, f"{value:f}", told, *_node_rules(spec))
        known = self._by_signature.get(signature)
        if known is None:
            known = UnitShape(signature, requests, priority, value, spec.node_name or None, shapes)
            self._by_signature[signature] = known
        return known


def constraints_of(claim: ResourceClaim) -> str:
    """The text of the claim's own entries beyond the API."""
    return (claim.metadata.annotations or {}).get(ANNOTATION, "")


def template_constraints(template: ResourceClaimTemplate) -> str:
    """The text that a claim made from the template has."""
    return carried(template.metadata, template.spec.metadata).get(ANNOTATION, "")


def _node_rules(spec: PodSpec) -> tuple[Any, ...]:
    """All that decides which nodes the pod fits, in one spelling."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    tolerations = tuple(replace(one, toleration_seconds=None) for one in spec.tolerations or ())
    return spec.node_name or None, spec.node_selector or None, affinity and affinity.required, tolerations
