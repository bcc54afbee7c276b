"""Exit codes, how errors end a command, and how it writes."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable
from enum import IntEnum
from pathlib import Path
from typing import NoReturn, TextIO, TypeVar

T = TypeVar("T")


class Exit(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    NO = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    INTERRUPTED = 130


class UsageError(Exception):
    """The options make no sense together or name something that does not exist; one line."""


def run(command: Callable[[], int]) -> NoReturn:
    """Run the command and exit with its code; every error becomes one line on stderr a problem, never a traceback."""
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    try:
        code = command()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except Exception as error:
        code = _failed(error)
    sys.exit(int(code))


def _writable(stream: TextIO | None) -> TextIO:
    """Make a standard stream UTF-8 whatever the locale, as documents are equal everywhere; a closed one takes all."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream


def asked(question: Callable[[], T]) -> T:
    """Ask; what was wrong with the question, or with a peer, is a ``UsageError``."""
    from ..peers.errors import PeerError

    try:
        return question()
    except (ValueError, PeerError) as error:
        raise UsageError(str(error)) from None


def _failed(error: Exception) -> int:
    from ..models.problems import InputError
    from ..peers.errors import PeerError

    if isinstance(error, InputError):
        complain(*map(str, error.problems))
    elif isinstance(error, UsageError | PeerError):
        complain(str(error))
    elif isinstance(error, OSError):
        complain(": ".join(filter(None, [str(error.filename or ""), error.strerror or str(error)])))
    else:
        complain(f"this is a defect of drasat, please report it: {type(error).__name__}: {error}")
    return Exit.BAD_INPUT


def complain(*lines: str) -> None:
    """Say what is wrong on stderr, each line with the program's name."""
    tell(*(f"drasat: {line}" for line in lines))


def tell(*lines: str) -> None:
    """Say something beside the result, on stderr, whatever characters names in it hold."""
    from ..models.problems import one_line

    # Without stderr there is nowhere to say it; the exit code still counts.
    with contextlib.suppress(OSError):
        for line in lines:
            print(one_line(line), file=sys.stderr)


def write(text: str) -> None:
    """Write the result, or a part of it, to stdout. That its reader has gone is no error: the exit code still counts.

    Raises
    ------
    UsageError
        If it cannot be written.

    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
    except OSError as error:
        _abandon_stdout()
        raise UsageError(f"cannot write the result: {error.strerror or error}") from None


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of the result, whatever characters names in them hold. Raises ``UsageError`` as ``write``."""
    from ..models.problems import one_line

    write("".join(f"{one_line(line)}\n" for line in lines))


def _abandon_stdout() -> None:
    """Keep the interpreter from trying again when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
