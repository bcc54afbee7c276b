"""Rules of pods about one another, checked as each pod of a plan is placed, in the order of the plan.

As kube-scheduler does, a pod is looked at beside those that run and those placed before it, and never again: what comes
later must keep its own rules, and those of the required anti-affinity of pods that are there.

- PLAN-PORT: ports of the host are free (plugin NodePorts).
- PLAN-VOLUME: PersistentVolumes, their zones and StorageClasses admit the node (VolumeBinding, VolumeZone), and nobody
  else has a claim with the access mode ReadWriteOncePod (VolumeRestrictions).
- PLAN-ANTI-AFFINITY, PLAN-AFFINITY: required terms hold (InterPodAffinity).
- PLAN-SPREAD: constraints with DoNotSchedule hold (PodTopologySpread).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import node_matches, tolerates
from ...models.kubernetes.core import (
    LabelSelector,
    Namespace,
    Node,
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodAffinityTerm,
    StorageClass,
    TopologySpreadConstraint,
)
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.quantity import Quantity
from ...models.workload.node_room import running_pods
from .published import Finding

_Labels = Mapping[str, str]
_Test = Callable[["LabelledPods"], bool]
_Port = tuple[int, str, str]
_ANYWHERE = ("", "0.0.0.0")
_NEEDED_EFFECTS = ("NoSchedule", "NoExecute")
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_BETA_ZONES = {f"failure-domain.beta.kubernetes.io/{one.rpartition('/')[2]}": one for one in _ZONES}


@dataclass(frozen=True, slots=True)
class LabelledPods:
    """Pods of one namespace with the same labels; ``leaving`` ones are being deleted."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    leaving: bool = False


def pod_rule_findings(cluster: Cluster, placed: Sequence[tuple[str, Pod, str]]) -> Iterator[Finding]:
    """Yield rules that a plan breaks; ``placed`` are names of units, pods and nodes of the cluster, in their order."""
    if not have_pod_rules(cluster, (pod for _, pod, _ in placed)):
        return
    state = PlacedPods.of_running(cluster)
    for name, pod, node in placed:
        for rule, said in state.broken(pod, cluster.nodes[node]):
            yield Finding(rule, f"{name} on node {node}: {said}")
        state.add(pod, node)


def have_pod_rules(cluster: Cluster, placed: Iterable[Pod]) -> bool:
    """Whether a pod that is placed, or one that runs, says something about others."""
    # Copies of a pod have one spec.
    specs = {id(pod.spec): pod for pod in placed}
    return any(map(asks, specs.values())) or any(map(keeps_off, running_pods(cluster).values()))


def asks(pod: Pod) -> bool:
    """Whether a pod has rules of its own."""
    spec, affinity = pod.spec, pod.spec.affinity
    near = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    return near or bool(spec.topology_spread_constraints or spec.volumes) or any(_ports(pod))


def keeps_off(pod: Pod) -> bool:
    """Whether a pod that is there has rules about those that come."""
    return any(_anti_terms(pod))


def _anti_terms(pod: Pod) -> Sequence[PodAffinityTerm]:
    affinity = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity else None
    return (affinity.required if affinity else None) or ()


def _term_key(owner: Pod, term: PodAffinityTerm) -> tuple[str, str, tuple[tuple[str, str, bool], ...]]:
    """What decides which pods a term of a pod means: a namespace, the term, and ``more_labels``."""
    more = more_labels(owner.metadata.labels or {}, term.match_label_keys, term.mismatch_label_keys)
    return key_of(owner.metadata)[0], repr(term), more


def _ports(pod: Pod) -> Iterator[_Port]:
    spec = pod.spec
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        if container in (spec.init_containers or ()) and container.restart_policy != "Always":
            continue
        for port in container.ports or ():
            number = port.container_port if spec.host_network and not port.host_port else port.host_port
            if number:
                yield number, port.protocol or "TCP", port.host_ip


def labelled(pod: Pod) -> LabelledPods:
    """The namespace and labels of a pod."""
    labels = tuple(sorted((pod.metadata.labels or {}).items()))
    return LabelledPods(key_of(pod.metadata)[0], labels, pod.metadata.deletion_timestamp is not None)


@dataclass(slots=True)
class _MeantPods:
    """How many of the pods that a test means are in each domain of a label, and of those that keep off what it means.

    ``domains`` has the values of the label by nodes. Pods come, and none goes.
    """

    key: str
    means: _Test
    domains: Mapping[str, str]
    values: frozenset[str]
    there: Counter[str] = field(default_factory=Counter)
    keeping: Counter[str] = field(default_factory=Counter)
    # The values of domains that have the least, and how many that is.
    _emptiest: set[str] = field(default_factory=set)
    _least: int = 0

    def add(self, kind: LabelledPods, node: str, number: int = 1) -> None:
        """Count pods of a kind on a node if they are meant."""
        value = self.domains.get(node)
        if value is not None and self.means(kind):
            self.there[value] += number
            self._emptiest.discard(value)

    def least(self) -> int:
        """How many there are in the domain that has the least."""
        if not self._emptiest:
            self._least = min(self.there[value] for value in self.values)
            self._emptiest.update(value for value in self.values if self.there[value] == self._least)
        return self._least


@dataclass
class PlacedPods:
    """What is on the nodes by now."""

    cluster: Cluster
    pods: dict[LabelledPods, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ports: dict[str, list[_Port]] = field(default_factory=lambda: defaultdict(list))
    single: set[ObjectKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._known: dict[object, dict[LabelledPods, bool]] = defaultdict(dict)
        self._meant: dict[Hashable, _MeantPods] = {}
        # Of these, the terms of required anti-affinity of pods that are there.
        self._apart: dict[Hashable, _MeantPods] = {}
        self._domains: dict[str, Mapping[str, str]] = {}
        self._nodes: dict[str, Mapping[str, str]] = {}

    @classmethod
    def of_running(cls, cluster: Cluster) -> PlacedPods:
        """The pods that run."""
        found = cls(cluster)
        for pod in running_pods(cluster).values():
            found.add(pod, pod.spec.node_name or "")
        return found

    def add(self, pod: Pod, node: str) -> None:
        """Put a pod on a node."""
        kind = labelled(pod)
        self.pods[kind][node] += 1
        self.ports[node] += _ports(pod)
        self.single |= {
            key for key, spec in self._claims(pod) if spec and "ReadWriteOncePod" in (spec.access_modes or ())
        }
        for one in self._meant.values():
            one.add(kind, node)
        for term in _anti_terms(pod):
            key = _term_key(pod, term)
            kept = self._apart[key] = self._of_terms(pod, [term], term.topology_key)
            if node in kept.domains:
                kept.keeping[kept.domains[node]] += 1

    def _counting(self, key: str, means: _Test, domains: Mapping[str, str]) -> _MeantPods:
        """Count the pods that a test means."""
        found = _MeantPods(key, means, domains, frozenset(domains.values()))
        for kind, nodes in self.pods.items():
            for node, number in nodes.items():
                found.add(kind, node, number)
        return found

    def _of_terms(self, owner: Pod, terms: Sequence[PodAffinityTerm], key: str) -> _MeantPods:
        """The pods that all terms of a pod mean, by the domains of a label."""
        identity = key, *(_term_key(owner, term) for term in terms)
        if identity not in self._meant:
            tests = [self.term_test(owner, term) for term in terms]
            meant = self._counting(key, lambda kind: all(test(kind) for test in tests), self._domains_of(key))
            self._meant[identity] = meant
        return self._meant[identity]

    def _domains_of(self, key: str) -> Mapping[str, str]:
        """The values of a label by the names of the nodes that have it."""
        if key not in self._domains:
            labels = ((name, node.metadata.labels or {}) for name, node in self.cluster.nodes.items())
            self._domains[key] = {name: own[key] for name, own in labels if key in own}
        return self._domains[key]

    def kept_from(self, pod: Pod) -> frozenset[tuple[str, str]]:
        """Labels of nodes that a pod keeps off as long as all that are there stay; "" with a node's name."""
        own = tuple(_ports(pod))
        found = {
            ("", name) for name, held in self.ports.items() if any(_clash(one, two) for one in own for two in held)
        }
        kind = labelled(pod)
        for one in self._apart.values():
            found |= {(one.key, value) for value in one.keeping if one.means(kind)}
        for term in _anti_terms(pod):
            found |= {(term.topology_key, value) for value in self._of_terms(pod, [term], term.topology_key).there}
        return frozenset(found)

    def apart_by(self, one: Pod, other: Pod) -> frozenset[str]:
        """Labels of which two pods never have one value in common, whichever comes first; "" for one node."""
        keys = {*self._keys(one, other), *self._keys(other, one)}
        return frozenset(
            keys | {""} if any(_clash(mine, its) for mine in _ports(one) for its in _ports(other)) else keys
        )

    def _keys(self, owner: Pod, pod: Pod) -> Iterator[str]:
        kind = labelled(pod)
        return (term.topology_key for term in _anti_terms(owner) if self.term_test(owner, term)(kind))

    def most_spread(
        self, pod: Pod, own: Mapping[str, Fraction], others: Sequence[tuple[Pod, Mapping[str, Fraction]]]
    ) -> Fraction:
        """How many such pods their spread constraints allow; nodes have room for so many of them and of others.

        The last of them in a domain finds no more in it than the skew allows, beside the least that a domain can get.
        """
        total, kind = sum(own.values(), Fraction(0)), labelled(pod)
        for constraint in pod.spec.topology_spread_constraints or ():
            more = more_labels(pod.metadata.labels or {}, constraint.match_label_keys, ())
            test = selector_test(constraint.label_selector, more)
            counted = self._counted(pod, constraint)
            if constraint.when_unsatisfiable != "DoNotSchedule" or not counted or not test(dict(kind.labels)):
                continue
            there, room = dict.fromkeys(counted.values(), 0), dict.fromkeys(counted.values(), Fraction(0))
            for other, nodes in self.pods.items():
                if other.namespace == kind.namespace and not other.leaving and test(dict(other.labels)):
                    for name in nodes.keys() & counted.keys():
                        there[counted[name]] += nodes[name]
            for queued, rooms in others:
                if key_of(queued.metadata)[0] == kind.namespace and test(queued.metadata.labels or {}):
                    for name in rooms.keys() & counted.keys():
                        room[counted[name]] += rooms[name]
            least = min(there[value] + room[value] for value in there)
            least = Fraction(0) if len(there) < (constraint.min_domains or 1) else least
            fit = dict.fromkeys(there, Fraction(0))
            for name in own.keys() & counted.keys():
                fit[counted[name]] += own[name]
            left = sum((amount for name, amount in own.items() if name not in counted), Fraction(0))
            for value, amount in fit.items():
                left += min(amount, max(Fraction(0), least + constraint.max_skew - there[value]))
            total = min(total, left)
        return total

    def broken(self, pod: Pod, node: Node) -> Iterator[tuple[str, str]]:
        """Yield the rules that a pod breaks if it comes to a node now."""
        for port in _ports(pod):
            if any(_clash(port, other) for other in self.ports[node.metadata.name]):
                yield "PLAN-PORT", f"port {port[0]} of the host is taken"
        yield from self._broken_volumes(pod, node)
        if self._is_kept_off(pod, node):
            yield "PLAN-ANTI-AFFINITY", "a pod that is there must not be near it"
        for term in _anti_terms(pod):
            there = self._domain(node, term.topology_key)
            if there is not None and self._of_terms(pod, [term], term.topology_key).there[there]:
                yield "PLAN-ANTI-AFFINITY", f"a pod that it must not be near has the same {term.topology_key}"
        affinity = pod.spec.affinity.pod_affinity if pod.spec.affinity else None
        if terms := (affinity.required if affinity else None) or ():
            yield from self._broken_affinity(pod, node, terms)
        for constraint in pod.spec.topology_spread_constraints or ():
            if constraint.when_unsatisfiable == "DoNotSchedule":
                yield from self._broken_spread(pod, node, constraint)

    def _domain(self, node: Node, key: str) -> str | None:
        return (node.metadata.labels or {}).get(key)

    def _is_kept_off(self, pod: Pod, node: Node) -> bool:
        kind, labels = labelled(pod), node.metadata.labels or {}
        return any(
            one.key in labels and one.keeping[labels[one.key]] and one.means(kind) for one in self._apart.values()
        )

    def _broken_affinity(self, pod: Pod, node: Node, terms: Sequence[PodAffinityTerm]) -> Iterator[tuple[str, str]]:
        keys = dict.fromkeys(term.topology_key for term in terms)
        found = {key: self._of_terms(pod, terms, key).there for key in keys}
        own = {key: self._domain(node, key) for key in keys}
        missing = [key for key, values in found.items() if own[key] not in values]
        if not missing:
            return
        is_first = not any(found.values()) and all(self.term_test(pod, term)(labelled(pod)) for term in terms)
        if None in own.values() or not is_first:
            yield "PLAN-AFFINITY", f"no pod that it must be near has the same {missing[0]}"

    def _broken_spread(self, pod: Pod, node: Node, constraint: TopologySpreadConstraint) -> Iterator[tuple[str, str]]:
        key, value = constraint.topology_key, self._domain(node, constraint.topology_key)
        if value is None:
            yield "PLAN-SPREAD", f"the node has no label {key}"
            return
        counted = self._counted(pod, constraint)
        namespace, own = key_of(pod.metadata)[0], pod.metadata.labels or {}
        more = more_labels(own, constraint.match_label_keys, ())
        test = selector_test(constraint.label_selector, more)
        if not counted:
            return

        def means(kind: LabelledPods) -> bool:
            return kind.namespace == namespace and not kind.leaving and test(dict(kind.labels))

        identity = namespace, repr(constraint), more, id(counted)
        found = self._meant.get(identity) or self._counting(key, means, counted)
        self._meant[identity] = found
        least = found.least() if len(found.values) >= (constraint.min_domains or 1) else 0
        skew = found.there[value] + int(test(own)) - least
        if skew > constraint.max_skew:
            said = f"{key} {value} would have {skew} pods more than another one, {constraint.max_skew} may be"
            yield "PLAN-SPREAD", said

    def _counted(self, pod: Pod, constraint: TopologySpreadConstraint) -> Mapping[str, str]:
        """The domains of the nodes that count for a constraint."""
        spec = pod.spec
        key = repr((constraint, spec.topology_spread_constraints, spec.node_selector, spec.affinity, spec.tolerations))
        found = self._nodes.get(key)
        if found is None:
            hard = [one for one in spec.topology_spread_constraints or () if one.when_unsatisfiable == "DoNotSchedule"]
            found = self._nodes[key] = {
                name: (node.metadata.labels or {})[constraint.topology_key]
                for name, node in self.cluster.nodes.items()
                if all(self._domain(node, one.topology_key) is not None for one in hard)
                and admits(pod, node, constraint)
            }
        return found

    def term_test(self, owner: Pod, term: PodAffinityTerm) -> _Test:
        """A test whether a term of a pod means pods of a kind."""
        namespace, _, more = key = _term_key(owner, term)
        known = self._known[key]
        passes = selector_test(term.label_selector, more)
        named = set(term.namespaces or ()) or ({namespace} if term.namespace_selector is None else set())

        def means(kind: LabelledPods) -> bool:
            if kind not in known:
                there = kind.namespace in named
                if not there and term.namespace_selector is not None:
                    given = self.cluster.namespaces.get(kind.namespace, Namespace()).metadata.labels or {}
                    own = {"kubernetes.io/metadata.name": kind.namespace, **given}
                    there = selector_test(term.namespace_selector, ())(own)
                known[kind] = there and passes(dict(kind.labels))
            return known[kind]

        return means

    def _claims(self, pod: Pod) -> Iterator[tuple[ObjectKey, PersistentVolumeClaimSpec | None]]:
        namespace, name = key_of(pod.metadata)
        claims = self.cluster.objects(PersistentVolumeClaim)
        for volume in pod.spec.volumes or ():
            if volume.persistent_volume_claim is not None:
                key = namespace, volume.persistent_volume_claim.claim_name
                yield key, claims[key].spec if key in claims else None
            elif volume.ephemeral is not None:
                key, made = (namespace, f"{name}-{volume.name}"), volume.ephemeral.volume_claim_template
                yield key, claims[key].spec if key in claims else made.spec if made else None

    def _broken_volumes(self, pod: Pod, node: Node) -> Iterator[tuple[str, str]]:
        for key, spec in self._claims(pod):
            if key in self.single:
                yield "PLAN-VOLUME", f"another pod has PersistentVolumeClaim {'/'.join(key)}, which is for one"
            if spec is None:
                continue
            volume = self.cluster.objects(PersistentVolume).get(spec.volume_name)
            if spec.volume_name and volume is not None and not _is_usable(volume, node):
                yield "PLAN-VOLUME", f"PersistentVolume {spec.volume_name} cannot be used there"
            if not spec.volume_name and not self._may_be_made(key, spec, node):
                yield "PLAN-VOLUME", f"no volume for PersistentVolumeClaim {'/'.join(key)} can be used there"

    def _may_be_made(self, key: ObjectKey, spec: PersistentVolumeClaimSpec, node: Node) -> bool:
        """Whether a claim without a volume could get one on a node; nothing is known of classes that are not there."""
        classes = self.cluster.objects(StorageClass)
        name = spec.storage_class_name
        if name is None:
            marked = [
                one
                for one in classes.values()
                if (one.metadata.annotations or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
            ]
            marked.sort(key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))
            name = marked[-1].metadata.name if marked else None
        if name not in classes or classes[name].volume_binding_mode != "WaitForFirstConsumer":
            return True
        made = classes[name]
        if made.provisioner != "kubernetes.io/no-provisioner" and _is_allowed(made, node):
            return True
        return any(
            _is_reached(volume, node)
            for volume in self.cluster.objects(PersistentVolume).values()
            if volume.spec.storage_class_name == name and _is_for(volume, key, spec)
        )


def _clash(one: _Port, other: _Port) -> bool:
    same_address = one[2] == other[2] or one[2] in _ANYWHERE or other[2] in _ANYWHERE
    return one[:2] == other[:2] and same_address


def more_labels(
    labels: _Labels, equal: Iterable[str] | None, other: Iterable[str] | None
) -> tuple[tuple[str, str, bool], ...]:
    """Labels that pods must have as this one has them (True), or must not have so."""
    wanted = [(key, labels[key], True) for key in equal or () if key in labels]
    return (*wanted, *((key, labels[key], False) for key in other or () if key in labels))


def selector_test(selector: LabelSelector | None, more: Iterable[tuple[str, str, bool]]) -> Callable[[_Labels], bool]:
    """A test of labels: those of the selector, and ``more_labels``; without a selector none pass."""
    listed = list(more)

    def test(labels: _Labels) -> bool:
        if selector is None or any((labels.get(key) == value) is not wanted for key, value, wanted in listed):
            return False
        return all(requirement.matches(labels) for requirement in selector.requirements)

    return test


def admits(pod: Pod, node: Node, constraint: TopologySpreadConstraint) -> bool:
    """Whether the policies of a constraint let a node count."""
    spec, labels = pod.spec, node.metadata.labels or {}
    if constraint.node_affinity_policy != "Ignore":
        affinity = spec.affinity.node_affinity if spec.affinity else None
        if any(labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
            return False
        if affinity is not None and not node_matches(affinity.required, node):
            return False
    if constraint.node_taints_policy == "Honor" and node.spec is not None:
        for taint in node.spec.taints or ():
            if taint.effect in _NEEDED_EFFECTS and not any(tolerates(one, taint) for one in spec.tolerations or ()):
                return False
    return True


def _is_reached(volume: PersistentVolume, node: Node) -> bool:
    affinity: NodeSelector | None = volume.spec.node_affinity.required if volume.spec.node_affinity else None
    return node_matches(affinity, node)


def _is_usable(volume: PersistentVolume, node: Node) -> bool:
    """Whether a pod on the node can use a bound volume: by its affinity, and by its zone where the node has one."""
    if not _is_reached(volume, node):
        return False
    labels, there = volume.metadata.labels or {}, node.metadata.labels or {}
    zones = {key: value for key, value in labels.items() if key in _ZONES or key in _BETA_ZONES}
    if not any(key in there for key in (*_ZONES, *_BETA_ZONES)):
        return True
    values = {key: there.get(key, there.get(_BETA_ZONES.get(key, key))) for key in zones}
    return all(value in zones[key].split("__") for key, value in values.items())


def _is_allowed(made: StorageClass, node: Node) -> bool:
    labels = node.metadata.labels or {}
    return not made.allowed_topologies or any(
        all(labels.get(one.key) in (one.values or ()) for one in term.match_label_expressions or ())
        for term in made.allowed_topologies
    )


def _is_for(volume: PersistentVolume, key: ObjectKey, spec: PersistentVolumeClaimSpec) -> bool:
    kept, given = volume.spec.claim_ref, volume.spec.access_modes or ()
    if (kept is not None and (kept.namespace, kept.name) != key) or any(
        mode not in given for mode in spec.access_modes or ()
    ):
        return False
    sizes = (volume.spec.capacity or {}).get("storage", "0"), (spec.resources.requests or {}).get("storage", "0")
    has, needs = (Quantity.parse(size).nano for size in sizes)
    return has >= needs
