"""What an encoder is: a joint rule with a stable id, what it sees of a device, and the rows it posts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .collapsed import Merged

if TYPE_CHECKING:
    from .model import AllocationModel

Signature = Callable[[int], Hashable]
"""What a rule sees of a device: devices of one lot must look equal to every rule."""


class Seeing(Protocol):
    """Whatever must be able to tell devices apart: a rule, or an objective."""

    @property
    def sign(self) -> Callable[[Merged], Signature | None]:
        """Return what it sees of a device, None if it tells none apart."""
        raise NotImplementedError


def sees_nothing(_merged: Merged) -> None:
    """Sign for a rule that only counts."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """A joint rule. The same ``id`` appears in explanations, in result documents and in the docs.

    ``post`` adds the rows. ``sign`` returns what the rule sees of a device, None if it tells none apart in this
    problem; a device that must be spoken of alone signs with its own number. ``sees`` says the same in words, for
    readers: what the rule adds to the signature of a lot; nothing for a rule that only counts.
    """

    id: str
    description: str
    post: Callable[[AllocationModel], None]
    sign: Callable[[Merged], Signature | None] = sees_nothing
    sees: str = ""
