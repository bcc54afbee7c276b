"""Engines by name. An engine answers one question: these claims, on this node, beside what is in use."""

from __future__ import annotations

from collections.abc import Callable

from ..problem.demands import KUBE, STRICT
from .attempts import Engine, Session
from .auto import Auto
from .backtracking import Backtracking
from .cp_sat import CpSat
from .kube_scheduler import NAME, KubeSchedulerEngine

ENGINES: dict[str, Callable[[Session], Engine]] = {
    "auto": Auto,
    "cp-sat": CpSat,
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


def effective_policy(engine: str, policy: str) -> str:
    """Find what errors of expressions really do: ``kube`` needs an engine that visits devices in order."""
    return STRICT if policy == KUBE and engine in _OUT_OF_ORDER else policy
