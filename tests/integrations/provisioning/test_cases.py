"""Every recorded sequence of Kueue's controllers is equal to what the machine makes of its steps."""

import pytest
from support.provisioning_cases import comparable, provisioning_cases, simulated


@pytest.mark.parametrize("case", provisioning_cases(), ids=str)
def test_machine_and_scheduler_equal_the_recorded_controllers(case):
    """Sections 1 to 7 and 12 of provisioning-request, with what Kueue's scheduler does in between."""
    for number, (made, recorded) in enumerate(zip(simulated(case), case.verdict["provisioning"], strict=True)):
        assert comparable(made) == comparable(recorded), f"phase {number}"
