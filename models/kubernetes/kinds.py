"""The kinds that are read, by API group and kind: their versions and models.

Two groups may have kinds of one name, such as Workload of ``scheduling.k8s.io`` and of ``kueue.x-k8s.io``. A model is
that of one kind only, so that code tells typed objects apart by their types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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


class GroupKind(NamedTuple):
    """The API group, empty for the core group, and the kind: together they say what an object is."""

    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object: where its API stands and what it is read into."""

    model: type[ApiObject]
    group: str = RESOURCE_GROUP
    versions: tuple[str, ...] = ("v1", "v1beta2", "v1beta1", "v1alpha3")
    namespaced: bool = False
    # The name of the kind, where the model has another one.
    own_name: str = ""

    @property
    def name(self) -> str:
        """The value of ``kind``."""
        return self.own_name or self.model.__name__

    @property
    def group_kind(self) -> GroupKind:
        """The key of the kind in ``KINDS``."""
        return GroupKind(self.group, self.name)

    def api_versions(self) -> tuple[str, ...]:
        """Give the accepted values of ``apiVersion``, newest first."""
        return tuple(f"{self.group}/{version}".removeprefix("/") for version in self.versions)


_ALL_KINDS = (
    Kind(ResourceSlice),
    Kind(DeviceClass),
    Kind(ResourceClaim, namespaced=True),
    Kind(ResourceClaimTemplate, namespaced=True),
    Kind(DeviceTaintRule, versions=("v1", "v1beta2", "v1alpha3")),
    Kind(Node, group="", versions=("v1",)),
    Kind(Pod, group="", versions=("v1",), namespaced=True),
    Kind(Namespace, group="", versions=("v1",)),
    Kind(DeviceTopology, group=OWN_GROUP, versions=("v1alpha1",)),
    Kind(ConstraintGroup, group=OWN_GROUP, versions=("v1alpha1",), namespaced=True),
    Kind(NodeTemplate, group=OWN_GROUP, versions=("v1alpha1",)),
    Kind(Job, group="batch", versions=("v1",), namespaced=True),
    Kind(Deployment, group="apps", versions=("v1",), namespaced=True),
    Kind(StatefulSet, group="apps", versions=("v1",), namespaced=True),
    Kind(ReplicaSet, group="apps", versions=("v1",), namespaced=True),
    Kind(PriorityClass, group=SCHEDULING_GROUP, versions=("v1", "v1beta1", "v1alpha1")),
    Kind(Workload, group=SCHEDULING_GROUP, versions=("v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"), namespaced=True),
    Kind(PodGroup, group=SCHEDULING_GROUP, versions=("v1beta1", "v1alpha3", "v1alpha2"), namespaced=True),
)
KINDS: dict[GroupKind, Kind] = {one.group_kind: one for one in _ALL_KINDS}
KIND_NAMES = frozenset(one.name for one in _ALL_KINDS)
"""Names of kinds that are read; an object of another group with such a name is not."""
_BY_MODEL: dict[type[Any], Kind] = {one.model: one for one in _ALL_KINDS}


def kind_of(model: type[Any]) -> Kind:
    """Find the kind that is read into a model. Raises ``KeyError`` for another class."""
    return _BY_MODEL[model]


def group_of(api_version: str) -> str:
    """Give the API group of an ``apiVersion``; the core group is empty."""
    return api_version.rpartition("/")[0]
