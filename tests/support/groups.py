"""Groups, pods and claims that hold devices, in few words; devices and claims are those of ``support.objects``."""

from support.objects import DRIVER, allocated, claim, device_class, node, want
from support.soft import near

from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.decode import to_object
from drasat.models.kubernetes.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from drasat.models.kubernetes.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from drasat.models.kubernetes.extensions import ConstraintGroup, ConstraintGroupSpec, Entry, GroupClaim
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate

ISLAND = f"{DRIVER}/island"


def group(*claims, name="g", entries=(), label="", **spec):
    """A group of these claims; entries are mappings as in the annotation."""
    chosen = {"claims": tuple(GroupClaim(name=one) for one in claims)} if claims else {}
    made = ConstraintGroupSpec(constraints=tuple(map(_entry, entries)) or None, same_node_label=label, **chosen, **spec)
    return ConstraintGroup(metadata=ObjectMeta(name=name, namespace="ns"), spec=made)


def _entry(mapping):
    entry, problems = to_object(mapping, Entry)
    assert not problems
    return entry


def together(*requests, weight=None, attribute=ISLAND):
    """An entry: one island for all."""
    return near(*requests, weight=weight, attribute=attribute)


def asking(name, count=1, *requests):
    """A claim for so many devices, or with these requests."""
    return claim(*(requests or (want(count=count),)), name=name)


def holding(claim_, *devices, on=None, request="r"):
    """The claim with these devices (names, or pool and name), usable on one node or everywhere."""
    ids = [one.split("/") if "/" in one else ("p", one) for one in devices]
    results = tuple(
        DeviceRequestAllocationResult(request=request, driver=DRIVER, pool=pool, device=name) for pool, name in ids
    )
    selector = None if on is None else this_node(on)
    made = AllocationResult(devices=DeviceAllocationResult(results=results), node_selector=selector)
    return allocated(claim_, made)


def this_node(name):
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))


def answered(*objects, nodes=(), **options):
    """The answer; ``nodes`` are names, or node objects."""
    made = [node(one) if isinstance(one, str) else one for one in nodes]
    return allocate(Cluster.of([device_class(), *made, *objects]), **options)


def placed(answer):
    """Node and devices of each unit by its name; all must be allocated."""
    assert {unit.outcome for unit in answer.units} <= {Status.ALLOCATED}, [unit.reasons for unit in answer.units]
    return {unit.unit.name: (unit.node, taken(unit)) for unit in answer.units}


def taken(unit):
    """Devices of a unit as ``pool/name``."""
    return [f"{result.pool}/{result.device}" for _, made in unit.allocations for result in made.devices.results or ()]


def refused(answer):
    """The ids of the reasons of each unit that is not allocated, by its name."""
    return {
        unit.unit.name: [reason.id for reason in unit.reasons]
        for unit in answer.units
        if unit.outcome != Status.ALLOCATED
    }
