"""Queues of Kueue with GPUs of two flavors, workloads that ask for them, and nodes that have them."""

from support.asked import CLASS, claim_template, node

import drasat

KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVORS = [
    {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {"nodeLabels": {"pool": name}}}
    for name in ("old", "new")
]


def resources(**amounts):
    return [{"name": "gpus", "nominalQuota": amount} for amount in amounts.values()]


def queue(name, **quota):
    """A ClusterQueue with GPUs of flavors, and its LocalQueue."""
    flavors = [{"name": flavor, "resources": resources(gpus=amount)} for flavor, amount in quota.items()]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["gpus"], "flavors": flavors}]}
    local = {"name": name, "namespace": "team"}
    return [
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": name}},
    ]


def workload(name, local_queue, *pod_sets):
    """Pod sets are name, number of pods, and GPUs of each pod."""
    made = []
    for one, count, gpus in pod_sets:
        container = {"name": "main", "image": "image"}
        claims = [{"name": "gpus", "resourceClaimTemplateName": f"gpus-{gpus}"}] if gpus else []
        template = {"spec": {"restartPolicy": "Never", "containers": [container], "resourceClaims": claims}}
        made.append({"name": one, "count": count, "template": template})
    metadata = {"name": name, "namespace": "team", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"queueName": local_queue, "podSets": made}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec}


def scene(nodes, *parts):
    """Nodes are GPUs by pool."""
    mapping = {"name": "gpus", "deviceClassNames": ["gpu"]}
    made = [
        CLASS,
        {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "resources": {}},
        *(claim_template(count) for count in (1, 2, 3)),
        *FLAVORS,
    ]
    made[1]["resources"] = {"deviceClassMappings": [mapping]}
    for pool, counts in nodes.items():
        for number, count in enumerate(counts):
            made += node(f"{pool}-{number}", count, pool=pool)
    return drasat.load([*made, *(one for part in parts for one in (part if isinstance(part, list) else [part]))])
