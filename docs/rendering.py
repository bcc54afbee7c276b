"""What the site shows of an example beside its files: the commands that one runs, what they print, a picture, a report.

Outputs are kept in ``build/examples`` until the source or an example changes.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from hashlib import sha256
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import execution

import drasat
from drasat import __main__ as command_line

ROOT = execution.ROOT
RENDERED = ROOT / "build" / "examples"
_COMMANDS = re.compile(r"^drasat (.*?)(?:  *#.*)?$", re.MULTILINE)
# By the folder of an example, or the one above it.
_VERBS = {"inventory": "show", "kueue": "quota"}
# A report has about a megabyte, so that only some examples have one.
_WITH_REPORT = ("inventory", "mig-partitions", "plan-buy", "plan-queue", "torus-topology")


def commands(folder: Path) -> list[str]:
    """The commands that an example's README names, else the verb that fits its files; none that it shows itself."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    named = [command for block in blocks for command in _COMMANDS.findall(block)]
    if named or "```console" in text or not any(folder.glob("*.yaml")):
        return named
    verb = _VERBS.get(folder.name) or _VERBS.get(folder.parent.name) or "allocate"
    return [f"{verb} -f {folder.relative_to(ROOT).as_posix()}"]


class Rendered(NamedTuple):
    """The outputs of an example as Markdown, and the files of its picture and of its report."""

    text: str
    picture: Path | None
    report: Path | None


def rendered(folder: Path) -> Rendered:
    """Run the commands of an example, if that was not done before."""
    state = f"{folder} {commands(folder)} {Path(__file__).read_text(encoding='utf-8')} {execution.fingerprint()}"
    name = f"{folder.name}-{sha256(state.encode()).hexdigest()[:16]}"
    text, picture, report = (RENDERED / f"{name}.{kind}" for kind in ("md", "svg", "html"))
    if not text.exists():
        RENDERED.mkdir(parents=True, exist_ok=True)
        with chdir(ROOT):
            shown = "\n".join(map(_session, commands(folder)))
            for command in commands(folder)[:1]:
                _draw(command, picture, report if folder.name in _WITH_REPORT else None)
        text.write_text(shown, encoding="utf-8")
    return Rendered(
        text.read_text(encoding="utf-8"), picture if picture.exists() else None, report if report.exists() else None
    )


def _session(command: str) -> str:
    """A command as in a terminal. Exit codes do not matter: some examples ask for more than there is."""
    shown = StringIO()
    words = ["drasat", *shlex.split(command)]
    with patch.object(sys, "argv", words), redirect_stdout(shown), redirect_stderr(shown), suppress(SystemExit):
        command_line.main()
    return f"```console\n$ drasat {command}\n{''.join(_stripped(shown.getvalue()))}```\n"


def _stripped(text: str) -> Iterator[str]:
    return (f"{line.rstrip()}\n" for line in text.splitlines())


def _draw(command: str, picture: Path, report: Path | None) -> None:
    """Draw what a command answers: places of devices where there are topologies, else a mosaic; curves of a study.

    An example without devices has no picture. Write its report.
    """
    verb, *words = command.split()
    if verb == "study":
        given = dict(pairwise(words))
        drasat.study(drasat.load(given["-f"]), given["--study"]).plot.curves(picture)
    if verb not in ("allocate", "plan", "show"):
        return
    cluster = drasat.load(*(source for flag, source in pairwise(words) if flag == "-f"))
    result: drasat.PlanResult | drasat.InventoryResult | drasat.AllocationResult
    if verb == "plan":
        result = drasat.plan(cluster, buy="--buy" in words, only_new="--only-new" in words)
    else:
        result = drasat.show(cluster) if verb == "show" else drasat.allocate(cluster)
    if cluster.slices:
        (result.plot.topology if cluster.topologies else result.plot.mosaic)(picture)
    if report:
        result.report(report)
