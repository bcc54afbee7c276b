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

from ...models.core import Node
from ...models.identity import ObjectKey
from .freeing import free_claims, holding_claims
from .offer import Change, Offer
from .offers import offers
from .pod_changes import pod_changes
from .records import Relaxation
from .scene import Scene
from .sentences import Sentences
from .trials import Trials, TrialsOverError

# Pairs are looked for while fewer single changes help.
ENOUGH = 3
# More are not told.
MOST = 5

Rest = Callable[[Scene, Sentences, Node, Offer], Sentences | None]
"""Finds what is still impossible on a node after the strongest change of an offer."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node and why the unit does not fit there; ``words`` is None if the pod itself does not."""

    node: Node
    words: Sentences | None


class Relaxer:
    """Looks for relaxations of one unit."""

    def __init__(self, scene: Scene, trials: Trials, rest: Rest) -> None:
        self._scene = scene
        self._trials = trials
        self._rest = rest
        self.found: list[Relaxation] = []
        self._settled: set[Hashable] = set()

    def run(self, places: Sequence[Place]) -> bool:
        """Fill ``found``; False: stopped early."""
        try:
            for search in (self._singles, self._pairs, self._many):
                if len(self.found) < ENOUGH:
                    search(places)
        except TrialsOverError:
            return False
        finally:
            self.found.sort(key=lambda one: (len(one.changes), one.cost))
        return True

    def _singles(self, places: Sequence[Place]) -> None:
        for place in places:
            if place.words is None:
                self._try_pod(place.node)
        by_subject: dict[Hashable, list[tuple[Node, Offer]]] = defaultdict(list)
        for place in places:
            for offer in self._offers(place.words) if place.words else ():
                by_subject[offer.subject].append((place.node, offer))
        for subject, listed in sorted(by_subject.items(), key=lambda item: min(one.cost for _, one in item[1])):
            if len(self.found) < MOST:
                self._try_all(subject, listed)

    def _try_all(self, subject: Hashable, listed: Sequence[tuple[Node, Offer]]) -> None:
        """Find the cheapest change of a subject, whatever the node: another node may need less of it."""
        best: tuple[Node, Change] | None = None
        try:
            for node, offer in listed:
                rungs = tuple(one for one in offer.rungs if best is None or one.cost < best[1].cost)
                change = self._weakest(self._scene, node, dataclasses.replace(offer, rungs=rungs)) if rungs else None
                best = (node, change) if change else best
        finally:
            if best is not None:
                self._tell(best[0], subject, best[1])

    def _offers(self, words: Sentences) -> Iterator[Offer]:
        """Leave out freeing what the unit itself has."""
        own = {("free", ref.key) for ref in self._scene.unit.claims}
        return (offer for offer in offers(words) if offer.subject not in own)

    def _try_pod(self, node: Node) -> None:
        changes = pod_changes(self._scene, node)
        if changes and self._trials.fits(_applied(self._scene, changes), node):
            self._tell(node, tuple(change.message for change in changes), *changes)

    def _weakest(self, scene: Scene, node: Node, offer: Offer) -> Change | None:
        """Find the weakest change of an offer with which the unit fits, by bisection if it may be; None: none does."""
        if not offer.graded:
            return next((one for one in offer.rungs if self._trials.fits(_applied(scene, [one]), node)), None)
        low, high = 0, len(offer.rungs) - 1
        if not self._trials.fits(_applied(scene, offer.rungs[-1:]), node):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._trials.fits(_applied(scene, [offer.rungs[middle]]), node):
                high = middle
            else:
                low = middle + 1
        return offer.rungs[high]

    def _pairs(self, places: Sequence[Place]) -> None:
        for place in places:
            if place.words is not None:
                for first in self._offers(place.words):
                    if first.subject not in self._settled and len(self.found) < ENOUGH:
                        self._pairs_with(place.node, place.words, first)

    def _pairs_with(self, node: Node, words: Sentences, first: Offer) -> None:
        rest = self._rest(self._scene, words, node, first)
        if rest is None:
            return
        for second in self._offers(rest):
            key = frozenset({first.subject, second.subject})
            if len(self.found) >= ENOUGH or len(key) < 2 or key in self._settled or second.subject in self._settled:
                continue
            self._settled.add(key)
            pair = self._weakest_pair(node, first, second)
            if pair is not None:
                self._tell(node, key, *pair)

    def _weakest_pair(self, node: Node, first: Offer, second: Offer) -> tuple[Change, Change] | None:
        """Weaken the second change as far as the strongest first one lets it, then the first."""
        if not self._trials.fits(_applied(self._scene, [first.rungs[-1], second.rungs[-1]]), node):
            return None
        other = self._weakest_with(node, second, first.rungs[-1])
        return self._weakest_with(node, first, other), other

    def _weakest_with(self, node: Node, offer: Offer, other: Change) -> Change:
        for change in offer.rungs[:-1]:
            if self._trials.fits(_applied(self._scene, [change, other]), node):
                return change
        return offer.rungs[-1]

    def _many(self, places: Sequence[Place]) -> None:
        """Free one claim after the other until the unit fits, and then keep those that need not go."""
        own = {ref.key for ref in self._scene.unit.claims}
        for place in places:
            claims = [key for key in holding_claims(place.words) if key not in own] if place.words else []
            if len(claims) > 1 and len(self.found) < ENOUGH:
                offer = Offer("many", tuple(free_claims(claims[:size]) for size in range(1, len(claims) + 1)))
                change = self._weakest(self._scene, place.node, offer)
                if change is not None:
                    needed = self._needed(place.node, claims[: offer.rungs.index(change) + 1])
                    self._tell(place.node, ("free", *needed), free_claims(needed))

    def _needed(self, node: Node, claims: list[ObjectKey]) -> list[ObjectKey]:
        for claim in tuple(claims):
            fewer = [one for one in claims if one != claim]
            if fewer and self._trials.fits(_applied(self._scene, [free_claims(fewer)]), node):
                claims = fewer
        return claims

    def _tell(self, node: Node, subject: Hashable, *changes: Change) -> None:
        self._settled.add(subject)
        reasons = tuple(change.reason for change in changes)
        if all(set(one.changes) != set(reasons) for one in self.found):
            self.found.append(Relaxation(reasons, sum(change.cost for change in changes), node.metadata.name))


def _applied(scene: Scene, changes: Sequence[Change]) -> Scene:
    """Make changes: what drops entries by number goes from the last one down, and whole requests go last."""
    for change in sorted(changes, key=lambda change: -change.index):
        scene = change.apply(scene)
    return scene
