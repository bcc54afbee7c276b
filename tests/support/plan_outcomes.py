"""What ``plan`` found, made by hand, and its document."""

from decimal import Decimal

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from drasat.models.kubernetes.core import Node, Pod
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.node_templates import NodeTemplate, NodeTemplateSpec
from drasat.models.results.common import Reason
from drasat.models.results.plan import PlannedNode, plan_stage
from drasat.models.workload.expansion import QueuedUnit
from drasat.models.workload.unit_classes import Gang, UnitSet, UnitShape
from drasat.models.workload.units import ClaimRef, Unit
from drasat.solver.plan.outcome import PlannedUnitOutcome, PlanOutcome, PlanStatistics
from drasat.verbs.plan import plan_document


def metadata(name, namespace="ns"):
    return ObjectMeta(name=name, namespace=namespace)


def got(*devices, pool="n1"):
    results = tuple(DeviceRequestAllocationResult(request="r", driver="d.x", pool=pool, device=one) for one in devices)
    return AllocationResult(devices=DeviceAllocationResult(results=results))


def ref(name, allocated=False):
    status = ResourceClaimStatus(allocation=got("old")) if allocated else None
    return ClaimRef("ns", name, ResourceClaim(metadata=metadata(name), status=status))


def pod_unit(name, *refs):
    return Unit(Pod(metadata=metadata(name)), refs, "ns", name)


def queued(kind, name, unit, replica=0, gang="", namespace="ns"):
    """A unit of a queue, which has the number of a replica of its owner."""
    shape = UnitShape(b"", {}, 0, Decimal(1), None, ())
    own = Gang("gang", namespace, gang) if gang else None
    return QueuedUnit(UnitSet(kind, namespace, name, (replica,), shape, b"", own), replica, unit)


def placed(owner, node="n1", *devices, kind="Job", replica=0, gang="", more=()):
    """A unit that has a node, and with devices also a claim; ``more`` are claims that it did not get itself."""
    name = f"{owner}-{replica}" if kind == "Job" else owner
    mine = (ref(f"{name}-gpus"),) if devices else ()
    allocations = tuple((one, got(*devices, pool=node)) for one in mine)
    unit = pod_unit(name, *mine, *more)
    return PlannedUnitOutcome(queued(kind, owner, unit, replica, gang), node, (), allocations)


def left(owner, *messages, kind="Job", replica=0, gang="", claims=1):
    """A unit that has no node."""
    name = f"{owner}-{replica}" if kind == "Job" else owner
    refs = tuple(ref(f"{name}-gpus-{number}") for number in range(claims))
    unit = pod_unit(name, *refs) if kind != "ResourceClaim" else Unit(None, refs, "ns", name)
    reasons = tuple(Reason("devices", f"ns/{name}-gpus-0", message) for message in messages)
    return PlannedUnitOutcome(queued(kind, owner, unit, replica, gang), None, reasons)


def stage(name="admitted", value=2, bound=2, proven=True, maximised=True):
    return plan_stage(name, value, bound, proven, maximised)


def outcome(*units, verdict="Optimal", nodes=(), stages=(), **fields):
    usual = {"gates": FeatureGates.all_on(), "cel_errors": "strict", "gap": 0.001, "verified": True}
    sizes = PlanStatistics(units=len(units), unit_classes=1, nodes=len(nodes))
    return PlanOutcome(verdict, units, tuple(nodes), tuple(stages), **{**usual, "statistics": sizes, **fields})


def has(name="n1", devices=4, used=1, units=1, template=""):
    return PlannedNode(name=name, new=bool(template), template=template, devices=devices, used=used, units=units)


def nodes_of(template, count):
    return tuple(Node(metadata=ObjectMeta(name=f"{template}-{number}")) for number in range(count))


def priced(**prices):
    """A cluster that only knows what nodes cost."""
    templates = {
        name: NodeTemplate(metadata=ObjectMeta(name=name), spec=NodeTemplateSpec(price=price))
        for name, price in prices.items()
    }
    return Cluster(node_templates=templates)


def document(*units, prices=None, timings=False, **fields):
    return plan_document(outcome(*units, **fields), priced(**(prices or {})), timings=timings)


class Solver:
    """Stands for the solver: it keeps what it is asked, and gives or raises its answer."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = None

    def plan(self, _cluster, **options):
        self.asked = options
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer
