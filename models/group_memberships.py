"""Sets of units that ConstraintGroups tell apart: members have other signatures than units that are none."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

from .constraint_groups import ConstraintGroup, requests_in
from .identity import key_of
from .labels import matches_labels
from .planned_sets import PlannedSet
from .planned_units import PlannedUnits
from .pod_claims import ClaimRef
from .unit_shapes import signature_of
from .units import Unit

if TYPE_CHECKING:
    from .cluster import Cluster

Membership = tuple[Hashable, ...]


def split_by_groups(cluster: "Cluster", sets: Iterable[PlannedSet]) -> list[PlannedSet]:
    """The sets, those with members split by the groups that their claims are in and by the requests meant there.

    Groups select claims and pods of their namespace only; other sets stay as they are.
    """
    groups: dict[str, list[ConstraintGroup]] = defaultdict(list)
    for key, group in cluster.constraint_groups.items():
        groups[key[0]].append(group)
    units = PlannedUnits(cluster)
    found: list[PlannedSet] = []
    for one in sets:
        near = groups.get(one.namespace)
        found += _split(one, near, units) if near else [one]
    return found


def _split(one: PlannedSet, groups: list[ConstraintGroup], units: PlannedUnits) -> Iterator[PlannedSet]:
    numbers: dict[Membership, list[int]] = defaultdict(list)
    for number in one.numbers:
        unit = units.unit(one, number)
        memberships = ((key_of(group.metadata), _membership(group, unit)) for group in groups)
        numbers[tuple((key, part) for key, part in memberships if part is not None)].append(number)
    for membership, same in numbers.items():
        alike = one.numbers if len(numbers) == 1 else tuple(same)
        signature = signature_of(one.signature, membership) if membership else one.signature
        yield one._replace(numbers=alike, signature=signature)


def _membership(group: ConstraintGroup, unit: Unit) -> Membership | None:
    """For each claim what the group's entries mean of it, None for no member; None if none is."""
    found = tuple(_meant(group, ref) if _is_member(group, unit, ref) else None for ref in unit.claims)
    return found if any(part is not None for part in found) else None


def _meant(group: ConstraintGroup, ref: ClaimRef) -> Membership:
    return tuple(requests_in(entry, ref.name) for entry in group.spec.constraints or ())


def _is_member(group: ConstraintGroup, unit: Unit, ref: ClaimRef) -> bool:
    spec = group.spec
    if any(claim.name == ref.name for claim in spec.claims or ()):
        return True
    labels = (ref.claim.metadata.labels if ref.claim else None) or {}
    if spec.claim_selector is not None and matches_labels(spec.claim_selector.requirements, labels):
        return True
    return unit.pod is not None and any(names is None or ref.entry in names for names in _entries(group, unit))


def _entries(group: ConstraintGroup, unit: Unit) -> Iterator[tuple[str, ...] | None]:
    """The entries of the pod whose claims are members, for each way that the group names it; None is all of them."""
    spec = group.spec
    pods = spec.pods or ()
    yield from (pod.claims for pod in pods if pod.name == unit.name)
    if spec.pod_selector is not None and matches_labels(spec.pod_selector.requirements, unit.labels):
        nameless = [pod.claims for pod in pods if not pod.name]
        yield from nameless or [None]
