"""Clusters that differ from the one that was read: a queue of another length, nodes that are added or removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import HOSTNAME_LABEL, Namespace, Node, Pod
from ...models.kubernetes.kinds import kind_of
from ...models.kubernetes.kueue import LocalQueue
from ...models.kubernetes.meta import ObjectMeta, key_of, matches_labels, parse_label_selector
from ...models.kubernetes.node_templates import NODE_TEMPLATE_ANNOTATION
from ...models.kubernetes.slices import ResourceSlice
from ...models.kubernetes.workloads import Workload
from ...models.manifests.reader import Manifest
from ...models.manifests.writer import is_allocated
from ...models.workload.queue import read_queue
from ...models.workload.unit_classes import ControllerKind, UnitSet
from ..plan.build.nodes import new_names, with_bought_nodes

# Kinds that units come from; they are copied as far as they wait.
_OWNERS = {"Pod", "ResourceClaim", *get_args(ControllerKind)}
# Kind, namespace and name.
_ObjectName = tuple[str, str, str]
# By namespace, the one that it is a copy of, and what was chosen there.
_Spaces = dict[str, tuple[str, set[_ObjectName]]]


@dataclass(frozen=True, slots=True)
class NodeChange:
    """Nodes that are added or removed: so many of a NodeTemplate, or of those with labels; None: all of them."""

    template: str = ""
    selector: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """What is different, in the order in which it is done: nodes removed, nodes added, and the length of the queue."""

    removed: tuple[NodeChange, ...] = ()
    added: tuple[NodeChange, ...] = ()
    scale: float = 1

    def apply(self, cluster: Cluster) -> Cluster:
        """The changed cluster. Raises ``ValueError``, one line, for a template that is not there, or too few nodes."""
        for one in self.removed:
            cluster = _without_nodes(cluster, one)
        for one in self.added:
            cluster = _with_nodes(cluster, one)
        return cluster if self.scale == 1 else scaled_queue(cluster, self.scale)


def _without_nodes(cluster: Cluster, change: NodeChange) -> Cluster:
    """Without nodes, the last by name first, and without the pods that run there and what these hold.

    Controllers make their pods again, as they do when a node is lost.
    """
    found = _chosen_nodes(cluster, change)
    gone = set(found if change.count is None else found[len(found) - change.count :])
    pods = {key for key, pod in cluster.pods.items() if pod.spec.node_name in gone}
    pools = {(slice_.spec.driver, slice_.spec.pool.name) for slice_ in cluster.slices if slice_.spec.node_name in gone}
    uids = {cluster.pods[key].metadata.uid for key in pods} - {""}
    claims = {key for key, claim in cluster.claims.items() if _holds_of(claim, pools) or _made_for(claim, uids)}
    rest = cluster.without(nodes=gone, claims=claims, pods=pods)
    kept = tuple(slice_ for slice_ in cluster.slices if slice_.spec.node_name not in gone)
    manifests = [one for one in rest.manifests if not _is_slice_of(one, gone)]
    return _rebuilt(manifests, replace(rest, slices=kept))


def _rebuilt(manifests: Iterable[Manifest], known: Cluster) -> Cluster:
    """A cluster of manifests, with the nodes and slices that are known: those that were added have no manifests."""
    made = Cluster.build(manifests)
    return replace(made, nodes=known.nodes, slices=known.slices, node_templates=known.node_templates)


def _is_slice_of(manifest: Manifest, nodes: set[str]) -> bool:
    return isinstance(manifest.object, ResourceSlice) and manifest.object.spec.node_name in nodes


def _holds_of(claim: ResourceClaim, pools: set[tuple[str, str]]) -> bool:
    allocation = claim.status.allocation if claim.status else None
    return allocation is not None and any((one.driver, one.pool) in pools for one in allocation.devices.results or ())


def _made_for(claim: ResourceClaim, pods: set[str]) -> bool:
    return any(owner.uid in pods for owner in claim.metadata.owner_references or ())


def _chosen_nodes(cluster: Cluster, change: NodeChange) -> list[str]:
    """Names of nodes of a template or with labels. Raises ``ValueError`` if there are fewer than asked for."""
    requirements = parse_label_selector(change.selector)
    found = [
        name
        for name, node in cluster.nodes.items()
        if (
            (node.metadata.annotations or {}).get(NODE_TEMPLATE_ANNOTATION) == change.template
            if change.template
            else matches_labels(requirements, node.metadata.labels)
        )
    ]
    if change.count is not None and len(found) < change.count:
        of = f"of NodeTemplate {change.template}" if change.template else f"with labels {change.selector}"
        raise ValueError(
            f"there {'is' if len(found) == 1 else 'are'} {plural(len(found), 'node')} {of}, not {change.count}"
        )
    return found


def _with_nodes(cluster: Cluster, change: NodeChange) -> Cluster:
    """With nodes of a template, or with copies of nodes that have labels, in turn."""
    if change.template:
        if change.template not in cluster.node_templates:
            known = ", ".join(cluster.node_templates) or "none"
            raise ValueError(f"there is no NodeTemplate {change.template!r}, known are: {known}")
        return with_bought_nodes(cluster, {change.template: change.count or 0})[0]
    originals = _chosen_nodes(cluster, replace(change, count=None))
    if not originals:
        raise ValueError(f"there is no node with labels {change.selector} to copy")
    own: dict[str, list[ResourceSlice]] = defaultdict(list)
    for slice_ in cluster.slices:
        if slice_.spec.node_name:
            own[slice_.spec.node_name].append(slice_)
    nodes: list[Node] = []
    slices: list[ResourceSlice] = []
    for place, original in enumerate(originals):
        number = len(range(place, change.count or 0, len(originals)))
        for name in new_names(cluster, f"{original}-copy", number):
            nodes.append(_copy_node(cluster.nodes[original], name))
            slices += [_copy_slice(slice_, original, name) for slice_ in own[original]]
    return cluster.with_nodes(nodes, slices)


def _copy_node(node: Node, name: str) -> Node:
    labels = {**(node.metadata.labels or {}), HOSTNAME_LABEL: name}
    return structs.replace(node, metadata=structs.replace(node.metadata, name=name, uid="", labels=labels))


def _copy_slice(slice_: ResourceSlice, node: str, name: str) -> ResourceSlice:
    pool = slice_.spec.pool
    renamed = name if pool.name == node else f"{pool.name}/{name}"
    metadata = ObjectMeta(name=f"{slice_.metadata.name}-{name}", labels=slice_.metadata.labels)
    spec = structs.replace(slice_.spec, node_name=name, pool=structs.replace(pool, name=renamed))
    return structs.replace(slice_, metadata=metadata, spec=spec)


def scaled_queue(cluster: Cluster, factor: float) -> Cluster:
    """The cluster with a queue so many times as long.

    Each copy of what waits is in namespaces of its own, with everything that it refers to there: claims, templates,
    groups, local queues. Of a part of a copy owners and gangs are taken whole, in the order read, so that the number
    of units is as near as can be. A copy of an owner of which some pods run asks for all of its pods.
    """
    sets = [one for one in read_queue(cluster) if not one.node]
    roots = _OwnerTree(cluster)
    groups: dict[_ObjectName, set[_ObjectName]] = defaultdict(set)
    units: dict[_ObjectName, int] = defaultdict(int)
    for one in sets:
        root = roots.root_of_set(one)
        group = ("", one.gang.namespace, one.gang.label) if one.gang is not None else root
        groups[group].add(root)
        units[group] += one.replicas
    whole = int(factor)
    everything = {root for members in groups.values() for root in members}
    part = _part_of(groups, units, factor - whole)
    manifests = list(cluster.manifests)
    if whole == 0:
        kept = [one for one in manifests if not roots.waits(one, everything) or roots.waits(one, part)]
        return _without_others(_rebuilt(kept, cluster), roots, {one.namespace: (one.namespace, part) for one in sets})
    taken = {one.metadata.name for one in cluster.namespaces.values()} | {one.namespace for one in sets}
    made = manifests
    spaces: _Spaces = {}
    for number in range(2, whole + 1 + bool(part)):
        chosen = everything if number <= whole else part
        renamed = _copied_namespaces(chosen, number, taken)
        spaces |= {new: (old, chosen) for old, new in renamed.items()}
        made = [*made, *_copied_objects(manifests, roots, chosen, number, renamed)]
    return _without_others(_rebuilt(made, cluster), roots, spaces)


def _part_of(
    groups: Mapping[_ObjectName, set[_ObjectName]], units: Mapping[_ObjectName, int], part: float
) -> set[_ObjectName]:
    """Choose owners that have about this part of all units: one is taken if that brings the number nearer."""
    chosen: set[_ObjectName] = set()
    seen = taken = 0
    for group, members in groups.items():
        seen += units[group]
        # Half of the smallest difference that counts is more than what floating point loses.
        if taken + units[group] / 2 <= part * seen + 1e-9 and part > 0:
            chosen |= members
            taken += units[group]
    return chosen


class _OwnerTree:
    """Who made what: each object of the queue has a root, which nobody in the cluster made."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._parents: dict[_ObjectName, _ObjectName] = {}
        names = {_name_of(one) for one in cluster.manifests if one.object is not None}
        for one in cluster.manifests:
            if one.object is not None and _is_namespaced(one.object):
                namespace = key_of(one.object.metadata)[0]
                for owner in one.object.metadata.owner_references or ():
                    parent = owner.kind, namespace, owner.name
                    if parent in names and owner.controller is not False:
                        self._parents[_name_of(one)] = parent

    def root(self, name: _ObjectName) -> _ObjectName:
        """Follow the owners; a circle of owners ends where it began."""
        seen = {name}
        while (parent := self._parents.get(name)) is not None and parent not in seen:
            seen.add(parent)
            name = parent
        return name

    def root_of_set(self, one: UnitSet) -> _ObjectName:
        """The root of the owner of units."""
        return self.root((one.kind, one.namespace, one.name))

    def waits(self, manifest: Manifest, chosen: set[_ObjectName]) -> bool:
        """Whether an object is a part of what waits of these roots: no running pod, no allocated claim."""
        made = manifest.object
        runs = isinstance(made, Pod) and made.spec.node_name
        if runs or (isinstance(made, ResourceClaim) and is_allocated(made)):
            return False
        return manifest.kind in _OWNERS and self.root(_name_of(manifest)) in chosen


def _is_namespaced(made: Any) -> bool:
    return kind_of(type(made)).namespaced


def _name_of(manifest: Manifest) -> _ObjectName:
    made: Any = manifest.object
    return (manifest.kind, *key_of(made.metadata)) if made is not None else (manifest.kind, "", "")


def _copied_namespaces(chosen: set[_ObjectName], number: int, taken: set[str]) -> dict[str, str]:
    """The namespaces of the copy of this number, by those of what is copied."""
    renamed = {}
    for space in sorted({namespace for _, namespace, _ in chosen}):
        name = f"{space}-x{number}"
        while name in taken:
            name = f"{space}-copy{name.removeprefix(space)}"
        renamed[space] = name
    return renamed


def _copied_objects(
    manifests: Iterable[Manifest], roots: _OwnerTree, chosen: set[_ObjectName], number: int, renamed: Mapping[str, str]
) -> Iterator[Manifest]:
    """Yield the objects of the copy of this number, with their namespaces."""
    for one in manifests:
        made: Any = one.object
        if isinstance(made, Namespace):
            if made.metadata.name in renamed:
                yield _renamed(one, number, name=renamed[made.metadata.name])
        elif made is None or not _is_namespaced(made) or key_of(made.metadata)[0] not in renamed:
            continue
        elif _goes_along(one, roots, chosen):
            yield _renamed(one, number, namespace=renamed[key_of(made.metadata)[0]])


def _goes_along(manifest: Manifest, roots: _OwnerTree, chosen: set[_ObjectName]) -> bool:
    """Whether an object belongs to a copy: what waits of the chosen, claims of pods, and what they may refer to."""
    made = manifest.object
    if isinstance(made, ResourceClaim):
        # Claims that no pod of the copy asks for are taken away afterwards.
        return not is_allocated(made)
    if manifest.kind in _OWNERS and not isinstance(made, Workload):
        return roots.waits(manifest, chosen)
    from_kueue = manifest.api_version.startswith("kueue.")
    return isinstance(made, LocalQueue) or not from_kueue


def _renamed(manifest: Manifest, number: int, **changes: str) -> Manifest:
    """The copy of an object under another name or in another namespace; those that it made know it by its new uid."""
    made: Any = manifest.object
    owners = made.metadata.owner_references
    fields = {
        **changes,
        "uid": made.metadata.uid and f"{made.metadata.uid}-x{number}",
        "owner_references": owners and tuple(structs.replace(one, uid=f"{one.uid}-x{number}") for one in owners),
    }
    raw = manifest.raw and {**manifest.raw, "metadata": {**(manifest.raw.get("metadata") or {}), **changes}}
    return structs.replace(
        manifest, object=structs.replace(made, metadata=structs.replace(made.metadata, **fields)), raw=raw
    )


def _without_others(cluster: Cluster, roots: _OwnerTree, spaces: _Spaces) -> Cluster:
    """Without loose claims of these namespaces that were not chosen: the pods that asked for them are not there."""
    gone = []
    for one in read_queue(cluster):
        if one.kind == "ResourceClaim" and one.namespace in spaces:
            original, chosen = spaces[one.namespace]
            if roots.root((one.kind, original, one.name)) not in chosen:
                gone.append((one.namespace, one.name))
    return cluster.without(claims=gone) if gone else cluster
