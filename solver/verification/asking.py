"""What claims ask for, worked out once for all that have the same spec, such as those made from one template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ...models.claims import DeviceClass, ResourceClaim, ResourceClaimSpec
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
    """The specs of claims, each read once: by identity, and by all that they say."""

    def __init__(self, classes: Mapping[str, DeviceClass], gates: FeatureGates) -> None:
        self._classes = classes
        self._gates = gates
        # With the spec itself, so that its id is no other's.
        self._known: dict[int, tuple[ResourceClaimSpec, Asking]] = {}
        self._by_content: dict[bytes, Asking] = {}

    def of(self, claim: ResourceClaim) -> Asking:
        """What the claim asks for."""
        known = self._known.get(id(claim.spec))
        if known is None:
            known = self._known[id(claim.spec)] = claim.spec, self._read(claim)
        return known[1]

    def _read(self, claim: ResourceClaim) -> Asking:
        content = _content(claim.spec)
        found = None if content is None else self._by_content.get(content)
        if found is None:
            found = Asking(claim, self._classes, self._gates)
            if content is not None:
                self._by_content[content] = found
        return found


def _content(spec: ResourceClaimSpec) -> bytes | None:
    """All that a spec says; None where that cannot be written, as with parameters of drivers, which may be anything."""
    if spec.devices.config:
        return None
    try:
        return msgspec.msgpack.encode(spec)
    except (TypeError, ValueError, OverflowError):
        return None
