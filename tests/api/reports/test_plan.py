"""Plans as tables and lines, made from outcomes by hand."""

import io
import sys
from copy import copy

import msgspec
import pytest
from support.plan_outcomes import document, has, left, nodes_of, placed, stage
from support.texts import Terminal

from drasat.cli import output
from drasat.models.results.plan import BoughtNodes
from drasat.reports import plan as report
from drasat.reports import tables
from drasat.reports.tables import format_table


def test_rows_are_owners_in_the_order_of_the_queue_with_counts_and_nodes():
    found = document(
        placed("train", "n2", replica=0),
        placed("web", "n1", kind="Deployment"),
        placed("train", "n1", replica=1),
        left("train", "no", replica=2),
        left("lost", "no", kind="Pod"),
    )
    assert list(report.rows(found)) == [
        ("Job", "ns", "train", 3, 2, ["n1", "n2"]),
        ("Deployment", "ns", "web", 1, 1, ["n1"]),
        ("Pod", "ns", "lost", 1, 0, []),
    ]


def test_what_is_not_placed_is_printed_first_and_what_is_placed_once_an_owner():
    web = [placed("web", f"n{number % 5}", kind="Deployment", replica=number) for number in range(40)]
    found = document(*web, placed("train", "n1"), left("train", "no", replica=1))
    assert report.owner_cells(found) == [
        ["Job", "ns", "train", "2", "1", "n1"],
        ["Deployment", "ns", "web", "40", "40", "5 nodes: n0, n1, n2 and 2 more"],
    ]
    outcomes = [row[report.UNIT_HEADERS.index("outcome")] for row in report.unit_cells(found)]
    assert outcomes == ["NotPlaced", *["Placed"] * 41]


def test_owners_of_one_name_and_different_kinds_are_apart():
    found = document(placed("a", kind="Pod"), placed("a", kind="Deployment"))
    assert [row[0] for row in report.rows(found)] == ["Pod", "Deployment"]


def test_many_nodes_are_counted():
    units = [placed("train", f"n{number}", replica=number) for number in range(6)]
    assert report.owner_cells(document(*units))[0][-1] == "6 nodes: n0, n1, n2 and 3 more"


def test_wide_rows_tell_devices_and_reasons_of_each_unit():
    found = document(placed("train", "n1", "gpu-0", "gpu-1", gang="g"), left("train", "no room", "no GPU", replica=1))
    assert list(report.unit_rows(found)) == [
        ("Job", "ns", "train", "train-0", "g", "n1", ["gpu-0", "gpu-1"], "Placed", []),
        ("Job", "ns", "train", "train-1", None, None, [], "NotPlaced", ["no room", "no GPU"]),
    ]


def test_node_rows_say_which_are_new():
    found = document(nodes=[has("n1", 4, 3, 2), has("big-1", 8, 8, 1, "big")])
    assert list(report.node_rows(found)) == [("n1", None, 4, 3, 2), ("big-1", "big", 8, 8, 1)]


def test_what_is_bought_of_pools_is_told_by_offering():
    """Two nodes of one offering with different labels are one row; a NodeTemplate beside them has no pool."""
    offering = {"pool": "p", "instance_type": "t", "zone": "z1", "capacity_type": "spot"}
    bought = [
        BoughtNodes(template="p-t-z1-spot", count=2, price=0.1, cost=0.2, **offering),
        BoughtNodes(template="p-t-z1-spot-2", count=1, price=0.1, cost=0.1, **offering),
        BoughtNodes(template="own", count=1, price=10, cost=10),
    ]
    headers, rows = report.bought_table(msgspec.structs.replace(document(), bought=tuple(bought)))
    assert headers == report.POOL_HEADERS
    assert list(rows) == [
        ("p", "t", "z1", "spot", 3, 0.1, "0.3"),
        ("", "own", "", "", 1, 10, "10"),
        ("total", "", "", "", 4, "", "10.3"),
    ]


def test_what_is_bought_is_summed():
    prices = {"big": "12.5", "small": "0.1"}
    found = document(bought={"small": nodes_of("small", 3), "big": nodes_of("big", 2)}, prices=prices)
    assert list(report.bought_rows(found)) == [("big", 2, 12.5, 25), ("small", 3, 0.1, 0.3), ("total", 5, "", "25.3")]
    assert list(report.bought_rows(document())) == []


def test_cells_are_text():
    assert tables.display_cells([("a", None, 3, 1.5, "")]) == [["a", "<none>", "3", "1.5", ""]]
    assert "<none>" in format_table(
        report.UNIT_HEADERS, tables.display_cells(report.unit_rows(document(left("a", "no"))))
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Optimal: 1 of 2 units placed on 1 node"),
        ({"verdict": "Feasible"}, "Feasible: 1 of 2 units placed on 1 node"),
        ({"bought": {"big": nodes_of("big", 2)}}, "Optimal: 1 of 2 units placed on 1 node, 2 of them to be bought"),
    ],
    ids=["optimal", "feasible", "bought"],
)
def test_the_summary_says_how_good_and_how_much(fields, text):
    found = document(
        placed("a"), left("b", "no"), nodes=[has(units=1), has("n2", units=0)], prices={"big": 1}, **fields
    )
    assert report.summary(found) == text


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (stage("admitted", 9, 9), "admitted: 9, proven"),
        (stage("admitted", 37, 40, False), "admitted: 37, at most 40, gap 7.5 %, not proven"),
        (stage("admitted", 9990, 9998), "admitted: 9990, at most 9998, gap 0.08 %, close enough"),
        (stage("cost", 37.5, 30, False, maximised=False), "cost: 37.5, at least 30, gap 25 %, not proven"),
        (stage("soft", 3, 0, False, maximised=False), "soft: 3, at least 0, not proven"),
        (stage("spread", 12, None, False, maximised=False), "spread: 12, no bound known"),
        (stage("cost", 25.0, 25.0, maximised=False), "cost: 25, proven"),
        (stage("priority=1000", 12345678, 12345678), "priority=1000: 12345678, proven"),
    ],
    ids=lambda one: one.stage if hasattr(one, "stage") else None,
)
def test_a_stage_says_how_far_its_bound_is(one, line):
    assert list(report.stages(document(stages=[one]))) == [line]


def test_a_thousand_equal_units_give_one_reason():
    units = [left("train", "no GPU", replica=number) for number in range(1000)]
    lines = list(report.reasons(document(placed("web"), *units)))
    assert lines == ["not placed: pod ns/train-0 and 999 more: no GPU"]


def test_units_with_other_reasons_have_lines_of_their_own():
    units = [left("a", "no GPU"), left("b", "no CPU"), left("c", "no GPU", claims=3), left("d", kind="Pod")]
    claims = [left("e", "no GPU", kind="ResourceClaim")]
    assert list(report.reasons(document(*units, *claims))) == [
        "not placed: pod ns/a-0 and 1 more: no GPU",
        "not placed: pod ns/b-0: no CPU",
        "not placed: pod ns/d",
        "not placed: claim ns/e: no GPU",
    ]


def test_a_reason_that_several_claims_have_is_said_once():
    (line,) = report.reasons(document(left("a", "no GPU", "no GPU", "no CPU")))
    assert line == "not placed: pod ns/a-0: no GPU; no CPU"


def test_times_are_told_if_they_are_there():
    assert list(tables.timing_lines(document())) == []
    assert list(tables.timing_lines(document(seconds={"build": 0.25, "solve": 1.5}, timings=True))) == [
        "build 0.250 s, solve 1.500 s"
    ]


@pytest.mark.parametrize(
    ("news", "line"),
    [
        (("admitted", 37, 40.04, 0.0759), "admitted 37, bound 40, gap 7.59 %"),
        (("admitted", 37, 40.06, None), "admitted 37, bound 40.1"),
        (("admitted", 37, None, None), "admitted 37"),
        (("cost", 12.5, 0, None), "cost 12.5, bound 0"),
    ],
    ids=str,
)
def test_progress_has_what_is_known(news, line):
    assert report.display_progress(*news) == line


def test_progress_shows_stage_value_bound_gap_and_time(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    seconds = iter((0.0, 1.2, 1.3, 3.5))
    watch = output.ProgressLine(lambda: next(seconds)).report_plan
    for value in (2, 3, 4):
        watch("admitted", value, 10.0)
    assert sys.stderr.getvalue() == "".join(
        f"\rplanning {text}\x1b[K"
        for text in ("1 s: admitted 2, bound 10, gap 80 %", "4 s: admitted 4, bound 10, gap 60 %")
    )
    output.clear_progress()


def test_without_a_terminal_nobody_watches(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert output.progress_line() is None


def test_reports_depend_on_the_document_only():
    units = [placed("a", "n1", "gpu-0"), left("b", "no")]
    first, second = document(*units), document(*map(copy, units))
    for _, rows in report.FRAMES.values():
        assert list(rows(first)) == list(rows(second))
