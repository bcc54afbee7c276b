"""What copies are made of: a claim, a claim template, or a pod with all its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ..models.claims import ResourceClaim, ResourceClaimSpec
from ..models.cluster import Cluster
from ..models.core import Pod
from ..models.entries import carried
from ..models.generated_claims import claim_name
from ..models.identity import DEFAULT_NAMESPACE, ObjectKey, key_of
from ..models.meta import ObjectMeta
from ..models.pod_claims import ClaimRef, PodClaims, is_deleting
from ..models.rendering import is_allocated
from ..models.units import Unit, all_units
from .soft_entries import groups_about

CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"

_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class Original:
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
        """What the claims of a copy are called in answers: as those of the original are, or would be."""
        return tuple(f"{self.namespace}/{self._call(ref)}" for ref in self.copy(0).asked)


def original(
    cluster: Cluster, *, claim: str | None = None, template: str | None = None, pod: str | None = None
) -> Original:
    """Find what copies are made of, by ``[namespace/]name``; without a name the only thing in the input that asks.

    Raises ``ValueError``, one line, for several names, one that is not there, and no name where several things ask.
    """
    given = [(kind, name) for kind, name in ((CLAIM, claim), (TEMPLATE, template), (POD, pod)) if name is not None]
    if len(given) > 1:
        raise ValueError("copies are made of one claim, one template or one pod: give only one of them")
    kind, key = (given[0][0], _key(given[0][1])) if given else _only(list(_asking(cluster)))
    if key not in {CLAIM: cluster.claims, TEMPLATE: cluster.templates, POD: cluster.pods}[kind]:
        raise ValueError(f"{kind} {key[0]}/{key[1]} not found")
    return _MAKERS[kind](cluster, key)


def left_aside(cluster: Cluster, asked: Original) -> tuple[str, ...]:
    """Name the groups that are about what is copied, or would be about a copy. Raises ``GroupError``."""
    if not cluster.constraint_groups:
        return ()
    refs = asked.copy(0).asked
    scene = cluster.with_claims(ref.claim for ref in refs if ref.claim is not None)
    groups = groups_about(scene, {*_own(cluster, asked), *(ref.key for ref in refs)})
    names = ", ".join("/".join(key_of(group.metadata)) for group in groups)
    return (f"what ConstraintGroups ask of several claims is left aside: {names}",) if names else ()


def _own(cluster: Cluster, asked: Original) -> set[ObjectKey]:
    """Find the claims of what is copied."""
    key = asked.namespace, asked.name
    if asked.kind == CLAIM:
        return {key}
    pods = [unit for unit in all_units(cluster) if asked.kind == POD and (unit.namespace, unit.name) == key]
    return {ref.key for unit in pods for ref in unit.claims}


def _key(text: str) -> ObjectKey:
    head, slash, tail = text.partition("/")
    return (head, tail) if slash else (DEFAULT_NAMESPACE, head)


def _only(found: Sequence[tuple[str, ObjectKey]]) -> tuple[str, ObjectKey]:
    if not found:
        raise ValueError("nothing in the input asks for devices: no pod with claims, no template, no open claim")
    if len(found) > 1:
        names = ", ".join(f"{kind} {'/'.join(key)}" for kind, key in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise ValueError(f"several things ask for devices, say which: {names}{more}")
    return found[0]


def _asking(cluster: Cluster) -> Iterator[tuple[str, ObjectKey]]:
    """Yield pods with claims, and templates and claims without allocation that are no pod's."""
    pods = {key: pod for key, pod in cluster.pods.items() if pod.spec.resource_claims and not _is_over(pod)}
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


def _is_over(pod: Pod) -> bool:
    return is_deleting(pod.metadata) or (pod.status is not None and pod.status.phase in _FINISHED)


def _of_claim(cluster: Cluster, key: ObjectKey) -> Original:
    claim = cluster.claims[key]
    metadata = ObjectMeta(labels=claim.metadata.labels, annotations=carried(claim.metadata) or None)
    return Original(CLAIM, *key, lambda _: key[1], _loose(cluster, key, metadata, claim.spec))


def _of_template(cluster: Cluster, key: ObjectKey) -> Original:
    template = cluster.templates[key]
    copied, spec = template.spec.metadata or ObjectMeta(), template.spec.spec
    metadata = ObjectMeta(labels=copied.labels, annotations=carried(template.metadata, copied) or None)
    return Original(TEMPLATE, *key, lambda _: key[1], _loose(cluster, key, metadata, spec))


def _loose(cluster: Cluster, key: ObjectKey, metadata: ObjectMeta, spec: ResourceClaimSpec) -> Callable[[int], Unit]:
    namespace, stem = key
    taken = {name for where, name in cluster.claims if where == namespace}

    def make(number: int) -> Unit:
        # A long name loses the number that tells it from the others.
        name = claim_name(stem, f"copy-{number}", taken)
        taken.add(name)
        claim = ResourceClaim(metadata=replace(metadata, name=name, namespace=namespace), spec=spec)
        return Unit(None, (ClaimRef(namespace, name, claim, generated=True),), namespace, name)

    return make


def _of_pod(cluster: Cluster, key: ObjectKey) -> Original:
    """Make pods like this one: where it runs, and which claims were made for it, does not matter to them.

    Claims from templates are made anew for each; those that it names are shared by all, and only restrict the nodes.
    Raises ``ValueError`` for a named claim that has no allocation yet: it is not known which nodes it would leave.
    """
    pod, resolver = cluster.pods[key], PodClaims(cluster)
    spec = replace(pod.spec, node_name=None)

    def make(number: int) -> Unit:
        metadata = ObjectMeta(name=f"{key[1]}-copy-{number}", namespace=key[0], labels=pod.metadata.labels)
        copy = Pod(metadata=metadata, spec=spec)
        return Unit(copy, resolver.claims_of(copy), key[0], metadata.name)

    made = Original(POD, *key, lambda ref: claim_name(key[1], ref.entry), make)
    for ref in made.copy(0).claims:
        if ref.claim is not None and not ref.generated and not ref.allocated and not ref.problem:
            problem = "has no allocation yet; allocate it first"
            raise ValueError(f"ResourceClaim {'/'.join(key_of(ref.claim.metadata))}, which all copies share, {problem}")
    return made


_MAKERS: dict[str, Callable[[Cluster, ObjectKey], Original]] = {CLAIM: _of_claim, TEMPLATE: _of_template, POD: _of_pod}
