"""Recorded cases that are permuted, renamed and put side by side: what has nothing in common does not touch each other.

To try more of them, from a seed on:
``PYTHONPATH=tests python tests/integrations/kueue/test_cases_transformed.py 0 1000``.
"""

import copy
import json
import random
import sys

import pytest
from support.kueue_cases import CONFIGURATION_API, kueue_cases, read_objects
from support.kueue_verdicts import phase_verdict

from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.models.cluster.cluster import Cluster

CASES = [one for one in kueue_cases() if "phases" in one.verdict]
_NAMED = ("Namespace", "ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue", "Workload")
_DEVICES = ("DeviceClass", "ResourceSlice")
_SEEDS = 40


def accepted(case):
    refused = case.rejected
    return [one for one in case.objects if (one["kind"], one["metadata"]["name"]) not in refused]


def renamed(objects, prefix):
    """All names with a prefix, but for those of resources, device classes and claim templates."""
    found = copy.deepcopy(objects)
    for one in found:
        kind, metadata, spec = one["kind"], one["metadata"], one.get("spec") or {}
        if kind in _NAMED:
            metadata["name"] = prefix + metadata["name"]
        places = [(metadata, "namespace"), (metadata, "uid")]
        if kind != "ResourceClaimTemplate":
            places += [(spec, field) for field in ("cohortName", "parentName", "clusterQueue", "queueName")]
        if kind in ("ClusterQueue", "Cohort"):
            groups = spec.get("resourceGroups") or ()
            places += [(flavor, "name") for group in groups for flavor in group.get("flavors") or ()]
        admission = (one.get("status") or {}).get("admission")
        if admission:
            assigned = [sets.get("flavors") or {} for sets in admission.get("podSetAssignments") or ()]
            places += [(admission, "clusterQueue"), *((flavors, name) for flavors in assigned for name in flavors)]
        for holder, field in places:
            if holder.get(field):
                holder[field] = prefix + holder[field]
    return found


def verdict_of(objects, configuration):
    settings = {"apiVersion": CONFIGURATION_API, "kind": "Configuration", **configuration}
    cluster = Cluster.build(read_objects([settings, *objects]))
    state = KueueState(cluster, kueue_configuration(cluster))
    return phase_verdict(state), state


def in_order(verdict, prefix=""):
    """Without the prefix, and rows in an order that does not depend on it."""
    found = json.loads(json.dumps(verdict).replace(prefix, "") if prefix else json.dumps(verdict))
    for rows in ("quotaBefore", "quotaAfter"):
        found[rows].sort(key=str)
    return found


def part_of(verdict, prefix):
    """What a verdict says of the objects with a prefix."""
    events = [
        (cycle["cycle"], name, one)
        for cycle in verdict["cycles"]
        for name in ("admitted", "evicted")
        for one in cycle.get(name, ())
        if one["workload"].startswith(prefix)
    ]
    rows = [one for one in verdict["quotaAfter"] if one["node"].removeprefix("cohort:").startswith(prefix)]
    shares = verdict.get("shares", {}).items()
    return {
        "workloads": [one for one in verdict["workloads"] if one["workload"].startswith(prefix)],
        "events": events,
        "quota": rows,
        "shares": {name: one for name, one in shares if name.removeprefix("cohort:").startswith(prefix)},
    }


def devices_of(case):
    return {json.dumps(one, sort_keys=True) for one in case.objects if one["kind"] in _DEVICES}


def check_alone(case, chance):
    """Order of the input and names do not matter, and what has settled stays."""
    objects = accepted(case)
    verdict, state = verdict_of(objects, case.configuration)
    shuffled = chance.sample(objects, len(objects))
    assert verdict_of(shuffled, case.configuration)[0] == verdict, case
    other, _ = verdict_of(renamed(objects, "zq-"), case.configuration)
    assert in_order(other, "zq-") == in_order(verdict), case
    if verdict["settled"]:
        again = phase_verdict(state)
        assert (again["cycles"], again["workloads"]) == ([], verdict["workloads"]), case


def check_together(one, other, chance):
    """Two cases with names of their own: each goes as if it were alone."""
    first, second = renamed(accepted(one), "aa-"), renamed(accepted(other), "bb-")
    apart = [verdict_of(objects, one.configuration)[0] for objects in (first, second)]
    both = [*first, *(each for each in second if each["kind"] not in _DEVICES)]
    together, _ = verdict_of(chance.sample(both, len(both)), one.configuration)
    for prefix, alone in zip(("aa-", "bb-"), apart, strict=True):
        # Kueue's cycles that have no end are left at any of them.
        if alone["settled"] and together["settled"]:
            assert part_of(together, prefix) == part_of(alone, prefix), (one.name, other.name)


def check(seed):
    chance = random.Random(f"transformed/{seed}")
    case = chance.choice(CASES)
    check_alone(case, chance)
    others = [
        one
        for one in CASES
        if (one.family, one.configuration) == (case.family, case.configuration) and devices_of(one) == devices_of(case)
    ]
    check_together(case, chance.choice(others), chance)


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_order_and_names_do_not_matter_and_trees_do_not_touch_each_other(seed):
    """Kueue-dra 4.6: heads of all queues are taken at once, and quota is shared within a tree of cohorts only."""
    check(seed)


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        check(number)
    print(f"{count} cases")
