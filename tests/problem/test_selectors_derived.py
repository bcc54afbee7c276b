"""Derived attributes as upstream compiles and computes them: refusals, estimates, values, errors and costs (CON-12)."""

from random import Random

import pytest
from support.data import read
from support.derivations import DEEPER, INSTEAD, LEAVES, written
from support.random_expressions import Expressions

from drasat.cel.devices import prepare_device
from drasat.cel.errors import CelCompileError, CelError
from drasat.cel.meter import COST_LIMIT
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity
from drasat.problem.selectors import compile_derivation, to_attribute

RECORDED = read("cel/derived-attributes")
_FIELDS = {"int": "int_value", "bool": "bool_value"}


def attribute(fields):
    """An attribute as the API writes it; an empty list is one without value."""
    return DeviceAttribute(
        **{
            _FIELDS.get(kind, kind): tuple(value) if isinstance(value, list) else value
            for kind, value in fields.items()
        }
    )


def device():
    data = RECORDED["device"]
    attributes = {name: attribute(fields) for name, fields in data["attributes"].items()}
    capacity = {name: DeviceCapacity(value=amount["value"]) for name, amount in data["capacity"].items()}
    return prepare_device(Device(attributes=attributes, capacity=capacity), RECORDED["driver"])


DEVICE = device()


def computed(program):
    """What comes of an expression as upstream reports it, and its cost."""
    outcome = program.measure({"device": DEVICE.cel_value}, limit=10 * COST_LIMIT)
    try:
        if outcome.error is not None:
            raise outcome.error
        return {"value": to_attribute(outcome.value), "cost": outcome.cost}
    except CelError as error:
        return {"error": str(error), "cost": outcome.cost}


@pytest.mark.parametrize("row", RECORDED["vectors"], ids=lambda row: row["expression"])
def test_an_expression_gives_what_upstream_gives(row):
    """CON-12, CLM-6: the estimate is made with the declared sizes of a device; None is one beyond the limit."""
    if "refused" in row:
        with pytest.raises(CelCompileError) as error:
            compile_derivation(row["expression"])
        assert str(error.value).strip() == row["refused"].strip()
        return
    program = compile_derivation(row["expression"])
    most = program.estimate.max
    assert (most if most <= COST_LIMIT else None) == row["estimate"]
    expected = {key: row[key] for key in ("error", "cost") if key in row}
    assert computed(program) == (expected | {"value": attribute(row["value"])} if "value" in row else expected)


def test_every_kind_of_outcome_is_recorded():
    rows = RECORDED["vectors"]
    kinds = [sum(kind in row for row in rows) for kind in ("refused", "error", "value")]
    assert min(kinds) > 50
    assert sum(row.get("estimate", 0) is None for row in rows) > 50


def plainly_computed(program):
    """The value without counting, or the error."""
    try:
        return {"value": to_attribute(program.evaluate_quickly([DEVICE.cel_value]))}
    except CelError as error:
        return {"error": str(error)}


def test_random_expressions_give_the_same_whether_costs_are_counted_or_not():
    """CON-12: string functions, in nested loops and bindings."""
    values = 0
    for seed in range(500):
        rng = Random(seed)
        text = written(Expressions(rng, LEAVES, DEEPER, INSTEAD).any(rng.choice([2, 3, 4]), "any"))
        try:
            program = compile_derivation(text)
        except CelCompileError:
            continue
        counted, plain = computed(program), plainly_computed(program)
        assert plain == {key: counted[key] for key in plain}, (seed, text)
        values += "value" in counted
    assert values > 200
