"""Charges read from the text alone are those that Kueue's own code counted."""

import pytest
from support.kueue_cases import cases_of, kueue_cases, phase_clusters
from support.kueue_counting import recorded_charge

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.kueue import KueueWorkload
from drasat.solver.verification.quota_charges import UncountedError, WorkloadCharges

FAMILIES = sorted({case.family for case in kueue_cases()})
HELD = ("LocalQueue ", "ClusterQueue ", "The workload is deactivated")


def charge(cluster, key):
    """The charge of a workload as recorded verdicts have it; None where it cannot be counted."""
    try:
        counted = WorkloadCharges(cluster, FeatureGates.all_on(), None).of(cluster.objects(KueueWorkload)[key])
    except UncountedError:
        return None
    return positive((one.name, one.count, one.total(one.count)) for one in counted)


def positive(charges):
    """Charges without amounts of zero, which Kueue lists for some resources and not for others."""
    return [(name, count, {key: amount for key, amount in total.items() if amount}) for name, count, total in charges]


@pytest.mark.parametrize("family", FAMILIES)
def test_charges_are_those_of_every_recorded_case(family):
    differences = []
    for case in cases_of(family):
        for number, (phase, cluster) in enumerate(
            zip(case.verdict.get("phases", ()), phase_clusters(case), strict=False)
        ):
            for entry in phase.get("counting", ()):
                counted = charge(cluster, tuple(entry["workload"].split("/")))
                held = "charge" not in entry and entry["conditions"]["QuotaReserved"]["message"].startswith(HELD)
                expected = positive(recorded_charge(entry["charge"])) if "charge" in entry else None
                if not held and counted != expected:
                    differences.append((case.name, number, entry["workload"], counted, expected))
    assert not differences, differences[:3]
