"""The page about topologies shows what really happens."""

import re

import pytest
import yaml
from support.rules import ROOT

import drasat as package
from drasat.models.topologies import SHAPES
from drasat.models.topology_asks import ASKED_SHAPES

TEXT = (ROOT / "docs" / "topology.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^\$ (drasat .*)\n((?:(?!\$ |```).*\n)*)", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_shown_output_is_real(drasat, monkeypatch, command, shown):
    monkeypatch.chdir(ROOT)
    done = drasat(*command.split()[1:])
    assert [line.rstrip() for line in (done.out + done.err).splitlines()] == shown.splitlines()


def test_several_sessions_are_shown():
    assert len(SESSIONS) >= 3


def test_shapes_are_those_there_are():
    """TOPO-1, TOPO-2."""
    first, second = re.findall(r"\n\| `?shape.*\n\|-.*\n((?:\|.*\n)+)", TEXT)
    assert re.findall(r"^\| (\w+) ", first, re.MULTILINE) == list(SHAPES)
    assert re.findall(r"^\| `(\w+)`", second, re.MULTILINE) == list(ASKED_SHAPES)


def test_the_object_shown_is_valid():
    shown = yaml.safe_load(re.search(r"```yaml\n(apiVersion.*?)```", TEXT, re.DOTALL).group(1))
    assert package.validate(shown).problems == ()


def test_python_shown_runs(monkeypatch, tmp_path):
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1)
    monkeypatch.chdir(ROOT)
    names = {"drasat": package}
    exec(code.replace('"torus.svg"', repr(str(tmp_path / "torus.svg"))), names)
    assert (tmp_path / "torus.svg").read_text().startswith("<?xml")
    assert len(names["result"].to_frame()) == 61
