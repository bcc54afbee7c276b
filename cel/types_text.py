"""Types as people write them: ``int``, ``map(string, list(dyn))``, ``optional_type(kubernetes.Quantity)``."""

from __future__ import annotations

import re

from . import types
from .errors import CelCompileError
from .types import Type

_PLAIN = {
    type_.name: type_
    for type_ in (
        types.DYN, types.NULL, types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES,
        types.TIMESTAMP, types.DURATION, types.QUANTITY, types.SEMVER, types.URL, types.IP, types.CIDR, types.FORMAT,
        types.DEVICE,
    )
} | {"null_type": types.NULL, "type": types.type_of(types.DYN)}  # fmt: skip
_PARAMETERS = {"list": 1, "map": 2, "optional_type": 1}
_CLOSERS = {1: ")", 2: ",)"}
_TOKEN = re.compile(r"\s*([\w.]+|[(),])\s*")
_MOST_NESTING = 50


def parse_type(text: str) -> Type:
    """The type a text names; ``CelCompileError`` when it names none."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != "".join(text.split()) or text.count("(") > _MOST_NESTING:
        raise CelCompileError(f"'{text}' is not a type")
    tokens.reverse()
    found = _type(tokens, text)
    if tokens:
        raise CelCompileError(f"'{text}' is not a type")
    return found


def _type(tokens: list[str], text: str) -> Type:
    name = tokens.pop() if tokens else ""
    count = _PARAMETERS.get(name, 0)
    if count and tokens and tokens[-1] == "(":
        return Type(name, tuple(_parameter(tokens, text, closer) for closer in _CLOSERS[count]))
    if count:
        return Type(name, (types.DYN,) * count)
    if name not in _PLAIN:
        raise CelCompileError(f"'{text}' is not a type")
    return _PLAIN[name]


def _parameter(tokens: list[str], text: str, closer: str) -> Type:
    """One parameter, with the bracket or comma before it and the closing bracket after the last."""
    tokens.pop()
    found = _type(tokens, text)
    if not tokens or tokens[-1] != closer:
        raise CelCompileError(f"'{text}' is not a type")
    if closer == ")":
        tokens.pop()
    return found
