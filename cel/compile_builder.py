"""Codes of nodes from the codes of their parts: what the compiler of trees and its macros have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .closures import Emitter
from .closures_base import Closure
from .compile_code import UNKNOWN, Code, Scope, Variable, bounded, depth_over, plain
from .compile_dispatch import Dispatcher
from .errors import CelCompileError, CelRuntimeError
from .library import Overload
from .values import Value

# Applied to constants, these are computed beforehand and cost nothing.
_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)  # fmt: skip
# What these give for an empty list only the static type tells.
_BY_STATIC_TYPE = frozenset({"sum"})
# Their second argument is a regular expression.
_PATTERNS = frozenset({"find", "findAll", "matches"})


class Builder:
    """Makes the codes of nodes from those of their parts, with the variables in scope."""

    def __init__(
        self,
        variables: Sequence[str],
        functions: Mapping[str, Sequence[Overload]],
        overloads: Mapping[int, Sequence[Overload]],
        emitter: Emitter,
    ) -> None:
        self.scope = Scope(variables)
        self.emit = emitter
        self._functions = functions
        self._overloads = overloads
        self._dispatchers: dict[tuple[str, int, bool, bool], Dispatcher] = {}

    def constant(self, value: Value) -> Code:
        """A value known beforehand."""
        return plain(self.emit.constant(value), constant=value)

    def attribute(
        self, bare: Closure, own: int, *parts: Code, path: tuple[int, str, tuple[str, ...]] | None = None
    ) -> Code:
        """The code of an attribute."""
        return Code(self.emit.observed(bare, own), bare, own, True, path=path, depth=depth_over(parts))

    def variable(self, variable: Variable) -> Code:
        """A variable of the expression, or one that a macro binds."""
        if variable.init is not None:
            return bounded(self.attribute(self.emit.read_lazy(variable.slot), 1, variable.init))
        bare = self.emit.read(variable.slot, variable.name)
        return self.attribute(bare, 1, path=(variable.slot, variable.name, ()))

    def function(self, name: str, args: Sequence[Code], *, member: bool = False, pos: int = -1) -> Code:
        """A call of a strict function."""
        prepared = name in _PATTERNS and len(args) > 1 and type(args[1].constant) is str
        dispatcher, static = self.dispatcher(name, len(args), member=member, prepared=prepared), self.static(pos)
        if static is not None and name in _BY_STATIC_TYPE:
            dispatcher = Dispatcher(name, (static,), len(args), member=member, prepared=prepared)
        code = plain(self.emit.call(dispatcher, [arg.run for arg in args], static), *args)
        if name in _CONVERSIONS and len(args) == 1 and args[0].constant is not UNKNOWN:
            return self.constant(folded(lambda: dispatcher.apply([args[0].constant])))
        return bounded(code)

    def conditional(self, branches: Sequence[tuple[Code, Code]], otherwise: Code) -> Code:
        """``c1 ? v1 : c2 ? v2 : otherwise``."""
        parts = [part for branch in branches for part in branch]
        closures = [(condition.run, value.bare) for condition, value in branches]
        return bounded(self.attribute(self.emit.conditional(closures, otherwise.bare), 0, *parts, otherwise))

    def bind(self, variable: Variable, body: Code) -> Code:
        """A body with a variable that is computed when first read."""
        assert variable.init is not None
        return bounded(plain(self.emit.bind(variable.slot, variable.init.run, body.run), variable.init, body))

    def dispatcher(self, name: str, arity: int, *, member: bool = False, prepared: bool = False) -> Dispatcher:
        """Find the overloads of a function for so many arguments; see ``Dispatcher``."""
        plain_name = name.removeprefix(".")
        key = (plain_name, arity, member, prepared)
        found = self._dispatchers.get(key)
        if found is None:
            overloads = self._functions.get(plain_name, ())
            found = self._dispatchers[key] = Dispatcher(plain_name, overloads, arity, member=member, prepared=prepared)
        return found

    def static(self, pos: int) -> Overload | None:
        """The overload at a place, where the types leave only one."""
        left = self._overloads.get(pos, ())
        return left[0] if len(left) == 1 else None


def folded(compute: Callable[[], Value]) -> Value:
    """A constant computed beforehand; its error is one of compilation."""
    try:
        return compute()
    except CelRuntimeError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None
    except TypeError:
        raise CelCompileError("program instantiation failed: unsupported key type") from None
