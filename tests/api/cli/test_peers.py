"""``drasat peers`` and ``drasat peers build``. No Go is needed."""

from pathlib import Path

import pytest
from support.fake_go import install_go, install_peer

from drasat.peers.programs import KUBE_SCHEDULER, PROGRAMS, build_program, find_program

HELLO = '{"peer": "kube-scheduler", "protocol": 1, "module": "example.com/allocator", "version": "v1.2.3", "go": "go9"}'


def test_what_is_ready_is_listed_with_versions(drasat, tmp_path, monkeypatch):
    program = install_peer(tmp_path, monkeypatch, ["echo", f"'{HELLO}'"])
    done = drasat("peers")
    header, row, other = (line.split() for line in done.out.splitlines())
    assert done.code == 1
    assert done.err == "karpenter: the karpenter peer is not built: run 'drasat peers build'\n"
    assert other == ["karpenter", "not", "built", "<none>"]
    assert header == ["PEER", "STATUS", "MODULE", "VERSION", "GO", "PROGRAM"]
    assert row == ["kube-scheduler", "ready", "example.com/allocator", "v1.2.3", "go9", str(program)]


def test_what_cannot_be_started_is_listed_with_the_reason(drasat, tmp_path, monkeypatch):
    program = install_peer(tmp_path, monkeypatch, None)
    done = drasat("peers")
    assert done.code == 1
    assert done.out.splitlines()[1].split() == ["kube-scheduler", "broken", str(program)]
    assert done.err.splitlines()[0] == "kube-scheduler: peer kube-scheduler cannot be started: Permission denied"


def test_what_is_not_built_is_listed_with_the_reason(drasat, tmp_path, monkeypatch):
    install_go(tmp_path, monkeypatch)
    done = drasat("peers")
    assert done.code == 1
    assert done.out.splitlines()[1].split() == ["kube-scheduler", "not", "built", "<none>"]
    for line, name in zip(done.err.splitlines(), PROGRAMS, strict=True):
        assert line == f"{name}: the {name} peer is not built: run 'drasat peers build'"


@pytest.mark.parametrize(("arguments", "builds"), [((), 1), (("--force",), 2)], ids=["plain", "force"])
def test_build_prints_the_program(drasat, tmp_path, monkeypatch, arguments, builds):
    go = install_go(tmp_path, monkeypatch)
    program = build_program(KUBE_SCHEDULER)
    done = drasat("peers", "build", KUBE_SCHEDULER, *arguments)
    assert (done.code, done.out) == (0, f"{program}\n")
    assert len(Path(f"{go}.log").read_text().splitlines()) == 2 * builds


def test_build_builds_all_without_a_name(drasat, tmp_path, monkeypatch):
    install_go(tmp_path, monkeypatch)
    done = drasat("peers", "build")
    assert (done.code, done.out.splitlines()) == (0, [str(find_program(name)) for name in PROGRAMS])


def test_an_unknown_peer_is_bad_usage(drasat):
    done = drasat("peers", "build", "volcano")
    assert (done.code, done.err) == (2, "drasat: there is no peer volcano, known are: kube-scheduler, karpenter\n")


def test_build_says_in_one_line_what_is_missing(drasat, tmp_path, monkeypatch):
    install_go(tmp_path, monkeypatch, "#!/bin/sh\nexit 7\n")
    done = drasat("peers", "build")
    assert (done.code, done.out, done.err) == (2, "", "drasat: Go does not run: status 7\n")


def test_allocating_without_the_peer_says_in_one_line_what_to_do(drasat, examples, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = ("allocate", "-f", examples / "whole-gpus", "--engine", "kube-scheduler", "--cel-errors", "kube")
    done = drasat(*asked)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("drasat: the kube-scheduler peer ")
    assert "drasat peers build" in done.err
    assert len(done.err.splitlines()) == 1
