"""``explain`` and ``capacity``: the same bytes whatever the hashes, Ctrl-C while the solver runs, the time limit."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from support.engines import changed
from support.mappings import CLASS, claim, node, pool, wish

# Every command of the list in one process.
EACH = """
import json, sys
from drasat.__main__ import main
for argv in json.loads(sys.argv.pop(1)):
    sys.argv = ["drasat", *argv]
    try:
        main()
    except SystemExit as end:
        print(end.code)
"""


def test_the_same_bytes_whatever_the_hashes(examples):
    path = str(examples / "mig-partitions")
    commands = [
        ["explain", "-f", path, "-o", "json"],
        ["capacity", "-f", path, "--claim", "inference/flexible", "-o", "json"],
        ["topology", "-f", str(examples / "torus-topology"), "-o", "json"],
        ["topology", "-f", str(examples / "nvlink-links"), "-o", "dot"],
        ["show", "-f", str(examples / "inventory"), "-o", "json"],
        ["show", "-f", str(examples / "inventory"), "-o", "wide"],
    ]
    outputs = [
        subprocess.run(
            [sys.executable, "-c", EACH, json.dumps(commands)],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashes in ("1", "4242")
    ]
    assert outputs[0] == outputs[1]
    assert '"relaxations": [' in outputs[0]
    assert '"fits": 7' in outputs[0]
    assert '"count": 18' in outputs[0]
    assert "6 -- 7;" in outputs[0]
    assert "half-0: in use" in outputs[0]


@pytest.fixture
def many(tmp_path):
    """Two hundred claims, each of which has to be explained."""
    path = tmp_path / "many.json"
    devices = [{"name": f"gpu-{number}", "attributes": {"numa": {"int": number % 7}}} for number in range(60)]
    tied = {"constraints": [{"matchAttribute": "gpu.example.com/numa"}]}
    asked = [claim(f"c{number}", wish(count=10 + number % 20), **tied) for number in range(200)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [CLASS, node(), pool(devices), *asked]}))
    return path


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3])
def test_ctrl_c_while_explaining_prints_what_was_explained(drasat, many, register, delay):
    def counted(ask):
        asked.append(ask)
        if len(asked) == 4:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
        return ask()

    asked = []
    register("auto", changed(counted))
    done = drasat("explain", "-f", many, "-o", "json")
    assert (done.code, done.err) == (130, "")
    units = json.loads(done.out)["units"]
    assert len(units) == 200
    assert {unit["outcome"] for unit in units[:2]} == {"Unallocatable"}
    assert units[-1]["outcome"] == "Unknown"
    assert units[-1]["reasons"][0]["id"] == "interrupted"


@pytest.mark.parametrize("limit", ["0.000001s", "50ms"])
def test_the_time_limit_leaves_the_rest_undecided(drasat, many, limit):
    done = drasat("explain", "-f", many, "-o", "json", "--time-limit", limit)
    told = json.loads(done.out)
    undecided = [unit for unit in told["units"] if unit["outcome"] == "Unknown"]
    assert done.err == ""
    assert undecided[-1] == told["units"][-1]
    assert {reason["id"] for unit in undecided for reason in unit["reasons"]} == {"timeLimit"}
    assert not any(unit["complete"] for unit in undecided)
    # That one of them does not fit is known as soon as one is decided.
    assert done.code == (3 if len(undecided) == len(told["units"]) else 1)
