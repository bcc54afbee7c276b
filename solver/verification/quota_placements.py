"""The placement in the document of ``quota``: pods of workloads with quota on nodes of their flavors, with devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.core import Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kinds import WORKLOAD_MODELS, group_of, kind_of
from ...models.kubernetes.kueue import KueueWorkload
from ...models.kubernetes.meta import ObjectKey, ObjectMeta, key_of
from ...models.results.common import ProofKind
from ...models.results.plan import PlanDocument, PlannedUnit
from ...models.results.quota import QuotaDocument, QuotaPlacement, WorkloadPlacement, WorkloadQuota
from ...models.workload.units import Unit
from .documents import CheckQuestion, Lines, line
from .nodes import NodeLoads, room_findings
from .plan_admissions import FlavoredPods, flavor_labels
from .plan_documents import PlanCheck, UnitReading
from .plan_figures import order_flaws
from .pod_rules import pod_rule_findings
from .quota_objects import KueueObjects

_DEEPEST_OWNER = 8


def placement_lines(
    document: QuotaDocument, gates: FeatureGates, question: CheckQuestion, objects: KueueObjects
) -> Lines:
    """Check the placement of workloads with quota."""
    placement = document.placement
    assert isinstance(placement, QuotaPlacement)
    told = {(one.namespace, one.name): one for one in document.workloads}
    names = Counter((one.namespace, one.name) for one in placement.workloads)
    wrong = [f"workload {'/'.join(key)} is there twice" for key, times in names.items() if times > 1]
    yield line("placement", plural(len(names), "workload"), wrong)
    nodes: dict[ObjectKey, Counter[str]] = defaultdict(Counter)
    for unit in placement.units:
        if unit.node is not None:
            nodes[unit.namespace, unit.gang][unit.node] += 1
    for one in placement.workloads:
        key = one.namespace, one.name
        wrong = list(_count_flaws(one, told.get(key), nodes[key], placement, question.cluster))
        said, clash = f"{one.placed} of {plural(one.asked, 'pod')} placed", ""
        if one.placed < one.asked:
            clash = _clash(told.get(key), question.cluster)
            rests = placement.proof or ProofKind.SOLVER
            unchecked = "" if clash else f"that no node has a place for it rests on {rests}"
            yield line(f"workload {'/'.join(key)}", said, wrong, unchecked)
        else:
            yield line(f"workload {'/'.join(key)}", said, wrong)
    yield from _proof_line(placement)
    yield from _unit_lines(document, placement, gates, question, objects)


def _count_flaws(
    one: WorkloadPlacement,
    told: WorkloadQuota | None,
    nodes: Mapping[str, int],
    placement: QuotaPlacement,
    cluster: Cluster,
) -> Iterator[str]:
    if told is None or told.state not in ("quotaReserved", "admitted"):
        yield "it has no quota"
        return
    if not 0 <= one.placed <= one.asked or sum(one.nodes.values()) != one.placed:
        yield f"its nodes have {sum(one.nodes.values())} of its pods"
    lost = sorted(one.nodes.keys() - cluster.nodes.keys())
    if lost:
        yield f"the input has no node {lost[0]}"
    most = sum(each.count for each in told.assignments)
    if one.asked > most or (told.cycle is not None and one.asked != most):
        yield f"it has quota for {most} pods"
    if told.cycle is not None and 0 < one.placed < one.asked:
        yield "it is placed in part"
    if placement.units and dict(nodes) != {name: number for name, number in one.nodes.items() if number}:
        yield "its units are on other nodes"


def _clash(told: WorkloadQuota | None, cluster: Cluster) -> str:
    """The pod set whose flavors ask nodes for two values of one label, so that no node has a place for it."""
    for one in told.assignments if told else ():
        if flavor_labels(cluster, one.flavors.values()) is None:
            return one.pod_set
    return ""


def _proof_line(placement: QuotaPlacement) -> Lines:
    whole = all(one.placed == one.asked for one in placement.workloads)
    expected = ProofKind.WITNESS if whole else None
    wrong = [] if placement.proven or not whole else ["all pods are placed, so that nothing places more"]
    if (placement.proof is not None) != placement.proven or (expected and placement.proof != expected):
        wrong.append(f"proof is {placement.proof}")
    if placement.certified != (placement.proof is not None and placement.proof.is_checked):
        wrong.append(f"certified is {str(placement.certified).lower()}, and proof {placement.proof}")
    unchecked = "" if whole or not placement.proven else f"that no plan places more rests on {placement.proof}"
    yield line("placement", f"proven: {str(placement.proven).lower()}", wrong, unchecked)


def _unit_lines(
    document: QuotaDocument,
    placement: QuotaPlacement,
    gates: FeatureGates,
    question: CheckQuestion,
    objects: KueueObjects,
) -> Lines:
    if not placement.units:
        placed = sum(one.placed for one in placement.workloads)
        if placed:
            yield line("placement", plural(placed, "pod"), [], "the document does not say which devices they get")
        return
    gone = {f"{one.namespace}/{one.name}" for one in document.workloads if one.evictions}
    cluster = without_evicted(question.cluster, filter(None, map(objects.workload, sorted(gone))))
    told = {f"{one.namespace}/{one.name}": one.assignments for one in document.workloads}
    flavored = FlavoredPods(told, cluster, objects)
    asked = replace(question, cluster=cluster)

    def reading(one: PlannedUnit, unit: Unit) -> Unit:
        return flavored.unit(f"{one.namespace}/{one.gang}", unit, one.node)

    found = placed_units(placement.units, gates, asked, reading)
    yield from found.placements()
    pairs = [(one.node, one.unit.pod) for one in found.units]
    gated = cluster.with_gates(gates)
    rooms: list[object] = list(room_findings(gated, NodeLoads(gated, gates), pairs))
    there = sorted((unit.order or 0, place) for place, unit in enumerate(placement.units) if unit.node in cluster.nodes)
    ordered = [found.units[place] for _, place in there]
    rooms += pod_rule_findings(
        cluster, [(one.unit.name, one.unit.pod, one.node) for one in ordered if one.unit.pod is not None and one.node]
    )
    rooms += order_flaws(placement.units)
    rooms += [f"{one.unit} is of no workload" for one in placement.units if f"{one.namespace}/{one.gang}" not in told]
    yield line("placement", "rooms of nodes, what pods say of one another", rooms)
    yield line("placement", f"names of {len(placement.units)} units", found.misnamed)


def placed_units(
    told: Sequence[PlannedUnit], gates: FeatureGates, question: CheckQuestion, reading: UnitReading
) -> PlanCheck:
    """Units of another document, checked as those of a plan that buys and moves nothing."""
    document = PlanDocument(
        outcome="Feasible",
        asked=len(told),
        placed=0,
        objective=(),
        units=tuple(told),
        nodes=(),
        bought=(),
        gap=0.0,
        feature_gates={},
        cel_errors="strict",
        verified=False,
        statistics={},
    )
    return PlanCheck(document, gates, question, question.cluster.with_gates(gates), reading)


def without_evicted(cluster: Cluster, workloads: Iterable[KueueWorkload]) -> Cluster:
    """The cluster without the pods of these workloads; what only their claims hold is free."""
    owners = {
        (one.kind, group_of(one.api_version), key_of(workload.metadata)[0], one.name)
        for workload in workloads
        for one in workload.metadata.owner_references or ()
    }
    gone = {key for key, pod in cluster.pods.items() if owners and _is_below(cluster, pod, owners)}
    if not gone:
        return cluster
    made = {
        key
        for key, claim in cluster.claims.items()
        for one in claim.metadata.owner_references or ()
        if one.controller and one.kind == "Pod" and (key[0], one.name) in gone
    }
    freed = []
    for key, claim in cluster.claims.items():
        users = {(key[0], one.name) for one in (claim.status.reserved_for if claim.status else None) or ()}
        if key not in made and users and users <= gone:
            freed.append(replace_fields(claim, status=None))
    return cluster.without(claims=made, pods=gone).with_claims(freed)


def _is_below(cluster: Cluster, pod: Pod, owners: Collection[tuple[str, str, str, str]]) -> bool:
    """Whether a pod, or what controls it, is one of the owners."""
    namespace, name = key_of(pod.metadata)
    if ("Pod", "", namespace, name) in owners:
        return True
    metadata: ObjectMeta | None = pod.metadata
    for _ in range(_DEEPEST_OWNER):
        above = next((one for one in (metadata.owner_references if metadata else None) or () if one.controller), None)
        if above is None:
            return False
        key = above.kind, group_of(above.api_version), namespace, above.name
        if key in owners:
            return True
        models = (one for one in WORKLOAD_MODELS if kind_of(one).name == above.kind)
        made = next((found for one in models if (found := cluster.objects(one).get((namespace, above.name)))), None)
        metadata = made.metadata if made is not None else None
    return False
