"""Device taints, who tolerates them, and the rules that add them (dra-semantics section 9)."""

from collections.abc import Iterable

from .gates import FeatureGates
from .slices import ResourceSlice
from .taints import DeviceTaint, DeviceTaintRule, DeviceToleration


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """TNT-2; an empty key with ``Equal`` matches every key with that value."""
    raise NotImplementedError


def untolerated(
    taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration] | None
) -> tuple[DeviceTaint, ...]:
    """The taints that keep a request away (TNT-1): effect NoSchedule or NoExecute, and no toleration. Ignores gates."""
    raise NotImplementedError


def with_rules(
    slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule], gates: FeatureGates
) -> tuple[ResourceSlice, ...]:
    """Append each rule's taint to the devices it selects (TNT-5, TNT-6); untouched slices are the same objects.

    Does nothing while the gates leave rules off.
    """
    raise NotImplementedError
