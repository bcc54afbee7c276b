"""The README shows what really happens."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def sessions():
    """Commands with their output, of the commands that need neither a pipe nor a file of the reader's."""
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            if command.startswith("drasat") and "examples/" in command and "|" not in command:
                yield pytest.param(command.split()[1:], output, id=command)


@pytest.mark.parametrize(("argv", "shown"), list(sessions()))
def test_shown_output_is_real(drasat, monkeypatch, argv, shown):
    monkeypatch.chdir(ROOT)
    done = drasat(*argv)
    printed = [line.rstrip() for line in (done.out + done.err).splitlines()]
    assert printed == shown.rstrip("\n").splitlines()


def test_several_sessions_are_checked():
    assert len(list(sessions())) >= 2


def test_files_named_in_the_readme_exist():
    named = re.findall(r"`((?:docs|examples|models|cel|problem|solver|api|peers|scenarios)/[\w./-]*)`", README)
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []
