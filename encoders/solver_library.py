"""CP-SAT as its compiled library has it: models as protos, and one run on a proto.

The Python layer above it, ``cp_model``, is not loaded: drasat writes protos itself, and the layer brings numpy and
pandas, which takes seven times as long as the library. A run does what ``cp_model.CpSolver`` does.

Native modules whose loading Ctrl-C stops are broken for the rest of the process, or lose the interrupt. Ctrl-C is
therefore held back until they are loaded. Numpy and MathOpt are loaded when they are used first: many plans need
neither.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock, current_thread, main_thread
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the end. Only the main thread gets it, so that others have nothing to hold back."""
    if current_thread() is not main_thread():
        yield
        return
    held: list[FrameType | None] = []
    handler = signal.signal(signal.SIGINT, lambda _number, frame: held.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
    if held and callable(handler):
        handler(signal.SIGINT, held[0])


with defer_interrupts():
    from ortools.sat.python import cp_model_helper as cp_sat

__all__ = ["BoolArray", "CpSatRun", "FloatArray", "IntArray", "cp_sat", "defer_interrupts", "mathopt", "np"]


class LazyLibrary(ModuleType):
    """A library that is loaded when something of it is used first."""

    def __getattr__(self, name: str) -> Any:
        with defer_interrupts():
            library = import_module(self.__name__)
        self.__dict__.update(vars(library))
        return getattr(library, name)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]
else:
    mathopt, np = LazyLibrary("ortools.math_opt.python.mathopt"), LazyLibrary("numpy")
BoolArray: TypeAlias = "NDArray[np.bool_]"
IntArray: TypeAlias = "NDArray[np.int64]"
FloatArray: TypeAlias = "NDArray[np.float64]"


class CpSatRun:
    """One run of the solver with its ``parameters``; another thread may stop it.

    ``on_bound`` is called with every better bound on the objective, from the solver's thread.
    """

    def __init__(self) -> None:
        self.parameters = cp_sat.SatParameters()
        self.on_bound: Callable[[float], None] | None = None
        self.response: Any = None
        self._run: cp_sat.SolveWrapper | None = None
        self._lock = Lock()

    def solve(self, model: cp_sat.CpModelProto, callback: cp_sat.SolutionCallback | None = None) -> Any:
        """Solve and return the response, which is kept; ``callback`` is called with every solution."""
        run = cp_sat.SolveWrapper()
        with self._lock:
            self._run = run
        run.set_parameters(self.parameters)
        if callback is not None:
            run.add_solution_callback(callback)
        if self.on_bound is not None:
            run.add_best_bound_callback(self.on_bound)
        self.response = run.solve(model)  # type: ignore[no-untyped-call]
        if callback is not None:
            run.clear_solution_callback(callback)
        with self._lock:
            self._run = None
        return self.response

    def stop(self) -> None:
        """Stop the run if it has begun and has not ended."""
        with self._lock:
            if self._run is not None:
                self._run.stop_search()
