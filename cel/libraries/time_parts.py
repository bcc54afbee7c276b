"""Parts of timestamps, in UTC or a time zone, and of durations."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from ..errors import CelRuntimeError
from ..library import Function
from ..types import DURATION, INT, STRING, TIMESTAMP
from ..values_time import NANOS, Duration, Timestamp
from .declare import method
from .time_text import civil_from_days, days_from_civil

_UTC_NAMES = frozenset({"", "UTC", "Local"})
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_DAY = 86_400
_FIRST = datetime(1, 1, 2, tzinfo=timezone.utc)  # noqa: UP017
_LAST = datetime(9999, 12, 30, tzinfo=timezone.utc)  # noqa: UP017
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017


def _year(seconds: int) -> int:
    return civil_from_days(seconds // _DAY)[0]


def _month(seconds: int) -> int:
    return civil_from_days(seconds // _DAY)[1] - 1


def _date(seconds: int) -> int:
    return civil_from_days(seconds // _DAY)[2]


def _day_of_year(seconds: int) -> int:
    return seconds // _DAY - days_from_civil(_year(seconds), 1, 1)


# Each from local seconds of the epoch; milliseconds do not depend on the zone.
_PARTS: dict[str, tuple[str, Callable[[int], int]]] = {
    "getFullYear": ("year", _year),
    "getMonth": ("month", _month),
    "getDayOfYear": ("day_of_year", _day_of_year),
    "getDayOfMonth": ("day_of_month", lambda seconds: _date(seconds) - 1),
    "getDate": ("day_of_month_1_based", _date),
    "getDayOfWeek": ("day_of_week", lambda seconds: (seconds // _DAY + 4) % 7),
    "getHours": ("hours", lambda seconds: seconds // 3600 % 24),
    "getMinutes": ("minutes", lambda seconds: seconds // 60 % 60),
    "getSeconds": ("seconds", lambda seconds: seconds % 60),
}
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
        return _named_offset(zone, seconds)
    # As cel-go has it, "-00:30" is east of Greenwich.
    hour, minute = _integer(hours), _integer(minutes)
    return hour * 3600 + (-minute if hour < 0 else minute) * 60


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CelRuntimeError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def _named_offset(name: str, seconds: int) -> int:
    when = min(max(_FIRST, _EPOCH + timedelta(seconds=seconds)), _LAST)
    offset = when.astimezone(_load(name)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


@lru_cache(maxsize=64)
def _load(name: str) -> ZoneInfo:
    if ".." in name or name[0] in "/\\" or "\\" in name:
        raise CelRuntimeError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelRuntimeError(f"unknown time zone {name}") from None


def _of_timestamp(name: str, id_: str, part: Callable[[int], int]) -> Function:
    def local(timestamp: Timestamp, zone: str) -> int:
        seconds = timestamp.ns // NANOS
        return part(seconds + _zone_offset(zone, seconds))

    return Function(
        name,
        (
            method(f"timestamp_to_{id_}", (TIMESTAMP,), INT, lambda timestamp: part(timestamp.ns // NANOS)),
            method(f"timestamp_to_{id_}_with_tz", (TIMESTAMP, STRING), INT, local),
        ),
    )


def _milliseconds(timestamp: Timestamp, zone: str = "") -> int:
    _zone_offset(zone, timestamp.ns // NANOS)
    return timestamp.ns % NANOS // 1_000_000


def _of_duration(name: str, id_: str, unit: int) -> Function:
    def whole(duration: Duration) -> int:
        return duration.ns // unit if duration.ns >= 0 else -(-duration.ns // unit)

    return Function(name, (method(f"duration_to_{id_}", (DURATION,), INT, whole),))


FUNCTIONS: tuple[Function, ...] = (
    *(_of_timestamp(name, id_, part) for name, (id_, part) in _PARTS.items()),
    Function(
        "getMilliseconds",
        (
            method("timestamp_to_milliseconds", (TIMESTAMP,), INT, _milliseconds),
            method("timestamp_to_milliseconds_with_tz", (TIMESTAMP, STRING), INT, _milliseconds),
        ),
    ),
    *(_of_duration(name, id_, unit) for name, (id_, unit) in _DURATION_UNITS.items()),
)
