"""``drasat peers``: programs of other systems that drasat runs beside itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from .output import Exit, UsageError, print_problems, print_stderr, print_table, progress_line, write_stdout_lines

if TYPE_CHECKING:
    from ..peers.clients import PeerStatus

app = typer.Typer(
    name="peers", add_completion=False, rich_markup_mode=None, help="List the programs of other systems beside drasat."
)
_HEADERS = ("peer", "status", "module", "version", "go", "program")


@app.callback(invoke_without_command=True)
def command(context: typer.Context) -> None:
    """List what there is; why something cannot be used goes to stderr. Exit code 1 if anything cannot."""
    if context.invoked_subcommand is not None:
        return
    from ..peers.clients import peer_statuses

    found = peer_statuses()
    print_table(_HEADERS, map(_peer_row, found))
    print_stderr(*(f"{peer.name}: {peer.problem}" for peer in found if peer.problem))
    raise typer.Exit(Exit.NO if any(peer.problem for peer in found) else Exit.DONE)


def _peer_row(peer: PeerStatus) -> tuple[str, ...]:
    program = str(peer.program) if peer.program else "<none>"
    if peer.handshake is None:
        return peer.name, "broken" if peer.program else "not built", "", "", "", program
    told = peer.handshake
    return peer.name, "ready", told.module, told.version, told.go, program


@app.command("build")
def build_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Compile this program. [default: all]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compile the programs again.")] = False,
) -> None:
    """Compile the programs into the user's cache folder; this needs Go and downloads Go modules."""
    from ..models.formats.errors import PeerError
    from ..peers.programs import PROGRAMS, build_program

    if unknown := [name for name in names or () if name not in PROGRAMS]:
        raise UsageError(f"there is no peer {unknown[0]}, known are: {', '.join(PROGRAMS)}")
    line = progress_line()
    problems = []
    for name in names or PROGRAMS:
        try:
            program = build_program(name, force=force, watch=partial(line.report, f"building {name}") if line else None)
            write_stdout_lines([str(program)])
        except PeerError as error:
            problems.append(str(error))
    if problems:
        print_problems(*dict.fromkeys(problems))
        raise typer.Exit(Exit.BAD_INPUT)
