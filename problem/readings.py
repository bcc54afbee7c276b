"""How an entry reads the values of its attribute: as one thing each, or as sets of members (CON-4, CON-7, SEM-2)."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.claims import ConstraintSemantics, DeviceConstraint
from ..models.semantics import MODES, options_of, semantics_of
from .messages import Blank
from .outcomes import FatalError


@dataclass(frozen=True, slots=True)
class Reading:
    """What tokens stand for.

    ``sets``: the members of a value, in bits; else the value as a whole. Without ``explicit`` semantics a scalar is a
    set of one, and a list that is not read as a set is equal to nothing (CON-7 to CON-9). With them, ``coerce`` makes
    a scalar a list of one, and ``ordered`` lists are equal only in the same order (SEM-2, SEM-3). ``min_size`` and
    ``overlap`` are those of the entry.
    """

    sets: bool
    explicit: bool = False
    coerce: bool = False
    ordered: bool = False
    min_size: int = 1
    overlap: bool = False


def reading_of(entry: DeviceConstraint, claim: int, label: str, lists: bool) -> Reading:
    """Find how an entry reads values; ``lists`` tells whether the feature of list attributes is on.

    Raises ``FatalError`` for semantics without the feature, as the scheduler does for other features, and for a mode
    that is for the other attribute: only entries made in Python get that far.
    """
    semantics = semantics_of(entry)
    if semantics is None:
        return Reading(lists)
    attribute = "distinct_attribute" if entry.match_attribute is None else "match_attribute"
    known = MODES.get(semantics.mode)
    problem = "" if lists else "cannot handle entry with semantics, the feature is disabled"
    if known is None or known.attribute != attribute:
        problem = f"unknown mode {semantics.mode!r} of semantics"
    if problem:
        raise FatalError("constraints", ("claim ", Blank.CLAIM, f", {label}: {problem}"), claim=claim)
    return _explicit(semantics)


def _explicit(semantics: ConstraintSemantics) -> Reading:
    options, mode = options_of(semantics), semantics.mode
    return Reading(
        sets=mode not in ("Identical", "AllDistinct"),
        explicit=True,
        coerce=bool(options.coerce_scalar_to_list),
        ordered=options.list_mode != "Set",
        min_size=1 if options.min_size is None else options.min_size,
        overlap=mode == "EmptyIntersection",
    )
