"""Every selector of an ask that a device fails, not the first one only: explanations weigh each of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .asks import Ask
from .profiles import Profile
from .selectors import ExpressionError, Expressions


@dataclass(frozen=True, slots=True)
class FailedSelector:
    """A selector that is false, or fails with an error, by its number among those of its class or request."""

    filter: str
    index: int
    expression: str
    error: str = ""


class SelectorTable:
    """Asks all selectors of classes and requests, each once for a profile."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self._known: dict[tuple[Ask, int], tuple[FailedSelector, ...]] = {}

    def failed(self, ask: Ask, profile: Profile) -> tuple[FailedSelector, ...]:
        """List what devices of this profile fail, the class's selectors first. Raises ``DeadlineExceededError``."""
        key = ask, profile.index
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._ask_all(ask, profile))
        return found

    def _ask_all(self, ask: Ask, profile: Profile) -> Iterator[FailedSelector]:
        sources = (("classSelector", ask.device_class.spec.selectors), ("requestSelector", ask.spec.selectors))
        for filter_, selectors in sources:
            for index, selector in enumerate(selectors or ()):
                text = selector.cel.expression if selector.cel else ""
                result = self._expressions.test(text, profile)
                if isinstance(result, ExpressionError):
                    yield FailedSelector(filter_, index, text, result.text)
                elif not result:
                    yield FailedSelector(filter_, index, text)
