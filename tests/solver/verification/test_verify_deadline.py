"""Verification ends at a deadline (CEL-11), and never takes for right what it has not seen."""

import pytest
from support.verification import everyday

from drasat.solver.verification.verify import VerificationTimeoutError

ONES = f"[{', '.join('1' * 30)}]"
SLOW_SELECTOR = f"{ONES}.all(a, {ONES}.all(b, {ONES}.all(c, a + b + c > 0)))"


def with_slow_class():
    """The class of the everyday claim has a selector that takes long and is true."""
    scene = everyday()
    scene.find("DeviceClass", "gpu")["spec"]["selectors"].append({"cel": {"expression": SLOW_SELECTOR}})
    return scene


def test_units_until_the_deadline_are_counted():
    readings = iter([1.0, 2.0, 3.1])
    scene = everyday()
    scene.units *= 3
    with pytest.raises(VerificationTimeoutError) as late:
        scene.violations(deadline=0.0)
    assert late.value.verified == 0
    with pytest.raises(VerificationTimeoutError) as late:
        scene.violations(deadline=1.5, clock=lambda: next(readings))
    assert late.value.verified == 1


def test_what_is_wrong_by_then_is_said():
    readings = iter([1.0, 2.0, 3.1])
    scene = everyday()
    scene.units *= 3
    assert {found.rule for found in scene.violations(deadline=2.5, clock=lambda: next(readings))} >= {"DEV-1"}


def test_expressions_read_the_clock():
    """CEL-11: an evaluation within the limit of cost may take seconds."""
    scene = with_slow_class()
    assert scene.violations(deadline=float("inf")) == []
    with pytest.raises(VerificationTimeoutError) as late:
        scene.violations(deadline=0.0, clock=lambda: 0.0)
    assert late.value.verified == 0
