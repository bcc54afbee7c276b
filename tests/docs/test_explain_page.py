"""The page about ``explain`` shows what the program prints, and lists what there is."""

import re
from pathlib import Path

import pytest

from drasat.models.selection import NODE_FILTERS
from drasat.problem.filters import FILTERS
from drasat.solver.explaining.conflict import _RANK
from drasat.solver.explaining.explainer import MOST_CLASSES
from drasat.solver.explaining.offer import COSTS
from drasat.solver.explaining.relaxing import ENOUGH, MOST
from drasat.solver.explaining.trials import TRIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "explain.md").read_text()
NUMBERS = {3: "three", 5: "five"}


def rows(first):
    """First cells of the table whose head begins with this."""
    table = PAGE[PAGE.index(f"| {first} |") :].split("\n\n")[0]
    return [line.split("|")[1:-1] for line in table.splitlines()[2:]]


def test_the_example_is_what_is_printed(drasat, examples):
    shown = re.search(r"```\n\$ drasat explain -f examples/mig-partitions\n(.*?)```", PAGE, re.DOTALL)
    assert drasat("explain", "-f", examples / "mig-partitions").out == shown[1]


def test_every_reason_is_listed():
    listed = {id_ for row in rows("id") for id_ in re.findall(r"`(\w+)`", row[0])}
    filters = {filter_.id for filter_ in FILTERS}
    assert listed == {*_RANK, *filters, *(id_ for id_, _ in NODE_FILTERS), "allocatedClaim"}


@pytest.mark.parametrize("id_", COSTS)
def test_every_cost_is_listed(id_):
    (row,) = [row for row in rows("change") if f"`{id_}`" in row[0]]
    assert row[1].split()[0] == str(COSTS[id_])


def test_limits_are_those_of_the_program():
    assert f"The largest {MOST_CLASSES} kinds" in PAGE
    assert f"at most {TRIES} attempts" in PAGE
    assert f"at most {NUMBERS[MOST]} are told" in PAGE
    assert f"fewer than {NUMBERS[ENOUGH]} help" in PAGE
