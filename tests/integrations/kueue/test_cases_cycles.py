"""What Kueue's own scheduler and controllers did in every recorded case and phase (kueue-dra 3.7, 4.1 to 4.9)."""

import pytest
from support.kueue_cases import cases_of, kueue_cases
from support.kueue_verdicts import recorded_phase, verdict_phases

FAMILIES = sorted({case.family for case in kueue_cases() if "phases" in case.verdict})


def differing_parts(found, expected):
    """The parts of a phase that are not as recorded."""
    return [name for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_phase_of_every_case_goes_as_recorded(family):
    differences = []
    for case in cases_of(family):
        phases = case.verdict.get("phases", ())
        for number, (found, recorded) in enumerate(zip(verdict_phases(case), phases, strict=bool(phases))):
            differences += [(case.name, number, part) for part in differing_parts(found, recorded_phase(recorded))]
    assert not differences, differences[:5]
