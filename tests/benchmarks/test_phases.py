"""The benchmarks run, and their documents and tables have the right shape; how long anything takes is not tested."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
PHASES = ["read", "validate", "index", "problem", "search", "verify"]


@pytest.fixture(scope="module")
def document():
    done = subprocess.run([sys.executable, FOLDER / "phases.py", "20"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_every_phase_is_measured_in_the_order_of_the_road(document):
    assert list(document) == ["nodes", "devices", "seconds", "peakMiB"]
    assert (document["nodes"], document["devices"]) == (20, 240)
    assert list(document["seconds"]) == PHASES
    assert all(seconds >= 0 for seconds in document["seconds"].values())
    assert document["peakMiB"] > 1


def test_the_table_has_a_row_a_phase_and_a_column_a_size():
    table = runpy.run_path(str(FOLDER / "run.py"))["table"]
    small = dict.fromkeys(PHASES, 0.01) | {"peakMiB": 40.0}
    results = {
        size: {name: value * size / 100 if name != "peakMiB" else value for name, value in small.items()}
        for size in (100, 1_000, 10_000)
    }
    head, *rows = table(results)
    assert head.split()[0] == "phase"
    assert [row.split()[0] for row in rows] == [*PHASES, "peakMiB"]
    assert all(row.split()[-1] == "1.00" for row in rows[:-1])


@pytest.mark.parametrize(
    ("small", "large", "exponent"), [(1.0, 10.0, 1.0), (1.0, 100.0, 2.0), (1.0, 1.0, 0.0)], ids=str
)
def test_growth_is_the_slope_between_the_two_largest_sizes(small, large, exponent):
    growth = runpy.run_path(str(FOLDER / "run.py"))["growth"]
    assert growth(small, large) == pytest.approx(exponent)


def test_rates_are_of_something():
    """The other measurements, as small as they can be."""
    assert runpy.run_path(str(FOLDER / "reading.py"))["measure"]("json", 2) > 0
    cel = runpy.run_path(str(FOLDER / "cel.py"))
    assert all(cel["rate"](cel[way], cel["prepared"](1)) > 0 for way in ("anew", "remembered"))
    search = runpy.run_path(str(FOLDER / "search.py"))
    steps, _ = search["measure"](search["cases"](8)["2 of 8, then an impossible one"]())
    assert steps > 30
