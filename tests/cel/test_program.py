"""Programs: compiled once, evaluated anywhere, as deep as the parser lets them be."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from drasat import cel
from drasat.cel import types
from drasat.cel.errors import CelCompileError, CelError, CelRuntimeError
from drasat.cel.program import Program
from drasat.cel.selector import Selector
from drasat.cel.values import CelMap, Duration, Timestamp, UInt


def at_depth(frames, run):
    """Call with so many frames on the stack in all, those of the test runner included."""

    def deeper(missing):
        return run() if missing <= 0 else deeper(missing - 1)

    here, depth = sys._getframe(), 0
    while here is not None:
        here, depth = here.f_back, depth + 1
    return deeper(frames - depth)


CYCLIC: list[object] = []
CYCLIC.append(CYCLIC)


class Broken(Mapping):
    """A mapping that cannot be read."""

    def __getitem__(self, key):
        raise KeyError(key)

    def __iter__(self):
        raise RuntimeError("broken")

    def __len__(self):
        return 1


VARIABLES = {"i": types.INT, "t": types.BOOL, "l": types.list_of(types.INT), "d": types.DYN}
INPUTS = {"i": 1, "t": True, "l": [0], "d": {"a": 1}}

DEEP = {
    "brackets": ("(" * 240 + "i" + ")" * 240, 1),
    "lists": ("size(" + "[" * 200 + "i" + "]" * 200 + ")", 1),
    "maps": ("size(" + '{"a": ' * 200 + "i" + "}" * 200 + ")", 1),
    "additions": ("(1 + " * 240 + "i" + ")" * 240, 241),
    "precedence": ("(i > 0 && i < 5 || i == 1 ? -i * 2 + " * 100 + "1" + " : 2)" * 100, -199),
    "calls": ("int(" * 240 + "i" + ")" * 240, 1),
    "keys": ("l[" * 240 + "0" + "]" * 240, 0),
    "loops": ("[1].map(x, " * 120 + "x" + ")[0]" * 120, 1),
    "quantifiers": ("[1].all(x, " * 200 + "t" + ")" * 200, True),
    "negations": ("!(t && " * 200 + "t" + ")" * 200, True),
    "bindings": (
        "".join(f"cel.bind(a{n}, i + {f'a{n - 1}' if n else 0}, " for n in range(240)) + "a239" + ")" * 240,
        240,
    ),
    "optionals": ("optional.of(" * 100 + "i" + ")" * 100 + ".value()" * 100, 1),
    "conjunction": ("t" + " && t" * 2000, True),
}


@pytest.mark.parametrize("frames", [0, 300, 900])
@pytest.mark.parametrize("name", DEEP)
def test_deep_expressions_need_no_deep_stack(name, frames):
    expression, result = DEEP[name]
    limit = sys.getrecursionlimit()

    def evaluate():
        program = Program(expression, VARIABLES)
        return program.evaluate(INPUTS), program.evaluate_quickly([1, True, [0], CelMap()])

    assert at_depth(frames, evaluate) == (result, result)
    assert sys.getrecursionlimit() == limit


def test_errors_come_through_from_fresh_stacks():
    program = Program("(1 + " * 200 + "1 / (i - 1)" + ")" * 200, VARIABLES)
    assert str(program.measure(INPUTS).error) == "division by zero"
    with pytest.raises(CelRuntimeError, match="division by zero"):
        at_depth(900, lambda: program.evaluate(INPUTS))


def test_retrying_upon_a_fresh_stack_counts_once():
    program = Program("(1 + " * 50 + "i" + ")" * 50, VARIABLES)
    usual = program.measure(INPUTS).cost
    assert {at_depth(frames, lambda: program.measure(INPUTS).cost) for frames in range(880, 960, 10)} == {usual}


class TestEvaluation:
    def test_inputs_are_python_objects(self):
        program = cel.compile("x.names.exists(n, n == y) ? x.sizes[1] : 0", {"x": "dyn", "y": "string"})
        assert program.evaluate({"x": {"names": ("a", "b"), "sizes": [1, 2]}, "y": "b"}) == 2

    def test_results_are_python_objects(self):
        assert cel.compile('{"a": [1, 2u, 3.5], "b": []}', check=False).evaluate() == {"a": [1, 2, 3.5], "b": []}

    def test_surplus_inputs_are_ignored(self):
        assert cel.compile("1 + 1").evaluate({"x": object()}) == 2

    def test_inputs_that_are_no_values_are_errors(self):
        with pytest.raises(CelRuntimeError, match="unsupported value of type set"):
            cel.compile("x", {"x": "dyn"}).evaluate({"x": {1}})

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (object(), "unsupported value of type object"),
            (Decimal("1.5"), "unsupported value of type Decimal"),
            (range(3), "unsupported value of type range"),
            (10**400, "integer overflow: a huge number is out of int64"),
            (UInt(-1), "unsigned integer overflow"),
            (CYCLIC, "value nested deeper than 100 levels"),
            ({"a": CYCLIC}, "value nested deeper than 100 levels"),
            ({(1, 2): 1}, "unsupported key type"),
            (Broken(), r"value of type Broken cannot be read: RuntimeError\('broken'\)"),
            (Duration(10**40), "integer overflow"),
            (Timestamp("now"), "value of type Timestamp cannot be read"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_each_input_that_is_no_value_has_one_clear_error(self, value, message):
        with pytest.raises(CelRuntimeError, match=f"^{message}"):
            cel.compile("x", {"x": "dyn"}).evaluate({"x": value})

    @pytest.mark.parametrize("inputs", [[1], "x", 5, {1}], ids=["list", "str", "int", "set"])
    def test_inputs_are_a_mapping(self, inputs):
        with pytest.raises(CelRuntimeError, match=r"^inputs must be a mapping of names to values, not "):
            cel.compile("x", {"x": "dyn"}).evaluate(inputs)

    def test_numbers_that_are_none_are_values(self):
        assert math.isnan(cel.compile("x", {"x": "dyn"}).evaluate({"x": math.nan}))

    def test_constants_are_not_shared_with_callers(self):
        program = cel.compile("x + [1, 2]", {"x": "list(int)"})
        first = program.evaluate({"x": []})
        first.append(3)
        assert program.evaluate({"x": []}) == [1, 2]

    def test_measuring_tells_value_error_and_cost(self):
        program = cel.compile("x / y", {"x": "int", "y": "int"})
        good, bad = program.measure({"x": 6, "y": 3}), program.measure({"x": 6, "y": 0})
        assert (good.value, good.error, good.cost) == (2, None, 3)
        assert (bad.value, str(bad.error), bad.cost) == (None, "division by zero", 3)

    def test_type_and_estimate_are_known_beforehand(self):
        program = cel.compile("[y, 2].all(x, x > y)", {"y": "int"})
        assert program.type == types.BOOL
        assert program.measure({"y": 0}).cost <= program.estimate.max == 24

    def test_many_threads_may_evaluate_one_program(self):
        program = cel.compile("[1, 2, 3].map(a, cel.bind(b, a * x, b + x)).sum()", {"x": "int"})
        with ThreadPoolExecutor(8) as threads:
            results = list(threads.map(lambda x: program.measure({"x": x}), range(400)))
        assert [result.value for result in results] == [9 * x for x in range(400)]
        assert len({result.cost for result in results}) == 1


class TestPickling:
    def test_a_program_pickles_as_its_text(self):
        program = cel.compile("x + 1", {"x": "int"})
        program.evaluate({"x": 1})
        data = pickle.dumps(program)
        copy = pickle.loads(data)
        assert len(data) < 300
        assert (copy.text, copy.variables, copy.evaluate({"x": 2})) == (program.text, program.variables, 3)

    def test_it_stays_unchecked(self):
        assert pickle.loads(pickle.dumps(cel.compile('[1, "a"]', check=False))).evaluate() == [1, "a"]

    def test_it_is_shown(self):
        assert repr(cel.compile("1 + 1")) == "Program('1 + 1')"


class TestCache:
    def test_programs_are_remembered_by_text_and_variables(self):
        assert cel.compile("x", {"x": "int"}) is cel.compile("x", {"x": types.INT})
        assert cel.compile("x", {"x": "int"}) is not cel.compile("x", {"x": "dyn"})
        assert cel.compile("dyn(1)") is not cel.compile("dyn(1)", check=False)

    def test_errors_are_remembered_and_leave_no_tracks(self):
        tracebacks = []
        for _ in range(3):
            with pytest.raises(CelCompileError) as raised:
                cel.compile("1 +")
            tracebacks.append(len(raised.traceback))
        assert len(set(tracebacks)) == 1

    @pytest.mark.parametrize("text", [123, None, b"true", ["1"], {}], ids=lambda value: type(value).__name__)
    @pytest.mark.parametrize("compile_", [cel.compile, cel.compile_selector, Selector, Program])
    def test_what_is_no_text_is_refused(self, compile_, text):
        with pytest.raises(CelCompileError, match=r"^an expression must be a string, not "):
            compile_(text)

    @pytest.mark.parametrize("text", ["'\ud800'", "\udfff", "1 // \ud83d"], ids=ascii)
    def test_lone_surrogates_are_refused(self, text):
        with pytest.raises(CelCompileError, match="invalid unicode code point"):
            cel.compile(text)

    def test_null_characters_belong_into_strings(self):
        assert cel.compile("'\0'").evaluate() == "\0"
        with pytest.raises(CelCompileError, match="token recognition error"):
            cel.compile("1\0")

    @pytest.mark.parametrize("variables", [5, ["x"], "x"], ids=["int", "list", "str"])
    def test_variables_are_a_mapping(self, variables):
        with pytest.raises(CelCompileError, match=r"^variables must be a mapping of names to types, not "):
            cel.compile("1", variables)

    @pytest.mark.parametrize("name", ["", "a b", "1a", "a.", "\ud800", 5, None], ids=ascii)
    def test_names_that_are_none_are_refused(self, name):
        with pytest.raises(CelCompileError, match=r"^not the name of a variable: "):
            cel.compile("1", {name: "int"})

    @pytest.mark.parametrize("type_", [5, None, b"int", int], ids=lambda value: type(value).__name__)
    def test_types_are_texts_or_types(self, type_):
        with pytest.raises(CelCompileError, match=r"^not a type: "):
            cel.compile("1", {"x": type_})

    @pytest.mark.parametrize("type_", ["", "list(", "foo", "map(int)"])
    def test_texts_that_are_no_types_are_refused(self, type_):
        with pytest.raises(CelCompileError, match="type"):
            cel.compile("x", {"x": type_})


class TestPackage:
    @pytest.mark.parametrize("name", sorted(cel.__all__))
    def test_public_names_are_there(self, name):
        assert getattr(cel, name) is not None

    def test_unknown_names_are_not(self):
        with pytest.raises(AttributeError, match="nothing"):
            cel.nothing  # noqa: B018

    def test_every_error_is_a_cel_error(self):
        for name in ("CelCompileError", "CelRuntimeError", "CelCostError", "CelDeadlineError"):
            assert issubclass(getattr(cel, name), CelError)

    def test_importing_the_package_loads_no_evaluator(self):
        code = "import sys, drasat.cel; print([m for m in sys.modules if m.startswith('drasat.cel.')])"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
        )
        assert done.stdout.strip() == "[]"


def environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
