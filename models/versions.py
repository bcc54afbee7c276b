"""Semantic versions, as device attributes hold them (semver.org 2.0.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

# Numeric identifiers sort before words; a version without pre-release sorts after those with one.
Identifier: TypeAlias = tuple[int, int, str]
Key: TypeAlias = tuple[int, int, int, bool, tuple[Identifier, ...]]

_UINT64_MAX = 2**64 - 1
_MOST_REMEMBERED = 4096
_NUMBER = r"(0|[1-9][0-9]*)"
_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_WORDS}))?(?:\+{_WORDS})?")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version; precedence and equality ignore build metadata, ``text`` keeps what was written (CON-4)."""

    key: Key = field(repr=False)
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read what is a version by the letter of semver.org; ``ValueError`` for anything else."""
        return _parse(text)

    @classmethod
    def parse_normalized(cls, text: str) -> Version:
        """Read as ``parse``, after one leading ``v`` and leading zeros are dropped and missing parts are set to 0."""
        return _parse(_normalize(text))

    @property
    def major(self) -> int:
        """The first number."""
        return self.key[0]

    @property
    def minor(self) -> int:
        """The second number."""
        return self.key[1]

    @property
    def patch(self) -> int:
        """The third number."""
        return self.key[2]

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=_MOST_REMEMBERED)
def _parse(text: str) -> Version:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"invalid semantic version {text[:100]!r}")
    major, minor, patch = (_number(part) for part in match.group(1, 2, 3))
    words = match[4].split(".") if match[4] else []
    return Version((major, minor, patch, not words, tuple(map(_identifier, words))), text)


def _identifier(word: str) -> Identifier:
    if not word.isdigit():
        return (1, 0, word)
    if word[0] == "0" and word != "0":
        raise ValueError(f"numeric pre-release identifier {word[:100]!r} has leading zeros")
    return (0, _number(word), "")


def _number(digits: str) -> int:
    number = int(digits) if len(digits) <= 20 else _UINT64_MAX + 1
    if number > _UINT64_MAX:
        raise ValueError(f"number {digits[:100]!r} of a semantic version is out of range")
    return number


def _normalize(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_leading_zeros(part) for part in parts]
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_leading_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    digits = part.lstrip("0")
    return digits if digits[:1].isdigit() else "0" + digits
