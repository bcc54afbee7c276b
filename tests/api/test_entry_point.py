"""The entry point of the scripts and of ``python -m drasat``, run in this process."""

import runpy
import sys

import pytest

from drasat.cli.output import run_command


def test_the_package_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["drasat", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("drasat", run_name="__main__")
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("drasat ")


def test_a_mistyped_command_is_answered_alike_each_time(drasat):
    first = drasat("allocat")
    assert (first.code, drasat("allocat").err) == (2, first.err)
    assert "allocate" in first.err


def test_closed_streams_take_everything(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as end:
        run_command(lambda: print("nobody reads this") or 1)
    assert end.value.code == 1
