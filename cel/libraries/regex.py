"""Regular expressions, on RE2: ``matches``, ``find``, ``findAll``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from time import thread_time
from typing import Any, TypeVar

import re2  # type: ignore[import-untyped]

from ..declarations import Function
from ..errors import CelCostError, CelRuntimeError
from ..meter import tick
from ..types import BOOL, INT, STRING, list_of
from ..values import inner_size
from .declare import function, method, regex_search, single_overload, up_to_size

T = TypeVar("T")
_MOST_COMPILED = 256
_MEMORY = 2 << 20
_MOST_REMEMBERED = 10_240
# Classes of Unicode categories, each of which takes RE2 a fifth of a millisecond to read.
_MOST_CATEGORIES = 200
# As in Go.
_MOST_NESTING = 999
# RE2 cannot be interrupted: a search is refused where characters times instructions are more than it may get through
# in a tenth of a second, though that is thirty times what it mostly needs.
_MOST_WORK = 2_000_000
_WORK_IN_A_STEP, _STEPS_TO_COMPILE = 40, 10
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
# Escapes, classes and brackets.
_MARK = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)
_CATEGORY = re.compile(r"\\[pP]")


def _options() -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """A compiled pattern and how many instructions it has."""

    compiled: Any
    size: int

    def work(self, text: str) -> None:
        """Account for a search; ``CelCostError`` where it may take too long."""
        length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        work = length * self.size
        if work > _MOST_WORK:
            raise CelCostError("operation cancelled: actual cost limit exceeded")
        tick(work // _WORK_IN_A_STEP)


def compile_pattern(pattern: str) -> CompiledPattern:
    """The compiled pattern; ``CelRuntimeError`` worded as Go does when it is none."""
    return _compile_remembered(pattern) if len(pattern) <= _MOST_REMEMBERED else _compile(pattern)


def _compile(pattern: str) -> CompiledPattern:
    tick(len(pattern) * _STEPS_TO_COMPILE)
    if _ONE_BYTE.search(pattern):
        # Known to RE2 in C++, not in Go.
        raise CelRuntimeError("error parsing regexp: invalid escape sequence: `\\C`")
    if len(_CATEGORY.findall(pattern)) > _MOST_CATEGORIES:
        raise CelRuntimeError("error parsing regexp: expression too large")
    if pattern.count("(") > _MOST_NESTING and _nesting(pattern) > _MOST_NESTING:
        raise CelRuntimeError(f"error parsing regexp: expression nests too deeply: `{pattern}`")
    try:
        compiled = re2.compile(pattern, _options())
    except re2.error as error:
        raise CelRuntimeError(f"error parsing regexp: {_go_complaint(error, pattern)}") from None
    return CompiledPattern(compiled, compiled.programsize)


def _nesting(pattern: str) -> int:
    """How deep groups stand inside one another."""
    steps = (1 if mark == "(" else -1 for mark in _MARK.findall(pattern) if mark in "()")
    return max(accumulate(steps), default=0)


def _go_complaint(error: Exception, pattern: str) -> str:
    detail = error.args[0]
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    reason, _, where = text.partition(": ")
    if reason == "missing )":
        where = pattern
    return f"{_COMPLAINTS.get(reason, reason)}: `{where}`"


_compile_remembered = lru_cache(maxsize=_MOST_COMPILED)(_compile)


def _search(pattern: CompiledPattern, text: str) -> Any:
    pattern.work(text)
    return pattern.compiled.search(text)


def _matches(text: str, pattern: str) -> bool:
    return _search(compile_pattern(pattern), text) is not None


def _compile_found(pattern: str) -> CompiledPattern:
    try:
        return compile_pattern(pattern)
    except CelCostError:
        raise
    except CelRuntimeError as error:
        raise CelRuntimeError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _search(_compile_found(pattern), text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Successive matches; as in Go an empty one right behind another match does not count."""
    found: list[str] = []
    end = -1
    compiled = _compile_found(pattern)
    if limit == 0:
        return found
    compiled.work(text)
    for match in _ticking_matches(compiled.compiled.finditer(text)):
        if match.start() == match.end() == end:
            continue
        end = match.end()
        found.append(match.group())
        if len(found) == limit:
            break
    return found


def _ticking_matches(matches: Iterable[T]) -> Iterator[T]:
    """The matches, ticking the time they take: to find any may mean to look at all of the rest of the text."""
    began = thread_time()
    for match in matches:
        now = thread_time()
        tick(int((now - began) * 1e6))
        began = now
        yield match


_TWO_STRINGS = (STRING, STRING)
REGEX_FUNCTIONS: tuple[Function, ...] = (
    Function(
        "matches",
        (
            function("matches", _TWO_STRINGS, BOOL, _matches, **regex_search(measure=inner_size)),
            method("matches_string", _TWO_STRINGS, BOOL, _matches, **regex_search(measure=inner_size)),
        ),
    ),
    single_overload("find", method("string_find_string", _TWO_STRINGS, STRING, _find, **regex_search(up_to_size(0)))),
    Function(
        "findAll",
        (
            method("string_find_all_string", _TWO_STRINGS, list_of(STRING), _find_all, **regex_search(up_to_size(0))),
            method(
                "string_find_all_string_int",
                (*_TWO_STRINGS, INT),
                list_of(STRING),
                _find_all,
                **regex_search(up_to_size(0)),
            ),
        ),
    ),
)
