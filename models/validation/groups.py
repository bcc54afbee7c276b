"""Workloads, PodGroups and CompositePodGroups, checked lightly, as far as planning reads them (groups 1.1)."""

from __future__ import annotations

from ..kubernetes import workloads
from ..kubernetes.meta import label_key_complaints
from .findings import STRUCTURE, Findings, Path
from .nodes import check_claim_entries

_SPEC_PATH: Path = ("spec",)


def check_workload(findings: Findings, workload: workloads.Workload) -> None:
    """Check a Workload: the names of its groups are unique."""
    findings.check_metadata(workload.metadata, namespaced=True)
    groups, path = workload.spec.pod_groups or (), (*_SPEC_PATH, "podGroups")
    findings.unique(path, (group.name for group in groups), ("name",), STRUCTURE)
    for index, group in enumerate(groups):
        findings.check_label((*path, index, "name"), group.name)
        _check_gang_policy(findings, (*path, index, "policy"), group.policy)


def check_pod_group(findings: Findings, group: workloads.PodGroup) -> None:
    """Check a PodGroup."""
    findings.check_metadata(group.metadata, namespaced=True)
    _check_gang_policy(findings, (*_SPEC_PATH, "schedulingPolicy"), group.spec.scheduling_policy)
    entries, where = group.spec.resource_claims or (), (*_SPEC_PATH, "resourceClaims")
    # PGC-1.
    findings.at_most(where, entries, GROUP_CLAIMS_MAX)
    check_claim_entries(findings, where, entries)
    _check_group(findings, group)


def check_composite_pod_group(findings: Findings, group: workloads.CompositePodGroup) -> None:
    """Check a CompositePodGroup."""
    findings.check_metadata(group.metadata, namespaced=True)
    gang, where = group.spec.scheduling_policy.gang, (*_SPEC_PATH, "schedulingPolicy", "gang", "minGroupCount")
    if gang is not None and gang.min_group_count < 1:
        findings.invalid(where, gang.min_group_count, "must be greater than zero", STRUCTURE)
    _check_group(findings, group)


def _check_group(findings: Findings, group: workloads.PodGroup | workloads.CompositePodGroup) -> None:
    if group.spec.priority is not None and group.spec.priority > GROUP_PRIORITY_MAX:
        detail = f"must be less than or equal to {GROUP_PRIORITY_MAX}"
        findings.invalid((*_SPEC_PATH, "priority"), group.spec.priority, detail)
    if group.domain is not None:
        where = (*_SPEC_PATH, "schedulingConstraints", "topology", 0, "key")
        findings.each_invalid(where, group.domain, label_key_complaints(group.domain), STRUCTURE)
    mode = group.spec.disruption_mode
    if mode not in (None, *_DISRUPTION_MODES) and not isinstance(mode, dict):
        detail = f"Invalid value: must be {' or '.join(_DISRUPTION_MODES)}, or an object"
        findings.error((*_SPEC_PATH, "disruptionMode"), detail, STRUCTURE)


# Of Kubernetes 1.36; later it is an object.
_DISRUPTION_MODES = ("Pod", "PodGroup")
GROUP_CLAIMS_MAX = 4
GROUP_PRIORITY_MAX = 10**9


def _check_gang_policy(findings: Findings, path: Path, policy: workloads.SchedulingPolicy) -> None:
    if policy.gang is not None and policy.gang.min_count < 1:
        where = (*path, "gang", "minCount")
        findings.invalid(where, policy.gang.min_count, "must be greater than zero", STRUCTURE)
