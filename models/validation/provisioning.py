"""Limits of AdmissionChecks, ProvisioningRequests and their configuration (provisioning-request 1), from their schemas.

Messages are those of the API server for custom resources: ``Invalid value: "A": spec.x in body should match '...'``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..kubernetes.kueue import AdmissionCheck, AdmissionChecksStrategy, ClusterQueue
from ..kubernetes.meta import byte_length
from ..kubernetes.provisioning import PodTemplate, ProvisioningRequest, ProvisioningRequestConfig
from .findings import Findings, Path, render_path
from .kueue import check_quota_object
from .nodes import check_controller

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = f"^{_LABEL}$"
_DOMAIN = f"^{_SUBDOMAIN}$"
_KIND = "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$"
_LABEL_KEY = rf"^({_SUBDOMAIN}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_LONGEST_CHECK, _LONGEST_KEY, _LONGEST_DETAIL, _LONGEST_PARAMETER = 316, 317, 32768, 255
_MOST_PARAMETERS, _MOST_RESOURCES, _MOST_SELECTORS = 100, 100, 8
_MOST_CHECKS, _MOST_FLAVORS, _MOST_POD_SETS, _MOST_DETAILS = 64, 64, 32, 64
_POLICIES = ("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")
_SUBDOMAIN_MAX, _LABEL_MAX = 253, 63


def _matcher(pattern: str) -> Callable[[str], object]:
    """Compile a pattern of Go, whose flags may stand behind its anchor."""
    flags = re.IGNORECASE if "(?i)" in pattern else 0
    return re.compile(pattern.replace("(?i)", "").strip("^$"), flags | re.ASCII).fullmatch


_MATCHERS = {pattern: _matcher(pattern) for pattern in (_NAME, _DOMAIN, _KIND, _LABEL_KEY)}


def _check_text(findings: Findings, path: Path, text: str, most: int, pattern: str = "") -> None:
    """Check a required text: not empty, no longer than ``most`` bytes, of a pattern."""
    if not text:
        findings.required(path)
        return
    if byte_length(text) > most:
        findings.too_long(path, most)
    elif pattern and not _MATCHERS[pattern](text):
        findings.invalid(path, text, f"{render_path(path)} in body should match '{pattern}'")


def _check_map(findings: Findings, path: Path, values: Mapping[str, str] | None, most: int, longest: int) -> None:
    findings.at_most(path, values, most)
    for key, value in (values or {}).items():
        if byte_length(value) > longest:
            findings.too_long((*path, key), longest)


def _check_int32(findings: Findings, path: Path, number: int) -> None:
    if not _INT32_MIN <= number <= _INT32_MAX:
        where = render_path(path)
        findings.invalid(path, number, f"{where} in body must be of type integer with format int32")


def check_admission_check(findings: Findings, check: AdmissionCheck) -> None:
    """Check an AdmissionCheck (provisioning-request 1.1); whether its parameters exist is for its condition Active."""
    findings.check_metadata(check.metadata, namespaced=False)
    _check_text(findings, ("spec", "controllerName"), check.spec.controller_name, _SUBDOMAIN_MAX)
    parameters = check.spec.parameters
    if parameters is not None:
        path: Path = ("spec", "parameters")
        _check_text(findings, (*path, "apiGroup"), parameters.api_group, _SUBDOMAIN_MAX, _DOMAIN)
        _check_text(findings, (*path, "kind"), parameters.kind, _LABEL_MAX, _KIND)
        _check_text(findings, (*path, "name"), parameters.name, _LABEL_MAX, _NAME)


def check_provisioning_config(findings: Findings, config: ProvisioningRequestConfig) -> None:
    """Check a ProvisioningRequestConfig (provisioning-request 1.2)."""
    findings.check_metadata(config.metadata, namespaced=False)
    spec, path = config.spec, ("spec",)
    _check_text(findings, (*path, "provisioningClassName"), spec.provisioning_class_name, _SUBDOMAIN_MAX, _DOMAIN)
    _check_map(findings, (*path, "parameters"), spec.parameters, _MOST_PARAMETERS, _LONGEST_PARAMETER)
    findings.at_most((*path, "managedResources"), spec.managed_resources, _MOST_RESOURCES)
    findings.unique((*path, "managedResources"), spec.managed_resources or ())
    retry = spec.retry_strategy
    for field, number in (
        ("backoffLimitCount", retry.backoff_limit_count),
        ("backoffBaseSeconds", retry.backoff_base_seconds),
        ("backoffMaxSeconds", retry.backoff_max_seconds),
    ):
        _check_int32(findings, (*path, "retryStrategy", field), number)
    if spec.pod_set_merge_policy is not None and spec.pod_set_merge_policy not in _POLICIES:
        findings.unsupported((*path, "podSetMergePolicy"), spec.pod_set_merge_policy, _POLICIES)
    selectors = (spec.pod_set_updates.node_selector or ()) if spec.pod_set_updates else ()
    where: Path = (*path, "podSetUpdates", "nodeSelector")
    findings.at_most(where, selectors, _MOST_SELECTORS)
    _check_keys(findings, where, "key", [one.key for one in selectors])
    for index, one in enumerate(selectors):
        _check_text(findings, (*where, index, "key"), one.key, _LONGEST_KEY, _LABEL_KEY)
        detail = (*where, index, "valueFromProvisioningClassDetail")
        _check_text(findings, detail, one.value_from_provisioning_class_detail, _LONGEST_DETAIL)


def _check_keys(findings: Findings, path: Path, key: str, values: list[str]) -> None:
    """Check that the entries of a list that is keyed by a field differ in it."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            findings.duplicate((*path, index), {key: value})
        seen.add(value)


def check_provisioning_request(findings: Findings, request: ProvisioningRequest) -> None:
    """Check a ProvisioningRequest (provisioning-request 1.3) with its status."""
    findings.check_metadata(request.metadata, namespaced=True)
    spec, path = request.spec, ("spec",)
    _check_text(findings, (*path, "provisioningClassName"), spec.provisioning_class_name, _SUBDOMAIN_MAX, _DOMAIN)
    _check_map(findings, (*path, "parameters"), spec.parameters, _MOST_PARAMETERS, _LONGEST_PARAMETER)
    where: Path = (*path, "podSets")
    if spec.pod_sets is None:
        findings.required(where)
    elif not spec.pod_sets:
        findings.invalid(where, 0, f"{render_path(where)} in body should have at least 1 items")
    findings.at_most(where, spec.pod_sets, _MOST_POD_SETS)
    for index, one in enumerate(spec.pod_sets or ()):
        name = (*where, index, "podTemplateRef", "name")
        _check_text(findings, name, one.pod_template_ref.name, _SUBDOMAIN_MAX, _DOMAIN)
        count = (*where, index, "count")
        _check_int32(findings, count, one.count)
        if one.count < 1:
            findings.invalid(count, one.count, f"{render_path(count)} in body should be greater than or equal to 1")
    details = request.status.provisioning_class_details
    _check_map(findings, ("status", "provisioningClassDetails"), details, _MOST_DETAILS, _LONGEST_DETAIL)


def check_admission_checks_strategy(findings: Findings, path: Path, strategy: AdmissionChecksStrategy) -> None:
    """Check the admission checks of a ClusterQueue (provisioning-request 6)."""
    where: Path = (*path, "admissionChecks")
    rules = strategy.admission_checks
    if rules is None:
        findings.required(where)
    elif not rules:
        findings.invalid(where, 0, f"{render_path(where)} in body should have at least 1 items")
    findings.at_most(where, rules, _MOST_CHECKS)
    _check_keys(findings, where, "name", [one.name for one in rules or ()])
    for index, one in enumerate(rules or ()):
        _check_text(findings, (*where, index, "name"), one.name, _LONGEST_CHECK)
        flavors = (*where, index, "onFlavors")
        findings.at_most(flavors, one.on_flavors, _MOST_FLAVORS)
        findings.unique(flavors, one.on_flavors or ())
        for number, flavor in enumerate(one.on_flavors or ()):
            _check_text(findings, (*flavors, number), flavor, _SUBDOMAIN_MAX, _DOMAIN)


def check_cluster_queue(findings: Findings, queue: ClusterQueue) -> None:
    """Check a ClusterQueue: what the webhook refuses, and its admission checks."""
    check_quota_object(findings, queue)
    if queue.spec.admission_checks_strategy is not None:
        check_admission_checks_strategy(
            findings, ("spec", "admissionChecksStrategy"), queue.spec.admission_checks_strategy
        )


PROVISIONING_CHECKS: dict[type[Any], Callable[[Findings, Any], None]] = {
    AdmissionCheck: check_admission_check,
    ProvisioningRequestConfig: check_provisioning_config,
    ProvisioningRequest: check_provisioning_request,
    PodTemplate: check_controller,
    ClusterQueue: check_cluster_queue,
}
"""The checks of these kinds, for the table of all kinds."""
