"""Pictures of results: mosaics with one cell a device, and which other pictures each kind of result has."""

from itertools import pairwise
from pathlib import Path

import pytest

import drasat

EXAMPLES = Path(__file__).parents[3] / "examples"


def loaded(example):
    return drasat.load(EXAMPLES / example)


def cells(chart):
    """The rows of a mosaic's cells: grounds, and what is held above them."""
    return chart.to_dict(validate=False)["datasets"]["cells"]


def rows_of(chart):
    """The rows of a small chart, wherever Altair put them."""
    made = chart.to_dict(validate=False)
    return (made.get("data") or made["layer"][0]["data"])["values"]


def held(chart):
    return [row for row in cells(chart) if row["owner"]]


def test_every_device_has_one_cell_and_every_allocated_one_its_owner():
    result = drasat.plan(loaded("plan-queue"))
    rows = cells(result.plot())
    grounds = {row["device"] for row in rows if not row["owner"]}
    now = {row["device"]: row["owner"] for row in rows if row["state"] == "placed now"}
    claimed = {
        f"{one.driver}/{one.pool}/{one.device}": f"{unit.kind} {unit.namespace}/{unit.name}"
        for unit in result.units
        for claim in unit.claims
        for one in (claim.allocation.devices.results if claim.allocation else ())
    }
    assert len(grounds) == 16
    assert now == claimed
    assert [row["owner"] for row in rows if row["state"] == "held before"] == ["Pod serving/assistant"]


def test_owners_have_colours_and_letters_of_their_own():
    chart = drasat.plan(loaded("plan-queue")).plot()
    keys = {row["owner"]: row["key"] for row in held(chart)}
    assert len(set(keys.values())) == len(keys) == 4
    scale = chart.to_dict(validate=False)["layer"][0]["encoding"]["color"]["scale"]
    assert set(keys.values()) <= set(scale["domain"])
    assert len(set(scale["range"])) == len(scale["range"]) == len(scale["domain"])


def test_partitions_are_to_scale_inside_their_gpu():
    """The parts of a GPU that is cut are no more than the whole, beside each other, in proportion to its counters."""
    rows = cells(drasat.allocate(loaded("mig-partitions")).plot())
    (ground,) = [row for row in rows if not row["owner"]]
    parts = {row["device"]: row for row in rows if row["owner"]}
    assert sum(row["w"] for row in parts.values()) <= ground["w"]
    ordered = sorted(parts.values(), key=lambda row: row["x"])
    assert all(one["x"] + one["w"] <= other["x"] + 0.02 for one, other in pairwise(ordered))
    widths = sorted(row["w"] for row in parts.values())
    assert widths[-1] > 2 * widths[0]


def test_shares_of_a_device_are_to_scale():
    rows = cells(drasat.allocate(loaded("shared-cpus")).plot())
    parts = [row for row in rows if row["owner"]]
    assert parts
    wholes = {row["device"]: row["w"] for row in rows if not row["owner"]}
    assert {row["note"]: row["w"] / wholes[row["device"]] for row in parts}["50% of the device"] == pytest.approx(0.5)
    assert all(0 < row["w"] < wholes[row["device"]] for row in parts)


def test_nodes_are_grouped_by_any_label():
    result = drasat.plan(loaded("plan-queue"))
    chart = result.plot.mosaic(by="topology.example.com/rack").to_dict(validate=False)
    titles = [row["title"] for row in chart["datasets"]["headings"] if row["choice"] == 0]
    assert titles == ["a", "b"]
    with pytest.raises(ValueError, match="no node has the label 'x'"):
        result.plot.mosaic(by="x")


def test_cells_of_a_mosaic_do_not_overlap():
    for example in ("plan-queue", "inventory", "torus-topology"):
        chart = drasat.show(loaded(example)).plot().to_dict(validate=False)["datasets"]
        at = {row["n"]: (row["x0"], row["y0"]) for row in chart["nodes"]}
        corners = [
            (at[row["n"]][0] + row["x"], at[row["n"]][1] + row["y"]) for row in chart["cells"] if not row["owner"]
        ]
        assert len(set(corners)) == len(corners)


def test_bought_nodes_are_in_the_picture():
    result = drasat.plan(loaded("plan-buy"), buy=True, only_new=True)
    names = {row["node"] for row in result.plot().to_dict(validate=False)["datasets"]["nodes"]}
    assert {node.name for node in result.nodes if node.new} <= names
    costs = rows_of(result.plot.cost())
    assert {row["template"]: row["count"] for row in costs} == result.bought


COMPARED = {
    "planners": lambda: drasat.compare_plans(loaded("plan-queue"), ["first-fit", "plan"], orders=["given"]),
    "engines": lambda: drasat.compare(loaded("inventory"), ["backtracking", "cp-sat"]),
}


@pytest.mark.parametrize("what", COMPARED)
def test_two_answers_stand_side_by_side_with_differences_marked(what):
    result = COMPARED[what]()
    datasets = result.plot.mosaic().to_dict(validate=False)["datasets"]
    sides = [
        {row["device"]: row for row in datasets[f"side{number}_cells"] if row["state"] == "placed now"}
        for number in (0, 1)
    ]
    for one, other in (sides, sides[::-1]):
        for device, row in one.items():
            different = row["owner"] != other.get(device, {"owner": ""})["owner"]
            assert row["mark"] == different


def test_a_plan_remembers_value_and_bound_by_time():
    result = drasat.plan(loaded("plan-queue"))
    times = [one.seconds for one in result.progress]
    assert times == sorted(times)
    final = {one.stage: one for one in result.document.objective}
    last = {one.stage: one for one in result.progress}
    assert {name: (one.value, one.bound) for name, one in last.items()} == {
        name: (final[name].value, final[name].bound) for name in last
    }
    assert "seconds" not in result.to_json()


def test_the_fragmentation_of_a_plan_ends_with_what_compare_counts():
    cluster = loaded("plan-queue")
    compared = drasat.compare_plans(cluster, ["plan"])
    counted = compared.planners[0].fragmentation
    for result in (drasat.plan(cluster), compared):
        points = rows_of(result.plot.fragmentation())
        assert points[0]["placed"] == 0
        assert (points[-1]["placed"], points[-1]["wasted"]) == (compared.planners[0].admitted, counted.of_all)


RESULTS = {
    "allocate": lambda: drasat.allocate(loaded("torus-topology")),
    "plan": lambda: drasat.plan(loaded("plan-queue")),
    "buy": lambda: drasat.plan(loaded("plan-buy"), buy=True),
    "compare": lambda: drasat.compare(loaded("whole-gpus"), ["backtracking", "auto"]),
    "compare_plans": lambda: drasat.compare_plans(loaded("plan-queue"), ["first-fit", "plan"]),
    "capacity": lambda: drasat.capacity(loaded("whole-gpus"), pod="ml/training"),
    "queue_capacity": lambda: drasat.queue_capacity(loaded("kueue/j-stranded")),
    "explain": lambda: drasat.explain(loaded("plan-queue")),
    "show": lambda: drasat.show(loaded("inventory")),
    "topology": lambda: drasat.topology(loaded("ring-topology")),
    "quota": lambda: drasat.quota(loaded("kueue/c-borrowing")),
    "overlay": lambda: drasat.overlay(loaded("overlays")),
    "compare_purchases": lambda: drasat.compare_purchases(loaded("plan-pools"), ["karpenter-like", "plan"]),
}


@pytest.mark.parametrize("verb", RESULTS)
def test_every_result_has_a_natural_picture_that_is_the_same_every_time(verb, tmp_path):
    result = RESULTS[verb]()
    result.plot(tmp_path / "one.svg")
    result.plot(tmp_path / "other.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    assert result.plot.names
    assert "<svg" in (tmp_path / "one.svg").read_text()


def test_a_picture_that_a_result_does_not_have_is_one_line():
    with pytest.raises(ValueError, match="no picture 'fragmentation': it has devices, mosaic"):
        drasat.explain(loaded("plan-queue")).plot.fragmentation()
    with pytest.raises(ValueError, match="no picture"):
        drasat.validate(EXAMPLES / "plan-queue").plot()
    with pytest.raises(ValueError, match="the plan buys nothing"):
        drasat.plan(loaded("plan-queue")).plot.cost()
