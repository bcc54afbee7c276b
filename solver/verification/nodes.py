"""Whether a pod may be on its node: the rules for nodes and the room beside other pods, read anew from the manifests.

Whether nodes may be bought is here, too: what NodeTemplates, NodePools and reservations allow (PLAN-LIMIT).

A resource that a device class backs is no matter of rooms on a node without a device plugin for it (KEP-5004).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

import msgspec
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import node_matches, tolerates
from ...models.formats.decode import QuantityText
from ...models.kubernetes import karpenter
from ...models.kubernetes.claims import DeviceClass, ResourceClaim
from ...models.kubernetes.core import Node, NodeSelector, Pod, PodResourceClaim, PodSpec, Taint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.node_templates import NODE_TEMPLATE_ANNOTATION
from ...models.kubernetes.quantity import Quantity
from ...models.workload.requests import format_amount
from .pod_amounts import MADE_FOR_ENTRY, DeviceDraws, HeldClaim, asked_by, named_for_the_pod, pod_takes, whole_amounts
from .published import Finding

POD_ROOM = "POD-ROOM"
POD_DEVICES = "POD-DEVICES"
_CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
_EXTENDED = "resource.kubernetes.io/extended-resource-claim"
_OF_EXTENDED = "-extended-resources"
_ENDED = ("Succeeded", "Failed")


def node_findings(pod: Pod, node: Node) -> Iterator[Finding]:
    """Why the node is none for the pod, whatever is left there (NODE-2)."""
    spec, rules = pod.spec, node.spec
    has_rules = rules is not None and (rules.unschedulable or rules.taints)
    if not (has_rules or spec.node_name or spec.node_selector or spec.affinity):
        return
    name, labels = "/".join(key_of(pod.metadata)), node.metadata.labels or {}
    if spec.node_name and spec.node_name != node.metadata.name:
        yield Finding("NODE-2", f"pod {name} is on node {spec.node_name}")
    for key, value in (spec.node_selector or {}).items():
        if labels.get(key) != value:
            yield Finding("NODE-2", f"pod {name}: node {node.metadata.name} has no label {key}={value}")
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is not None and affinity.required is not None and not _is_wanted(affinity.required, node):
        yield Finding("NODE-2", f"pod {name}: node {node.metadata.name} is not one of its required node affinity")
    if rules is None:
        return
    # A pod that is on its node already stays there, unless a taint drives it away.
    stopping = ("NoExecute",) if spec.node_name else ("NoSchedule", "NoExecute")
    cordon = (_CORDONED,) if rules.unschedulable and not spec.node_name else ()
    for taint in (*cordon, *(rules.taints or ())):
        if taint.effect in stopping and not any(tolerates(one, taint) for one in spec.tolerations or ()):
            yield Finding("NODE-2", f"pod {name} does not tolerate taint {taint.key}:{taint.effect}")


def _is_wanted(selector: NodeSelector, node: Node) -> bool:
    """Whether a term holds; for the scheduler one that cannot be parsed just does not."""
    for term in selector.node_selector_terms or ():
        try:
            if node_matches(NodeSelector(node_selector_terms=(term,)), node):
                return True
        except ValueError:
            continue
    return False


class NodeLoads:
    """What pods take of nodes: those that run there, and those that are entered one after the other.

    A node that tells no amounts takes anything, and any number of pods if it tells none.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._cluster = cluster
        self._backed = _backed_names(cluster) if "DRAExtendedResource" in gates.enabled else frozenset()
        self._pods = cluster.memo("verification.pods by node", lambda: _pods_by_node(cluster))
        self._taken: dict[str, Counter[str]] = {}
        self._known: dict[bytes, Counter[str]] = {}
        self._asked: dict[bytes, Counter[str]] = {}
        # By the identity of a spec, which is kept with it: copies of a pod have one.
        self._takes_of: dict[int, tuple[PodSpec, Counter[str]]] = {}
        self._extended_of: dict[int, tuple[PodSpec, Counter[str]]] = {}
        self._offers: dict[str, Counter[str] | None] = {}
        # By the identities of what pods take, and of what nodes offer; all of these are kept.
        self._beside_devices: dict[tuple[int, int], Mapping[str, int]] = {}
        self._sums: dict[tuple[int, ...], Mapping[str, int]] = {}
        # By what is written; read only.
        self._same_offers: dict[bytes, Counter[str] | None] = {}
        self._draws = DeviceDraws(cluster, gates)

    @property
    def has_drawing_devices(self) -> bool:
        """Whether some device takes resources of its node."""
        return self._draws.has_devices

    def enter(self, pod: Pod, node: Node, claims: Iterable[HeldClaim] = ()) -> Iterator[Finding]:
        """Count a pod with all its claims as placed, and say what the node has too little of for it."""
        needs, claims = self.needs(pod, node), tuple(claims)
        drawn = self._draws.of_pod(pod, claims)
        yield from self._draws.findings(pod, claims, drawn)
        named = named_for_the_pod(pod.spec)
        needs.update({name: ceil(amount) for name, amount in drawn.items() if name not in named})
        self._taken_of(node).update(needs)
        for resource, more in self._excess(node, needs):
            what = f"pod {'/'.join(key_of(pod.metadata))} takes {more} of {resource} more than is left"
            yield Finding(POD_ROOM, f"node {node.metadata.name}: {what}")

    def excess(self, pods: Iterable[Pod], node: Node) -> Iterator[tuple[str, str]]:
        """Count pods as placed; return resources of which they together take too much, and how much, in words."""
        needs = self._sum_of_needs(pods, node)
        taken = self._taken_of(node)
        for name, amount in needs.items():
            taken[name] += amount
        yield from self._excess(node, needs)

    def has_room(self, pod: Pod, node: Node) -> bool:
        """Whether the node has room for one more pod, whatever its devices take; the pod is not counted as placed."""
        return self.has_room_for([pod], node)

    def has_room_for(self, pods: Iterable[Pod], node: Node) -> bool:
        """Whether the node has room for more pods side by side, see ``has_room``."""
        needs = self._sum_of_needs(pods, node)
        return next(self._excess(node, needs, needs), None) is None

    def _sum_of_needs(self, pods: Iterable[Pod], node: Node) -> Mapping[str, int]:
        """What pods take of a node together; read only. It is added up once for equal pods."""
        every = [self._needs(pod, node) for pod in pods]
        key = tuple(map(id, every))
        known = self._sums.get(key)
        if known is None:
            needs: dict[str, int] = {}
            for one in every:
                for name, amount in one.items():
                    needs[name] = needs.get(name, 0) + amount
            known = self._sums[key] = needs
        return known

    def _excess(
        self, node: Node, needs: Mapping[str, int], more: Mapping[str, int] | None = None
    ) -> Iterator[tuple[str, str]]:
        """What of these resources is taken too much of, with ``more`` than is taken already."""
        offered, taken = self._offer_of(node), self._taken_of(node)
        if offered is None:
            return
        for resource, amount in needs.items():
            over = taken[resource] + (more or {}).get(resource, 0) - offered[resource]
            if amount and over > 0 and (resource in offered or resource != "pods"):
                yield resource, format_amount(resource, over)

    def claim_on(self, claim: ResourceClaim, node: Node) -> ResourceClaim:
        """A claim for extended resources, less what device plugins of the node provide; any other as it is."""
        offered = self._offer_of(node) if is_extended_claim(claim) else None
        if offered is None:
            return claim
        provided = {
            one.metadata.name
            for one in self._cluster.classes.values()
            if any(offered[name] > 0 for name in _names_backed_by(one) if name in self._backed)
        }
        asked = claim.spec.devices.requests or ()
        kept = tuple(one for one in asked if one.exactly is None or one.exactly.device_class_name not in provided)
        devices = replace(claim.spec.devices, requests=kept)
        return claim if len(kept) == len(asked) else replace(claim, spec=replace(claim.spec, devices=devices))

    def asks_for_devices(self, pod: Pod) -> bool:
        """Whether a pod that is on no node yet asks for extended resources that classes back."""
        return bool(self._backed) and not pod.spec.node_name and bool(self._extended(pod))

    def device_findings(self, pod: Pod, claims: Iterable[ResourceClaim], node: Node) -> Iterator[Finding]:
        """Extended resources of the pod that are neither the node's nor in a claim.

        What became of a pod that is on its node already is not known.
        """
        if not self.asks_for_devices(pod):
            return
        extended = self._extended(pod)
        offered = self._offer_of(node) or Counter()
        wanted = sum(amount for name, amount in extended.items() if offered[name] <= 0)
        requests = (one for claim in claims if is_extended_claim(claim) for one in claim.spec.devices.requests or ())
        claimed = sum(one.exactly.count or 0 for one in requests if one.exactly is not None)
        if wanted > claimed:
            what = f"pod {'/'.join(key_of(pod.metadata))} has {claimed} devices for {wanted} of extended resources"
            yield Finding(POD_DEVICES, f"node {node.metadata.name}: {what}")

    def has_pods(self, node: Node) -> bool:
        """Whether a pod of the cluster runs on the node."""
        return any(self._runs(pod) for pod in self._pods.get(node.metadata.name, ()))

    def left(self, node: Node) -> Counter[str] | None:
        """What pods leave of the node, below zero where they take too much; None: it tells no amounts."""
        offered = self._offer_of(node)
        if offered is None:
            return None
        taken = self._taken_of(node)
        return Counter({name: amount - taken[name] for name, amount in offered.items()})

    def needs(self, pod: Pod, node: Node) -> Counter[str]:
        """What a pod takes of the node, but for devices."""
        return Counter(self._needs(pod, node))

    def _needs(self, pod: Pod, node: Node) -> Mapping[str, int]:
        """As ``needs``; read only."""
        takes = self._takes(pod)
        if self._backed.isdisjoint(takes):
            return takes
        offered = self._offer_of(node)
        key = id(takes), id(offered)
        if key not in self._beside_devices:
            there = offered or Counter()
            kept = {name: n for name, n in takes.items() if name not in self._backed or there[name] > 0}
            self._beside_devices[key] = kept
        return self._beside_devices[key]

    def _extended(self, pod: Pod) -> Counter[str]:
        """What all containers of the pod ask for of resources that classes back."""
        known = self._extended_of.get(id(pod.spec))
        if known is None:
            known = self._extended_of[id(pod.spec)] = pod.spec, self._extended_by_content(pod)
        return known[1]

    def _extended_by_content(self, pod: Pod) -> Counter[str]:
        key = _encode((pod.spec.containers, pod.spec.init_containers))
        if key not in self._asked:
            every = (*(pod.spec.init_containers or ()), *(pod.spec.containers or ()))
            asked = (pair for one in every for pair in asked_by(one).items())
            found = self._asked[key] = Counter[str]()
            for name, amount in asked:
                found.update({name: amount} if name in self._backed else {})
        return self._asked[key]

    def _takes(self, pod: Pod) -> Counter[str]:
        spec = pod.spec
        known = self._takes_of.get(id(spec))
        if known is None:
            key = _encode((spec.containers, spec.init_containers, spec.overhead, spec.resources))
            if key not in self._known:
                self._known[key] = pod_takes(spec)
            known = self._takes_of[id(spec)] = spec, self._known[key]
        return known[1]

    def _offer_of(self, node: Node) -> Counter[str] | None:
        """What the node tells that pods may take of it; None: nothing. Read only."""
        name = node.metadata.name
        if name not in self._offers:
            written = _written_offer(node)
            key = _encode(written)
            if key not in self._same_offers:
                self._same_offers[key] = whole_amounts(written) if written else None
            self._offers[name] = self._same_offers[key]
        return self._offers[name]

    def _taken_of(self, node: Node) -> Counter[str]:
        name = node.metadata.name
        if name not in self._taken:
            total = self._taken[name] = Counter[str]()
            for pod in self._pods.get(name, ()):
                total.update(self.taken_by(pod))
        return self._taken[name]

    def taken_by(self, pod: Pod) -> Counter[str]:
        """What a pod on a node takes of it, but for devices."""
        if not self._runs(pod):
            return Counter()
        as_devices = self._backed if self._has_devices(pod) else ()
        taken = Counter({one: n for one, n in self._takes(pod).items() if one not in as_devices})
        taken.update(self._draws.recorded(pod))
        return taken

    def _has_devices(self, pod: Pod) -> bool:
        """Whether a claim was made for the pod's extended resources: its status or the claim says so (KEP-5004)."""
        if pod.status is not None and pod.status.extended_resource_claim_status is not None:
            return True
        owned = self._cluster.memo("verification.extended claims", lambda: dict(_extended_owners(self._cluster)))
        uid = owned.get(key_of(pod.metadata))
        return uid is not None and (not uid or not pod.metadata.uid or uid == pod.metadata.uid)

    def _runs(self, pod: Pod) -> bool:
        """Whether the pod has not ended, and waits for none of its claims."""
        if pod.status is not None and pod.status.phase in _ENDED:
            return False
        return pod.metadata.deletion_timestamp is not None or not self._waits(pod)

    def _waits(self, pod: Pod) -> bool:
        statuses = (pod.status.resource_claim_statuses if pod.status else None) or ()
        known = {one.name: one.resource_claim_name for one in statuses}
        namespace, name = key_of(pod.metadata)
        for entry in pod.spec.resource_claims or ():
            if entry.name in known:
                made = known[entry.name]
                keys = [(namespace, made)] if made else []
            elif entry.resource_claim_name:
                keys = [(namespace, entry.resource_claim_name)]
            else:
                keys = list(self._made_for(namespace, name, entry.name)) or self._made_for_group(pod, entry)
                if not keys and (namespace, entry.resource_claim_template_name or "") in self._cluster.templates:
                    return True
            claims = (self._cluster.claims.get(key) for key in keys)
            if any(claim is not None and (claim.status is None or claim.status.allocation is None) for claim in claims):
                return True
        return False

    def _made_for_group(self, pod: Pod, entry: PodResourceClaim) -> list[ObjectKey]:
        """Claims made from a template for an entry that the pod's group has, too (PGC-2, PGC-4)."""
        namespace = key_of(pod.metadata)[0]
        named = pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group else None
        group = self._cluster.pod_groups.get((namespace, named or ""))
        if group is None or entry not in (group.spec.resource_claims or ()):
            return []
        for one in (group.status.resource_claim_statuses if group.status else None) or ():
            if one.name == entry.name and one.resource_claim_name:
                return [(namespace, one.resource_claim_name)]
        return list(self._made_for(namespace, group.metadata.name, entry.name, "PodGroup"))

    def _made_for(self, namespace: str, pod: str, entry: str, kind: str = "Pod") -> Iterator[ObjectKey]:
        """Claims made from a template for an entry of a pod or its group: it owns them, or their name says so."""
        for key, claim in self._cluster.claims.items():
            if key[0] != namespace or (claim.metadata.annotations or {}).get(MADE_FOR_ENTRY) != entry:
                continue
            owners = [one for one in claim.metadata.owner_references or () if one.controller]
            if any(one.kind == kind and one.name == pod for one in owners) or (
                not owners and key[1] == f"{pod}-{entry}"
            ):
                yield key


def _pods_by_node(cluster: Cluster) -> Mapping[str, Sequence[Pod]]:
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in cluster.pods.values():
        if pod.spec.node_name:
            found[pod.spec.node_name].append(pod)
    return found


_encode = msgspec.msgpack.Encoder().encode


def _written_offer(node: Node) -> Mapping[str, QuantityText] | None:
    return (node.status.allocatable or node.status.capacity) if node.status else None


def _backed_names(cluster: Cluster) -> frozenset[str]:
    """The resources that device classes back: by the name that a class gives, and by that of the class itself."""
    return frozenset(name for one in cluster.classes.values() for name in _names_backed_by(one))


def _names_backed_by(one: DeviceClass) -> Iterator[str]:
    yield f"{_IMPLICIT}{one.metadata.name}"
    if one.spec.extended_resource_name:
        yield one.spec.extended_resource_name


def _extended_owners(cluster: Cluster) -> Iterator[tuple[ObjectKey, str]]:
    """Pods with a claim for extended resources, and their uids; an empty one where the claim does not say it."""
    for (namespace, name), claim in cluster.claims.items():
        if is_extended_claim(claim):
            owners = [one for one in claim.metadata.owner_references or () if one.controller]
            yield from (((namespace, one.name), one.uid) for one in owners if one.kind == "Pod")
            if not owners and name.endswith(_OF_EXTENDED):
                yield (namespace, name.removesuffix(_OF_EXTENDED)), ""


def is_extended_claim(claim: ResourceClaim) -> bool:
    """Whether a claim stands for extended resources of a pod."""
    return (claim.metadata.annotations or {}).get(_EXTENDED) == "true"


def template_of(node: Node) -> str:
    """The NodeTemplate that a node is to be made from; empty for one that is there."""
    return (node.metadata.annotations or {}).get(NODE_TEMPLATE_ANNOTATION, "")


def purchase_findings(cluster: Cluster) -> Iterator[Finding]:
    """Nodes to be bought that templates, pools or reservations do not allow; ``cluster`` has them among its nodes."""
    new = [node for node in cluster.nodes.values() if template_of(node)]
    made = Counter(map(template_of, new))
    for name, number in made.items():
        most = cluster.node_templates[name].spec.limit if name in cluster.node_templates else 0
        if most is not None and number > most:
            yield Finding("PLAN-LIMIT", f"{number} nodes of NodeTemplate {name} are bought, there are {most}")
    for pool in {_label(node, karpenter.NODE_POOL_LABEL) for node in new}:
        yield from _pool_findings(cluster, pool)
    for kind in cluster.objects(karpenter.InstanceType).values() if new else ():
        own = [node for node in new if _label(node, karpenter.INSTANCE_TYPE_LABEL) == kind.metadata.name]
        yield from _reservation_findings(kind, own)


def _pool_findings(cluster: Cluster, name: str) -> Iterator[Finding]:
    """What nodes of a pool have together, those that only have a claim yet included, is within its limits."""
    pool = cluster.objects(karpenter.NodePool).get(name)
    claims = cluster.objects(karpenter.NodeClaim).values()
    joined = cluster.nodes.keys() - {""}
    joining = [one for one in claims if one.status is None or one.status.node_name not in joined]
    there: list[Node | karpenter.NodeClaim] = [*cluster.nodes.values(), *joining]
    own = [one.status for one in there if _label(one, karpenter.NODE_POOL_LABEL) == name]
    for resource, limit in sorted((pool.spec.limits or {}).items()) if pool else ():
        known = [(status.capacity or status.allocatable or {}) if status else {} for status in own]
        amounts = ["1" if resource == "nodes" else amounts.get(resource, "0") for amounts in known]
        if sum(Quantity.parse(amount).nano for amount in amounts) > Quantity.parse(limit).nano:
            yield Finding("PLAN-LIMIT", f"the nodes of NodePool {name} have more {resource} than its limit {limit}")


def _reservation_findings(kind: karpenter.InstanceType, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Nodes that only reservations can give are no more than these have left."""
    offerings = kind.spec.offerings or ()
    used: Counter[tuple[int, ...]] = Counter()
    for node in nodes:
        fitting = tuple(number for number, one in enumerate(offerings) if one.available and _may_be(node, one))
        if all(offerings[number].reservation_capacity is not None for number in fitting):
            used[fitting] += 1
    for fitting, number in used.items():
        left = sum(offerings[one].reservation_capacity or 0 for one in fitting)
        if number > left:
            yield Finding("PLAN-LIMIT", f"{number} nodes of {kind.metadata.name} are reserved, there are {left} left")


def _may_be(node: Node, offering: karpenter.Offering) -> bool:
    """Whether none of the node's labels is another in the offering."""
    labels = node.metadata.labels or {}
    return all(
        labels[one.key] in (one.values or ())
        for one in offering.requirements or ()
        if one.operator == "In" and one.key in labels
    )


def _label(one: Node | karpenter.NodeClaim, label: str) -> str:
    return (one.metadata.labels or {}).get(label, "")


def room_findings(
    cluster: Cluster, loads: NodeLoads, placed: Iterable[tuple[str | None, Pod | None]]
) -> Iterator[Finding]:
    """Nodes of which planned units take more than running pods and others leave; ``placed`` are nodes with pods."""
    pods: dict[str, list[Pod]] = {}
    for name, pod in placed:
        if name is not None and name in cluster.nodes and pod is not None:
            pods.setdefault(name, []).append(pod)
    for name, own in pods.items():
        for resource, more in loads.excess(own, cluster.nodes[name]):
            yield Finding("PLAN-ROOM", f"node {name}: planned units take {more} of {resource} more than is left")
