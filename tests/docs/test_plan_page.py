"""The page about ``plan`` shows what the program prints, and lists what there is."""

import re
from pathlib import Path
from typing import get_args

import pytest

from drasat.cli.exits import Exit
from drasat.plan_documents import PlanVerdict
from drasat.plans import PlanResult
from drasat.solver.planning.posing.goals import NAMES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "plan.md").read_text()
SESSIONS = re.findall(r"```console\n\$ drasat (.*)\n((?:.*\n)*?)```", PAGE)


def rows(first):
    """First cells of the table whose head begins with this."""
    table = PAGE[PAGE.index(f"| {first} |") :].split("\n\n")[0]
    return [line.split("|")[1].strip() for line in table.splitlines()[2:]]


def test_several_sessions_are_checked():
    assert len(SESSIONS) == 2


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_shown_output_is_real(drasat, monkeypatch, command, shown):
    """Reasons come last, and are left out on the page."""
    monkeypatch.chdir(ROOT)
    done = drasat(*command.split())
    printed = [line.rstrip() for line in (done.out + done.err).splitlines()]
    assert printed[: len(shown.splitlines())] == shown.splitlines()
    assert all(line.startswith(("not placed", "  ")) for line in printed[len(shown.splitlines()) :])


def test_every_stage_is_listed():
    listed = {name.partition("=")[0] for row in rows("stage") for name in re.findall(r"`([^`]+)`", row)}
    assert listed == set(NAMES)


def test_every_outcome_is_listed():
    assert {row.strip("`") for row in rows("outcome")} == set(get_args(PlanVerdict))


def test_every_exit_code_is_listed():
    assert {int(row) for row in rows("code")} == set(Exit)


def test_properties_and_tables_that_are_named_exist():
    shown = PAGE[PAGE.index("```python") :]
    assert all(hasattr(PlanResult, name) for name in re.findall(r"result\.(\w+)", shown))


def test_pages_named_exist():
    pages = re.findall(r"\]\((\S+?)\)", PAGE)
    assert pages
    assert [page for page in pages if not (ROOT / "docs" / "guides" / page).is_file()] == []
