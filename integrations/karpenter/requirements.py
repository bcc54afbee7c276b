"""Karpenter's algebra of node requirements: which label values are possible, and which of two sets go together.

A requirement is a set of label values: a finite set, or all but a finite set, within integer bounds. Requirements
of node selectors (``models/kubernetes/meta``) ask whether one node has a label. They know no intersections, and no
``Gte``, ``Lte`` and ``minValues``. Rules: karpenter-dra 1.2, 4.1 and its correction 13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...models.kubernetes.core import NodeSelectorRequirement
from ...models.kubernetes.karpenter import (
    ARCH_LABEL,
    CAPACITY_TYPE_LABEL,
    INSTANCE_TYPE_LABEL,
    NODE_POOL_LABEL,
    OS_LABEL,
    ZONE_LABEL,
)
from ...models.kubernetes.meta import parse_int64

WELL_KNOWN_LABELS = frozenset(
    {
        ARCH_LABEL,
        CAPACITY_TYPE_LABEL,
        INSTANCE_TYPE_LABEL,
        NODE_POOL_LABEL,
        OS_LABEL,
        ZONE_LABEL,
        "node.kubernetes.io/windows-build",
        "topology.kubernetes.io/region",
    }
)
"""Labels that every node has. A pod may ask for them where a pool says nothing about them."""
_OLD_NAMES = {
    "failure-domain.beta.kubernetes.io/zone": ZONE_LABEL,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": ARCH_LABEL,
    "beta.kubernetes.io/os": OS_LABEL,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE_LABEL,
}


@dataclass(frozen=True, slots=True)
class LabelValues:
    """The values that a label may have.

    ``excludes``: every value but ``values``, else only ``values``. With bounds, which both count as possible, values
    that are no integers are impossible. The empty finite set means that the label must not be there.
    """

    values: frozenset[str] = frozenset()
    excludes: bool = False
    least: int | None = None
    most: int | None = None
    min_values: int | None = None

    @property
    def operator(self) -> str:
        """The operator that says the same without bounds: In, NotIn, Exists or DoesNotExist."""
        if self.excludes:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @property
    def accepts_absence(self) -> bool:
        """A node without the label passes."""
        return self.operator in ("NotIn", "DoesNotExist")

    def has(self, value: str) -> bool:
        """Tell whether the label may have this value."""
        return (value in self.values) is not self.excludes and _within(value, self.least, self.most)

    def __and__(self, other: LabelValues) -> LabelValues:
        """Give the values that both allow; the greater ``min_values`` stays."""
        min_values = _greater(self.min_values, other.min_values)
        if not self.excludes and not other.excludes:
            return LabelValues(self.values & other.values, min_values=min_values)
        least, most = _greater(self.least, other.least), _smaller(self.most, other.most)
        if least is not None and most is not None and least > most:
            return LabelValues(min_values=min_values)
        if self.excludes and other.excludes:
            outside = frozenset(value for value in self.values | other.values if _within(value, least, most))
            return LabelValues(outside, True, least, most, min_values)
        finite, rest = (other, self) if self.excludes else (self, other)
        kept = finite.values - rest.values if rest.excludes else finite.values & rest.values
        return LabelValues(frozenset(v for v in kept if _within(v, least, most)), min_values=min_values)

    def meets(self, other: LabelValues) -> bool:
        """Tell whether a value exists that both allow."""
        if not self.excludes and not other.excludes:
            return not self.values.isdisjoint(other.values)
        both = self & other
        return bool(both.values) or both.excludes

    def __str__(self) -> str:
        bounds = [f">={self.least}"] * (self.least is not None) + [f"<={self.most}"] * (self.most is not None)
        listed = f" [{', '.join(sorted(self.values))}]" if self.values else ""
        return f"{self.operator}{listed}{''.join(f' {bound}' for bound in bounds)}"


ANY_VALUE = LabelValues(excludes=True)
"""The values of a label about which nothing is said."""


def label_values(operator: str, values: Iterable[str] = (), min_values: int | None = None) -> LabelValues:
    """Give the values that one written requirement allows. Raises ``ValueError`` for what Karpenter refuses (1.1)."""
    listed = frozenset(values)
    if operator in ("In", "NotIn"):
        if not listed:
            raise ValueError(f"operator {operator} must have a value defined")
        return LabelValues(listed, operator == "NotIn", min_values=min_values)
    if operator in ("Exists", "DoesNotExist"):
        return LabelValues(excludes=operator == "Exists", min_values=min_values)
    if operator not in _BOUNDS:
        raise ValueError(f"unsupported operator {operator}, known are: {', '.join((*_SETS, *_BOUNDS))}")
    number = parse_int64(next(iter(listed))) if len(listed) == 1 else None
    if number is None or number < 0:
        raise ValueError(f"operator {operator} must have a single positive integer value")
    is_least, offset = _BOUNDS[operator]
    bound = number + offset
    return LabelValues(
        excludes=True, least=bound if is_least else None, most=None if is_least else bound, min_values=min_values
    )


_SETS = ("In", "NotIn", "Exists", "DoesNotExist")
# Whether the operator is a lower bound, and what turns its number into a bound that is itself possible.
_BOUNDS = {"Gt": (True, 1), "Lt": (False, -1), "Gte": (True, 0), "Lte": (False, 0)}


@dataclass(frozen=True, slots=True)
class NodeRequirements:
    """What is known about the labels of a node that is not there yet, by label."""

    by_label: Mapping[str, LabelValues]

    @classmethod
    def of(cls, written: Iterable[NodeSelectorRequirement]) -> NodeRequirements:
        """Read requirements, all of which must hold. Raises ``ValueError`` with the label's name."""
        return cls({}).with_written(written)

    @classmethod
    def of_labels(cls, labels: Mapping[str, str] | None) -> NodeRequirements:
        """Read labels: each has just its value."""
        return cls({_name(key): LabelValues(frozenset({value})) for key, value in (labels or {}).items()})

    def with_written(self, written: Iterable[NodeSelectorRequirement]) -> NodeRequirements:
        """Add requirements as they are written. Raises ``ValueError`` with the label's name."""
        found = dict(self.by_label)
        for one in written:
            try:
                values = label_values(one.operator, one.values or (), getattr(one, "min_values", None))
            except ValueError as error:
                raise ValueError(f"key {one.key}: {error}") from None
            name = _name(one.key)
            found[name] = values & found[name] if name in found else values
        return NodeRequirements(found)

    def __and__(self, other: NodeRequirements) -> NodeRequirements:
        """Give what holds where both hold."""
        merged = dict(self.by_label)
        for key, values in other.by_label.items():
            merged[key] = merged[key] & values if key in merged else values
        return NodeRequirements(merged)

    def __getitem__(self, label: str) -> LabelValues:
        return self.by_label.get(label, ANY_VALUE)

    def __contains__(self, label: str) -> bool:
        return label in self.by_label

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_label)

    def refusal(self, asked: NodeRequirements, undefined: frozenset[str] = frozenset()) -> str:
        """Say why a node with these labels cannot be what is asked for; empty if it can.

        A label that is asked for and about which nothing is known refuses, unless it is in ``undefined`` or may be
        absent (correction 13).
        """
        for label, values in asked.by_label.items():
            if label in self.by_label or label in undefined or values.accepts_absence:
                continue
            return f'label "{label}" does not have known values'
        for label, values in asked.by_label.items():
            known = self.by_label.get(label)
            if known is None or known.meets(values) or (known.accepts_absence and values.accepts_absence):
                continue
            return f"key {label}, {values} not in {known}"
        return ""

    def accepts(self, asked: NodeRequirements, undefined: frozenset[str] = frozenset()) -> bool:
        """Tell whether a node with these labels can be what is asked for, as ``refusal``."""
        return not self.refusal(asked, undefined)

    def single_values(self) -> dict[str, str]:
        """Labels that can have one value only, and the values."""
        return {
            label: next(iter(values.values))
            for label, values in self.by_label.items()
            if not values.excludes and len(values.values) == 1
        }


def _name(label: str) -> str:
    """Old names of labels mean the new ones."""
    return _OLD_NAMES.get(label, label)


def _within(value: str, least: int | None, most: int | None) -> bool:
    if least is None and most is None:
        return True
    number = parse_int64(value)
    return number is not None and (least is None or number >= least) and (most is None or number <= most)


def _greater(one: int | None, other: int | None) -> int | None:
    return max(one, other) if one is not None and other is not None else one if other is None else other


def _smaller(one: int | None, other: int | None) -> int | None:
    return min(one, other) if one is not None and other is not None else one if other is None else other
