"""Selectors of devices: boolean expressions over ``device`` (CEL-1 to CEL-9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from .devices import DeviceShape, Path, PreparedDevice, read_paths
from .errors import CelCompileError, CelError, CelRuntimeError
from .parser import require_text
from .program import Program, bool_result, with_compilation_prefix, with_hint

COST_LIMIT = 1_000_000
# A selector that may cost no more is done long before a deadline could matter.
_QUICK = 10_000
_Key: TypeAlias = Callable[[tuple[Any, ...]], Any]
_Memo: TypeAlias = tuple[_Key, dict[Any, "bool | CelError"]]


class Selector:
    """A compiled selector.

    Results are remembered by what the expression can see of a device (its ``read_paths``): devices that agree in that
    are evaluated once. Pickled, it is its text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.program, self.projection, self._quick = _compiled(require_text(text))
        except CelCompileError as error:
            raise with_compilation_prefix(error) from None
        self._memos: WeakKeyDictionary[DeviceShape, _Memo] = WeakKeyDictionary()

    @classmethod
    def compile(cls, text: str) -> Selector:
        """The selector of a text; ``CelCompileError`` (CEL-5, CEL-6)."""
        return cls(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Selector, (self.text,)

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"

    def matches(self, device: PreparedDevice, *, deadline: float | None = None) -> bool:
        """Whether the selector takes the device; raises what CEL-6 makes fatal, or ``CelDeadlineError``."""
        result = self.result(device, deadline=deadline)
        if result is True or result is False:
            return result
        raise result.with_traceback(None)

    def result(self, device: PreparedDevice, *, deadline: float | None = None) -> bool | CelError:
        """As ``matches``, but the error is a value; ``CelDeadlineError`` is raised."""
        if device.error is not None:
            return CelRuntimeError(device.error)
        key, results = self._memos.get(device.shape) or self._memo(device.shape)
        seen = key(device.values)
        found = results.get(seen)
        if found is None:
            found = results[seen] = self.evaluate(device, deadline=deadline)
        return found

    def matches_all(self, devices: Iterable[PreparedDevice], *, deadline: float | None = None) -> list[bool | CelError]:
        """The result for each device, an error where ``matches`` would raise it."""
        shape: DeviceShape | None = None
        results: dict[Any, bool | CelError] = {}
        key: _Key = _empty_key
        found = []
        for device in devices:
            if device.shape is not shape:
                shape = device.shape
                key, results = self._memos.get(shape) or self._memo(shape)
            result = results.get(key(device.values)) if device.error is None else None
            found.append(self.result(device, deadline=deadline) if result is None else result)
        return found

    def evaluate(self, device: PreparedDevice, *, deadline: float | None = None) -> bool | CelError:
        """Evaluate on a device, remembering nothing; an error is returned, ``CelDeadlineError`` raised."""
        try:
            value = device.cel_value
            if self._quick and not device.oversized:
                return bool_result(self.program.evaluate_quickly([value], deadline=deadline))
            return bool_result(self.program.evaluate({"device": value}, deadline=deadline))
        except CelRuntimeError as error:
            return with_hint(error)

    def _memo(self, shape: DeviceShape) -> _Memo:
        positions = sorted({position for path in self.projection for position in shape.positions(path)})
        memo = self._memos[shape] = (itemgetter(*positions) if positions else _empty_key, {})
        return memo


@lru_cache(maxsize=1024)
def _compiled(text: str) -> tuple[Program, frozenset[Path], bool]:
    """The program, what it can see of a device, and whether it is quick; all of it costs far more than evaluating."""
    program = Program(text)
    return program, read_paths(program.checked.tree), program.estimate.max <= _QUICK


def _empty_key(_values: tuple[Any, ...]) -> None:
    return None
