"""Timestamps and durations: their parts, in UTC or a time zone, and their text, as Go reads and writes it.

Inside this module times are integers of nanoseconds since 1970, days and seconds plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import chain
from zoneinfo import ZoneInfo

from ..declarations import Function
from ..errors import CelRuntimeError
from ..types import DURATION, INT, STRING, TIMESTAMP
from ..values import DURATION_MAX, DURATION_MIN, NANOS, Duration, Timestamp
from .declare import fixed_digits, method, shortest_digits

_UTC_NAMES = frozenset({"", "UTC", "Local"})
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_SECONDS_PER_DAY = 86_400
_FIRST = datetime(1, 1, 2, tzinfo=timezone.utc)  # noqa: UP017
_LAST = datetime(9999, 12, 30, tzinfo=timezone.utc)  # noqa: UP017
_EPOCH_DATETIME = datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017


def _year(seconds: int) -> int:
    return civil_from_days(seconds // _SECONDS_PER_DAY)[0]


def _date(seconds: int) -> int:
    return civil_from_days(seconds // _SECONDS_PER_DAY)[2]


_DURATION_UNITS = {
    "getHours": ("hours", 3600 * NANOS),
    "getMinutes": ("minutes", 60 * NANOS),
    "getSeconds": ("seconds", NANOS),
    "getMilliseconds": ("milliseconds", 1_000_000),
}


def _zone_offset(zone: str, seconds: int) -> int:
    """Seconds east of Greenwich at a time; the zone is a name or ``[+-]H:M``."""
    if zone in _UTC_NAMES:
        return 0
    hours, colon, minutes = zone.partition(":")
    if not colon:
        when = min(max(_FIRST, _EPOCH_DATETIME + timedelta(seconds=seconds)), _LAST)
        offset = when.astimezone(_load_zone(zone)).utcoffset()
        assert offset is not None
        return int(offset.total_seconds())
    # As cel-go has it, "-00:30" is east of Greenwich.
    hour, minute = _integer(hours), _integer(minutes)
    return hour * 3600 + (-minute if hour < 0 else minute) * 60


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CelRuntimeError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


@lru_cache(maxsize=64)
def _load_zone(name: str) -> ZoneInfo:
    if ".." in name or name[0] in "/\\" or "\\" in name:
        raise CelRuntimeError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelRuntimeError(f"unknown time zone {name}") from None


def _timestamp_part(name: str, id_: str, part: Callable[[int], int]) -> tuple[Function, Function]:
    def local(timestamp: Timestamp, zone: str = "") -> int:
        seconds = timestamp.ns // NANOS
        return part(seconds + _zone_offset(zone, seconds))

    return _in_zone_or_not(name, id_, local)


def _in_zone_or_not(name: str, id_: str, apply: Callable[..., int]) -> tuple[Function, Function]:
    in_utc = method(name, f"timestamp_to_{id_}", (TIMESTAMP,), INT, apply)
    return in_utc, method(name, f"timestamp_to_{id_}_with_tz", (TIMESTAMP, STRING), INT, apply)


def _milliseconds(timestamp: Timestamp, zone: str = "") -> int:
    _zone_offset(zone, timestamp.ns // NANOS)
    return timestamp.ns % NANOS // 1_000_000


def _duration_part(name: str, id_: str, unit: int) -> Function:
    def whole(duration: Duration) -> int:
        return duration.ns // unit if duration.ns >= 0 else -(-duration.ns // unit)

    return method(name, f"duration_to_{id_}", (DURATION,), INT, whole)


_UNITS = {
    "ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6,
    "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS,
}  # fmt: skip
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
# Go reads one digit of an hour, and a comma before the fraction.
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_BEFORE_EPOCH = 719_468
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
        match = _DURATION_PART.match(rest, end)
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
    seconds = days_from_civil(year, month, day) * _SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset
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
    days, second = divmod(seconds, _SECONDS_PER_DAY)
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
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _DAYS_BEFORE_EPOCH


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day; the reverse of ``days_from_civil``."""
    era, day_of_era = divmod(days + _DAYS_BEFORE_EPOCH, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


# Each from local seconds of the epoch; milliseconds do not depend on the zone.
_PARTS: dict[str, tuple[str, Callable[[int], int]]] = {
    "getFullYear": ("year", _year),
    "getMonth": ("month", lambda seconds: civil_from_days(seconds // _SECONDS_PER_DAY)[1] - 1),
    "getDayOfYear": ("day_of_year", lambda time: time // _SECONDS_PER_DAY - days_from_civil(_year(time), 1, 1)),
    "getDayOfMonth": ("day_of_month", lambda seconds: _date(seconds) - 1),
    "getDate": ("day_of_month_1_based", _date),
    "getDayOfWeek": ("day_of_week", lambda seconds: (seconds // _SECONDS_PER_DAY + 4) % 7),
    "getHours": ("hours", lambda seconds: seconds // 3600 % 24),
    "getMinutes": ("minutes", lambda seconds: seconds // 60 % 60),
    "getSeconds": ("seconds", lambda seconds: seconds % 60),
}
TIME_FUNCTIONS: tuple[Function, ...] = (
    *chain.from_iterable(_timestamp_part(name, id_, part) for name, (id_, part) in _PARTS.items()),
    *_in_zone_or_not("getMilliseconds", "milliseconds", _milliseconds),
    *(_duration_part(name, id_, unit) for name, (id_, unit) in _DURATION_UNITS.items()),
)
