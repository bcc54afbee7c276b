"""Short forms of API objects for tests of the models, those of pods and their claims too."""

from drasat.models.kubernetes.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from drasat.models.kubernetes.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
)
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.slices import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)


def expression(key, operator, *values):
    return NodeSelectorRequirement(key=key, operator=operator, values=values or None)


def term(*expressions, fields=()):
    return NodeSelectorTerm(match_expressions=expressions or None, match_fields=tuple(fields) or None)


def selector(*terms):
    return NodeSelector(node_selector_terms=terms)


def label_selector(key, *values):
    return selector(term(expression(key, "In", *values)))


def required(*terms):
    return Affinity(node_affinity=NodeAffinity(required=selector(*terms)))


def node(name="n1", labels=None, taints=None, unschedulable=None):
    return Node(
        metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(taints=taints, unschedulable=unschedulable)
    )


def devices(*names, **fields):
    return tuple(Device(name=name, **fields) for name in names)


def resource_slice(name, *, driver="gpu.example.com", pool="p", generation=1, count=1, devices=(), **fields):
    """A slice on node n1 unless another place is given."""
    places = ("node_name", "all_nodes", "node_selector", "per_device_node_selection")
    if not any(place in fields for place in places):
        fields["node_name"] = "n1"
    spec = ResourceSliceSpec(
        driver=driver,
        pool=ResourcePool(name=pool, generation=generation, resource_slice_count=count),
        devices=tuple(devices) or None,
        **fields,
    )
    return ResourceSlice(metadata=ObjectMeta(name=name), spec=spec)


def counter_set(name, **counters):
    return CounterSet(name=name, counters={key: Counter(value=value) for key, value in counters.items()})


def consumes(name, **counters):
    consumed = {key: Counter(value=value) for key, value in counters.items()}
    return (DeviceCounterConsumption(counter_set=name, counters=consumed),)


def result(device, *, driver="gpu.example.com", pool="p", request="r", **fields):
    return DeviceRequestAllocationResult(request=request, driver=driver, pool=pool, device=device, **fields)


def allocation(*results, node_selector=None):
    return AllocationResult(devices=DeviceAllocationResult(results=results), node_selector=node_selector)


def claim(name, *results, namespace="default", **metadata):
    """A claim, allocated if results are given."""
    status = ResourceClaimStatus(allocation=allocation(*results)) if results else None
    return ResourceClaim(metadata=ObjectMeta(name=name, namespace=namespace, **metadata), status=status)


SPEC = ResourceClaimSpec(
    devices=DeviceClaim(requests=(DeviceRequest(name="r", exactly=ExactDeviceRequest(device_class_name="gpu")),))
)


def by_name(entry, name=None):
    return PodResourceClaim(name=entry, resource_claim_name=name or entry)


def from_template(entry, name="t"):
    return PodResourceClaim(name=entry, resource_claim_template_name=name)


def pod(name, *entries, statuses=None, phase="", node_name=None, namespace="default", **metadata):
    made = tuple(PodResourceClaimStatus(name=key, resource_claim_name=value) for key, value in (statuses or {}).items())
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, **metadata),
        spec=PodSpec(node_name=node_name, resource_claims=entries or None),
        status=PodStatus(phase=phase, resource_claim_statuses=made or None),
    )


def template(name="t", namespace="default", **metadata):
    return ResourceClaimTemplate(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=ResourceClaimTemplateSpec(metadata=ObjectMeta(**metadata) if metadata else None, spec=SPEC),
    )
