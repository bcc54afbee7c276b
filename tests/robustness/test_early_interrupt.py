"""Ctrl-C before the command has begun: while its modules are loaded."""

import signal
import subprocess
import sys
import time

import pytest

# The signal comes at the very moment at which a module is looked for.
AT_IMPORT = """
import signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
from drasat.__main__ import main
sys.meta_path.insert(0, Interrupting())
sys.argv = ["drasat", "allocate", "-f", "-"]
main()
"""
# As the script does it, saying when it begins.
READY = """
import sys
from drasat.__main__ import main
sys.argv = ["drasat", "allocate", "-f", "-"]
print("ready", flush=True)
main()
"""


@pytest.mark.parametrize(
    "module", ["drasat.cli.main", "typer", "drasat.verbs.allocate", "drasat.solver.allocate.validate"]
)
def test_an_interrupt_at_an_import_is_quiet(module):
    code = AT_IMPORT.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], input="", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("delay", [0.01, 0.03, 0.1])
def test_an_interrupt_soon_after_the_start_is_quiet(delay):
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", READY], text=True, **streams) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "")
