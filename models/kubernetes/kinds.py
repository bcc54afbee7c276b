"""The kinds that are read: their API groups, versions and models."""

from __future__ import annotations

from dataclasses import dataclass

from .claims import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate
from .core import Namespace, Node, Pod
from .extensions import ConstraintGroup, DeviceTopology, NodeTemplate
from .slices import ResourceSlice
from .workloads import Deployment, Job, PodGroup, PriorityClass, ReplicaSet, StatefulSet, Workload

RESOURCE_GROUP = "resource.k8s.io"
SCHEDULING_GROUP = "scheduling.k8s.io"
OWN_GROUP = "drasat.dev"
ApiObject = (
    ResourceSlice
    | DeviceClass
    | ResourceClaim
    | ResourceClaimTemplate
    | DeviceTaintRule
    | Node
    | Pod
    | Namespace
    | DeviceTopology
    | ConstraintGroup
    | NodeTemplate
    | Job
    | Deployment
    | StatefulSet
    | ReplicaSet
    | PriorityClass
    | Workload
    | PodGroup
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object: where its API stands and what it is read into."""

    model: type[ApiObject]
    group: str = RESOURCE_GROUP
    versions: tuple[str, ...] = ("v1", "v1beta2", "v1beta1", "v1alpha3")
    namespaced: bool = False

    def api_versions(self) -> tuple[str, ...]:
        """Give the accepted values of ``apiVersion``, newest first."""
        return tuple(f"{self.group}/{version}".removeprefix("/") for version in self.versions)


KINDS: dict[str, Kind] = {
    "ResourceSlice": Kind(ResourceSlice),
    "DeviceClass": Kind(DeviceClass),
    "ResourceClaim": Kind(ResourceClaim, namespaced=True),
    "ResourceClaimTemplate": Kind(ResourceClaimTemplate, namespaced=True),
    "DeviceTaintRule": Kind(DeviceTaintRule, versions=("v1", "v1beta2", "v1alpha3")),
    "Node": Kind(Node, group="", versions=("v1",)),
    "Pod": Kind(Pod, group="", versions=("v1",), namespaced=True),
    "Namespace": Kind(Namespace, group="", versions=("v1",)),
    "DeviceTopology": Kind(DeviceTopology, group=OWN_GROUP, versions=("v1alpha1",)),
    "ConstraintGroup": Kind(ConstraintGroup, group=OWN_GROUP, versions=("v1alpha1",), namespaced=True),
    "NodeTemplate": Kind(NodeTemplate, group=OWN_GROUP, versions=("v1alpha1",)),
    "Job": Kind(Job, group="batch", versions=("v1",), namespaced=True),
    "Deployment": Kind(Deployment, group="apps", versions=("v1",), namespaced=True),
    "StatefulSet": Kind(StatefulSet, group="apps", versions=("v1",), namespaced=True),
    "ReplicaSet": Kind(ReplicaSet, group="apps", versions=("v1",), namespaced=True),
    "PriorityClass": Kind(PriorityClass, group=SCHEDULING_GROUP, versions=("v1", "v1beta1", "v1alpha1")),
    "Workload": Kind(
        Workload, group=SCHEDULING_GROUP, versions=("v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"), namespaced=True
    ),
    "PodGroup": Kind(PodGroup, group=SCHEDULING_GROUP, versions=("v1beta1", "v1alpha3", "v1alpha2"), namespaced=True),
}


def group_of(api_version: str) -> str:
    """Give the API group of an ``apiVersion``; the core group is empty."""
    return api_version.rpartition("/")[0]
