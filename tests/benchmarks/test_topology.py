"""The measurements of shapes: what is measured and told; how long anything takes is not tested."""

import pytest
import topology

from drasat.models.results.common import Status
from drasat.scenarios.lattices import SHAPE_QUESTIONS, box, wired_node
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load


@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
@pytest.mark.parametrize("name", SHAPE_QUESTIONS)
def test_every_question_about_shapes_has_its_answer(name, engine):
    question = SHAPE_QUESTIONS[name]
    answer = allocate(load(question.objects()), engine=engine)
    assert answer.outcome == (Status.ALLOCATED if question.fits else Status.UNALLOCATABLE)


def test_parts_of_a_lattice_are_broken_and_in_use():
    cluster = load(wired_node("Torus", (4, 4), [(4, box(2, 2))], broken=0.25, used=0.5))
    assert cluster.device_count == 12
    held = [claim for claim in cluster.claims.values() if claim.status is not None]
    assert sum(len(claim.status.allocation.devices.results) for claim in held) == 8


def test_a_row_tells_outcome_and_times():
    ((name, outcome, target, *times, proof, literals),) = topology.rows(["grid of 4x4"], 0.5)
    assert (name, outcome, target, proof) == ("2x2 of a grid of 4x4", Status.ALLOCATED, "5 ms", "verified")
    assert len(times) == len(topology.ENGINES)
    assert int(literals) > 0


def test_questions_are_chosen_by_parts_of_their_names(capsys):
    topology.main(["grid of 4x4", "--limit", "0.5"])
    *_, head, rule, row = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == row.count("|")
    assert row.startswith("| 2x2 of a grid of 4x4 | Allocated |")
