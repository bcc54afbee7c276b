"""The page about groups shows what really happens."""

import re

import pytest
import yaml
from support.rules import ROOT

import drasat as package

TEXT = (ROOT / "docs" / "constraint-groups.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^\$ (drasat .*)\n((?:(?!\$ |```).*\n)*)", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_shown_output_is_real(drasat, monkeypatch, command, shown):
    monkeypatch.chdir(ROOT)
    done = drasat(*command.split()[1:])
    assert [line.rstrip() for line in (done.out + done.err).splitlines()] == shown.splitlines()


def test_a_session_is_shown():
    assert SESSIONS


def test_the_object_shown_is_valid():
    shown = yaml.safe_load(re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL).group(1))
    assert package.validate(shown).problems == ()
