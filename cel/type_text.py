"""Types as text, e.g. ``map(string, list(int))``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from . import types
from .declarations import TYPE_NAMES
from .errors import CelCompileError
from .types import DYN, Type

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
