"""What a run of the cycles says, in the form of the recorded verdicts (``support.kueue_cases``)."""

import copy

from drasat.integrations.kueue.amounts import amount_of
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState

from .kueue_cases import phase_clusters

MAX_CYCLES = 30
INFINITE_SHARE = 1e18


def verdict_phases(case):
    """Run a case phase by phase; yields each phase as a verdict has it, without the counting."""
    clusters = phase_clusters(case)
    first = next(clusters)
    state = KueueState(first, kueue_configuration(first))
    yield phase_verdict(state)
    for step, cluster in zip(case.steps, clusters, strict=True):
        state.update(cluster)
        for key in step.get("finish", ()):
            state.finish(key)
        yield phase_verdict(state)


def phase_verdict(state):
    """Run the cycles of one phase."""
    counting = [counted(state, state.workloads[key]) for key in sorted(state.workloads)]
    phase = state.run(MAX_CYCLES)
    found = {
        "counting": [one for one in counting if one],
        "quotaBefore": quota_rows(phase.quota_before),
        "cycles": [cycle(one) for one in phase.cycles],
        "settled": phase.settled,
        "repeating": phase.repeating,
        "quotaAfter": quota_rows(phase.quota_after),
        "workloads": [workload(state, state.workloads[key]) for key in sorted(state.workloads)],
        "inactiveClusterQueues": {name: f"{reason}: {text}" for name, (reason, text) in state.inactive.items()},
    }
    if phase.shares is not None:
        found["shares"] = {
            name if is_queue else f"cohort:{name}": INFINITE_SHARE if infinite else float(value)
            for (name, is_queue), (infinite, value) in phase.shares.items()
        }
    return found


def quota_rows(rows):
    return sorted(map(quota_row, rows), key=lambda row: (row["node"], row["flavor"], row["resource"]))


def quota_row(row):
    written = {"subtreeQuota": row.subtree, "usage": row.usage}
    if row.is_queue:
        written |= {"available": row.available, "potential": row.potential}
    node = row.node if row.is_queue else f"cohort:{row.node}"
    return {"node": node, "flavor": row.flavor, "resource": row.resource, **written}


def cycle(one):
    found = {"cycle": one.number}
    if one.admitted:
        found["admitted"] = [admission(key, grant) for key, grant in one.admitted]
    if one.evicted:
        found["evicted"] = [
            {"workload": record.workload, "evicted": condition(record.evicted)}
            | ({"preempted": condition(record.preempted)} if record.preempted else {})
            for record in one.evicted
        ]
    if one.waiting:
        waiting = [{"workload": key, "quotaReserved": condition(told)} for key, told in one.waiting]
        found["waiting"] = sorted(waiting, key=lambda entry: entry["workload"])
    return found


def admission(key, grant):
    sets = [
        {"podSet": one.name, "count": one.count, "flavors": dict(one.flavors), "resourceUsage": dict(one.usage)}
        for one in grant.pod_sets
    ]
    return {"workload": key, "clusterQueue": grant.cluster_queue, "podSets": sets}


def condition(one):
    return {"status": "True" if one.status else "False", "reason": one.reason, "message": one.message}


def counted(state, one):
    """A workload without reservation before the cycles: its conditions, and whether it is charged; else None."""
    if one.reserved or one.finished:
        return None
    entry = {"workload": one.key, "charged": state.place(one) is not None}
    if one.conditions:
        entry["conditions"] = {name: condition(told) for name, told in sorted(one.conditions.items())}
    return entry


def workload(state, one):
    found = {"workload": one.key, "state": one.state}
    place = state.place(one)
    if place is not None:
        queue, active = place
        found["queue"] = f"{'active' if active else 'inadmissible'} in {queue}"
    if one.conditions:
        found["conditions"] = {name: condition(told) for name, told in sorted(one.conditions.items())}
    if one.grant is not None:
        found["admission"] = admission(one.key, one.grant)
    return found


def recorded_phase(phase):
    """A recorded phase in the same form."""
    found = copy.deepcopy(dict(phase))
    found["counting"] = [
        {name: one[name] for name in ("workload", "conditions") if name in one} | {"charged": "charge" in one}
        for one in phase.get("counting", ())
    ]
    for name in ("quotaBefore", "cycles", "quotaAfter"):
        found.setdefault(name, [])
    found.setdefault("repeating", False)
    found.setdefault("inactiveClusterQueues", {})
    for row in [*found["quotaBefore"], *found["quotaAfter"]]:
        for name in {*row} - {"node", "flavor", "resource"}:
            row[name] = amount_of(row["resource"], row[name])
    for one in [
        *found["workloads"],
        *(admitted for cycle in found["cycles"] for admitted in cycle.get("admitted", ())),
    ]:
        for pod_set in one.get("admission", one).get("podSets") or ():
            # Amounts of the input stand as they were written.
            for name, written in pod_set["resourceUsage"].items():
                pod_set["resourceUsage"][name] = amount_of(name, written)
    found["cycles"] = [
        one | {"waiting": sorted(one["waiting"], key=lambda entry: entry["workload"])} if "waiting" in one else one
        for one in found["cycles"]
    ]
    return found
