"""The programs of other systems."""

import os

import pytest

from drasat.models.formats.errors import PeerError
from drasat.peers.clients import Karpenter, KubeScheduler
from drasat.peers.programs import build_program, find_program, require_program


def built(kind):
    """Skipped where the peer is not built, unless DRASAT_REQUIRE_PEERS says that the comparison must run."""
    if os.environ.get("DRASAT_REQUIRE_PEERS"):
        build_program(kind.name)
    if find_program(kind.name) is None:
        with pytest.raises(PeerError) as missing:
            require_program(kind.name)
        pytest.skip(str(missing.value))
    return kind()


@pytest.fixture(scope="session")
def real():
    with built(KubeScheduler) as peer:
        yield peer


@pytest.fixture(scope="session")
def karpenter():
    with built(Karpenter) as peer:
        yield peer
