"""What an entry of constraints asks for: attributes with their semantics, or an expression (CLM-2, CELC-1, SEM-1)."""

from ..base import api_name
from ..claims import DeviceConstraint
from .checked_names import check_fully_qualified
from .findings import STRUCTURE, Findings, Path
from .selectors import check_expression
from .semantics import check_semantics

_ATTRIBUTES = ("match_attribute", "distinct_attribute")


def check_subject(found: Findings, path: Path, entry: DeviceConstraint) -> None:
    """Check all of an entry of a claim but the requests it names."""
    match, distinct = entry.match_attribute, entry.distinct_attribute
    if match is None and distinct is None and entry.cel is None:
        found.required(path, "exactly one of `matchAttribute`, `distinctAttribute` or `cel` is required")
    if match is not None and distinct is not None:
        found.warning((*path, "distinctAttribute"), "ignored: only `matchAttribute` is evaluated (CLM-2)")
    for field in _ATTRIBUTES:
        if entry.cel is not None and getattr(entry, field) is not None:
            found.forbidden((*path, "cel"), f"may not be set beside `{api_name(field)}`", STRUCTURE)
    check_parts(found, path, entry)


def check_parts(found: Findings, path: Path, entry: DeviceConstraint) -> None:
    """Check each field that is there: names of attributes, expression, semantics."""
    for field in _ATTRIBUTES:
        name = getattr(entry, field)
        if name is not None:
            check_fully_qualified(found, (*path, api_name(field)), name)
    if entry.cel is not None:
        check_expression(found, (*path, "cel", "expression"), entry.cel.expression)
    check_semantics(found, path, entry)
