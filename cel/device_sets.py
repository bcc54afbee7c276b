"""Constraints over sets of devices: boolean expressions over ``devices`` (KEP-5254, CELC-1 to CELC-7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from .devices import Path, PreparedDevice
from .environment import MOST_DEVICES, device_set_environment
from .errors import CelCompileError, CelError, CelRuntimeError
from .meter import COST_LIMIT
from .order_analysis import Dependence, analyse_dependence
from .order_flow import kinds_agree
from .parser import require_text
from .program import Program, bool_result, with_compilation_prefix, with_hint
from .sizes import device_set_sizes

# What may cost no more is done long before a deadline could matter.
_QUICK = 10_000


class DeviceSetExpression:
    """A compiled expression over ``devices``, the list of all devices a constraint applies to, in result order.

    Whether all are there is for the caller to see to: a part of them proves nothing (CELC-3). Pickled, it is its text.
    """

    def __init__(self, text: str) -> None:
        """Compile, for a result of bool or dyn; ``CelCompileError`` (CELC-1)."""
        self.text = text
        try:
            self.program, self._dependence, self._quick = _compiled(require_text(text))
        except CelCompileError as error:
            raise with_compilation_prefix(error) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceSetExpression, (self.text,)

    def __repr__(self) -> str:
        return f"DeviceSetExpression({self.text!r})"

    @property
    def reads(self) -> frozenset[Path]:
        """What the result can depend on of a device; ``()`` is all of it, as where devices are compared (CELC-5)."""
        return self._dependence.reads

    @property
    def compares_devices(self) -> bool:
        """Whether devices themselves are compared, as values (CELC-5); or may be, in a function or a map."""
        return self._dependence.compares

    @property
    def is_order_sensitive(self) -> bool:
        """Whether the order of ``devices`` can matter, to the result or to whether there is one (CELC-7).

        ``min``, ``max`` and ``distinct`` are taken for free of it, as they are where devices agree in the type of an
        attribute; ``is_order_sensitive_among`` looks at the devices. What may exceed the limit of cost may do so in one order
        only.
        """
        return self._dependence.ordered or self.program.estimate.max > COST_LIMIT

    def is_order_sensitive_among(self, devices: Iterable[PreparedDevice]) -> bool:
        """As ``is_order_sensitive``, for sets of these devices, whatever the types of their attributes."""
        return self.is_order_sensitive or not kinds_agree(self._dependence.demands, devices)

    def result(self, devices: Sequence[PreparedDevice], *, deadline: float | None = None) -> bool | CelError:
        """Evaluate: an error is returned, but ``CelDeadlineError`` raised (CELC-4).

        ``deadline`` is a time of ``time.monotonic``. A device that no expression can run on is the error (CEL-3).
        """
        unreadable = next((device.error for device in devices if device.error is not None), None)
        if unreadable is not None:
            return CelRuntimeError(unreadable)
        try:
            values = [device.cel_value for device in devices]
            if self._is_quick(len(devices)) and not any(device.oversized for device in devices):
                return bool_result(self.program.evaluate_quickly([values], deadline=deadline))
            return bool_result(self.program.evaluate({"devices": values}, deadline=deadline))
        except CelRuntimeError as error:
            return with_hint(error)

    def _is_quick(self, count: int) -> bool:
        """Whether evaluating on so many devices surely costs little: then nothing needs to be counted."""
        quick = self._quick.get(count)
        if quick is None:
            quick = count <= MOST_DEVICES and self.program.estimate_with(device_set_sizes(count)).max <= _QUICK
            self._quick[count] = quick
        return quick


@lru_cache(maxsize=1024)
def _compiled(text: str) -> tuple[Program, Dependence, dict[int, bool]]:
    """The program, what it depends on, and which numbers of devices surely cost little: dearer than evaluating."""
    program = Program(text, scope=device_set_environment)
    return program, analyse_dependence(program.checked), {}
