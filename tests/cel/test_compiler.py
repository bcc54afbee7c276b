"""Parts of the compiler: dispatch by run-time types, scopes, stacks, fast paths."""

from __future__ import annotations

import sys
import threading

import pytest

from drasat import cel
from drasat.cel.closures import fast_path
from drasat.cel.compiler import (
    CLOSURE_LEVELS_PER_STACK,
    Code,
    Scope,
    depth_above,
    depth_bounded,
    on_fresh_stack,
    on_fresh_stack_closure,
)
from drasat.cel.declarations import Overload
from drasat.cel.errors import CelRuntimeError
from drasat.cel.meter import Meter, current_meter
from drasat.cel.operators import Dispatcher, no_overload_error
from drasat.cel.types import DYN, INT, STRING, list_of, map_of, optional_of, parameter
from drasat.cel.values import CelMap, Optional, UInt

A = parameter("A")


def overloads():
    return (
        Overload("int", (INT,), INT, lambda value: ("int", value)),
        Overload("list", (list_of(INT),), INT, lambda value: ("list", value)),
        Overload("map", (map_of(STRING, A),), INT, lambda value: ("map", value)),
        Overload("optional", (optional_of(A),), INT, lambda value: ("optional", value)),
        Overload("two", (INT, A), INT, lambda a, b: ("two", b)),
        Overload("dynamic", (STRING, DYN), INT, lambda a, b: ("dynamic", b)),
        Overload("member", (STRING,), INT, lambda value: ("member", value), member=True),
    )


class TestDispatch:
    @pytest.mark.parametrize(
        ("args", "chosen"),
        [
            ((1,), "int"), (([],), "list"), (((),), "list"), ((CelMap(),), "map"), ((Optional(1),), "optional"),
            ((1, None), "two"), ((1, [1]), "two"), (("a", 1.5), "dynamic"),
        ],
    )  # fmt: skip
    def test_overload_goes_by_the_types_of_values(self, args, chosen):
        dispatcher = Dispatcher("f", overloads(), len(args), member=False, prepared=False)
        assert dispatcher.apply(args) == (chosen, args[-1])
        assert dispatcher.apply(args) == (chosen, args[-1])

    def test_methods_and_functions_are_kept_apart(self):
        assert Dispatcher("f", overloads(), 1, member=True, prepared=False).apply(("a",)) == ("member", "a")
        with pytest.raises(CelRuntimeError, match=r"no such overload: f\(string\)"):
            Dispatcher("f", overloads(), 1, member=False, prepared=False).apply(("a",))

    def test_bools_are_no_ints(self):
        with pytest.raises(CelRuntimeError, match=r"f\(bool\)"):
            Dispatcher("f", overloads(), 1, member=False, prepared=False).apply((True,))

    @pytest.mark.parametrize("args", [(1, 2), (UInt(1), 2)])
    def test_binary_agrees_with_apply(self, args):
        dispatcher = Dispatcher("f", overloads(), 2, member=False, prepared=False)
        results = []
        for call in (lambda: dispatcher.apply(args), lambda: dispatcher.binary(*args)):
            try:
                results.append(call())
            except CelRuntimeError as error:
                results.append(str(error))
        assert results[0] == results[1]

    @pytest.mark.parametrize(
        ("name", "args", "text"),
        [
            ("_+_", (1, "a"), "no such overload"), ("_+_", (None, 1), "no such overload: _+_"),
            ("_<_", ([], []), "no such overload: _<_"), ("size", (1,), "no such overload: size"),
            ("@in", (1, 2), "no such overload"), ("startsWith", (1, "a"), "no such overload"),
            ("matches", (1, "a"), "no such overload: matches"), ("matches", ("a", 1), "no such overload"),
            ("f", (None, CelMap()), "no such overload: f(null_type, map)"), ("f", (), "no such overload: f()"),
        ],
    )  # fmt: skip
    def test_refusals_are_worded_as_cel_go_does(self, name, args, text):
        assert str(no_overload_error(name, args)) == text

    def test_prepared_patterns_are_refused_plainly(self):
        with pytest.raises(CelRuntimeError, match=r"^no such overload$"):
            Dispatcher("matches", (), 2, member=True, prepared=True).apply((1, "a"))


class TestScope:
    def test_variables_take_the_first_slots(self):
        scope = Scope(["x", "y"])
        assert [scope.find(name).slot for name in "xy"] == [1, 2]
        assert scope.find("z") is None
        assert scope.size == 3

    def test_inner_names_hide_outer_ones_for_a_while(self):
        scope = Scope(["x"])
        inner = scope.reserve("x")
        with scope.bound(inner):
            assert scope.find("x") is inner
        assert scope.find("x").slot == 1
        assert scope.reserve("y").slot == inner.slot + 1

    def test_a_reserved_name_is_not_in_scope_yet(self):
        scope = Scope([])
        scope.reserve("x")
        assert scope.find("x") is None


class TestStacks:
    def test_results_and_errors_come_back(self):
        assert on_fresh_stack(lambda: 5) == 5
        with pytest.raises(ZeroDivisionError):
            on_fresh_stack(lambda: 1 // 0)

    def test_the_stack_is_fresh(self):
        def depth():
            frame, frames = sys._getframe(), 0
            while frame:
                frame, frames = frame.f_back, frames + 1
            return frames

        assert on_fresh_stack(depth) < depth()
        assert on_fresh_stack(threading.get_ident) != threading.get_ident()

    def test_the_meter_goes_along(self):
        current_meter.meter = meter = Meter()
        try:
            assert on_fresh_stack(lambda: current_meter.meter) is meter
        finally:
            current_meter.meter = None

    def test_code_is_cut_where_it_gets_too_deep(self):
        code = Code(lambda frame: threading.get_ident(), lambda frame: "bare", depth=1)
        assert depth_bounded(code) is code
        deep = depth_bounded(Code(code.run, code.uncharged, depth=CLOSURE_LEVELS_PER_STACK))
        assert deep.depth == 1
        assert deep.run([]) != threading.get_ident()
        assert deep.uncharged([]) == "bare"

    def test_depth_is_one_more_than_that_of_the_deepest_part(self):
        parts = [Code(on_fresh_stack_closure, on_fresh_stack_closure, depth=depth) for depth in (3, 7, 5)]
        assert depth_above(parts) == 8
        assert depth_above([]) == 1


class TestFastPaths:
    FRAME = (None, CelMap([("a", CelMap([("b", CelMap([("c", 5)]))])), ("s", "text")]))

    @pytest.mark.parametrize(
        ("keys", "found"),
        [(("a",), FRAME[1]["a"]), (("a", "b"), FRAME[1]["a"]["b"]), (("a", "b", "c"), 5), (("s",), "text")],
    )
    def test_fields_of_maps(self, keys, found):
        assert fast_path(1, keys, lambda frame: "slow")(list(self.FRAME)) is found

    @pytest.mark.parametrize("keys", [("z",), ("a", "z"), ("s", "x"), ("a", "b", "z"), ("a", "b", "c", "d")])
    def test_everything_else_goes_the_slow_way(self, keys):
        assert fast_path(1, keys, lambda frame: "slow")(list(self.FRAME)) == "slow"

    @pytest.mark.parametrize("value", [None, 5, "text", [1]])
    def test_other_values_go_the_slow_way(self, value):
        assert fast_path(1, ("a", "b"), lambda frame: "slow")([None, value]) == "slow"

    def test_domains_that_default_are_seen(self):
        """CEL-2"""
        program = cel.compile("d.attributes.nowhere.x", {"d": "dyn"})
        with pytest.raises(CelRuntimeError, match="no such key: x"):
            program.evaluate_quickly([CelMap([("attributes", CelMap([("nowhere", CelMap())]))])])
