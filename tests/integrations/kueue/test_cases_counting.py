"""What Kueue's own code counted in every recorded case and phase (kueue-dra 1, 3, 5)."""

import pytest
from support.kueue_cases import cases_of, kueue_cases, phase_clusters
from support.kueue_counting import recorded_charge

from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.counting import WorkloadCharge, count_workload
from drasat.models.kubernetes.kueue import KueueWorkload

FAMILIES = sorted({case.family for case in kueue_cases()})
# Conditions of workloads that are in no queue whatever they are charged as: begin of the message.
HELD = ("LocalQueue ", "ClusterQueue ", "The workload is deactivated")


def outcome(workload, cluster, configuration):
    """What counting says, in the words of a recorded verdict."""
    counted = count_workload(workload, cluster, configuration)
    if isinstance(counted, WorkloadCharge):
        return {"charge": [(one.name, one.count, dict(one.requests)) for one in counted.pod_sets]}
    conditions = {
        one.type: {"status": one.status, "reason": one.reason, "message": one.message} for one in counted.conditions
    }
    return {"conditions": conditions, **({"retry": True, "error": counted.error} if counted.retry else {})}


def recorded(entry):
    """What the verdict has of counting; None: the workload is held in no queue."""
    if "charge" in entry:
        return {"charge": recorded_charge(entry["charge"])}
    found = {name: entry[name] for name in ("conditions", "retry", "error") if name in entry}
    held = entry["conditions"]["QuotaReserved"]["message"].startswith(HELD)
    return None if held else found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_phase_of_every_case_is_counted_as_recorded(family):
    differences = []
    for case in cases_of(family):
        phases = case.verdict.get("phases", ())
        for number, (phase, cluster) in enumerate(zip(phases, phase_clusters(case), strict=False)):
            configuration = kueue_configuration(cluster)
            for entry in phase.get("counting", ()):
                namespace, name = entry["workload"].split("/")
                counted = outcome(cluster.objects(KueueWorkload)[namespace, name], cluster, configuration)
                expected = recorded(entry)
                if expected is None:
                    assert "charge" in counted, (case.name, number, entry)
                elif counted != expected:
                    differences.append((case.name, number, entry["workload"], counted, expected))
    assert not differences, differences[:3]
