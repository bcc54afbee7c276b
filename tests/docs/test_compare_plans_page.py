"""The page about plans beside schedulers shows what really happens, but for times."""

import re

from support.rules import ROOT

from drasat.reports.plan_comparison import HEADERS
from drasat.solver.planners import PLANNERS
from drasat.solver.planning.rivals.orders import ORDERS

PAGE = (ROOT / "docs" / "compare-plans.md").read_text(encoding="utf-8")


def cells(line):
    """Words of a row, without the last: the time with its unit."""
    row = re.sub(r"\s*[\d.e+-]+ (us|ms|s)\s*$|\s*TIME\s*$", "", line)
    return re.split(r"\s{2,}", row.strip())


def test_shown_output_is_real(drasat, monkeypatch):
    monkeypatch.chdir(ROOT)
    command, shown = re.search(r"```console\n\$ drasat (.*)\n((?:.*\n)*?)```", PAGE).groups()
    done = drasat(*command.split())
    assert done.code == 0
    assert [cells(line) for line in done.out.splitlines()] == [cells(line) for line in shown.splitlines()]
    assert cells(shown.splitlines()[0]) == [name.upper() for name in HEADERS[:-1]]


def test_every_planner_and_order_is_there():
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert tuple(rows) == PLANNERS
    assert [order for order in ORDERS if f"`{order}`" not in PAGE] == []
