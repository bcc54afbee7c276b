"""The immutable index of everything that was read, and the instances of topologies in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar, cast

from msgspec import json, structs

from ..formats.errors import Source
from ..formats.runtime import gc_young_only
from ..kubernetes.claims import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate
from ..kubernetes.core import HOSTNAME_LABEL, Namespace, Node, Pod
from ..kubernetes.extensions import ConstraintGroup, DeviceTopology
from ..kubernetes.gates import FeatureGates
from ..kubernetes.kinds import (
    INTEGRATION_MODELS,
    WORKLOAD_MODELS,
    ApiObject,
    IntegrationObject,
    WorkloadObject,
    kind_of,
)
from ..kubernetes.meta import ObjectKey, ObjectMeta, key_of
from ..kubernetes.node_templates import NodeTemplate
from ..kubernetes.serving import ComputeDomain, channel_template
from ..kubernetes.slices import DescribedDevice, ResourceSlice
from ..kubernetes.workloads import Deployment, Job, PodGroup, PriorityClass, StatefulSet, Workload
from ..manifests.reader import Manifest
from ..manifests.writer import current_manifests, is_allocated
from .node_fit import located_parts
from .pools import PoolDevice, PoolIndex
from .usage import Usage

T = TypeVar("T")
_CLAIMING = (Pod, ResourceClaim)


class _SliceIndexes:
    """Pool indexes by the gates that matter, and others; shared by clusters with the same slices and rules."""

    def __init__(self) -> None:
        self.pools: dict[tuple[bool, bool, bool, bool], PoolIndex] = {}
        self.others: dict[Hashable, Any] = {}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Cluster:
    """Objects by kind, sorted by name, and the indexes the engines read. Immutable and picklable.

    ``nodes`` are the Node objects. If the input has none, they are inferred from the node names of slices and
    devices; if there are none either, there is one nameless node, which sees devices for all nodes.
    """

    slices: tuple[ResourceSlice, ...] = ()
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    claims: Mapping[ObjectKey, ResourceClaim] = field(default_factory=dict)
    templates: Mapping[ObjectKey, ResourceClaimTemplate] = field(default_factory=dict)
    pods: Mapping[ObjectKey, Pod] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    taint_rules: tuple[DeviceTaintRule, ...] = ()
    topologies: Mapping[str, DeviceTopology] = field(default_factory=dict)
    constraint_groups: Mapping[ObjectKey, ConstraintGroup] = field(default_factory=dict)
    node_templates: Mapping[str, NodeTemplate] = field(default_factory=dict)
    # Controllers and what they refer to, by model; ``objects`` looks them up.
    workload_objects: Mapping[type[Any], Mapping[Any, WorkloadObject]] = field(default_factory=dict)
    # Objects of neighbouring systems, in the same way.
    integration_objects: Mapping[type[Any], Mapping[Any, IntegrationObject]] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    workloads: Mapping[ObjectKey, Workload] = field(default_factory=dict)
    pod_groups: Mapping[ObjectKey, PodGroup] = field(default_factory=dict)
    # What was read, in that order; ``manifests`` is what remains of it.
    read: tuple[Manifest, ...] = ()
    _indexes: _SliceIndexes = field(default_factory=_SliceIndexes)
    _usages: dict[bool, Usage] = field(default_factory=dict)
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False)

    @classmethod
    @gc_young_only()
    def build(cls, manifests: Iterable[Manifest]) -> Cluster:
        """Index manifests; of two objects of one kind and name the later counts."""
        read = tuple(manifests)
        objects: dict[type[Any], list[ApiObject]] = defaultdict(list)
        for manifest in read:
            if manifest.object is not None:
                objects[type(manifest.object)].append(manifest.object)

        def by_key(model: type[Any]) -> dict[Any, Any]:
            """The objects of a kind by key, or name, in its order; of several with one key the last."""
            metadata = ((item.metadata, item) for item in objects[model])
            namespaced = kind_of(model).namespaced
            found = {key_of(meta) if namespaced else meta.name: item for meta, item in metadata}
            names = sorted(found)
            return found if names == list(found) else {name: found[name] for name in names}

        slices = tuple(by_key(ResourceSlice).values())
        return cls(
            slices=slices,
            classes=by_key(DeviceClass),
            claims=by_key(ResourceClaim),
            templates=_with_channel_templates(by_key(ResourceClaimTemplate), objects[ComputeDomain]),
            pods=by_key(Pod),
            nodes=by_key(Node) or _inferred_nodes(slices),
            namespaces=by_key(Namespace),
            taint_rules=tuple(by_key(DeviceTaintRule).values()),
            topologies=by_key(DeviceTopology),
            constraint_groups=by_key(ConstraintGroup),
            node_templates=by_key(NodeTemplate),
            workload_objects={model: by_key(model) for model in WORKLOAD_MODELS if objects.get(model)},
            integration_objects={model: by_key(model) for model in INTEGRATION_MODELS if objects.get(model)},
            priority_classes=by_key(PriorityClass),
            workloads=by_key(Workload),
            pod_groups=by_key(PodGroup),
            read=read,
        )

    @classmethod
    def of(cls, objects: Iterable[ApiObject]) -> Cluster:
        """Index objects made in Python; nothing is defaulted or validated."""
        source = Source("(objects)", 0)
        return cls.build(
            Manifest(kind.name, kind.api_versions()[0], item, None, source)
            for item in objects
            for kind in (kind_of(type(item)),)
        )

    def with_nodes(self, nodes: Iterable[Node], slices: Iterable[ResourceSlice] = ()) -> Cluster:
        """With these nodes, and slices that come with them, added or replaced. Without new slices the index is shared.

        Inferred nodes stay, except for the nameless one.
        """
        merged = {**self.nodes, **{node.metadata.name: node for node in nodes}}
        known = {name: node for name, node in sorted(merged.items()) if name or len(merged) == 1}
        added = {slice_.metadata.name: slice_ for slice_ in slices}
        if not added:
            return replace(self, nodes=known, _usages=dict(self._usages))
        all_slices = {**{slice_.metadata.name: slice_ for slice_ in self.slices}, **added}
        ordered = tuple(slice_ for _, slice_ in sorted(all_slices.items()))
        return replace(self, nodes=known, slices=ordered, _usages=dict(self._usages), _indexes=_SliceIndexes())

    def with_slices(self, slices: Iterable[ResourceSlice]) -> Cluster:
        """With these ResourceSlices, and no others."""
        ordered = tuple(sorted(slices, key=lambda one: one.metadata.name))
        return replace(self, slices=ordered, _usages=dict(self._usages), _indexes=_SliceIndexes())

    def with_templates(self, templates: Mapping[str, NodeTemplate]) -> Cluster:
        """With these NodeTemplates, and no others."""
        return replace(self, node_templates=templates, _usages=dict(self._usages))

    def with_claims(self, claims: Iterable[ResourceClaim]) -> Cluster:
        """With these claims added or replaced, e.g. by allocated or unpinned ones; the usage is derived."""
        changed = {key_of(claim.metadata): claim for claim in claims}
        usages = {sharing: usage.with_claims(changed.values()) for sharing, usage in self._usages.items()}
        return replace(self, claims=dict(sorted({**self.claims, **changed}.items())), _usages=usages)

    def with_claim_templates(self, templates: Mapping[ObjectKey, ResourceClaimTemplate]) -> Cluster:
        """With these ResourceClaimTemplates in place of those of their names."""
        return replace(self, templates={**self.templates, **templates}, _usages=dict(self._usages))

    def with_pods(self, pods: Iterable[Pod]) -> Cluster:
        """With these pods in place of those of their names, or added."""
        changed = {key_of(pod.metadata): pod for pod in pods}
        return replace(self, pods=dict(sorted({**self.pods, **changed}.items())), _usages=dict(self._usages))

    def without(
        self, *, nodes: Iterable[str] = (), claims: Iterable[ObjectKey] = (), pods: Iterable[ObjectKey] = ()
    ) -> Cluster:
        """Without these nodes, claims (what they hold is free again) and pods; unknown ones are no error."""
        gone_claims = frozenset(claims)
        return replace(
            self,
            nodes=_without_keys(self.nodes, nodes),
            claims=_without_keys(self.claims, gone_claims),
            pods=_without_keys(self.pods, pods),
            _usages={sharing: usage.without(gone_claims) for sharing, usage in self._usages.items()},
        )

    def with_gates(self, gates: FeatureGates) -> Cluster:
        """As an API server with these gates keeps it: claims of PodGroups are dropped while their gates are off."""
        if gates.pod_group_claims or not any(group.spec.resource_claims for group in self.pod_groups.values()):
            return self
        groups = {
            key: structs.replace(group, spec=structs.replace(group.spec, resource_claims=None))
            for key, group in self.pod_groups.items()
        }
        return replace(self, pod_groups=groups)

    def node(self, name: str) -> Node:
        """The node of this name; an unknown name gives a node with nothing but its name and host name label."""
        return self.nodes.get(name) or inferred_node(name)

    def knows_node(self, name: str) -> bool:
        """Whether a node of this name is among the nodes, or named by a slice or device; the nameless one is any."""
        named = (part.node_name == name for slice_ in self.slices for part in located_parts(slice_))
        return name in self.nodes or "" in self.nodes or any(named)

    def objects(self, model: type[T]) -> Mapping[Any, T]:
        """The objects of a kind of workloads or of a neighbouring system, by key; by name without namespace."""
        found = self.workload_objects.get(model) or self.integration_objects.get(model)
        return cast("Mapping[Any, T]", found or {})

    def pools(self, gates: FeatureGates) -> PoolIndex:
        """The pools under these gates, built at the first call and kept."""
        rules = bool(self.taint_rules) and gates.device_taint_rules
        stable = gates.variant == "stable"
        key = gates.partitionable_devices, gates.compatibility_groups, rules, stable
        index = self._indexes.pools.get(key)
        if index is None:
            with gc_young_only():
                index = self._indexes.pools[key] = PoolIndex(self.slices, gates, self.taint_rules)
        return index

    def usage(self, gates: FeatureGates) -> Usage:
        """What the claims' allocations hold under these gates, built at the first call and kept."""
        sharing = gates.consumable_capacity
        if sharing not in self._usages:
            with gc_young_only():
                self._usages[sharing] = Usage.of(self.claims.values(), gates)
        return self._usages[sharing]

    def slice_memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` derives from slices and taint rules, once for all clusters that have the same ones."""
        return _memoized(self._indexes.others, key, make)

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` derives from this very cluster, made at the first call with this key."""
        return _memoized(self._memo, key, make)

    def input_hash(self) -> str:
        """The SHA-256 of all objects as they were read, in their order, whatever files they stand in."""
        digest, encode = sha256(), json.Encoder().encode
        for manifest in self.read:
            read = manifest.raw if manifest.object is None else manifest.object
            digest.update(f"{manifest.api_version} {manifest.kind}\n".encode())
            digest.update(encode(read))
            digest.update(b"\n")
        return digest.hexdigest()

    @cached_property
    def device_count(self) -> int:
        """How many devices the slices publish, obsolete ones included."""
        return sum(len(slice_.spec.devices or ()) for slice_ in self.slices)

    def in_read_order(self, objects: Mapping[type[Any], Mapping[ObjectKey, Any]]) -> list[tuple[type[Any], ObjectKey]]:
        """Model and key of these objects, given by model, in the order read; added claims come last, by name."""
        there = (manifest.object for manifest in self.read)
        read = ((type(one), key_of(one.metadata)) for one in there if one is not None and type(one) in objects)
        added: Iterator[tuple[type[Any], ObjectKey]] = ((ResourceClaim, key) for key in self.claims)
        return [(model, key) for model, key in dict.fromkeys((*read, *added)) if key in objects[model]]

    @cached_property
    def manifests(self) -> tuple[Manifest, ...]:
        """What was read, as it was and in that order, less what was taken away; claims are kept current."""
        nodes = {key_of(node.metadata): node for node in self.nodes.values()}
        current: dict[type[Any], Mapping[ObjectKey, Any]] = {Node: nodes, Pod: self.pods, ResourceClaim: self.claims}
        return tuple(current_manifests(self.read, current))

    @cached_property
    def _manifest_index(self) -> dict[tuple[type[Any], ObjectKey], Manifest]:
        return {
            (type(manifest.object), key_of(manifest.object.metadata)): manifest
            for manifest in self.manifests
            if isinstance(manifest.object, _CLAIMING)
        }

    @cached_property
    def _template_manifests(self) -> dict[ObjectKey, Manifest]:
        """Of what was read; templates do not change."""
        found = ((one.object, one) for one in self.read)
        return {key_of(read.metadata): one for read, one in found if isinstance(read, ResourceClaimTemplate)}

    def manifest(self, model: type[Pod | ResourceClaim | ResourceClaimTemplate], key: ObjectKey) -> Manifest | None:
        """The manifest of a pod, claim or claim template."""
        if model is ResourceClaimTemplate:
            return self._template_manifests.get(key)
        return self._manifest_index.get((model, key))

    def __getstate__(self) -> dict[str, Any]:
        return {field_.name: getattr(self, field_.name) for field_ in fields(self) if not field_.name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _indexes=_SliceIndexes(), _usages={}, _memo={})

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in self.summary().items() if count)
        return f"Cluster({counts})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{what}</th><td>{count}</td></tr>" for what, count in self.summary().items())
        return f"<table><caption>Cluster</caption>{rows}</table>"

    def summary(self) -> dict[str, int]:
        """How many of what there is."""
        return {
            "nodes": len(self.nodes),
            "slices": len(self.slices),
            "devices": self.device_count,
            "device classes": len(self.classes),
            "claims": len(self.claims),
            "allocated claims": sum(1 for claim in self.claims.values() if is_allocated(claim)),
            "claim templates": len(self.templates),
            "pods": len(self.pods),
            "taint rules": len(self.taint_rules),
            "topologies": len(self.topologies),
            "constraint groups": len(self.constraint_groups),
            "node templates": len(self.node_templates),
            "jobs": len(self.objects(Job)),
            "deployments": len(self.objects(Deployment)),
            "stateful sets": len(self.objects(StatefulSet)),
            **{
                f"{kind_of(model).name} objects": len(found)
                for model, found in (*self.workload_objects.items(), *self.integration_objects.items())
                if model not in (Job, Deployment, StatefulSet)
            },
        }


def _with_channel_templates(
    templates: dict[ObjectKey, ResourceClaimTemplate], domains: Iterable[ApiObject]
) -> dict[ObjectKey, ResourceClaimTemplate]:
    """The claim templates, with those that ComputeDomains name and that are not there yet (KND-9)."""
    made = (channel_template(domain) for domain in domains if isinstance(domain, ComputeDomain))
    missing = {key_of(one.metadata): one for one in made if one is not None}
    return dict(sorted({**missing, **templates}.items())) if missing.keys() - templates.keys() else templates


def inferred_node(name: str) -> Node:
    """A node of which nothing but the name is known; without even a name, one that has no labels."""
    return Node(metadata=ObjectMeta(name=name, labels={HOSTNAME_LABEL: name} if name else None))


def _inferred_nodes(slices: Iterable[ResourceSlice]) -> dict[str, Node]:
    names = {part.node_name for slice_ in slices for part in located_parts(slice_) if part.node_name}
    return {name: inferred_node(name) for name in sorted(names) or [""]}


def _memoized(known: dict[Hashable, Any], key: Hashable, make: Callable[[], T]) -> T:
    if key not in known:
        with gc_young_only():
            known[key] = make()
    found: T = known[key]
    return found


def _without_keys(mapping: Mapping[Any, Any], keys: Iterable[Any]) -> dict[Any, Any]:
    gone = frozenset(keys)
    return {key: value for key, value in mapping.items() if key not in gone}


TopologyMembership = Callable[[DescribedDevice], bool]
"""Whether a device belongs to a topology."""


@dataclass(frozen=True, slots=True)
class TopologyInstance:
    """Devices of one node, of one pool (``DRIVER/POOL``) or of the whole cluster, whose name is empty."""

    scope: str
    name: str
    devices: tuple[PoolDevice, ...]

    @property
    def label(self) -> str:
        """The instance in a message."""
        return f"{self.scope.lower()} {self.name}".strip()


def driver_membership(topology: DeviceTopology) -> TopologyMembership:
    """Membership of a topology that names a driver; those that name a class need its selectors evaluated."""
    return lambda device: device.driver == topology.spec.driver


def topology_instances(
    topology: DeviceTopology,
    cluster: Cluster,
    gates: FeatureGates,
    belongs: TopologyMembership,
    node: str | None = None,
) -> Iterator[TopologyInstance]:
    """All instances that hold devices, in the order of the nodes' names, or of drivers and pools.

    With a node only its own one, or the pools, or the cluster, that it has devices of: these are as large as without.
    Raises ``SelectorError`` (NODE-2).
    """
    spec = topology.spec
    nodes = list(cluster.nodes.values())
    viewers = nodes if node is None else [cluster.node(node)]
    if spec.scope == "Node":
        for one in viewers:
            if members := reachable_members(one, cluster, gates, belongs):
                yield TopologyInstance("Node", one.metadata.name, members)
        return
    reached = (device for one in nodes for device in reachable_members(one, cluster, gates, belongs))
    groups: dict[str, list[PoolDevice]] = {}
    for device in {device.id: device for device in reached}.values():
        groups.setdefault("/".join(device.id[:2]) if spec.scope == "Pool" else "", []).append(device)
    near = None if node is None else {device.id for device in reachable_members(viewers[0], cluster, gates, belongs)}
    for name, devices in sorted(groups.items()):
        if near is None or any(device.id in near for device in devices):
            yield TopologyInstance(spec.scope, name, tuple(devices))


def reachable_members(
    node: Node, cluster: Cluster, gates: FeatureGates, belongs: TopologyMembership
) -> tuple[PoolDevice, ...]:
    """The devices of the topology that a node reaches, in visiting order (POOL-11)."""
    pools = cluster.pools(gates).pools_for(node)
    return tuple(device for pool in pools for device in pool.devices if device.reachable and belongs(device))
