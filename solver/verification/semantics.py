"""Semantics of match and distinct entries by their formulas, on the values of the devices taken (SEM-2 to SEM-6)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations

from ...models.claims import ConstraintSemantics, SemanticsOptions
from .expressions import Typed

Breach = tuple[str, str]
"""A rule and what is wrong; the attribute's name is to follow."""


def breaches(semantics: ConstraintSemantics, values: Sequence[Typed], *, matching: bool) -> Iterator[Breach]:
    """Say how values break the semantics of an entry, a match or not; values that are none to it first."""
    if (semantics.mode, matching) not in _MODES:
        yield "SEM-1", f"there is no mode {semantics.mode!r} for the values of"
        return
    judge, options = _MODES[semantics.mode, matching]
    given = getattr(semantics.options, options, None) or SemanticsOptions()
    lists = [_as_list(value, bool(given.coerce_scalar_to_list)) for value in values]
    for kind, elements, _ in lists:
        if not kind or not elements:
            yield "CON-3", "a device has no value of"
    yield from judge(lists, given)


def _as_list(value: Typed, coerce: bool) -> Typed:
    kind, elements, is_list = value
    return kind, elements, is_list or coerce


def _members(value: Typed) -> frozenset[Hashable]:
    kind, elements, _ = value
    return frozenset((kind, element) for element in elements)


def _compared(value: Typed, options: SemanticsOptions) -> Hashable:
    """A value as equality sees it: a scalar is never a list, and types are never mixed (SEM-2, SEM-3)."""
    kind, elements, is_list = value
    return kind, is_list, frozenset(elements) if is_list and options.list_mode == "Set" else elements


def _sets(values: Sequence[Typed]) -> Iterator[Breach]:
    if not all(is_list for _, _, is_list in values):
        yield "SEM-2", "a device has a scalar, and no list, of"


def _identical(values: Sequence[Typed], options: SemanticsOptions) -> Iterator[Breach]:
    if any(_compared(one, options) != _compared(other, options) for one, other in combinations(values, 2)):
        yield "SEM-3", "the devices differ in"


def _all_distinct(values: Sequence[Typed], options: SemanticsOptions) -> Iterator[Breach]:
    if any(_compared(one, options) == _compared(other, options) for one, other in combinations(values, 2)):
        yield "SEM-5", "two devices have the same"


def _non_empty_intersection(values: Sequence[Typed], options: SemanticsOptions) -> Iterator[Breach]:
    yield from _sets(values)
    least = 1 if options.min_size is None else options.min_size
    if values and len(frozenset.intersection(*map(_members, values))) < least:
        yield "SEM-4", f"the devices do not have {least} in common of the values of"


def _empty_intersection(values: Sequence[Typed], _options: SemanticsOptions) -> Iterator[Breach]:
    yield from _sets(values)
    if values and frozenset.intersection(*map(_members, values)):
        yield "SEM-6", "all devices have a value in common of"


def _pairwise_disjoint(values: Sequence[Typed], _options: SemanticsOptions) -> Iterator[Breach]:
    yield from _sets(values)
    if any(_members(one) & _members(other) for one, other in combinations(values, 2)):
        yield "SEM-5", "two devices share a value of"


_Judge = Callable[[Sequence[Typed], SemanticsOptions], Iterator[Breach]]
_MODES: dict[tuple[str, bool], tuple[_Judge, str]] = {
    ("Identical", True): (_identical, "identical"),
    ("NonEmptyIntersection", True): (_non_empty_intersection, "non_empty_intersection"),
    ("AllDistinct", False): (_all_distinct, "all_distinct"),
    ("EmptyIntersection", False): (_empty_intersection, "empty_intersection"),
    ("PairwiseDisjoint", False): (_pairwise_disjoint, "pairwise_disjoint"),
}
