"""The smallest relaxations with which a unit fits: single changes first, then pairs, then freeing many claims.

Whatever helps must change one of the reasons of every conflict. So candidates for single changes come from the
conflict of a node, and those to go with a change that does not help alone from the conflict that is left with it (a
hitting-set tree, Reiter 1987).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey
from ...models.results.explanation import RelaxationAnswer
from ..engines.outcome import deletion_filter
from .changes import Change, RelaxationOption, freeing_change, holding_claims, pod_changes, relaxation_options
from .what_if import TrialLimitError, WhatIf, WhatIfTrials
from .wording import ReasonWording

# Pairs are looked for while fewer single changes help.
ENOUGH_RELAXATIONS = 3
# More are not told.
MAX_RELAXATIONS = 5
RemainingConflict = Callable[[WhatIf, ReasonWording, Node, RelaxationOption], ReasonWording | None]
"""Finds what is still impossible on a node after the strongest change of an option."""


@dataclass(frozen=True, slots=True)
class RelaxationNode:
    """A node and why the unit does not fit there; ``words`` is None if the pod itself does not."""

    node: Node
    words: ReasonWording | None


class UnitRelaxationSearch:
    """Looks for relaxations of one unit; ``rest`` finds what is impossible once an option is applied."""

    def __init__(self, what_if: WhatIf, trials: WhatIfTrials, rest: RemainingConflict) -> None:
        self._what_if = what_if
        self._trials = trials
        self._rest = rest
        self.found: list[RelaxationAnswer] = []
        self._settled: set[Hashable] = set()

    def run(self, places: Sequence[RelaxationNode]) -> bool:
        """Fill ``found``; False: stopped early."""
        try:
            for search in (self._singles, self._pairs, self._many):
                if len(self.found) < ENOUGH_RELAXATIONS:
                    search(places)
        except TrialLimitError:
            return False
        finally:
            self.found.sort(key=lambda one: (len(one.changes), one.cost))
        return True

    def _singles(self, places: Sequence[RelaxationNode]) -> None:
        for place in places:
            changes = [] if place.words else pod_changes(self._what_if, place.node)
            if changes and self._fits(place.node, *changes):
                self._record(place.node, tuple(change.message for change in changes), *changes)
        by_subject: dict[Hashable, list[tuple[Node, RelaxationOption]]] = defaultdict(list)
        for place in places:
            for option in self._offers(place.words) if place.words else ():
                by_subject[option.subject].append((place.node, option))
        for subject, listed in sorted(by_subject.items(), key=lambda item: min(one.cost for _, one in item[1])):
            if len(self.found) < MAX_RELAXATIONS:
                self._try_all(subject, listed)

    def _try_all(self, subject: Hashable, listed: Sequence[tuple[Node, RelaxationOption]]) -> None:
        """Find the cheapest change of a subject, whatever the node: another node may need less of it."""
        best: tuple[Node, Change] | None = None
        try:
            for node, option in listed:
                changes = tuple(one for one in option.changes if best is None or one.cost < best[1].cost)
                cheaper = dataclasses.replace(option, changes=changes)
                change = self._weakest(node, cheaper) if changes else None
                best = (node, change) if change else best
        finally:
            if best is not None:
                self._record(best[0], subject, best[1])

    def _offers(self, words: ReasonWording) -> Iterator[RelaxationOption]:
        """Leave out freeing what the unit itself has."""
        own = {("free", ref.key) for ref in self._what_if.unit.claims}
        return (option for option in relaxation_options(words) if option.subject not in own)

    def _fits(self, node: Node, *changes: Change) -> bool:
        return self._trials.fits(_apply_changes(self._what_if, changes), node)

    def _weakest(self, node: Node, option: RelaxationOption) -> Change | None:
        """Find the weakest change of an option with which the unit fits, by bisection if it may be; None: none does."""
        if not option.is_monotone:
            return next((one for one in option.changes if self._fits(node, one)), None)
        low, high = 0, len(option.changes) - 1
        if not self._fits(node, option.changes[-1]):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._fits(node, option.changes[middle]):
                high = middle
            else:
                low = middle + 1
        return option.changes[high]

    def _pairs(self, places: Sequence[RelaxationNode]) -> None:
        for place in places:
            if place.words is not None:
                for first in self._offers(place.words):
                    if first.subject not in self._settled and len(self.found) < ENOUGH_RELAXATIONS:
                        self._pairs_with(place.node, place.words, first)

    def _pairs_with(self, node: Node, words: ReasonWording, first: RelaxationOption) -> None:
        rest = self._rest(self._what_if, words, node, first)
        if rest is None:
            return
        for second in self._offers(rest):
            key = frozenset({first.subject, second.subject})
            if len(self.found) >= ENOUGH_RELAXATIONS or len(key) < 2 or {key, second.subject} & self._settled:
                continue
            self._settled.add(key)
            if self._fits(node, first.changes[-1], second.changes[-1]):
                # The second change is weakened as far as the strongest first one lets it, then the first.
                other = self._weakest_with(node, second, first.changes[-1])
                self._record(node, key, self._weakest_with(node, first, other), other)

    def _weakest_with(self, node: Node, option: RelaxationOption, other: Change) -> Change:
        for change in option.changes[:-1]:
            if self._fits(node, change, other):
                return change
        return option.changes[-1]

    def _many(self, places: Sequence[RelaxationNode]) -> None:
        """Free one claim after the other until the unit fits, and then keep those that need not go."""
        own = {ref.key for ref in self._what_if.unit.claims}
        for place in places:
            claims = [key for key in holding_claims(place.words) if key not in own] if place.words else []
            if len(claims) > 1 and len(self.found) < ENOUGH_RELAXATIONS:
                changes = tuple(freeing_change(claims[:size]) for size in range(1, len(claims) + 1))
                change = self._weakest(place.node, RelaxationOption("many", changes))
                if change is not None:
                    needed = self._needed(place.node, claims[: changes.index(change) + 1])
                    self._record(place.node, ("free", *needed), freeing_change(needed))

    def _needed(self, node: Node, claims: list[ObjectKey]) -> list[ObjectKey]:
        def is_enough(fewer: list[ObjectKey]) -> bool:
            return bool(fewer) and self._fits(node, freeing_change(fewer))

        return deletion_filter([[claim] for claim in claims], is_enough)

    def _record(self, node: Node, subject: Hashable, *changes: Change) -> None:
        self._settled.add(subject)
        reasons = tuple(change.reason for change in changes)
        if all(set(one.changes) != set(reasons) for one in self.found):
            cost = sum(change.cost for change in changes)
            self.found.append(RelaxationAnswer(changes=reasons, cost=cost, node=node.metadata.name))


def _apply_changes(what_if: WhatIf, changes: Sequence[Change]) -> WhatIf:
    """Make changes: what drops entries by number goes from the last one down, and whole requests go last."""
    for change in sorted(changes, key=lambda change: -change.index):
        what_if = change.apply(what_if)
    return what_if
