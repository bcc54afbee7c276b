"""Variables of ``cel.bind``, computed when they are first read, once, errors too."""

from __future__ import annotations

from .closures_base import Closure, Frame
from .errors import CelCostError, CelRuntimeError
from .values import Value


class _Pending:
    """A variable that nothing has read."""

    __slots__ = ("init",)

    def __init__(self, init: Closure) -> None:
        self.init = init

    def settle(self, frame: Frame) -> Value:
        """The value, or what stands for its error."""
        try:
            return self.init(frame)
        except CelCostError:
            raise
        except CelRuntimeError as error:
            return _Failed(error)


class _Failed:
    """A variable whose value is an error."""

    __slots__ = ("error",)

    def __init__(self, error: CelRuntimeError) -> None:
        self.error = error


def bind_closure(slot: int, init: Closure, body: Closure) -> Closure:
    """The body, with a variable in a slot."""

    def run(frame: Frame) -> Value:
        frame[slot] = _Pending(init)
        return body(frame)

    return run


def lazy_closure(slot: int) -> Closure:
    """The variable in a slot."""

    def run(frame: Frame) -> Value:
        value = frame[slot]
        if type(value) is _Pending:
            value = frame[slot] = value.settle(frame)
        if type(value) is _Failed:
            raise value.error
        return value

    return run
