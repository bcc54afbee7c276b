"""Sets of feature gates: all on, some off, and as much as each variant of the allocator supports (FEAT-2)."""

from drasat.models.kubernetes.gates import FeatureGates

ALL = FeatureGates.all_on()
# Gates that lead to the experimental variant, and those that lead to the incubating one.
_EXPERIMENTAL = (
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRAOptionalNodeOperations",
)
_INCUBATING = ("DRAConsumableCapacity", "DRADeviceBindingConditions", "DRAFractionalCapacityRange")


def without(*names: str) -> FeatureGates:
    """All gates but these."""
    return ALL.with_(dict.fromkeys(names, False))


INCUBATING = without(*_EXPERIMENTAL)
STABLE = without(*_EXPERIMENTAL, *_INCUBATING)
