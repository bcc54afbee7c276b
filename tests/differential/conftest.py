"""The real allocator."""

import os

import pytest

from drasat.peers.clients import KubeScheduler
from drasat.peers.errors import PeerError
from drasat.peers.programs import KUBE_SCHEDULER, build_program, find_program, require_program


@pytest.fixture(scope="session")
def real():
    """Skipped where the peer is not built, unless DRASAT_REQUIRE_PEERS says that the comparison must run."""
    if os.environ.get("DRASAT_REQUIRE_PEERS"):
        build_program(KUBE_SCHEDULER)
    if find_program(KUBE_SCHEDULER) is None:
        with pytest.raises(PeerError) as missing:
            require_program(KUBE_SCHEDULER)
        pytest.skip(str(missing.value))
    with KubeScheduler() as peer:
        yield peer
