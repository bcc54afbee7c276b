"""Expressions over ``devices`` as conditions (KEP-5254, CELC-2 to CELC-4)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .messages import Message
from .profiles import Profile
from .relations import Member, Trouble
from .selectors import ExpressionError, Expressions

if TYPE_CHECKING:
    from ..cel.device_sets import DeviceSetExpression
    from ..cel.devices import PreparedDevice


@dataclass(frozen=True, slots=True, eq=False)
class CelCondition:
    """An expression, and what each device of the Problem looks like to it.

    ``ordered``: the order of devices can matter, as to some expressions always, and to others where devices do not
    agree in the types of what is read (CELC-7). ``road`` is how a model is to take it: ``auto``, ``lower``,
    ``tabulate`` or ``lazy`` (CELC-9). ``subject`` begins the text of an error.
    """

    expression: DeviceSetExpression
    profiles: tuple[Profile, ...]
    expressions: Expressions
    ordered: bool
    road: str
    subject: Message

    def prepared(self, device: int) -> PreparedDevice:
        """Return the device as expressions see it."""
        return self.expressions.prepared(self.profiles[device])

    def sight(self, device: int) -> Hashable:
        """Return what the expression reads of a device, all of it if it compares devices."""
        return self.expressions.sight(self.expression, self.profiles[device])

    def role(self, demand: int) -> Hashable:
        """Return nothing: an expression does not know which request a device is for."""
        return None

    def judge(self, members: Sequence[Member]) -> bool | Trouble:
        """Evaluate the expression on the devices, in result order."""
        profiles = [self.profiles[device] for _, device in members]
        found = self.expressions.judge(self.expression, profiles, ordered=self.ordered)
        if isinstance(found, ExpressionError):
            return Trouble((*self.subject, f": CEL runtime error: {found.text}"))
        return found

    def renumbered(self, demands: Mapping[int, int]) -> CelCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self
