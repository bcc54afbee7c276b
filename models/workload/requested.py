"""The units that a question is about: pods that are there, pods still to be made by controllers, and loose claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..cluster.cluster import Cluster
from ..cluster.node_fit import apply_taint_rules, tolerates
from ..kubernetes import meta
from ..kubernetes.claims import DeviceTaint, DeviceToleration, ResourceClaim
from ..kubernetes.core import Pod
from ..kubernetes.gates import FeatureGates
from ..kubernetes.kinds import WORKLOAD_MODELS
from ..kubernetes.workloads import pod_specs
from .controllers import read_controllers
from .expansion import UnitExpander, copy_of_pod
from .node_room import running_pods
from .pod_sets import PodSet, check_number_of_units
from .units import ClaimRef, PodClaims, Unit, allocation_of, is_finished_or_deleting, is_group_claim, is_open_claim

_MOST_NAMES = 10


def requested_units(
    cluster: Cluster,
    *,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    gates: FeatureGates | None = None,
) -> tuple[Unit, ...]:
    """Units to allocate: pods some claim of which has no allocation, and loose claims without one.

    Pods that controllers still have to make are among them, those of DaemonSets before all others. Everything else is
    in the order read. ``gates`` decides whether classes back extended resources.

    ``namespace`` and ``selector`` (kubectl's label syntax, on the pod, or on the loose claim) narrow it;
    ``claims`` (``name`` in the given or default namespace, or ``namespace/name``) keeps units that have one of them.
    Pods that have finished or are being deleted, and loose claims being deleted, are left out.
    Raises ``ValueError``, one line, for a bad selector and for a claim that nothing asks for.
    """
    requirements = meta.parse_label_selector(selector)
    requested = [
        unit
        for unit in all_units(cluster, gates)
        if namespace in (None, unit.namespace)
        and (unit.requested_claims or unit.problems)
        and meta.matches_labels(requirements, unit.labels)
    ]
    if claims is None:
        return tuple(requested)
    parts = [text.partition("/") for text in claims]
    wanted = [(head, tail) if slash else (namespace or meta.DEFAULT_NAMESPACE, head) for head, slash, tail in parts]
    there = {ref.key for unit in requested for ref in unit.claims}
    for key in wanted:
        if key not in there:
            problem = "needs no allocation" if key in cluster.claims else "not found"
            raise ValueError(f"ResourceClaim {key[0]}/{key[1]} {problem}")
    return tuple(unit for unit in requested if any(ref.key in wanted for ref in unit.claims))


def all_units(cluster: Cluster, gates: FeatureGates | None = None) -> tuple[Unit, ...]:
    """Pods that are to run, also those still to be made, and loose claims without an allocation; with all claims."""
    extended = gates is None or "DRAExtendedResource" in gates.enabled
    return cluster.memo(("units", extended), lambda: tuple(_find_units(cluster, gates)))


def orphaned_claims(cluster: Cluster, namespace: str | None = None) -> tuple[meta.ObjectKey, ...]:
    """Claims without an allocation that only pods name which have finished or are being deleted: nothing asks for them.

    Claims made from templates for such pods go with them and are left out.
    """
    named: dict[bool, set[meta.ObjectKey]] = {True: set(), False: set()}
    for key, pod in cluster.pods.items():
        names = (entry.resource_claim_name for entry in pod.spec.resource_claims or ())
        named[is_finished_or_deleting(pod)].update((key[0], name) for name in names if name)
    found = sorted(
        key for key in named[True] - named[False] if key in cluster.claims and is_open_claim(cluster.claims[key])
    )
    return tuple(key for key in found if namespace in (None, key[0]))


def dropped_fields(cluster: Cluster, gates: FeatureGates) -> tuple[str, ...]:
    """Lines about fields of groups that an API server with these gates drops, so that they are ignored (GATE-1)."""
    off = [gate for gate in _GROUP_FIELDS if gate not in gates]
    if not off:
        return ()
    pods = [(key, pod.spec) for key, pod in cluster.pods.items()]
    for model in WORKLOAD_MODELS:
        made = cluster.objects(model).items()
        pods += [(meta.key_of(one.metadata), spec) for _, one in made for _, spec in pod_specs(one)]
    groups = [(key, group.spec) for key, group in cluster.pod_groups.items()]
    found = []
    for gate in off:
        for field, kind, attribute in _GROUP_FIELDS[gate]:
            named = [key for key, spec in (pods if kind == "pods" else groups) if getattr(spec, attribute)]
            if named:
                said = f"{field} of {len(named)} {kind} is ignored: feature gate {gate} is off"
                found.append(f"{said} (such as {'/'.join(named[0])})")
    return tuple(found)


def taint_notices(cluster: Cluster, gates: FeatureGates) -> Iterator[str]:
    """Say which running pods a NoExecute taint of a device deletes, though they count as running (MOV-10, MOV-11).

    A claim that is reserved for a PodGroup takes all pods of the group with it (PGC-10).
    """
    slices = apply_taint_rules(cluster.slices, cluster.taint_rules, gates) if gates.device_taints else ()
    taints: dict[meta.DeviceId, list[DeviceTaint]] = {
        (slice_.spec.driver, slice_.spec.pool.name, device.name): deleting
        for slice_ in slices
        for device in slice_.spec.devices or ()
        if device.taints and (deleting := [taint for taint in device.taints if taint.effect == "NoExecute"])
    }
    if not taints:
        return
    running, claims = running_pods(cluster), PodClaims(cluster)
    refs = {key: (*claims.claims_of(pod), *claims.extended_claim_of(pod)) for key, pod in running.items()}
    members: dict[meta.ObjectKey, set[meta.ObjectKey]] = defaultdict(set)
    for key, pod in running.items():
        if pod.spec.scheduling_group is not None:
            members[key[0], pod.spec.scheduling_group.pod_group_name or ""].add(key)
    found: dict[tuple[str, int], set[meta.ObjectKey]] = defaultdict(set)
    for pod_key, ref in ((key, ref) for key, own in refs.items() for ref in own):
        made = allocation_of(ref)
        reserved = (ref.claim.status.reserved_for if ref.claim and ref.claim.status else None) or ()
        groups = [(ref.namespace, one.name) for one in reserved if one.resource == "podgroups"]
        doomed = {pod_key}.union(*(members[group] for group in groups))
        for result in (made.devices.results if made is not None else None) or ():
            for taint in taints.get((result.driver, result.pool, result.device), ()):
                seconds = _seconds_left(taint, result.tolerations or ())
                if seconds is not None:
                    found[f"{taint.key}={taint.value}" if taint.value else taint.key, seconds].update(doomed)
    for (taint_text, seconds), keys in sorted(found.items()):
        names = ["/".join(key) for key in sorted(keys)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        after = f" after {seconds} s" if seconds else ""
        said = f"{', '.join(names[:_MOST_NAMES])}{more}"
        yield f"taint {taint_text}:NoExecute of a device deletes {said}{after}, which this answer counts as running"


def _seconds_left(taint: DeviceTaint, tolerations: Iterable[DeviceToleration]) -> int | None:
    """After how many seconds a pod goes, 0 for at once, None for never."""
    matching = [one.toleration_seconds for one in tolerations if tolerates(one, taint)]
    limits = [max(0, seconds) for seconds in matching if seconds is not None]
    return min(limits) if limits else None if matching else 0


# Path, whose it is, and attribute of the spec, by gate.
_GROUP_FIELDS = {
    "GenericWorkload": (
        ("spec.schedulingGroup", "pods", "scheduling_group"),
        ("spec.workloadRef", "pods", "workload_ref"),
    ),
    "TopologyAwareWorkloadScheduling": (("spec.schedulingConstraints", "PodGroups", "scheduling_constraints"),),
    "DRAWorkloadResourceClaims": (("spec.resourceClaims", "PodGroups", "resource_claims"),),
    "CompositePodGroup": (("spec.parentCompositePodGroupName", "PodGroups", "parent_composite_pod_group_name"),),
}


def merge_units(units: Sequence[Unit]) -> Unit:
    """One unit of all these units' claims, in order: with ``--node``, loose claims are one pod's."""
    claims = tuple(ref for unit in units for ref in unit.claims)
    return Unit(None, claims, units[0].namespace, "+".join(unit.name for unit in units))


def _find_units(cluster: Cluster, gates: FeatureGates | None) -> Iterator[Unit]:
    resolver = PodClaims(cluster)
    claims_of = {key: resolver.claims_of(pod) for key, pod in cluster.pods.items()}
    expander = UnitExpander(cluster, gates, resolver)
    missing = read_controllers(cluster).missing
    sets = [one for own in missing.values() for one in own.sets]
    check_number_of_units(len(claims_of) + sum(len(one.numbers) for one in sets))
    named = {ref.key for refs in claims_of.values() for ref in refs}
    named.update(
        (one.maker.namespace, entry.resource_claim_name)
        for one in sets
        for entry in one.template.spec.resource_claims or ()
        if entry.resource_claim_name
    )
    for one in sets:
        if one.node:
            yield from _made_units(one, resolver, expander)
    objects: dict[type[Any], Mapping[meta.ObjectKey, Any]] = {Pod: cluster.pods, ResourceClaim: cluster.claims}
    objects.update({model: {key: None for other, key in missing if other is model} for model, _ in missing})
    for model, key in cluster.in_read_order(objects):
        if model is Pod:
            pod = cluster.pods[key]
            if not is_finished_or_deleting(pod):
                yield Unit(pod, (*claims_of[key], *_extended_claims(pod, expander)), *key)
        elif model is ResourceClaim:
            claim = cluster.claims[key]
            if key not in named and is_open_claim(claim) and not is_group_claim(claim):
                yield Unit(None, (resolver.existing(key),), *key)
        else:
            for one in missing[model, key].sets:
                if not one.node:
                    yield from _made_units(one, resolver, expander)


def _extended_claims(pod: Pod, expander: UnitExpander) -> tuple[ClaimRef, ...]:
    """Claims for extended resources; a pod that runs without one has its resources of a device plugin."""
    made = expander.claims.extended_claim_of(pod)
    return made or (() if pod.spec.node_name else expander.extended_claims(pod))


def _made_units(one: PodSet, resolver: PodClaims, expander: UnitExpander) -> Iterator[Unit]:
    template = one.pod()
    for number in one.numbers:
        pod = copy_of_pod(template, one.pod_name(number))
        claims = (*resolver.claims_of(pod), *expander.extended_claims(pod))
        yield Unit(pod, claims, one.maker.namespace, pod.metadata.name)
