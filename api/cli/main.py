"""The entry point: ``drasat`` and ``kubectl drasat``. The module of a command is imported when it is used."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import typer.main
from typer.core import TyperGroup

from .output import Exit, run_command, write_stdout_lines

# In the order of the help. Each is a module beside this one.
COMMANDS = (
    "show",
    "allocate",
    "validate",
    "compare",
    "plan",
    "capacity",
    "explain",
    "check",
    "study",
    "provision",
    "topology",
    "overlay",
    "tune",
    "quota",
    "snapshot",
    "peers",
)


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are used: a command loads only what it needs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; for a name that is none import all, so that a similar one can be suggested."""
        for name in (cmd_name,) if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands[name] = typer.main.get_command(_command_app(name))
        return self.commands.get(cmd_name)


def _command_app(name: str) -> typer.Typer:
    module = importlib.import_module(f".{name}", __package__)
    if hasattr(module, "app"):
        group: typer.Typer = module.app
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name)(module.command)
    return single


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        write_stdout_lines([f"drasat {version('drasat')}"])
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Allocate Kubernetes DRA devices, plan whole queues, and explain what does not fit.

    Exit codes: 0 all allocated; 1 a definite no; 2 bad input or usage; 3 undecided within the limit; 130 interrupted.
    """


def program_name() -> str:
    """Return the name by which the user called the program: ``kubectl drasat`` for the plug-in's file name.

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


# What kubectl does beside the offered words (directives of cobra): it completes files, or nothing else.
_COMPLETE_FILES, _NO_FILES = 0, 4


def complete_for_kubectl() -> NoReturn:
    """Print how the last of the given words can go on, as kubectl expects it from a plug-in.

    The words are those that bash would be offered.
    """
    run_command(_print_completion)


def _print_completion() -> int:
    words = ["kubectl-drasat", *(sys.argv[1:] or [""])]
    question = {"COMP_WORDS": shlex.join(words[:-1]) + f" {words[-1]}", "COMP_CWORD": str(len(words) - 1)}
    os.environ.update(question, _KUBECTL_DRASAT_COMPLETE="complete_bash")
    sys.argv = words[:1]
    with contextlib.redirect_stdout(io.StringIO()) as answer, contextlib.suppress(SystemExit):
        app(prog_name=words[0])
    offered = answer.getvalue().split()
    write_stdout_lines([*offered, f":{_NO_FILES if offered else _COMPLETE_FILES}"])
    return Exit.DONE
