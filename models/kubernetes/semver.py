"""Semantic versions, as device attributes hold them (semver.org 2.0.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

# Numeric identifiers sort before words; a version without pre-release sorts after those with one.
PrereleaseIdentifier: TypeAlias = tuple[int, int, str]
PrecedenceKey: TypeAlias = tuple[int, int, int, bool, tuple[PrereleaseIdentifier, ...]]
_UINT64_MAX = 2**64 - 1
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 4096, 1000
_NUMBER = r"(0|[1-9][0-9]*)"
_LETTERS = "[0-9A-Za-z-]"
# Numeric identifiers have no leading zeros, others may.
_IDENTIFIER = rf"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-]{_LETTERS}*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+{_LETTERS}+(?:\.{_LETTERS}+)*)?"
)
_WORD = re.compile(rf"{_LETTERS}+")
_DIGITS = re.compile("[0-9]*")
_MOST_DIGITS = 20
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version; precedence and equality ignore build metadata, ``text`` keeps what was written (CON-4)."""

    key: PrecedenceKey = field(repr=False)
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read what is a version by the letter of semver.org; ``ValueError`` for anything else."""
        return _parse_remembered(text) if len(text) <= _LONGEST_REMEMBERED else _parse(text)

    @classmethod
    def parse_normalized(cls, text: str) -> Version:
        """Read as ``parse``, after one leading ``v`` and leading zeros are dropped and missing parts are set to 0."""
        parts = [_without_leading_zeros(part) for part in text.removeprefix("v").split(".", 2)]
        if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        return cls.parse(".".join(parts + ["0"] * (3 - len(parts))))

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


def _parse(text: str) -> Version:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(_version_complaint(text))
    major, minor, patch = (_number(part) for part in match.group(1, 2, 3))
    words = match[4].split(".") if match[4] else []
    identifiers = tuple((0, _number(word), "") if word.isdigit() else (1, 0, word) for word in words)
    return Version((major, minor, patch, not words, identifiers), text)


def _number(digits: str) -> int:
    flaw = _uint_flaw(digits)
    if flaw:
        raise ValueError(flaw)
    return int(digits)


def _without_leading_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    digits = part.lstrip("0")
    return digits if digits[:1].isdigit() else "0" + digits


def _version_complaint(text: str) -> str:
    """What upstream says of a text that is no version; it stops at the first flaw."""
    parts = text.split(".", 2)
    if len(parts) < 3:
        return "No Major.Minor.Patch elements found" if text else "Version string empty"
    rest, plus, build = parts[2].partition("+")
    patch, dash, words = rest.partition("-")
    flaws = [_number_flaw("Major", parts[0]), _number_flaw("Minor", parts[1]), _number_flaw("Patch", patch)]
    flaws += [_word_flaw(word) for word in words.split(".") if dash]
    flaws += [_identifier_flaw(word, "Build meta data") for word in build.split(".") if plus]
    return next(filter(None, flaws))


def _number_flaw(name: str, part: str) -> str:
    if not _DIGITS.fullmatch(part):
        return f'Invalid character(s) found in {name.lower()} number "{_display_text(part)}"'
    if len(part) > 1 and part[0] == "0":
        return f'{name} number must not contain leading zeroes "{_display_text(part)}"'
    return _uint_flaw(part)


def _uint_flaw(digits: str) -> str:
    if digits and len(digits) <= _MOST_DIGITS and int(digits) <= _UINT64_MAX:
        return ""
    return (
        f'strconv.ParseUint: parsing "{_display_text(digits)}": {"value out of range" if digits else "invalid syntax"}'
    )


def _word_flaw(word: str) -> str:
    if not word or not _DIGITS.fullmatch(word):
        return _identifier_flaw(word, "Prerelease")
    if len(word) > 1 and word[0] == "0":
        return f'Numeric PreRelease version must not contain leading zeroes "{_display_text(word)}"'
    return _uint_flaw(word)


def _identifier_flaw(word: str, part: str) -> str:
    if not word:
        return f"{part} is empty"
    return "" if _WORD.fullmatch(word) else f'Invalid character(s) found in {part.lower()} "{_display_text(word)}"'


def _display_text(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


_parse_remembered = lru_cache(maxsize=_MOST_REMEMBERED)(_parse)
