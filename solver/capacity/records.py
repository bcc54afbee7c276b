"""What ``capacity`` found, and the object that is copied: a claim, a claim template, or a pod with all its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import constraints_annotation
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DEFAULT_NAMESPACE, ObjectKey, ObjectMeta, key_of
from ...models.manifests.writer import is_allocated
from ...models.results.common import ProofKind, Reason
from ...models.workload.controllers import read_controllers
from ...models.workload.expansion import UnitExpander
from ...models.workload.pod_sets import PodSet
from ...models.workload.requested import all_units
from ...models.workload.requests import backed_resources, extended_claim_spec
from ...models.workload.unit_classes import signature_of
from ...models.workload.units import ClaimRef, PodClaims, Unit, generated_claim_name, is_deleting
from ...problem.messages import CountedSum
from ...problem.selectors import NodeResourceClaims
from ..allocate.unsupported import groups_of_claims
from ..engines.engine import Counts
from ..engines.outcome import DemandTable


@dataclass(frozen=True, slots=True)
class Room:
    """The number of copies that fit on a node, or on several.

    ``fits`` were found and verified; ``bound`` is proven, None if none is known; ``unbounded``: any number fits, and
    the other numbers say nothing. ``first_fit`` is what the scheduler reaches one by one, None if that was not decided.
    """

    fits: int = 0
    bound: int | None = None
    first_fit: int | None = None
    unbounded: bool = False

    @property
    def proven(self) -> bool:
        """Whether it is known how many fit."""
        return self.unbounded or self.fits == self.bound

    @property
    def unverified(self) -> Room:
        """What is known without the copies that were found."""
        return Room(bound=self.bound)


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """Equal nodes with the room on each of them alone, and what stops the next copy.

    ``proof`` says why no more than the bound fit, where counting is enough, and ``counted`` is its sum about one copy
    more, with the claims of a copy; ``proof_kind`` is what the bound rests on.
    """

    nodes: tuple[str, ...]
    room: Room
    reasons: tuple[Reason, ...] = ()
    tables: tuple[DemandTable, ...] = ()
    proof: str = ""
    proof_kind: ProofKind = ProofKind.SOLVER
    counted: CountedSum | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SharedRoom:
    """Nodes that reach the same devices or counters, with the room on all of them together."""

    nodes: tuple[str, ...]
    room: Room


@dataclass(frozen=True, slots=True)
class CapacityOutcome:
    """The answer to one call of ``capacity``; ``kind``, ``namespace`` and ``name`` are of what was copied.

    ``limit`` is the number of copies on one node at which counting ends, ``claims`` are what tables call the claims of
    a copy. ``notices`` say what of the question was left aside.
    """

    kind: str
    namespace: str
    name: str
    total: Room
    nodes: tuple[NodeRoom, ...]
    shared: tuple[SharedRoom, ...]
    limit: int
    claims: tuple[str, ...]
    gates: FeatureGates
    cel_errors: str
    verified: bool = False
    counts: Counts = field(default_factory=Counts)
    seconds: dict[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    examples: Mapping[str, Sequence[Sequence[AllocationResult]]] = field(default_factory=dict)
    """Copies that fit on a node alone, by the first node of each kind: what their claims get."""


def total_room(rooms: list[Room]) -> Room:
    """Add the room of places that have nothing to do with each other."""
    bounds = [room.bound for room in rooms]
    firsts = [room.first_fit for room in rooms]
    return Room(
        sum(room.fits for room in rooms),
        None if None in bounds else sum(filter(None, bounds)),
        None if None in firsts else sum(filter(None, firsts)),
        any(room.unbounded for room in rooms),
    )


CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"
_FINISHED_PHASES = ("Succeeded", "Failed")


@dataclass(slots=True)
class CopySource:
    """The object of which copies are made. Copies are numbered from 0; their names are new in the cluster."""

    kind: str
    namespace: str
    name: str
    _call: Callable[[ClaimRef], str]
    _make: Callable[[int], Unit]
    _made: list[Unit] = field(default_factory=list)

    def copy(self, number: int) -> Unit:
        """Return a copy as a unit: a pod with its claims, or a loose claim."""
        while len(self._made) <= number:
            self._made.append(self._make(len(self._made)))
        return self._made[number]

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of a copy's claims in answers: those that the original has, or would have."""
        return tuple(f"{self.namespace}/{self._call(ref)}" for ref in self.copy(0).requested_claims)


def find_copy_source(
    cluster: Cluster,
    *,
    claim: str | None = None,
    template: str | None = None,
    pod: str | None = None,
    gates: FeatureGates | None = None,
) -> CopySource:
    """Find what copies are made of, by ``[namespace/]name``; without a name the only thing in the input that asks.

    Pods that controllers still have to make can be copied by the names that they get. ``gates`` decides whether classes
    back extended resources.

    Raises ``ValueError``, one line, for several names, one that is not there, and no name where several things ask.
    """
    given = [(kind, name) for kind, name in ((CLAIM, claim), (TEMPLATE, template), (POD, pod)) if name is not None]
    if len(given) > 1:
        raise ValueError("copies are made of one claim, one template or one pod: give only one of them")
    kind, key = (
        (given[0][0], _parse_key(given[0][1])) if given else _only_candidate(list(_copy_candidates(cluster, gates)))
    )
    copied = cluster.pods.get(key) or _pod_to_make(cluster, key) if kind == POD else None
    if copied is not None:
        source = _source_of_pod(cluster, key, copied, gates)
        _check_node_resources(cluster, gates or FeatureGates.all_on(), source.copy(0))
        return source
    if key not in {CLAIM: cluster.claims, TEMPLATE: cluster.templates, POD: {}}[kind]:
        raise ValueError(f"{kind} {key[0]}/{key[1]} not found")
    return _source_of_claims(cluster, kind, key)


def _pod_to_make(cluster: Cluster, key: ObjectKey) -> Pod | None:
    """The template of a pod of this name that a controller still has to make."""
    sets = (one for missing in read_controllers(cluster).missing.values() for one in missing.sets)
    near = (one for one in sets if one.maker.namespace == key[0] and key[1].startswith(one.prefix))
    return next((one.pod() for one in near if key[1] in map(one.pod_name, one.numbers)), None)


def ignored_group_notices(cluster: Cluster, source: CopySource) -> tuple[str, ...]:
    """Name the groups that are about what is copied, or would be about a copy. Raises ``GroupError``."""
    if not cluster.constraint_groups:
        return ()
    refs = source.copy(0).requested_claims
    extended = cluster.with_claims(ref.claim for ref in refs if ref.claim is not None)
    groups = groups_of_claims(extended, {*_source_claims(cluster, source), *(ref.key for ref in refs)})
    names = ", ".join("/".join(key_of(group.metadata)) for group in groups)
    return (f"what ConstraintGroups ask of several claims is left aside: {names}",) if names else ()


def _source_claims(cluster: Cluster, source: CopySource) -> set[ObjectKey]:
    """Find the claims of what is copied."""
    key = source.namespace, source.name
    if source.kind == CLAIM:
        return {key}
    pods = [unit for unit in all_units(cluster) if source.kind == POD and (unit.namespace, unit.name) == key]
    return {ref.key for unit in pods for ref in unit.claims}


def _parse_key(text: str) -> ObjectKey:
    head, slash, tail = text.partition("/")
    return (head, tail) if slash else (DEFAULT_NAMESPACE, head)


def _only_candidate(found: Sequence[tuple[str, ObjectKey]]) -> tuple[str, ObjectKey]:
    if not found:
        raise ValueError("nothing in the input asks for devices: no pod with claims, no template, no open claim")
    if len(found) > 1:
        names = ", ".join(f"{kind} {'/'.join(key)}" for kind, key in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise ValueError(f"several things ask for devices, say which: {names}{more}")
    return found[0]


def _copy_candidates(cluster: Cluster, gates: FeatureGates | None) -> Iterator[tuple[str, ObjectKey]]:
    """Yield pods that ask for devices, and templates and claims without allocation that are no pod's.

    Of the pods that a controller still has to make of one template it is the first.
    """
    sets = [one for missing in read_controllers(cluster).missing.values() for one in missing.sets]
    made = {(one.maker.namespace, one.pod_name(one.numbers[0])): one.pod() for one in _first_of_each_template(sets)}
    backing = backed_resources(cluster, gates)
    pods = {
        key: pod
        for key, pod in (*cluster.pods.items(), *made.items())
        if (pod.spec.resource_claims or extended_claim_spec(pod.spec, backing)) and not _is_finished(pod)
    }
    yield from ((POD, key) for key in pods)
    named: set[tuple[str, ObjectKey]] = set()
    for (namespace, _), pod in pods.items():
        for entry in pod.spec.resource_claims or ():
            named.add((CLAIM, (namespace, entry.resource_claim_name or "")))
            named.add((TEMPLATE, (namespace, entry.resource_claim_template_name or "")))
    yield from ((TEMPLATE, key) for key in cluster.templates if (TEMPLATE, key) not in named)
    for key, claim in cluster.claims.items():
        if (CLAIM, key) not in named and not is_allocated(claim) and not is_deleting(claim.metadata):
            yield CLAIM, key


def _first_of_each_template(sets: Iterable[PodSet]) -> Iterator[PodSet]:
    """Sets that have other names only are one."""
    seen: set[bytes] = set()
    for one in sets:
        content = signature_of(
            one.maker.namespace, replace(one.template.spec, affinity=None) if one.node else one.template.spec
        )
        if content not in seen:
            seen.add(content)
            yield one


def _is_finished(pod: Pod) -> bool:
    return is_deleting(pod.metadata) or (pod.status is not None and pod.status.phase in _FINISHED_PHASES)


def _source_of_claims(cluster: Cluster, kind: str, key: ObjectKey) -> CopySource:
    """Make claims like this one, or from this template."""
    if kind == CLAIM:
        copied, spec = cluster.claims[key].metadata, cluster.claims[key].spec
        annotations = constraints_annotation(copied)
    else:
        template = cluster.templates[key]
        copied, spec = template.spec.metadata or ObjectMeta(), template.spec.spec
        annotations = constraints_annotation(template.metadata, copied)
    metadata = ObjectMeta(labels=copied.labels, annotations=annotations or None)
    namespace, stem = key
    taken = {name for where, name in cluster.claims if where == namespace}

    def make(number: int) -> Unit:
        # A long name loses the number that tells it from the others.
        name = generated_claim_name(stem, f"copy-{number}", taken)
        taken.add(name)
        claim = ResourceClaim(metadata=replace(metadata, name=name, namespace=namespace), spec=spec)
        return Unit(None, (ClaimRef(namespace, name, claim, generated=True),), namespace, name)

    return CopySource(kind, *key, lambda _: stem, make)


def _check_node_resources(cluster: Cluster, gates: FeatureGates, copy: Unit) -> None:
    """Raise ``ValueError``, one line, for a pod whose devices may take resources of their node: none is counted."""
    refused = NodeResourceClaims(cluster, gates)
    for ref in copy.claims if copy.pod is not None and refused.devices else ():
        problem = refused.refused(ref, copy, beside="copies of a pod").problem
        if problem and problem != ref.problem:
            raise ValueError(problem)


def _source_of_pod(cluster: Cluster, key: ObjectKey, pod: Pod, gates: FeatureGates | None) -> CopySource:
    """Make pods like this one: where it runs, and which claims were made for it, does not matter to them.

    Claims from templates are made anew for each; those that it names are shared by all, and only restrict the nodes.
    Raises ``ValueError`` for a named claim that has no allocation yet: it is not known which nodes it would leave.
    """
    resolver = PodClaims(cluster)
    expander = UnitExpander(cluster, gates, resolver)
    spec = replace(pod.spec, node_name=None)

    def make(number: int) -> Unit:
        metadata = ObjectMeta(name=f"{key[1]}-copy-{number}", namespace=key[0], labels=pod.metadata.labels)
        copy = Pod(metadata=metadata, spec=spec)
        return Unit(copy, (*resolver.claims_of(copy), *expander.extended_claims(copy)), key[0], metadata.name)

    made = CopySource(POD, *key, lambda ref: generated_claim_name(key[1], ref.entry), make)
    for ref in made.copy(0).claims:
        if ref.claim is not None and (ref.group or not ref.generated) and not ref.allocated and not ref.problem:
            problem = "has no allocation yet; allocate it first"
            raise ValueError(f"ResourceClaim {'/'.join(key_of(ref.claim.metadata))}, which all copies share, {problem}")
    return made
