"""Objects for plans, as they are written, and the cluster of them."""

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests

APIS = {
    "Pod": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "Job": "batch/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "Workload": "scheduling.k8s.io/v1alpha1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "ConstraintGroup": "drasat.dev/v1alpha1",
    "NodeTemplate": "drasat.dev/v1alpha1",
}
ADMIN_LABEL = {"resource.kubernetes.io/admin-access": "true"}
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
OTHER = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}}


def obj(kind, name, spec=None, *, labels=None, owner=None, namespace=None, meta=None, **fields):
    """An object, with more metadata if given; keyword arguments in capitals are annotations of ours."""
    marks = {f"drasat.dev/{key.lower().replace('_', '-')}": fields.pop(key) for key in [*fields] if key.isupper()}
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": marks or None}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True, "apiVersion": "x"}]
    given = {key: value for key, value in metadata.items() if value is not None} | (meta or {})
    head = {"apiVersion": APIS.get(kind, "resource.k8s.io/v1"), "kind": kind, "metadata": given}
    return head | ({} if spec is None else {"spec": spec}) | fields


def container(cpu=None, **fields):
    return {"name": "main", "resources": {"requests": {"cpu": cpu}} if cpu else {}, **fields}


def entry(name, *, template=None, claim=None):
    return {"name": name, **({"resourceClaimTemplateName": template} if template else {"resourceClaimName": claim})}


def pod(name, *entries, cpu=None, **options):
    """A pod with one container and these claims; ``spec`` holds more fields of its spec."""
    more = options.pop("spec", {})
    spec = {"containers": [container(cpu)], **({"resourceClaims": list(entries)} if entries else {}), **more}
    return obj("Pod", name, spec, **options)


def asking(name, **amounts):
    """A pod with one container that asks for these amounts; of extended resources as limits, too."""
    texts = {resource: str(amount) for resource, amount in amounts.items()}
    limits = {resource: text for resource, text in texts.items() if "/" in resource}
    return pod(name, spec={"containers": [{"name": "c", "resources": {"requests": texts, "limits": limits}}]})


def maker(kind, name, *entries, cpu=None, marks=None, pod_spec=None, labels=None, **options):
    """A controller; ``marks`` are annotations of the template, ``spec`` more fields of the controller's spec."""
    made = pod("x", *entries, cpu=cpu, spec=pod_spec or {}, labels=labels, **(marks or {}))
    del made["metadata"]["name"]
    template = {"metadata": made["metadata"], "spec": made["spec"]}
    return obj(kind, name, {"template": template, **options.pop("spec", {})}, **options)


def claim(name, spec=SPEC, **options):
    return obj("ResourceClaim", name, spec, **options)


def allocated(name, **options):
    results = [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]
    return claim(name, status={"allocation": {"devices": {"results": results}}}, **options)


def template(name="t", spec=SPEC, metadata=None, **options):
    return obj("ResourceClaimTemplate", name, {"spec": spec, **({"metadata": metadata} if metadata else {})}, **options)


def device_class(name="gpu", resource=None, **metadata):
    made = obj("DeviceClass", name, {"extendedResourceName": resource} if resource else {})
    made["metadata"] |= metadata
    return made


def node(name, **amounts):
    return obj("Node", name, status={"allocatable": amounts} if amounts else {})


def cluster(*objects):
    manifests, problems, _ = read_manifests([list(objects)])
    errors = [str(one) for one in (*problems, *validate_manifests(manifests)) if one.severity == "error"]
    assert errors == []
    return Cluster.build(manifests)


def by_signature(sets):
    """Sets of interchangeable units together, in the order of the first of each."""
    found = {}
    for one in sets:
        found.setdefault(one.signature, []).append(one)
    return found
