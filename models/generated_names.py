"""Names for objects that have a ``generateName`` only, such as pods of a Job and claims kept for ``kubectl create``."""

from collections import Counter
from typing import Any

# The API server cuts what a name begins with here, to have room for five random characters.
_BEGINNING_MAX = 58


class GeneratedNames:
    """Makes the names, counted in the order read and so the same in every run.

    A number of five digits is no name of the API server's: it uses neither 0 nor 1 nor 3.
    """

    def __init__(self) -> None:
        self._made: Counter[tuple[str, str, str]] = Counter()

    def named(self, kind: str, mapping: dict[str, Any]) -> dict[str, Any]:
        """Give the object with its name; as it is if it has one, or nothing to make it of."""
        metadata = mapping.get("metadata")
        if not isinstance(metadata, dict) or metadata.get("name") not in (None, ""):
            return mapping
        beginning = metadata.get("generateName")
        if not isinstance(beginning, str) or not beginning:
            return mapping
        beginning = beginning[:_BEGINNING_MAX]
        key = kind, str(metadata.get("namespace") or ""), beginning
        self._made[key] += 1
        return {**mapping, "metadata": {**metadata, "name": f"{beginning}{self._made[key]:05}"}}
