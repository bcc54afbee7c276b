"""Type checking (cel.md 1.3): all errors of an expression at once, worded and placed as cel-go does.

The checker visits the tree once and infers a type for each node. ``macros`` has the rules of macros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import syntax
from .declarations import Declarations, Overload
from .errors import MAX_REPORTED, CelCompileError, Issue
from .operators import NAMES, UNARY_NAMES
from .syntax import Node, Postfix, Select, Step, TreePass, Walk, position, visit_all, walk
from .types import ANY, BOOL, DYN, ERROR, Substitution, Type, TypeTooLarge, list_of, map_of, optional_of, parameter
from .values import runtime_type


@dataclass(frozen=True, slots=True)
class Checked:
    """A tree that type-checks, and what is known of it.

    ``types`` holds the type of each operation and leaf by its ``pos``, ``overloads`` the overloads that each operator,
    function and index may turn out to be, by ``pos`` too. Macros and conditionals have no overloads.
    """

    text: str
    tree: Node
    type: Type
    types: dict[int, Type]
    overloads: dict[int, tuple[Overload, ...]]

    def type_of(self, node: Node) -> Type:
        """The type of a node."""
        return self.types[result_position(node)]


def result_position(node: Node) -> int:
    """The key of a node in ``Checked.types``."""
    return node.pos if type(node) is syntax.Logical else position(node)


def check(text: str, tree: Node, declarations: Declarations) -> Checked:
    """Check a tree of ``text``; CelCompileError with all complaints."""
    checker = TypeChecker(declarations)
    try:
        result = walk(checker.handlers, tree)
        types = {pos: checker.known.resolve(type_, DYN) for pos, type_ in checker.types.items()}
        result = checker.known.resolve(result, DYN)
    except TypeTooLarge:
        raise CelCompileError.at(text, [Issue(-1, "type of expression too large")]) from None
    if checker.issues:
        raise CelCompileError.at(text, checker.issues)
    return Checked(text, tree, result, types, checker.overloads)


_BRANCH_TYPE = parameter("A")
_CONDITIONAL = (BOOL, _BRANCH_TYPE, _BRANCH_TYPE), _BRANCH_TYPE
Signature = tuple[tuple[Type, ...], Type]


class TypeChecker(TreePass[Type]):
    """The state of checking one expression."""

    def __init__(self, declarations: Declarations) -> None:
        super().__init__()
        self.declarations = declarations
        self.issues: list[Issue] = []
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[Overload, ...]] = {}
        self.known = Substitution()

    def report(self, pos: int, message: str) -> Type:
        """A complaint; the type of what it is about is then unknown."""
        self.issues.append(Issue(pos, message))
        return ERROR

    def keep(self, pos: int, type_: Type) -> Type:
        """Remember the type of an operation or leaf."""
        self.types[pos] = type_
        return type_

    def expect(self, pos: int, wanted: Type, found: Type) -> bool:
        """Whether a type fits the one that is needed; a complaint where it does not."""
        if self.known.assignable([wanted], [found]):
            return True
        wanted, found = self.known.resolve(wanted), self.known.resolve(found)
        self.report(pos, f"expected type '{wanted}' but found '{found}'")
        return False

    def apply(
        self, name: str, pos: int, args: Sequence[Type], signatures: Sequence[Signature], *,
        member: bool = False,
    ) -> tuple[Type, list[int]]:  # fmt: skip
        """The result of a function on arguments, and the numbers of the signatures that fit them."""
        result: Type | None = None
        fitting = []
        for number, (wanted, gives) in enumerate(signatures):
            if len(wanted) != len(args):
                continue
            names: dict[Type, Type] = {}
            if self.known.assignable([self.known.instance(one, names) for one in wanted], list(args)):
                fitting.append(number)
                given = self.known.resolve(self.known.instance(gives, names))
                result = given if result is None or result is given else DYN
        if result is None:
            shown = [str(self.known.resolve(arg, DYN)) for arg in args]
            receiver = f"{shown.pop(0)}." if member else ""
            applied = f"{receiver}({', '.join(shown)})"
            result = self.report(pos, f"found no matching overload for '{name}' applied to '{applied}'")
        return result, fitting

    def function(self, name: str, pos: int, args: list[Type], *, member: bool = False) -> Type:
        """The result of a declared function; what is left of its overloads is remembered."""
        declared = self.declarations.functions.get(name.removeprefix("."))
        if declared is None:
            return self.keep(pos, self.report(pos, undeclared(name)))
        usable = [overload for overload in declared if overload.member == member]
        signatures = [(overload.args, overload.result) for overload in usable]
        result, fitting = self.apply(name, pos, args, signatures, member=member)
        self.overloads[pos] = tuple(usable[number] for number in fitting)
        return self.keep(pos, result)

    def choose(self, pos: int, condition: Type, value: Type, otherwise: Type) -> Type:
        """``condition ? value : otherwise``."""
        result, _ = self.apply("_?_:_", pos, [condition, value, otherwise], [_CONDITIONAL])
        return self.keep(pos, result)

    # --- leaves and literals

    def _literal(self, node: syntax.Literal) -> Type:
        return self.keep(node.pos, runtime_type(type(node.value)))

    def _ident(self, node: syntax.Ident) -> Type:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return self.keep(node.pos, scope[node.name])
        declared = self.declarations.ident(node.name)
        if declared is None:
            declared = self.report(node.pos, undeclared(node.name))
        return self.keep(node.pos, declared)

    def _list(self, node: syntax.ListLiteral) -> Walk[Type]:
        joined: Type | None = None
        for number, element in enumerate(node.elements):
            found = yield element
            joined = self.known.join(joined, self._item(element, found, number in node.optional))
        return self.keep(node.pos, list_of(joined or self.known.fresh()))

    def _map(self, node: syntax.MapLiteral) -> Walk[Type]:
        keys: Type | None = None
        values: Type | None = None
        for number, (key, value) in enumerate(node.entries):
            keys = self.known.join(keys, (yield key))
            found = yield value
            values = self.known.join(values, self._item(value, found, number in node.optional))
        return self.keep(node.pos, map_of(keys or self.known.fresh(), values or self.known.fresh()))

    def _item(self, node: Node, found: Type, optional: bool) -> Type:
        """The type an element or entry adds to its literal."""
        found = self.known.resolve(found)
        if not optional or found in (DYN, ERROR):
            return found
        if found.name == "optional_type":
            return found.params[0]
        self.expect(position(node), optional_of(found), found)
        return found

    def _struct(self, node: syntax.Struct) -> Walk[Type]:
        for _, value in node.entries:
            yield value
        return self.keep(node.pos, self.report(node.pos, undeclared(node.name)))

    # --- operators

    def _unary(self, node: syntax.Unary) -> Walk[Type]:
        operand = yield node.operand
        return self.function(UNARY_NAMES[node.operator], node.pos, [operand])

    def _chain(self, node: syntax.Chain) -> Walk[Type]:
        left = yield node.first
        for operator, operand, pos in node.rest:
            right = yield operand
            left = self.function(NAMES[operator], pos, [left, right])
        return left

    def _logical(self, node: syntax.Logical) -> Walk[Type]:
        result = BOOL
        for operand in node.operands:
            found = yield operand
            if not self.expect(position(operand), BOOL, found):
                result = ERROR
        return self.keep(node.pos, result)

    def _conditional(self, node: syntax.Conditional) -> Walk[Type]:
        found = yield from visit_all(part for branch in node.branches for part in branch)
        result = yield node.otherwise
        for condition, value, pos in zip(found[-2::-2], found[::-2], reversed(node.positions), strict=True):
            result = self.choose(pos, condition, value, result)
        return result

    # --- functions

    def _call(self, node: syntax.Call) -> Walk[Type]:
        args = yield from visit_all(node.args)
        return self.function(node.function, node.pos, args)

    def _bind(self, node: syntax.Bind) -> Walk[Type]:
        bound = yield node.init
        with self.scope({node.variable: bound}):
            body = yield node.body
        return self.keep(node.pos, body)

    # --- postfix steps

    def _postfix(self, node: Postfix) -> Walk[Type]:
        begun = len(self.issues)
        found = yield node.operand
        before: Node | Step = node.operand
        for step in node.steps:
            if type(step) is syntax.Macro and step.rules.checked_twice and len(self.issues) <= MAX_REPORTED:
                self.issues += self.issues[begun:]
            # A macro complains of its range where the range stands.
            place = before.pos if before is not node.operand else position(node.operand)
            found = yield from self._steps[type(step)](step, found, place)
            before = step
        return found

    def _select(self, step: Select, target: Type, place: int) -> Walk[Type]:
        return self.keep(step.pos, field_type(self, step.pos, target, step.field, step.optional))
        yield  # Steps are visited as generators.

    def _has(self, node: syntax.Has) -> Walk[Type]:
        target = yield node.operand
        field_type(self, node.pos, target, node.field, False)
        return self.keep(node.pos, BOOL)

    def _index(self, step: syntax.Index, target: Type, place: int) -> Walk[Type]:
        key = yield step.key
        return self.function("_[?_]" if step.optional else "_[_]", step.pos, [target, key])

    def _method(self, step: syntax.Method, target: Type, place: int) -> Walk[Type]:
        args = yield from visit_all(step.args)
        return self.function(step.name, step.pos, [target, *args], member=True)

    def _macro(self, step: syntax.Macro, target: Type, place: int) -> Walk[Type]:
        result = yield from step.rules.check(self, step, target, place)
        return self.keep(step.pos, result)


def undeclared(name: str) -> str:
    """The complaint about a name that nothing declares."""
    return f"undeclared reference to '{name}' (in container '')"


def field_type(checker: TypeChecker, pos: int, target: Type, field: str, optional: bool) -> Type:
    """The type of ``target.field``, or of ``target.?field``; that of a field of an optional is an optional."""
    target = checker.known.resolve(target)
    if target.name == "optional_type":
        target, optional = checker.known.resolve(target.params[0]), True
    found = _field_of_type(checker, pos, target, field)
    return optional_of(found) if optional else found


def _field_of_type(checker: TypeChecker, pos: int, target: Type, field: str) -> Type:
    if target.param:
        checker.known.assignable([DYN], [target])
    elif target.name == "map":
        return target.params[1]
    elif target in checker.declarations.fields:
        fields = checker.declarations.fields[target]
        if fields is None:
            return checker.report(pos, f"unexpected failed resolution of '{target}'")
        if field in fields:
            return fields[field]
        checker.report(pos, f"undefined field '{field}'")
    elif target not in (DYN, ANY, ERROR):
        checker.report(pos, f"type '{target}' does not support field selection")
    return DYN
