"""Where an expression is compiled: what it may refer to, how large that may be, what it must give (cel.md 1.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from . import types
from .checker import Checked, check
from .cost import Path, SizeOf, device_set_sizes, device_sizes, estimate
from .declarations import OBJECTS, Declarations, Function, Range, by_name, declared_types
from .errors import CelCompileError, CelCostError, CelRuntimeError, Issue
from .libraries import LazyFunctions, all_functions
from .operators import OPERATORS
from .parser import parse
from .syntax import Call, ListLiteral, Literal, MapLiteral, Method, Node, Postfix, children, position
from .types import Type, full_name
from .values import runtime_type

# In the order of cel-go: where the type of an operand is still open, the first overload that fits decides it.
_OPERATORS = [Function(one.name, tuple(sorted(one.overloads, key=lambda overload: overload.id))) for one in OPERATORS]
_INCLUDES = frozenset({"include", "includes"})
MOST_DEVICES = 32
"""How many devices estimates take ``devices`` to hold (CELC-6): an allocation has no more results."""
TOO_COSTLY = "too complex, exceeds cost limit"
"""What the API server says of new expressions that may cost more than ``COST_LIMIT`` (CLM-6)."""
_VERDICT = "bool or the unknown type"
_ATTRIBUTE = "a primitive scalar (string, integer, boolean, semver) or a list of these scalars"
_SCALARS = (types.BOOL, types.DYN, types.INT, types.SEMVER, types.STRING)


def no_sizes(path: Path) -> Range | None:
    """For variables of which nothing is known."""
    return None


@dataclass(frozen=True, slots=True)
class Environment:
    """Declarations, declared sizes, and the types an expression may result in (None: any), ``expected`` in words.

    ``mixed_literals``: lists and maps may be written with values of several types, which Kubernetes forbids.
    """

    declarations: Declarations
    sizes: SizeOf = no_sizes
    results: frozenset[Type] | None = None
    expected: str = ""
    mixed_literals: bool = False

    def compile(self, text: str) -> Checked:
        """Parse, check and validate an expression.

        Raises CelCompileError with all complaints, cel-go's texts (cel.md 1.3). What it may cost is not looked at:
        the scheduler itself refuses only what exceeds the limit as it runs; see ``estimate``.
        """
        declared = self.declarations
        tree = parse(text, declared.dotted_functions, declared.dotted_names)
        checked = check(text, tree, declared)
        issues = validate(checked, mixed_literals=self.mixed_literals)
        if issues:
            raise CelCompileError.at(text, issues)
        if self.results is not None and checked.type not in self.results:
            raise CelCompileError(f"must evaluate to {self.expected}, not {full_name(checked.type)}")
        return checked

    def estimate(self, checked: Checked) -> Range:
        """The least and the most that evaluating may cost; ``UNBOUNDED`` where a size is not limited."""
        return estimate(checked, self.sizes)


@lru_cache
def dra_environment(
    *, includes: bool = True, list_attributes: bool = True, allow_multiple_allocations: bool = True
) -> Environment:
    """The environment of device selectors (CEL-1).

    With everything on it is that of stored expressions, which the scheduler uses whatever the feature gates say; what
    is off is refused in new expressions (CEL-4). Without ``list_attributes``, attributes cannot be looped over.
    """
    value = types.DYN if list_attributes else types.ANY
    fields = dict(OBJECTS[types.DEVICE] or {})
    fields["attributes"] = types.map_of(types.STRING, types.map_of(types.STRING, value))
    if not allow_multiple_allocations:
        del fields["allowMultipleAllocations"]
    functions = LazyFunctions(by_name(_OPERATORS), without=frozenset() if includes else _INCLUDES)
    declarations = Declarations.build(functions, {"device": types.DEVICE}, {**OBJECTS, types.DEVICE: fields})
    return Environment(declarations, device_sizes, frozenset({types.BOOL, value}), _VERDICT)


@lru_cache
def derived_attribute_environment() -> Environment:
    """The environment of derived attributes: that of selectors, but for the results (CON-12)."""
    results = frozenset({*_SCALARS, *map(types.list_of, _SCALARS)})
    return replace(dra_environment(), results=results, expected=_ATTRIBUTE)


@lru_cache
def device_set_environment() -> Environment:
    """The environment of constraints over ``devices``, each of them a ``device`` of selectors (CELC-1, CELC-2)."""
    one = dra_environment()
    declared = one.declarations
    declarations = Declarations.build(declared.functions, {"devices": types.list_of(types.DEVICE)}, declared.fields)
    return replace(one, declarations=declarations, sizes=device_set_sizes(MOST_DEVICES))


def generic_environment(
    variables: Mapping[str, Type | str] | None = None,
    *,
    functions: Iterable[Function] = (),
    sizes: SizeOf = no_sizes,
    mixed_literals: bool = False,
) -> Environment:
    """Standard CEL with all libraries of Kubernetes, for expressions over ``variables`` of any result.

    A type is a ``Type`` or the text of one, e.g. ``map(string, list(int))``, ``dyn``, ``kubernetes.Quantity``;
    CelCompileError for a text that is none. ``functions`` come on top of those of the libraries.
    """
    declarations = Declarations.build(by_name([*_OPERATORS, *all_functions(), *functions]), declared_types(variables))
    return Environment(declarations, sizes, mixed_literals=mixed_literals)


_PARSED = frozenset({"duration", "timestamp", "matches"})


def validate(checked: Checked, *, mixed_literals: bool = False) -> list[Issue]:
    """All complaints of the validators; with ``mixed_literals`` none about lists and maps of several types."""
    issues: list[Issue] = []
    for node, exempt in _nodes(checked.tree):
        validator = _VALIDATORS.get(type(node))
        if validator and not ((exempt or mixed_literals) and type(node) in (ListLiteral, MapLiteral)):
            issues += validator(checked, node)
    return issues


def _nodes(tree: Node) -> Iterator[tuple[Node, bool]]:
    """Every node, and whether it is part of a call of ``format``, whose arguments may be mixed."""
    pending = [(tree, False)]
    while pending:
        node, exempt = pending.pop()
        yield node, exempt
        exempt = exempt or (
            type(node) is Postfix and any(type(step) is Method and step.name == "format" for step in node.steps)
        )
        pending.extend((child, exempt) for child in children(node))


def _map(checked: Checked, node: MapLiteral) -> Iterator[Issue]:
    yield from _same_type(checked, [key for key, _ in node.entries], frozenset())
    yield from _same_type(checked, [value for _, value in node.entries], node.optional)


def _same_type(checked: Checked, nodes: Iterable[Node], optional: frozenset[int]) -> Iterator[Issue]:
    """At most one complaint: about the first that differs from the first of all."""
    first: Type | None = None
    for number, node in enumerate(nodes):
        found = checked.type_of(node)
        if number in optional and found.params and found is types.optional_of(found.params[0]):
            found = found.params[0]
        if first is None:
            first = found
        elif found is not first:
            yield Issue(position(node), f"expected type '{first}' but found '{found}'")
            return


def _call(checked: Checked, node: Call) -> Iterator[Issue]:
    if node.function in _PARSED and node.args:
        argument = node.args[0]
        # cel-go looks at the first argument of ``matches(s, re)`` too, though that is not the pattern.
        parts = (argument,) if node.function != "matches" else ("", argument)
        yield from _constant_argument_issues(checked, node.function, node.pos, argument, parts)


def _postfix(checked: Checked, node: Postfix) -> Iterator[Issue]:
    for number, step in enumerate(node.steps):
        if type(step) is not Method:
            continue
        if step.name == "matches" and len(step.args) == 1:
            yield from _constant_argument_issues(checked, "matches", step.pos, step.args[0], ("", step.args[0]))
        elif step.name == "format" and number == 0:
            yield from format_issues(checked, node.operand, step)


def _constant_argument_issues(
    checked: Checked, name: str, pos: int, argument: Node, parts: tuple[Any, ...]
) -> Iterator[Issue]:
    """Try a function on a constant string."""
    if type(argument) is not Literal or type(argument.value) is not str:
        return
    values = [part.value if type(part) is Literal else part for part in parts]
    try:
        checked.overloads[pos][0].apply(*values)
    except CelCostError:
        raise
    except CelRuntimeError:
        yield Issue(argument.pos, f"invalid {name} argument")


def format_issues(checked: Checked, receiver: Node, call: Method) -> Iterator[Issue]:
    """At most one complaint about ``'...'.format([...])``; none where either is not written out."""
    if len(call.args) != 1 or type(receiver) is not Literal or type(receiver.value) is not str:
        return
    args = call.args[0]
    if type(args) is not ListLiteral:
        return
    from .libraries.string_format import CLAUSES, read_clauses  # loads slowly; the checker has loaded it by now

    used = 0
    try:
        for _, letter, _ in read_clauses(receiver.value, static=True):
            if not letter:
                continue
            if used == len(args.elements):
                raise CelRuntimeError(f"index {used} out of range")
            issue = _unprintable_part(checked, args.elements[used], *CLAUSES[letter])
            if issue:
                yield issue
                return
            used += 1
        if used < len(args.elements):
            raise CelRuntimeError(
                f"too many arguments supplied to string.format (expected {used}, got {len(args.elements)})"
            )
    except CelRuntimeError as error:
        yield Issue(call.pos, str(error))


def _unprintable_part(checked: Checked, arg: Node, printers: Iterable[type], complaint: str) -> Issue | None:
    """The first constituent of an argument that a clause cannot print; it looks into literals."""
    allowed = {types.DYN.name, *(runtime_type(python).name for python in printers)}
    pending = [arg]
    while pending:
        node = pending.pop()
        found = checked.type_of(node)
        if found.name not in allowed:
            name = full_name(Type(found.name))
            return Issue(position(node), f"error during formatting: {complaint}, was given {name}")
        if type(node) in (ListLiteral, MapLiteral):
            pending.extend(reversed(list(children(node))))
    return None


_VALIDATORS: dict[type, Callable[[Checked, Any], Iterator[Issue]]] = {
    ListLiteral: lambda checked, node: _same_type(checked, node.elements, node.optional),
    MapLiteral: _map,
    Call: _call,
    Postfix: _postfix,
}
