"""Reads what generators make, and checks it."""

import pytest

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests


def _problems(mappings):
    manifests, problems, ignored = read_manifests([mappings])
    assert not ignored
    return [str(problem) for problem in [*problems, *validate_manifests(manifests)]]


@pytest.fixture
def problems():
    """Everything that is wrong with some mappings, warnings too."""
    return _problems


@pytest.fixture
def load():
    """A cluster of mappings that have no problems."""

    def load(mappings):
        assert _problems(mappings) == []
        return Cluster.build(read_manifests([mappings])[0])

    return load
