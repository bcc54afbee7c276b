"""The openb queue: its sizes, and what its tables tell; how long anything takes is not tested."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
GPUS = 6212
CLASSES = {"plain": 151, "models": 457}
EVERY = pytest.mark.parametrize("queue", CLASSES)


@pytest.fixture(scope="module")
def openb():
    """The program, which imports another one by its bare name."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("openb")
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("openb", "tables"):
            sys.modules.pop(name, None)


@pytest.fixture
def small(openb, monkeypatch):
    """The program with a twentieth of all counts."""
    whole = openb.question

    def question(queue, load):
        asked = whole(queue, load)
        units = tuple(replace(unit, demand=unit.demand // 20) for unit in asked.instance.units)
        nodes = tuple(replace(node, count=node.count // 20) for node in asked.instance.nodes)
        gpus = sum(node.count * len(one.free) for node, one in zip(nodes, asked.pricer.nodes, strict=True)) * 1000
        return replace(asked, instance=replace(asked.instance, units=units, nodes=nodes), gpus=gpus)

    monkeypatch.setattr(openb, "question", question)
    return openb


@EVERY
def test_nodes_are_those_of_the_trace(openb, queue):
    asked = openb.question(queue, 1.0)
    assert len(asked.instance.nodes) == len(asked.pricer.nodes) == 27
    assert sum(node.count for node in asked.instance.nodes) == 1523
    whole = sum(node.count * one.whole for node, one in zip(asked.instance.nodes, asked.pricer.nodes, strict=True))
    assert whole == GPUS
    assert asked.gpus == GPUS * 1000


@EVERY
@pytest.mark.parametrize("load", [1.0, 1.1, 1.3])
def test_counts_are_scaled_so_that_the_demand_for_gpus_is_as_said(openb, queue, load):
    asked = openb.question(queue, load)
    assert len(asked.instance.units) == CLASSES[queue]
    demand = sum(unit.demand * unit.weight for unit in asked.instance.units)
    # The counts of classes are rounded one by one, and those of many are small.
    assert demand / asked.gpus == pytest.approx(load, rel=0.012)


@EVERY
def test_a_unit_weighs_what_it_takes_of_gpus(openb, queue):
    asked = openb.question(queue, 1.0)
    for unit, linear in zip(asked.instance.units, asked.pricer.units, strict=True):
        assert unit.weight == linear.devices * 1000 + linear.share
        assert not (linear.devices and linear.share)
        assert len(linear.needs) == 2


def test_only_pods_with_models_choose_their_nodes(openb):
    plain, models = (openb.question(queue, 1.0).pricer.nodes for queue in CLASSES)
    assert {node.takes for node in plain} == {None}
    taken = [node.takes for node in models]
    assert None not in taken
    # Pods that name no model go anywhere; those that name one do not.
    assert frozenset.intersection(*taken)
    assert len(set(taken)) > 1


@EVERY
def test_a_row_tells_share_bound_and_gap(small, queue):
    head, row = small.plans([queue], [1.1], 0.01, 1)
    told = dict(zip(head, row, strict=True))
    assert (told["queue"], told["load"]) == (queue, "110%")
    plan, bound, gap = (float(told[name].removesuffix(" %")) for name in ("plan", "bound", "gap"))
    assert 80 < plan <= bound <= 100
    assert gap == pytest.approx(100 * (1 - plan / bound), abs=0.02)


def test_rivals_place_no_more_than_the_bound(small):
    _, (*_, bound, _, _, _, _, _) = small.plans(["plain"], [1.0], 0.01, 1)
    head, *rows = small.rivals(["plain"], [1.0], 2)
    assert [row[2] for row in rows] == ["first fit", "best fit", "FGD"]
    for row in rows:
        told = dict(zip(head, row, strict=True))
        most = float(told["placed"].split(" to ")[-1].removesuffix(" %"))
        assert 50 < most <= float(bound.removesuffix(" %"))


def test_both_tables_are_printed(small, capsys):
    small.main(["--queue", "plain", "--load", "1.3", "--workers", "1", "--gap", "0.01"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.count("|") - 1 for line in lines] == [len(small.COLUMNS)] * 3 + [len(small.RIVALS)] * 5


def test_rivals_can_be_left_out(small, capsys):
    small.main(["--queue", "plain", "--load", "1.3", "--workers", "1", "--gap", "0.01", "--seeds", "0"])
    assert "policy" not in capsys.readouterr().out
