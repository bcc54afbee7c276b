"""Request policies of capacities (POL-1 to POL-3), in exact arithmetic."""

from collections.abc import Callable

from ..base import INT64_MAX, QuantityText
from ..slices import CapacityRange, CapacityRequestPolicy
from .amounts import check_quantity, nano
from .findings import STRUCTURE, Findings, Path

VALID_VALUES_MAX = 10

_NANO = 10**9
_NANO_PER_MILLI = 10**6
_ABOVE_CAPACITY = "must be less than or equal to the capacity value"


def check_policy(
    found: Findings, path: Path, policy: CapacityRequestPolicy, capacity: QuantityText, fractional: bool
) -> None:
    """Check a policy of a capacity of ``capacity`` in total.

    ``fractional`` lets ranges with steps work in thousandths (DRAFractionalCapacityRange).
    """
    values, bounds = policy.valid_values or (), policy.valid_range
    if values and bounds is not None:
        found.forbidden(path, "`validValues` and `validRange` exclude each other", STRUCTURE)
    if policy.default is None and (values or bounds is not None):
        found.required((*path, "default"), "required with `validValues` or `validRange`")
    if bounds is not None and bounds.min is None:
        found.required((*path, "validRange", "min"), category=STRUCTURE)
    problems = len(found.problems)
    _check_spelling(found, path, policy)
    total = nano(capacity)
    if total is None or len(found.problems) > problems:
        return
    _check_default(found, path, policy, total)
    _check_values(found, (*path, "validValues"), values, policy.default, total)
    if bounds is not None and bounds.min is not None:
        _check_range(found, path, bounds, policy.default, total, fractional)


def _check_spelling(found: Findings, path: Path, policy: CapacityRequestPolicy) -> None:
    bounds = policy.valid_range or CapacityRange()
    named: list[tuple[Path, QuantityText | None]] = [
        (("default",), policy.default),
        (("validRange", "min"), bounds.min),
        (("validRange", "max"), bounds.max),
        (("validRange", "step"), bounds.step),
    ]
    named += [(("validValues", index), value) for index, value in enumerate(policy.valid_values or ())]
    for field, text in named:
        if text is not None:
            check_quantity(found, (*path, *field), text)


def _exact(text: QuantityText | None) -> int | None:
    return None if text is None else nano(text)


def _check_default(found: Findings, path: Path, policy: CapacityRequestPolicy, total: int) -> None:
    default = _exact(policy.default)
    if default is None:
        return
    if default > total:
        found.warning((*path, "default"), "above the capacity value: requests that do not name the capacity never fit")
    allowed = [_exact(value) for value in policy.valid_values or ()]
    if allowed and default not in allowed:
        found.invalid((*path, "default"), policy.default, "must be one of `validValues`")


def _check_values(
    found: Findings, path: Path, values: tuple[QuantityText, ...], default: QuantityText | None, total: int
) -> None:
    """POL-2."""
    found.at_most(path, values, VALID_VALUES_MAX)
    previous: int | None = None
    for index, text in enumerate(values):
        amount = nano(text) or 0
        if amount > total:
            found.invalid((*path, index), text, _ABOVE_CAPACITY)
        if previous is not None and amount == previous:
            found.duplicate((*path, index), text)
        elif previous is not None and amount < previous:
            found.invalid((*path, index), text, "values must be sorted in ascending order")
        previous = amount


def _check_range(
    found: Findings,
    path: Path,
    bounds: CapacityRange,
    default: QuantityText | None,
    total: int,
    fractional: bool,
) -> None:
    """POL-3, for a range with a minimum."""
    where = (*path, "validRange")
    low, high, usual = nano(bounds.min or 0) or 0, _exact(bounds.max), _exact(default)
    for name, text in (("min", bounds.min), ("max", bounds.max)):
        _check_bound(found, (*where, name), text, total)
    if usual is not None and low > usual:
        found.invalid((*path, "default"), default, "must be greater than or equal to `validRange.min`")
    if usual is not None and high is not None and high < usual:
        found.invalid((*path, "default"), default, "must be less than or equal to `validRange.max`")
    if high is not None and high < low:
        found.invalid((*where, "max"), bounds.max, "must be greater than or equal to `validRange.min`")
    if bounds.step is not None:
        _check_step(found, path, bounds, default, total, fractional)


def _check_bound(found: Findings, path: Path, text: QuantityText | None, total: int) -> None:
    amount = _exact(text)
    if amount is None:
        return
    if amount > total:
        found.invalid(path, text, _ABOVE_CAPACITY)
    if not 0 <= _whole(amount) <= INT64_MAX or amount < 0:
        found.invalid(path, text, f"must be between 0 and {INT64_MAX}")


def _whole(amount: int) -> int:
    """Round up to the integer value of a quantity."""
    return -(-amount // _NANO)


def _as_is(amount: int) -> int:
    return amount


def _counts_in_milli(amounts: list[int]) -> bool:
    """Whether all are whole thousandths that fit 64 bits (CAP-4)."""
    return all(amount % _NANO_PER_MILLI == 0 and amount // _NANO_PER_MILLI <= INT64_MAX for amount in amounts)


def _check_step(
    found: Findings,
    path: Path,
    bounds: CapacityRange,
    default: QuantityText | None,
    total: int,
    fractional: bool,
) -> None:
    step, low, high = nano(bounds.step or 0) or 0, nano(bounds.min or 0) or 0, _exact(bounds.max)
    where = (*path, "validRange", "step")
    if step <= 0:
        # Rounding to steps divides by it, so there is nothing to lift.
        found.invalid(where, bounds.step, "must be greater than zero", STRUCTURE)
        return
    known = [amount for amount in (low, high, step) if amount is not None]
    scale = _as_is if fractional and _counts_in_milli(known) else _whole
    if scale(low) + scale(step) > scale(total):
        found.invalid(where, bounds.step, "`validRange.min` plus the step must not exceed the capacity value")
    _check_multiple(found, (*path, "default"), default, bounds, scale)
    _check_multiple(found, (*path, "validRange", "max"), bounds.max, bounds, scale)


def _check_multiple(
    found: Findings, path: Path, text: QuantityText | None, bounds: CapacityRange, scale: Callable[[int], int]
) -> None:
    amount, low, step = _exact(text), _exact(bounds.min), _exact(bounds.step)
    if amount is None or low is None or step is None:
        return
    if (scale(amount) - scale(low)) % scale(step):
        detail = f"must be a multiple of the step {bounds.step} from `validRange.min` {bounds.min}"
        found.invalid(path, text, detail)
