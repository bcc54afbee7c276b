"""ProvisioningRequests with their PodTemplates, nodes with GPUs, and which requests fit together, by trying."""

from functools import cache
from itertools import combinations

CHECK = "check-capacity.autoscaling.x-k8s.io"
SCALE = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
DRIVER = "gpu.example.com"
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
}


def _devices(count):
    return [{"name": f"gpu-{number}"} for number in range(count)]


def node(name, gpus=0, cpu=8, **labels):
    amounts = {"cpu": str(cpu), "memory": "64Gi", "pods": "20"}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    found = [made | {"status": {"allocatable": amounts}}]
    if gpus:
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": _devices(gpus)}
        head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}}
        found.append(head | {"spec": spec})
    return found


def offer(name, gpus, price, cpu=8, limit=None, annotations=None, labels=None):
    amounts = {"cpu": str(cpu), "memory": "64Gi", "pods": "20"}
    spec = {"price": str(price), "allocatable": amounts, "slices": [{"driver": DRIVER, "devices": _devices(gpus)}]}
    spec |= ({} if limit is None else {"limit": limit}) | ({"labels": labels} if labels else {})
    metadata = {"name": name} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": "drasat.dev/v1alpha1", "kind": "NodeTemplate", "metadata": metadata, "spec": spec}


def claim_template(count, namespace="team"):
    exactly = {"deviceClassName": "gpu", "count": count}
    spec = {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
    metadata = {"name": f"gpus-{count}", "namespace": namespace}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata}
    return head | {"spec": {"spec": spec}}


def pod_set(count, gpus=0, cpu=1, annotations=None, **spec):
    container = {"name": "main", "image": "image", "resources": {"requests": {"cpu": str(cpu)}}}
    claims = {}
    if gpus:
        container["resources"]["claims"] = [{"name": "gpus"}]
        claims = {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": f"gpus-{gpus}"}]}
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container], **claims, **spec}}
    return count, template


def request(name, *pod_sets, of=CHECK, conditions=()):
    """The PodTemplates of a request, and the request."""
    entries, templates = [], []
    for number, (count, template) in enumerate(pod_sets):
        own = f"ppt-{name}-ps{number}"
        head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": own, "namespace": "team"}}
        templates.append(head | {"template": template})
        entries.append({"podTemplateRef": {"name": own}, "count": count})
    made = {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest"}
    made |= {"metadata": {"name": name, "namespace": "team"}}
    made |= {"spec": {"provisioningClassName": of, "podSets": entries}}
    return [*templates, made | ({"status": {"conditions": list(conditions)}} if conditions else {})]


def condition(type_, status="True"):
    stamp = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": status, "reason": type_, "message": "", "lastTransitionTime": stamp}


def most_requests(there, offers, requests):
    """How many requests fit at once, and the least cost of that: every subset, every purchase, every place.

    ``offers`` are (cpu, gpus, price, limit); ``requests`` are pairs: may buy, pods.
    """
    purchases = [((), 0)]
    for cpu, gpus, price, limit in offers:
        purchases = [
            ((*bought, *((cpu, gpus),) * number), cost + number * price)
            for bought, cost in purchases
            for number in range(limit + 1)
        ]
    purchases.sort(key=lambda one: one[1])
    for size in range(len(requests), -1, -1):
        costs = []
        for chosen in combinations(requests, size):
            bound = [pod for buys, pods in chosen if not buys for pod in pods]
            free = [pod for buys, pods in chosen if buys for pod in pods]
            for bought, cost in purchases:
                if costs and cost >= min(costs):
                    break
                if not free and bought:
                    break
                if _fits(there, bought, bound, free):
                    costs.append(cost)
                    break
        if costs:
            return size, min(costs)
    return 0, 0


def _fits(there, bought, bound, free):
    """Whether pods that may not use new nodes fit beside those that may: a third amount tells the nodes apart."""
    marked = [(*one, 1 << 10) for one in there] + [(*one, 0) for one in bought]
    pods = [(*pod, 1) for pod in bound] + [(*pod, 0) for pod in free]

    @cache
    def rest(left_nodes, left):
        if not left:
            return True
        first, *others = left
        for place, has in enumerate(left_nodes):
            after = tuple(a - b for a, b in zip(has, first, strict=True))
            tried = has in left_nodes[:place] or min(after) < 0
            if not tried and rest(tuple(sorted((*left_nodes[:place], after, *left_nodes[place + 1 :]))), tuple(others)):
                return True
        return False

    return rest(tuple(sorted(marked)), tuple(sorted(pods, reverse=True)))
