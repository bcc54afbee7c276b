"""Device taints, who tolerates them, and the rules that add them (dra-semantics section 9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from ..kubernetes.claims import DeviceTaint, DeviceTaintRule, DeviceToleration
from ..kubernetes.gates import FeatureGates
from ..kubernetes.slices import Device, ResourceSlice

# TNT-7: where allocation is concerned, NoExecute is NoSchedule.
_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


def tolerates_device_taint(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """TNT-2; an empty key with ``Equal`` matches every key with that value."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    same_value = toleration.operator in ("", "Equal") and toleration.value == taint.value
    return same_value or toleration.operator == "Exists"


def untolerated_device_taints(
    taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration] | None
) -> tuple[DeviceTaint, ...]:
    """The taints that keep a request away (TNT-1): effect NoSchedule or NoExecute, and no toleration.

    Does not ask whether the DeviceTaints gate is on (TNT-4).
    """
    if not taints:
        return ()
    accepted = tuple(tolerations or ())
    blocking = (taint for taint in taints if taint.effect in _BLOCKING_EFFECTS)
    return tuple(
        taint for taint in blocking if not any(tolerates_device_taint(toleration, taint) for toleration in accepted)
    )


class _TaintRule(NamedTuple):
    position: int
    device: str | None
    taint: DeviceTaint


class TaintRules:
    """DeviceTaintRules by what they select, to be applied to one slice at a time."""

    def __init__(self, rules: Iterable[DeviceTaintRule], gates: FeatureGates) -> None:
        # By driver and pool; None stands for all.
        self._rules: dict[tuple[str | None, str | None], list[_TaintRule]] = defaultdict(list)
        for position, rule in enumerate(rules if gates.device_taint_rules else ()):
            selector = rule.spec.device_selector
            # An empty selector selects everything, none selects nothing (TNT-6).
            if selector is not None:
                self._rules[selector.driver, selector.pool].append(
                    _TaintRule(position, selector.device, rule.spec.taint)
                )

    def apply(self, slice_: ResourceSlice) -> ResourceSlice:
        """Append the taints of the rules that select devices of the slice (TNT-5); without any, the same object."""
        matching = self._matching(slice_)
        if not matching or not slice_.spec.devices:
            return slice_
        devices = tuple(_add_taints(device, matching) for device in slice_.spec.devices)
        if all(new is old for new, old in zip(devices, slice_.spec.devices, strict=True)):
            return slice_
        return msgspec.structs.replace(slice_, spec=msgspec.structs.replace(slice_.spec, devices=devices))

    def _matching(self, slice_: ResourceSlice) -> list[_TaintRule]:
        """The rules that match driver and pool, in the rules' order."""
        driver, pool = slice_.spec.driver, slice_.spec.pool.name
        keys = ((driver, pool), (driver, None), (None, pool), (None, None))
        return sorted(rule for key in keys for rule in self._rules.get(key, ())) if self._rules else []


def _add_taints(device: Device, rules: Iterable[_TaintRule]) -> Device:
    added = tuple(rule.taint for rule in rules if rule.device in (None, device.name))
    return msgspec.structs.replace(device, taints=(device.taints or ()) + added) if added else device


def apply_taint_rules(
    slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule], gates: FeatureGates
) -> tuple[ResourceSlice, ...]:
    """Append each rule's taint to the devices it selects (TNT-5, TNT-6); untouched slices are the same objects.

    Does nothing while the gates leave rules off.
    """
    known = TaintRules(rules, gates)
    return tuple(known.apply(slice_) for slice_ in slices)
