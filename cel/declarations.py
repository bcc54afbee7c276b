"""What an expression may refer to: functions, variables, types by name, objects with fields.

``Declarations`` puts it all together for a compilation. A function has overloads, each with its signature, what it
computes, and rules of cost. Types may be given as text, e.g. ``map(string, list(int))``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from . import types
from .errors import CelCompileError
from .types import DYN, Type, list_of, map_of, optional_of, type_of
from .values import Value

TYPE_NAMES: Mapping[str, Type] = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "null_type": types.NULL,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "type": Type("type"),
    "optional_type": optional_of(DYN),
    "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "net.IP": types.IP,
    "net.CIDR": types.CIDR,
}
"""The types that have a name in expressions; those of Kubernetes' objects (Quantity, ...) have none."""
OBJECTS: Mapping[Type, Mapping[str, Type] | None] = {
    types.DEVICE: {
        "driver": types.STRING,
        "attributes": map_of(types.STRING, map_of(types.STRING, DYN)),
        "capacity": map_of(types.STRING, map_of(types.STRING, types.QUANTITY)),
        "allowMultipleAllocations": types.BOOL,
    },
    types.QUANTITY: None,
    types.SEMVER: None,
    types.URL: None,
    types.FORMAT: None,
}
"""Fields of object types; None where cel-go knows the type but not what it is made of."""


@dataclass(frozen=True, slots=True)
class Declarations:
    """Functions by name with all their overloads, the types of variables, the fields of objects."""

    functions: Mapping[str, tuple[Overload, ...]]
    variables: Mapping[str, Type]
    fields: Mapping[Type, Mapping[str, Type] | None]
    dotted_functions: frozenset[str]
    """The functions with qualified names, and ``dotted_names`` the variables and types with such."""
    dotted_names: frozenset[str]

    @classmethod
    def build(
        cls,
        functions: Mapping[str, tuple[Overload, ...]],
        variables: Mapping[str, Type],
        fields: Mapping[Type, Mapping[str, Type] | None] = OBJECTS,
    ) -> Declarations:
        """Find the qualified names, and put all together."""
        names = frozenset(name for named in (variables, TYPE_NAMES) for name in named if "." in name)
        return cls(functions, variables, fields, frozenset(name for name in functions if "." in name), names)

    def ident(self, name: str) -> Type | None:
        """The type of a variable or of the name of a type; None where there is none of the name."""
        name = name.removeprefix(".")
        if name in self.variables:
            return self.variables[name]
        named = TYPE_NAMES.get(name)
        return None if named is None else type_of(named)


def by_name(functions: Iterable[Function]) -> dict[str, tuple[Overload, ...]]:
    """The overloads of functions; functions of one name add up."""
    merged: dict[str, tuple[Overload, ...]] = {}
    for function in functions:
        merged[function.name] = merged.get(function.name, ()) + function.overloads
    return merged


UNBOUNDED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """From ``min`` to ``max``, of sizes or of cost units; what would exceed 64 bits stays ``UNBOUNDED``."""

    min: int
    max: int

    @classmethod
    def of(cls, amount: int) -> Range:
        """The range of one number."""
        return cls(amount, amount)

    def __add__(self, other: Range) -> Range:
        return Range(min(self.min + other.min, UNBOUNDED), min(self.max + other.max, UNBOUNDED))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.min * other.min, UNBOUNDED), min(self.max * other.max, UNBOUNDED))

    def __or__(self, other: Range) -> Range:
        """From the lesser minimum to the greater maximum."""
        return Range(min(self.min, other.min), max(self.max, other.max))

    def scaled(self, factor: float) -> Range:
        """A part of each end, rounded up; in floating point, as cel-go computes it."""
        return Range(min(math.ceil(self.min * factor), UNBOUNDED), min(math.ceil(self.max * factor), UNBOUNDED))


ZERO_RANGE, ONE_RANGE, UNKNOWN_RANGE = Range(0, 0), Range(1, 1), Range(0, UNBOUNDED)


@dataclass(frozen=True, slots=True)
class Operand:
    """What the estimator knows of an operand: its static type and its size.

    ``node`` is the ``syntax.Literal`` where the operand is one, else None. ``element`` is the size of the elements of
    a list, where its declaration or type tells.
    """

    type: Type
    size: Range
    node: object = None
    element: Range | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of a call, and the size of its result where the function knows it."""

    cost: Range
    result_size: Range | None = None


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    ``args`` includes the receiver when ``member`` is set. ``apply`` gets the values, receiver first, and returns a
    value or raises ``CelRuntimeError``; it is called only with values whose run-time types fit ``args``.
    ``cost`` gives the run-time cost from the argument values and the result (None: 1, cel.md 1.5);
    ``estimate`` the static one from the operands (None: 1). Neither includes the cost of the operands.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    apply: Callable[..., Value]
    member: bool = False
    cost: Callable[[tuple[Value, ...], Value], int] | None = None
    estimate: Callable[[tuple[Operand, ...]], Estimate] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A name and its overloads; operators go by cel-go's names, e.g. ``_+_``, ``_[_]``, ``@in``."""

    name: str
    overloads: tuple[Overload, ...]


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*")
_TOKEN = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*|[(),]")
_NAMES = {name: type_ for name, type_ in TYPE_NAMES.items() if not type_.params and name != "type"} | {
    "dyn": DYN,
    "null": types.NULL,
    **{opaque.name: opaque for opaque in (types.QUANTITY, types.SEMVER, types.URL, types.FORMAT, types.DEVICE)},
}
_GENERIC = {"list": ("list", 1), "map": ("map", 2), "optional_type": ("optional_type", 1), "type": ("type", 1)}
_GENERIC["optional"] = _GENERIC["optional_type"]
MAX_DEPTH = 20


def parse_type(text: str) -> Type:
    """The type a text stands for; parameters left out are dyn. CelCompileError where it stands for none."""
    parser = _TypeParser(text)
    try:
        parsed = parser.type(MAX_DEPTH)
        parser.expect("")
    except ValueError:
        raise CelCompileError(f"not a type: {text!r:.100}") from None
    return parsed


def declared_types(variables: Mapping[str, Type | str] | None) -> dict[str, Type]:
    """Variables with their types, which may be given as text; CelCompileError for what is no name or no type."""
    if variables is None:
        return {}
    if not isinstance(variables, Mapping):
        raise CelCompileError(f"variables must be a mapping of names to types, not {type(variables).__name__}")
    return {_name(name): _declared(type_) for name, type_ in variables.items()}


def _name(name: object) -> str:
    if isinstance(name, str) and _VARIABLE.fullmatch(name):
        return name
    raise CelCompileError(f"not the name of a variable: {name!r:.100}")


def _declared(type_: object) -> Type:
    if isinstance(type_, Type):
        return type_
    if isinstance(type_, str):
        return parse_type(type_)
    raise CelCompileError(f"not a type: {type_!r:.100}")


class _TypeParser:
    def __init__(self, text: str) -> None:
        compact = "".join(text.split())
        self._tokens = _TOKEN.findall(compact)
        if "".join(self._tokens) != compact:
            self._tokens = []
        self._tokens.append("")

    def expect(self, token: str) -> None:
        if self._tokens.pop(0) != token:
            raise ValueError

    def type(self, depth: int) -> Type:
        name = self._tokens.pop(0)
        if name in _NAMES:
            return _NAMES[name]
        if name not in _GENERIC or not depth:
            raise ValueError
        name, count = _GENERIC[name]
        if self._tokens[0] != "(":
            return Type(name, (DYN,) * count)
        params = []
        for separator in "(" + "," * (count - 1):
            self.expect(separator)
            params.append(self.type(depth - 1))
        self.expect(")")
        return Type(name, tuple(params))
