"""Values of a device's attributes, by name and type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from .slices import Device, DeviceAttribute


class Scalar(NamedTuple):
    """A value with its type: values of two types are never equal."""

    type: str
    value: bool | int | str


class Described(Protocol):
    """A device with its driver, in whatever form it is known."""

    @property
    def driver(self) -> str:
        """The driver's name."""
        raise NotImplementedError

    @property
    def device(self) -> Device:
        """The device with its attributes."""
        raise NotImplementedError


def published(entry: Described, name: str) -> DeviceAttribute | None:
    """Look an attribute up: by its full name, else by its identifier if the domain is the driver's (CON-2)."""
    attributes = entry.device.attributes or {}
    value = attributes.get(name)
    if value is None:
        domain, _, identifier = name.partition("/")
        if domain == entry.driver:
            value = attributes.get(identifier)
    return value


def scalar_of(value: DeviceAttribute) -> Scalar | None:
    """Type and value of a scalar; None for lists and for no value at all."""
    scalars = (
        ("int", value.int_value),
        ("bool", value.bool_value),
        ("string", value.string),
        ("version", value.version),
    )
    return next((Scalar(type_, scalar) for type_, scalar in scalars if scalar is not None), None)


def members_of(value: DeviceAttribute) -> tuple[Scalar, ...]:
    """Type and value of each element; a scalar is the only element of its set (CON-7)."""
    scalar = scalar_of(value)
    if scalar is not None:
        return (scalar,)
    lists: tuple[tuple[str, Sequence[bool | int | str] | None], ...] = (
        ("int", value.ints),
        ("bool", value.bools),
        ("string", value.strings),
        ("version", value.versions),
    )
    type_, elements = next(((type_, elements) for type_, elements in lists if elements is not None), ("", ()))
    return tuple(Scalar(type_, element) for element in elements or ())
