"""What claims ask for, worked out once for all that have the very same spec: those made from one template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...models.claims import DeviceClass, ResourceClaim
from ...models.gates import FeatureGates
from .findings import Finding
from .requests import ALL, Asked, everything_asked, selected, shape, unsupported
from .results import WantedConfigs, wanted_configs


@dataclass(frozen=True, slots=True)
class Answer:
    """What results by certain names mean for a claim: what was asked by them, what is wrong with that, and configs."""

    chosen: Mapping[str, Asked]
    misshapen: tuple[Finding, ...]
    configs: WantedConfigs


class Asking:
    """A claim's spec, read; nothing else of the claim counts here.

    ``unsupported`` is what no allocator takes, ``for_all`` who asks for all devices, if only as an alternative.
    """

    def __init__(self, claim: ResourceClaim, classes: Mapping[str, DeviceClass], gates: FeatureGates) -> None:
        self._claim = claim
        self._classes = classes
        self.unsupported = tuple(unsupported(claim, classes, gates))
        self.for_all = tuple(one for one in everything_asked(claim) if one[1].allocation_mode == ALL)
        self._answers: dict[tuple[str, ...], Answer] = {}

    def answer(self, used: tuple[str, ...]) -> Answer:
        """What results mean that have these names, in this order."""
        found = self._answers.get(used)
        if found is None:
            chosen = selected(self._claim, used)
            misshapen = tuple(shape(self._claim, used, chosen))
            found = self._answers[used] = Answer(chosen, misshapen, wanted_configs(self._claim, chosen, self._classes))
        return found


class Askings:
    """The specs of claims by identity; each is kept, so that no other can be taken for it."""

    def __init__(self, classes: Mapping[str, DeviceClass], gates: FeatureGates) -> None:
        self._classes = classes
        self._gates = gates
        self._known: dict[int, Asking] = {}

    def of(self, claim: ResourceClaim) -> Asking:
        """What the claim asks for."""
        known = self._known.get(id(claim.spec))
        if known is None:
            # It holds a claim with that spec, whose id is therefore no other object's.
            known = self._known[id(claim.spec)] = Asking(claim, self._classes, self._gates)
        return known
