"""Ctrl-C while the solver's library is loaded counts afterwards, once, and only if it counts at all."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from drasat.encoders.solver_library import CpSatRun, defer_interrupts


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_is_held_back_until_the_end():
    done = []

    def load():
        with defer_interrupts():
            interrupt()
            done.append("loaded")

    with pytest.raises(KeyboardInterrupt):
        load()
    assert done == ["loaded"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_happens():
    with defer_interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_ignores_interrupts_goes_on_ignoring_them():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with defer_interrupts():
            interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_inside_is_told_and_the_handler_is_back():
    with pytest.raises(ImportError), defer_interrupts():
        raise ImportError("no such library")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_have_nothing_to_hold_back():
    found = []

    def load():
        with defer_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


STOPPED_WHILE_LOADING = """
import importlib.abc, os, signal, sys
class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "ortools.sat.python.cp_model_helper":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
try:
    import drasat.solver.engines.optimize
except KeyboardInterrupt:
    from ortools.sat.python import cp_model
    print("interrupted", cp_model.CpModel().validate() == "")
"""


def test_the_library_is_whole_after_an_interrupt(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_WHILE_LOADING], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("interrupted True\n", 0), done.stderr


def test_a_run_that_has_not_begun_can_be_stopped():
    run = CpSatRun()
    run.stop()
    assert run.response is None
