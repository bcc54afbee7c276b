"""Tables of cases, one a line, in JSON files under ``tests/data``."""

import json
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


@cache
def read(name):
    """The content of a file, by its path without the ending."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def cases(name, table):
    """The rows of a table of a file; each is a tuple if it has several values."""
    return [tuple(row) if isinstance(row, list) else row for row in read(name)[table]]
