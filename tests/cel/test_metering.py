"""What evaluations cost (CEL-9, CLM-6); most vectors are those of ``test_program_evaluation``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.data import cases

from drasat import cel
from drasat.cel.devices import prepare_device
from drasat.cel.errors import CelCostError, CelDeadlineError
from drasat.cel.meter import COST_LIMIT, Meter, current_meter, tick
from drasat.models.kubernetes.slices import Device, DeviceAttribute

CORPUS = json.loads((Path(__file__).parents[1] / "data" / "cel-corpus.json").read_text())
NESTED = "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))"
DEVICE = prepare_device(
    Device(attributes={"x": DeviceAttribute(int_value=1), "l": DeviceAttribute(strings=("a", "b"))}), "d"
)


def cost(expression, **variables):
    declared = {name: type_ for name, (type_, _) in variables.items()}
    return cel.compile(expression, declared).measure({name: value for name, (_, value) in variables.items()}).cost


@pytest.mark.parametrize(("expression", "units"), cases("cel/cost", "costs_on_devices"))
def test_costs_on_devices(expression, units):
    device = cel.compile(expression, {"device": "kubernetes.DRADevice"})
    assert device.measure({"device": DEVICE}).cost == units


@pytest.mark.parametrize(("story", "units"), [("contiguous", 145), ("grid", 485)])
def test_costs_of_expressions_over_sets_of_devices(story, units):
    case = next(case for case in CORPUS if case["seenIn"].endswith(f"KEP-5254 {story}"))
    devices = [
        prepare_device(
            Device(
                attributes={name: DeviceAttribute(int_value=value["int"]) for name, value in data["attributes"].items()}
            ),
            data["driver"],
        )
        for data in case["devices"]
    ]
    program = cel.compile(case["expression"], {"devices": "list(kubernetes.DRADevice)"})
    assert program.measure({"devices": devices}).cost == units


@pytest.mark.parametrize(
    ("expression", "units"),
    [
        ("[1, 2].map(x, x)", 27), ("[1, 2].map(x, 1)", 5), ("[1, 2].filter(x, x == 1)", 18),
        ("[1, 2].exists_one(x, x == 1)", 8), ("[1, 2].all(x, x < 2)", 11), ("[1, 2, 3].all(x, x < 2)", 13),
        ('{"a": 1}.transformMap(k, v, v)', 5), ('{"a": 1}.transformMapEntry(k, v, {v: k})', 35),
        ("[3, 1].sortBy(x, -x)", 50), ("optional.of(1).optMap(v, v + 1)", 7), ("optional.of([2]).optMap(v, 1)", 3),
        ("cel.bind(a, 1 + 1, 3)", 0), ("cel.bind(a, 1 + 1, a + a)", 4), ("1 in []", 0), ("1 in [1, 2]", 0),
        ("[1] in [[1], [2]]", 2), ("1 in [1 + 1]", 12), ("int('1') + 1", 1), ("quantity('1') == quantity('2')", 3),
    ],
)  # fmt: skip
def test_costs_of_macros_and_constants(expression, units):
    assert cost(expression) == units


def test_operands_of_unknown_type_are_compared_for_one_unit():
    text = "a" * 100
    assert cost("x < y", x=("string", text), y=("string", text)) == 12
    assert cost("x < y", x=("dyn", text), y=("string", text)) == 12
    assert cost("x < y", x=("dyn", text), y=("dyn", text)) == 3


class TestLimit:
    def test_a_million_units_may_be_spent(self):
        """CLM-6"""
        outcome = cel.compile(NESTED).measure()
        assert isinstance(outcome.error, CelCostError)
        assert str(outcome.error) == "operation cancelled: actual cost limit exceeded"
        assert COST_LIMIT < outcome.cost < COST_LIMIT + 10

    @pytest.mark.parametrize(
        "wrapped", ["true || {}", "{} || true", "[1].exists(x, {} || true)", "cel.bind(a, {}, a || true)"]
    )
    def test_nothing_absorbs_the_limit(self, wrapped):
        """CEL-9"""
        outcome = cel.compile(wrapped.replace("{}", NESTED)).measure(limit=1000)
        assert outcome.value is True if wrapped.startswith("true") else isinstance(outcome.error, CelCostError)

    def test_the_limit_itself_is_still_allowed(self):
        program = cel.compile("1 + 1 + 1")
        assert program.measure(limit=2).value == 3
        assert isinstance(program.measure(limit=1).error, CelCostError)

    @pytest.mark.parametrize("start", ['"aaaaaaaaaaaaaaaa"', "[1, 2]"], ids=["strings", "lists"])
    def test_doubling_is_stopped_before_memory_runs_out(self, start):
        doublings = "".join(f"cel.bind(a{n + 1}, a{n} + a{n}, " for n in range(40))
        expression = f"cel.bind(a0, {start}, {doublings} size(a40)" + ")" * 41
        assert isinstance(cel.compile(expression).measure().error, CelCostError)


class TestMeter:
    def test_checkpoints_cost_nothing_between_them(self):
        meter = Meter(10)
        assert meter.checkpoint == 10
        meter.cost = 11
        with pytest.raises(CelCostError):
            meter.check()

    def test_a_deadline_makes_checkpoints_dense(self):
        meter = Meter(deadline=float("inf"))
        first = meter.checkpoint
        meter.cost = first + 1
        meter.check()
        assert first < meter.checkpoint < COST_LIMIT

    def test_ticks_count_towards_a_limit_of_their_own(self):
        current_meter.meter = Meter()
        try:
            tick(1000)
            with pytest.raises(CelCostError):
                tick(10**9)
        finally:
            current_meter.meter = None

    def test_ticks_see_the_deadline(self):
        current_meter.meter = Meter(deadline=0.0)
        try:
            with pytest.raises(CelDeadlineError):
                tick(1)
        finally:
            current_meter.meter = None

    def test_ticks_outside_an_evaluation_do_nothing(self):
        tick(10**12)
