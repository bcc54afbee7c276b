"""Why something cannot be: a stable id and a sentence, with blanks for names, as equal nodes and claims share it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from .messages import Message


@dataclass(frozen=True, slots=True)
class Justification:
    """A reason by the id of the filter or encoder behind it (``matchAttribute``, ``counters``, ...).

    ``claim`` is the number of the claim it is about, None if it is about several, ``device`` and ``pool`` likewise;
    ``message`` may have blanks for them, and is a sentence that anyone can check against the manifests. ``subject`` is
    what would have to change, as far as the id does not tell: a branch of a model, an entry, a row, ...
    """

    id: str
    message: Message
    claim: int | None = None
    device: int | None = None
    pool: int | None = None
    subject: Hashable = None
