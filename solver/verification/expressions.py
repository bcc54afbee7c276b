"""Expressions evaluated on published devices, nothing taken for granted (section 8, CON-12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from ...cel.devices import DeviceShapes, PreparedDevice
from ...cel.errors import CelCompileError, CelError
from ...cel.program import Program
from ...cel.selector import Selector
from ...cel.types import DEVICE
from ...cel.values import Optional, Value
from ...models.gates import FeatureGates
from ...models.slices import DeviceAttribute
from ...models.versions import Version
from .findings import Finding
from .published import Published

Scalar: TypeAlias = bool | int | str
Typed: TypeAlias = tuple[str, tuple[Scalar, ...], bool]
"""An attribute's base type (empty: it has no value), its elements, and whether it is a list."""

_Compiled = TypeVar("_Compiled")

# Devices are asked about claim by claim, so those from before are hardly asked for again; they are large.
_MOST_PREPARED = 32

_SCALARS = {"int_value": "int", "bool_value": "bool", "string": "string", "version": "version"}
_LISTS = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}
_KINDS = {int: "int", bool: "bool", str: "string", Version: "version"}


def typed(attribute: DeviceAttribute) -> Typed:
    """Read the value of a published attribute."""
    for field, kind in _SCALARS.items():
        value = getattr(attribute, field)
        if value is not None:
            return kind, (value,), False
    for field, kind in _LISTS.items():
        values = getattr(attribute, field)
        if values is not None:
            return kind, tuple(values), True
    return "", (), False


class Expressions:
    """Compiles every text once, and evaluates it once on every device it is asked about."""

    def __init__(self, gates: FeatureGates) -> None:
        # The stable variant has never heard of devices that can be shared (FEAT-3).
        self._hides_sharing = gates.variant == "stable"
        self._shapes = DeviceShapes()
        self._devices: dict[int, PreparedDevice] = {}
        self._selectors: dict[str, Selector | CelError] = {}
        self._derivations: dict[str, Program | CelError] = {}
        self._answers: dict[tuple[str, int], Finding | None] = {}

    def refuses(self, expression: str, entry: Published) -> Finding | None:
        """Why a selector refuses the device, if it does: it is false (DEV-3) or an error (CEL-6)."""
        key = expression, id(entry.device)
        if key not in self._answers:
            self._answers[key] = self._refuses(expression, entry)
        return self._answers[key]

    def _refuses(self, expression: str, entry: Published) -> Finding | None:
        selector = _compiled(self._selectors, expression, Selector.compile)
        result = selector if isinstance(selector, CelError) else selector.evaluate(self._device(entry))
        if isinstance(result, CelError):
            return Finding("CEL-6", f"{expression}: {result}", fatal=True)
        return None if result else Finding("DEV-3", f"{expression} is false")

    def refuses_together(self, expression: str, entries: Sequence[Published]) -> Finding | None:
        """Why an expression over ``devices`` refuses these, in result order, if it does (CELC-2 to CELC-4)."""
        # Few claims have any.
        from ...cel.device_sets import DeviceSetExpression

        try:
            result = DeviceSetExpression(expression).result([self._device(entry) for entry in entries])
        except CelCompileError as error:
            return Finding("CELC-1", f"{expression}: {error}")
        if isinstance(result, CelError):
            return Finding("CELC-4", f"{expression}: {result}")
        return None if result else Finding("CELC-2", f"{expression} is false")

    def derived(self, expression: str, entry: Published) -> Typed | Finding:
        """Compute the value that an expression gives an attribute of the device, or the error (CON-12)."""
        program = _compiled(self._derivations, expression, _derivation)
        try:
            if isinstance(program, CelError):
                raise program
            return _typed_value(program.evaluate({"device": self._device(entry).cel_value}))
        except CelError as error:
            return Finding("CON-12", f"{expression}: {error}")

    def _device(self, entry: Published) -> PreparedDevice:
        key = id(entry.device)
        if key not in self._devices:
            if len(self._devices) >= _MOST_PREPARED:
                self._devices.clear()
            device = entry.device
            if self._hides_sharing:
                device = msgspec.structs.replace(device, allow_multiple_allocations=None)
            self._devices[key] = self._shapes.prepare(device, entry.driver)
        return self._devices[key]


def _compiled(
    known: dict[str, _Compiled | CelError], text: str, compile_: Callable[[str], _Compiled]
) -> _Compiled | CelError:
    if text not in known:
        try:
            known[text] = compile_(text)
        except CelCompileError as error:
            known[text] = error
    return known[text]


def _derivation(text: str) -> Program:
    return Program(text, {"device": DEVICE})


def _typed_value(value: Value) -> Typed | Finding:
    if isinstance(value, Optional):
        value = value.value
    is_list = isinstance(value, (list, tuple))
    elements = value if is_list else [value]
    kinds = {_KINDS.get(type(element), "") for element in elements}
    if "" in kinds or len(kinds) > 1:
        return Finding("CON-12", "the value is neither a scalar nor a list of scalars of one type")
    scalars = tuple(element.text if isinstance(element, Version) else element for element in elements)
    return next(iter(kinds), ""), scalars, is_list
