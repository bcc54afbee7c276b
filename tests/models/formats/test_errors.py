"""How problems print: one line each, with place, object and field."""

import pytest

from drasat.models.formats.errors import InputError, InputProblem, Source, has_errors, one_line

PLACE = Source("a.yaml", 2)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Source("a.yaml", 0), "a.yaml"),
        (PLACE, "a.yaml document 2"),
        (PLACE.item(3), "a.yaml document 2 item 3"),
        (PLACE.item(3).item(1), "a.yaml document 2 item 3 item 1"),
    ],
)
def test_sources(source, text):
    assert str(source) == text


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (InputProblem(PLACE, "spec.x", "Required value"), "a.yaml document 2: spec.x: Required value"),
        (InputProblem(PLACE, "", "is empty"), "a.yaml document 2: is empty"),
        (InputProblem(PLACE, "f", "bad", "error", "Pod", "ns/p"), "a.yaml document 2: Pod ns/p: f: bad"),
        (InputProblem(PLACE, "f", "odd", "warning", "Pod"), "a.yaml document 2: Pod: warning: f: odd"),
    ],
    ids=["field", "whole", "object", "warning"],
)
def test_problems(problem, text):
    assert str(problem) == text


def test_a_problem_is_one_line_that_moves_no_cursor():
    text = str(InputProblem(PLACE, "f", "a\nb\x1b[31m\u2028\r", "error", "Pod", "x\ty"))
    assert text == "a.yaml document 2: Pod x\\ty: f: a\\nb\\x1b[31m\\u2028\\r"
    assert one_line("schön 漢") == "schön 漢"


def test_an_input_error_holds_and_prints_all_problems():
    problems = [InputProblem(PLACE, "a", "x"), InputProblem(PLACE, "b", "y", "warning")]
    error = InputError(iter(problems))
    assert error.problems == tuple(problems)
    assert str(error).splitlines() == [str(problem) for problem in problems]


def test_warnings_are_no_errors():
    warning = InputProblem(PLACE, "", "", "warning")
    assert not has_errors([])
    assert not has_errors([warning])
    assert has_errors([warning, InputProblem(PLACE, "", "")])
