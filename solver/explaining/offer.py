"""What could be changed, and how dear that is.

Costs are for ordering only. They add up over everything that a relaxation touches: dropping a constraint from three
equal claims costs three times as much as from one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial, reduce

from ...encoders.collapsed import Branch
from ...problem.asks import Ask
from ...problem.justification import Justification
from ...problem.messages import claim_text
from ..outcome import Reason
from .scene import Scene, Spec
from .sentences import Sentences

Apply = Callable[[Scene], Scene]

COSTS = {
    "count": 1,  # for each device less
    "toleration": 1,
    "requestSelector": 2,
    "capacity": 2,
    "constraint": 2,
    "freeDevice": 2,
    "freeClaim": 3,
    "request": 4,
    "featureGate": 5,
    "classSelector": 6,
    # About the pod.
    "nodeTaint": 1,
    "nodeUnschedulable": 1,
    "nodeSelector": 2,
    "nodeAffinity": 2,
    "nodeName": 3,
}


@dataclass(frozen=True, slots=True)
class Change:
    """Something that could be changed; ``apply`` makes the scene in which it is.

    ``index`` is the number of what is dropped from a list: of several changes the highest comes first.
    """

    id: str
    claim: str
    message: str
    cost: int
    apply: Apply = field(compare=False)
    index: int = -1

    @property
    def reason(self) -> Reason:
        """What is told of it."""
        return Reason(self.id, self.claim, self.message)


@dataclass(frozen=True, slots=True)
class Offer:
    """Changes of one kind, weakest first; if ``graded``, whatever fits with one of them fits with the later ones too.

    Of offers with one ``subject`` the first that helps is enough. ``reason`` is what they are about.
    """

    subject: Hashable
    rungs: tuple[Change, ...]
    reason: Justification | None = None
    graded: bool = True

    @property
    def cost(self) -> int:
        """What it costs at least."""
        return self.rungs[0].cost


def every(changes: Iterable[Apply]) -> Apply:
    """Apply all of these."""
    listed = tuple(changes)
    return lambda scene: reduce(lambda made, change: change(made), listed, scene)


def single(change: Change) -> Offer:
    """Offer a change that has no weaker form."""
    return Offer((change.id, change.message), (change,))


@dataclass(frozen=True, slots=True)
class Target:
    """Equal requests (or alternatives) of some claims that a change is made to, and how they are named."""

    words: Sentences
    demands: tuple[int, ...]

    @property
    def asks(self) -> list[Ask]:
        """What they ask."""
        return [self.words.case.asks[number] for number in self.demands]

    @property
    def claim(self) -> str:
        """The first one's claim."""
        return claim_text(self.words.case.names.claims[self.asks[0].claim])

    @property
    def label(self) -> str:
        """The first one's name."""
        return self.words.case.problem.demands[self.demands[0]].label

    def text(self, name: str) -> str:
        """Write their name, and how many there are."""
        more = f" (and {len(self.demands) - 1} equal)" if len(self.demands) > 1 else ""
        return f"request {name} of claim {self.claim}{more}"

    def change(
        self, id_: str, message: str, edit: Callable[[Spec], Spec], *, times: int = 1, index: int = -1
    ) -> Change:
        """Make a change to the specs of all of them, at ``times`` its usual cost."""
        labels = [self.words.case.problem.demands[number].label for number in self.demands]
        pairs = zip((ask.claim for ask in self.asks), labels, strict=True)
        edits = [partial(Scene.with_request, number=claim, name=label, change=edit) for claim, label in pairs]
        whole = f"{message} {self.text(self.label)}"
        return Change(id_, self.claim, whole, COSTS[id_] * times * len(self.demands), every(edits), index)


def targets(words: Sentences, branch: Branch) -> list[Target]:
    """Change one of equal requests, the last, or all of them."""
    last = Target(words, branch.demands[-1:])
    return [last, Target(words, branch.demands)] if branch.copies > 1 else [last]
