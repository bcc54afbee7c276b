"""Constraints between the devices of a claim, judged on the finished list (section 13 and SEM-*, read anew).

Semantics of match and distinct entries by their formulas, on the values of the devices taken (SEM-2 to SEM-6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Literal, TypeAlias

from ...models.kubernetes.claims import (
    ConstraintSemantics,
    DeviceConstraint,
    RequestSpec,
    SemanticsOptions,
    semantics_of,
)
from ...models.kubernetes.extensions import Predicate
from ...models.kubernetes.gates import FeatureGates
from .published import Finding, PublishedDevice
from .state import UNKNOWN_KIND, TypedValue, VerifierExpressions, published_value

Entry: TypeAlias = DeviceConstraint | Predicate
"""An entry of a claim about several devices."""


def covers(constraint: Entry, request: str) -> bool:
    """CON-1: whether the constraint applies to results of ``request`` (``name`` or ``name/sub``)."""
    named = constraint.requests or ()
    return not named or request in named or request.partition("/")[0] in named


Relation = Literal["match", "distinct", "value"]
"""What an entry makes of the values of devices."""


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
            value = self.value(attribute, entry, requested)
            if isinstance(value, Finding):
                yield value
            elif value is None:
                yield Finding("CON-3", f"device {entry.device.name} has no attribute {attribute}")
            else:
                values.append(value)
        if constraint.match_attribute is None and any(kind == UNKNOWN_KIND for kind, _, _ in values):
            yield Finding("CON-5", f"the devices are not known to differ in {attribute}")
        for rule, message in self._judge(constraint, values):
            yield Finding(rule, f"{message} {attribute}")

    def _judge(self, constraint: DeviceConstraint, values: Sequence[TypedValue]) -> Iterator[Breach]:
        matching = constraint.match_attribute is not None
        semantics = constraint.match_semantics or constraint.distinct_semantics or constraint.semantics
        if semantics is not None and not self._gates.list_attributes:
            yield "SEM-1", "an entry has semantics, and that feature is off: about"
        if semantics is not None:
            yield from semantics_breaches(semantics, values, matching=matching)
        elif self._gates.list_attributes:
            yield from _match_sets(values) if matching else _distinct_sets(values)
        else:
            yield from _match_scalars(values) if matching else _distinct_scalars(values)

    def relation(self, constraint: DeviceConstraint) -> Relation:
        """What devices of an entry on an attribute must be to one another, as far as tokens of single devices tell.

        ``match``: they have one in common; ``distinct``: no two have one in common; ``value``: nothing of that kind,
        but each has a value.
        """
        matching = constraint.match_attribute is not None
        mode, semantics = self._mode(constraint)
        if semantics is None:
            return "match" if matching else "distinct"
        if (mode, matching) not in OPTIONS_OF_MODE or not self._gates.list_attributes:
            return "value"
        given = getattr(semantics.options, OPTIONS_OF_MODE[mode, matching], None) or SemanticsOptions()
        plain = not given.coerce_scalar_to_list and given.list_mode != "Set"
        if mode == "NonEmptyIntersection" or (mode == "Identical" and plain):
            return "match"
        return "distinct" if mode == "PairwiseDisjoint" or (mode == "AllDistinct" and plain) else "value"

    def _mode(self, constraint: DeviceConstraint) -> tuple[str, ConstraintSemantics | None]:
        semantics = semantics_of(constraint)
        if semantics is not None:
            return semantics.mode, semantics
        return ("" if self._gates.list_attributes else "scalars"), None

    def tokens(
        self, constraint: DeviceConstraint, entry: PublishedDevice, requested: RequestSpec
    ) -> frozenset[object] | None:
        """What an entry on an attribute compares of a device (CON-2 to CON-9, SEM-2 to SEM-5); None: it refuses it."""
        matching = constraint.match_attribute is not None
        value = self.value(constraint.match_attribute or constraint.distinct_attribute or "", entry, requested)
        if value is None or isinstance(value, Finding) or (not matching and value[0] == UNKNOWN_KIND):
            return None
        mode, _ = self._mode(constraint)
        kind, elements, is_list = value
        if mode == "scalars":
            # A list is equal to nothing: it matches itself alone, and of different values one may be a list (CON-9).
            listed = ("list", entry.id if matching else "")
            return frozenset({listed if is_list else (kind, elements)})
        if mode in ("Identical", "AllDistinct"):
            # As a whole; lists that count as sets are told apart by the judges alone.
            return frozenset({(kind, elements, is_list)})
        return frozenset((kind, element) for element in elements)

    def value(self, attribute: str, entry: PublishedDevice, requested: RequestSpec) -> TypedValue | Finding | None:
        """CON-12, then CON-2; None where the device has no such attribute, a Finding for an error."""
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
    if _have_common_element(sets):
        yield "CON-7", "two devices share a value of"


def _have_common_element(sets: Sequence[frozenset[object]]) -> bool:
    """Whether some two of the sets do."""
    return sum(map(len, sets)) > len(frozenset().union(*sets))


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


OPTIONS_OF_MODE = {
    ("Identical", True): "identical",
    ("NonEmptyIntersection", True): "non_empty_intersection",
    ("AllDistinct", False): "all_distinct",
    ("EmptyIntersection", False): "empty_intersection",
    ("PairwiseDisjoint", False): "pairwise_disjoint",
}


def semantics_breaches(
    semantics: ConstraintSemantics, values: Sequence[TypedValue], *, matching: bool
) -> Iterator[Breach]:
    """Yield how values break the semantics of an entry, a match or a distinct one."""
    mode = semantics.mode
    if (mode, matching) not in OPTIONS_OF_MODE:
        yield "SEM-1", f"there is no mode {mode!r} for the values of"
        return
    given = getattr(semantics.options, OPTIONS_OF_MODE[mode, matching], None) or SemanticsOptions()
    coerced = [(kind, elements, is_list or bool(given.coerce_scalar_to_list)) for kind, elements, is_list in values]
    for kind, elements, _ in coerced:
        if not kind or not elements:
            yield "CON-3", "a device has no value of"
    if mode in ("Identical", "AllDistinct"):
        # As equality sees them: a scalar is never a list, and types are never mixed (SEM-2, SEM-3).
        as_set = given.list_mode == "Set"
        different = {(kind, many, frozenset(found) if many and as_set else found) for kind, found, many in coerced}
        if mode == "Identical" and len(different) > 1:
            yield "SEM-3", "the devices differ in"
        if mode == "AllDistinct" and len(different) < len(coerced):
            yield "SEM-5", "two devices have the same"
        return
    if not all(is_list for _, _, is_list in coerced):
        yield "SEM-2", "a device has a scalar, and no list, of"
    sets = _element_sets(coerced)
    common = frozenset.intersection(*sets) if sets else frozenset()
    least = 1 if given.min_size is None else given.min_size
    if mode == "NonEmptyIntersection" and sets and len(common) < least:
        yield "SEM-4", f"the devices do not have {least} in common of the values of"
    if mode == "EmptyIntersection" and common:
        yield "SEM-6", "all devices have a value in common of"
    if mode == "PairwiseDisjoint" and _have_common_element(sets):
        yield "SEM-5", "two devices share a value of"
