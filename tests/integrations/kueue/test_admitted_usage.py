"""Usage of what is admitted stays within what trees of queues allow, read from the manifests alone (kueue-dra 4.2)."""

import random

import pytest
from support.kueue_cases import read_objects

import drasat
from drasat.models.cluster.cluster import Cluster

API = "kueue.x-k8s.io/v1beta2"
FLAVORS = ("f", "g")
POLICIES = ("Never", "LowerPriority", "Any")


def kueue_object(kind, name, spec, **metadata):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def random_objects(seed):
    """Cohorts three levels deep, queues with limits, and workloads of all priorities; nothing is admitted yet."""
    chance = random.Random(seed)

    def groups(parent, most):
        flavors = []
        for name in FLAVORS:
            quota = {"name": "gpus", "nominalQuota": chance.randint(0, most)}
            if parent and chance.random() < 0.3:
                quota["borrowingLimit"] = chance.randint(0, 5)
            if parent and chance.random() < 0.3:
                quota["lendingLimit"] = chance.randint(0, quota["nominalQuota"])
            flavors.append({"name": name, "resources": [quota]})
        return [{"coveredResources": ["gpus"], "flavors": flavors}]

    objects = [kueue_object("ResourceFlavor", name, {}) for name in FLAVORS]
    cohorts = [""]
    for index in range(chance.randint(0, 4)):
        parent = chance.choice(cohorts)
        spec = {"resourceGroups": groups(parent, 3), **({"parentName": parent} if parent else {})}
        objects.append(kueue_object("Cohort", f"c{index}", spec))
        cohorts.append(f"c{index}")
    queues = chance.randint(1, 5)
    for index in range(queues):
        parent = chance.choice(cohorts)
        spec = {
            "namespaceSelector": {},
            "resourceGroups": groups(parent, 8),
            "queueingStrategy": chance.choice(["StrictFIFO", "BestEffortFIFO"]),
            "preemption": {
                "withinClusterQueue": chance.choice(POLICIES[:2]),
                "reclaimWithinCohort": chance.choice(POLICIES),
            },
            **({"cohortName": parent} if parent else {}),
        }
        objects.append(kueue_object("ClusterQueue", f"q{index}", spec))
        objects.append(kueue_object("LocalQueue", f"q{index}", {"clusterQueue": f"q{index}"}, namespace="team"))
    for index in range(chance.randint(1, 20)):
        requests = {"requests": {"gpus": chance.randint(1, 5)}}
        pod_set = {
            "count": chance.randint(1, 3),
            "template": {"spec": {"containers": [{"name": "c", "resources": requests}]}},
        }
        if chance.random() < 0.3:
            pod_set["minCount"] = 1
        spec = {"queueName": f"q{chance.randrange(queues)}", "priority": chance.randint(0, 2), "podSets": [pod_set]}
        seconds = f"2026-01-01T00:00:{chance.randrange(60):02}Z"
        objects.append(
            kueue_object("Workload", f"w{index}", spec, namespace="team", uid=f"u{index}", creationTimestamp=seconds)
        )
    return objects


def tree_violations(objects, workloads):
    """Pairs and nodes where usage is beyond the quota of a root, or beyond a borrowing limit."""
    nodes = {}
    for one in objects:
        if one["kind"] in ("ClusterQueue", "Cohort"):
            spec = one["spec"]
            limits = {flavor["name"]: flavor["resources"][0] for flavor in spec["resourceGroups"][0]["flavors"]}
            nodes[one["metadata"]["name"]] = (spec.get("cohortName") or spec.get("parentName") or None, limits)
    used = {}
    for one in workloads:
        admission = one.get("status", {}).get("admission")
        for pod_set in admission["podSetAssignments"] if admission else ():
            place = admission["clusterQueue"], pod_set["flavors"]["gpus"]
            used[place] = used.get(place, 0) + int(pod_set["resourceUsage"]["gpus"])

    def quota(name, flavor):
        children = [child for child, (parent, _) in nodes.items() if parent == name]
        return nodes[name][1][flavor]["nominalQuota"] + sum(quota(c, flavor) - kept(c, flavor) for c in children)

    def kept(name, flavor):
        lending = nodes[name][1][flavor].get("lendingLimit")
        return 0 if lending is None else max(0, quota(name, flavor) - lending)

    def usage(name, flavor):
        children = [child for child, (parent, _) in nodes.items() if parent == name]
        return used.get((name, flavor), 0) + sum(max(0, usage(c, flavor) - kept(c, flavor)) for c in children)

    found = []
    for name, (parent, limits) in nodes.items():
        for flavor in FLAVORS:
            most = limits[flavor].get("borrowingLimit")
            if parent is None and usage(name, flavor) > quota(name, flavor):
                found.append((name, flavor, "root"))
            if parent is not None and most is not None and usage(name, flavor) > quota(name, flavor) + most:
                found.append((name, flavor, "borrowing limit"))
    return found


@pytest.mark.parametrize("seed", range(150))
def test_what_is_admitted_fits_the_tree(seed):
    """kueue-dra 4.2."""
    objects = random_objects(seed)
    cluster = Cluster.build(read_objects(objects))
    for cycles in (1, 3, None):
        result = drasat.quota(cluster, cycles=cycles)
        assert tree_violations(objects, result.manifests()) == []
    assert result.document.settled or result.document.repeating


def test_the_check_finds_usage_beyond_the_quota():
    objects = random_objects(0)
    queue = next(one for one in objects if one["kind"] == "ClusterQueue")["metadata"]["name"]
    sets = [{"name": "main", "count": 1, "flavors": {"gpus": "f"}, "resourceUsage": {"gpus": "999"}}]
    admitted = {"status": {"admission": {"clusterQueue": queue, "podSetAssignments": sets}}}
    assert tree_violations(objects, [admitted])
