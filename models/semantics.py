"""The modes of match and distinct entries: which attribute and which options each of them goes with (SEM-1)."""

from typing import NamedTuple

from .claims import ConstraintSemantics, DeviceConstraint, SemanticsOptions


class Mode(NamedTuple):
    """A mode: the attribute field it needs, its field among the options, and the options it has, by field names."""

    attribute: str
    options: str
    knows: tuple[str, ...]


_COERCE, _LIST_MODE, _MIN_SIZE = "coerce_scalar_to_list", "list_mode", "min_size"

MODES = {
    "Identical": Mode("match_attribute", "identical", (_COERCE, _LIST_MODE)),
    "NonEmptyIntersection": Mode("match_attribute", "non_empty_intersection", (_COERCE, _MIN_SIZE)),
    "AllDistinct": Mode("distinct_attribute", "all_distinct", (_COERCE, _LIST_MODE)),
    "EmptyIntersection": Mode("distinct_attribute", "empty_intersection", (_COERCE,)),
    "PairwiseDisjoint": Mode("distinct_attribute", "pairwise_disjoint", (_COERCE,)),
}
LIST_MODES = ("List", "Set")

# Each spelling of the semantics, and the attribute field beside which it may stand; the last goes with both.
SPELLINGS = {
    "match_semantics": ("match_attribute",),
    "distinct_semantics": ("distinct_attribute",),
    "semantics": ("match_attribute", "distinct_attribute"),
}


def semantics_of(entry: DeviceConstraint) -> ConstraintSemantics | None:
    """Return what an entry says about its semantics, in whichever spelling; None: nothing."""
    return entry.match_semantics or entry.distinct_semantics or entry.semantics


def options_of(semantics: ConstraintSemantics) -> SemanticsOptions:
    """Return the options of the chosen mode, which must be a known one; what is not given is None."""
    given = getattr(semantics.options, MODES[semantics.mode].options, None)
    return given or SemanticsOptions()
