"""Choosing among the overloads of a function by the types that values turn out to have."""

from __future__ import annotations

from collections.abc import Sequence

from .declarations import Overload
from .errors import CelRuntimeError
from .types import DURATION, Type
from .values import Duration, Value, runtime_type, type_name

# What a type can do decides how cel-go words a refusal: types with the operator's trait, or with
# methods of their own, say just "no such overload".
_RECEIVERS = frozenset({"string", "timestamp", "duration"})
_SCALARS = frozenset({"int", "uint", "double"})
_TRAITS: dict[str, frozenset[str]] = {
    "_+_": _SCALARS | _RECEIVERS | {"bytes", "list"},
    "_-_": _SCALARS | _RECEIVERS,
    "_*_": _SCALARS | _RECEIVERS,
    "_/_": _SCALARS | _RECEIVERS,
    "_%_": frozenset({"int", "uint"}) | _RECEIVERS,
    "-_": frozenset({"int", "double", "bool"}) | _RECEIVERS,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _SCALARS | _RECEIVERS | {"bool", "bytes"}),
    **dict.fromkeys(("size", "sort", "@sortByAssociatedKeys"), _RECEIVERS),
    "matches": _RECEIVERS,
}
_QUALIFIED = frozenset({"flatten"})
_SIMPLE_NAMES = frozenset({"!_", "@in", "_==_", "_!=_", "startsWith", "endsWith", "contains"})
# What cel-go can do, but declares to no type checker.
_UNDECLARED = {"-_": (Overload("negate_duration", (DURATION,), DURATION, lambda span: Duration.checked(-span.ns)),)}


def no_overload_error(name: str, args: Sequence[Value]) -> CelRuntimeError:
    """The error of a function that has no overload for the arguments, worded as cel-go does."""
    able = _TRAITS.get(name)
    if name in _SIMPLE_NAMES or (able is not None and runtime_type(type(args[0])).name in able):
        return CelRuntimeError("no such overload")
    if able is not None:
        return CelRuntimeError(f"no such overload: {name}")
    types = [type_name(arg) for arg in args]
    receiver = f"{types.pop(0)}." if name in _QUALIFIED else ""
    return CelRuntimeError(f"no such overload: {receiver}{name}({', '.join(types)})")


class Dispatcher:
    """The overloads of a function that take so many arguments, by the Python types of those."""

    __slots__ = ("_found", "name", "overloads", "prepared")

    def __init__(self, name: str, overloads: Sequence[Overload], arity: int, *, member: bool, prepared: bool) -> None:
        self.name = name
        self.prepared = prepared
        """Whether cel-go compiles a constant argument, a pattern, beforehand; it then calls in another way."""
        declared = (*overloads, *_UNDECLARED.get(name, ()))
        self.overloads = tuple(o for o in declared if len(o.args) == arity and o.member == member)
        self._found: dict[tuple[type, ...], Overload | None] = {}

    @property
    def first(self) -> Overload | None:
        """The overload declared first."""
        return self.overloads[0] if self.overloads else None

    def overload(self, args: Sequence[Value]) -> Overload:
        """The overload for the arguments; ``CelRuntimeError`` (no such overload) when there is none."""
        types = tuple(map(type, args))
        try:
            found = self._found[types]
        except KeyError:
            found = self._found[types] = self._search(types)
        if found is None:
            raise CelRuntimeError("no such overload") if self.prepared else no_overload_error(self.name, args)
        return found

    def binary(self, a: Value, b: Value) -> Value:
        """The function of two arguments."""
        found = self._found.get((type(a), type(b))) or self.overload((a, b))
        return found.apply(a, b)

    def apply(self, args: Sequence[Value]) -> Value:
        """The function of any number of arguments."""
        return self.overload(args).apply(*args)

    def _search(self, types: tuple[type, ...]) -> Overload | None:
        values = [runtime_type(one) for one in types]
        return next((overload for overload in self.overloads if all(map(_accepts, overload.args, values))), None)


def _accepts(wanted: Type, value: Type) -> bool:
    return wanted.param or wanted.name == "dyn" or wanted.name == value.name
