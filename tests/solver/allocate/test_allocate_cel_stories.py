"""The stories of KEP-5254: connected devices, and a grid; as the examples have them, and on many devices."""

import json

import pytest

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import ProofKind, Status
from drasat.problem.node_state import AllocatedState
from drasat.scenarios.lattices import RELATED_QUESTIONS, in_a_row, in_a_square, related_node
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load
from drasat.solver.engines.engine import Session
from drasat.solver.explain.conflict import ExplanationCompiler
from drasat.solver.explain.explain import explain

ENGINES = ("auto", "cp-sat", "backtracking")
EXAMPLES = ("connected-devices", "device-grid")


def places(cluster):
    """The position of each device: one number or two."""
    names = ("x", "y", "index", "row", "col")
    return {
        device.name: tuple(device.attributes[name].int_value for name in names if name in device.attributes)
        for piece in cluster.slices
        for device in piece.spec.devices
    }


def chosen(answer, cluster):
    """Where the devices of the only claim are."""
    (unit,) = answer.units
    assert answer.outcome == Status.ALLOCATED, unit.failures
    assert answer.verified
    where = places(cluster)
    return sorted(where[result.device] for _, made in unit.allocations for result in made.devices.results)


def is_row(found, count):
    (first,) = found[0]
    return found == [(first + number,) for number in range(count)]


def is_square(found):
    row, column = found[0]
    return found == [(row + down, column + right) for down in (0, 1) for right in (0, 1)]


def holds(found, count):
    return is_row(found, count) if len(found[0]) == 1 else is_square(found)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_examples_are_allocated(drasat, examples, engine, example):
    """CELC-8: by the proposal's own templates."""
    done = drasat("allocate", "-f", examples / example, "--engine", engine)
    assert done.code == 0, done.err
    cluster = load(str(examples / example))
    assert holds(chosen(allocate(cluster, engine=engine), cluster), 4)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_fits_around_what_is_in_use(drasat, examples, engine, example):
    folder = examples / example
    done = drasat("allocate", "-f", folder, "-f", folder / "in-use", "--engine", engine, "-o", "json")
    assert done.code == 1
    (unit,) = json.loads(done.out)["units"]
    assert unit["outcome"] == Status.UNALLOCATABLE


@pytest.mark.parametrize(
    ("example", "words"),
    [("connected-devices", "is exactly 2"), ("device-grid", "none of mla-0, mla-3 is chosen and (")],
)
def test_what_is_in_the_way_is_explained(drasat, examples, example, words):
    """CELC-9: the lowered formula in words."""
    folder = examples / example
    done = drasat("explain", "-f", folder, "-f", folder / "in-use")
    assert done.code == 1
    (said,) = (line for line in done.out.splitlines() if "of claim default/pod0-mla, cel:" in line)
    assert words in said.partition("; that is: ")[2]
    assert "drop constraint 0 (cel) of claim default/pod0-mla" in done.out


@pytest.mark.parametrize("used", [0.0, 0.3])
@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
@pytest.mark.parametrize(
    ("sizes", "count"), [((64,), 4), ((256,), 4), ((64,), 16), ((256,), 16), ((4, 4), 4), ((8, 8), 4), ((16, 16), 4)]
)
def test_many_devices_with_holes(sizes, count, engine, used):
    """CELC-9: no evaluation while searching."""
    expression = in_a_row(count) if len(sizes) == 1 else in_a_square()
    cluster = load(related_node(sizes, count, expression, used=used))
    answer = allocate(cluster, engine=engine)
    fits = count == 4 or used == 0
    assert answer.outcome == (Status.ALLOCATED if fits else Status.UNALLOCATABLE)
    assert not fits or holds(chosen(answer, cluster), count)
    assert engine == "auto" or answer.statistics.cel_evaluations <= 1, "the class selects"


@pytest.mark.parametrize("name", ["16 in a row of 256, 40 % in use", "2x2 of 16x16, 70 % in use"])
def test_where_holes_leave_no_room_that_is_certain(name):
    answer = allocate(load(RELATED_QUESTIONS[name].objects()))
    assert answer.outcome == Status.UNALLOCATABLE
    assert {unit.proof_kind for unit in answer.units} == {ProofKind.SOLVER}


@pytest.mark.parametrize(
    ("sizes", "count", "expression"), [((64,), 12, in_a_row(12)), ((8, 8), 4, in_a_square())], ids=["row", "square"]
)
def test_among_many_devices_too_what_is_in_the_way_is_explained(sizes, count, expression):
    (unit,) = explain(load(related_node(sizes, count, expression, used=0.7))).units
    ((kind,), offers) = unit.failures, [change for one in unit.relaxations for change in one.changes]
    assert "no second proof" not in " ".join(kind.notes)
    assert any("; that is: " in reason.message for reason in kind.reasons)
    assert any("(cel)" in change.message for change in offers)


def test_explanations_ask_about_no_more_devices_than_a_claim_may_have():
    """CELC-6, CELC-9: of all 256 at once story 2 would cost too much to be lowered."""
    gates = FeatureGates.all_on()
    cluster = load(related_node((16, 16), 4, in_a_square()))
    bench = ExplanationCompiler(Session(cluster, gates, "strict", 0))
    case = bench.compile(cluster.node("fabric-node"), [*cluster.claims.values()], AllocatedState(cluster.usage(gates)))
    assert set(case.model.cel_encodings) == {"lower"}


@pytest.mark.parametrize("name", RELATED_QUESTIONS)
def test_what_is_measured_has_its_answer(name):
    """CELC-10: also where trying takes too long, and all 6,435 vectors of counts are judged beforehand."""
    question = RELATED_QUESTIONS[name]
    assert allocate(load(question.objects())).outcome == (Status.ALLOCATED if question.fits else Status.UNALLOCATABLE)
