"""List and map literals with their optional entries."""

from __future__ import annotations

from collections.abc import Sequence

from .closures_base import Closure, Frame
from .closures_select import go_name
from .errors import CelRuntimeError
from .values import CelMap, Optional, Value, put_key


def _optional(value: Value, place: str) -> Optional:
    if type(value) is not Optional:
        raise CelRuntimeError(f"cannot initialize optional {place} from non-optional value {go_name(value)}")
    return value


def list_closure(elements: Sequence[Closure], optional: frozenset[int]) -> Closure:
    """``[a, ?b]``: an empty optional adds nothing."""
    if not optional:
        return lambda frame: [element(frame) for element in elements]

    def run(frame: Frame) -> Value:
        made = []
        for index, element in enumerate(elements):
            value = element(frame)
            if index not in optional:
                made.append(value)
            elif _optional(value, "list element").present:
                made.append(value.value)
        return made

    return run


def map_closure(entries: Sequence[tuple[Closure, Closure]], optional: frozenset[int]) -> Closure:
    """``{k: v, ?k: v}``: an empty optional adds nothing; of equal keys the last wins."""

    def run(frame: Frame) -> Value:
        made: dict[object, Value] = {}
        for index, (key, value) in enumerate(entries):
            name, found = key(frame), value(frame)
            if index in optional:
                if not _optional(found, f"entry '{name}'").present:
                    continue
                found = found.value
            put_key(made, name, found)
        return CelMap.of(made)

    return run
