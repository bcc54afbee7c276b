"""Python predicates as conditions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ..models.predicates import Predicate, chosen_device
from .profiles import Profile
from .relations import Member


@dataclass(frozen=True, slots=True, eq=False)
class PredicateCondition:
    """A predicate, and what each device of the Problem looks like to it."""

    predicate: Predicate
    profiles: tuple[Profile, ...]
    ordered: bool = False
    _known: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def sight(self, device: int) -> Hashable:
        """Return all that is published of the device."""
        return self.profiles[device].index

    def role(self, demand: int) -> Hashable:
        """Return nothing: a predicate does not know which request a device is for."""
        return None

    def judge(self, members: Sequence[Member]) -> bool:
        """Ask the predicate, once for devices that look alike; what it raises is its author's affair."""
        profiles = [self.profiles[device] for _, device in members]
        key = tuple(sorted(profile.index for profile in profiles))
        if key not in self._known:
            devices = [chosen_device(profile.driver, profile.device) for profile in profiles]
            self._known[key] = bool(self.predicate.function(devices))
        return self._known[key]

    def renumbered(self, demands: Mapping[int, int]) -> PredicateCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self
