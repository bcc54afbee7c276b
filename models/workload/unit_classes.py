"""Sets of equal units and gangs, which are what a plan is made of, and shapes: interchangeable units have one shape.

Queues are long and hold few shapes, so a unit is looked up by the bytes of what it was read from. Claims of planned
pods are numbers of claim shapes: own claims by content, shared and allocated claims by name.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..formats.errors import plural
from ..kubernetes.claims import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from ..kubernetes.core import Node, Pod, PodResourceClaim, PodSpec
from ..kubernetes.extensions import CONSTRAINTS_ANNOTATION, REPLICAS_ANNOTATION, constraints_annotation
from ..kubernetes.meta import ObjectKey
from ..kubernetes.workloads import PodGroupSpec, PodTemplateSpec, default_priority, priority_of
from ..manifests.writer import is_allocated
from . import units
from .group_trees import ParentGroup
from .node_resources import draw_terms, publishes_node_resources
from .pod_rules import PodRules, pod_rule_book
from .preferences import PodPreferences, preference_book
from .requests import effective_requests, extended_claim_spec, is_extended_claim

ControllerKind = Literal[
    "Job",
    "CronJob",
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "DaemonSet",
    "ReplicationController",
    "JobSet",
    "LeaderWorkerSet",
    "DisaggregatedSet",
    "MPIJob",
    "PyTorchJob",
    "TFJob",
    "XGBoostJob",
    "PaddleJob",
    "JAXJob",
    "TrainJob",
    "RayCluster",
    "RayJob",
    "RayService",
    "RayCronJob",
    "PodCliqueSet",
    "LLMInferenceService",
    "Workload",
]
OwnerKind = ControllerKind | Literal["Pod", "ResourceClaim"]
# Who says that units are a gang: an annotation of ours, an object of a scheduler, or the kind of what makes the pods.
GangKind = str


@dataclass(frozen=True, slots=True)
class ClaimShape:
    """A claim of a unit, as far as it matters.

    ``spec`` is None for a claim that cannot be had, ``problem`` says why. ``constraints`` is the text of the annotation
    ``drasat.dev/constraints``. ``key`` names a claim that several units share, or that is allocated already.
    """

    spec: ResourceClaimSpec | None
    constraints: str = ""
    key: ObjectKey | None = None
    allocated: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class UnitShape:
    """What a plan needs to know of a unit; all interchangeable units of a queue have the same object, gangs aside.

    ``requests`` is what it takes of a node's allocatable (``pod_requests``), nothing for a loose claim. ``node_name``
    is the node it is on already. ``priority`` is that of its PriorityClass, ``value`` its weight. ``claims`` is in the
    order of the pod, that for extended resources is the last. ``rules`` are those of the pod and of others about it.
    ``preferences`` are there where a stage counts them.
    """

    signature: bytes
    requests: Mapping[str, int]
    priority: int
    value: Decimal
    node_name: str | None
    claims: tuple[ClaimShape, ...]
    rules: PodRules | None = None
    preferences: PodPreferences | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the unit can be placed nowhere: claims or templates that are missing or being deleted (SCHED-1)."""
        return tuple(claim.problem for claim in self.claims if claim.problem)


@dataclass(frozen=True, slots=True)
class Gang:
    """Units that are placed together or not at all.

    ``minimum`` is how many of them are enough, those on nodes already included; None: all of them, 0: any number.
    ``domain`` is a node label: the nodes of all members have one value of it. ``running_nodes`` are the nodes of
    members that run already. ``problem`` says why no member can be placed: the object that members name is not there.
    ``most`` of the members that wait are placed at most, where a question asks for no more. ``parents`` are the groups
    of groups above it, from below.
    A gang with a ``demand`` is a coverage group: any members are enough whose values add up to it, those of members
    that run, ``served``, included.
    """

    kind: GangKind
    namespace: str
    name: str
    minimum: int | None = None
    domain: str | None = None
    running_nodes: tuple[str, ...] = ()
    problem: str = ""
    most: int | None = None
    parents: tuple[ParentGroup, ...] = ()
    demand: Decimal | None = None
    served: Decimal = Decimal(0)

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.kind, self.namespace, self.name

    @property
    def root(self) -> tuple[str, str, str]:
        """The key of the highest group above it, else its own."""
        return self.parents[-1].key if self.parents else self.key

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.kind} {self.namespace}/{self.name}"

    def domain_value(self, node: Node) -> str | None:
        """The value of the domain's label on a node; None without a domain, or without that label."""
        return (node.metadata.labels or {}).get(self.domain) if self.domain is not None else None

    def falls_short(self, covered: Decimal) -> str:
        """Say that so much does not cover the demand of a coverage group."""
        return f"{self.label} needs {self.demand:f}, and its members add up to {covered:f}"

    def too_small(self, waiting: int) -> str:
        """Say that so many members that wait, and those that run, are not enough; nothing if they are."""
        there = waiting + len(self.running_nodes)
        if self.minimum is None or self.minimum <= there:
            return ""
        return f"{self.label} needs {plural(self.minimum, 'member')}, and has {there}"


class UnitSet(NamedTuple):
    """Equal units of one owner, in order; a tuple, for a queue has many.

    ``kind``, ``namespace`` and ``name`` are the owner's: a pod or loose claim owns itself. ``numbers`` are those of its
    replicas that are planned. With ``is_copied`` a replica's name is ``name_prefix`` and its number. ``pod`` is the pod
    or its template, None for a loose claim, which is ``claim``. Units with equal ``signature`` are interchangeable in a
    plan: any of them may have any other's place.

    An owner with several sets counts replicas through all of them, from ``first`` on in this one. ``name_numbers`` are
    then the numbers in the names, empty for a name without one. ``node`` is the node that a DaemonSet's pod is for.
    ``coverage`` is what each unit adds to its coverage group.
    """

    kind: OwnerKind
    namespace: str
    name: str
    numbers: Sequence[int]
    shape: UnitShape
    signature: bytes
    gang: Gang | None = None
    pod: Pod | None = None
    claim: ResourceClaim | None = None
    name_prefix: str = ""
    is_copied: bool = False
    first: int = 0
    name_numbers: Sequence[int] | None = None
    node: str = ""
    coverage: Decimal = Decimal(0)

    @property
    def replicas(self) -> int:
        """How many units they are."""
        return len(self.numbers)

    def unit_name(self, number: int) -> str:
        """The name of a replica's pod or claim."""
        if not self.is_copied:
            return self.name
        if self.name_numbers is not None:
            return (
                f"{self.name_prefix}-{self.name_numbers[number - self.first]}"
                if self.name_numbers
                else self.name_prefix
            )
        return f"{self.name_prefix}-{number}"


# Fast, and the same bytes for the same object; equal objects may differ in the order of their mappings.
_encode = msgspec.msgpack.Encoder().encode
_encode_ordered = msgspec.json.Encoder(order="deterministic").encode


def signature_of(*parts: Any) -> bytes:
    """The same bytes for equal parts, in every run and process."""
    return blake2b(_encode_ordered(parts), digest_size=16).digest()


class ClaimShapes:
    """Shapes of claims, numbered: equal numbers are claims that a plan cannot tell apart."""

    def __init__(self) -> None:
        self.shapes: list[ClaimShape] = []
        self._by_text: dict[bytes, int] = {}
        self._by_content: dict[Hashable, int] = {}

    def number(self, spec: ResourceClaimSpec, constraints: str = "", key: ObjectKey | None = None) -> int:
        """The number of a claim without an allocation; ``key`` only if units share it."""
        text = _encode((spec, constraints, key))
        found = self._by_text.get(text)
        if found is None:
            # Parameters for drivers have no part in allocation.
            plain = replace(spec, devices=replace(spec.devices, config=None))
            content = signature_of(plain, constraints, key)
            found = self._by_text[text] = self._new(content, ClaimShape(plain, constraints, key))
        return found

    def number_of_shape(self, shape: ClaimShape) -> int:
        """The number of a claim that is allocated, or that cannot be had."""
        return self._new((shape.key, shape.allocated, shape.problem), shape)

    def _new(self, content: Hashable, shape: ClaimShape) -> int:
        number = self._by_content.setdefault(content, len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(shape)
        return number


class UnitShapes:
    """Shapes of pods and of loose claims; ``uncounted`` are resources that pods have as devices on all nodes.

    With ``prefers`` pods differ by what they prefer, too.
    """

    def __init__(
        self, cluster: Cluster, backing: Mapping[str, str], uncounted: Collection[str], *, prefers: bool = False
    ) -> None:
        self.claims = ClaimShapes()
        self._cluster = cluster
        self._backing = backing
        self._uncounted = uncounted
        self._has_draws = publishes_node_resources(cluster)
        self._classes = cluster.priority_classes
        self._default = default_priority(cluster.priority_classes)
        self._book = pod_rule_book(cluster)
        self._wishes = preference_book(cluster) if prefers else None
        self._known: dict[Hashable, UnitShape] = {}
        self._by_signature: dict[bytes, UnitShape] = {}

    def of_pod(self, pod: Pod, claims: tuple[int, ...], value: Decimal, priority: int | None = None) -> UnitShape:
        """The shape of a pod with these claims, among them that for its extended resources if it was made already.

        ``priority`` is that of its PodGroup, which counts in place of its own (WLG-10).
        """
        spec = pod.spec
        has_extended_claim = units.made_extended_claim(self._cluster, pod) is not None
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
            spec.host_network,
        )
        rules = None if self._book.is_empty and not spec.volumes else self._book.rules(pod)
        wishes = self._wishes.preferences(pod) if self._wishes else None
        key = _encode(parts), claims, value, has_extended_claim, priority, rules, wishes
        known = self._known.get(key)
        if known is None:
            own = self.priority(spec) if priority is None else priority
            known = self._known[key] = self._pod_shape(pod, claims, value, has_extended_claim, own)
        return known

    def priority(self, spec: PodSpec | PodGroupSpec) -> int:
        """The priority of a pod or PodGroup."""
        return priority_of(spec, self._classes, self._default)

    def of_claim(self, claim: int, value: Decimal) -> UnitShape:
        """The shape of a loose claim: it takes nothing else, and nothing is more important."""
        key = claim, value
        if key not in self._known:
            self._known[key] = self._shape_of({}, 0, value, (claim,), PodSpec())
        return self._known[key]

    def _pod_shape(
        self, pod: Pod, claims: tuple[int, ...], value: Decimal, has_extended_claim: bool, priority: int
    ) -> UnitShape:
        spec = pod.spec
        extended = None if has_extended_claim else extended_claim_spec(spec, self._backing)
        if extended is not None:
            claims = (*claims, self.claims.number(extended))
        requests = effective_requests(spec, self._uncounted)
        wishes = self._wishes.preferences(pod) if self._wishes else None
        return self._shape_of(requests, priority, value, claims, spec, self._book.rules(pod), wishes)

    def _shape_of(
        self,
        requests: dict[str, int],
        priority: int,
        value: Decimal,
        claims: tuple[int, ...],
        spec: PodSpec,
        pod_rules: PodRules | None = None,
        preferences: PodPreferences | None = None,
    ) -> UnitShape:
        shapes = tuple(self.claims.shapes[number] for number in claims)
        parts = [(one.spec, one.constraints, one.key, one.allocated, one.problem) for one in shapes]
        affinity = spec.affinity.node_affinity if spec.affinity else None
        tolerations = tuple(replace(one, toleration_seconds=None) for one in spec.tolerations or ())
        # All that decides which nodes the pod fits, in one spelling.
        rules = spec.node_name or None, spec.node_selector or None, affinity and affinity.required, tolerations
        about = tuple(one.signature for one in (pod_rules, preferences) if one)
        if self._has_draws:
            about += (signature_of(draw_terms(spec)),)
        signature = signature_of(requests, priority, f"{value:f}", parts, *rules, *about)
        known = self._by_signature.get(signature)
        if known is None:
            known = UnitShape(
                signature, requests, priority, value, spec.node_name or None, shapes, pod_rules, preferences
            )
            self._by_signature[signature] = known
        return known


def claim_constraints(claim: ResourceClaim) -> str:
    """The text of the claim's own entries beyond the API."""
    return (claim.metadata.annotations or {}).get(CONSTRAINTS_ANNOTATION, "")


def template_constraints(template: ResourceClaimTemplate) -> str:
    """The text that a claim made from the template has."""
    return constraints_annotation(template.metadata, template.spec.metadata).get(CONSTRAINTS_ANNOTATION, "")


TemplateCopies = tuple[str, PodTemplateSpec, int]


class ClaimShapeResolver:
    """Looks up claims; ``templates`` are namespaces and templates of pods that are to be made, and how many."""

    def __init__(self, cluster: Cluster, shapes: ClaimShapes, templates: Iterable[TemplateCopies]) -> None:
        self._cluster = cluster
        self._shapes = shapes
        self._refs: dict[ObjectKey, tuple[units.ClaimRef, ...]] = {}
        # How many pods that are to run use a claim; 0 if only others name it.
        self._users: dict[ObjectKey, int] = {}
        self._templates: dict[tuple[ObjectKey, ObjectKey | None], int] = {}
        self._resolver = cache(lambda: units.PodClaims(cluster))
        self._read_pods()
        for namespace, template, count in templates:
            self._use(self._named_claims(namespace, template.spec), count)

    def is_loose(self, key: ObjectKey) -> bool:
        """No pod has the claim, not even one that has finished."""
        return key not in self._users

    def of_pod(self, key: ObjectKey, pod: Pod) -> tuple[int, ...]:
        """The claims of a pod that is there."""
        refs = self._refs.get(key)
        if refs is not None:
            return self._of_refs(refs)
        return tuple(self._of_entries(key[0], pod.spec)) if pod.spec.resource_claims else ()

    @cached_property
    def owners(self) -> frozenset[ObjectKey]:
        """Pods that claims of the input were made for."""
        return self._resolver().owners if self._any_generated else frozenset()

    def of_made_pod(self, pod: Pod) -> tuple[int, ...]:
        """The claims of a pod that is to be made and is one of ``owners``; those that are there are loose no more."""
        refs = (*self._resolver().claims_of(pod), *self._resolver().extended_claim_of(pod))
        self._users.update((ref.key, 1) for ref in refs if ref.key in self._cluster.claims and self.is_loose(ref.key))
        return self._of_refs(refs)

    def _of_refs(self, refs: Iterable[units.ClaimRef]) -> tuple[int, ...]:
        return tuple(
            self._problem(ref.problem) if ref.problem or ref.claim is None else self._present(ref.key, ref.claim)
            for ref in refs
        )

    def of_template(self, namespace: str, template: PodTemplateSpec) -> tuple[int, ...]:
        """The claims of each pod that is made of a pod template."""
        return tuple(self._of_entries(namespace, template.spec))

    def of_loose(self, claim: ResourceClaim) -> int:
        """A claim that no pod has."""
        return self._shapes.number(claim.spec, claim_constraints(claim))

    def _read_pods(self) -> None:
        """Find the claims that pods have by name; those of pods that claims were made for take longer."""
        cluster = self._cluster
        any_generated = self._any_generated = any(
            claim.metadata.annotations
            and (units.POD_CLAIM_ANNOTATION in claim.metadata.annotations or is_extended_claim(claim))
            for claim in cluster.claims.values()
        ) or any(group.status is not None for group in cluster.pod_groups.values())
        for key, pod in cluster.pods.items():
            if _may_have_generated_claims(pod, any_generated):
                claims = self._resolver()
                refs = self._refs[key] = (*claims.claims_of(pod), *claims.extended_claim_of(pod))
                keys = [ref.key for ref in refs]
            else:
                keys = self._named_claims(key[0], pod.spec)
            if units.is_finished_or_deleting(pod):
                self._use(keys, 0)
            else:
                self._use(keys, 2 if REPLICAS_ANNOTATION in (pod.metadata.annotations or ()) else 1)

    def _use(self, keys: Iterable[ObjectKey], count: int) -> None:
        for key in keys:
            self._users[key] = self._users.get(key, 0) + count

    def _named_claims(self, namespace: str, spec: PodSpec) -> list[ObjectKey]:
        """The claims that a pod shares with whoever names them too, each once: by name, or as those of its PodGroup."""
        if not spec.resource_claims:
            return []
        named: Iterable[str | None] = [entry.resource_claim_name for entry in spec.resource_claims]
        if spec.scheduling_group is not None:
            pairs = zip(named, spec.resource_claims, strict=True)
            named = (name or self._group_claim_name(namespace, spec, entry) for name, entry in pairs)
        return list(dict.fromkeys((namespace, name) for name in named if name))

    def _group_claim_name(self, namespace: str, spec: PodSpec, entry: PodResourceClaim) -> str | None:
        """The claim that all members of the pod's group have for an entry (PGC-2); None: it is the pod's own."""
        if spec.scheduling_group is None:
            return None
        group = units.group_of_entry(self._cluster, namespace, spec, entry)
        return None if group is None else self._resolver().group_claim_name(group, entry)

    def _of_entries(self, namespace: str, spec: PodSpec) -> Iterator[int]:
        names: set[str] = set()
        for entry in spec.resource_claims or ():
            shared = None if entry.resource_claim_name else self._group_claim_name(namespace, spec, entry)
            is_made = shared is not None and (namespace, shared) in self._cluster.claims
            name = shared if is_made else entry.resource_claim_name
            if name:
                if name not in names:
                    names.add(name)
                    key = namespace, name
                    claim = self._cluster.claims.get(key)
                    problem = units.claim_problem(key, claim)
                    yield self._problem(problem) if claim is None or problem else self._present(key, claim)
            elif entry.resource_claim_template_name:
                yield self._template((namespace, entry.resource_claim_template_name), shared)
            else:
                yield self._problem(units.no_claim_named(entry))

    def _template(self, key: ObjectKey, shared: str | None) -> int:
        """A claim made from a template, for a pod or, under the ``shared`` name, for all members of its group."""
        claim = (key[0], shared) if shared is not None and self._users.get((key[0], shared), 0) > 1 else None
        known = self._templates.get((key, claim))
        if known is not None:
            return known
        template = self._cluster.templates.get(key)
        if template is None:
            number = self._problem(units.template_not_found(key))
        else:
            number = self._shapes.number(template.spec.spec, template_constraints(template), claim)
        self._templates[key, claim] = number
        return number

    def _problem(self, text: str) -> int:
        return self._shapes.number_of_shape(ClaimShape(None, problem=text))

    def _present(self, key: ObjectKey, claim: ResourceClaim) -> int:
        if is_allocated(claim):
            return self._shapes.number_of_shape(ClaimShape(claim.spec, claim_constraints(claim), key, allocated=True))
        return self._shapes.number(claim.spec, claim_constraints(claim), key if self._users.get(key, 0) > 1 else None)


def _may_have_generated_claims(pod: Pod, any_generated: bool) -> bool:
    """Claims were made for the pod, as its status says, or may have been, if some claims of the input were made."""
    if any_generated:
        return True
    status = pod.status
    return status is not None and bool(status.resource_claim_statuses or status.extended_resource_claim_status)
