"""The real allocator."""

import os

import pytest

from drasat.peers.build import build, locate, require
from drasat.peers.errors import PeerError
from drasat.peers.kube_scheduler import KubeScheduler


@pytest.fixture(scope="session")
def real():
    """Skipped where the peer is not built, unless DRASAT_REQUIRE_PEERS says that the comparison must run."""
    if os.environ.get("DRASAT_REQUIRE_PEERS"):
        build()
    if locate() is None:
        with pytest.raises(PeerError) as missing:
            require()
        pytest.skip(str(missing.value))
    with KubeScheduler() as peer:
        yield peer
