"""Values that run out under distinctAttribute: each device needs a value that no other has (CON-5 to CON-7).

Values are handed out like devices, so that Hall's condition speaks of them, too. Lists are counted in two ways: each
takes at least so many values, and of all that have some value in common only one can be taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ...problem.constraints import ODD
from ...problem.justification import Justification
from .hall import deficient, union
from .tally import Need, Tally, members
from .values import tied
from .wording import entry, justified, plural, verb, who

# Clustering takes the square of their number.
_MOST_LISTS = 512

_Wanted = Callable[[list[int]], tuple[int, int]]
"""From the tokens of devices to the values that they may use up, and how many one of them uses up at least."""


def too_few_values(tally: Tally) -> Justification | None:
    """The requests under a distinctAttribute need more values than their devices have."""
    for number, constraint in enumerate(tally.problem.constraints):
        if constraint.kind == "distinctAttribute":
            found = _examine(tally, number, tied(tally, number))
            if found is not None:
                return found
    return None


def _examine(tally: Tally, number: int, needs: tuple[Need, ...]) -> Justification | None:
    if not tally.problem.constraints[number].sets:
        return _compete(tally, number, needs, _scalars, "different value")
    found = _compete(tally, number, needs, _members_of_lists, "different value")
    if found is not None or sum(map(tally.least, needs)) < 2:
        return found
    tokens = {token for need in needs for option in need.options for token in _tokens(tally, number, option)}
    if len(tokens) > _MOST_LISTS or all(token.bit_count() == 1 for token in tokens):
        # Clusters of single values say what the values said.
        return None
    cluster = _clusters(tokens)
    return _compete(
        tally,
        number,
        needs,
        lambda lists: (union([1 << cluster[token] for token in lists]), 1),
        "disjoint list",
    )


def _compete(tally: Tally, number: int, needs: tuple[Need, ...], wanted_by: _Wanted, noun: str) -> Justification | None:
    """Hand out values to the requests, as many as they want at least."""
    wants = [(need, *_wanted(tally, number, need, wanted_by)) for need in needs]
    wanted: dict[int, int] = {}
    for _, values, count in wants:
        wanted[values] = wanted.get(values, 0) + count
    sets = deficient(wanted)
    if not sets:
        return None
    lacking = [need for need, values, _ in wants if values in sets]
    needed = plural(sum(wanted[values] for values in sets), noun)
    text = f"{who(tally, lacking)} {verb(lacking, 'needs', 'need')} {needed}, there are {union(sets).bit_count()}"
    return justified("distinctAttribute", f"{entry(tally, number)}: {text}", tally, lacking)


def _wanted(tally: Tally, number: int, need: Need, wanted_by: _Wanted) -> tuple[int, int]:
    """Return the values that a request may use, and how many it uses up at least."""
    options = [(tally.demand(option).count, wanted_by(_tokens(tally, number, option))) for option in need.options]
    return union([values for _, (values, _) in options]), min(count * least for count, (_, least) in options)


def _tokens(tally: Tally, number: int, option: int) -> list[int]:
    tokens = tally.problem.constraints[number].tokens[option]
    return [tokens[device] for device in members(tally.masks[option])]


def _scalars(tokens: list[int]) -> tuple[int, int]:
    """A list may come first, and only one may: all lists are one more value (CON-9)."""
    return union([1 << token - ODD for token in tokens]), 1


def _members_of_lists(tokens: list[int]) -> tuple[int, int]:
    return union(tokens), min([token.bit_count() for token in tokens], default=1)


def _clusters(tokens: Iterable[int]) -> dict[int, int]:
    """Put lists into clusters that each have a value in common, the most frequent value first."""
    frequency = Counter(value for token in tokens for value in members(token))
    left, cluster = sorted(tokens), {}
    while left:
        value = max(frequency, key=lambda value: (frequency[value], -value))
        common = [token for token in left if token >> value & 1]
        cluster.update(dict.fromkeys(common, value))
        frequency.subtract(other for token in common for other in members(token))
        left = [token for token in left if not token >> value & 1]
    return cluster
