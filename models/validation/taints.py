"""Taints, tolerations, and DeviceTaintRule."""

import re

from ..taints import DeviceTaint, DeviceTaintRule, DeviceTaintSelector, DeviceToleration
from . import names
from .checked_names import check_driver, check_label, check_pool
from .findings import Findings, Path
from .metadata import check_metadata

TAINTS_MAX = 16
TOLERATIONS_MAX = 16
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("Equal", "Exists")

_is_time = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
    r"([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
).fullmatch


def check_time(found: Findings, path: Path, text: str | None) -> None:
    """Check a moment as the API writes it, RFC 3339."""
    if text is not None and not _is_time(text):
        found.invalid(path, text, "must be a time as in RFC 3339, e.g. 2026-01-31T09:00:00Z")


def check_taint(found: Findings, path: Path, taint: DeviceTaint) -> None:
    """Check a device taint: label key and value, and an effect."""
    if not taint.key:
        found.required((*path, "key"))
    elif complaints := names.label_key(taint.key):
        found.each_invalid((*path, "key"), taint.key, complaints)
    if complaints := names.label_value(taint.value):
        found.each_invalid((*path, "value"), taint.value, complaints)
    if not taint.effect:
        found.required((*path, "effect"))
    elif taint.effect not in _EFFECTS:
        found.unsupported((*path, "effect"), taint.effect, _EFFECTS)
    check_time(found, (*path, "timeAdded"), taint.time_added)


def check_taints(found: Findings, path: Path, taints: tuple[DeviceTaint, ...]) -> None:
    """Check the taints of a device."""
    found.at_most(path, taints, TAINTS_MAX)
    for index, taint in enumerate(taints):
        check_taint(found, (*path, index), taint)


def check_tolerations(found: Findings, path: Path, tolerations: tuple[DeviceToleration, ...] | None) -> None:
    """Check the tolerations of a request (CLM-3); their documented number is not enforced."""
    for index, toleration in enumerate(tolerations or ()):
        _check_toleration(found, (*path, index), toleration)
    if tolerations and len(tolerations) > TOLERATIONS_MAX:
        found.warning(path, f"{len(tolerations)} tolerations: the documented maximum is {TOLERATIONS_MAX}")


def _check_toleration(found: Findings, path: Path, toleration: DeviceToleration) -> None:
    if toleration.key and (complaints := names.label_key(toleration.key)):
        found.each_invalid((*path, "key"), toleration.key, complaints)
    if not toleration.key and toleration.operator == "Equal":
        found.warning((*path, "operator"), "an empty key with operator Equal tolerates every key with this value")
    _check_operator(found, path, toleration)
    if toleration.effect and toleration.effect not in _EFFECTS:
        found.unsupported((*path, "effect"), toleration.effect, ("NoExecute", "NoSchedule"))


def _check_operator(found: Findings, path: Path, toleration: DeviceToleration) -> None:
    if not toleration.operator:
        found.required((*path, "operator"))
    elif toleration.operator not in _OPERATORS:
        found.unsupported((*path, "operator"), toleration.operator, _OPERATORS)
    if toleration.operator == "Exists" and toleration.value:
        found.invalid((*path, "value"), toleration.value, "must be empty for operator `Exists`")
    elif complaints := names.label_value(toleration.value):
        found.each_invalid((*path, "value"), toleration.value, complaints)


def check_taint_rule(found: Findings, rule: DeviceTaintRule) -> None:
    """Check a DeviceTaintRule (2.4)."""
    check_metadata(found, rule.metadata, namespaced=False)
    selector = rule.spec.device_selector
    if selector is None:
        found.warning(("spec", "deviceSelector"), "without a selector the rule taints nothing (TNT-6)")
    elif selector == DeviceTaintSelector():
        found.warning(("spec", "deviceSelector"), "without criteria the rule taints every device (TNT-6)")
    else:
        _check_selector(found, ("spec", "deviceSelector"), selector)
    check_taint(found, ("spec", "taint"), rule.spec.taint)


def _check_selector(found: Findings, path: Path, selector: DeviceTaintSelector) -> None:
    if selector.driver is not None:
        check_driver(found, (*path, "driver"), selector.driver)
    if selector.pool is not None:
        check_pool(found, (*path, "pool"), selector.pool)
    if selector.device is not None:
        check_label(found, (*path, "device"), selector.device)
