"""What makes pods: Job, Deployment, StatefulSet and ReplicaSet, as far as planning reads them."""

from .base import Int64, Model
from .core import PodSpec
from .meta import ObjectMeta


class PodTemplateSpec(Model):
    """The pods to be made: all alike but for their names."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class JobSpec(Model):
    """``spec`` of a Job; without ``completions`` as many pods run as ``parallelism`` says (1 by default)."""

    parallelism: Int64 | None = None
    completions: Int64 | None = None
    suspend: bool | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Condition(Model):
    """One thing that is so, or not."""

    type: str = ""
    status: str = ""


class JobStatus(Model):
    """``status`` of a Job."""

    succeeded: Int64 | None = None
    conditions: tuple[Condition, ...] | None = None


class Job(Model):
    """Pods that run to their end."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus | None = None


class ReplicasSpec(Model):
    """``spec`` of a Deployment or ReplicaSet; one replica by default."""

    replicas: Int64 | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Deployment(Model):
    """Equal pods, made by ReplicaSets."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicasSpec = ReplicasSpec()


class ReplicaSet(Model):
    """Equal pods; one that a Deployment made is a part of it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicasSpec = ReplicasSpec()


class StatefulSetOrdinals(Model):
    """The number of the first pod."""

    start: Int64 = 0


class StatefulSetSpec(Model):
    """``spec`` of a StatefulSet."""

    replicas: Int64 | None = None
    ordinals: StatefulSetOrdinals | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class StatefulSet(Model):
    """Pods with numbers for names."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


PodMaker = Job | Deployment | StatefulSet | ReplicaSet
