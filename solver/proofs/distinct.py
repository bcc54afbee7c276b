"""Values that run out under distinctAttribute: each device needs a value that no other has (CON-5 to CON-7)."""

from __future__ import annotations

from ...problem.justification import Justification
from .hall import deficient, union
from .tally import Need, Tally
from .values import tied, values_of_devices
from .wording import entry, justified, plural, verb, who


def too_few_values(tally: Tally) -> Justification | None:
    """The requests under a distinctAttribute need more values than their devices have."""
    for number, constraint in enumerate(tally.problem.constraints):
        if constraint.kind == "distinctAttribute":
            found = _examine(tally, number)
            if found is not None:
                return found
    return None


def _examine(tally: Tally, number: int) -> Justification | None:
    """Values are handed out like devices: a request wants one for each device, or as many as each has at least."""
    wants = [(need, *_wanted(tally, number, need)) for need in tied(tally, number)]
    wanted: dict[int, int] = {}
    for _, values, count in wants:
        wanted[values] = wanted.get(values, 0) + count
    sets = deficient(wanted)
    if not sets:
        return None
    needs = [need for need, values, _ in wants if values in sets]
    return _justification(tally, number, needs, sum(wanted[values] for values in sets), union(sets).bit_count())


def _justification(tally: Tally, number: int, needs: list[Need], wanted: int, there: int) -> Justification:
    needed = f"{who(tally, needs)} {verb(needs, 'needs', 'need')} {plural(wanted, 'different value')}"
    text = f"{entry(tally, number)}: {needed}, there are {there}"
    return justified("distinctAttribute", text, tally, needs)


def _wanted(tally: Tally, number: int, need: Need) -> tuple[int, int]:
    """Return the values that a request may use, and how many it uses up at least."""
    constraint = tally.problem.constraints[number]
    unions, counts = [], []
    for option in need.options:
        values, least = values_of_devices(constraint, option, tally.masks[option])
        unions.append(values)
        counts.append(tally.demand(option).count * least)
    return union(unions), min(counts)
