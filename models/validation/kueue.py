"""What Kueue's webhooks refuse, in their words, and the metadata of its objects (kueue-dra 4.1).

What only the schemas of the kinds demand, such as patterns and lengths, is in ``schemas``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..formats.decode import QuantityText
from ..formats.errors import one_line
from ..kubernetes import kueue
from ..kubernetes.core import Container, LabelSelector, PodSpec, ResourceRequirements, Taint
from ..kubernetes.kinds import kind_of
from ..kubernetes.kueue_configuration import GATE_DEFAULTS, Configuration
from ..kubernetes.meta import label_key_complaints, label_value_complaints
from ..kubernetes.quantity import NANO, Quantity
from .findings import STRUCTURE, FieldProblem, Findings, MapKey, Path, WholeFindings, parse_nano, show_json
from .kueue_configuration import configuration_problems
from .selectors import check_pod_terms

_MOST_RESOURCES, _MOST_FLAVORS, _MOST_PAIRS = 256, 256, 512
# How alike the names of gates are of which one is probably meant.
_NEAR = 0.85
_NEGATIVE = "must be greater than or equal to 0"
# A weight that is not zero must be above this, in units of 10^-9.
_LEAST_WEIGHT = 10


def webhook_errors(obj: Any) -> list[str]:
    """What Kueue's webhooks say against an object of its kinds, a line for each error; empty if they take it."""
    found = WholeFindings()
    if check := _WEBHOOKS.get(type(obj)):
        check(found, obj)
    return [str(problem) for problem in found.problems]


def check_quota_object(findings: Findings, obj: Any) -> None:
    """Metadata and webhooks of one of the objects by which workloads are admitted."""
    found = WholeFindings()
    if isinstance(obj, Configuration):
        _check_configuration(found, obj)
    else:
        found.check_metadata(obj.metadata, kind_of(type(obj)).namespaced)
    if check := _WEBHOOKS.get(type(obj)):
        check(found, obj)
    if isinstance(obj, kueue.KueueWorkload):
        _check_structure(found, obj)
    findings.problems += found.problems


def _check_structure(found: WholeFindings, workload: kueue.KueueWorkload) -> None:
    """What no server can read: amounts in templates and in the admission, selectors, claims of one name in a pod."""
    for index, one in enumerate(workload.spec.pod_sets or ()):
        path: Path = ("spec", "podSets", index, "template", "spec")
        spec = one.template.spec
        names = (entry.name for entry in spec.resource_claims or ())
        found.unique((*path, "resourceClaims"), names, ("name",), STRUCTURE)
        check_pod_terms(found, path, spec)
        _check_readable(found, (*path, "overhead"), spec.overhead)
        for place, resources in _resources_in(path, spec):
            _check_readable(found, (*place, "limits"), resources.limits)
            if place == (*path, "resources"):
                _check_readable(found, (*place, "requests"), resources.requests)
    for index, assigned in enumerate((workload.status.admission or kueue.Admission()).pod_set_assignments or ()):
        place = ("status", "admission", "podSetAssignments", index, "resourceUsage")
        _check_readable(found, place, assigned.resource_usage)


def _resources_in(path: Path, spec: PodSpec) -> Iterator[tuple[Path, ResourceRequirements]]:
    if spec.resources is not None:
        yield (*path, "resources"), spec.resources
    for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for number, container in enumerate(containers or ()):
            if container.resources is not None:
                yield (*path, field, number, "resources"), container.resources


def _check_readable(found: WholeFindings, path: Path, amounts: Mapping[str, QuantityText] | None) -> None:
    for name, amount in (amounts or {}).items():
        quantity = found.check_quantity((*path, MapKey(name)), amount)
        if quantity is not None and quantity.nano < 0:
            found.invalid((*path, MapKey(name)), canonical(amount), _NEGATIVE, STRUCTURE)


def _check_configuration(found: WholeFindings, configuration: Configuration) -> None:
    """Expressions are compiled elsewhere (``expressions``)."""
    for one in configuration_problems(configuration, lambda _: ""):
        found.problems.append(FieldProblem(one.path, one_line(one.message), category=STRUCTURE))
    for name in sorted(set(configuration.feature_gates or {}) - GATE_DEFAULTS.keys()):
        meant = difflib.get_close_matches(name, GATE_DEFAULTS, n=1, cutoff=_NEAR)
        hint = f"; did you mean {meant[0]}?" if meant else ""
        text = "the gate decides nothing here, and Kueue does not start with a gate that it does not know"
        found.warning(("featureGates", MapKey(name)), f"{text}{hint}")


class _GroupRules(NamedTuple):
    """How resource groups of a kind are checked: limits need a parent, which Kueue calls so."""

    has_parent: bool
    parent: str
    lending_within_nominal: bool


def _check_groups(
    found: WholeFindings, groups: tuple[kueue.QuotaResourceGroup, ...] | None, rules: _GroupRules
) -> None:
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups or ()):
        path: Path = ("spec", "resourceGroups", index)
        covered = group.covered_resources or ()
        for number, name in enumerate(covered):
            place = (*path, "coveredResources", number)
            found.each_invalid(place, name, label_key_complaints(name))
            if name in resources:
                found.duplicate(place, name)
            resources.add(name)
        for number, quotas in enumerate(group.flavors or ()):
            place = (*path, "flavors", number)
            for position, quota in enumerate((quotas.resources or ())[: len(covered)]):
                _check_quota(found, (*place, "resources", position), quota, covered[position], rules)
            if quotas.name in flavors:
                found.duplicate((*place, "name"), quotas.name)
            flavors.add(quotas.name)
        if (pairs := len(covered) * len(group.flavors or ())) > _MOST_PAIRS:
            found.too_many(path, pairs, _MOST_PAIRS)
    for count, limit in ((len(resources), _MOST_RESOURCES), (len(flavors), _MOST_FLAVORS)):
        if count > limit:
            found.too_many(("spec", "resourceGroups"), count, limit)


def _check_quota(
    found: WholeFindings, path: Path, quota: kueue.FlavorResourceQuota, covered: str, rules: _GroupRules
) -> None:
    if quota.name != covered:
        found.invalid((*path, "name"), quota.name, "must match the name in coveredResources")
    _check_amount(found, (*path, "nominalQuota"), quota.nominal_quota)
    borrowing, lending = quota.borrowing_limit, quota.lending_limit
    without_parent = f"must be nil when {rules.parent} is empty"
    if borrowing is not None:
        place = (*path, "borrowingLimit")
        if not rules.has_parent:
            found.invalid(place, canonical(borrowing), without_parent)
        _check_amount(found, place, borrowing)
    if lending is not None:
        place = (*path, "lendingLimit")
        _check_amount(found, place, lending)
        if not rules.has_parent:
            found.invalid(place, canonical(lending), without_parent)
        most, limit = parse_nano(quota.nominal_quota), parse_nano(lending)
        if rules.lending_within_nominal and most is not None and limit is not None and limit > most:
            found.invalid(place, canonical(lending), "must be less than or equal to the nominalQuota")


def canonical(amount: QuantityText) -> str:
    """An amount as Kubernetes prints it; as written if it is none."""
    try:
        return str(Quantity.parse(amount))
    except ValueError:
        return str(amount)


def _check_amount(found: WholeFindings, path: Path, amount: QuantityText) -> None:
    nano = found.check_quantity(path, amount)
    if nano is not None and nano.nano < 0:
        found.invalid(path, canonical(amount), _NEGATIVE)


def _check_weight(found: WholeFindings, sharing: kueue.FairSharingSpec | None) -> None:
    nano = parse_nano(sharing.weight) if sharing is not None and sharing.weight is not None else None
    if nano is None or sharing is None or sharing.weight is None:
        return
    if nano < 0:
        found.invalid(("spec", "fairSharing"), canonical(sharing.weight), _NEGATIVE)
    elif 0 < nano <= _LEAST_WEIGHT:
        found.invalid(("spec", "fairSharing"), canonical(sharing.weight), "When not 0, weight must be > 10e-9")


def _check_selector(found: WholeFindings, path: Path, selector: LabelSelector | None) -> None:
    if selector is None:
        return
    found.check_label_map((*path, "matchLabels"), selector.match_labels or {})
    for index, one in enumerate(selector.match_expressions or ()):
        place = (*path, "matchExpressions", index)
        if one.operator in ("In", "NotIn"):
            if not one.values:
                found.required((*place, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
        elif one.operator not in ("Exists", "DoesNotExist"):
            found.invalid((*place, "operator"), one.operator, "not a valid selector operator", STRUCTURE)
        elif one.values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.forbidden((*place, "values"), detail)
        found.check_label_key((*place, "key"), one.key)
        for number, value in enumerate(one.values or ()):
            found.check_label_value((*place, "values", number), value)


def _check_cluster_queue(found: WholeFindings, queue: kueue.ClusterQueue) -> None:
    spec = queue.spec
    _check_groups(found, spec.resource_groups, _GroupRules(spec.cohort_name != "", "cohort", True))
    _check_selector(found, ("spec", "namespaceSelector"), spec.namespace_selector)
    _check_preemption(found, spec.preemption)
    fungibility = spec.flavor_fungibility
    policies = {fungibility.when_can_borrow, fungibility.when_can_preempt}
    if fungibility.preference is not None and policies != {"TryNextFlavor"}:
        shown = show_json(fungibility.preference)
        detail = f"preference {shown} requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor"
        found.invalid(("spec", "flavorFungibility", "preference"), fungibility.preference, detail)
    _check_weight(found, spec.fair_sharing)


def _check_preemption(found: WholeFindings, preemption: kueue.ClusterQueuePreemption) -> None:
    borrowing = preemption.borrow_within_cohort
    if preemption.reclaim_within_cohort != "Never" or borrowing.policy == "Never":
        return
    threshold = borrowing.max_priority_threshold
    shown = {
        "reclaimWithinCohort": preemption.reclaim_within_cohort,
        "borrowWithinCohort": {
            "policy": borrowing.policy,
            **({} if threshold is None else {"maxPriorityThreshold": threshold}),
        },
        "withinClusterQueue": preemption.within_cluster_queue,
    }
    found.invalid(("spec", "preemption"), shown, "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never")


def _check_cohort(found: WholeFindings, cohort: kueue.Cohort) -> None:
    _check_weight(found, cohort.spec.fair_sharing)
    _check_groups(found, cohort.spec.resource_groups, _GroupRules(cohort.spec.parent_name != "", "parent", False))


def _check_flavor(found: WholeFindings, flavor: kueue.ResourceFlavor) -> None:
    found.check_label_map(("spec", "nodeLabels"), flavor.spec.node_labels or {})
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(flavor.spec.node_taints or ()):
        path: Path = ("spec", "nodeTaints", index)
        found.check_label_key((*path, "key"), taint.key)
        if complaints := label_value_complaints(taint.value):
            found.invalid((*path, "value"), taint.value, ";".join(complaints))
        if (taint.key, taint.effect) in seen:
            text = f"Duplicate value: {show_json(_taint(taint))}: taints must be unique by key and effect pair"
            found.error(path, text)
        seen.add((taint.key, taint.effect))


def _taint(taint: Taint) -> dict[str, str]:
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _check_workload(found: WholeFindings, workload: kueue.KueueWorkload) -> None:
    pod_sets = workload.spec.pod_sets or ()
    path: Path = ("spec", "podSets")
    for index, one in enumerate(pod_sets):
        spec = one.template.spec
        for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
            for number, container in enumerate(containers or ()):
                _check_requests(found, (*path, index, "template", "spec", field, number), container)
    if (partial := sum(one.min_count is not None for one in pod_sets)) > 1:
        found.invalid(path, partial, "at most one podSet can use minCount")
    if workload.status.admission is not None:
        _check_admission(found, pod_sets, workload.status.admission)
    _check_reclaimable(found, pod_sets, workload.status.reclaimable_pods or ())
    names = {one.name for one in pod_sets}
    for index, check in enumerate(workload.status.admission_checks or ()):
        place: Path = ("status", "admissionChecks", index, "podSetUpdates")
        updates = check.pod_set_updates or ()
        if updates and len(updates) != len(pod_sets):
            found.error(place, "Invalid value: must have the same number of podSetUpdates as the podSets")
        for number, update in enumerate(updates):
            if update.name not in names:
                found.not_supported((*place, number, "name"), update.name, sorted(names))


def _check_requests(found: WholeFindings, path: Path, container: Container) -> None:
    requests = (container.resources.requests if container.resources is not None else None) or {}
    for name, amount in requests.items():
        place = (*path, "resources", "requests", MapKey(name))
        if name == "pods":
            found.invalid(place, name, "the key is reserved for internal kueue use")
        quantity = found.check_quantity(place, amount)
        if quantity is not None and quantity.nano < 0:
            # No pod has less than nothing, whatever is not validated.
            found.invalid(place, canonical(amount), _NEGATIVE, STRUCTURE)


def _check_admission(found: WholeFindings, pod_sets: tuple[kueue.KueuePodSet, ...], admission: kueue.Admission) -> None:
    names = {one.name for one in pod_sets}
    assignments = admission.pod_set_assignments or ()
    path: Path = ("status", "admission", "podSetAssignments")
    if len(names) != len(assignments):
        found.error(path, "Invalid value: must have the same number of podSets as the spec")
    for index, one in enumerate(assignments):
        if one.name not in names:
            found.error((*path, index, "name"), f"Not found: {show_json(one.name)}")
        for resource, amount in (one.resource_usage or {}).items():
            nano = parse_nano(amount)
            unit = NANO // 1000 if resource == "cpu" else NANO
            if nano is not None and one.count is not None and one.count > 0 and -(-nano // unit) % one.count:
                place = (*path, index, "resourceUsage", MapKey(resource))
                found.invalid(place, canonical(amount), f"is not a multiple of {one.count}")


def _check_reclaimable(
    found: WholeFindings, pod_sets: tuple[kueue.KueuePodSet, ...], reclaimable: tuple[kueue.ReclaimablePods, ...]
) -> None:
    counts = {one.name: one.count for one in pod_sets}
    for one in reclaimable:
        path: Path = ("status", "reclaimablePods", MapKey(one.name))
        if one.name not in counts:
            found.not_supported((*path, "name"), one.name, [pod_set.name for pod_set in pod_sets])
        elif one.count > counts[one.name]:
            found.invalid((*path, "count"), one.count, f"should be less or equal to {counts[one.name]}")


_WEBHOOKS: Mapping[type[Any], Callable[[WholeFindings, Any], None]] = {
    kueue.ResourceFlavor: _check_flavor,
    kueue.ClusterQueue: _check_cluster_queue,
    kueue.Cohort: _check_cohort,
    kueue.KueueWorkload: _check_workload,
}
