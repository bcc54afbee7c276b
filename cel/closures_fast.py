"""Shorter ways for what selectors are mostly made of: fields of the device, compared with a constant."""

from __future__ import annotations

from .closures_base import Closure, Frame
from .values import Value, equal, unequal


def fast_path(slot: int, keys: tuple[str, ...], slow: Closure) -> Closure:
    """``variable.k1.k2...`` through maps only; everything else, errors too, is left to ``slow``."""
    if len(keys) == 1:
        return _path1(slot, keys[0], slow)
    if len(keys) == 2:
        return _path2(slot, keys[0], keys[1], slow)
    if len(keys) == 3:
        return _path3(slot, *keys, slow)
    return slow


# Values but maps have no ``entries``; an absent variable has none either.


def _path1(slot: int, key: str, slow: Closure) -> Closure:
    def run(frame: Frame) -> Value:
        try:
            return frame[slot].entries[key]
        except (KeyError, AttributeError):
            return slow(frame)

    return run


def _path2(slot: int, first: str, second: str, slow: Closure) -> Closure:
    def run(frame: Frame) -> Value:
        try:
            return frame[slot].entries[first].entries[second]
        except (KeyError, AttributeError):
            return slow(frame)

    return run


def _path3(slot: int, first: str, second: str, third: str, slow: Closure) -> Closure:
    def run(frame: Frame) -> Value:
        try:
            return frame[slot].entries[first].entries[second].entries[third]
        except (KeyError, AttributeError):
            return slow(frame)

    return run


def fast_binary(name: str, left: Closure, right: Closure) -> Closure | None:
    """The closure of an operator that has a shorter way; None where it has not."""
    if name == "_==_":
        return _equal(left, right)
    if name == "_!=_":
        return _not_equal(left, right)
    return None


def _equal(left: Closure, right: Closure) -> Closure:
    def run(frame: Frame) -> Value:
        a, b = left(frame), right(frame)
        return a == b if type(a) is str and type(b) is str else equal(a, b)

    return run


def _not_equal(left: Closure, right: Closure) -> Closure:
    def run(frame: Frame) -> bool:
        return unequal(left(frame), right(frame))

    return run
