"""Expressions on devices, with errors as values (CEL-5 to CEL-8).

An expression is evaluated once for each profile, and what it does not read does not make it run again: that is up to
the evaluator behind ``Expressions``. An error is remembered like a result; what it does is the caller's policy.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..cel.devices import PreparedDevice
from ..cel.devices_projection import Path
from ..models.claims import DeviceSelector
from ..models.slices import DeviceAttribute
from .messages import Blank, Message
from .profiles import Profile

if TYPE_CHECKING:
    from ..cel.device_sets import DeviceSetExpression


@dataclass(frozen=True, slots=True)
class ExpressionError:
    """Text of an error, of compiling an expression or of running it on a device."""

    text: str
    compiling: bool


class Expressions(Protocol):
    """What evaluates expressions on devices."""

    @property
    def evaluations(self) -> int:
        """How often an expression really ran."""
        raise NotImplementedError

    def test(self, expression: str, profile: Profile) -> bool | ExpressionError:
        """Evaluate a selector."""
        raise NotImplementedError

    def test_all(self, expression: str, profiles: Sequence[Profile]) -> Sequence[bool | ExpressionError]:
        """Evaluate a selector on devices of each of these profiles."""
        raise NotImplementedError

    def derive(self, expression: str, profile: Profile) -> DeviceAttribute | ExpressionError:
        """Compute a derived attribute (CON-12)."""
        raise NotImplementedError

    def reads(self, expression: str) -> frozenset[Path]:
        """Tell which parts of a device a selector can depend on."""
        raise NotImplementedError

    def device_set(self, text: str) -> DeviceSetExpression | ExpressionError:
        """Compile an expression over ``devices`` (CELC-1)."""
        raise NotImplementedError

    def sight(self, expression: DeviceSetExpression, profile: Profile) -> Hashable:
        """Return what an expression over ``devices`` can see of one."""
        raise NotImplementedError

    def prepared(self, profile: Profile) -> PreparedDevice:
        """Return a device of this profile as expressions see it."""
        raise NotImplementedError

    def judge(
        self, expression: DeviceSetExpression, profiles: Sequence[Profile], *, ordered: bool
    ) -> bool | ExpressionError:
        """Evaluate an expression on devices of these profiles (CELC-2), whose order matters or does not."""
        raise NotImplementedError

    def derivation_reads(self, expression: str) -> frozenset[Path]:
        """Tell the same of the expression of a derived attribute."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a list of selectors says: nothing (it matches), which one is false, or the error of one."""

    detail: str = ""
    error: Message = ()


MATCH = Verdict()


def judge(selectors: Sequence[DeviceSelector], subject: Message, profile: Profile, expressions: Expressions) -> Verdict:
    """Ask selectors in order until one is false or fails (CEL-8); ``subject`` begins the text of an error."""
    return judge_all(selectors, subject, (profile,), expressions).get(0, MATCH)


def judge_all(
    selectors: Sequence[DeviceSelector], subject: Message, profiles: Sequence[Profile], expressions: Expressions
) -> dict[int, Verdict]:
    """Ask the same about several devices: verdicts of those that do not match, by their places."""
    found: dict[int, Verdict] = {}
    left: Sequence[int] = range(len(profiles))
    for index, selector in enumerate(selectors):
        text = selector.cel.expression if selector.cel else ""
        results = expressions.test_all(text, [profiles[place] for place in left])
        no, passing = Verdict(text), []
        for place, result in zip(left, results, strict=True):
            if result is True:
                passing.append(place)
            elif isinstance(result, ExpressionError):
                found[place] = Verdict(result.text, _message(subject, index, result))
            else:
                found[place] = no
        left = passing
    return found


def _message(subject: Message, index: int, error: ExpressionError) -> Message:
    if error.compiling:
        return (*subject, f": selector #{index}: CEL compile error: {error.text}")
    return (*subject, f": selector #{index} on device ", Blank.DEVICE, f": CEL runtime error: {error.text}")
