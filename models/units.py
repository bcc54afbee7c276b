"""What is to be placed together: pods with their claims, and loose claims (SCHED-1, SCHED-2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from .claims import AllocationResult, ResourceClaim
from .core import Pod
from .identity import DEFAULT_NAMESPACE, ObjectKey
from .labels import Requirement, matches_labels, parse_label_selector
from .pod_claims import ClaimRef, PodClaims, is_deleting
from .rendering import is_allocated

if TYPE_CHECKING:
    from .cluster import Cluster

_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Claims that go to one node together: those of a pod in its order, or one loose claim.

    ``claims`` holds the allocated ones too; ``asked`` those that still need devices. A claim may be in several
    units (pods that share it): the first one allocates it, the others must follow its node selector.
    """

    pod: Pod | None
    claims: tuple[ClaimRef, ...]
    namespace: str
    name: str

    @property
    def asked(self) -> tuple[ClaimRef, ...]:
        """The claims without an allocation."""
        return tuple(ref for ref in self.claims if ref.claim is not None and not ref.allocated)

    def held(self, made: Mapping[ObjectKey, AllocationResult] = MappingProxyType({})) -> Iterator[AllocationResult]:
        """What the claims hold already, which ties the unit to nodes (SCHED-2); ``made`` counts before their status."""
        for ref in self.claims:
            status = ref.claim.status if ref.claim else None
            found = made.get(ref.key) or (status.allocation if status else None)
            if found is not None:
                yield found

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the unit cannot be placed anywhere: claims or templates that are missing or being deleted (SCHED-1)."""
        return tuple(ref.problem for ref in self.claims if ref.problem)

    @property
    def node_name(self) -> str | None:
        """The node the pod is on already; its claims must be allocated there."""
        return (self.pod.spec.node_name or None) if self.pod else None

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels a selector sees: the pod's, or the loose claim's."""
        if self.pod:
            return self.pod.metadata.labels or {}
        return next((ref.claim.metadata.labels or {} for ref in self.claims if ref.claim), {})


def units(
    cluster: "Cluster", *, namespace: str | None = None, selector: str = "", claims: Sequence[str] | None = None
) -> tuple[Unit, ...]:
    """What is asked, in the order read: pods some claim of which has no allocation, and loose claims without one.

    ``namespace`` and ``selector`` (kubectl's label syntax, on the pod, or on the loose claim) narrow it;
    ``claims`` (``name`` in the given or default namespace, or ``namespace/name``) keeps units that have one of them.
    Pods that have finished or are being deleted, and loose claims being deleted, are not asked.
    Raises ``ValueError``, one line, for a bad selector and for a claim that nothing asks for.
    """
    requirements = parse_label_selector(selector)
    wanted = None if claims is None else [_claim_key(text, namespace) for text in claims]
    asked = [unit for unit in all_units(cluster) if _is_asked(unit, namespace, requirements)]
    if wanted is None:
        return tuple(asked)
    _check_wanted(wanted, asked, cluster)
    return tuple(unit for unit in asked if any(ref.key in wanted for ref in unit.claims))


def all_units(cluster: "Cluster") -> tuple[Unit, ...]:
    """Pods that are to run, with all their claims, and loose claims without an allocation, in the order read."""
    return cluster.kept("units", lambda: tuple(_all_units(cluster)))


def left_over(cluster: "Cluster", namespace: str | None = None) -> tuple[ObjectKey, ...]:
    """Claims without an allocation that only pods name which have finished or are being deleted: nothing asks for them.

    Claims made from templates for such pods go with them and are left out.
    """
    named: dict[bool, set[ObjectKey]] = {True: set(), False: set()}
    for key, pod in cluster.pods.items():
        names = (entry.resource_claim_name for entry in pod.spec.resource_claims or ())
        named[is_over(pod)].update((key[0], name) for name in names if name)
    found = sorted(key for key in named[True] - named[False] if key in cluster.claims and _is_open(cluster.claims[key]))
    return tuple(key for key in found if namespace in (None, key[0]))


def joined(units: Sequence[Unit]) -> Unit:
    """One unit of all these units' claims, in order: with ``--node``, loose claims are one pod's."""
    claims = tuple(ref for unit in units for ref in unit.claims)
    return Unit(None, claims, units[0].namespace, "+".join(unit.name for unit in units))


def _claim_key(text: str, namespace: str | None) -> ObjectKey:
    head, slash, tail = text.partition("/")
    return (head, tail) if slash else (namespace or DEFAULT_NAMESPACE, head)


def _is_asked(unit: Unit, namespace: str | None, requirements: Sequence[Requirement]) -> bool:
    if namespace is not None and unit.namespace != namespace:
        return False
    return bool(unit.asked or unit.problems) and matches_labels(requirements, unit.labels)


def _check_wanted(wanted: Iterable[ObjectKey], asked: Iterable[Unit], cluster: "Cluster") -> None:
    there = {ref.key for unit in asked for ref in unit.claims}
    for key in wanted:
        if key not in there:
            problem = "needs no allocation" if key in cluster.claims else "not found"
            raise ValueError(f"ResourceClaim {key[0]}/{key[1]} {problem}")


def _all_units(cluster: "Cluster") -> Iterator[Unit]:
    """All pods that are to run, and all loose claims, in the order read."""
    resolver = PodClaims(cluster)
    claims_of = {key: resolver.claims_of(pod) for key, pod in cluster.pods.items()}
    named = {ref.key for refs in claims_of.values() for ref in refs}
    for kind, key in cluster.order:
        if kind == "Pod" and not is_over(cluster.pods[key]):
            yield Unit(cluster.pods[key], claims_of[key], *key)
        elif kind == "ResourceClaim" and key not in named and _is_open(cluster.claims[key]):
            yield Unit(None, (resolver.existing(key),), *key)


def _is_open(claim: ResourceClaim) -> bool:
    return not is_allocated(claim) and not is_deleting(claim.metadata)


def is_over(pod: Pod) -> bool:
    """The pod has finished, or is being deleted."""
    return is_deleting(pod.metadata) or has_finished(pod)


def has_finished(pod: Pod) -> bool:
    """The pod's containers have ended; it holds nothing any more."""
    return pod.status is not None and pod.status.phase in _FINISHED
