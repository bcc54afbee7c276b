"""Builders of devices and of expressions over them, and the comparison of formulas with evaluations."""

from itertools import product

import drasat.cel.devices  # noqa: F401 - makes versions and quantities values
from drasat.cel.environment import device_set_environment
from drasat.cel.program import Program
from drasat.cel.values import CelMap
from drasat.encoders.lowering.evaluation import Evaluator
from drasat.encoders.lowering.formulas import Formulas
from drasat.encoders.lowering.lower import MOST_STEPS, lower
from drasat.models.quantity import Quantity

DOMAIN = "x"


def device(*, memory=None, **attributes):
    """A device as expressions see it; ``d.attributes['x'].NAME`` and ``d.capacity['x'].memory``."""
    capacity = {} if memory is None else {"memory": Quantity.parse(memory)}
    sections = {"attributes": attributes, "capacity": capacity}
    maps = {name: CelMap([(DOMAIN, CelMap(fields.items()))]) for name, fields in sections.items()}
    return CelMap({"driver": "x.example.com", "allowMultipleAllocations": False, **maps}.items())


def program(text):
    """An expression over ``devices``; ``d.@name`` is short for an attribute, ``d.#name`` for a capacity."""
    written = text.replace(".@", f".attributes['{DOMAIN}'].").replace(".#", f".capacity['{DOMAIN}'].")
    return Program(written, scope=device_set_environment)


def evaluated(expression, items, counts):
    """Whether evaluation gives true, and whether it gives an error or another type."""
    chosen = [item for item, count in zip(items, counts, strict=True) for _ in range(count)]
    outcome = expression.measure({"devices": chosen})
    if outcome.error is not None or type(outcome.value) is not bool:
        return False, True
    return outcome.value, False


def vectors(most, least_total=0, most_total=None):
    """All counts within bounds."""
    highest = sum(most) if most_total is None else most_total
    every = product(*(range(one + 1) for one in most))
    return [counts for counts in every if least_total <= sum(counts) <= highest]


def lowered(text, items, most=None, *, least_total=0, most_total=None, budget=MOST_STEPS):
    """Formulas and what an expression is over them."""
    most = [1] * len(items) if most is None else most
    formulas = Formulas(most, least_total, sum(most) if most_total is None else most_total)
    return formulas, lower(program(text), items, formulas, budget=budget)


def verdicts(text, items, most=None, *, least_total=0, most_total=None):
    """What evaluation says for all counts, which the formulas must say too; as a set."""
    most = [1] * len(items) if most is None else most
    formulas, found = lowered(text, items, most, least_total=least_total, most_total=most_total)
    true, error = (Evaluator(formulas.nodes, handle) for handle in (found.true, found.error))
    expression, seen = program(text), set()
    for counts in vectors(most, least_total, most_total):
        expected = evaluated(expression, items, counts)
        assert (true.holds(counts), error.holds(counts)) == expected, (text, counts)
        seen.add(expected)
    return seen


TRUE, FALSE, ERROR = (True, False), (False, False), (False, True)
EITHER = {TRUE, FALSE}
