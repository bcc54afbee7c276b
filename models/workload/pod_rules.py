"""What pods say of one another and of the nodes they share: affinities, spread constraints, host ports and volumes.

A ``PodRuleBook`` reads them once for a cluster. Pods that no rule tells apart have one ``PodRules``: labels count only
as far as some rule selects by them. Rules are those of kube-scheduler's plugins InterPodAffinity, PodTopologySpread,
NodePorts, VolumeBinding, VolumeZone and VolumeRestrictions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import msgspec

from ..cluster.cluster import Cluster
from ..cluster.node_fit import NODE_UNSCHEDULABLE, pod_fits, selector_test
from ..kubernetes.core import (
    ANY_ADDRESS,
    Affinity,
    LabelSelector,
    Namespace,
    Node,
    NodeAffinity,
    NodeSelector,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Toleration,
    TopologySpreadConstraint,
)
from ..kubernetes.meta import LabelError, ObjectKey, Requirement, key_of, matches_labels
from .controllers import read_controllers
from .units import has_finished
from .volumes import NO_VOLUMES, VolumeRestriction, VolumeRules

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_encode = msgspec.msgpack.Encoder().encode


class HostPort(NamedTuple):
    """A port of the node that a pod takes."""

    number: int
    protocol: str
    address: str

    def conflicts(self, other: HostPort) -> bool:
        """Whether two pods with these ports cannot be on one node; any address meets each one."""
        if (self.number, self.protocol) != (other.number, other.protocol):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


@dataclass(frozen=True, slots=True)
class PodSelection:
    """Pods by namespace (None: of all) and labels (None: no pod at all)."""

    namespaces: frozenset[str] | None
    requirements: tuple[Requirement, ...] | None

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod is meant."""
        if self.requirements is None or (self.namespaces is not None and namespace not in self.namespaces):
            return False
        return matches_labels(self.requirements, labels)

    @property
    def content(self) -> tuple[object, ...]:
        """The same for equal selections, and orderable."""
        rows = None if self.requirements is None else [(one.key, one.operator, one.values) for one in self.requirements]
        return None if self.namespaces is None else sorted(self.namespaces), rows


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of pod affinity or anti-affinity; equal ones have one name, in all clusters."""

    name: str
    topology_key: str = field(compare=False)
    selection: PodSelection = field(compare=False)


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A spread constraint; equal ones have one name, in all clusters.

    ``keys`` are the topology keys of all constraints of the pod that must hold: a node counts if it has all of them.
    ``admission`` has what decides which nodes count: node selector, affinity and tolerations, as far as they do.
    """

    name: str
    topology_key: str = field(compare=False)
    selection: PodSelection = field(compare=False)
    max_skew: int = field(compare=False)
    min_domains: int = field(compare=False)
    keys: tuple[str, ...] = field(compare=False)
    admission: PodSpec = field(compare=False)

    @property
    def node_choice(self) -> Hashable:
        """Rules in which this is equal count the same nodes."""
        return self.keys, _encode(self.admission)

    def counts(self, node: Node) -> bool:
        """Whether pods on the node count, and its domain is one; of an unschedulable one only its taints count."""
        labels = node.metadata.labels or {}
        misfits = (one for one in pod_fits(self.admission, node) if one.id != NODE_UNSCHEDULABLE)
        return all(key in labels for key in self.keys) and not any(misfits)


@dataclass(frozen=True, slots=True, eq=False)
class PodRules:
    """The rules that equal pods have and that others have about them.

    ``affinity`` terms must all hold, ``anti_affinity`` none. ``selected_by`` are terms of any pod that select these,
    and ``counted_by`` spread rules. ``claims`` are volumes of which one pod may have each. ``volumes`` restrict nodes.
    """

    signature: bytes
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    ports: tuple[HostPort, ...] = ()
    claims: tuple[ObjectKey, ...] = ()
    volumes: tuple[NodeSelector, ...] = ()
    selected_by: frozenset[PodTerm] = frozenset()
    counted_by: frozenset[SpreadRule] = frozenset()

    @property
    def opens(self) -> bool:
        """Whether the first such pod may go anywhere: all its affinity terms select it."""
        return self.selected_by.issuperset(self.affinity)

    def suits(self, node: Node) -> bool:
        """Whether the volumes can be used on the node."""
        return all(selector_test(selector)(node) for selector in self.volumes)


@dataclass(slots=True)
class _OwnRules:
    """The rules of a pod before those of others about it are known."""

    affinity: list[PodTerm] = field(default_factory=list)
    anti_affinity: list[PodTerm] = field(default_factory=list)
    spread: list[SpreadRule] = field(default_factory=list)


class PodTermReader:
    """Reads terms and constraints about other pods; ``terms`` and ``spreads`` are all that were read, by name.

    Raises ``ValueError``, one line, for a label selector that cannot be read.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.terms: dict[str, PodTerm] = {}
        self.spreads: dict[str, SpreadRule] = {}

    def pods(self) -> Iterator[Pod]:
        """All pods that have not finished, and one of each set that controllers are to make."""
        yield from (pod for pod in self._cluster.pods.values() if not has_finished(pod))
        for missing in read_controllers(self._cluster).missing.values():
            yield from (one.pod() for one in missing.sets)

    @cached_property
    def _namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """All namespaces of the input, with their labels."""
        names = dict.fromkeys([*self._cluster.namespaces, *(key_of(pod.metadata)[0] for pod in self.pods())])
        given = self._cluster.namespaces
        labels = {name: (given.get(name) or Namespace()).metadata.labels or {} for name in names}
        return {name: {_NAMESPACE_LABEL: name, **own} for name, own in labels.items()}

    def about(self, namespace: str, labels: Mapping[str, str]) -> tuple[list[PodTerm], list[SpreadRule]]:
        """The terms that select a pod, and the constraints that count it."""
        terms = [one for one in self.terms.values() if one.selection.selects(namespace, labels)]
        return terms, [one for one in self.spreads.values() if one.selection.selects(namespace, labels)]

    def term(self, written: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> PodTerm:
        """Read a term of a pod with these labels."""
        namespaces = set(written.namespaces or ())
        everywhere = False
        if written.namespace_selector is not None:
            tests = _checked(written.namespace_selector, "namespaceSelector")
            everywhere = not tests
            namespaces |= {name for name, own in self._namespaces.items() if matches_labels(tests, own)}
        elif not namespaces:
            namespaces = {namespace}
        more = [Requirement(key, "In", (labels[key],)) for key in written.match_label_keys or () if key in labels]
        apart = (key for key in written.mismatch_label_keys or () if key in labels)
        more += [Requirement(key, "NotIn", (labels[key],)) for key in apart]
        selection = _selection(written.label_selector, None if everywhere else frozenset(namespaces), more)
        name = repr((written.topology_key, *selection.content))
        return self.terms.setdefault(name, PodTerm(name, written.topology_key, selection))

    def spread_rules(
        self, spec: PodSpec, namespace: str, labels: Mapping[str, str], when_unsatisfiable: str
    ) -> list[SpreadRule]:
        """Read the constraints of a pod with these labels that must hold, or those that had better hold."""
        own = [one for one in spec.topology_spread_constraints or () if one.when_unsatisfiable == when_unsatisfiable]
        keys = tuple(sorted({one.topology_key for one in own}))
        return [self._spread_rule(one, keys, spec, namespace, labels) for one in own]

    def _spread_rule(
        self,
        written: TopologySpreadConstraint,
        keys: tuple[str, ...],
        spec: PodSpec,
        namespace: str,
        labels: Mapping[str, str],
    ) -> SpreadRule:
        more = [Requirement(key, "In", (labels[key],)) for key in written.match_label_keys or () if key in labels]
        selection = _selection(written.label_selector, frozenset([namespace]), more)
        skew, domains, admission = written.max_skew, written.min_domains or 1, _admission(spec, written)
        name = repr((written.topology_key, *selection.content, skew, domains, keys, _encode(admission)))
        rule = SpreadRule(name, written.topology_key, selection, skew, domains, keys, admission)
        return self.spreads.setdefault(name, rule)


class PodRuleBook:
    """The rules of all pods of a cluster that have not finished, and of those that controllers are to make.

    Raises ``ValueError``, one line, for a label selector that cannot be read.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._volumes = VolumeRules(cluster)
        self._reader = PodTermReader(cluster)
        self._own: dict[Hashable, _OwnRules] = {}
        self._known: dict[Hashable, PodRules | None] = {}
        self._rules: dict[bytes, PodRules] = {}
        for pod in self._reader.pods():
            if _has_pod_terms(pod.spec):
                self._own_rules(pod)

    @property
    def is_empty(self) -> bool:
        """Whether no pod has terms or constraints about others."""
        return not (self._reader.terms or self._reader.spreads)

    def rules(self, pod: Pod) -> PodRules | None:
        """The rules of a pod and about it; None where there are none."""
        spec, namespace = pod.spec, key_of(pod.metadata)[0]
        ports = host_ports(spec)
        volumes = self._volumes.of(pod) if spec.volumes else NO_VOLUMES
        if self.is_empty and not ports and volumes == NO_VOLUMES:
            return None
        labels = pod.metadata.labels or {}
        # What decides which nodes a spread constraint counts is part of it.
        admission = (spec.node_selector, spec.tolerations) if spec.topology_spread_constraints else ()
        parts = sorted(labels.items()), spec.affinity, spec.topology_spread_constraints, admission
        key = namespace, _encode(parts), ports, volumes
        if key not in self._known:
            self._known[key] = self._made(pod, ports, volumes)
        return self._known[key]

    def _made(self, pod: Pod, ports: tuple[HostPort, ...], volumes: VolumeRestriction) -> PodRules | None:
        own = self._own_rules(pod) if _has_pod_terms(pod.spec) else _OwnRules()
        namespace, labels = key_of(pod.metadata)[0], pod.metadata.labels or {}
        terms, spreads = self._reader.about(namespace, labels)
        parts = [[one.name for one in given] for given in (own.affinity, own.anti_affinity, own.spread)]
        about = sorted(one.name for one in terms), sorted(one.name for one in spreads)
        if not (any(parts) or ports or volumes != NO_VOLUMES or any(about)):
            return None
        content = repr((parts, about)).encode() + _encode((ports, volumes))
        if content not in self._rules:
            self._rules[content] = PodRules(
                content,
                tuple(own.affinity),
                tuple(own.anti_affinity),
                tuple(own.spread),
                ports,
                volumes.claims,
                volumes.selectors,
                frozenset(terms),
                frozenset(spreads),
            )
        return self._rules[content]

    def _own_rules(self, pod: Pod) -> _OwnRules:
        spec, namespace, labels = pod.spec, key_of(pod.metadata)[0], pod.metadata.labels or {}
        key = namespace, _encode((sorted(labels.items()), spec))
        found = self._own.get(key)
        if found is None:
            try:
                found = self._own[key] = self._read(spec, namespace, labels)
            except LabelError as error:
                raise ValueError(f"Pod {namespace}/{pod.metadata.name}: {error}") from None
        return found

    def _read(self, spec: PodSpec, namespace: str, labels: Mapping[str, str]) -> _OwnRules:
        found = _OwnRules()
        near, away = (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity) if spec.affinity else (None, None)
        for affinity, terms in ((near, found.affinity), (away, found.anti_affinity)):
            written = affinity.required if affinity is not None else None
            terms += [self._reader.term(one, namespace, labels) for one in written or ()]
        found.spread += self._reader.spread_rules(spec, namespace, labels, "DoNotSchedule")
        return found


def _admission(spec: PodSpec, written: TopologySpreadConstraint) -> PodSpec:
    """What a node must admit so that it counts; a policy that ignores something admits all nodes in that regard."""
    honours_affinity, honours_taints = written.node_affinity_policy != "Ignore", written.node_taints_policy == "Honor"
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    return PodSpec(
        node_selector=(spec.node_selector or None) if honours_affinity else None,
        affinity=Affinity(node_affinity=NodeAffinity(required=required)) if honours_affinity and required else None,
        tolerations=spec.tolerations if honours_taints else (Toleration(operator="Exists"),),
    )


def _has_pod_terms(spec: PodSpec) -> bool:
    affinity = spec.affinity
    named = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    return named or bool(spec.topology_spread_constraints)


def _checked(selector: LabelSelector, field_name: str) -> tuple[Requirement, ...]:
    for one in selector.requirements:
        try:
            if one.operator not in _SELECTOR_OPERATORS:
                raise LabelError(f"{one.operator!r} is not a valid label selector operator")
            one.check()
        except LabelError as error:
            raise LabelError(f"{field_name}: {error}") from None
    return selector.requirements


def _selection(
    selector: LabelSelector | None, namespaces: frozenset[str] | None, more: Iterable[Requirement]
) -> PodSelection:
    """Without a selector no pod is meant, whatever labels must match besides."""
    if selector is None:
        return PodSelection(namespaces, None)
    tests = {*_checked(selector, "labelSelector"), *more}
    return PodSelection(namespaces, tuple(sorted(tests, key=lambda one: (one.key, one.operator, one.values))))


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The ports of the node that a pod takes: those of its containers and sidecars.

    With ``hostNetwork`` the port of a container is that of the node, as the API server writes it.
    """
    found = set()
    sidecars = [one for one in spec.init_containers or () if one.restart_policy == "Always"]
    for container in (*(spec.containers or ()), *sidecars):
        for port in container.ports or ():
            number = port.host_port or (port.container_port if spec.host_network else None)
            if number and number > 0:
                found.add(HostPort(number, port.protocol or "TCP", port.host_ip or ANY_ADDRESS))
    return tuple(sorted(found))


def pod_rule_book(cluster: Cluster) -> PodRuleBook:
    """The rules of a cluster, read at the first call."""
    return cluster.memo("pod rules", lambda: PodRuleBook(cluster))
