"""``drasat peers`` and ``drasat peers build``. No Go is needed."""

from pathlib import Path

import pytest

from drasat.peers import kube_scheduler as building
from drasat.peers import kube_scheduler as listing
from drasat.peers.answers import Handshake
from drasat.peers.errors import PeerError
from drasat.peers.kube_scheduler import PeerStatus

TOLD = Handshake(peer="kube-scheduler", protocol=1, module="example.com/allocator", version="v1.2.3", go="go9")
PROGRAM = Path("/somewhere/kube-scheduler")


@pytest.fixture
def there(monkeypatch):
    return lambda *found: monkeypatch.setattr(listing, "peer_statuses", lambda: found)


def test_what_is_ready_is_listed_with_versions(drasat, there):
    there(PeerStatus("kube-scheduler", PROGRAM, TOLD, None))
    done = drasat("peers")
    header, row = (line.split() for line in done.out.splitlines())
    assert (done.code, done.err) == (0, "")
    assert header == ["PEER", "STATUS", "MODULE", "VERSION", "GO", "PROGRAM"]
    assert row == ["kube-scheduler", "ready", "example.com/allocator", "v1.2.3", "go9", str(PROGRAM)]


@pytest.mark.parametrize(
    ("program", "status"), [(None, ["not", "built", "<none>"]), (PROGRAM, ["broken", str(PROGRAM)])]
)
def test_what_cannot_be_used_is_listed_with_the_reason(drasat, there, program, status):
    there(PeerStatus("kube-scheduler", program, None, None, "run 'drasat peers build'"))
    done = drasat("peers")
    assert done.code == 1
    assert done.out.splitlines()[1].split() == ["kube-scheduler", *status]
    assert done.err == "kube-scheduler: run 'drasat peers build'\n"


@pytest.mark.parametrize(("arguments", "forced"), [((), False), (("--force",), True)], ids=["plain", "force"])
def test_build_prints_the_program(drasat, monkeypatch, arguments, forced):
    asked = []
    monkeypatch.setattr(building, "build_program", lambda *, force, watch: asked.append(force) or PROGRAM)
    done = drasat("peers", "build", *arguments)
    assert (done.code, done.out, asked) == (0, f"{PROGRAM}\n", [forced])


def test_build_says_in_one_line_what_is_missing(drasat, monkeypatch):
    def fail(*, force, watch):
        raise PeerError("the kube-scheduler peer needs Go to be built")

    monkeypatch.setattr(building, "build_program", fail)
    done = drasat("peers", "build")
    assert (done.code, done.out, done.err) == (2, "", "drasat: the kube-scheduler peer needs Go to be built\n")


def test_allocating_without_the_peer_says_in_one_line_what_to_do(drasat, examples, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = ("allocate", "-f", examples / "whole-gpus", "--engine", "kube-scheduler", "--cel-errors", "kube")
    done = drasat(*asked)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("drasat: the kube-scheduler peer ")
    assert "drasat peers build" in done.err
    assert len(done.err.splitlines()) == 1
