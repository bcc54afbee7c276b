"""How function libraries declare what they offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .types import Type
from .values import Value

UNBOUNDED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """From ``min`` to ``max``, of sizes or of cost units; ``UNBOUNDED`` is absorbing."""

    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Operand:
    """What the estimator knows of an operand: its static type and its size.

    ``node`` is the ``syntax.Literal`` where the operand is one, else None. ``element`` is the size of the elements of
    a list, where its declaration or type tells.
    """

    type: Type
    size: Range
    node: object = None
    element: Range | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of a call, and the size of its result where the function knows it."""

    cost: Range
    result_size: Range | None = None


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    ``args`` includes the receiver when ``member`` is set. ``apply`` gets the values, receiver first, and returns a
    value or raises ``CelRuntimeError``; it is called only with values whose run-time types fit ``args``.
    ``cost`` gives the run-time cost from the argument values and the result (None: 1, cel.md 1.5);
    ``estimate`` the static one from the operands (None: 1). Neither includes the cost of the operands.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    apply: Callable[..., Value]
    member: bool = False
    cost: Callable[[tuple[Value, ...], Value], int] | None = None
    estimate: Callable[[tuple[Operand, ...]], Estimate] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A name and its overloads; operators go by cel-go's names, e.g. ``_+_``, ``_[_]``, ``@in``."""

    name: str
    overloads: tuple[Overload, ...]
