"""Regular expressions, on RE2: ``matches``, ``find``, ``findAll``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from ..cost_meter import tick
from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, INT, STRING, list_of
from ..values import inner_size
from .costs import regex_search, up_to_size
from .declare import check_elements, function, method, only

_MOST_COMPILED = 256
_MEMORY = 8 << 20
_STRIDE = 1000

# How RE2's complaints read in Go.
_COMPLAINTS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid character range": "invalid character class range",
}
_ONE_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_MOST_REMEMBERED = 10_240


def _options() -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options


def compile_pattern(pattern: str) -> Any:
    """The compiled pattern; ``CelRuntimeError`` worded as Go does when it is none."""
    return _remembered(pattern) if len(pattern) <= _MOST_REMEMBERED else _compile(pattern)


def _compile(pattern: str) -> Any:
    if _ONE_BYTE.search(pattern):
        # Known to RE2 in C++, not in Go.
        raise CelRuntimeError("error parsing regexp: invalid escape sequence: `\\C`")
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        raise CelRuntimeError(f"error parsing regexp: {_go_complaint(error, pattern)}") from None


_remembered = lru_cache(maxsize=_MOST_COMPILED)(_compile)


def _go_complaint(error: Exception, pattern: str) -> str:
    detail = error.args[0]
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    reason, _, where = text.partition(": ")
    if reason == "missing )":
        where = pattern
    return f"{_COMPLAINTS.get(reason, reason)}: `{where}`"


def _matches(text: str, pattern: str) -> bool:
    return compile_pattern(pattern).search(text) is not None


def _compile_found(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except CelRuntimeError as error:
        raise CelRuntimeError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _compile_found(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Successive matches; as in Go an empty one right behind another match does not count."""
    found: list[str] = []
    end = -1
    compiled = _compile_found(pattern)
    if limit == 0:
        return found
    for match in compiled.finditer(text):
        if match.start() == match.end() == end:
            continue
        end = match.end()
        found.append(match.group())
        if len(found) == limit:
            break
        if len(found) % _STRIDE == 0:
            tick(_STRIDE)
            check_elements(len(found))
    return found


_TWO = (STRING, STRING)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "matches",
        (
            function("matches", _TWO, BOOL, _matches, **regex_search(measure=inner_size)),
            method("matches_string", _TWO, BOOL, _matches, **regex_search(measure=inner_size)),
        ),
    ),
    only("find", method("string_find_string", _TWO, STRING, _find, **regex_search(up_to_size(0)))),
    Function(
        "findAll",
        (
            method("string_find_all_string", _TWO, list_of(STRING), _find_all, **regex_search(up_to_size(0))),
            method(
                "string_find_all_string_int", (*_TWO, INT), list_of(STRING), _find_all, **regex_search(up_to_size(0))
            ),
        ),
    ),
)
