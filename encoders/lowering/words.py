"""Formulas as sentences, for explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .formulas import Formulas
from .nodes import CONJUNCTION
from .sums import FALSE, ONE, TRUE, Handle

# What a sentence shows: characters in all, members of one list, and formulas inside one another.
_LENGTH = 2_000
_MEMBERS = 8
_DEPTH = 12

_SHORTENED = " ... (shortened)"


def in_words(formulas: Formulas, handle: Handle, name_of_item: Callable[[int], str]) -> str:
    """Return a sentence that says when a formula holds, of at most 2,000 characters; long lists are shortened."""
    sentence = _Sentences(formulas, name_of_item).of(handle, _DEPTH)
    return sentence if len(sentence) <= _LENGTH else sentence[: _LENGTH - len(_SHORTENED)] + _SHORTENED


class _Sentences:
    """Says formulas until enough is said."""

    def __init__(self, formulas: Formulas, name_of_item: Callable[[int], str]) -> None:
        self._nodes = formulas.nodes
        self._name = name_of_item
        self._left = _LENGTH

    def of(self, handle: Handle, depth: int) -> str:
        """Say one formula; ``depth``: so many inside one another."""
        if depth == 0 or self._left < 0:
            return "..."
        if handle in (TRUE, FALSE):
            return "always" if handle == TRUE else "never"
        node = handle if handle >= 0 else ~handle
        if self._nodes.sum_of[node] != CONJUNCTION:
            sentence = self._bounds([handle], depth)
            self._left -= len(sentence)
            return sentence
        children = self._nodes.children[node]
        return self._all(children, depth) if handle >= 0 else self._any([~child for child in children], depth)

    def _all(self, handles: Iterable[Handle], depth: int) -> str:
        """Say a conjunction, both bounds of a sum together."""
        bounds: dict[tuple[int, Handle | None], list[Handle]] = {}
        for handle in handles:
            number = self._nodes.sum_of[handle if handle >= 0 else ~handle]
            bounds.setdefault((number, handle if number == CONJUNCTION else None), []).append(handle)
        parts = list(bounds.values())
        said = [self._bounds(one, depth) if len(one) > 1 else self._inner(one[0], depth) for one in parts[:_MEMBERS]]
        return _joined(said, " and ", len(parts), "conditions")

    def _any(self, handles: Sequence[Handle], depth: int) -> str:
        """Say a disjunction; parts that limit something are said as the condition of the others."""
        limits = [handle for handle in handles if self._is_limit(handle)]
        others = [handle for handle in handles if not self._is_limit(handle)]
        if not others:
            limits, others = limits[:-1], limits[-1:]
        then = _joined([self._inner(one, depth) for one in others[:_MEMBERS]], " or ", len(others), "conditions")
        if not limits:
            return then
        conditions = [self._inner(~one, depth) for one in limits[:_MEMBERS]]
        return f"{then} if {_joined(conditions, ' and ', len(limits), 'conditions')}"

    def _is_limit(self, handle: Handle) -> bool:
        return handle < 0 and self._nodes.sum_of[~handle] != CONJUNCTION

    def _inner(self, handle: Handle, depth: int) -> str:
        said = self.of(handle, depth - 1)
        return f"({said})" if self._nodes.sum_of[handle if handle >= 0 else ~handle] == CONJUNCTION else said

    def _bounds(self, handles: Iterable[Handle], depth: int) -> str:
        """Say thresholds on one sum."""
        least = most = None
        for handle in handles:
            if handle >= 0:
                number, least = self._nodes.sum_of[handle], self._nodes.bound_of[handle]
            else:
                number, most = self._nodes.sum_of[~handle], self._nodes.bound_of[~handle] - 1
        if not self._nodes.counts_only[number]:
            return f"{self._sum(number, depth)} is {_range(least, most)}"
        names = [self._name(item) for item, _, _ in self._nodes.terms[number][:_MEMBERS]]
        several = len(self._nodes.terms[number])
        listed = _joined(names, ", ", several, "in all")
        if (least, most) == (1, None):
            return f"any of {listed} is chosen" if several > 1 else f"{listed} is chosen"
        if (least, most) == (None, 0):
            return f"none of {listed} is chosen" if several > 1 else f"{listed} is not chosen"
        return f"{_range(least, most)} of {listed}"

    def _sum(self, number: int, depth: int) -> str:
        terms = self._nodes.terms[number]
        said = [self._term(*term, depth) for term in terms[:_MEMBERS]]
        return _joined(said, " + ", len(terms), "terms")

    def _term(self, item: int, gate: Handle, coefficient: int, depth: int) -> str:
        counted = str(coefficient) if item == ONE else self._name(item)
        factor = f"{coefficient}*" if item != ONE and coefficient != 1 else ""
        return f"{factor}{counted}" if gate == TRUE else f"({factor}{counted} if {self.of(gate, depth - 1)})"


def _range(least: int | None, most: int | None) -> str:
    if least is None:
        return f"at most {most}"
    if most is None:
        return f"at least {least}"
    return f"exactly {least}" if least == most else f"{least} to {most}"


def _joined(said: Sequence[str], word: str, number: int, what: str) -> str:
    """Join what is said of so many, and tell how many there are if they are more."""
    return word.join(said) + (f" ... ({number} {what})" if number > len(said) else "")
