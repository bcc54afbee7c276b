"""The phases of a solver's answer: all are measured, and the model stays small where devices are equal."""

import pytest
import solver_phases as program

from drasat.scenarios import one_node
from drasat.solver.allocate.load import load


def test_every_phase_is_measured():
    phases = program.measure(load(one_node.by_ones(8)))
    assert tuple(phases.seconds) == program.PHASES
    assert all(seconds >= 0 for seconds in phases.seconds.values())


@pytest.mark.parametrize("size", [8, 40])
def test_equal_devices_are_one_variable_however_many(size):
    phases = program.measure(load(one_node.by_ones(size)))
    claims = len({min(31, size - 1 - first) for first in range(0, size - 1, 31)})
    assert (phases.classes, phases.variables) == (1, claims)


def test_a_row_a_question(capsys):
    program.main(["13 of 12"], growing=(8,), repeats=1)
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0] for row in rows] == ["| 7 of 8 equal devices, by ones", "| 13 of 12 devices"]
    assert {line.count("|") for line in (head, rule, *rows)} == {len(program.PHASES) + 4}
