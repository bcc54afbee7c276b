"""Kubernetes quantities: exact amounts such as ``1500m``, ``2Gi`` or ``12e6``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"
NANO = 10**9
INT64_MAX = 2**63 - 1
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
# Nothing real is near these bounds; they keep arithmetic on hostile numbers cheap.
_MOST_CHARACTERS, _MOST_EXPONENT = 1000, 1000
_MOST_REMEMBERED = 1 << 16
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_LETTERS = {exponent: letter for letter, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_LETTERS = {exponent: letter for letter, exponent in _BINARY_SUFFIXES.items()} | {0: ""}
# Upstream reads a bare suffix as zero, where it reads it as an int64.
_NEEDS_DIGITS = ("Pi", "Ei")
_BAD_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BAD_SUFFIX = "unable to parse quantity's suffix"
_BAD_DIGITS = "unable to parse numeric part of quantity"
_TOO_BIG = "quantity has too many digits or too big an exponent"


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount, equal to every other spelling of the same amount.

    ``nano`` is the amount in units of 1e-9; what is finer is rounded away from zero when read. ``format`` is the
    notation of the text it came from: ``DecimalSI``, ``BinarySI`` or ``DecimalExponent``. Upstream holds small numbers
    as an int64 and a power of ten, others as a decimal, and CEL can tell: ``small`` says which, ``scale`` is the power.
    """

    nano: int
    format: str = field(default=DECIMAL_SI, compare=False)
    scale: int = field(default=-9, compare=False, repr=False)
    small: bool = field(default=False, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str | float) -> Quantity:
        """Read a manifest's string or bare number; ``ValueError`` with the API server's text."""
        if isinstance(text, str):
            return _parse(text)
        if isinstance(text, bool) or not isinstance(text, (int, float)):
            raise ValueError(_BAD_FORM)
        # Python would not print such a number.
        if isinstance(text, int) and text.bit_length() > 4 * _MOST_CHARACTERS:
            raise ValueError(_TOO_BIG)
        return _parse(repr(text))

    @classmethod
    def from_nano(cls, nano: int, format: str = DECIMAL_SI) -> Quantity:  # noqa: A002 - the API's word
        """Make a quantity of a computed amount, to be written in the given notation."""
        whole, rest = divmod(nano, NANO)
        if rest == 0 and abs(whole) <= INT64_MAX:
            return cls(nano, format, 0, True)
        return cls(nano, format)

    @property
    def value(self) -> int:
        """The amount as an integer, rounded away from zero."""
        return _rounded(self.nano, NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero."""
        return _rounded(self.nano, NANO // 1000)

    @property
    def integer(self) -> int | None:
        """The amount as CEL's ``asInteger`` has it: None where upstream does not hold it as a whole int64."""
        whole = self.nano // NANO
        return whole if self.small and self.scale >= 0 and abs(whole) <= INT64_MAX else None

    def __float__(self) -> float:
        """Approximate by one rounding multiplication, as upstream does."""
        unscaled: int = self.nano // 10 ** (9 + self.scale)
        try:
            return float(unscaled) if self.scale == 0 else float(unscaled) * float(f"1e{self.scale}")
        except OverflowError:
            return float("inf") if unscaled > 0 else float("-inf")

    def __add__(self, other: Quantity) -> Quantity:
        return self._plus(other, other.nano)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(other, -other.nano)

    def _plus(self, other: Quantity, nano: int) -> Quantity:
        """Add ``nano``; the sum keeps the notation of the left side, unless that is zero."""
        written = self.format if self.nano else other.format
        if self.small and other.small and not (self.nano and nano):
            chosen = other if nano else self
            return Quantity(self.nano + nano, written, chosen.scale, True)
        total, scale = self.nano + nano, min(self.scale, other.scale)
        parts = (part // 10 ** (9 + scale) for part in (self.nano, nano, total))
        small = self.small and other.small and all(abs(part) <= INT64_MAX for part in parts)
        return Quantity(total, written, scale, small)

    def __str__(self) -> str:
        """Write the canonical text: the largest suffix that leaves an integer."""
        if self.nano == 0:
            return "0"
        whole, rest = divmod(self.nano, NANO)
        if self.format == BINARY_SI and rest == 0 and abs(whole) >= 1024:
            exponent = 0
            while exponent < 60 and whole % 1024 == 0:
                whole, exponent = whole // 1024, exponent + 10
            return f"{whole}{_BINARY_LETTERS[exponent]}"
        return _decimal(self.nano, self.format == DECIMAL_EXPONENT)


@lru_cache(maxsize=1 << 12)
def display_amount(nano: int) -> str:
    """Write an amount whose notation in the manifests is not known: in the one that is shorter."""
    return min((str(Quantity.from_nano(nano, notation)) for notation in (BINARY_SI, DECIMAL_SI)), key=len)


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) if amount >= 0 else amount // unit


@lru_cache(maxsize=_MOST_REMEMBERED)
def _parse(text: str) -> Quantity:
    match = _NUMBER.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None or not text:
        raise ValueError(_BAD_FORM if len(text) <= _MOST_CHARACTERS else _TOO_BIG)
    sign, whole, fraction, suffix = match.groups(default="")
    if not (whole or fraction) and suffix in _NEEDS_DIGITS:
        raise ValueError(_BAD_DIGITS)
    # As upstream counts digits: none but one zero before the point when there are only zeros.
    whole = whole.lstrip("0") or "0"
    digits = int(whole + fraction) * (-1 if sign == "-" else 1)
    exponent = _BINARY_SUFFIXES.get(suffix)
    if exponent is not None:
        return _parse_binary(digits, len(whole), len(fraction), exponent)
    exponent, written = _decimal_exponent(suffix)
    scale = exponent - len(fraction)
    small = len(whole) + len(fraction) <= 18 and scale >= -9
    if not small and digits:
        return Quantity(_to_nano(digits, scale), written)
    return Quantity(_to_nano(digits, scale), written, max(-9, scale), small)


def _decimal_exponent(suffix: str) -> tuple[int, str]:
    """Find the power of ten of a suffix, and the notation it belongs to."""
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return exponent, DECIMAL_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise ValueError(_BAD_SUFFIX)
    exponent = int(match[1])
    if abs(exponent) > _MOST_EXPONENT:
        raise ValueError(_TOO_BIG)
    return exponent, DECIMAL_EXPONENT


def _parse_binary(digits: int, whole: int, fraction: int, exponent: int) -> Quantity:
    """``digits`` with ``fraction`` places behind the point, times 2 to the ``exponent``; capped at int64."""
    nano = _to_nano(digits << exponent, -fraction)
    # Upstream's guess of whether the product fits an int64.
    if not fraction and whole + exponent * 3 // 10 <= 14:
        return Quantity(nano, BINARY_SI, 0, True)
    if abs(nano) > INT64_MAX * NANO:
        return Quantity(INT64_MAX * NANO if nano > 0 else -INT64_MAX * NANO, BINARY_SI, 0)
    if nano == 0:
        return Quantity(0, BINARY_SI, max(-9, -fraction))
    return Quantity(nano, BINARY_SI if abs(nano) >= NANO else DECIMAL_SI)


def _to_nano(digits: int, scale: int) -> int:
    return digits * 10 ** (9 + scale) if scale >= -9 else _rounded(digits, 10 ** (-9 - scale))


def _decimal(nano: int, exponent_form: bool) -> str:
    """Thousands moved into the suffix; ``E`` is the last letter, exponents have no last."""
    exponent, last = -9, None if exponent_form else 18
    while nano % 1000 == 0 and exponent != last:
        nano, exponent = nano // 1000, exponent + 3
    if exponent_form and exponent:
        return f"{nano}e{exponent}"
    return f"{nano}{_DECIMAL_LETTERS[exponent]}"
