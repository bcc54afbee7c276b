"""Constraints in Python: a function over the chosen devices of an entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from .quantity import Quantity
from .slices import Device, DeviceAttribute

Scalar: TypeAlias = bool | int | str
_SCALARS = ("int_value", "bool_value", "string", "version")
_LISTS = ("ints", "bools", "strings", "versions")


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A chosen device as a predicate sees it: all that is published but its names, which are the driver's affair.

    Names of attributes and capacities are qualified, ``gpu.example.com/index``; lists are tuples.
    """

    driver: str
    attributes: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)
    capacity: Mapping[str, Decimal] = field(default_factory=dict)


Function = Callable[[Sequence[ChosenDevice]], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Predicate:
    """A Python function as a constraint of every claim that is asked about; no model knows what it says.

    It gets the devices that the entry applies to once all of them are chosen, in result order. It must be a function of
    what it gets, in any order: it is asked once for devices that look alike, and what it answers is remembered.
    ``antimonotone``: what it refuses it refuses with more devices, too, which saves questions.

    ``requests``, ``name`` and ``weight`` are those of an entry (CON-1, SOFT-1).
    """

    function: Function
    requests: tuple[str, ...] | None = None
    name: str = ""
    weight: int | None = None
    antimonotone: bool = False

    @property
    def per(self) -> str:
        """It costs its weight once (SOFT-2)."""
        return "Entry"


def chosen_device(driver: str, device: Device) -> ChosenDevice:
    """Show a device to a predicate."""
    attributes = {_qualified(driver, name): _value(value) for name, value in (device.attributes or {}).items()}
    capacity = {
        _qualified(driver, name): Decimal(Quantity.parse(one.value).nano).scaleb(-9)
        for name, one in (device.capacity or {}).items()
    }
    return ChosenDevice(driver, attributes, capacity)


def _qualified(driver: str, name: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _value(attribute: DeviceAttribute) -> Scalar | tuple[Scalar, ...]:
    scalars = (getattr(attribute, name) for name in _SCALARS)
    found: Scalar | None = next((value for value in scalars if value is not None), None)
    if found is not None:
        return found
    lists = (getattr(attribute, name) for name in _LISTS)
    return tuple(next((value for value in lists if value is not None), ()))
