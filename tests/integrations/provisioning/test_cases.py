"""Every recorded sequence of Kueue's controllers is equal to what the machine makes of its steps."""

import pytest
from support.provisioning_cases import comparable, provisioning_cases, simulated


@pytest.mark.parametrize("case", provisioning_cases(), ids=str)
def test_the_machine_equals_the_recorded_controllers(case):
    """Sections 1 to 7 and 12 of provisioning-request; the scheduler's decisions are those of the record."""
    for number, (made, recorded) in enumerate(zip(simulated(case), case.verdict["provisioning"], strict=True)):
        assert comparable(made) == comparable(recorded), f"phase {number}"
