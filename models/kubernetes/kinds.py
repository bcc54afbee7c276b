"""The kinds that are read, by API group and kind: their versions and models.

Two groups may have kinds of one name, such as Workload of ``scheduling.k8s.io`` and of ``kueue.x-k8s.io``. A model is
that of one kind only, so that code tells typed objects apart by their types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from . import karpenter, kueue, operators, provisioning, serving, workloads
from .claims import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate
from .core import LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, RuntimeClass, StorageClass
from .extensions import ConstraintGroup, DeviceTopology
from .kueue import KUEUE_GROUP
from .kueue_configuration import CONFIGURATION_GROUP, Configuration
from .node_templates import NodeTemplate
from .provisioning import AUTOSCALING_GROUP
from .slices import ResourceSlice
from .workloads import PodGroup, PriorityClass, Workload

RESOURCE_GROUP = "resource.k8s.io"
SCHEDULING_GROUP = "scheduling.k8s.io"
NODE_GROUP = "node.k8s.io"
OWN_GROUP = "drasat.dev"
_STORAGE_GROUP = "storage.k8s.io"
_BUILT_IN_GROUPS = frozenset(
    {"", "apps", "batch", "policy", RESOURCE_GROUP, SCHEDULING_GROUP, NODE_GROUP, _STORAGE_GROUP, OWN_GROUP}
)
KUBEFLOW_GROUP = "kubeflow.org"
TRAINER_GROUP = "trainer.kubeflow.org"
RAY_GROUP = "ray.io"
GROVE_GROUP = "grove.io"
KSERVE_GROUP = "serving.kserve.io"
KARPENTER_GROUP = "karpenter.sh"
# Objects that make pods, and those that say how; ``Cluster.workload_objects`` has them by model.
WorkloadObject = (
    workloads.Job
    | workloads.CronJob
    | workloads.Deployment
    | workloads.StatefulSet
    | workloads.ReplicaSet
    | workloads.DaemonSet
    | workloads.ReplicationController
    | workloads.PodDisruptionBudget
    | workloads.CompositePodGroup
    | operators.JobSet
    | operators.LeaderWorkerSet
    | operators.DisaggregatedSet
    | operators.MPIJob
    | operators.PyTorchJob
    | operators.TFJob
    | operators.XGBoostJob
    | operators.PaddleJob
    | operators.JAXJob
    | operators.TrainJob
    | operators.TrainingRuntime
    | operators.ClusterTrainingRuntime
    | operators.RayCluster
    | operators.RayJob
    | operators.RayService
    | operators.RayCronJob
    | serving.PodCliqueSet
    | serving.ClusterTopologyBinding
    | serving.LLMInferenceService
    | serving.LLMInferenceServiceConfig
    | serving.ComputeDomain
    | serving.CoschedulingPodGroup
    | serving.VolcanoPodGroup
)
# Volumes, objects of neighbouring systems, or that only these read; ``Cluster.integration_objects`` has them by model.
IntegrationObject = (
    PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | LimitRange
    | RuntimeClass
    | kueue.ResourceFlavor
    | kueue.ClusterQueue
    | kueue.Cohort
    | kueue.LocalQueue
    | kueue.KueueWorkload
    | kueue.WorkloadPriorityClass
    | kueue.AdmissionCheck
    | kueue.KueueTopology
    | Configuration
    | provisioning.ProvisioningRequestConfig
    | provisioning.ProvisioningRequest
    | provisioning.PodTemplate
    | karpenter.NodePool
    | karpenter.NodeClaim
    | karpenter.NodeOverlay
    | karpenter.DRAConfig
    | karpenter.InstanceType
)
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
    | PriorityClass
    | Workload
    | PodGroup
    | WorkloadObject
    | IntegrationObject
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
    # Whether the API server has it; a program's configuration is only a file.
    served: bool = True

    @property
    def name(self) -> str:
        """The value of ``kind``."""
        return self.own_name or self.model.__name__

    @property
    def is_custom(self) -> bool:
        """The kind is another project's: its other versions, and fields that are not read here, are no mistakes."""
        return self.group not in _BUILT_IN_GROUPS

    @property
    def group_kind(self) -> GroupKind:
        """The key of the kind in ``KINDS``."""
        return GroupKind(self.group, self.name)

    def api_versions(self) -> tuple[str, ...]:
        """Give the accepted values of ``apiVersion``, newest first."""
        return tuple(f"{self.group}/{version}".removeprefix("/") for version in self.versions)


_KINDS = (
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
    Kind(PriorityClass, group=SCHEDULING_GROUP, versions=("v1", "v1beta1", "v1alpha1")),
    Kind(Workload, group=SCHEDULING_GROUP, versions=("v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"), namespaced=True),
    Kind(PodGroup, group=SCHEDULING_GROUP, versions=("v1beta1", "v1alpha3", "v1alpha2"), namespaced=True),
)
_WORKLOAD_KINDS = (
    Kind(workloads.Job, group="batch", versions=("v1",), namespaced=True),
    Kind(workloads.CronJob, group="batch", versions=("v1", "v1beta1"), namespaced=True),
    Kind(workloads.Deployment, group="apps", versions=("v1",), namespaced=True),
    Kind(workloads.StatefulSet, group="apps", versions=("v1",), namespaced=True),
    Kind(workloads.ReplicaSet, group="apps", versions=("v1",), namespaced=True),
    Kind(workloads.DaemonSet, group="apps", versions=("v1",), namespaced=True),
    Kind(workloads.ReplicationController, group="", versions=("v1",), namespaced=True),
    Kind(workloads.PodDisruptionBudget, group="policy", versions=("v1",), namespaced=True),
    Kind(workloads.CompositePodGroup, group=SCHEDULING_GROUP, versions=("v1alpha3",), namespaced=True),
    Kind(operators.JobSet, group="jobset.x-k8s.io", versions=("v1alpha2",), namespaced=True),
    Kind(operators.LeaderWorkerSet, group="leaderworkerset.x-k8s.io", versions=("v1",), namespaced=True),
    Kind(operators.DisaggregatedSet, group="disaggregatedset.x-k8s.io", versions=("v1",), namespaced=True),
    Kind(operators.MPIJob, group=KUBEFLOW_GROUP, versions=("v2beta1", "v1"), namespaced=True),
    *(
        Kind(model, group=KUBEFLOW_GROUP, versions=("v1",), namespaced=True)
        for model in (
            operators.PyTorchJob,
            operators.TFJob,
            operators.XGBoostJob,
            operators.PaddleJob,
            operators.JAXJob,
        )
    ),
    Kind(operators.TrainJob, group=TRAINER_GROUP, versions=("v1alpha1",), namespaced=True),
    Kind(operators.TrainingRuntime, group=TRAINER_GROUP, versions=("v1alpha1",), namespaced=True),
    Kind(operators.ClusterTrainingRuntime, group=TRAINER_GROUP, versions=("v1alpha1",)),
    Kind(operators.RayCluster, group=RAY_GROUP, versions=("v1", "v1alpha1"), namespaced=True),
    Kind(operators.RayJob, group=RAY_GROUP, versions=("v1", "v1alpha1"), namespaced=True),
    Kind(operators.RayService, group=RAY_GROUP, versions=("v1", "v1alpha1"), namespaced=True),
    Kind(operators.RayCronJob, group=RAY_GROUP, versions=("v1",), namespaced=True),
    Kind(serving.PodCliqueSet, group=GROVE_GROUP, versions=("v1alpha1",), namespaced=True),
    Kind(serving.ClusterTopologyBinding, group=GROVE_GROUP, versions=("v1alpha1",)),
    Kind(serving.LLMInferenceService, group=KSERVE_GROUP, versions=("v1alpha2", "v1alpha1"), namespaced=True),
    Kind(serving.LLMInferenceServiceConfig, group=KSERVE_GROUP, versions=("v1alpha2", "v1alpha1"), namespaced=True),
    Kind(serving.ComputeDomain, group="resource.nvidia.com", versions=("v1beta1",), namespaced=True),
    Kind(
        serving.CoschedulingPodGroup,
        group="scheduling.x-k8s.io",
        versions=("v1alpha1",),
        namespaced=True,
        own_name="PodGroup",
    ),
    Kind(
        serving.VolcanoPodGroup,
        group="scheduling.volcano.sh",
        versions=("v1beta1",),
        namespaced=True,
        own_name="PodGroup",
    ),
)
_KUEUE_VERSIONS = ("v1beta2", "v1beta1")
_INTEGRATION_KINDS = (
    Kind(PersistentVolume, group="", versions=("v1",)),
    Kind(PersistentVolumeClaim, group="", versions=("v1",), namespaced=True),
    Kind(StorageClass, group=_STORAGE_GROUP, versions=("v1",)),
    Kind(LimitRange, group="", versions=("v1",), namespaced=True),
    Kind(RuntimeClass, group=NODE_GROUP, versions=("v1", "v1beta1")),
    Kind(kueue.ResourceFlavor, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS),
    Kind(kueue.ClusterQueue, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS),
    Kind(kueue.Cohort, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS),
    Kind(kueue.LocalQueue, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS, namespaced=True),
    Kind(kueue.KueueWorkload, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS, namespaced=True, own_name="Workload"),
    Kind(kueue.WorkloadPriorityClass, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS),
    Kind(kueue.AdmissionCheck, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS),
    Kind(kueue.KueueTopology, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS, own_name="Topology"),
    Kind(Configuration, group=CONFIGURATION_GROUP, versions=_KUEUE_VERSIONS, served=False),
    Kind(provisioning.ProvisioningRequestConfig, group=KUEUE_GROUP, versions=_KUEUE_VERSIONS),
    Kind(provisioning.ProvisioningRequest, group=AUTOSCALING_GROUP, versions=("v1", "v1beta1"), namespaced=True),
    Kind(provisioning.PodTemplate, group="", versions=("v1",), namespaced=True),
    Kind(karpenter.NodePool, group=KARPENTER_GROUP, versions=("v1",)),
    Kind(karpenter.NodeClaim, group=KARPENTER_GROUP, versions=("v1",)),
    Kind(karpenter.NodeOverlay, group=KARPENTER_GROUP, versions=("v1alpha1",)),
    Kind(karpenter.DRAConfig, group="test.karpenter.sh", versions=("v1alpha1",)),
    Kind(karpenter.InstanceType, group=OWN_GROUP, versions=("v1alpha1",)),
)
_ALL_KINDS = (*_KINDS, *_WORKLOAD_KINDS, *_INTEGRATION_KINDS)
WORKLOAD_MODELS: tuple[type[Any], ...] = tuple(one.model for one in _WORKLOAD_KINDS)
"""The types of ``WorkloadObject``."""
INTEGRATION_MODELS: tuple[type[Any], ...] = tuple(one.model for one in _INTEGRATION_KINDS)
"""The types of ``IntegrationObject``."""
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
