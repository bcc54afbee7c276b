"""Timestamps and durations in text, as Go reads and writes them; all in nanoseconds."""

from __future__ import annotations

import re

from ..values_time import DURATION_MAX, DURATION_MIN, NANOS
from .numbers import fixed_digits, shortest_digits

_UNITS = {
    "ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6,
    "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS,
}  # fmt: skip
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
# Go reads one digit of an hour, and a comma before the fraction.
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH = 719_468
_DAY = 86_400
# More digits cannot matter: whole parts overflow, fractions are below a nanosecond.
_MOST_DIGITS = 40
_MOST_CHARACTERS = 10_000


def parse_duration(text: str) -> int | None:
    """What ``1h2m3.5s`` means; None for anything else, beyond 292 years, and for texts of absurd length."""
    if len(text) > _MOST_CHARACTERS:
        return None
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total, end = 0, 0
    while end < len(rest):
        match = _PART.match(rest, end)
        if match is None or not (match[1] or match[2]) or len(match[1].lstrip("0")) > _MOST_DIGITS:
            return None
        total += _amount(match[1], match[2] or "", _UNITS[match[3]])
        end = match.end()
    total = -total if text[:1] == "-" else total
    return total if rest and DURATION_MIN <= total <= DURATION_MAX else None


def _amount(whole: str, fraction: str, unit: int) -> int:
    fraction = fraction[:_MOST_DIGITS]
    places: int = 10 ** len(fraction)
    return int(whole.lstrip("0") or "0") * unit + int(fraction or "0") * unit // places


def format_duration(ns: int) -> str:
    """Seconds as a decimal, e.g. ``1.5s``; computed in doubles, as cel-go does."""
    whole, rest = divmod(abs(ns), NANOS)
    seconds = float(whole) + rest / 1e9
    return ("-" if ns < 0 else "") + fixed_digits(*shortest_digits(seconds)) + "s"


def parse_timestamp(text: str) -> int | None:
    """What an RFC 3339 text means; None for anything else."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    if not (is_date(year, month, day) and hour < 24 and minute < 60 and second < 60):
        return None
    offset = _offset(match[8], match[9], match[10])
    if offset is None:
        return None
    seconds = days_from_civil(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - offset
    return seconds * NANOS + int((match[7] or "")[:9].ljust(9, "0"))


def _offset(sign: str | None, hours: str, minutes: str) -> int | None:
    if sign is None:
        return 0
    if int(hours) > 24 or int(minutes) > 60:
        return None
    seconds = int(hours) * 3600 + int(minutes) * 60
    return -seconds if sign == "-" else seconds


def format_timestamp(ns: int) -> str:
    """RFC 3339 in UTC, with no more digits than needed."""
    seconds, rest = divmod(ns, NANOS)
    days, second = divmod(seconds, _DAY)
    year, month, day = civil_from_days(days)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}{fraction}Z"


def is_date(year: int, month: int, day: int) -> bool:
    """Whether there is such a day."""
    if not 1 <= month <= 12:
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= (29 if leap else _DAYS[month - 1])


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, in years counted from March so that the leap day comes last."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day; the reverse of ``days_from_civil``."""
    era, day_of_era = divmod(days + _EPOCH, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
