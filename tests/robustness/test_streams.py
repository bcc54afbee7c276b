"""Standard streams, locales and folders of every kind, in processes of their own."""

import json
import os
import subprocess
import sys

import pytest
from support.mappings import CLASS, claim, pool, wish

CODE = "from drasat.__main__ import main; main()"
# What a locale without UTF-8 gives Python.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def run(*argv, env=None, **options):
    """Run the command with nothing of our environment but where Python finds its modules."""
    known = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, "-c", CODE, *argv]
    return subprocess.run(command, env={**known, **(env or {})}, timeout=60, check=False, **streams)


@pytest.fixture
def strange(tmp_path):
    """Names with letters beyond ASCII and with codes that would drive a terminal; the second claim finds nothing."""
    path = tmp_path / "strange.json"
    red = claim("r\u00f6d\x1b[31m\n", wish("\u4e00\x1b[0m"))
    lost = claim("v\u00e9rlor\x07", wish("\x1b[2J"))
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [CLASS, pool(1), red, lost]}))
    return path


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "manifests", "name"])
def test_names_neither_fail_an_encoding_nor_drive_the_terminal(strange, output):
    done = run("allocate", "-f", strange, "--skip-validation", "-o", output, env=ASCII)
    assert done.returncode == 1
    assert "r\u00f6d" in done.stdout.decode()
    text = done.stdout.decode() + done.stderr.decode()
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("output", ["table", "json", "yaml", "name"])
def test_problems_neither_fail_an_encoding_nor_drive_the_terminal(strange, output):
    done = run("validate", "-f", strange, "-o", output, env=ASCII)
    assert (done.returncode, done.stderr) == (2, b"")
    assert all(character.isprintable() or character == "\n" for character in done.stdout.decode())


def test_a_file_name_may_be_no_text(strange, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.json"
    os.rename(strange, path)
    done = run("validate", "-f", path, "-o", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["problems"][0]["source"].endswith("\\udcff.json document 1 item 3")


def test_a_closed_stdin_is_said():
    done = run("allocate", "-f", "-", preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"drasat: -: is closed\n"


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)], ids=str)
def test_closed_outputs_leave_the_exit_code(examples, closed):
    def close():
        for stream in closed:
            os.close(stream)

    assert run("allocate", "-f", examples / "mig-partitions", preexec_fn=close).returncode == 1


@pytest.mark.parametrize("output", ["table", "json", "manifests"])
def test_a_reader_that_has_gone_leaves_the_exit_code(examples, output):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = run("allocate", "-f", examples / "mig-partitions", "-o", output, stdout=pipe)
    assert done.returncode == 1
    assert b"Error" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("output", ["table", "json"])
def test_a_full_disk_is_one_line(examples, output):
    with open("/dev/full", "wb") as full:
        done = run("allocate", "-f", examples / "whole-gpus", "-o", output, stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"drasat: cannot write the result: No space left on device\n"


def test_neither_home_nor_a_folder_to_write_to_is_needed(examples, tmp_path):
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    done = run(
        "allocate", "-f", examples / "whole-gpus", cwd=folder, env={"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(folder.iterdir()) == []


def test_a_terminal_gets_styles_and_a_pipe_gets_none(examples):
    """A narrow terminal breaks long lines by itself; columns are never squeezed until nothing can be read."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    os.set_blocking(leader, True)
    env = {"TERM": "xterm", "COLUMNS": "20"}
    with os.fdopen(follower, "wb") as terminal:
        assert run("allocate", "-f", examples / "whole-gpus", stdout=terminal, env=env).returncode == 0
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "\x1b[1m" in shown
    assert "training-gpus" in shown
    assert b"\x1b" not in run("allocate", "-f", examples / "whole-gpus", env=env).stdout
