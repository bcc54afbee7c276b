"""Workload and PodGroup of scheduling.k8s.io: which pods are to start together.

Kubernetes 1.35 (v1alpha1) has groups inside a Workload, which pods name in ``spec.workloadRef``. From 1.36 (v1alpha2)
on a PodGroup is an object of its own, which pods name in ``spec.schedulingGroup``; a Workload holds templates of them.
"""

from .base import Int64, Model
from .core import PodResourceClaim
from .meta import ObjectMeta


class GangPolicy(Model):
    """All or nothing: at least so many pods of the group."""

    min_count: Int64 = 0


class SchedulingPolicy(Model):
    """A gang; without one (``basic``) pods are placed one by one."""

    gang: GangPolicy | None = None


class TopologyConstraint(Model):
    """A node label: all pods of the group go to nodes with one value of it."""

    key: str = ""


class SchedulingConstraints(Model):
    """Where the pods of a group may be, together."""

    topology: tuple[TopologyConstraint, ...] | None = None


class WorkloadPodGroup(Model):
    """A group of pods in a Workload of v1alpha1."""

    name: str = ""
    policy: SchedulingPolicy = SchedulingPolicy()


class WorkloadSpec(Model):
    """``spec`` of a Workload; templates of PodGroups (v1alpha2) matter to those who make PodGroups of them."""

    pod_groups: tuple[WorkloadPodGroup, ...] | None = None


class Workload(Model):
    """Groups of pods that belong together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()

    def group(self, name: str) -> WorkloadPodGroup | None:
        """Find a group by its name."""
        return next((group for group in self.spec.pod_groups or () if group.name == name), None)


class PodGroupSpec(Model):
    """``spec`` of a PodGroup."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class PodGroup(Model):
    """Pods that are scheduled together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()

    @property
    def domain(self) -> str | None:
        """The node label of which the nodes of all its pods have one value."""
        constraints = self.spec.scheduling_constraints
        return next((one.key for one in (constraints.topology if constraints else None) or ()), None)
