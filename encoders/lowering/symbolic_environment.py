"""Variables in scope while an expression is lowered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from .symbolic_values import Symbol

DEVICES = "devices"
"""The variable of expressions over sets of devices."""


class Pending:
    """A variable of ``cel.bind``, whose value is made when it is first read."""

    __slots__ = ("_compute", "_symbol")

    def __init__(self, compute: Callable[[], Symbol]) -> None:
        self._compute = compute
        self._symbol: Symbol | None = None

    def symbol(self) -> Symbol:
        """The value."""
        if self._symbol is None:
            self._symbol = self._compute()
        return self._symbol


_Variables: TypeAlias = Mapping[str, "Symbol | Pending"]


class Environment:
    """Names and their values; never changed, only extended."""

    __slots__ = ("_variables",)

    def __init__(self, variables: _Variables) -> None:
        self._variables = variables

    def with_(self, variables: _Variables) -> Environment:
        """These variables and, where not hidden by them, the ones in scope."""
        return Environment({**self._variables, **variables})

    def symbol(self, name: str) -> Symbol:
        """The value of a variable."""
        found = self._variables[name]
        return found.symbol() if type(found) is Pending else found  # type: ignore[return-value]
