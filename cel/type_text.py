"""Types as text, e.g. ``map(string, list(int))``."""

from __future__ import annotations

import re

from . import types
from .declarations import TYPE_NAMES
from .errors import CelCompileError
from .types import DYN, Type

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
        raise CelCompileError(f"not a type: {text[:100]}") from None
    return parsed


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
