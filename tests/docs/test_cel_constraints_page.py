"""The page about expressions over devices shows what really happens, and says what the modules do."""

import re

import pytest
import yaml
from support.rules import FAMILIES, ROOT, named

import drasat as package
from drasat.encoders import cel_devices
from drasat.solver import judging
from drasat.solver.engines import CEL_ROADS

TEXT = (ROOT / "docs" / "cel-constraints.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^\$ (drasat .*)\n((?:(?!\$ |```).*\n)*)", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_shown_output_is_real(drasat, monkeypatch, command, shown):
    monkeypatch.chdir(ROOT)
    done = drasat(*command.split()[1:])
    assert [line.rstrip() for line in (done.out + done.err).splitlines()] == shown.splitlines()


def test_a_session_is_shown():
    assert len(SESSIONS) == 1


def test_every_rule_is_there():
    assert named(TEXT) >= {f"CELC-{number}" for number in range(1, FAMILIES["CELC"] + 1)}


def test_roads_are_those_there_are():
    """CELC-9."""
    roads = re.search(r"\n\| road .*\n\|-.*\n((?:\|.*\n)+)", TEXT).group(1)
    assert ["auto", *re.findall(r"^\| `(\w+)`", roads, re.MULTILINE)] == list(CEL_ROADS)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (r"up to ([\d,]+) vectors", cel_devices.MOST_VECTORS),
        (r"refused above ([\d,]+) vectors", cel_devices.MOST_TABULATED),
        (r"After ([\d,]+) rounds", judging.PATIENCE),
        (r"ends after ([\d,]+) rounds", judging.MOST_ROUNDS),
    ],
)
def test_numbers_are_those_of_the_modules(words, number):
    """CELC-9, CELC-10."""
    assert int(re.search(words, TEXT).group(1).replace(",", "")) == number


def test_the_claim_shown_is_valid():
    spec = yaml.safe_load(re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL).group(1))
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, **spec}
    assert [one for one in package.validate(claim).problems if one.severity == "error"] == []


def test_python_shown_runs(monkeypatch):
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1)
    monkeypatch.chdir(ROOT)
    names = {"drasat": package}
    exec(code, names)
    frame = names["answer"].to_frame()
    assert names["answer"].outcome == "Allocated"
    assert len(frame) > 2
