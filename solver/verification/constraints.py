"""Constraints between the devices of a claim, judged on the finished list (section 13 and SEM-*, read anew).

Semantics of match and distinct entries by their formulas, on the values of the devices taken (SEM-2 to SEM-6).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations, repeat

from ...models.kubernetes.claims import ConstraintSemantics, DeviceConstraint, RequestSpec, SemanticsOptions
from ...models.kubernetes.extensions import Predicate
from ...models.kubernetes.gates import FeatureGates
from .published import Finding, PublishedDevice
from .state import TypedValue, VerifierExpressions, published_value


def covers(constraint: DeviceConstraint | Predicate, request: str) -> bool:
    """CON-1: whether the constraint applies to results of ``request`` (``name`` or ``name/sub``)."""
    named = constraint.requests or ()
    return not named or request in named or request.partition("/")[0] in named


class ConstraintRules:
    """Judges constraints; ``expressions`` compute derived attributes."""

    def __init__(self, gates: FeatureGates, expressions: VerifierExpressions) -> None:
        self._gates = gates
        self._expressions = expressions

    def findings(
        self, constraint: DeviceConstraint, members: Sequence[tuple[PublishedDevice, RequestSpec]]
    ) -> Iterator[Finding]:
        """Yield what is wrong with the devices that a constraint applies to, in the order taken.

        With both kinds of attribute given only the match counts (CLM-2).
        """
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        values: list[TypedValue] = []
        for entry, requested in members:
            value = self._value(attribute, entry, requested)
            if isinstance(value, Finding):
                yield value
            elif value is None:
                yield Finding("CON-3", f"device {entry.device.name} has no attribute {attribute}")
            else:
                values.append(value)
        for rule, message in self._judge(constraint, values):
            yield Finding(rule, f"{message} {attribute}")

    def _judge(self, constraint: DeviceConstraint, values: Sequence[TypedValue]) -> Iterator[Breach]:
        matching = constraint.match_attribute is not None
        semantics = constraint.match_semantics or constraint.distinct_semantics or constraint.semantics
        if semantics is not None and not self._gates.list_attributes:
            yield "SEM-1", "an entry has semantics, and that feature is off: about"
        if semantics is not None:
            yield from semantics_breaches(semantics, values, matching=matching)
        else:
            yield from self._judge_plainly(values, matching)

    def _judge_plainly(self, values: Sequence[TypedValue], matching: bool) -> Iterator[Breach]:
        if self._gates.list_attributes:
            return _match_sets(values) if matching else _distinct_sets(values)
        return _match_scalars(values) if matching else _distinct_scalars(values)

    def _value(self, attribute: str, entry: PublishedDevice, requested: RequestSpec) -> TypedValue | Finding | None:
        """CON-12, then CON-2."""
        for derived in requested.derived_attributes or ():
            if derived.name == attribute:
                return self._expressions.derived(derived.expression, entry)
        return published_value(entry, attribute)


def _element_sets(values: Sequence[TypedValue]) -> list[frozenset[object]]:
    """The elements of each value, with their types where those differ: true is no 1, and a version no string."""
    if len({kind for kind, _, _ in values}) < 2:
        return [frozenset(elements) for _, elements, _ in values]
    return [frozenset(zip(repeat(kind), elements, strict=False)) for kind, elements, _ in values]


def _match_sets(values: Sequence[TypedValue]) -> Iterator[Breach]:
    """CON-7, CON-8: all have a value in common."""
    if values and not frozenset.intersection(*_element_sets(values)):
        yield "CON-7", "the devices have no value in common of"


def _distinct_sets(values: Sequence[TypedValue]) -> Iterator[Breach]:
    """CON-7, CON-8: no two have a value in common, and all have one."""
    sets = _element_sets(values)
    if not all(sets):
        yield "CON-8", "a device has no value of"
    if sum(map(len, sets)) > len(frozenset().union(*sets)):
        yield "CON-7", "two devices share a value of"


def _is_scalar(value: TypedValue) -> bool:
    kind, _, is_list = value
    return bool(kind) and not is_list


def _match_scalars(values: Sequence[TypedValue]) -> Iterator[Breach]:
    """CON-4; a list is equal to nothing (CON-9)."""
    if len(values) > 1 and not all(map(_is_scalar, values)):
        yield "CON-9", "there are lists, whose feature is off, among the values of"
    elif len(set(values)) > 1:
        yield "CON-4", "the devices differ in"


def _distinct_scalars(values: Sequence[TypedValue]) -> Iterator[Breach]:
    """CON-5; only the first device may have a list (CON-9)."""
    if not all(map(_is_scalar, values[1:])):
        yield "CON-9", "there are lists, whose feature is off, among the values of"
    elif len(set(values)) < len(values):
        yield "CON-5", "two devices have the same"


Breach = tuple[str, str]
"""A rule and what is wrong; the attribute's name is to follow."""


def semantics_breaches(
    semantics: ConstraintSemantics, values: Sequence[TypedValue], *, matching: bool
) -> Iterator[Breach]:
    """Yield how values break the semantics of an entry, a match or a distinct one."""
    if (semantics.mode, matching) not in _CHECK_OF_MODE:
        yield "SEM-1", f"there is no mode {semantics.mode!r} for the values of"
        return
    judge, options = _CHECK_OF_MODE[semantics.mode, matching]
    given = getattr(semantics.options, options, None) or SemanticsOptions()
    lists = [_coerced_value(value, bool(given.coerce_scalar_to_list)) for value in values]
    for kind, elements, _ in lists:
        if not kind or not elements:
            yield "CON-3", "a device has no value of"
    yield from judge(lists, given)


def _coerced_value(value: TypedValue, coerce: bool) -> TypedValue:
    kind, elements, is_list = value
    return kind, elements, is_list or coerce


def _typed_elements(value: TypedValue) -> frozenset[Hashable]:
    kind, elements, _ = value
    return frozenset((kind, element) for element in elements)


def _comparison_key(value: TypedValue, options: SemanticsOptions) -> Hashable:
    """A value as equality sees it: a scalar is never a list, and types are never mixed (SEM-2, SEM-3)."""
    kind, elements, is_list = value
    return kind, is_list, frozenset(elements) if is_list and options.list_mode == "Set" else elements


def _require_lists(values: Sequence[TypedValue]) -> Iterator[Breach]:
    if not all(is_list for _, _, is_list in values):
        yield "SEM-2", "a device has a scalar, and no list, of"


def _identical(values: Sequence[TypedValue], options: SemanticsOptions) -> Iterator[Breach]:
    if any(_comparison_key(one, options) != _comparison_key(other, options) for one, other in combinations(values, 2)):
        yield "SEM-3", "the devices differ in"


def _all_distinct(values: Sequence[TypedValue], options: SemanticsOptions) -> Iterator[Breach]:
    if any(_comparison_key(one, options) == _comparison_key(other, options) for one, other in combinations(values, 2)):
        yield "SEM-5", "two devices have the same"


def _non_empty_intersection(values: Sequence[TypedValue], options: SemanticsOptions) -> Iterator[Breach]:
    yield from _require_lists(values)
    least = 1 if options.min_size is None else options.min_size
    if values and len(frozenset.intersection(*map(_typed_elements, values))) < least:
        yield "SEM-4", f"the devices do not have {least} in common of the values of"


def _empty_intersection(values: Sequence[TypedValue], _options: SemanticsOptions) -> Iterator[Breach]:
    yield from _require_lists(values)
    if values and frozenset.intersection(*map(_typed_elements, values)):
        yield "SEM-6", "all devices have a value in common of"


def _pairwise_disjoint(values: Sequence[TypedValue], _options: SemanticsOptions) -> Iterator[Breach]:
    yield from _require_lists(values)
    if any(_typed_elements(one) & _typed_elements(other) for one, other in combinations(values, 2)):
        yield "SEM-5", "two devices share a value of"


_SemanticsCheck = Callable[[Sequence[TypedValue], SemanticsOptions], Iterator[Breach]]
_CHECK_OF_MODE: dict[tuple[str, bool], tuple[_SemanticsCheck, str]] = {
    ("Identical", True): (_identical, "identical"),
    ("NonEmptyIntersection", True): (_non_empty_intersection, "non_empty_intersection"),
    ("AllDistinct", False): (_all_distinct, "all_distinct"),
    ("EmptyIntersection", False): (_empty_intersection, "empty_intersection"),
    ("PairwiseDisjoint", False): (_pairwise_disjoint, "pairwise_disjoint"),
}
