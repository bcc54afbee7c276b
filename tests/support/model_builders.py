"""Short forms of API objects for tests."""

from drasat.models.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from drasat.models.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
)
from drasat.models.meta import ObjectMeta
from drasat.models.slices import (
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
