"""Names that stand for other names: equal ones stay equal, and all keep their order.

First fit goes by the order of names, controllers name their pods ``NAME-0``, and claims are named after their pods. So
a name is replaced piece by piece, between ``-``, ``.`` and ``/``: a new name of ``NAME-0`` is the new name of ``NAME``
with ``-0``. Each piece becomes its rank among all pieces, written in letters of one width, and some letters of an HMAC
of it. ``-``, ``.`` and ``/`` come before all letters and digits, so whole names keep their order as well.

Numbers of up to five digits that begin a piece stay; longer ones and IPv4 addresses are replaced as a whole. (Only the
order between such a number and a shorter one in the same place is lost.) Roles of pods, such as ``worker``, stay.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import uuid
from bisect import bisect
from collections.abc import Iterable
from itertools import pairwise

_ADDRESS = r"(?<![^-./])[0-9]{1,3}(?:[-.][0-9]{1,3}){3}(?![^-./])"
_PIECE = re.compile(rf"{_ADDRESS}|[^-./]+")
_NUMBERED = re.compile(r"([0-9]{0,5})(?![0-9])(.*)", re.DOTALL)
_is_address = re.compile(_ADDRESS).fullmatch
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# The limits of labels and of domain names.
_LIMITS = (63, 253)
# Letters of the HMAC in each piece: as many as leave every name within its limit.
_TAILS = (4, 2, 0)
_OPAQUE_LETTERS = 20
# Pieces that stay: what controllers add to the names of jobs and pods, and how they call the roles of pods.
PUBLIC_PIECES = (
    *("chief", "evaluator", "extended", "head", "kserve", "launcher", "leader", "master", "mn", "node", "prefill"),
    *("ps", "resources", "router", "scheduler", "trainer", "worker"),
)


class KeyedHash:
    """Stand-ins for texts without order: functions of the text and a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def letters(self, text: str, number: int) -> str:
        """So many letters."""
        value = int.from_bytes(self._digest("letters", text), "big")
        found = []
        for _ in range(number):
            value, index = divmod(value, len(_LETTERS))
            found.append(_LETTERS[index])
        return "".join(found)

    def uuid(self, text: str) -> str:
        """A UUID in lower case."""
        return str(uuid.UUID(bytes=self._digest("uuid", text)[:16], version=4))

    def opaque(self, text: str) -> str:
        """A stand-in that says what it is; an empty text stays."""
        return f"redacted-{self.letters(text, _OPAQUE_LETTERS)}" if text else ""

    def _digest(self, purpose: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{purpose}:{text}".encode(errors="surrogatepass"), hashlib.sha256)


class NameTable:
    """The new names of a set of names, and of names composed of their pieces."""

    def __init__(self, names: Iterable[str], keyed: KeyedHash, kept: frozenset[str] = frozenset()) -> None:
        self._kept = kept
        listed = sorted(set(names) - kept)
        rests = sorted({_split(piece)[1] for name in listed for piece in _PIECE.findall(name)} - {""})
        width = len(_in_letters(len(rests), 1))
        for tail in _TAILS:
            self._pieces = {
                rest: _before(rest) + _in_letters(rank, width) + keyed.letters(rest, tail)
                for rank, rest in enumerate(rests)
                if rest not in PUBLIC_PIECES
            }
            self.mapping = {name: self.translate(name) for name in listed}
            if all(len(new) <= _limit(name) for name, new in self.mapping.items()):
                return
        for name, new in self.mapping.items():
            # A name of very many short pieces: its order is lost.
            if len(new) > _limit(name):
                self.mapping[name] = keyed.letters(name, _OPAQUE_LETTERS)

    def __getitem__(self, name: str) -> str:
        """The new name of one of the set. Raises ``KeyError`` for others."""
        return name if name in self._kept else self.mapping[name]

    def translate(self, text: str) -> str:
        """The new form of a text that was composed of names, as ``POD-CLAIM`` is; other pieces of it stay."""
        return text if text in self._kept else _PIECE.sub(self._replace_piece, text)

    def _replace_piece(self, match: re.Match[str]) -> str:
        number, rest = _split(match[0])
        return number + self._pieces.get(rest, rest)


def _split(piece: str) -> tuple[str, str]:
    """The number at the beginning that is kept, and what is replaced."""
    if _is_address(piece):
        return "", piece
    match = _NUMBERED.fullmatch(piece)
    return (match[1], match[2]) if match else ("", piece)


def _before(rest: str) -> str:
    """What a new piece begins with to be between the same two public pieces as the old one, in the order of names."""
    return _BEGINNINGS[bisect(PUBLIC_PIECES, rest)]


def _between(low: str, high: str) -> str:
    """A short text of letters after one piece and before another, which begins neither of them."""
    for length in range(1, len(low) + 1):
        found = low[: length - 1] + chr(ord(low[length - 1]) + 1)
        if found < high and not high.startswith(found) and found[-1] <= "z":
            return found
    return f"{low}a"


_BEGINNINGS = ("a", *(_between(*pair) for pair in pairwise((*PUBLIC_PIECES, "{"))))


def _limit(name: str) -> int:
    return max(len(name), next((limit for limit in _LIMITS if len(name) <= limit), 0))


def _in_letters(number: int, width: int) -> str:
    """A number to base 26 of at least this width."""
    found = ""
    while number or len(found) < width:
        number, digit = divmod(number, len(_LETTERS))
        found = _LETTERS[digit] + found
    return found
