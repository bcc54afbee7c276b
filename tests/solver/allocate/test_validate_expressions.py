"""Expressions of all objects are compiled within a budget of work."""

from drasat.models.kubernetes.gates import FeatureGates
from drasat.scenarios.objects import device_class
from drasat.solver.allocate import validate as module
from drasat.solver.allocate.validate import validate

LONG = " && ".join(["true"] * 1000)


def findings(*expressions):
    """Severity, document and message of what is found in a class for each expression."""
    classes = [device_class(f"c{number}", text) for number, text in enumerate(expressions)]
    found, _ = validate([classes], FeatureGates.all_on())
    return [(one.severity, one.source.document, one.message) for one in found]


def test_expressions_are_looked_at_while_their_work_is_within_the_budget(monkeypatch):
    """CEL-5: what was not looked at is said once, and is no error."""
    monkeypatch.setattr(module, "MOST_COMPILE_STEPS", 15_000)
    texts = [f"{LONG} && {number} == 1" for number in range(4)]
    said = "expressions before this one take too long to compile: this one and 1 more were not looked at"
    assert findings(*texts) == [("warning", 3, said)]
    assert findings(*texts) == [("warning", 3, said)], "the work is the same each time"


def test_equal_expressions_are_looked_at_once(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMPILE_STEPS", 15_000)
    assert findings(*[LONG] * 9) == []
    wrong = findings(*[f"{LONG} && nothing"] * 9)
    assert [(severity, document) for severity, document, _ in wrong] == [("error", number) for number in range(1, 10)]


def test_what_does_not_compile_counts_too(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMPILE_STEPS", 8_000)
    texts = [f"{LONG} && nothing{number}" for number in range(3)]
    assert [severity for severity, _, _ in findings(*texts)] == ["error", "error", "warning"]


def test_ordinary_expressions_are_far_from_the_budget():
    texts = [f'device.driver == "d{number}" && device.attributes["d"].a == {number}' for number in range(300)]
    assert sum(module.compile_selector(text).program.steps for text in texts) * 100 < module.MOST_COMPILE_STEPS
    assert findings(*texts) == []
