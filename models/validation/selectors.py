"""CEL selectors: their number, form and length (CLM-6); what they mean is not known here."""

from ..claims import DeviceSelector
from .findings import Findings, Path, byte_length

SELECTORS_MAX = 32
EXPRESSION_MAX = 10240


def check_expression(found: Findings, path: Path, expression: str) -> None:
    """Check a CEL expression: neither empty nor above 10 KiB."""
    if not expression.strip():
        found.required(path)
    elif byte_length(expression) > EXPRESSION_MAX:
        found.too_long(path, EXPRESSION_MAX)


def check_selectors(found: Findings, path: Path, selectors: tuple[DeviceSelector, ...] | None) -> None:
    """Check the selectors of a class or request."""
    found.at_most(path, selectors, SELECTORS_MAX)
    for index, selector in enumerate(selectors or ()):
        if selector.cel is None:
            found.required((*path, index, "cel"))
        else:
            check_expression(found, (*path, index, "cel", "expression"), selector.cel.expression)
