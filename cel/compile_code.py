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


class Scope:
    """Variables by name; each has a slot of the frame for itself."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._slots = {name: (slot, False) for slot, name in enumerate(variables, 1)}
        self.size = 1 + len(variables)

    def reserve(self) -> int:
        """A slot for a variable that a macro binds."""
        self.size += 1
        return self.size - 1

    def find(self, name: str) -> tuple[int, bool] | None:
        """The slot of a variable, and whether it is computed lazily."""
        return self._slots.get(name)

    @contextmanager
    def bound(self, *variables: tuple[str, int, bool]) -> Iterator[None]:
        """The scope of a macro: names, slots, and whether they are computed lazily."""
        hidden = {name: self._slots.get(name) for name, _, _ in variables}
        self._slots |= {name: (slot, lazy) for name, slot, lazy in variables}
        yield
        for name, before in hidden.items():
            if before is None:
                del self._slots[name]
            else:
                self._slots[name] = before
