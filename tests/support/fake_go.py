"""A stand-in for Go, and programs that it has built."""

import os
import stat

from drasat.peers.programs import KUBE_SCHEDULER, build_program

# Knows its version, counts its builds, and writes the file after -o.
GO = """#!/bin/sh
case "$1" in
env) echo go9.9.9 ;;
build) echo "$@" >> "$0.log"; pwd >> "$0.log"; echo example.com/a >&2; echo example.com/b >&2
  while [ "$1" != -o ]; do shift; done; echo built > "$2" ;;
esac
"""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def install_go(folder, monkeypatch, text=GO):
    """Put Go first on the PATH, and an empty cache for what it builds into this folder."""
    path = executable(folder / "bin" / "go", text)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return path


def install_peer(folder, monkeypatch, command):
    """Put a program into the cache that runs this command; without one it cannot be started."""
    install_go(folder, monkeypatch)
    program = build_program(KUBE_SCHEDULER)
    if command:
        executable(program, f"#!/bin/sh\nexec {' '.join(command)}\n")
    return program
