"""Quantities as validation needs them: exact integers, or a complaint."""

from functools import lru_cache

from ..base import QuantityText
from ..quantity import Quantity
from .findings import STRUCTURE, Findings, Path


# Typed, for True is no quantity but equals 1.
@lru_cache(maxsize=16384, typed=True)
def nano(text: QuantityText) -> int | None:
    """Read a quantity in units of 10^-9; None if it is malformed."""
    try:
        return Quantity.parse(text).nano
    except ValueError:
        return None


def check_quantity(found: Findings, path: Path, text: QuantityText) -> None:
    """Report a malformed quantity. The API server could not even read it, so this is never lifted."""
    try:
        Quantity.parse(text)
    except ValueError as error:
        found.invalid(path, text, str(error), STRUCTURE)
