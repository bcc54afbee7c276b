"""Clusters in a few lines, and what the engine makes of them.

The driver is ``d.x`` and the node ``n1`` unless said otherwise; a bare attribute or capacity name is the driver's.
"""

from dataclasses import dataclass, field
from time import monotonic

from msgspec.structs import replace

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from drasat.models.kubernetes.core import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodStatus,
)
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.slices import (
    CapacityRange,
    CapacityRequestPolicy,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from drasat.models.results.common import Status
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine

DRIVER, NODE = "d.x", "n1"

_SCALARS = {bool: "bool_value", int: "int_value", str: "string"}
_LISTS = {bool: "bools", int: "ints", str: "strings"}


def attribute(value):
    """An attribute of a Python value; a tuple is a list, an API object stays itself."""
    if isinstance(value, DeviceAttribute):
        return value
    if isinstance(value, tuple):
        return DeviceAttribute(**{_LISTS[type(value[0])] if value else "ints": value})
    return DeviceAttribute(**{_SCALARS[type(value)]: value})


def version(text):
    return DeviceAttribute(version=text)


def shared(value, **policy):
    """A capacity with a request policy: ``default``, ``values``, or ``min``, ``max``, ``step``."""
    bounds = {name: policy[name] for name in ("min", "max", "step") if name in policy}
    policy = CapacityRequestPolicy(
        default=policy.get("default"),
        valid_values=policy.get("values"),
        valid_range=CapacityRange(**bounds) if bounds else None,
    )
    return DeviceCapacity(value=value, request_policy=policy)


def draws(set_name, groups=None, **counters):
    """What a device consumes of a counter set."""
    amounts = {name: Counter(value=str(amount)) for name, amount in counters.items()}
    return DeviceCounterConsumption(counter_set=set_name, counters=amounts, compatibility_groups=groups)


def device(name, *consumes, capacity=None, multi=None, taints=None, binding=None, attributes=None, **plain):
    """A device; further keywords are attributes."""
    values = {**plain, **(attributes or {})}
    capacities = {
        key: amount if isinstance(amount, DeviceCapacity) else DeviceCapacity(value=amount)
        for key, amount in (capacity or {}).items()
    }
    located = {
        key: values.pop(key) for key in ("node_name", "node_selector", "all_nodes", "binds_to_node") if key in values
    }
    return Device(
        name=name,
        attributes={key: attribute(value) for key, value in values.items()} or None,
        capacity=capacities or None,
        consumes_counters=consumes or None,
        allow_multiple_allocations=multi,
        taints=taints,
        binding_conditions=binding,
        binding_failure_conditions=("failed",) if binding else None,
        **located,
    )


def taint(key="k", value="", effect="NoSchedule"):
    return DeviceTaint(key=key, value=value, effect=effect)


def tolerate(key="", operator="Exists", value="", effect=""):
    return DeviceToleration(key=key, operator=operator, value=value, effect=effect)


def devices(*names, **fields):
    return tuple(device(name, **fields) for name in names)


def pool(*members, name="p", driver=DRIVER, slice_name=None, count=1, generation=1, sets=None, **where):
    """A slice with these devices, or with counter sets ``{set: {counter: value}}``; on the node ``n1`` by default."""
    if not where.keys() & {"node_name", "node_selector", "all_nodes", "per_device_node_selection"}:
        where["node_name"] = NODE
    shared_counters = tuple(
        CounterSet(name=set_, counters={key: Counter(value=str(amount)) for key, amount in counters.items()})
        for set_, counters in (sets or {}).items()
    )
    spec = ResourceSliceSpec(
        driver=driver,
        pool=ResourcePool(name=name, generation=generation, resource_slice_count=count),
        devices=members or None,
        shared_counters=shared_counters or None,
        **where,
    )
    return ResourceSlice(
        metadata=ObjectMeta(name=slice_name or f"{driver}-{name}-{'sets' if sets else 'devices'}"), spec=spec
    )


def partitions(*members, sets, **fields):
    """A pool of two slices: one with the counter sets, one with the devices that draw from them."""
    return pool(*members, count=2, **fields), pool(sets=sets, count=2, **fields)


def labels(*terms):
    """A node selector; each term maps labels to a tuple of allowed values."""
    return NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(
                match_expressions=tuple(
                    NodeSelectorRequirement(key=key, operator="In", values=values) for key, values in term.items()
                )
            )
            for term in terms
        )
    )


def node(name=NODE, features=None, **node_labels):
    return Node(
        metadata=ObjectMeta(name=name, labels=node_labels or None), status=NodeStatus(declared_features=features)
    )


def selectors(*expressions):
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in expressions) or None


def opaque(value, driver=DRIVER):
    return OpaqueDeviceConfiguration(driver=driver, parameters=value)


def device_class(name="any", *expressions, config=()):
    entries = tuple(DeviceClassConfiguration(opaque=opaque(value)) for value in config)
    return DeviceClass(
        metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=selectors(*expressions), config=entries)
    )


def _asking(count, select, cls, capacity, tolerations, derived):
    mode = {"allocation_mode": "All"} if count == "All" else {"allocation_mode": "ExactCount", "count": count}
    return {
        "device_class_name": cls,
        "selectors": selectors(*((select,) if isinstance(select, str) else select)),
        "tolerations": tolerations,
        "capacity": None if capacity is None else CapacityRequirements(requests=capacity),
        "derived_attributes": tuple(DeviceDerivedAttribute(name=key, expression=text) for key, text in derived.items())
        if derived
        else None,
        **mode,
    }


def want(name="r", count=1, select=(), *, cls="any", capacity=None, tolerations=None, derived=None, admin=None):
    """An exact request; ``count`` may be ``"All"``."""
    asking = _asking(count, select, cls, capacity, tolerations, derived)
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(**asking, admin_access=admin))


def option(name, count=1, select=(), *, cls="any", capacity=None, tolerations=None, derived=None):
    """An alternative."""
    return DeviceSubRequest(name=name, **_asking(count, select, cls, capacity, tolerations, derived))


def either(name, *options):
    """A list request."""
    return DeviceRequest(name=name, first_available=options)


def match(name, *requests):
    return DeviceConstraint(match_attribute=name, requests=requests or None)


def distinct(name, *requests):
    return DeviceConstraint(distinct_attribute=name, requests=requests or None)


def config(value, *requests):
    return DeviceClaimConfiguration(requests=requests or None, opaque=opaque(value))


def claim(*requests, name="c", constraints=(), configs=()):
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="ns"),
        spec=ResourceClaimSpec(
            devices=DeviceClaim(
                requests=requests, constraints=tuple(constraints) or None, config=tuple(configs) or None
            )
        ),
    )


def template(*requests, name="t", **metadata):
    """A template of such a claim; further keywords are metadata of the claims."""
    made = ObjectMeta(**metadata) if metadata else None
    spec = ResourceClaimTemplateSpec(spec=claim(*requests).spec, metadata=made)
    return ResourceClaimTemplate(metadata=ObjectMeta(name=name, namespace="ns"), spec=spec)


def pod(*entries, name="p", phase="", **spec):
    """A pod whose entries name a claim, or a template after ``@``; further keywords are fields of its spec."""
    claims = tuple(
        PodResourceClaim(name=f"e{number}", resource_claim_template_name=entry[1:])
        if entry.startswith("@")
        else PodResourceClaim(name=entry, resource_claim_name=entry)
        for number, entry in enumerate(entries)
    )
    status = PodStatus(phase=phase) if phase else None
    return Pod(
        metadata=ObjectMeta(name=name, namespace="ns"), spec=PodSpec(resource_claims=claims, **spec), status=status
    )


def allocated(claim_, allocation):
    """The claim with an allocation in its status."""
    return replace(claim_, status=ResourceClaimStatus(allocation=allocation))


@dataclass
class Answer:
    """What an attempt came to. ``picked`` are pairs of request and device name over all claims."""

    status: Status
    allocations: tuple
    message: str
    steps: int
    rule: str = ""
    error: str = ""
    tables: tuple = ()
    evaluations: int = 0
    results: list = field(default_factory=list)

    def __post_init__(self):
        self.results = [result for allocation in self.allocations for result in allocation.devices.results or ()]

    @property
    def picked(self):
        return [(result.request, result.device) for result in self.results]

    @property
    def names(self):
        return [result.device for result in self.results]


def attempt(*objects, gates=None, policy="kube", seed=0, on=NODE, limit=None):
    """Ask for all claims without allocation among the objects, together, on one node.

    A class ``any`` without selectors is there unless the objects have one; ``gates`` are switches by upstream name.
    """
    claims = [item for item in objects if isinstance(item, ResourceClaim) and not item.status]
    given = [item for item in objects if item not in claims]
    if not any(isinstance(item, DeviceClass) and item.metadata.name == "any" for item in given):
        given.append(device_class())
    if not any(isinstance(item, Node) and item.metadata.name == on for item in given):
        given.append(node(on))
    switched = FeatureGates.all_on().with_(gates or {})
    cluster = Cluster.of(given)
    engine = backtracking_engine(Session(cluster, switched, policy, seed))
    deadline = None if limit is None else monotonic() + limit
    made = engine.allocate_on(cluster.node(on), claims, AllocatedState(cluster.usage(switched)), deadline)
    counts = engine.counts
    return Answer(
        made.status,
        made.allocations,
        made.message,
        counts.steps,
        made.rule,
        made.error,
        made.rejections,
        counts.cel_evaluations,
    )


def picks(*objects, **options):
    """The pairs of request and device of an attempt that must succeed."""
    answer = attempt(*objects, **options)
    assert answer.status is Status.ALLOCATED, answer.message
    return answer.picked


def names(*objects, **options):
    """The devices of an attempt that must succeed, in result order."""
    return [name for _, name in picks(*objects, **options)]


def fatal(*objects, **options):
    """The text of an attempt that must be aborted."""
    answer = attempt(*objects, **options)
    assert answer.status is Status.ERROR, answer.picked
    return answer.message


def fails(*objects, **options):
    """Whether an attempt ends without solution and without error."""
    answer = attempt(*objects, **options)
    assert answer.status in (Status.UNALLOCATABLE, Status.ALLOCATED), answer.message
    return answer.status is Status.UNALLOCATABLE


def after(*objects, **options):
    """The claims of a successful attempt with their allocations, to be put among the objects of the next."""
    claims = [item for item in objects if isinstance(item, ResourceClaim) and not item.status]
    answer = attempt(*objects, **options)
    assert answer.status is Status.ALLOCATED, answer.message
    return tuple(map(allocated, claims, answer.allocations))
