"""Pictures of quota: bars add up to what queues use, and the Sankey diagram keeps every pod."""

from collections import Counter

import pytest

import drasat
from drasat.reports import quota as report
from drasat.reports import quota_charts
from drasat.reports.plots import PlotSource, draw
from drasat.scenarios.quota import quota as made_up


@pytest.fixture(scope="module")
def result():
    return drasat.quota(drasat.load(made_up(20, 4, 4, 50)), time_limit=None)


@pytest.fixture(scope="module")
def stranded(examples):
    return drasat.quota(drasat.load(examples / "kueue" / "j-stranded"), time_limit=None)


def amounts(result, *fields):
    return {
        (one.node, one.flavor, one.resource): tuple(quota_charts._number(getattr(one, field)) for field in fields)
        for one in result.quota
        if not one.cohort
    }


def test_bars_are_what_is_used_borrowed_and_unused(result):
    found = Counter()
    for row in quota_charts.quota_rows_of_chart(result.document):
        found[row["queue"], row["flavor"], row["resource"], row["part"]] += row["amount"]
    assert any(part == "borrowed" for *_, part in found)
    for place, (used, borrowed, nominal) in amounts(result, "used", "borrowed", "nominal").items():
        assert found[*place, "own quota"] + found[*place, "borrowed"] == used
        assert found[*place, "borrowed"] == borrowed
        assert found[*place, "unused"] == max(0, nominal - used)


def values_of(chart, name):
    """The rows of the data of that name, which some layers share."""
    found = [one["data"]["values"] for one in chart.to_dict()["layer"] if one["data"].get("name") == name]
    return found[0]


def test_flows_keep_all_pods_and_end_at_nodes_or_nowhere(stranded):
    assert set(report.flows(stranded.document)) == {
        ("a", "gpus", "gpu-1", 1),
        ("a", "gpus", "gpu-2", 1),
        ("a", "gpus", "cannot be placed", 1),
    }


def test_blocks_of_each_column_have_all_pods(result):
    chart = quota_charts.flow_chart(result.document)
    pods = sum(one.asked for one in result.document.placement.workloads)
    sums = Counter()
    for block in values_of(chart, "blocks"):
        sums[block["column"]] += block["pods"]
    assert sums == {0: pods, 1: pods, 2: pods}


def test_the_largest_names_are_shown_and_the_others_are_one(result):
    blocks = values_of(quota_charts.flow_chart(result.document), "blocks")
    assert sum(block["column"] == 2 for block in blocks) <= 15
    assert any("other nodes" in block["name"] for block in blocks)


def test_what_there_is_nothing_for_is_refused(stranded):
    document = drasat.quota(stranded.cluster, placement=False).document
    with pytest.raises(ValueError, match="nothing to draw"):
        draw(PlotSource(document), "flows")


def test_the_result_has_both_pictures(stranded):
    assert stranded.plot.names == ("quota", "flows")
    for name in stranded.plot.names:
        assert getattr(stranded.plot, name)().to_dict()


def test_the_report_says_what_cannot_be_placed(stranded, tmp_path):
    path = tmp_path / "report.html"
    stranded.report(path)
    text = path.read_text()
    assert "Admitted, cannot be placed" in text
    assert "From queues to nodes" in text
