"""Strategies: clusters of every feature, and features to switch off."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from drasat.models.cluster import Cluster
from drasat.models.gates import FeatureGates
from drasat.models.manifests import read_manifests
from drasat.scenarios.families import FAMILIES, member

FACTOR = int(os.environ.get("DRASAT_PROPERTY_FACTOR", "1"))
OFFSET = int(os.environ.get("DRASAT_PROPERTY_OFFSET", "0"))

# The gates that change what the allocator does.
SWITCHES = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADerivedAttributes",
    "DRADeviceBindingConditions",
    "DRADeviceCompatibilityGroups",
    "DRADeviceTaintRules",
    "DRADeviceTaints",
    "DRAFractionalCapacityRange",
    "DRAListTypeAttributes",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)


def examples(count):
    """Settings for so many examples, the same in every run."""
    return settings(
        max_examples=count * FACTOR,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def load(family, seed):
    """The cluster of a member of a family."""
    return Cluster.build(read_manifests([member(family, seed)])[0])


def clusters(*families):
    """Members of these families, by default of all; the name of a member makes it again."""
    names = st.sampled_from(families or tuple(FAMILIES))
    return st.tuples(names, st.integers(0, 9999).map(lambda seed: seed + OFFSET))


def gates():
    """All features; those of a release; all but a few; any."""
    everything = FeatureGates.all_on()
    off = st.sets(st.sampled_from(SWITCHES), min_size=1, max_size=2)
    any_ = st.sets(st.sampled_from(SWITCHES))
    return st.one_of(
        st.just(everything),
        st.sampled_from(["1.36", "1.37"]).map(FeatureGates.for_version),
        off.map(lambda names: everything.with_(dict.fromkeys(names, False))),
        any_.map(lambda names: everything.with_(dict.fromkeys(names, False))),
    )
