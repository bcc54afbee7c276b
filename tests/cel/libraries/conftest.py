"""Evaluates rows of expression, result as text, and cost; and of expression and estimated cost."""

import base64
import json

import pytest

from drasat.cel.declarations import Range
from drasat.cel.environment import generic_environment
from drasat.cel.libraries.declare import format_double, format_special
from drasat.cel.libraries.kubernetes import NamedFormat
from drasat.cel.libraries.networks import Cidr, Url
from drasat.cel.libraries.times import format_timestamp
from drasat.cel.program import Program
from drasat.cel.values import CelMap, Duration, Optional, Timestamp, TypeValue, UInt
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.kubernetes.semver import Version

# Name: type, value, declared size, declared size of the elements.
VARIABLES = {
    "s": ("string", "a" * 95, 200, None),
    "t": ("string", "b" * 25, 50, None),
    "u": ("string", "a" * 95, None, None),
    "ss": ("string", "", 3, None),
    "t2": ("string", "", 3, None),
    "b": ("bytes", b"abcdefghijklmnop", 77, None),
    "i": ("int", 3, None, None),
    "z": ("double", 0.0, None, None),
    "dd": ("double", 1.5, None, None),
    "d": ("dyn", "abc" * 10, None, None),
    "l": ("list(string)", ["a" * 25] * 7, 20, 30),
    "li": ("list(int)", [1] * 13, 20, None),
    "lu": ("list(int)", [1] * 13, None, None),
    "ll": ("list(list(int))", [[1, 2, 3], [4, 5], [6]], 10, 5),
    "m": ("map(string, int)", {"a": 1, "b": 2}, 9, None),
    "q": ("kubernetes.Quantity", Quantity.parse("1Gi"), None, None),
    "ts": ("timestamp", Timestamp(1_577_836_800_000_000_000), None, None),
    "du": ("duration", Duration(3_600_000_000_000), None, None),
}
TYPES = {name: row[0] for name, row in VARIABLES.items()}
VALUES = {name: row[1] for name, row in VARIABLES.items()}
SIZES = {(name,): row[2] for name, row in VARIABLES.items()} | {
    (name, "@items"): row[3] for name, row in VARIABLES.items()
}


def go_duration(ns):
    """A duration as Go prints it, e.g. ``1h2m3.5s``."""
    sign, ns = ("-" if ns < 0 else ""), abs(ns)
    for unit, size in (("ns", 1), ("\u00b5s", 10**3), ("ms", 10**6)):
        if 0 < ns < size * 1000:
            return f"{sign}{fixed(ns, size)}{unit}"
    minutes, seconds = divmod(ns, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{fixed(seconds, 10**9)}s"
    text = f"{minutes}m{text}" if hours or minutes else text
    return sign + (f"{hours}h{text}" if hours else text)


def fixed(amount, unit):
    whole, rest = divmod(amount, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else str(whole)


def shown_double(value):
    text = format_double(value)
    return text if format_special(value) or any(mark in text for mark in "e.") else f"{text}.0"


def shown_list(values):
    return "[" + ", ".join(map(shown, values)) + "]"


SHOWN = {
    type(None): lambda value: "null",
    bool: lambda value: str(value).lower(),
    int: str,
    UInt: lambda value: f"{int(value)}u",
    float: shown_double,
    str: lambda value: json.dumps(value, ensure_ascii=False),
    bytes: lambda value: "base64:" + base64.b64encode(value).decode(),
    list: shown_list,
    tuple: shown_list,
    CelMap: lambda value: "{" + ", ".join(sorted(f"{shown(k)}: {shown(v)}" for k, v in value.items())) + "}",
    Timestamp: lambda value: f"timestamp({format_timestamp(value.ns)})",
    Duration: lambda value: f"duration({go_duration(value.ns)})",
    Optional: lambda value: f"optional.of({shown(value.value)})" if value.present else "optional.none()",
    TypeValue: lambda value: value.name,
    Version: lambda value: f"semver({value})",
    Cidr: lambda value: f"cidr({value})",
    Url: lambda value: "url(U)",
    NamedFormat: lambda value: "FORMAT",
}


def shown(value):
    """A value as one line; different types look different."""
    if isinstance(value, Quantity):
        return f"quantity({value})"
    return SHOWN.get(type(value), lambda value: f"ip({value})")(value)


@pytest.fixture
def check():
    """Check the result and the cost of evaluating an expression over ``VARIABLES``."""

    def checked(expression, result, cost):
        outcome = Program(expression, generic_environment(TYPES).declarations.variables).measure(VALUES)
        text = f"error: {outcome.error}" if outcome.error else shown(outcome.value)
        assert (text, outcome.cost) == (result, cost)

    return checked


@pytest.fixture
def check_estimate():
    """Check the estimated cost of an expression over ``VARIABLES``."""

    def size(path):
        limit = SIZES.get(path)
        return None if limit is None else Range(0, limit)

    environment = generic_environment(TYPES, sizes=size)

    def checked(expression, least, most):
        assert environment.estimate(environment.compile(expression)) == Range(least, most)

    return checked
