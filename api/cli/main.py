"""The entry point: ``drasat`` and ``kubectl drasat``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from . import allocate, capacity, compare, explain, peers, plan, topology, validate
from .output import Exit, run_command, write_stdout_lines

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("allocate")(allocate.command)
app.command("validate")(validate.command)
app.command("compare")(compare.command)
app.command("plan")(plan.command)
app.command("capacity")(capacity.command)
app.command("explain")(explain.command)
app.command("topology")(topology.command)
app.add_typer(peers.app, name="peers")


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        write_stdout_lines([f"drasat {version('drasat')}"])
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Allocate Kubernetes DRA devices: does an allocation exist, which one, and why not.

    Exit codes: 0 all allocated; 1 a definite no; 2 bad input or usage; 3 undecided within the limit; 130 interrupted.
    """


def program_name() -> str:
    """How the user called us: ``kubectl drasat`` for the plug-in's file name.

    Shells complete that as the one word it is, and variables with a blank in their names do not exist.
    """
    if not Path(sys.argv[0]).name.startswith("kubectl"):
        return "drasat"
    completion = "_KUBECTL_DRASAT_COMPLETE" in os.environ or any(word.endswith("-completion") for word in sys.argv[1:])
    return "kubectl-drasat" if completion else "kubectl drasat"


def run_application() -> NoReturn:
    """Run the command line and exit."""
    run_command(_exit_code_of_application)


def _exit_code_of_application() -> int:
    # typer ends every normal path with SystemExit; its code is ours.
    try:
        app(prog_name=program_name())
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else Exit.DONE
    return Exit.DONE
