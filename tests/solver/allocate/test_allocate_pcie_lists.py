"""Story 1 of KEP-5491, and semantics, as the example has them: every engine allocates it, and verifies the answer."""

from pathlib import Path

import pytest

from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load

EXAMPLE = Path(__file__).parents[3] / "examples" / "pcie-lists"


def roots(cluster):
    """The PCIe roots of each device."""
    devices = (device for piece in cluster.slices for device in piece.spec.devices)
    values = {device.name: device.attributes["resource.kubernetes.io/pcieRoot"] for device in devices}
    return {name: set(value.strings or (value.string,)) for name, value in values.items()}


@pytest.mark.parametrize("engine", ["auto", "backtracking", "cp-sat"])
def test_cpus_gpus_and_nics_are_aligned(engine):
    """CON-7, SEM-4, SEM-6."""
    cluster = load(str(EXAMPLE))
    made = allocate(cluster, engine=engine)
    assert made.verified
    of = roots(cluster)
    common = {}
    for ref, allocation in (pair for unit in made.units for pair in unit.allocations):
        taken = [result.device for result in allocation.devices.results]
        common[ref.key[1], len(taken)] = len(set.intersection(*(of[name] for name in taken)))
    assert common == {("aligned", 4): 1, ("same-socket", 2): 2, ("redundant", 3): 0}
