"""Constraints between the devices of a claim, judged on the finished list (section 13 and SEM-*, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

from ...models.claims import DeviceConstraint
from ...models.gates import FeatureGates
from ...models.predicates import Predicate
from .expressions import Expressions, Typed, typed
from .findings import Finding
from .published import Published
from .requests import Asked
from .semantics import Breach, breaches


def covers(constraint: DeviceConstraint | Predicate, request: str) -> bool:
    """CON-1: whether the constraint applies to results of ``request`` (``name`` or ``name/sub``)."""
    named = constraint.requests or ()
    return not named or request in named or request.partition("/")[0] in named


class ConstraintRules:
    """Judges constraints; ``expressions`` compute derived attributes."""

    def __init__(self, gates: FeatureGates, expressions: Expressions) -> None:
        self._gates = gates
        self._expressions = expressions

    def broken(self, constraint: DeviceConstraint, members: Sequence[tuple[Published, Asked]]) -> Iterator[Finding]:
        """Say what is wrong with the devices that a constraint applies to, in the order taken.

        With both kinds of attribute given only the match counts (CLM-2).
        """
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        values: list[Typed] = []
        for entry, asked in members:
            value = self._value(attribute, entry, asked)
            if isinstance(value, Finding):
                yield value
            elif value is None:
                yield Finding("CON-3", f"device {entry.device.name} has no attribute {attribute}")
            else:
                values.append(value)
        for rule, message in self._judge(constraint, values):
            yield Finding(rule, f"{message} {attribute}")

    def _judge(self, constraint: DeviceConstraint, values: Sequence[Typed]) -> Iterator[Breach]:
        matching = constraint.match_attribute is not None
        semantics = constraint.match_semantics or constraint.distinct_semantics or constraint.semantics
        if semantics is not None and not self._gates.list_attributes:
            yield "SEM-1", "an entry has semantics, and that feature is off: about"
        if semantics is not None:
            yield from breaches(semantics, values, matching=matching)
        else:
            yield from self._judge_plainly(values, matching)

    def _judge_plainly(self, values: Sequence[Typed], matching: bool) -> Iterator[Breach]:
        if self._gates.list_attributes:
            return _match_sets(values) if matching else _distinct_sets(values)
        return _match_scalars(values) if matching else _distinct_scalars(values)

    def _value(self, attribute: str, entry: Published, asked: Asked) -> Typed | Finding | None:
        """CON-12, then CON-2."""
        for derived in asked.derived_attributes or ():
            if derived.name == attribute:
                return self._expressions.derived(derived.expression, entry)
        published = entry.device.attributes or {}
        domain, _, name = attribute.partition("/")
        for spelling in (attribute, name) if domain == entry.driver else (attribute,):
            if spelling in published:
                return typed(published[spelling])
        return None


def _sets(values: Sequence[Typed]) -> list[frozenset[object]]:
    """The elements of each value, with their types where those differ: true is no 1, and a version no string."""
    if len({kind for kind, _, _ in values}) < 2:
        return [frozenset(elements) for _, elements, _ in values]
    return [frozenset(zip(repeat(kind), elements, strict=False)) for kind, elements, _ in values]


def _match_sets(values: Sequence[Typed]) -> Iterator[Breach]:
    """CON-7, CON-8: all have a value in common."""
    if values and not frozenset.intersection(*_sets(values)):
        yield "CON-7", "the devices have no value in common of"


def _distinct_sets(values: Sequence[Typed]) -> Iterator[Breach]:
    """CON-7, CON-8: no two have a value in common, and all have one."""
    sets = _sets(values)
    if not all(sets):
        yield "CON-8", "a device has no value of"
    if sum(map(len, sets)) > len(frozenset().union(*sets)):
        yield "CON-7", "two devices share a value of"


def _is_scalar(value: Typed) -> bool:
    kind, _, is_list = value
    return bool(kind) and not is_list


def _match_scalars(values: Sequence[Typed]) -> Iterator[Breach]:
    """CON-4; a list is equal to nothing (CON-9)."""
    if len(values) > 1 and not all(map(_is_scalar, values)):
        yield "CON-9", "there are lists, whose feature is off, among the values of"
    elif len(set(values)) > 1:
        yield "CON-4", "the devices differ in"


def _distinct_scalars(values: Sequence[Typed]) -> Iterator[Breach]:
    """CON-5; only the first device may have a list (CON-9)."""
    if not all(map(_is_scalar, values[1:])):
        yield "CON-9", "there are lists, whose feature is off, among the values of"
    elif len(set(values)) < len(values):
        yield "CON-5", "two devices have the same"
