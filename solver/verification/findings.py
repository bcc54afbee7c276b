"""What the parts of the verifier report to each other."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """A broken rule, by its id, and what is wrong.

    ``fatal`` says that the rule does more than keep a device away: a request for all devices cannot leave it out.
    """

    rule: str
    message: str
    fatal: bool = False
