"""The entry point of the scripts. It imports little, so that Ctrl-C while the rest is loaded ends quietly, too."""

from __future__ import annotations

import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    """Load the command line, run it and exit."""
    try:
        from .cli.main import run_application

        run_application()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
