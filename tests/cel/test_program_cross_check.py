"""Random expressions against two other implementations of CEL, on what they have in common with Kubernetes' CEL.

cel-expr-python (cel-cpp) is compared on values and on whether there is an error; its texts are its own. The cel-python
interpreter is compared where nothing can fail: it absorbs errors differently, and compares values of one type only.
"""

from __future__ import annotations

import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drasat import cel
from drasat.cel.errors import CelError
from drasat.cel.values import CelMap, UInt

TYPES = {"i": "int", "j": "int", "s": "string", "b": "bool", "l": "list(int)", "m": "map(string, int)", "f": "double"}
INPUTS = {"i": 3, "j": -2, "s": "añb", "b": True, "l": [1, 2, 3, 2], "m": {"a": 1, "b": 2}, "f": 1.5}
SETTINGS = settings(
    max_examples=300, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


class Writer:
    """Writes random expressions of a type; ``failing`` ones may also overflow, divide by zero, miss a key."""

    def __init__(self, draw, failing):
        self._draw = draw
        self._failing = failing
        self._bound = {"int": [], "string": []}

    def write(self, type_, depth):
        leaf = depth == 0 or self.chance(4)
        return self.pick((LEAVES if leaf else BRANCHES)[type_] + self.failures(type_, leaf))(self, max(depth - 1, 0))

    def failures(self, type_, leaf):
        return [] if leaf or not self._failing else FAILING.get(type_, [])

    def pick(self, options):
        return options[self._draw(st.integers(0, len(options) - 1))]

    def chance(self, one_in):
        return self._draw(st.integers(1, one_in)) == 1

    def name(self, type_, default):
        return self.pick([*self._bound[type_], default])

    def macro(self, name, source, type_, inner, depth):
        """A macro over a list of ints or over the keys of a map."""
        variable = f"v{sum(map(len, self._bound.values()))}"
        range_ = self.write(source, depth)
        self._bound[type_].append(variable)
        body = self.write(inner, depth)
        self._bound[type_].pop()
        return f"{range_}.{name}({variable}, {body})"


def call(template, *types):
    """A way to write a branch: the template with expressions of these types."""
    return lambda writer, depth: template.format(*(writer.write(type_, depth) for type_ in types))


def one_of(*texts):
    return lambda writer, depth: writer.pick(texts)


def operator(*signs, type_):
    return lambda writer, depth: f"({writer.write(type_, depth)} {writer.pick(signs)} {writer.write(type_, depth)})"


def macro(names, source, type_, inner):
    return lambda writer, depth: writer.macro(writer.pick(names), source, type_, inner, depth)


LEAVES = {
    "int": [one_of("i", "j", "0", "1", "-7", "42"), lambda writer, depth: writer.name("int", "i")],
    "double": [one_of("f", "0.5", "-2.0", "1e3")],
    "string": [one_of("s", '""', '"a"', '"añb"', "'b'"), lambda writer, depth: writer.name("string", "s")],
    "bool": [one_of("b", "true", "false")],
    "list": [one_of("l", "[1]", "[i, j]", "[3, 3, -7]")],
    "map": [one_of("m", '{"a": i}', '{"b": 2, "c": 3}')],
}
BRANCHES = {
    "int": [
        operator("+", "-", type_="int"),
        call("({} * 3)", "int"),
        call("-({})", "int"),
        call("size({})", "string"),
        call("size({})", "list"),
        call("{}.size()", "map"),
        call("({} ? {} : {})", "bool", "int", "int"),
    ],
    "double": [operator("+", "-", "*", type_="double"), call("({} ? {} : {})", "bool", "double", "double")],
    "string": [
        operator("+", type_="string"),
        call("({} ? {} : {})", "bool", "string", "string"),
        call("string({})", "int"),
    ],
    "bool": [
        operator("&&", "||", type_="bool"),
        operator("==", "!=", "<", "<=", ">", ">=", type_="int"),
        operator("==", "!=", "<", ">=", type_="double"),
        operator("==", "!=", "<", "<=", type_="string"),
        operator("==", "!=", type_="list"),
        operator("==", "!=", type_="map"),
        call("!({})", "bool"),
        call("({} in {})", "int", "list"),
        call("({} in {})", "string", "map"),
        macro(("all", "exists", "exists_one"), "list", "int", "bool"),
        macro(("all", "exists"), "map", "string", "bool"),
        call("has(m.a) == has(m.c) || {}", "bool"),
    ],
    "list": [
        call("({} + {})", "list", "list"),
        call("[{}, {}]", "int", "int"),
        macro(("map",), "list", "int", "int"),
        macro(("filter",), "list", "int", "bool"),
        macro(("map",), "map", "string", "int"),
    ],
    "map": [call('{{"a": {}, "z": {}}}', "int", "int"), call("({} ? {} : {})", "bool", "map", "map")],
}
FAILING = {
    "int": [
        operator("/", "%", type_="int"),
        operator("*", type_="int"),
        call("({} + 9223372036854775800)", "int"),
        call("{}[{}]", "list", "int"),
        call("{}[{}]", "map", "string"),
        call("{}.a", "map"),
        # Never of constants: cel-go converts those while compiling.
        call("int({} + s)", "string"),
        call("int({} + f)", "double"),
    ],
    "bool": [
        *(call(f"{{}}.{name}({{}})", "string", "string") for name in ("startsWith", "endsWith", "contains")),
        call("(dyn({}) == dyn({}))", "int", "double"),
        call("(dyn({}) == dyn({}))", "string", "list"),
    ],
    "string": [call("string({})", "bool")],
}


@st.composite
def expressions(draw, failing):
    writer = Writer(draw, failing)
    return writer.write(draw(st.sampled_from(sorted(LEAVES))), draw(st.integers(1, 4)))


ERROR = "error"


def ours(expression):
    try:
        return plain(cel.compile(expression, TYPES).evaluate(INPUTS))
    except CelError:
        return ERROR


def plain(value):
    """A value that compares strictly: types beside values, maps as sorted pairs."""
    if isinstance(value, (CelMap, dict)):
        return sorted((plain(key), plain(element)) for key, element in value.items())
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    kind = "int" if isinstance(value, int) and not isinstance(value, bool) else type(value).__name__
    return kind, value


@pytest.fixture(scope="module")
def cel_cpp():
    cel = pytest.importorskip("cel_expr_python.cel")
    kinds = {
        "int": cel.Type.INT,
        "string": cel.Type.STRING,
        "bool": cel.Type.BOOL,
        "double": cel.Type.DOUBLE,
        "list(int)": cel.Type.List(cel.Type.INT),
        "map(string, int)": cel.Type.Map(cel.Type.STRING, cel.Type.INT),
    }
    environment = cel.NewEnv(variables={name: kinds[type_] for name, type_ in TYPES.items()})

    def evaluate(expression):
        result = environment.compile(expression).eval(data=INPUTS)
        return ERROR if result.type() == cel.Type.ERROR else plain(result.plain_value())

    return evaluate


@pytest.fixture(scope="module")
def cel_python():
    celpy = pytest.importorskip("celpy")
    types = celpy.celtypes
    scalars = ((types.BoolType, bool), (types.IntType, int), (types.DoubleType, float), (types.StringType, str))
    environment, inputs = celpy.Environment(), celpy.json_to_cel(INPUTS)

    def native(value):
        if isinstance(value, types.MapType):
            return {native(key): native(element) for key, element in value.items()}
        if isinstance(value, types.ListType):
            return [native(element) for element in value]
        return next((own(value) for theirs, own in scalars if isinstance(value, theirs)), value)

    def evaluate(expression):
        return plain(native(environment.program(environment.compile(expression)).evaluate(inputs)))

    return evaluate


@SETTINGS
@given(expression=expressions(failing=True))
def test_results_agree_with_cel_cpp(cel_cpp, expression):
    assert ours(expression) == cel_cpp(expression)


@SETTINGS
@given(expression=expressions(failing=False))
def test_results_agree_with_cel_python(cel_python, expression):
    assert ours(expression) == cel_python(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "9223372036854775807 / -1", "-9223372036854775807 - 2", "5 % -3", "-5 / 3", "1.0 / 0.0 > 1e308",
        "[1, 2, 3].exists(x, 1 / (x - 1) > 0)", "[1, 2].all(x, 1 / (x - 1) > 5)", "1 / 0 > 0 || true",
        "false && 1 / 0 > 0", 'size("\\U0001F600") == 1', 'b"é".size() == 2', '"\\u00e9" == "é"', "dyn(1u) == 1.0",
        "dyn(1) == dyn(true)", "{1: 1}[dyn(1u)]", 'timestamp("2020-02-29T00:00:00Z").getDayOfYear()', "string(1.0)",
        'duration("1h30m").getMinutes()', 'double("1e3")', "uint(1.9)", 'bytes("é") == b"\\303\\251"',
        "type(1u) == uint",
    ],
)  # fmt: skip
def test_corner_cases_agree_with_cel_cpp(cel_cpp, expression):
    assert ours(expression) == cel_cpp(expression)


def test_what_is_compared_is_strict():
    assert plain(True) != plain(1)
    assert plain(1) != plain(1.0)
    assert plain(UInt(1)) == plain(1)
    assert plain({"a": [1]}) == plain(CelMap([("a", (1,))]))
    assert plain(datetime.timedelta(0)) != plain(0)
