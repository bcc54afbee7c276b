"""The page of the command line, made of the commands themselves: what each does, with all its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from support.rules import ROOT

from drasat.cli.main import app
from drasat.reports.tables import DROP_ORDER

PAGE = ROOT / "docs" / "reference" / "command-line.md"
INTRODUCTION = f"""# Command line

`drasat COMMAND --help` prints the same texts. `kubectl drasat COMMAND` works too. The guides explain each command with
examples: [show](../guides/show.md), [allocate](../guides/allocate.md), [plan](../guides/plan.md),
[compare](../guides/compare.md), [explain](../guides/explain.md), [capacity](../guides/capacity.md),
[topology](../guides/topology.md), [validate](../guides/validate.md), [snapshot](../guides/snapshot.md).

Results go to stdout. Reasons, warnings and progress go to stderr. Progress appears on terminals only.

`drasat --install-completion` lets the shell complete commands, options and values. kubectl completes the words behind
`kubectl drasat` by itself: the package installs the program `kubectl_complete-drasat` for it.

`UPDATE_DOCS=1 pytest tests/docs` writes this page from the commands.

## Tables

`-o table`, the default, is for people, `-o wide` has more columns and rows, and `-o json` is for programs.

- On a terminal, cells that are too long go on in the next line. A word is never divided. Outcomes have colours, unless
  `NO_COLOR` is set.
- While a table is wider than the terminal, it loses columns in this order: {", ".join(DROP_ORDER)}.
  A line below it names the columns that are left out. `-o wide` keeps all columns.
- Without a terminal every row is one line with all columns, for `less -S`, `grep` and `awk`.
- `plan` has one row an owner, with the number of its units that are placed. What is not placed comes first.
  `-o wide` has one row a unit.
"""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The command and all below it, each with the words to call it."""
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.make_context(path[-1] if path else "drasat", [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


def section(path: tuple[str, ...], command: Any) -> Iterator[str]:
    yield from ("", f"## {' '.join(('drasat', *path))}", "")
    for paragraph in re.split(r"\n\s*\n", command.help or ""):
        yield from (" ".join(paragraph.split()), "")
    context = command.make_context(path[-1] if path else "drasat", [], resilient_parsing=True)
    records = (option.get_help_record(context) for option in command.params if "completion" not in option.opts[0])
    shown = [record for record in records if record is not None]
    if shown:
        yield from ("| option | meaning |", "|---|---|")
        yield from (f"| `{_cell(names)}` | {_cell(text)} |" for names, text in shown)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


def page() -> str:
    lines = [line for path, command in commands(typer.main.get_command(app)) for line in section(path, command)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([INTRODUCTION, *lines, ""]).rstrip("\n") + "\n")
