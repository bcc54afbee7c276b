"""What validation reports, and the field errors of the API server it is worded in."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from ..problems import Severity

# What a message quotes is cut here; the API server quotes all of it.
_QUOTED = 200
_GO_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v"}


# A limit can be lifted, for allocation still has a meaning without it; a structure cannot.
Category = Literal["limit", "structure"]
LIMIT: Category = "limit"
STRUCTURE: Category = "structure"


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One problem of an object; ``str()`` words it as the API server does."""

    path: str
    message: str
    severity: Severity = "error"
    category: Category = LIMIT

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Key(str):
    """A map key in a path, shown as ``[key]``; plain strings are field names."""

    __slots__ = ()


# Segments of a path: field names, keys, and indexes. Rendered only when a problem is found.
Path = tuple[str | int, ...]


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "..."


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    """Escape a character as Go does, which has names for a few more than Python."""
    return _GO_ESCAPES.get(character) or character.encode("unicode_escape").decode()


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else str(value)


def compact_json(value: Any) -> str:
    """Write a value as JSON without blanks; endures what JSON cannot hold, such as lone surrogates."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, skipkeys=True)


def quote(value: Any) -> str:
    """Show a value as error messages do: strings in quotes, objects as JSON, all cut to 200 characters."""
    if isinstance(value, str):
        quoted = _cut(value).replace("\\", r"\\").replace('"', r"\"")
        return f'"{_printable(quoted)}"'
    return _printable(_cut(compact_json(value)))


def render(path: Path) -> str:
    """Spell the path: ``spec.devices[0].attributes[model].string``."""
    text = "".join(
        f"[{_printable(_cut(str(segment)))}]" if isinstance(segment, int | Key) else f".{segment}" for segment in path
    )
    return text.removeprefix(".")


def byte_length(text: str) -> int:
    """Length in UTF-8; the API's string limits count bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Findings:
    """The problems of one object, in the order found."""

    __slots__ = ("problems",)

    def __init__(self) -> None:
        self.problems: list[FieldProblem] = []

    def error(self, path: Path, message: str, category: Category = LIMIT) -> None:
        """Report an error in words of one's own."""
        self.problems.append(FieldProblem(render(path), message, "error", category))

    def warning(self, path: Path, message: str) -> None:
        """Something accepted that hardly does what was meant."""
        self.problems.append(FieldProblem(render(path), message, "warning", LIMIT))

    def required(self, path: Path, detail: str = "", category: Category = LIMIT) -> None:
        """Report a field without a value."""
        self.error(path, f"Required value: {detail}" if detail else "Required value", category)

    def invalid(self, path: Path, value: Any, detail: str, category: Category = LIMIT) -> None:
        """Report a value that breaks a rule."""
        self.error(path, f"Invalid value: {quote(value)}: {detail}", category)

    def each_invalid(self, path: Path, value: Any, details: Iterable[str], category: Category = LIMIT) -> None:
        """Report a value that breaks several rules, one error each."""
        for detail in details:
            self.invalid(path, value, detail, category)

    def duplicate(self, path: Path, value: Any, category: Category = LIMIT) -> None:
        """Report the second of two equal entries."""
        self.error(path, f"Duplicate value: {quote(value)}", category)

    def too_many(self, path: Path, actual: int, limit: int) -> None:
        """Report a list above its limit."""
        self.error(path, f"Too many: {actual}: must have at most {limit} items")

    def too_long(self, path: Path, limit: int) -> None:
        """Report a string above its limit, in bytes."""
        self.error(path, f"Too long: may not be more than {limit} bytes")

    def unsupported(self, path: Path, value: str, supported: Iterable[str], category: Category = LIMIT) -> None:
        """Report a value outside an enumeration."""
        listed = ", ".join(quote(name) for name in sorted(supported))
        self.error(path, f"Unsupported value: {quote(value)}: supported values: {listed}", category)

    def forbidden(self, path: Path, detail: str, category: Category = LIMIT) -> None:
        """Report a field that may not be set here."""
        self.error(path, f"Forbidden: {detail}" if detail else "Forbidden", category)

    def nested(self, path: Path, problems: Iterable[FieldProblem]) -> None:
        """Report problems whose paths begin at ``path``."""
        start = render(path)
        self.problems += (replace(problem, path=f"{start}{problem.path}") for problem in problems)

    def at_most(self, path: Path, items: Any, limit: int) -> None:
        """Report a collection of more than ``limit`` items."""
        if items is not None and len(items) > limit:
            self.too_many(path, len(items), limit)

    def unique(self, path: Path, keys: Iterable[str], suffix: Path = (), category: Category = LIMIT) -> None:
        """Report every key seen before, at ``path[i]`` followed by ``suffix``."""
        keys = list(keys)
        if len(set(keys)) == len(keys):
            return
        seen: set[str] = set()
        for index, key in enumerate(keys):
            if key in seen:
                self.duplicate((*path, index, *suffix), key, category)
            seen.add(key)
