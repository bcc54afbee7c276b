"""Exit codes, and how errors end a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import NoReturn


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
    try:
        code = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone; keep the interpreter from complaining when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.DONE
    except Exception as error:
        code = _failed(error)
    sys.exit(int(code))


def _failed(error: Exception) -> int:
    from ..models.problems import InputError, one_line

    if isinstance(error, InputError):
        complain(*map(str, error.problems))
    elif isinstance(error, UsageError):
        complain(str(error))
    else:
        complain(one_line(f"this is a defect of drasat, please report it: {type(error).__name__}: {error}"))
    return Exit.BAD_INPUT


def complain(*lines: str) -> None:
    """Say what is wrong on stderr, each line with the program's name."""
    tell(*(f"drasat: {line}" for line in lines))


def tell(*lines: str) -> None:
    """Say something beside the result, on stderr."""
    for line in lines:
        print(line, file=sys.stderr)
