"""Which claims a ConstraintGroup is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..cluster.cluster import Cluster
from ..kubernetes.claims import ResourceClaim
from ..kubernetes.extensions import ConstraintGroup, Entry, GroupPod, requests_in_claim
from ..kubernetes.meta import ObjectKey, key_of, matches_labels
from .requested import all_units
from .units import Unit


class GroupError(ValueError):
    """A ConstraintGroup that names what is not there; one line."""


def group_members(
    group: ConstraintGroup, cluster: Cluster, requested: Sequence[Unit] | None = None
) -> tuple[ObjectKey, ...]:
    """List the claims of a group, those made for pods from templates among them, allocated ones too.

    Claims that are named come first, then those selected by their labels, then those of pods. Pods that have finished
    or are being deleted have none. ``requested`` are the units to look at; None: those of the cluster. Raises
    ``GroupError`` for a claim, pod or entry of a pod that is named but not there, and for a constraint about a request
    that none of the claims has.
    """
    return _GroupMemberFinder(group, cluster, all_units(cluster) if requested is None else requested).members()


class _GroupMemberFinder:
    """Looks for the claims of one group."""

    def __init__(self, group: ConstraintGroup, cluster: Cluster, requested: Sequence[Unit]) -> None:
        self._spec = group.spec
        self._key = key_of(group.metadata)
        self._cluster = cluster
        self._units = [unit for unit in requested if unit.pod and unit.namespace == self._key[0]]
        made = {ref.key: ref.claim for unit in self._units for ref in unit.claims if ref.claim}
        own = {key: claim for key, claim in cluster.claims.items() if key[0] == self._key[0]}
        self._claims: dict[ObjectKey, ResourceClaim] = {**own, **made}

    def members(self) -> tuple[ObjectKey, ...]:
        """List them, each once."""
        found = tuple(dict.fromkeys((*self._named(), *self._labelled(), *self._of_pods())))
        for entry in self._spec.constraints or ():
            self._check(entry, found)
        return found

    def _error(self, message: str) -> GroupError:
        return GroupError(f"ConstraintGroup {self._key[0]}/{self._key[1]}: {message}")

    def _shown(self, name: str) -> str:
        return f"{self._key[0]}/{name}"

    def _named(self) -> Iterator[ObjectKey]:
        for claim in self._spec.claims or ():
            key = self._key[0], claim.name
            if key not in self._claims:
                raise self._error(f"ResourceClaim {self._shown(claim.name)} not found")
            yield key

    def _labelled(self) -> Iterator[ObjectKey]:
        selector = self._spec.claim_selector
        if selector is not None:
            requirements = selector.requirements
            yield from (key for key, one in self._claims.items() if matches_labels(requirements, one.metadata.labels))

    def _of_pods(self) -> Iterator[ObjectKey]:
        pods = self._spec.pods or ()
        for pod in pods:
            if pod.name:
                yield from self._narrowed(pod, self._pod(pod.name))
        selector = self._spec.pod_selector
        if selector is not None:
            chosen = [unit for unit in self._units if matches_labels(selector.requirements, unit.labels)]
            for pod in [pod for pod in pods if not pod.name] or [GroupPod()]:
                yield from self._narrowed(pod, chosen)

    def _pod(self, name: str) -> list[Unit]:
        found = [unit for unit in self._units if unit.name == name]
        if not found and (self._key[0], name) not in self._cluster.pods:
            raise self._error(f"Pod {self._shown(name)} not found")
        return found

    def _narrowed(self, pod: GroupPod, units: list[Unit]) -> Iterator[ObjectKey]:
        """Yield the claims of the pods, of the named entries only if any are named."""
        claims = [_claims_by_entry(unit) for unit in units]
        for name in pod.claims or ():
            if claims and not any(name in own for own in claims):
                about = f"Pod {self._shown(pod.name)} has" if pod.name else "the selected pods have"
                raise self._error(f"{about} no claim {name!r} in spec.resourceClaims")
        for own in claims:
            keys = own.values() if pod.claims is None else (own.get(name) for name in pod.claims)
            yield from (key for key in keys if key in self._claims)

    def _check(self, entry: Entry, found: tuple[ObjectKey, ...]) -> None:
        """Check that each reference of an entry leads to a request of some claim."""
        for text in entry.requests or ():
            one = Entry(requests=(text,))
            if not any(_has_request(self._claims[key], requests_in_claim(one, key[1]) or ()) for key in found):
                raise self._error(f"none of its claims has request {text!r}")


def _claims_by_entry(unit: Unit) -> dict[str, ObjectKey]:
    """Map the entries of a pod to their claims; one for which none was needed is left out."""
    made = {ref.entry: ref.key for ref in unit.claims}
    listed = (unit.pod.spec.resource_claims if unit.pod else None) or ()
    named = {entry.name: (unit.namespace, entry.resource_claim_name) for entry in listed if entry.resource_claim_name}
    return {**made, **named}


def _has_request(claim: ResourceClaim, references: tuple[str, ...]) -> bool:
    names = set()
    for request in claim.spec.devices.requests or ():
        names.add(request.name)
        names.update(f"{request.name}/{alternative.name}" for alternative in request.first_available or ())
    return any(reference in names for reference in references)
