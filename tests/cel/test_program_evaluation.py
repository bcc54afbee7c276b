"""Results, error texts and costs, expression by expression, as cel-go gives them in Kubernetes' environment."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drasat import cel
from drasat.cel.declarations import parse_type
from drasat.cel.errors import CelError, CelRuntimeError
from drasat.cel.program import from_native
from drasat.cel.values import NONE, CelMap, Duration, Optional, Timestamp, TypeValue, UInt

GROUPS = json.loads((Path(__file__).parents[1] / "data" / "cel-vectors.json").read_text())
CASES = [
    pytest.param(group["variables"], *vector, id=f"{group['name'].replace(' ', '-')}-{number}")
    for group in GROUPS
    for number, vector in enumerate(group["vectors"], 1)
]
HOUR = 3600 * 10**9


def value_of(type_, value):
    """The value that a type's text and JSON stand for; objects with ``$type`` force a type inside dyn."""
    if isinstance(value, dict) and "$type" in value:
        return value_of(value["$type"], value["value"])
    name, _, inner = type_.partition("(")
    reader, inner = READERS.get(name), inner.removesuffix(")")
    return reader(inner, value) if reader else value


def dynamic(_inner, value):
    if isinstance(value, list):
        return [value_of("dyn", element) for element in value]
    if isinstance(value, dict):
        return {key: value_of("dyn", element) for key, element in value.items()}
    return value


def mapping(inner, value):
    key_type, element_type = inner.split(",", 1)
    pairs = value.items() if isinstance(value, dict) else value
    return CelMap((value_of(key_type, key), value_of(element_type, element)) for key, element in pairs)


READERS = {
    "dyn": dynamic,
    "list": lambda inner, value: [value_of(inner, element) for element in value],
    "map": mapping,
    "optional": lambda inner, value: NONE if value is None else Optional(value_of(inner, value)),
    "uint": lambda inner, value: UInt(value),
    "double": lambda inner, value: float(value),
    "bytes": lambda inner, value: base64.b64decode(value),
    "duration": lambda inner, value: Duration(int(value.removesuffix("h")) * HOUR),
    "timestamp": lambda inner, value: Timestamp(int(datetime.fromisoformat(value).timestamp()) * 10**9),
}


def shown(value):
    """A value as the vectors write it."""
    writer = WRITERS.get(type(value))
    return writer(value) if writer else f"{NAMES[type(value).__name__]}({value})"


NAMES = {"Quantity": "quantity", "Sum": "quantity", "Version": "semver"}


def shown_double(value):
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def shown_duration(value):
    seconds = abs(value.ns) // 10**9
    text = f"{seconds // 3600}h{seconds // 60 % 60}m{seconds % 60}s" if seconds else "0s"
    return f"duration({'-' if value.ns < 0 else ''}{text})"


def shown_timestamp(value):
    return datetime.fromtimestamp(value.ns // 10**9, UTC).strftime("timestamp(%Y-%m-%dT%H:%M:%SZ)")


WRITERS = {
    type(None): lambda value: "null",
    bool: lambda value: str(value).lower(),
    int: str,
    UInt: lambda value: f"{int(value)}u",
    float: shown_double,
    str: lambda value: json.dumps(value, ensure_ascii=False),
    bytes: lambda value: "base64:" + base64.b64encode(value).decode(),
    list: lambda value: f"[{', '.join(map(shown, value))}]",
    tuple: lambda value: f"[{', '.join(map(shown, value))}]",
    CelMap: lambda value: "{" + ", ".join(sorted(f"{shown(k)}: {shown(v)}" for k, v in value.items())) + "}",
    Optional: lambda value: f"optional.of({shown(value.value)})" if value.present else "optional.none()",
    TypeValue: lambda value: value.name,
    Duration: shown_duration,
    Timestamp: shown_timestamp,
}


def program_of(variables, expression):
    return cel.compile(expression, {name: parse_type(declared["type"]) for name, declared in variables.items()})


def inputs_of(variables):
    return {name: value_of(declared["type"], declared["value"]) for name, declared in variables.items()}


@pytest.mark.parametrize(("variables", "expression", "result", "cost"), CASES)
def test_result_and_cost_are_those_of_cel_go(variables, expression, result, cost):
    outcome = program_of(variables, expression).measure(inputs_of(variables))
    got = f"error: {outcome.error}" if outcome.error else shown(outcome.value)
    assert (got, outcome.cost) == (result, cost)


def quick_result(variables, expression):
    """What the closures that do not count give."""
    values = [from_native(value) for value in inputs_of(variables).values()]
    try:
        return shown(program_of(variables, expression).evaluate_quickly(values))
    except CelError as error:
        return f"error: {error}"


@pytest.mark.parametrize("group", GROUPS, ids=[group["name"].replace(" ", "-") for group in GROUPS])
def test_results_without_counting_are_the_same(group):
    expected = {expression: result for expression, result, _ in group["vectors"]}
    assert {expression: quick_result(group["variables"], expression) for expression in expected} == expected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('int("a") == 1', "type conversion error from 'string' to 'int'"),
        ("true || int(1e30) == 1", "integer overflow"),
        ('dyn({"a": 1})[dyn(null)] == 1', "invalid qualifier type: types.Null"),
        ('string(b"\\xff") == "a"', "invalid UTF-8 in bytes, cannot convert to string"),
    ],
    ids=["conversion", "although-not-needed", "key", "bytes"],
)
def test_constants_that_cannot_be_converted_are_errors_of_compilation(expression, text):
    with pytest.raises(CelError, match=r"^program instantiation failed: ") as raised:
        cel.compile(expression)
    assert str(raised.value).endswith(text)


def test_absent_variable_is_an_error_only_where_it_is_read():
    program = cel.compile("x == 1 || y", {"x": "int", "y": "bool"})
    assert program.evaluate({"x": 1}) is True
    assert program.evaluate({"y": True}) is True
    with pytest.raises(CelRuntimeError, match=r"no such attribute\(s\): y"):
        program.evaluate({"x": 2})


def test_unchecked_expressions_may_mix_types_and_read_unknown_names():
    assert cel.compile('[1, "a", 2u]', check=False).evaluate() == [1, "a", 2]
    assert cel.compile("nobody || true", check=False).evaluate() is True
    with pytest.raises(CelRuntimeError, match="nobody"):
        cel.compile("nobody && true", check=False).evaluate()
    with pytest.raises(CelRuntimeError, match=r"no such overload: nothing\(int\)"):
        cel.compile("nothing(1)", check=False).evaluate()


def test_variables_with_qualified_names_come_before_fields():
    program = cel.compile("a.b + a.b.c", {"a.b": "int", "a.b.c": "int"})
    assert program.evaluate({"a.b": 1, "a.b.c": 2}) == 3
