"""Selectors of nodes and of labels, and what pods say with them: affinities and spread constraints."""

from __future__ import annotations

import re

from ..kubernetes import core
from ..kubernetes.meta import LabelError, subdomain_complaints
from .findings import STRUCTURE, Findings, Path

_LABEL_OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")
_is_integer = re.compile("[+-]?[0-9]+").fullmatch


def _check_label_requirement(findings: Findings, path: Path, requirement: core.NodeSelectorRequirement) -> None:
    findings.check_label_key((*path, "key"), requirement.key)
    operator, values, where = requirement.operator, requirement.values or (), (*path, "values")
    if operator in ("In", "NotIn"):
        if not values:
            findings.required(where, "must be specified when `operator` is 'In' or 'NotIn'")
        for index, value in enumerate(values):
            findings.check_label_value((*where, index), value)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            findings.forbidden(where, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator not in ("Gt", "Lt"):
        findings.invalid((*path, "operator"), operator, "not a valid selector operator")
    elif len(values) != 1:
        findings.required(where, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif not _is_integer(values[0]):
        findings.warning((*where, 0), "not an integer: the selector cannot be evaluated (NODE-2)")


def _check_field_requirement(findings: Findings, path: Path, requirement: core.NodeSelectorRequirement) -> None:
    if requirement.key != "metadata.name":
        findings.invalid((*path, "key"), requirement.key, "not a valid field selector key")
    if requirement.operator not in ("In", "NotIn"):
        findings.invalid((*path, "operator"), requirement.operator, "not a valid selector operator")
    elif len(requirement.values or ()) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        findings.required((*path, "values"), detail)
    for index, value in enumerate(requirement.values or ()):
        findings.each_invalid((*path, "values", index), value, subdomain_complaints(value))


def check_node_selector(findings: Findings, path: Path, selector: core.NodeSelector, one_term: bool = False) -> None:
    """Check a node selector; slices may have one term only, devices and pods any number above zero (RES-7)."""
    path = (*path, "nodeSelectorTerms")
    terms = selector.node_selector_terms or ()
    if one_term and len(terms) != 1:
        findings.invalid(path, len(terms), "must have exactly one node selector term")
    elif not terms:
        findings.required(path, "must have at least one node selector term")
    for number, term in enumerate(terms):
        for index, requirement in enumerate(term.match_expressions or ()):
            _check_label_requirement(findings, (*path, number, "matchExpressions", index), requirement)
        for index, requirement in enumerate(term.match_fields or ()):
            _check_field_requirement(findings, (*path, number, "matchFields", index), requirement)


def check_node_affinity(findings: Findings, path: Path, spec: core.PodSpec) -> None:
    """Check what a pod says of nodes: the required selector, and the weights of preferred terms."""
    if spec.affinity and (nodes := spec.affinity.node_affinity):
        where = (*path, "affinity", "nodeAffinity")
        if nodes.required:
            check_node_selector(findings, (*where, _REQUIRED), nodes.required)
        for index, preferred in enumerate(nodes.preferred or ()):
            _check_weight(findings, (*where, _PREFERRED, index), preferred.weight)


def check_pod_terms(findings: Findings, path: Path, spec: core.PodSpec) -> None:
    """Check the selectors of what a pod says of other pods."""
    affinity = spec.affinity
    ways = (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)) if affinity else ()
    for name, way in ways:
        where: Path = (*path, "affinity", name)
        terms: list[tuple[Path, core.PodAffinityTerm]] = []
        terms += [
            ((*where, _REQUIRED, number), term) for number, term in enumerate((way.required if way else None) or ())
        ]
        for index, preferred in enumerate((way.preferred if way else None) or ()):
            _check_weight(findings, (*where, _PREFERRED, index), preferred.weight)
            terms.append(((*where, _PREFERRED, index, "podAffinityTerm"), preferred.pod_affinity_term))
        for place, term in terms:
            for field, selector in (
                ("labelSelector", term.label_selector),
                ("namespaceSelector", term.namespace_selector),
            ):
                if selector is not None:
                    check_label_selector(findings, (*place, field), selector)
    for index, constraint in enumerate(spec.topology_spread_constraints or ()):
        if constraint.label_selector is not None:
            where = (*path, "topologySpreadConstraints", index, "labelSelector")
            check_label_selector(findings, where, constraint.label_selector)


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HEAVIEST_TERM = 100


def _check_weight(findings: Findings, path: Path, weight: int) -> None:
    if not 1 <= weight <= _HEAVIEST_TERM:
        findings.invalid((*path, "weight"), weight, f"must be in the range 1-{_HEAVIEST_TERM}", STRUCTURE)


def check_label_selector(findings: Findings, path: Path, selector: core.LabelSelector) -> None:
    """Check a selector of labels; one that cannot be evaluated is never lifted."""
    for index, one in enumerate(selector.match_expressions or ()):
        if one.operator not in _LABEL_OPERATORS:
            place: Path = (*path, "matchExpressions", index, "operator")
            findings.unsupported(place, one.operator, _LABEL_OPERATORS, STRUCTURE)
            return
    for requirement in selector.requirements:
        try:
            requirement.check()
        except LabelError as error:
            findings.error(path, f"Invalid value: {error}", STRUCTURE)
