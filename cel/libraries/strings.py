"""Functions on strings: those of the language, the extended ones, and regular expressions on RE2.

Positions are code points. Strings in double quotes are written as ``strings.quote`` writes them (``quote``), and as Go
prints them (``go_quote``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase
from time import thread_time
from typing import Any

from ..declarations import UNBOUNDED, UNKNOWN_RANGE, ZERO_RANGE, Estimate, Function, Operand, Range
from ..errors import CelCostError, CelRuntimeError
from ..meter import check_size, current_meter, tick
from ..types import BOOL, INT, STRING, list_of
from ..values import inner_size, size_of, type_name
from . import declare
from .declare import CostRule, function, method, no_overload

# What Go's unicode.IsSpace knows; Python's own list is longer.
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SHORT = 16
_LOWER = bytes.maketrans(ascii_uppercase.encode(), ascii_lowercase.encode())
_UPPER = bytes.maketrans(ascii_lowercase.encode(), ascii_uppercase.encode())


def _translated(text: str, table: bytes) -> str:
    """The text with its ASCII characters replaced."""
    return text.encode("utf-8", "surrogatepass").translate(table).decode("utf-8", "surrogatepass")


def _check_index(index: int, length: int) -> None:
    if not 0 <= index <= length:
        raise CelRuntimeError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    _check_index(index, len(text))
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise CelRuntimeError(f"index out of range: {start}")
    return text.find(part, min(start, len(text)))


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return _find_last(text, part)
    if start < 0:
        raise CelRuntimeError(f"index out of range: {start}")
    if start >= len(text):
        return len(text) if not part else -1
    return _find_last(text[: start + len(part)], part)


def _find_last(text: str, part: str) -> int:
    """As ``str.rfind``, which may take a time that grows as the product of the lengths."""
    if len(part) <= _SHORT:
        return text.rfind(part)
    found = text[::-1].find(part[::-1])
    return found if found < 0 else len(text) - found - len(part)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    if len(new) > len(old):
        places = text.count(old)
        check_size(
            len(text) + (places if limit < 0 else min(places, limit)) * (len(new) - len(old)), declare.MOST_CHARACTERS
        )
    return text.replace(old, new, limit if limit >= 0 else -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0 or not (text or separator):
        return []
    check_size(text.count(separator) if limit < 0 else min(limit, text.count(separator)), declare.MOST_ELEMENTS)
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        end = len(text)
    elif start > end:
        raise CelRuntimeError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(start, len(text))
    _check_index(end, len(text))
    return text[start:end]


def _join(texts: Sequence[str], *given: str) -> str:
    if any(type(text) is not str for text in texts):
        raise no_overload("join", "list", *map(type_name, given))
    separator = given[0] if given else ""
    check_size(sum(map(len, texts)) + max(0, len(texts) - 1) * len(separator), declare.MOST_CHARACTERS)
    return separator.join(texts)


def _split_size(operands: tuple[Operand, ...]) -> Range:
    """A part for each character at most, or a limit that is written out; cel-go takes a negative one for no bound."""
    limit = declare.literal_int(operands[2]) if len(operands) > 2 else None
    if limit is None:
        return Range(0, operands[0].size.max)
    return Range(0, limit if limit >= 0 else UNBOUNDED + 1 + limit)


def _estimate_join(operands: tuple[Operand, ...]) -> Estimate:
    """The elements, and a separator between each two."""
    lists, *separators = operands
    count, each = lists.size, lists.element or (UNKNOWN_RANGE if lists.type.name == "list" else ZERO_RANGE)
    between = separators[0].size if separators else ZERO_RANGE
    result = Range(
        _clip(count.min * each.min + max(0, count.min - 1) * between.min),
        _clip(count.max * each.max + max(0, count.max - 1) * between.max),
    )
    return Estimate(result.scaled(declare.STRING_FACTOR), result)


def _clip(number: int) -> int:
    return min(number, UNBOUNDED)


def _replaced_size(operands: tuple[Operand, ...]) -> Range:
    """From the most that replacing can shorten to the most that it can lengthen.

    As cel-go has it, an occurrence that is longer than the text shortens nothing.
    """
    text, old, new = (operand.size for operand in operands[:3])
    shortens = old.max > new.min or not old.max
    return Range(
        _all_replaced(text.min, old.max, new.min) if shortens else text.min,
        max(text.max, _all_replaced(text.max, old.min, new.max)),
    )


def _all_replaced(text: int, old: int, new: int) -> int:
    """The length when every part is an occurrence; an empty one is found around every character."""
    return _clip(-(-text // old) * new if old else text + (text + 1) * new)


def _quoted_size(operands: tuple[Operand, ...]) -> Range:
    """Two quotes, and at most two characters for one."""
    length = operands[0].size
    return Range(_clip(length.min + 2), _clip(length.max * 2 + 2))


_TWO_STRINGS = (STRING, STRING)
_STRINGS = list_of(STRING)
_AFFIX = declare.cost_per_length(index=1, measure=inner_size)
_QUOTE = declare.cost_per_length(result=_quoted_size, measure=inner_size)
_SAME_SIZE = declare.cost_per_length(result=declare.of_size(0))
_REPLACE = declare.cost_per_length(declare.REPLACE_FACTOR, result=_replaced_size)
_JOIN: CostRule = {
    "cost": lambda args, result: declare.scaled_cost(size_of(result), declare.REPLACE_FACTOR),
    "estimate": _estimate_join,
}
_SPLIT = declare.cost_per_length(declare.REPLACE_FACTOR, result=_split_size)
_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\"",
}  # fmt: skip
_QUOTED = re.compile(r"[\a\b\f\n\r\t\v\\\"]|[\ud800-\udfff]")


def quote(text: str) -> str:
    """A string in double quotes, with escapes where CEL needs them."""
    return '"' + _QUOTED.sub(lambda match: _ESCAPES.get(match[0], "\ufffd"), text) + '"'


STRING_FUNCTIONS: tuple[Function, ...] = (
    method("contains", "contains_string", _TWO_STRINGS, BOOL, lambda text, part: part in text, **declare.search()),
    method("startsWith", "starts_with_string", _TWO_STRINGS, BOOL, str.startswith, **_AFFIX),
    method("endsWith", "ends_with_string", _TWO_STRINGS, BOOL, str.endswith, **_AFFIX),
    method("charAt", "string_char_at_int", (STRING, INT), STRING, _char_at),
    method("indexOf", "string_index_of_string", _TWO_STRINGS, INT, _index_of, **declare.traversal()),
    method("indexOf", "string_index_of_string_int", (*_TWO_STRINGS, INT), INT, _index_of, **declare.traversal()),
    method("lastIndexOf", "string_last_index_of_string", _TWO_STRINGS, INT, _last_index_of, **declare.traversal()),
    method(
        "lastIndexOf", "string_last_index_of_string_int", (*_TWO_STRINGS, INT), INT,
        _last_index_of, **declare.traversal(),
    ),
    method(
        "lowerAscii", "string_lower_ascii", (STRING,), STRING,
        lambda text: text.lower() if text.isascii() else _translated(text, _LOWER), **_SAME_SIZE,
    ),
    method(
        "upperAscii", "string_upper_ascii", (STRING,), STRING,
        lambda text: text.upper() if text.isascii() else _translated(text, _UPPER), **_SAME_SIZE,
    ),
    method("replace", "string_replace_string_string", (*_TWO_STRINGS, STRING), STRING, _replace, **_REPLACE),
    method("replace", "string_replace_string_string_int", (*_TWO_STRINGS, STRING, INT), STRING, _replace, **_REPLACE),
    method("split", "string_split_string", _TWO_STRINGS, _STRINGS, _split, **_SPLIT),
    method("split", "string_split_string_int", (*_TWO_STRINGS, INT), _STRINGS, _split, **_SPLIT),
    method("substring", "string_substring_int", (STRING, INT), STRING, _substring, **_SAME_SIZE),
    method("substring", "string_substring_int_int", (STRING, INT, INT), STRING, _substring, **_SAME_SIZE),
    method("trim", "string_trim", (STRING,), STRING, lambda text: text.strip(_SPACES), **_SAME_SIZE),
    method("join", "list_join", (_STRINGS,), STRING, _join, **_JOIN),
    method("join", "list_join_string", (_STRINGS, STRING), STRING, _join, **_JOIN),
    function("strings.quote", "strings_quote", (STRING,), STRING, quote, **_QUOTE),
)  # fmt: skip


def go_quote(text: str) -> str:
    """A string in double quotes, with escapes for all that cannot be seen."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_go_character, text)) + '"'


def _go_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# --- regular expressions

_MOST_COMPILED = 256
_MEMORY = 2 << 20
_LONGEST_REMEMBERED = 10_240
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


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """A compiled pattern and how many instructions it has."""

    compiled: Any
    size: int

    def work(self, text: str) -> None:
        """Account for a search; ``CelCostError`` where it may take too long."""
        length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        work = length * self.size
        check_size(work, _MOST_WORK)
        tick(work // _WORK_IN_A_STEP)


def compile_pattern(pattern: str) -> CompiledPattern:
    """The compiled pattern; ``CelRuntimeError`` worded as Go does when it is none.

    Its steps count once in an evaluation, whether the process has compiled it before or not.
    """
    meter = current_meter.meter
    found: CompiledPattern | None = meter.patterns.get(pattern) if meter else None
    if found is None:
        tick(len(pattern) * _STEPS_TO_COMPILE)
        found = _compile_remembered(pattern) if len(pattern) <= _LONGEST_REMEMBERED else _compile(pattern)
        tick(found.size)
        if meter:
            meter.patterns[pattern] = found
    return found


def _compile(pattern: str) -> CompiledPattern:
    if _ONE_BYTE.search(pattern):
        # Known to RE2 in C++, not in Go.
        raise CelRuntimeError("error parsing regexp: invalid escape sequence: `\\C`")
    if len(_CATEGORY.findall(pattern)) > _MOST_CATEGORIES:
        raise CelRuntimeError("error parsing regexp: expression too large")
    if pattern.count("(") > _MOST_NESTING and _nesting(pattern) > _MOST_NESTING:
        raise CelRuntimeError(f"error parsing regexp: expression nests too deeply: `{pattern}`")
    import re2  # type: ignore[import-untyped]  # loads slowly, and most expressions have no pattern

    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0]
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        reason, _, where = text.partition(": ")
        shown = pattern if reason == "missing )" else where
        raise CelRuntimeError(f"error parsing regexp: {_COMPLAINTS.get(reason, reason)}: `{shown}`") from None
    return CompiledPattern(compiled, compiled.programsize)


def _nesting(pattern: str) -> int:
    """How deep groups stand inside one another."""
    steps = (1 if mark == "(" else -1 for mark in _MARK.findall(pattern) if mark in "()")
    return max(accumulate(steps), default=0)


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


def _ticking_matches(matches: Iterable[Any]) -> Iterator[Any]:
    """The matches, ticking the time they take: to find any may mean to look at all of the rest of the text."""
    began = thread_time()
    for match in matches:
        now = thread_time()
        tick(int((now - began) * 1e6))
        began = now
        yield match


_MATCH, _FIND = declare.regex_search(measure=inner_size), declare.regex_search(declare.up_to_size(0))
REGEX_FUNCTIONS: tuple[Function, ...] = (
    function("matches", "matches", _TWO_STRINGS, BOOL, _matches, **_MATCH),
    method("matches", "matches_string", _TWO_STRINGS, BOOL, _matches, **_MATCH),
    method("find", "string_find_string", _TWO_STRINGS, STRING, _find, **_FIND),
    method("findAll", "string_find_all_string", _TWO_STRINGS, _STRINGS, _find_all, **_FIND),
    method("findAll", "string_find_all_string_int", (*_TWO_STRINGS, INT), _STRINGS, _find_all, **_FIND),
)
