"""The measurements of expressions over devices: what is measured and told; how long anything takes is not tested."""

import related as program

from drasat.models.results.common import Status
from drasat.scenarios.lattices import DEVICE_KINDS, related_node, some_ways
from drasat.solver.allocate.load import load


def test_a_row_tells_outcome_and_times():
    head, (name, outcome, target, *times, proof, literals, no_goods) = program.questions(["2x2 of 4x4"], 0.5)
    assert head == program.COLUMNS
    assert (name, outcome, target, proof) == ("2x2 of 4x4", Status.ALLOCATED, "15 ms", "verified")
    assert len(times) == len(program.ENGINES)
    assert int(literals) > 0
    assert no_goods == "0"


def test_growth_is_told_for_the_pairs_that_are_compared(capsys):
    program.main(["growth"], sides=(3,))
    *_, head, _, row = capsys.readouterr().out.splitlines()
    assert head.count("|") == row.count("|")
    assert row.startswith("| 3x3 | 9 | 12 | ")


def test_questions_are_the_same_every_time():
    assert related_node((8,), 4, "true", used=0.5, seed=3) == related_node((8,), 4, "true", used=0.5, seed=3)
    assert some_ways(4, 0.5, seed=1) == some_ways(4, 0.5, seed=1) != some_ways(4, 0.5, seed=2)


def test_devices_are_in_use_and_of_kinds():
    cluster = load(related_node((4, 4), 4, "true", used=0.5))
    held = [claim for claim in cluster.claims.values() if claim.status is not None]
    assert sum(len(claim.status.allocation.devices.results) for claim in held) == 8
    devices = [one for piece in load(some_ways(4, 0.5)).slices for one in piece.spec.devices]
    weights = [one.attributes["weight"].int_value for one in devices]
    assert {weights.count(one) for one in weights} == {DEVICE_KINDS}
