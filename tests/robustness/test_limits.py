"""Searches that do not end: the time limit, and Ctrl-C, leave what was decided by then."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from support.engines import failing
from support.mappings import CLASS, claim, hopeless, pool, told, wish

import drasat

DECIDED = ["Allocated n1: easy=gpu-0", "Unknown -: hard=", "Unknown -: late="]


@pytest.fixture(scope="module")
def cluster():
    return drasat.load(hopeless())


@pytest.fixture
def manifests(tmp_path):
    path = tmp_path / "hopeless.json"
    path.write_text("\n".join(map(json.dumps, hopeless())))
    return path


def reasons(result):
    return [[reason.id for reason in unit.reasons] for unit in result.units]


@pytest.mark.parametrize("limit", [0.1, 0.3])
def test_the_limit_ends_a_search_that_would_take_years(cluster, limit):
    found = drasat.allocate(cluster, engine="backtracking", time_limit=limit)
    assert told(found) == DECIDED
    assert reasons(found) == [[], ["timeLimit"], ["timeLimit"]]


def test_the_limit_is_code_3(drasat, manifests):
    done = drasat("allocate", "-f", manifests, "--engine", "backtracking", "--time-limit", "200ms", "-o", "json")
    assert done.code == 3
    assert json.loads(done.out)["outcome"] == "Unknown"


def test_an_interrupt_in_python_carries_what_was_decided(cluster):
    def interrupt_the_second(done, _of):
        if done == 1:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt) as interrupt:
        drasat.allocate(cluster, engine="backtracking", progress=interrupt_the_second)
    found = interrupt.value.result
    assert isinstance(interrupt.value, drasat.AllocationInterrupted)
    assert told(found) == DECIDED
    assert reasons(found) == [[], ["interrupted"], ["interrupted"]]
    assert found.document.verified


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "manifests", "name"])
def test_an_interrupt_prints_the_best_answer_so_far(drasat, manifests, register, output):
    register("auto", failing(KeyboardInterrupt, at=2))
    done = drasat("allocate", "-f", manifests, "-o", output)
    assert done.code == 130
    assert "easy" in done.out
    if output in ("table", "wide", "manifests"):
        assert "claim default/hard and 1 more: Unknown\n  interrupted before this was decided\n" in done.err


def test_a_real_interrupt_ends_the_command(manifests):
    """The signal is sent half a second after the command has read its input; most often it searches then."""
    with manifests.open("a") as stream:
        stream.write('\n{"apiVersion":"v1","kind":"Secret"}\n')
    code = "from drasat.__main__ import main; main()"
    command = [sys.executable, "-c", code, "allocate", "-f", manifests, "--engine", "backtracking", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr.readline() == "drasat: ignored 1 object of other kinds: 1 Secret\n"
        threading.Timer(0.5, child.send_signal, (signal.SIGINT,)).start()
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in err
    assert not out or json.loads(out)["outcome"] == "Unknown"


def test_the_limit_counts_while_a_question_is_compiled(monkeypatch):
    """A node with very many devices: judging them for each request is part of the time that is limited."""
    from drasat.problem.compiler import DemandCompiler

    judged = []
    demand = DemandCompiler.demand

    def slow(self, ask, index, shape):
        judged.append(index)
        threading.Event().wait(0.05)
        return demand(self, ask, index, shape)

    monkeypatch.setattr(DemandCompiler, "demand", slow)
    requests = [wish(f"r{number}") for number in range(32)]
    found = drasat.allocate(drasat.load([CLASS, pool(40), claim("c", *requests)]), time_limit=0.1)
    assert reasons(found) == [["timeLimit"]]
    assert len(judged) < len(requests)
