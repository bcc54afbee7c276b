import os
import sys

import pytest

from drasat.models.formats.errors import PeerError
from drasat.peers.clients import KubeScheduler
from drasat.peers.programs import KUBE_SCHEDULER, build_program, find_program, require_program

# What a fake peer's script may use: hello() introduces it, requests() yields what it is asked, say() answers.
PRELUDE = """
import json, os, signal, sys, time
def say(value):
    text = value if isinstance(value, str) else json.dumps(value)
    sys.stdout.write(text + "\\n"); sys.stdout.flush()
def hello(peer="kube-scheduler", protocol=1):
    say({"peer": peer, "protocol": protocol, "module": "example.com/allocator", "version": "v1.2.3", "go": "go9"})
def requests():
    for line in sys.stdin:
        yield json.loads(line)
"""


@pytest.fixture
def fake(tmp_path):
    """Make the command of a peer that runs this Python code."""

    def make(code):
        script = tmp_path / f"peer{len(list(tmp_path.iterdir()))}.py"
        script.write_text(PRELUDE + code)
        return [sys.executable, "-S", "-E", str(script)]

    return make


@pytest.fixture(scope="session")
def real():
    """The real allocator. Skipped where it is not built, unless DRASAT_REQUIRE_PEERS says that it must run."""
    if os.environ.get("DRASAT_REQUIRE_PEERS"):
        build_program(KUBE_SCHEDULER)
    if find_program(KUBE_SCHEDULER) is None:
        with pytest.raises(PeerError) as missing:
            require_program(KUBE_SCHEDULER)
        pytest.skip(str(missing.value))
    with KubeScheduler() as peer:
        yield peer
