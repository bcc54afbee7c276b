"""Types of fields: of maps, of objects, and of what may turn out to be either."""

from __future__ import annotations

from .checker_base import CheckerBase
from .types import ANY, DYN, ERROR, Type, optional_of


def field_type(checker: CheckerBase, pos: int, target: Type, field: str, optional: bool) -> Type:
    """The type of ``target.field``, or of ``target.?field``; that of a field of an optional is an optional."""
    target = checker.known.resolve(target)
    if target.name == "optional_type":
        target, optional = checker.known.resolve(target.params[0]), True
    found = _plain(checker, pos, target, field)
    return optional_of(found) if optional else found


def _plain(checker: CheckerBase, pos: int, target: Type, field: str) -> Type:
    if target.param:
        checker.known.assignable([DYN], [target])
        return DYN
    if target in (DYN, ANY, ERROR):
        return DYN
    if target.name == "map":
        return target.params[1]
    if target not in checker.declarations.fields:
        return _missing(checker, pos, f"type '{target}' does not support field selection")
    fields = checker.declarations.fields[target]
    if fields is None:
        return checker.report(pos, f"unexpected failed resolution of '{target}'")
    return fields.get(field) or _missing(checker, pos, f"undefined field '{field}'")


def _missing(checker: CheckerBase, pos: int, message: str) -> Type:
    checker.report(pos, message)
    return DYN
