"""Documents that cannot be read, as values: what the JSON and YAML readers give in their place."""

from dataclasses import dataclass

# Deeper documents are refused: no API object comes near, and every later step may then recurse.
MAX_DEPTH = 250
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
NUMBER_TOO_LARGE = "number too large"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in the place of a document that cannot be read: pairs of field path (may be empty) and reason."""

    reasons: tuple[tuple[str, str], ...]


def unreadable(reason: str) -> Unreadable:
    """Make the stand-in for a document with one thing wrong and no field to name."""
    return Unreadable((("", reason),))


def child_path(path: str, key: str) -> str:
    """Extend a field path by a field's name: ``spec`` and ``devices`` are ``spec.devices``."""
    return f"{path}.{key}" if path else key


def position(data: bytes, offset: int) -> str:
    """Name an offset of a text by line and column, both counted from 1, the column in bytes."""
    line = data.count(b"\n", 0, offset) + 1
    column = offset - data.rfind(b"\n", 0, offset)
    return f"line {line} column {column}"
