"""Switch off parts of the solver, one at a time, and measure with and without them in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from unittest.mock import patch

Measured = TypeVar("Measured")
Row = tuple[str, ...]
# Names of the parts that are switched off; all of them where there are none.
CHOSEN: list[str] = []


@dataclass(frozen=True, slots=True)
class Part:
    """Something that can be switched off: its owner, its name there, and what takes its place."""

    name: str
    owner: Any
    attribute: str
    instead: Any
    also: tuple[Part, ...] = ()

    @contextmanager
    def off(self) -> Iterator[None]:
        """Do without it."""
        with ExitStack() as stack:
            for one in (self, *self.also):
                stack.enter_context(patch.object(one.owner, one.attribute, one.instead))
            yield


@contextmanager
def noted(parts: Sequence[Part], used: set[str]) -> Iterator[None]:
    """Note which parts anything asks for."""
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(patch.object(part.owner, part.attribute, _noting(part, used)))
        yield


def _noting(part: Part, used: set[str]) -> Callable[..., Any]:
    original = getattr(part.owner, part.attribute)

    def run(*arguments: Any, **options: Any) -> Any:
        used.add(part.name)
        return original(*arguments, **options)

    return run


def chosen(parts: Sequence[Part]) -> list[Part]:
    """The parts that are wished for."""
    return [part for part in parts if part.name in CHOSEN or not CHOSEN]


def in_turns(parts: Sequence[Part], turns: int, measure: Callable[[], Measured]) -> dict[str, list[Measured]]:
    """Measure with everything, and without each part, one after the other and all of it again."""
    found: dict[str, list[Measured]] = {}
    for _ in range(turns):
        found.setdefault("", []).append(measure())
        for part in chosen(parts):
            with part.off():
                found.setdefault(part.name, []).append(measure())
    return found
