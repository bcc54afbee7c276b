"""What can go wrong with an expression."""

from __future__ import annotations


class CelError(Exception):
    """Any error of an expression; the text is cel-go's where users may have met it."""


class CelCompileError(CelError):
    """The text does not parse, does not type-check, or is refused for its length or cost."""


class CelRuntimeError(CelError):
    """Evaluation met an error that nothing absorbed."""


class CelCostError(CelRuntimeError):
    """Evaluation used up its cost budget (CLM-6); never absorbed."""


class CelDeadlineError(CelError):
    """The deadline passed during evaluation; not an error of the expression (CEL-11), never absorbed."""
