"""How a command ends and what it prints: results, problems, progress and exit codes.

Results go to stdout. Warnings, problems and progress go to stderr; progress appears on a terminal only.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

from ..models.formats.errors import plural

if TYPE_CHECKING:
    from ..verbs import Result, ResultWithManifests

ResultT = TypeVar("ResultT", bound="Result[Any]")


def print_result(
    result: ResultT, form: str, printers: Mapping[str, Callable[[ResultT], None]], report: str | None = None
) -> None:
    """Print the result in a format: as JSON, as YAML, or by the printer of another format; write the report, if any."""
    if form == "json":
        write_stdout_parts(result.json_parts())
    elif form == "yaml":
        write_stdout_parts(result.yaml_parts())
    else:
        printers[form](result)
    if report is not None:
        result.report(report)
        print_stderr(f"report: {report}")


def by_width(print_tables: Callable[..., None]) -> dict[str, Callable[[Any], None]]:
    """The printers of the formats ``table`` and ``wide``: one that prints more if it is ``wide``."""
    return {"table": print_tables, "wide": partial(print_tables, wide=True)}


def check_report(path: str | None) -> None:
    """Refuse a file that no report can be written into, before anything is computed. Raises ``UsageError``."""
    if path is not None:
        from ..reports.report import check_report_path

        try:
            check_report_path(Path(path))
        except ValueError as error:
            raise UsageError(f"--report: {error}") from None


def print_manifests(result: ResultWithManifests[Any]) -> None:
    """Print the allocated claims, ready for kubectl."""
    from ..models.manifests.writer import yaml_parts

    write_stdout_parts(yaml_parts(result.manifest_stream()))


def print_claim_names(result: ResultWithManifests[Any]) -> None:
    """Print the names of the allocated claims, as kubectl takes them."""
    write_stdout_lines(
        f"resourceclaim.resource.k8s.io/{manifest['metadata']['name']}" for manifest in result.manifest_stream()
    )


# Seconds between two states of a progress line.
_PROGRESS_INTERVAL = 0.2


class ProgressLine:
    """One line on a terminal that is rewritten: what runs, for how long, and how far it is.

    The line disappears before anything else is printed (``clear_progress``).
    """

    visible = False

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = self._last = clock()

    def report_units(self, done: int, total: int) -> None:
        """Show how many units are done."""
        self.report("allocating", f"{done} of {plural(total, 'unit')}")

    def report_search(self, stage: str, value: int | None, bound: int | None) -> None:
        """Show how far a stage of an allocation is; None: not known yet."""
        value_text = [] if value is None else [f"best so far {value}"]
        bound_text = [] if bound is None else [f"at least {bound}"]
        self.report("searching", ", ".join([stage, *value_text, *bound_text]))

    def report_plan(self, stage: str, value: float, bound: float | None) -> None:
        """Show stage, value, bound and gap of a plan."""
        from ..models.results.plan import relative_gap
        from ..reports.plan import display_progress

        self.report("planning", display_progress(stage, value, bound, relative_gap(value, bound)))

    def report_study(self, done: int, total: int, left: float | None) -> None:
        """Show how many variants are done, and the seconds that the others take."""
        rest = [] if left is None else [f"about {left:.0f} s left"]
        self.report("studying", ", ".join([f"{done} of {plural(total, 'variant')}", *rest]))

    def report(self, activity: str, state: str) -> None:
        """Rewrite the line, but not more often than people read it; what ends quickly shows nothing."""
        now = self._clock()
        if now - self._last < _PROGRESS_INTERVAL:
            return
        self._last = now
        line = f"{activity} {now - self._began:.0f} s: {state}"
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
            sys.stderr.flush()
        ProgressLine.visible = True


def progress_line() -> ProgressLine | None:
    """Return a progress line; None without a terminal."""
    return ProgressLine() if sys.stderr.isatty() else None


def clear_progress() -> None:
    """Remove the progress line if there is one."""
    if ProgressLine.visible:
        ProgressLine.visible = False
        with contextlib.suppress(OSError):
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    NO = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    INTERRUPTED = 130


class UsageError(Exception):
    """The options make no sense together or name something that does not exist; one line."""


def run_command(command: Callable[[], int]) -> NoReturn:
    """Run the command and exit with its code; every error becomes one line on stderr a problem, never a traceback."""
    sys.stdout, sys.stderr = _utf8_stream(sys.stdout), _utf8_stream(sys.stderr)
    try:
        code = command()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except Exception as error:
        code = _report_error(error)
    sys.exit(int(code))


def _utf8_stream(stream: TextIO | None) -> TextIO:
    """Make a standard stream UTF-8 whatever the locale, as documents are equal everywhere; a closed one takes all."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream


def run_verb(verb: Callable[[], ResultT]) -> tuple[ResultT, bool]:
    """Call a verb; return its result, and whether Ctrl-C ended it early.

    Raises
    ------
    UsageError
        If something is wrong with the arguments of the verb.

    """
    from ..verbs import Interrupted

    try:
        return verb(), False
    except ValueError as error:
        raise UsageError(str(error)) from None
    except Interrupted as interrupt:
        return interrupt.result, True


def _report_error(error: Exception) -> int:
    from ..models.formats.errors import InputError, PeerError

    if isinstance(error, InputError):
        print_problems(*map(str, error.problems))
    elif isinstance(error, UsageError | PeerError):
        print_problems(str(error))
    elif isinstance(error, OSError):
        print_problems(": ".join(filter(None, [str(error.filename or ""), error.strerror or str(error)])))
    else:
        print_problems(f"this is a defect of drasat, please report it: {type(error).__name__}: {error}")
    return Exit.BAD_INPUT


def print_problems(*lines: str) -> None:
    """Print problems on stderr, each line with the program's name; equal ones once, with their number."""
    counts = Counter(lines)
    print_stderr(*(f"drasat: {line}" + (f" ({count} times)" if count > 1 else "") for line, count in counts.items()))


def print_stderr(*lines: str) -> None:
    """Print lines beside the result on stderr; control characters of names are escaped."""
    from ..models.formats.errors import one_line

    clear_progress()
    # Without stderr the lines are lost; the exit code still counts.
    with contextlib.suppress(OSError):
        for line in lines:
            print(one_line(line), file=sys.stderr)


def write_stdout(text: str) -> None:
    """Write the result, or a part of it, to stdout. That its reader has gone is no error: the exit code still counts.

    Raises
    ------
    UsageError
        If it cannot be written.

    """
    write_stdout_parts([text])


def write_stdout_parts(parts: Iterable[str]) -> None:
    """Write the result part by part, as ``write_stdout``; what makes the parts stops where nobody reads them."""
    clear_progress()
    try:
        for text in parts:
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
    except OSError as error:
        _abandon_stdout()
        raise UsageError(f"cannot write the result: {error.strerror or error}") from None


def write_stdout_lines(lines: Iterable[str], *, outcomes: bool = False) -> None:
    """Write lines of the result; control characters of names are escaped. Raises ``UsageError`` as ``write_stdout``.

    With ``outcomes`` each line begins with an outcome, or has one behind a name; on a terminal it gets a colour.
    """
    from ..models.formats.errors import one_line
    from ..reports.tables import colour_outcome

    escaped = map(one_line, lines)
    write_stdout("".join(f"{line}\n" for line in (map(colour_outcome, escaped) if outcomes else escaped)))


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, below: bool = False, wide: bool = False
) -> None:
    """Print rows under headers, ``wide`` with all columns; ``below`` something else with a blank line between."""
    from ..reports.tables import format_table

    write_stdout(("\n" if below else "") + format_table(headers, list(rows), wide=wide))


def _abandon_stdout() -> None:
    """Keep the interpreter from trying again when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
