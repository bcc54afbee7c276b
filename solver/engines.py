"""Engines by name. An engine answers one question: these claims, on this node, beside what is in use."""

from __future__ import annotations

from collections.abc import Callable

from ..problem.demands import KUBE, STRICT
from .attempts import Engine, Optimizer, Session
from .auto import Auto
from .backtracking import Backtracking
from .cp_sat import CpSat
from .kube_scheduler import NAME, KubeSchedulerEngine

# They can look for the best answer.
OPTIMIZERS: dict[str, Callable[[Session], Optimizer]] = {"auto": Auto, "cp-sat": CpSat}

ENGINES: dict[str, Callable[[Session], Engine]] = {
    **OPTIMIZERS,
    "backtracking": Backtracking,
    NAME: KubeSchedulerEngine,
}

# They do not replay the order of a search, and so cannot run into the errors on its way.
_OUT_OF_ORDER = frozenset({"auto", "cp-sat"})


def check_engine(name: str) -> str:
    """Return the name. Raises ``ValueError``, one line, for an unknown one."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}, known are: {', '.join(ENGINES)}")
    return name


def check_optimizer(name: str) -> str:
    """Return the name. Raises ``ValueError``, one line, for an engine that takes the first answer it finds."""
    if check_engine(name) not in OPTIMIZERS:
        raise ValueError(f"engine {name!r} knows no objective, only {' and '.join(OPTIMIZERS)} do")
    return name


def effective_policy(engine: str, policy: str) -> str:
    """Find what errors of expressions really do: ``kube`` needs an engine that visits devices in order."""
    return STRICT if policy == KUBE and engine in _OUT_OF_ORDER else policy
