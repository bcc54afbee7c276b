"""Macros: calls that bind names, recognized by name and number of arguments while parsing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import Issue
from .syntax import Bind, Has, Ident, Literal, Macro, MapLiteral, Node, Postfix, Select, Struct, position

Report = Callable[[Issue], None]
ACCUMULATOR = "__result__"
_SORTED = "a list, identifier, comprehension, call or select expression"


@dataclass(frozen=True, slots=True)
class _Form:
    """How the arguments of a macro are used: names first, then perhaps a condition, then perhaps a body."""

    name: str
    variables: int
    condition: bool
    body: bool
    complaint: str = "argument must be a simple name"


def _forms() -> dict[tuple[str, int], _Form]:
    forms: dict[tuple[str, int], _Form] = {}
    for spelling, name in (
        ("all", "all"),
        ("exists", "exists"),
        ("exists_one", "exists_one"),
        ("existsOne", "exists_one"),
    ):
        forms[spelling, 3] = _Form(name, 2, True, False)
    for name in ("all", "exists", "exists_one"):
        forms[name, 2] = _Form(name, 1, True, False)
    forms["filter", 2] = _Form("filter", 1, True, False, "argument is not an identifier")
    forms["map", 2] = _Form("map", 1, False, True, "argument is not an identifier")
    forms["map", 3] = _Form("map", 1, True, True, "argument is not an identifier")
    for name in ("transformList", "transformMap", "transformMapEntry"):
        forms[name, 3] = _Form(name, 2, False, True)
        forms[name, 4] = _Form(name, 2, True, True)
    forms["sortBy", 2] = _Form("sortBy", 1, False, True, "argument is not an identifier")
    for name in ("optMap", "optFlatMap"):
        forms[name, 2] = _Form(name, 1, False, True, f"{name}() variable name must be a simple identifier")
    return forms


_FORMS = _forms()


def is_macro(name: str, count: int) -> bool:
    """Whether a method call with so many arguments is a macro."""
    return (name, count) in _FORMS


def macro(name: str, receiver: Node, args: list[Node], pos: int, report: Report) -> Macro:
    """The macro step for a method call that ``is_macro``; wrong arguments are reported and stood in for."""
    form = _FORMS[name, len(args)]
    if name == "sortBy" and type(receiver) in (Literal, MapLiteral, Struct):
        report(Issue(receiver.pos, f"sortBy can only be applied to {_SORTED}"))
    variables = tuple(_variable(arg, form.complaint, report) for arg in args[: form.variables])
    if len(variables) == 2 and variables[0] == variables[1]:
        report(Issue(args[1].pos, f"duplicate variable name: {variables[1]}"))
    rest = args[form.variables :]
    return Macro(form.name, variables, rest[0] if form.condition else None, rest[-1] if form.body else None, pos)


def has(args: list[Node], pos: int, report: Report) -> Node:
    """``has(e.f)``."""
    arg = args[0]
    if type(arg) is Postfix:
        *steps, last = arg.steps
        if type(last) is Select and not last.optional:
            operand = Postfix(arg.operand, tuple(steps), arg.pos) if steps else arg.operand
            return Has(operand, last.field, pos)
    report(Issue(position(arg), "invalid argument to has() macro"))
    return arg


def bind(args: list[Node], pos: int, report: Report) -> Node:
    """``cel.bind(variable, init, body)``."""
    name = _variable(args[0], "cel.bind() variable names must be simple identifiers", report)
    return Bind(name, args[1], args[2], pos)


def _variable(arg: Node, complaint: str, report: Report) -> str:
    if type(arg) is not Ident or arg.name.startswith("."):
        report(Issue(position(arg), complaint))
        return "_"
    if arg.name == ACCUMULATOR:
        report(Issue(arg.pos, "iteration variable overwrites accumulator variable"))
    return arg.name
