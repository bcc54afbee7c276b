"""The measurements of the engines: what is measured and told; how long anything takes is not tested."""

import measuring
import pytest
from support.families import FAMILIES

import solver
from drasat.scenarios import one_node
from drasat.scenarios.one_node import QUESTIONS
from drasat.solver.allocate.load import load
from drasat.solver.engines.outcome import Statistics


@pytest.fixture
def options():
    return lambda *names, **fields: solver.Options(**{"names": names, "limit": 0.5, "members": 1, "nodes": 2} | fields)


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def table(lines):
    head, rule, *rows = lines
    assert set(cells(rule)) == {"---"}
    assert all(len(cells(row)) == len(cells(head)) for row in rows)
    return [dict(zip(cells(head), cells(row), strict=True)) for row in rows]


@pytest.mark.parametrize("engine", ["auto", "backtracking"])
@pytest.mark.parametrize(("objects", "outcome"), [(one_node.easy, "Allocated"), (one_node.too_many, "Unallocatable")])
def test_an_engine_is_measured(engine, objects, outcome):
    found = measuring.measure(load(objects(4)), engine, repeats=2)
    assert found.outcome == outcome
    assert 0 < found.search <= found.whole


def test_no_answer_within_the_limit_is_told():
    found = measuring.measure(load(one_node.too_many(28)), "backtracking", limit=0.05)
    assert found.outcome == "Unknown"
    assert found.told == "none in time"
    assert found.proof == "none"


@pytest.mark.parametrize(
    ("objects", "engine", "proofs"),
    [
        (one_node.easy, "auto", ["verified"]),
        (one_node.too_many, "auto", ["devices", "solver", "exhausted"]),
        (one_node.too_many, "backtracking", ["exhausted"]),
        (one_node.too_many, "cp-sat", ["devices", "solver"]),
    ],
)
def test_what_answers_rest_on(objects, engine, proofs):
    assert measuring.measure(load(objects(4)), engine, repeats=1).proof in proofs


def test_the_real_allocator_is_measured_where_it_is_built():
    if not measuring.peer_is_built():
        pytest.skip("the real allocator is not built")
    found = measuring.measure_peer(load(one_node.too_many(4)))
    assert (found.outcome, found.statistics.steps) == ("Unallocatable", 16)


@pytest.mark.parametrize(("part", "within"), [(0.5, 5), (0.95, 10), (0.9, 9), (0.0, 1), (1.0, 10)])
def test_the_time_of_a_share(part, within):
    assert measuring.share([float(number) for number in (3, 1, 2, 10, 9, 8, 7, 6, 5, 4)], part) == within


def test_easy_questions_are_on_one_node_and_on_many(options):
    rows = table(solver.easy(options()))
    assert [row["question"] for row in rows] == ["1 of 8 devices, 1 node", "1 of 8 devices, 500 nodes"]
    assert all(row["auto, verified"].split()[1] in ("us", "ms", "s") for row in rows)


def test_hard_questions_are_chosen_by_a_part_of_their_names(options, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (row,) = table(solver.hard(options("13 of 12")))
    assert (row["question"], row["outcome"]) == ("13 of 12 devices", "Unallocatable")
    assert row["kube-scheduler"] == "not built"
    assert row["proof"] not in ("none", "verified")


def test_all_hard_questions_are_asked_unless_some_are_named(options, monkeypatch):
    monkeypatch.setattr(solver, "_hard_row", lambda name, *_: f"| {name} |")
    for names in ((), ("hard",), ("hard", "13 of 12")):
        _, _, *rows = solver.hard(options(*names))
        assert [cells(row)[0] for row in rows] == list(QUESTIONS)


def test_a_wrong_answer_stands_out(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    row = solver._hard_row("one device", load(one_node.easy(2)), False, 30.0)
    assert "Allocated, WRONG: auto, cp-sat, backtracking" in row


def test_full_nodes_are_counted_by_outcome(options):
    rows = table(solver.full(options(nodes=2)))
    totals = {row["engine"]: int(row["number"]) for row in rows if row["outcome"] == "all"}
    assert totals == dict.fromkeys(("auto", "cp-sat", "backtracking"), 2)
    for engine in totals:
        assert sum(int(row["number"]) for row in rows if row["engine"] == engine) == 4


def test_undecided_ones_are_not_decided_soon():
    found = [
        measuring.Measured("Unknown", 0.01, 0.01, "", Statistics()),
        measuring.Measured("Allocated", 1.0, 1.0, "", Statistics()),
    ]
    assert cells(solver._full_row("auto", "all", found))[3:5] == ["0%", "50%"]


def test_every_family_has_a_row(options, monkeypatch):
    monkeypatch.setattr("support.families.FAMILIES", {name: FAMILIES[name] for name in ("match", "counters")})
    rows = table(solver.families(options(members=2)))
    assert [(row["family"], row["members"]) for row in rows] == [("match", "2"), ("counters", "2")]


@pytest.mark.parametrize(("auto", "slow"), [(0.010, False), (0.0349, False), (0.0351, True)])
def test_slow_is_more_than_three_times_and_five_milliseconds(auto, slow):
    pair = tuple(measuring.Measured("Allocated", time, time, "", Statistics()) for time in (auto, 0.01))
    assert solver._is_slow(pair) is slow


@pytest.mark.parametrize(
    ("arguments", "sections"),
    [([], ["easy", "command", "hard", "full", "families"]), (["full", "easy"], ["easy", "full"]), (["3g"], ["hard"])],
)
def test_sections_are_printed_in_order(capsys, arguments, sections):
    solver.main(arguments, {name: lambda _: iter(["| a table |"]) for name in solver.SECTIONS})
    told = capsys.readouterr().out
    assert [line[3:] for line in told.splitlines() if line.startswith("## ")] == sections
    assert told.count("| a table |") == len(sections)
