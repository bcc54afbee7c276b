"""Room for deep expressions: every so many levels an evaluation goes on upon a fresh stack.

Python counts the depth of calls for each thread. An expression nested as deeply as the parser allows needs more than
that, and what calls us may have used some already; threads give the room without touching the interpreter's limit.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

from .closures_base import Closure, Frame
from .cost_meter import current
from .values import Value

R = TypeVar("R")

# Levels of closures upon one stack; a level takes up to five Python frames.
LEVELS = 60


def on_fresh_stack(run: Callable[[], R]) -> R:
    """Run a function in a thread of its own and wait for it; its errors are raised here."""
    results: list[R] = []
    errors: list[BaseException] = []
    meter = current.meter

    def target() -> None:
        current.meter = meter
        try:
            results.append(run())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=target, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def cut(run: Closure) -> Closure:
    """The closure, run upon a fresh stack."""

    def deep(frame: Frame) -> Value:
        return on_fresh_stack(lambda: run(frame))

    return deep
