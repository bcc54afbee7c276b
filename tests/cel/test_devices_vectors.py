"""Selectors on devices of three kinds: results, error texts and costs as upstream gives them (CEL-1 to CEL-9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drasat import cel
from drasat.cel.devices import DeviceShapes
from drasat.cel.errors import CelError
from drasat.cel.program import HINT
from drasat.cel.selector import Selector
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity

DATA = json.loads((Path(__file__).parents[1] / "data" / "cel-selectors.json").read_text())
SHAPES = DeviceShapes()
FIELDS = {"int": "int_value", "bool": "bool_value"}


def prepared(data):
    attributes = {}
    for name, fields in data["attributes"].items():
        ((kind, value),) = fields.items()
        plain = tuple(value) if isinstance(value, list) else value
        attributes[name] = DeviceAttribute(**{FIELDS.get(kind, kind): plain})
    capacity = {name: DeviceCapacity(value=amount["value"]) for name, amount in data["capacity"].items()}
    shared = data.get("allowMultipleAllocations")
    device = Device(attributes=attributes, capacity=capacity, allow_multiple_allocations=shared)
    return SHAPES.prepare(device, data["driver"])


DEVICES = [prepared(data) for data in DATA["devices"]]


def recorded(result):
    """A result as the vectors write it; the hint is left out of them."""
    return f"error: {str(result).replace(f' {HINT}', '')}" if isinstance(result, CelError) else result


@pytest.mark.parametrize(
    ("device", "expression", "result", "cost"), DATA["vectors"], ids=map(str, range(1, len(DATA["vectors"]) + 1))
)
def test_selector_gives_what_upstream_gives(device, expression, result, cost):
    selector = Selector(expression)
    assert recorded(selector.evaluate(DEVICES[device])) == result
    outcome = selector.program.measure({"device": DEVICES[device]})
    assert outcome.cost == cost <= selector.program.estimate.max


def test_remembered_results_are_those_of_evaluation():
    for expression in dict.fromkeys(expression for _, expression, _, _ in DATA["vectors"]):
        selector = cel.compile_selector(expression)
        first = [recorded(result) for result in selector.matches_all(DEVICES * 2)]
        assert first == [recorded(selector.evaluate(device)) for device in DEVICES] * 2
        assert [recorded(result) for result in selector.matches_all(DEVICES)] == first[: len(DEVICES)]


def test_every_kind_of_outcome_is_among_the_vectors():
    outcomes = [
        result if isinstance(result, bool) else result.split(":")[1].strip() for _, _, result, _ in DATA["vectors"]
    ]
    assert min(outcomes.count(True), outcomes.count(False)) > 50
    assert {"no such overload", "no such key"} <= set(outcomes)
