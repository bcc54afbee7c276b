"""The engines by name, and what each of them can do."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ...problem.messages import KUBE, STRICT
from .engine import Engine, Optimizer, Session

if TYPE_CHECKING:
    from .engines import NodeCompiler, NodeEngine, OptimizingEngine

# An engine's module is loaded when the engine is made: it brings others with it that the rest can do without.


def auto_engine(session: Session) -> OptimizingEngine:
    """Make the engine ``auto``: cheap proofs, a bounded search, and the solver for what is left."""
    from .auto import SearchThenSolve
    from .engines import OptimizingEngine

    return OptimizingEngine(session, SearchThenSolve(session))


def cp_sat_engine(session: Session) -> OptimizingEngine:
    """Make the engine ``cp-sat``: the solver decides every question, unless counting is enough."""
    from .auto import ProofThenSolve
    from .engines import OptimizingEngine

    return OptimizingEngine(session, ProofThenSolve(session))


def backtracking_engine(session: Session, compiler: NodeCompiler | None = None) -> NodeEngine:
    """Make the engine ``backtracking``, which answers as kube-scheduler would, step by step (section 14).

    ``compiler`` is that of another engine of the session; None: one of its own.
    """
    from .engines import NodeEngine
    from .search import DepthFirstDecider

    return NodeEngine(session, DepthFirstDecider(), compiler)


def kube_scheduler_engine(session: Session) -> Engine:
    """Make the engine ``kube-scheduler``, the scheduler's own allocator in a process beside ours."""
    from .kube_scheduler import KubeSchedulerEngine

    return KubeSchedulerEngine(session)


# They can look for the best answer.
OPTIMIZERS: dict[str, Callable[[Session], Optimizer]] = {"auto": auto_engine, "cp-sat": cp_sat_engine}
ENGINES: dict[str, Callable[[Session], Engine]] = {
    **OPTIMIZERS,
    "backtracking": backtracking_engine,
    "kube-scheduler": kube_scheduler_engine,
}
# They know the scheduler's API, and nothing that goes beyond it.
_UPSTREAM_ENGINES = frozenset({"kube-scheduler"})
# They do not replay the order of a search, and so cannot run into the errors on its way.
_UNORDERED_ENGINES = frozenset({"auto", "cp-sat"})


def check_engine(name: str) -> str:
    """Return the name. Raises ``ValueError``, one line, for an unknown one."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}, known are: {', '.join(ENGINES)}")
    return name


def check_optimizer(name: str, wanted: str = "objective") -> str:
    """Return the name. Raises ``ValueError``, one line, for an engine that takes the first answer it finds.

    Such an engine has no objective, and no audit: its no is the scheduler's, whatever else would fit.
    """
    if check_engine(name) not in OPTIMIZERS:
        raise ValueError(f"engine {name!r} knows no {wanted}, only {' and '.join(OPTIMIZERS)} do")
    return name


# How a model takes an expression over devices (CELC-9).
CEL_ENCODINGS = ("auto", "lower", "table", "lazy")


def check_cel_encoding(name: str) -> str:
    """Return the name. Raises ``ValueError``, one line, for an unknown one."""
    if name not in CEL_ENCODINGS:
        raise ValueError(f"unknown encoding {name!r} of CEL constraints, known are: {', '.join(CEL_ENCODINGS)}")
    return name


def is_upstream(name: str) -> bool:
    """Tell whether an engine knows nothing of groups, nor of entries beyond the API."""
    return name in _UPSTREAM_ENGINES


def effective_policy(engine: str, policy: str) -> str:
    """Find what errors of expressions really do: ``kube`` needs an engine that visits devices in order."""
    return STRICT if policy == KUBE and engine in _UNORDERED_ENGINES else policy


def load_solver(engine: str, stages: bool) -> None:
    """Load the solver's library where it is sure to be needed: that is no part of a search, and takes a second."""
    if engine == "cp-sat" or stages:
        import_module(".optimize", __package__)
