"""Constraint entries compiled to tokens: equal values are equal numbers (section 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from ..models.attribute_values import Scalar, members_of, published, scalar_of
from ..models.slices import DeviceAttribute
from .asks import Ask
from .entries import Posed
from .messages import Blank, Message
from .profiles import Profile
from .readings import Reading, reading_of
from .records import Constraint, Failure
from .selectors import ExpressionError, Expressions

# In scalar mode a list or a value of no type: may come first, and nothing like it later (CON-8, CON-9).
ODD = -1

Kind = Literal["matchAttribute", "distinctAttribute"]


class Tokens:
    """Numbers for the values of one constraint: one a value, or in set mode one bit a value."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._numbers: dict[object, int] = {}
        self.of: Callable[[DeviceAttribute], int | None] = self._explicit if reading.explicit else self._plain

    def _plain(self, value: DeviceAttribute) -> int:
        """Return the token of any value; without semantics only an attribute that is missing has none."""
        if self._reading.sets:
            return self._bits(members_of(value))
        scalar = scalar_of(value)
        return ODD if scalar is None else self._number(scalar)

    def _explicit(self, value: DeviceAttribute) -> int | None:
        """Return the token of what is a value to these semantics, None for what is none (SEM-2, SEM-4)."""
        reading, members = self._reading, members_of(value)
        scalar = None if reading.coerce else scalar_of(value)
        if reading.sets:
            bits = 0 if scalar else self._bits(members)
            return bits if bits.bit_count() >= reading.min_size else None
        if scalar:
            return self._number(scalar)
        return self._number(tuple(members) if reading.ordered else frozenset(members)) if members else None

    def _bits(self, members: Iterable[Scalar]) -> int:
        return sum(1 << self._number(member) for member in dict.fromkeys(members))

    def _number(self, value: object) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


class Derivation:
    """Attributes that an ask computes on its candidates, for constraints only (CON-12)."""

    def __init__(self, ask: Ask, expressions: Expressions) -> None:
        self._expressions = expressions
        # Of two with one name the later counts.
        self._texts = {derived.name: derived.expression for derived in ask.spec.derived_attributes or ()}

    def covers(self, attribute: str) -> bool:
        """Tell whether the ask derives this attribute; then what the device publishes does not matter."""
        return attribute in self._texts

    def value(self, attribute: str, profile: Profile) -> DeviceAttribute | Failure:
        """Compute the attribute."""
        result = self._expressions.derive(self._texts[attribute], profile)
        if not isinstance(result, ExpressionError):
            return result
        name = f"derived attribute {attribute}"
        message: Message = (f"evaluate {name} on device ", Blank.DEVICE, f" failed: {result.text}")
        if result.compiling:
            message = (f"compile {name} failed: {result.text}",)
        return Failure("derivedAttribute", f"{name}: {result.text}", message)


class Values:
    """The values of the attributes that entries name, on all devices of a shape: each is read once in each way."""

    def __init__(self, profiles: Sequence[Profile], sets: bool, expressions: Expressions) -> None:
        self.sets = sets
        self.profiles = profiles
        self.expressions = expressions
        self._read: dict[tuple[str, Reading], tuple[Tokens, dict[int, int]]] = {}

    def of(self, name: str, reading: Reading) -> tuple[Tokens, dict[int, int]]:
        """Return the numbers of an attribute's values, and the published ones by device."""
        key = name, reading
        read = self._read.get(key)
        if read is None:
            numbers = Tokens(reading)
            read = self._read[key] = numbers, _published(name, self.profiles, numbers)
        return read


def compile_constraint(
    posed: Posed, kind: Kind, claim: int, asks: Iterable[tuple[int, Ask]], values: Values
) -> Constraint:
    """Give every device a token, for each numbered ask that the entry applies to. Raises ``FatalError`` (SEM-1)."""
    entry = posed.entry
    name = (entry.match_attribute if kind == "matchAttribute" else entry.distinct_attribute) or ""
    reading = reading_of(entry, claim, posed.label, values.sets)
    numbers, plain = values.of(name, reading)
    tokens: dict[int, dict[int, int]] = {}
    errors: dict[int, dict[int, Failure]] = {}
    for index, ask in asks:
        derivation = Derivation(ask, values.expressions)
        if derivation.covers(name):
            tokens[index], errors[index] = _derived(name, derivation, values.profiles, numbers)
        else:
            tokens[index] = plain
    return Constraint(
        claim,
        kind,
        name,
        reading.sets,
        tokens,
        errors,
        posed.position,
        reading.min_size,
        reading.overlap,
        listed=reading.explicit and reading.sets and not reading.coerce,
        label=posed.label,
    )


def _published(name: str, profiles: Sequence[Profile], numbers: Tokens) -> dict[int, int]:
    values = ((device, published(profile, name)) for device, profile in enumerate(profiles))
    return {device: token for device, value in values if value is not None and (token := numbers.of(value)) is not None}


def _derived(
    name: str, derivation: Derivation, profiles: Sequence[Profile], numbers: Tokens
) -> tuple[dict[int, int], dict[int, Failure]]:
    tokens: dict[int, int] = {}
    errors: dict[int, Failure] = {}
    for device, profile in enumerate(profiles):
        value = derivation.value(name, profile)
        if isinstance(value, Failure):
            errors[device] = value
        elif (token := numbers.of(value)) is not None:
            tokens[device] = token
    return tokens, errors


def plainest(constraint: Constraint) -> Constraint:
    """Write sets of one member each as scalars, which say the same and let more claims be merged."""
    if not constraint.sets or constraint.overlap:
        return constraint
    # Demands that are alike share one table, and go on to do so.
    tables = {id(table): table for table in constraint.tokens.values()}
    if any(bits & (bits - 1) for table in tables.values() for bits in table.values()):
        return constraint
    scalars = {key: {device: bits.bit_length() for device, bits in tables[key].items() if bits} for key in tables}
    return replace(constraint, sets=False, tokens={one: scalars[id(table)] for one, table in constraint.tokens.items()})
