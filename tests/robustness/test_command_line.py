"""What the shell sees: help, names, completion, bad usage."""

import subprocess
import sys

import pytest
from support.data import cases

from drasat import __main__ as entry
from drasat.cli import main

HEAVY = {"pandas", "networkx", "numpy", "ortools", "rich", "drasat.cel", "drasat.solver", "drasat.verbs"}


@pytest.mark.parametrize(
    "argv",
    ["--help", "allocate --help", "validate -h", "compare -h", "explain -h", "capacity -h", "topology -h", "plan -h"],
)
def test_help_loads_nothing_heavy(argv):
    code = (
        "import sys; from drasat.__main__ import main\n"
        f"sys.argv = {['drasat', *argv.split()]!r}\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("Usage: drasat")
    assert not HEAVY & set(done.stderr.split())


@pytest.mark.parametrize(
    ("name", "verb", "shown"),
    [
        ("drasat", "allocate", "Usage: drasat allocate"),
        ("/usr/local/bin/kubectl-drasat", "allocate", "Usage: kubectl drasat allocate"),
        ("kubectl-drasat", "validate", "Usage: kubectl drasat validate"),
        ("kubectl-drasat", "explain", "Usage: kubectl drasat explain"),
        ("/opt/kubectl-drasat", "capacity", "Usage: kubectl drasat capacity"),
    ],
)
def test_the_name_is_the_one_it_was_called_by(monkeypatch, capsys, name, verb, shown):
    monkeypatch.setattr("sys.argv", [name, verb, "--help"])
    with pytest.raises(SystemExit):
        entry.main()
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(("name", "variable"), [("drasat", "_DRASAT"), ("kubectl-drasat", "_KUBECTL_DRASAT")])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_for_what_is_answered(monkeypatch, capsys, name, variable, shell):
    monkeypatch.setattr("sys.argv", [name])
    monkeypatch.setenv(f"{variable}_COMPLETE", f"source_{shell}")
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert end.value.code == 0
    assert f"{variable}_COMPLETE=complete_{shell}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words", "offered"),
    [
        ("drasat", "drasat al", {"allocate"}),
        ("drasat", "drasat allocate --en", {"--engine"}),
        ("drasat", "drasat allocate --cel-errors s", {"strict", "skip"}),
        ("kubectl-drasat", "kubectl-drasat val", {"validate"}),
        ("drasat", "drasat ex", {"explain"}),
        ("drasat", "drasat explain --rec", {"--recursive"}),
        ("drasat", "drasat explain -o t", {"table"}),
        ("kubectl-drasat", "kubectl-drasat ca", {"capacity"}),
        ("drasat", "drasat capacity --te", {"--template"}),
        ("drasat", "drasat capacity -o w", {"wide"}),
        ("drasat", "drasat allocate --engine c", {"cp-sat"}),
        ("drasat", "drasat compare --engines auto,b", {"auto,backtracking"}),
        ("drasat", "drasat allocate --objective soft,c", {"soft,compact"}),
        (
            "drasat",
            "drasat plan --objective admitted,f",
            {"admitted,fair", "admitted,fewest-nodes", "admitted,fragmentation", "admitted,free-domains"},
        ),
    ],
)
def test_the_shell_completes_verbs_options_and_values(monkeypatch, capsys, name, words, offered):
    monkeypatch.setattr("sys.argv", [name])
    monkeypatch.setenv(f"_{name.upper().replace('-', '_')}_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit):
        entry.main()
    streams = capsys.readouterr()
    assert (set(streams.out.split()), streams.err) == (offered, "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["al"], ["allocate", ":4"]),
        (["allocate", "--engine", "c"], ["cp-sat", ":4"]),
        (["allocate", "-f", ""], [":0"]),
        (["allocate", "it's", "--en"], ["--engine", ":4"]),
        (["no-such-verb", "--x"], [":0"]),
    ],
    ids=repr,
)
def test_kubectl_completes_the_words_behind_the_plugin_name(monkeypatch, capsys, words, offered):
    """Directive 4 offers these words alone, directive 0 names of files."""
    monkeypatch.setattr("sys.argv", ["kubectl_complete-drasat", *words])
    for variable in ("COMP_WORDS", "COMP_CWORD", "_KUBECTL_DRASAT_COMPLETE"):
        monkeypatch.setenv(variable, "")
    with pytest.raises(SystemExit) as end:
        main.complete_for_kubectl()
    assert end.value.code == 0
    assert capsys.readouterr().out.split() == offered


@pytest.mark.parametrize("argv", cases("robustness/command-line", "bad_usage"), ids=repr)
def test_bad_usage_is_code_2_with_nothing_on_stdout(drasat, argv):
    done = drasat(*argv.split(" ")) if argv else drasat()
    assert (done.code, done.out) == (2, "")
    assert done.err
    assert "defect" not in done.err
    assert all(line.isprintable() for line in done.err.splitlines())
