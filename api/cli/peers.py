"""``drasat peers``: programs of other systems that drasat runs beside itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from .output import Exit, UsageError, print_stderr, print_table, progress_line, write_stdout_lines

if TYPE_CHECKING:
    from ..peers.kube_scheduler import PeerStatus

app = typer.Typer(
    name="peers", add_completion=False, rich_markup_mode=None, help="List the programs of other systems beside drasat."
)
_HEADERS = ("peer", "status", "module", "version", "go", "program")


@app.callback(invoke_without_command=True)
def command(context: typer.Context) -> None:
    """List what there is; why something cannot be used goes to stderr. Exit code 1 if anything cannot."""
    if context.invoked_subcommand is not None:
        return
    from ..peers.kube_scheduler import peer_statuses

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
def build_command(force: Annotated[bool, typer.Option("--force", help="Compile the programs again.")] = False) -> None:
    """Compile the programs into the user's cache folder; this needs Go and downloads Go modules."""
    from ..peers.errors import PeerError
    from ..peers.kube_scheduler import build_program

    line = progress_line()
    watch = partial(line.report, "building kube-scheduler") if line else None
    try:
        program = build_program(force=force, watch=watch)
        write_stdout_lines([str(program)])
    except PeerError as error:
        raise UsageError(str(error)) from None
