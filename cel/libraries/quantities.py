"""``quantity()`` and what can be asked of a quantity."""

from __future__ import annotations

from ...models.quantity import NANO, Quantity
from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, DOUBLE, INT, QUANTITY, STRING
from ..values import register
from .costs import per_length
from .declare import function, method, only


class Sum(Quantity):
    """The result of adding or subtracting.

    Upstream holds it by reference, and its ``==`` fails when such a value stands on the right.
    """

    __slots__ = ()

    @classmethod
    def of(cls, value: Quantity) -> Sum:
        """Mark a quantity as computed."""
        return cls(value.nano, value.format, value.scale, value.small)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    __hash__ = Quantity.__hash__


register(Quantity, QUANTITY)
register(Sum, QUANTITY, by_reference=True)


def _parse(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ValueError as error:
        raise CelRuntimeError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _as_integer(quantity: Quantity) -> int:
    integer = quantity.integer
    if integer is None:
        raise CelRuntimeError("cannot convert value to integer")
    return integer


def _compare(a: Quantity, b: Quantity) -> int:
    return (a.nano > b.nano) - (a.nano < b.nano)


def _whole(number: int) -> Quantity:
    return Quantity(number * NANO, scale=0, small=True)


_TWO = (QUANTITY, QUANTITY)
_WITH_INT = (QUANTITY, INT)

FUNCTIONS: tuple[Function, ...] = (
    only("quantity", function("string_to_quantity", (STRING,), QUANTITY, _parse, **per_length())),
    only("isQuantity", function("is_quantity_string", (STRING,), BOOL, _is_quantity, **per_length())),
    only("sign", function("quantity_sign", (QUANTITY,), INT, lambda q: (q.nano > 0) - (q.nano < 0))),
    only("isGreaterThan", method("quantity_is_greater_than", _TWO, BOOL, lambda a, b: a.nano > b.nano)),
    only("isLessThan", method("quantity_is_less_than", _TWO, BOOL, lambda a, b: a.nano < b.nano)),
    only("compareTo", method("quantity_compare_to", _TWO, INT, _compare)),
    only("asApproximateFloat", method("quantity_get_float", (QUANTITY,), DOUBLE, float)),
    only("asInteger", method("quantity_get_int", (QUANTITY,), INT, _as_integer)),
    only("isInteger", method("quantity_is_integer", (QUANTITY,), BOOL, lambda q: q.integer is not None)),
    Function(
        "add",
        (
            method("quantity_add", _TWO, QUANTITY, lambda a, b: Sum.of(a + b)),
            method("quantity_add_int", _WITH_INT, QUANTITY, lambda a, b: Sum.of(a + _whole(b))),
        ),
    ),
    Function(
        "sub",
        (
            method("quantity_sub", _TWO, QUANTITY, lambda a, b: Sum.of(a - b)),
            method("quantity_sub_int", _WITH_INT, QUANTITY, lambda a, b: Sum.of(a - _whole(b))),
        ),
    ),
)
