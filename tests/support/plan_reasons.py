"""Plans that leave units out, what they leave of nodes, and whether a changed unit fits beside them."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace
from support.gates import ALL
from support.plan_scene import Plan, of

from drasat.models.cluster.node_fit import pod_fits
from drasat.models.kubernetes.claims import ResourceClaimStatus
from drasat.models.kubernetes.core import Container, ResourceRequirements, Toleration
from drasat.models.results.common import Status
from drasat.models.workload.node_room import missing_resources, remaining_allocatable
from drasat.models.workload.requests import backed_resources, effective_requests
from drasat.problem.node_state import AllocatedState
from drasat.solver.allocate.allocate import allocate
from drasat.solver.plan.why_not import UnplacedExplainer

__all__ = ["Left", "of", "tolerating", "with_counts", "with_cpu"]


@dataclass
class Left:
    """A plan by hand, which must be one that can be carried out, and what it leaves."""

    plan: Plan

    def __post_init__(self):
        assert self.plan.violations() == []

    @property
    def cluster(self):
        return self.plan.cluster

    @cached_property
    def made(self):
        return {ref.key: allocation for one in self.plan.units for ref, allocation in one.allocations}

    @cached_property
    def allocated_state(self):
        allocated_state = AllocatedState(self.cluster.usage(ALL))
        allocated_state.commit(self.made.items())
        return allocated_state

    @cached_property
    def rooms(self):
        rooms = remaining_allocatable(self.cluster, ALL)
        for one in self.plan.units:
            room = rooms.get(one.node) if one.node else None
            for resource, amount in self._requests(one.unit.pod).items() if room is not None else ():
                room[resource] = room.get(resource, 0) - amount
        return rooms

    def _requests(self, pod):
        return effective_requests(pod.spec, backed_resources(self.cluster, ALL)) if pod else {}

    def reasons(self, name, **options):
        """Why a unit is left out; with all members of its gang if it is in one."""
        one, gang = self.plan[name], self.plan.sets[name].gang
        members = [unit.unit for unit in self.plan.units if gang and unit.gang == gang.name]
        refusals = UnplacedExplainer(self.cluster, ALL, **options)
        return refusals.reasons(one.unit, gang, self.allocated_state, self.rooms, members=members, made=self.made)

    def told(self, name):
        """The reasons as pairs of id and message."""
        return [(reason.id, reason.message) for reason in self.reasons(name)]

    def ids(self, name):
        return [reason.id for reason in self.reasons(name)]

    def relaxations(self, name):
        return [reason.message for reason in self.reasons(name) if reason.id == "relaxation"]

    def fits(self, unit, node, without=()):
        """Whether a unit finds room and devices on a node beside the plan, and suits it.

        ``without`` are claims of others that give back what they have.
        """
        if unit.pod and (pod_fits(unit.pod.spec, self.cluster.node(node)) or not self._has_room(unit.pod, node)):
            return False
        pairs = [pair for one in self.plan.units for pair in one.allocations]
        made = {ref.key: replace(ref.claim, status=ResourceClaimStatus(allocation=found)) for ref, found in pairs}
        asked = {ref.key: ref.claim for ref in unit.requested_claims if ref.key not in made}
        claims = {**self.cluster.claims, **made, **asked}
        for name in without:
            del claims["default", name]
        cluster = dataclasses.replace(self.cluster, pods={}, claims=dict(sorted(claims.items())), read=(), _usages={})
        found = allocate(cluster, node=node, claims=["/".join(key) for key in asked]) if asked else None
        return found is None or [one.outcome for one in found.units] == [Status.ALLOCATED]

    def _has_room(self, pod, node):
        return not missing_resources(self._requests(pod), self.rooms[node])


def with_cpu(unit, cpu):
    """The unit with a container that asks for so much."""
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))
    return replace(unit, pod=replace(unit.pod, spec=replace(unit.pod.spec, containers=(container,))))


def with_counts(unit, *counts):
    """The unit with so many devices in the requests of its only claim."""
    (ref,) = unit.claims
    devices = ref.claim.spec.devices
    pairs = zip(devices.requests, counts, strict=True)
    requests = tuple(replace(one, exactly=replace(one.exactly, count=count)) for one, count in pairs)
    spec = replace(ref.claim.spec, devices=replace(devices, requests=requests))
    return replace(unit, claims=(replace(ref, claim=replace(ref.claim, spec=spec)),))


def tolerating(unit, **toleration):
    return replace(unit, pod=replace(unit.pod, spec=replace(unit.pod.spec, tolerations=(Toleration(**toleration),))))
