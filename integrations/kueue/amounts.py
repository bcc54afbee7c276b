"""Amounts of resources as Kueue counts and writes them: cpu in thousandths, everything else in whole units."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import gcd

from ...models.formats.decode import QuantityText
from ...models.kubernetes.quantity import BINARY_SI, DECIMAL_SI, INT64_MAX, NANO, Quantity

_MILLI = NANO // 1000
_CORE, _LEAST_BYTES = 1000, 1024


def amount_of(resource: str, written: QuantityText) -> int:
    """Read an amount, rounded up; what is beyond an int64 is its largest value."""
    quantity = Quantity.parse(written)
    return min(quantity.milli if resource == "cpu" else quantity.value, INT64_MAX)


@lru_cache(maxsize=1 << 12)
def written_amount(resource: str, amount: int) -> str:
    """Write an amount as Kueue does: cpu in units, multiples of 1024 with binary suffixes."""
    if resource == "cpu":
        return str(Quantity.from_nano(amount * _MILLI))
    binary = amount % 1024 == 0
    return str(Quantity.from_nano(amount * NANO, BINARY_SI if binary else DECIMAL_SI))


def step_of(resource: str, asked: Iterable[int]) -> int:
    """One core or one piece; of amounts in bytes, the greatest of which all that is asked for is a multiple."""
    if resource == "cpu":
        return _CORE
    found = gcd(*asked)
    return found if found >= _LEAST_BYTES else 1


@lru_cache(maxsize=1 << 12)
def visiting_order(resources: tuple[str, ...]) -> tuple[str, ...]:
    """Resources in the order in which Kueue visits them, that of their hashes (kueue-dra, corrections 3)."""
    return tuple(sorted(resources, key=_hash))


def _hash(resource: str) -> int:
    """FNV-1a with 64 bits."""
    found = 0xCBF29CE484222325
    for byte in resource.encode("utf-8", "surrogatepass"):
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found
