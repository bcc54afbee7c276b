"""Points in time and spans, as integers of nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import CelRuntimeError

NANOS = 1_000_000_000
# Years 1 to 9999, as seconds of the Unix epoch.
TIMESTAMP_MIN, TIMESTAMP_MAX = -62_135_596_800 * NANOS, 253_402_300_800 * NANOS - 1
DURATION_MIN, DURATION_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970-01-01T00:00:00Z."""

    ns: int

    @classmethod
    def checked(cls, ns: int) -> Timestamp:
        """A timestamp within the years 1 to 9999, or ``CelRuntimeError``."""
        if TIMESTAMP_MIN <= ns <= TIMESTAMP_MAX:
            return cls(ns)
        raise CelRuntimeError("timestamp overflow")


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span in nanoseconds."""

    ns: int

    @classmethod
    def checked(cls, ns: int) -> Duration:
        """A duration that fits int64 nanoseconds (292 years), or ``CelRuntimeError``."""
        if DURATION_MIN <= ns <= DURATION_MAX:
            return cls(ns)
        raise CelRuntimeError("integer overflow")
