"""Function libraries of the Kubernetes CEL environment, one module each (cel.md 1.4)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..library import Function

_MODULES = (
    "sizes",
    "conversions",
    "time_parts",
    "strings",
    "string_format",
    "regex",
    "list_folds",
    "lists",
    "sets",
    "optionals",
    "quantities",
    "semvers",
    "networks",
    "urls",
    "formats",
    "includes",
)


@cache
def all_functions() -> tuple[Function, ...]:
    """Every function but the operators; the modules are loaded at the first call. Functions of one name add up."""
    return tuple(function for name in _MODULES for function in import_module(f".{name}", __name__).FUNCTIONS)


if TYPE_CHECKING:
    FUNCTIONS: tuple[Function, ...]


def __getattr__(name: str) -> Any:
    if name == "FUNCTIONS":
        return all_functions()
    raise AttributeError(name)
