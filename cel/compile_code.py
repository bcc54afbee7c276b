"""What compiling a node gives, and the variables in scope meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from .closures_base import Closure
from .compile_stack import LEVELS, cut
from .values import Value

UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class Code:
    """The closures of a node.

    An *attribute* is a variable, a conditional, or selections from something. Its evaluation costs ``own`` units where
    its value is used (``run``), but not where it is only a part of another attribute (``bare``): a key, a branch of
    a conditional, the operand of more selections. For all other nodes the two closures are the same.
    ``path`` says that an attribute is constant fields of the variable in a slot: slot, name, fields.
    """

    run: Closure
    bare: Closure
    own: int = 0
    attribute: bool = False
    constant: Value = UNKNOWN
    path: tuple[int, str, tuple[str, ...]] | None = None
    depth: int = 1
    """Levels of closures since the last fresh stack."""


def plain(run: Closure, *parts: Code, constant: Value = UNKNOWN) -> Code:
    """The code of a node that is no attribute, made of these parts."""
    return Code(run, run, constant=constant, depth=depth_over(parts))


def depth_over(parts: Sequence[Code]) -> int:
    """The depth of what is made of these parts."""
    return 1 + max((part.depth for part in parts), default=0)


def bounded(code: Code) -> Code:
    """The code, moved to a fresh stack where it is too deep for the one it would share."""
    if code.depth < LEVELS:
        return code
    return replace(code, run=cut(code.run), bare=cut(code.bare), path=None, depth=1)


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in scope and its slot; ``init`` is set where it is computed when first read."""

    name: str
    slot: int
    init: Code | None = None


class Scope:
    """Variables by name; each has a slot of the frame for itself."""

    def __init__(self, names: Sequence[str]) -> None:
        self._variables = {name: Variable(name, slot) for slot, name in enumerate(names, 1)}
        self.size = 1 + len(names)

    def reserve(self, name: str, init: Code | None = None) -> Variable:
        """A variable that a macro binds, not in scope yet."""
        self.size += 1
        return Variable(name, self.size - 1, init)

    def find(self, name: str) -> Variable | None:
        """The variable of a name."""
        return self._variables.get(name)

    @contextmanager
    def bound(self, *variables: Variable) -> Iterator[None]:
        """The scope of a macro."""
        hidden = self._variables
        self._variables = hidden | {variable.name: variable for variable in variables}
        yield
        self._variables = hidden
