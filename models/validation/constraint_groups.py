"""ConstraintGroups: which claims are meant, and entries across them.

A selector that cannot be evaluated, and a group about nothing, have no meaning: that is never lifted.
"""

from ..constraint_groups import ConstraintGroup, ConstraintGroupSpec, LabelSelector
from ..entries import Entry
from ..labels import LabelError
from . import names
from .checked_names import check_label, check_subdomain
from .entries import check_entries
from .findings import STRUCTURE, Findings, Path
from .metadata import check_metadata
from .request_references import REFERENCES_MAX

CLAIMS_MAX = 1024
_OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")


def check_group(found: Findings, group: ConstraintGroup) -> None:
    """Check a ConstraintGroup; whether its claims are there, only all objects together can tell."""
    check_metadata(found, group.metadata, namespaced=True)
    spec, path = group.spec, ("spec",)
    _check_chosen(found, path, spec)
    _check_names(found, path, spec)
    for field, selector in (("claimSelector", spec.claim_selector), ("podSelector", spec.pod_selector)):
        if selector is not None:
            _check_selector(found, (*path, field), selector)
    if not spec.constraints and not spec.same_node_label:
        found.required(path, "at least one of `constraints` or `sameNodeLabel` is required", STRUCTURE)
    if spec.same_node_label:
        found.each_invalid((*path, "sameNodeLabel"), spec.same_node_label, names.label_key(spec.same_node_label))
    check_entries(
        found, (*path, "constraints"), spec.constraints or (), lambda where, entry: _check_requests(found, where, entry)
    )


def _check_chosen(found: Findings, path: Path, spec: ConstraintGroupSpec) -> None:
    ways = (spec.claims, spec.pods, spec.claim_selector, spec.pod_selector)
    if all(way is None or way == () for way in ways):
        offered = "`claims`, `claimSelector`, `pods` or `podSelector`"
        found.required(path, f"at least one of {offered} is required", STRUCTURE)


def _check_names(found: Findings, path: Path, spec: ConstraintGroupSpec) -> None:
    found.at_most((*path, "claims"), spec.claims, CLAIMS_MAX)
    found.at_most((*path, "pods"), spec.pods, CLAIMS_MAX)
    found.unique((*path, "claims"), (claim.name for claim in spec.claims or ()), ("name",))
    for index, claim in enumerate(spec.claims or ()):
        check_subdomain(found, (*path, "claims", index, "name"), claim.name)
    for index, pod in enumerate(spec.pods or ()):
        place: Path = (*path, "pods", index)
        if pod.name:
            check_subdomain(found, (*place, "name"), pod.name)
        elif spec.pod_selector is None:
            found.required((*place, "name"), "without a `podSelector`", STRUCTURE)
        for number, name in enumerate(pod.claims or ()):
            check_label(found, (*place, "claims", number), name)


def _check_selector(found: Findings, path: Path, selector: LabelSelector) -> None:
    for index, one in enumerate(selector.match_expressions or ()):
        if one.operator not in _OPERATORS:
            place: Path = (*path, "matchExpressions", index, "operator")
            found.unsupported(place, one.operator, _OPERATORS, STRUCTURE)
            return
    for requirement in selector.requirements:
        try:
            requirement.check()
        except LabelError as error:
            found.error(path, f"Invalid value: {error}", STRUCTURE)


def _check_requests(found: Findings, path: Path, entry: Entry) -> None:
    """``REQUEST``, ``CLAIM/REQUEST`` or ``CLAIM/REQUEST/SUBREQUEST``."""
    listed = entry.requests or ()
    found.at_most(path, listed, REFERENCES_MAX)
    found.unique(path, listed)
    for index, text in enumerate(listed):
        if not _is_reference(text):
            detail = "must be the name of a request, after `CLAIM/` for that of one claim only"
            found.invalid((*path, index), text, detail)


def _is_reference(text: str) -> bool:
    claim, slash, own = text.partition("/")
    requests = own.split("/") if slash else [text]
    wrong = [*(names.subdomain(claim) if slash else ()), *(told for name in requests for told in names.label(name))]
    return not wrong and len(requests) <= 2
