import signal
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from support.engines import registered

from drasat import __main__ as entry

# How fast inputs are made says how busy the machine is, and in a new checkout tables of characters come first.
settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("patient")
# A shell that starts tests in the background has them ignore Ctrl-C, and every command that they start as well.
signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def pytest_terminal_summary(terminalreporter):
    """Print the tables that tests have recorded as properties, also those of other processes, each under one name."""
    tables = defaultdict(list)
    for report in (*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())):
        for name, text in getattr(report, "user_properties", ()):
            if name.startswith("table of ") and report.when == "call":
                tables[name].append(text)
    for name, lines in tables.items():
        terminalreporter.section(name)
        terminalreporter.write("".join(f"{line}\n" for line in lines))


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def drasat(monkeypatch, capsys):
    """Run the command line in this process: ``drasat("allocate", "-f", path)``."""

    def run(*argv):
        monkeypatch.setattr("sys.argv", ["drasat", *map(str, argv)])
        with pytest.raises(SystemExit) as end:
            entry.main()
        streams = capsys.readouterr()
        return Done(end.value.code, streams.out, streams.err)

    return run


@pytest.fixture
def register():
    """Put an engine into the table for one test: ``register("auto", make)``."""
    with ExitStack() as stack:
        yield lambda name, make: stack.enter_context(registered(name, make))


@pytest.fixture(scope="session")
def examples():
    return EXAMPLES
