"""Where volumes of pods can be used: nodes that PersistentVolumes and StorageClasses admit, and claims for one pod.

Rules are those of kube-scheduler's plugins VolumeBinding, VolumeZone and VolumeRestrictions. What the input does not
have restricts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from ..cluster.cluster import Cluster
from ..kubernetes.core import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    StorageClass,
    TopologyLabelRequirement,
    Volume,
)
from ..kubernetes.meta import ObjectKey, key_of
from ..kubernetes.quantity import Quantity

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_SINGLE_POD = "ReadWriteOncePod"
_OLD_PREFIX = "failure-domain.beta"
_ZONE_LABELS = frozenset(
    f"{prefix}.kubernetes.io/{name}" for prefix in ("topology", _OLD_PREFIX) for name in ("zone", "region")
)


class VolumeRestriction(NamedTuple):
    """Selectors of nodes from which volumes of a pod can be used, and claims of which one pod may have each."""

    selectors: tuple[NodeSelector, ...] = ()
    claims: tuple[ObjectKey, ...] = ()


NO_VOLUMES = VolumeRestriction()


class VolumeRules:
    """Finds where volumes of pods can be used. Claims and classes that are not in the input restrict nothing."""

    def __init__(self, cluster: Cluster) -> None:
        self._claims = cluster.objects(PersistentVolumeClaim)
        self._volumes = cluster.objects(PersistentVolume)
        self._classes = cluster.objects(StorageClass)

    def of(self, pod: Pod) -> VolumeRestriction:
        """The restriction of a pod's volumes."""
        selectors: list[NodeSelector] = []
        single: list[ObjectKey] = []
        for key, spec in self._specs(pod):
            if spec is None:
                continue
            if _SINGLE_POD in (spec.access_modes or ()):
                single.append(key)
            selectors += self._selectors(key, spec)
        return VolumeRestriction(tuple(dict.fromkeys(selectors)), tuple(dict.fromkeys(single)))

    def is_known(self, pod: Pod) -> bool:
        """Whether the input says of all claims of the pod's volumes where they can be used."""
        return all(spec is not None and self._is_settled(spec) for _, spec in self._specs(pod))

    def _specs(self, pod: Pod) -> Iterator[tuple[ObjectKey, PersistentVolumeClaimSpec | None]]:
        namespace, name = key_of(pod.metadata)
        for volume in pod.spec.volumes or ():
            if (key := _claim_of(volume, namespace, name)) is not None:
                claim = self._claims.get(key)
                made = volume.ephemeral.volume_claim_template if volume.ephemeral else None
                yield key, claim.spec if claim else made.spec if made else None

    def _class_of(self, spec: PersistentVolumeClaimSpec) -> StorageClass | None:
        if spec.storage_class_name is not None:
            return self._classes.get(spec.storage_class_name)
        annotated = ((one.metadata.annotations or {}, one) for one in self._classes.values())
        defaults = (one for annotations, one in annotated if annotations.get(_DEFAULT_CLASS) == "true")
        return max(defaults, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name), default=None)

    def _is_settled(self, spec: PersistentVolumeClaimSpec) -> bool:
        if spec.volume_name:
            return spec.volume_name in self._volumes
        made = self._class_of(spec)
        # Claims that wait for a volume that nobody makes may want the same one.
        return made is not None and made.volume_binding_mode != "Immediate" and made.provisioner != _NO_PROVISIONER

    def _selectors(self, key: ObjectKey, spec: PersistentVolumeClaimSpec) -> Iterator[NodeSelector]:
        if spec.volume_name:
            if (volume := self._volumes.get(spec.volume_name)) is not None:
                yield from _volume_selectors(volume)
            return
        made = self._class_of(spec)
        if made is None or made.volume_binding_mode == "Immediate":
            return
        fitting = [one for one in self._volumes.values() if _may_bind(one, key, spec, made.metadata.name)]
        terms: list[NodeSelectorTerm] = []
        for volume in fitting:
            # Zones count for volumes that are bound alone.
            affinity = _affinity(volume)
            if affinity is None:
                return
            terms += affinity.node_selector_terms or ()
        if made.provisioner != _NO_PROVISIONER:
            if not made.allowed_topologies:
                return
            terms += [_topology_term(one.match_label_expressions or ()) for one in made.allowed_topologies]
        yield _any_term(terms)


def _claim_of(volume: Volume, namespace: str, pod: str) -> ObjectKey | None:
    if volume.persistent_volume_claim is not None:
        return namespace, volume.persistent_volume_claim.claim_name
    return (namespace, f"{pod}-{volume.name}") if volume.ephemeral is not None else None


def _topology_term(expressions: Iterable[TopologyLabelRequirement]) -> NodeSelectorTerm:
    listed = [_label_test(one.key, "In", one.values or ()) for one in expressions]
    return NodeSelectorTerm(match_expressions=tuple(listed))


def _affinity(volume: PersistentVolume) -> NodeSelector | None:
    return volume.spec.node_affinity.required if volume.spec.node_affinity else None


def _volume_selectors(volume: PersistentVolume) -> Iterator[NodeSelector]:
    """The nodes that a bound PersistentVolume names, and those of its zone; nodes without any zone are of each.

    A node without an old label has the value of the new one.
    """
    affinity = _affinity(volume)
    if affinity is not None:
        yield affinity
    labels = {key: value for key, value in (volume.metadata.labels or {}).items() if key in _ZONE_LABELS}
    if labels:
        ways = [list(_zone_tests(key, tuple(sorted(value.split("__"))))) for key, value in sorted(labels.items())]
        within = [tuple(test for way in chosen for test in way) for chosen in product(*ways)]
        without = tuple(_label_test(key, "DoesNotExist") for key in sorted(_ZONE_LABELS))
        yield _any_term(NodeSelectorTerm(match_expressions=one) for one in (*within, without))


def _zone_tests(key: str, values: tuple[str, ...]) -> Iterator[tuple[NodeSelectorRequirement, ...]]:
    """The ways in which a node may be of the zone or region."""
    yield (_label_test(key, "In", values),)
    if key.startswith(_OLD_PREFIX):
        new = f"topology{key.removeprefix(_OLD_PREFIX)}"
        yield _label_test(key, "DoesNotExist"), _label_test(new, "In", values)


def _label_test(key: str, operator: str, values: tuple[str, ...] | None = None) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def _any_term(terms: Iterable[NodeSelectorTerm]) -> NodeSelector:
    return NodeSelector(node_selector_terms=tuple(terms))


def _may_bind(volume: PersistentVolume, key: ObjectKey, spec: PersistentVolumeClaimSpec, class_name: str) -> bool:
    """Whether a claim without a volume could get this one."""
    own, kept = volume.spec, volume.spec.claim_ref
    if own.storage_class_name != class_name or (kept is not None and (kept.namespace, kept.name) != key):
        return False
    if not set(spec.access_modes or ()) <= set(own.access_modes or ()):
        return False
    needed, there = (spec.resources.requests or {}).get("storage", "0"), (own.capacity or {}).get("storage", "0")
    return Quantity.parse(there).nano >= Quantity.parse(needed).nano
