"""What peers there are, for ``drasat peers``."""

from dataclasses import dataclass
from pathlib import Path

from .answers import Handshake
from .build import NAME, find_go, locate, require
from .errors import PeerError
from .kube_scheduler import KubeScheduler


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """A peer: its program and what that says of itself (None: not built), and the Go that could build it.

    ``problem`` is the line that says why it cannot be used; empty if it can.
    """

    name: str
    program: Path | None
    handshake: Handshake | None
    go: Path | None
    problem: str = ""


def catalogue() -> tuple[PeerStatus, ...]:
    """List the peers, asking each for its version; what does not work is reported, not raised."""
    try:
        require()
        with KubeScheduler() as peer:
            return (PeerStatus(NAME, locate(), peer.handshake, find_go()),)
    except PeerError as error:
        return (PeerStatus(NAME, locate(), None, find_go(), str(error)),)
