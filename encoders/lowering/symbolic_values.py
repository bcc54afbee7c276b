"""What an expression over ``devices`` may give while the counts of the devices are open.

A *symbol* is a value by cases: conditions on the counts that exclude each other, the *leaf* each of them leads to, and
the condition under which evaluation fails. One of these holds for every vector of counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from ...cel.values import Value
from .sums import FALSE, ONE, TRUE, Handle, Sum


class NotLoweredError(Exception):
    """An expression has no formula: it needs what is not written as one, or more room than allowed."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value that does not depend on the counts."""

    value: Value


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a CEL type (``kind`` is the Python class) that is linear in the counts.

    Quantities are counted in nano units, durations in nanoseconds. ``levels``, where known, are all the values it can
    have, ascending, each with the condition that it is reached or passed; that of the first always holds.
    """

    kind: type
    sum: Sum
    levels: tuple[tuple[Value, Handle], ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """An element of a list: as many copies as there are devices of ``item`` (one for ``ONE``), while ``gate`` holds."""

    value: Symbol
    item: int = ONE
    gate: Handle = TRUE


class Bag:
    """A list whose length depends on the counts; its elements never fail.

    ``ordered`` says that the elements stand in the order of the cells; else nothing may be made of their order.
    """

    def __init__(self, cells: Sequence[Cell], *, ordered: bool = True) -> None:
        self.cells = tuple(cells)
        self.ordered = ordered
        self.remembered: dict[Hashable, Any] = {}
        """What operations found out about the list, under keys of their own."""

    @cached_property
    def is_literal(self) -> bool:
        """Whether the list has one element for each cell, whatever the counts."""
        return self.ordered and all(cell.item == ONE and cell.gate == TRUE for cell in self.cells)


Leaf: TypeAlias = Known | Number | Bag


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A value by cases; ``cases`` and ``error`` exclude each other and one of them holds."""

    cases: tuple[tuple[Handle, Leaf], ...]
    error: Handle = FALSE

    @property
    def only(self) -> Leaf | None:
        """The leaf, where there is but one case and no error."""
        return self.cases[0][1] if self.error == FALSE and len(self.cases) == 1 else None


FAILED: Final = Symbol((), TRUE)


def one(leaf: Leaf) -> Symbol:
    """A symbol of one case."""
    return Symbol(((TRUE, leaf),))


YES: Final = one(Known(True))
NO: Final = one(Known(False))


def known(value: Value) -> Symbol:
    """A symbol that is always this value; for a bool it is ``YES`` or ``NO``."""
    if value is True:
        return YES
    return NO if value is False else one(Known(value))


@dataclass(slots=True)
class Budget:
    """Steps left; each is of the order of a few microseconds."""

    left: int
    ordered: bool = field(default=False)
    """Whether anything read so far depends on the order of the devices."""

    def spend(self, steps: int) -> None:
        """Take steps off; ``NotLoweredError`` when there are no more."""
        self.left -= steps
        if self.left < 0:
            raise NotLoweredError("the expression needs too many steps to lower")
