"""Expressions are compiled and run within the time limit of a question (CEL-11)."""

import pytest

from drasat.models.kubernetes.slices import Device, DeviceAttribute
from drasat.problem.messages import DeadlineExceededError
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import Profile

PROFILE = Profile(0, "d.example.com", Device(attributes={"x": DeviceAttribute(int_value=1)}), False, False)
ASKED = {
    "selector": lambda expressions, text: expressions.test(text, PROFILE),
    "derived": lambda expressions, text: expressions.derive(text, PROFILE).bool_value,
    "what a selector reads": lambda expressions, text: expressions.reads(text) == frozenset(),
    "what a derivation reads": lambda expressions, text: expressions.derivation_reads(text) == frozenset(),
    "constraint": lambda expressions, text: expressions.device_set(text).text == text,
}


@pytest.mark.parametrize("name", ASKED)
def test_compiling_ends_at_the_deadline_and_can_be_tried_again(name):
    """CEL-11: what was not compiled for lack of time is no error of the expression."""
    # A text that nothing else has compiled.
    text = " && ".join(["true"] * (1000 + list(ASKED).index(name)))
    expressions = ExpressionEvaluator()
    expressions.deadline = 0.0
    with pytest.raises(DeadlineExceededError):
        ASKED[name](expressions, text)
    expressions.deadline = None
    assert ASKED[name](expressions, text) is True
