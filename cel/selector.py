"""Boolean expressions over ``device`` (selectors, CEL-1 to CEL-9) or over ``devices`` (constraints, KEP-5254).

The analysis of constraints is imported when the first one is compiled, because most runs have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from .cost import device_set_sizes
from .devices import DeviceShape, Path, PreparedDevice, read_paths
from .environment import MOST_DEVICES, device_set_environment
from .errors import CelCompileError, CelError, CelRuntimeError
from .meter import COST_LIMIT
from .parser import require_text
from .program import Program, bool_result, unwrap_error, with_compilation_prefix, with_hint

if TYPE_CHECKING:
    from .order_flow import Dependence

# A selector that may cost no more, and is no longer, is done long before a deadline could matter: a step of a loop
# costs three units at least, and does no more than is written.
_QUICK, _QUICK_WORK = 10_000, 1_000_000
_Key: TypeAlias = Callable[[tuple[Any, ...]], Any]
_Memo: TypeAlias = tuple[_Key, dict[Any, "bool | CelError"]]


def compile_selector(text: str) -> Selector:
    """The selector of a text; ``CelCompileError`` (CEL-5, CEL-6)."""
    return unwrap_error(_selector(require_text(text)))


@lru_cache(maxsize=1024)
def _selector(text: str) -> Selector | CelCompileError:
    try:
        return Selector(text)
    except CelCompileError as error:
        return error


class _DeviceExpression:
    """A compiled expression that is pickled as its text."""

    text: str

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"


class Selector(_DeviceExpression):
    """A compiled selector (CEL-1 to CEL-9).

    Results are remembered by what the expression can see of a device (its ``read_paths``): devices that agree in that
    are evaluated once.
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
    return program, read_paths(program.checked.tree), _is_quick(text, program.estimate.max)


def _is_quick(text: str, most: int) -> bool:
    """Whether an expression that may cost so much surely takes little time, so that nothing needs to be counted."""
    return most <= _QUICK and most * len(text) <= _QUICK_WORK


def _empty_key(_values: tuple[Any, ...]) -> None:
    return None


class DeviceSetExpression(_DeviceExpression):
    """A compiled expression over ``devices``, the list of all devices a constraint applies to, in result order.

    The caller sees to it that all devices are there, because a part of them proves nothing (CELC-3).
    """

    def __init__(self, text: str) -> None:
        """Compile, for a result of bool or dyn; ``CelCompileError`` (CELC-1)."""
        self.text = text
        try:
            self.program, self._dependence, self._quick = _compile_device_set(require_text(text))
        except CelCompileError as error:
            raise with_compilation_prefix(error) from None

    @property
    def reads(self) -> frozenset[Path]:
        """What the result can depend on of a device; ``()`` is all of it, as where devices are compared (CELC-5)."""
        return self._dependence.reads

    @property
    def compares_devices(self) -> bool:
        """Whether devices themselves are compared, as values (CELC-5); or may be, in a function or a map."""
        return self._dependence.compares

    @property
    def is_order_sensitive(self) -> bool:
        """Whether the order of ``devices`` can matter, to the result or to whether there is one (CELC-7).

        ``min``, ``max`` and ``distinct`` are taken for free of it, as they are where devices agree in the type of an
        attribute; ``is_order_sensitive_among`` looks at the devices. An expression that may exceed the limit of cost
        counts as order-sensitive, because it may exceed it in one order only.
        """
        return self._dependence.ordered or self.program.estimate.max > COST_LIMIT

    def is_order_sensitive_among(self, devices: Iterable[PreparedDevice]) -> bool:
        """As ``is_order_sensitive``, for sets of these devices, whatever the types of their attributes."""
        return self.is_order_sensitive or not self._dependence.agrees_for(devices)

    def result(self, devices: Sequence[PreparedDevice], *, deadline: float | None = None) -> bool | CelError:
        """Evaluate: an error is returned, but ``CelDeadlineError`` raised (CELC-4).

        ``deadline`` is a time of ``time.monotonic``. A device that no expression can run on is the error (CEL-3).
        """
        unreadable = next((device.error for device in devices if device.error is not None), None)
        if unreadable is not None:
            return CelRuntimeError(unreadable)
        try:
            values = [device.cel_value for device in devices]
            if self._is_quick(len(devices)) and not any(device.oversized for device in devices):
                return bool_result(self.program.evaluate_quickly([values], deadline=deadline))
            return bool_result(self.program.evaluate({"devices": values}, deadline=deadline))
        except CelRuntimeError as error:
            return with_hint(error)

    def _is_quick(self, count: int) -> bool:
        """Whether evaluating on so many devices surely costs little: then nothing needs to be counted."""
        quick = self._quick.get(count)
        if quick is None:
            most = self.program.estimate_with(device_set_sizes(count)).max
            quick = count <= MOST_DEVICES and _is_quick(self.text, most)
            self._quick[count] = quick
        return quick


@lru_cache(maxsize=1024)
def _compile_device_set(text: str) -> tuple[Program, Dependence, dict[int, bool]]:
    """The program, what it depends on, and which numbers of devices surely cost little: dearer than evaluating."""
    from .order_analysis import analyse_dependence  # most runs have no such expression

    program = Program(text, scope=device_set_environment)
    return program, analyse_dependence(program.checked), {}
