"""Engines by name. An engine answers one question: these claims, on this node, beside what is in use."""

from __future__ import annotations

from collections.abc import Callable

from .attempts import Engine, Session
from .backtracking import Backtracking
from .kube_scheduler import NAME, KubeSchedulerEngine

ENGINES: dict[str, Callable[[Session], Engine]] = {
    "backtracking": Backtracking,
    NAME: KubeSchedulerEngine,
}

# What ``auto`` means until there is more than one way.
AUTO = "backtracking"


def resolve_engine(name: str) -> str:
    """Find the engine that a name stands for. Raises ``ValueError``, one line, for an unknown name."""
    if name == "auto":
        return AUTO
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}, known are: {', '.join(['auto', *ENGINES])}")
    return name
