"""Compiled expressions: programs that are evaluated any number of times, on Python's own objects or on values.

Errors of selectors and of constraints are worded here as upstream words them (CEL-5, CEL-6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

from . import values
from .checker import Checked
from .closures import ABSENT, Emitter, Frame
from .compiler import PATTERNS, Compiled, compile_tree, on_fresh_stack
from .cost import SizeOf, estimate
from .declarations import UNKNOWN_RANGE, Range, declared_types
from .environment import TOO_COSTLY, Environment, dra_environment, generic_environment
from .errors import CelCompileError, CelCostError, CelError, CelRuntimeError
from .meter import COST_LIMIT, Meter, current_meter, metered_work
from .operators import checked_uint
from .parser import parse, require_text
from .syntax import Bind, Call, Macro, Method, Node, Postfix, Step, children
from .types import DYN, Type
from .values import CelMap, Duration, Optional, Timestamp, UInt, Value, type_name

R = TypeVar("R")


def compile(text: str, variables: Mapping[str, Type | str] | None = None, *, check: bool = True) -> Program:  # noqa: A001
    """The program of an expression over variables of the given types (``{"x": "list(int)"}``).

    Lists and maps may be written with values of several types, as in standard CEL; in selectors Kubernetes forbids it.
    With ``check=False`` the text is parsed but not type-checked. Raises ``CelCompileError``.
    """
    return unwrap_error(_program(require_text(text), tuple(declared_types(variables).items()), check))


@lru_cache(maxsize=1024)
def _program(text: str, variables: tuple[tuple[str, Type], ...], check: bool) -> Program | CelCompileError:
    try:
        return Program(text, dict(variables), check=check, mixed_literals=True)
    except CelCompileError as error:
        return error


def unwrap_error(compiled: R | CelCompileError) -> R:
    """What compiling gave; its error is raised."""
    if isinstance(compiled, CelCompileError):
        raise compiled.with_traceback(None)
    return compiled


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an evaluation: a value or an error, and what it cost, in cel-go's units (cel.md 1.5)."""

    value: Value
    error: CelError | None
    cost: int


class Program:
    """An expression that has been checked and can be evaluated, any number of times and from any thread.

    Pickled, it is its text and the declarations of its variables.
    """

    def __init__(
        self,
        text: str,
        variables: Mapping[str, Type] | None = None,
        *,
        check: bool = True,
        mixed_literals: bool = False,
        scope: Callable[[], Environment] = dra_environment,
    ) -> None:
        """Compile; without ``variables`` in the environment of ``scope``, a function of a module (device selectors').

        Raises ``CelCompileError``, and ``CelDeadlineError`` at the deadline of the work around (``metered_work``).
        """
        self.text = text
        self.variables = None if variables is None else dict(variables)
        self._check = check
        self._mixed_literals = mixed_literals
        self._scope = scope
        environment = self._environment = (
            scope() if variables is None else _generic_environment(tuple(variables.items()), mixed_literals)
        )
        self._names = tuple(environment.declarations.variables)
        with metered_work() as meter:
            try:
                self.checked = _on_any_stack(
                    lambda: environment.compile(text) if check else _parse_unchecked(text, environment)
                )
                self._plain: Compiled = self.part(self.checked.tree, self._names)
            except CelCostError:
                late = CelCompileError(f"{TOO_COSTLY}: it takes too long to compile")
                late.steps = meter.steps
                raise late from None
            except CelCompileError as error:
                error.steps = meter.steps
                raise
        # What compiling took, as ``tick`` counts; the same each time.
        self.steps = meter.steps

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(Program, check=self._check, mixed_literals=self._mixed_literals, scope=self._scope)
        return make, (self.text, self.variables)

    def __repr__(self) -> str:
        return f"Program({self.text!r})"

    @property
    def type(self) -> Type:
        """The type of the result, as far as it is known beforehand."""
        return self.checked.type

    @cached_property
    def estimate(self) -> Range:
        """The least and the most that an evaluation may cost, inputs being as large as declared (CLM-6)."""
        return _on_any_stack(lambda: self._environment.estimate(self.checked))

    @cached_property
    def _cost_shows_work(self) -> bool:
        return cost_shows_work(self.checked.tree)

    @cached_property
    def _metered(self) -> Compiled:
        from .metering import MeteredEmitter  # most evaluations need not count

        return self.part(self.checked.tree, self._names, MeteredEmitter())

    def part(self, node: Node, names: Sequence[str], emitter: Emitter | None = None) -> Compiled:
        """A part of the expression, or one made of its parts, as a closure over so-named variables.

        It counts nothing, unless the emitter makes it count.

        What functions it calls and where is as the checker found it for the whole.
        """
        functions = self._environment.declarations.functions
        return compile_tree(node, names, functions, self.checked.overloads, emitter or Emitter())

    def estimate_with(self, sizes: SizeOf, unknown: Range = UNKNOWN_RANGE) -> Range:
        """As ``estimate``, for inputs of other sizes than declared, and values of no declared size."""
        return _on_any_stack(lambda: estimate(self.checked, sizes, unknown))

    def evaluate(self, inputs: Mapping[str, Any] | None = None, *, deadline: float | None = None) -> Value:
        """The value of the expression; ``deadline`` is a time of ``time.monotonic``.

        ``inputs`` are Python objects as the package documents them; a variable without one is an error where it is
        read.

        Raises ``CelRuntimeError``, ``CelCostError`` beyond 1,000,000 units (CLM-6) and ``CelDeadlineError``, which
        comes within a tenth of a second.
        """
        outcome = self.measure(inputs, deadline=deadline)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def measure(
        self, inputs: Mapping[str, Any] | None = None, *, limit: int = COST_LIMIT, deadline: float | None = None
    ) -> Outcome:
        """Evaluate, and say what it cost; never raises."""
        meter = Meter(limit, deadline)
        try:
            value = _on_any_stack(lambda: self._evaluate_metered(meter, self._values({} if inputs is None else inputs)))
        except CelError as error:
            return Outcome(None, error, meter.cost)
        return Outcome(value, None, meter.cost)

    def _evaluate_metered(self, meter: Meter, values: list[Value]) -> Value:
        compiled = self._metered
        meter.restart()
        return _run_with_meter(meter, compiled, compiled.frame(meter, values))

    def evaluate_quickly(self, values: list[Value], *, deadline: float | None = None) -> Value:
        """Evaluate without counting: only for values as small as declared, where ``estimate`` is within the limit.

        Where that does not show all the work, functions count it all the same.
        """
        compiled = self._plain
        if self._cost_shows_work:
            return _on_any_stack(lambda: compiled.run(compiled.frame(None, values)))
        meter = Meter(deadline=deadline)
        return _on_any_stack(lambda: _run_with_meter(meter, compiled, compiled.frame(None, values)))

    def _values(self, inputs: Mapping[str, Any]) -> list[Value]:
        if not isinstance(inputs, Mapping):
            raise CelRuntimeError(f"inputs must be a mapping of names to values, not {type(inputs).__name__}")
        return [from_native(inputs[name]) if name in inputs else ABSENT for name in self._names]


def _run_with_meter(meter: Meter, compiled: Compiled, frame: Frame) -> Value:
    """Evaluate, functions reporting their work to a meter."""
    outer, current_meter.meter = current_meter.meter, meter
    try:
        return compiled.run(frame)
    finally:
        current_meter.meter = outer


def _on_any_stack(run: Callable[[], R]) -> R:
    """Run, and where the caller has used up the stack, once more upon a fresh one."""
    try:
        return run()
    except RecursionError:
        return on_fresh_stack(run)


def _parse_unchecked(text: str, environment: Environment) -> Checked:
    declared = environment.declarations
    return Checked(text, parse(text, declared.dotted_functions, declared.dotted_names), DYN, {}, {})


@lru_cache(maxsize=64)
def _generic_environment(variables: tuple[tuple[str, Type], ...], mixed_literals: bool) -> Environment:
    return generic_environment(dict(variables), mixed_literals=mixed_literals)


HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


def with_compilation_prefix(error: CelCompileError) -> CelCompileError:
    """What upstream says of an expression that does not parse or type-check."""
    if not error.issues:
        return error
    prefixed = CelCompileError(f"compilation failed: {error}")
    prefixed.issues, prefixed.steps = error.issues, error.steps
    return prefixed


def bool_result(value: Value) -> bool:
    """The result, which must be a bool (CEL-5); ``CelRuntimeError``."""
    if value is True or value is False:
        return value
    kind, reason = type_name(value), _not_bool_message(value)
    raise CelRuntimeError(f"CEL result of type {kind} could not be converted to bool: {reason}")


def _not_bool_message(value: Value) -> str:
    """Why a value is no bool, as cel-go words it for its type."""
    while type(value) is Optional and value.present:
        value = value.value
    kind = type_name(value)
    if kind in ("int", "uint"):
        return f"unsupported type conversion from '{kind}' to bool"
    if kind == "string":
        return "unsupported native conversion from string to 'bool'"
    if kind == "type":
        return "type conversion not supported for 'type'"
    return f"type conversion error from {_SOURCES.get(kind) or repr(kind.rpartition('.')[2])} to 'bool'"


_SOURCES = {"list": "list", "map": "map", "double": "Double", "bytes": "Bytes"}


def with_hint(error: CelRuntimeError) -> CelRuntimeError:
    """The error, with advice where a key was missing (CEL-6)."""
    text = str(error)
    if "no such key" not in text:
        return error
    return type(error)(f"{text}. {HINT}")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_NESTING = 100


def from_native(value: Any) -> Value:
    """The value of a Python object.

    Taken as they are: ``None``, ``bool``, ``int`` in int64, ``UInt``, ``float``, ``str``, ``bytes`` and all other
    values of ``drasat.cel.values``. Lists, tuples and mappings are copied. ``datetime`` (naive ones count as UTC)
    becomes a timestamp, ``timedelta`` a duration. Raises ``CelRuntimeError`` for anything else, and for numbers out
    of range.
    """
    try:
        return _convert(value, 0)
    except (CelError, RecursionError):
        raise
    except Exception as error:
        # Mappings of others may fail in any way.
        raise CelRuntimeError(f"value of type {type(value).__name__} cannot be read: {error!r}") from None


def _convert(value: Any, depth: int) -> Value:
    convert = _CONVERSIONS.get(type(value))
    if convert is not None:
        return convert(value, depth)
    if isinstance(value, Mapping) and type(value) is not CelMap:
        return _map(value, depth)
    prepared = getattr(value, "cel_value", None)
    if prepared is not None:
        return prepared
    values.runtime_type(type(value))
    return value


def _int(value: int, _depth: int) -> int:
    if values.INT_MIN <= value <= values.INT_MAX:
        return value
    raise CelRuntimeError(f"integer overflow: {value if abs(value) < 1 << 80 else 'a huge number'} is out of int64")


def _check_depth(depth: int) -> int:
    if depth > _MOST_NESTING:
        raise CelRuntimeError(f"value nested deeper than {_MOST_NESTING} levels")
    return depth + 1


def _list(value: Any, depth: int) -> list[Value]:
    deeper = _check_depth(depth)
    return [_convert(element, deeper) for element in value]


def _map(value: Mapping[Any, Any], depth: int) -> CelMap:
    deeper = _check_depth(depth)
    entries: dict[Any, Value] = {}
    for key, element in value.items():
        values.put_key(entries, _convert(key, deeper), _convert(element, deeper))
    return CelMap.of(entries)


def _datetime(value: datetime, _depth: int) -> Timestamp:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return Timestamp.checked(_nanoseconds(moment - _EPOCH))


def _nanoseconds(span: timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * values.NANOS + span.microseconds * 1_000


_CONVERSIONS: dict[type, Callable[[Any, int], Value]] = {
    **dict.fromkeys((type(None), bool, float, str, bytes), lambda value, _depth: value),
    int: _int,
    UInt: lambda value, _depth: checked_uint(value),
    list: _list,
    tuple: _list,
    dict: _map,
    Timestamp: lambda value, _depth: Timestamp.checked(value.ns),
    Duration: lambda value, _depth: Duration.checked(value.ns),
    datetime: _datetime,
    timedelta: lambda value, _depth: Duration.checked(_nanoseconds(value)),
}


def cost_shows_work(tree: Node) -> bool:
    """Whether an expression can do no work that its cost does not show.

    It may where it can put a value more than once into another, time and again: to compare or to print what comes of
    that costs next to nothing and takes for ever. The work of a search depends on what the pattern is, not on how long.
    """
    pending: list[Node] = [tree]
    while pending:
        node = pending.pop()
        parts = (node, *node.steps) if type(node) is Postfix else (node,)
        if any(_HIDING[type(part)](part) for part in parts if type(part) in _HIDING):
            return False
        pending.extend(children(node))
    return True


_HIDING: dict[type[Node | Step], Callable[[Any], bool]] = {
    Bind: lambda node: True,
    Macro: lambda step: step.body is not None,
    Call: lambda node: node.function in PATTERNS,
    Method: lambda step: step.name in PATTERNS,
}
