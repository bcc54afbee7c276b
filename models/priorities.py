"""PriorityClass, and what a pod's priority is."""

from collections.abc import Mapping

from .base import Int64, Model
from .core import PodSpec
from .meta import ObjectMeta

# Classes that every cluster has.
BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class PriorityClass(Model):
    """A number with a name: the higher, the more important; the global default is for pods that name none."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int64 = 0
    global_default: bool | None = None
    preemption_policy: str = ""


def default_priority(classes: Mapping[str, PriorityClass]) -> int:
    """Priority of pods that name no class: of several global defaults the lowest counts, without any it is 0."""
    return min((one.value for one in classes.values() if one.global_default), default=0)


def priority_of(spec: PodSpec, classes: Mapping[str, PriorityClass], default: int) -> int:
    """A pod's priority: the number in it, as admission wrote it, else its class's; a class that is not there is 0."""
    if spec.priority is not None:
        return spec.priority
    if not spec.priority_class_name:
        return default
    known = classes.get(spec.priority_class_name)
    return known.value if known else BUILT_IN.get(spec.priority_class_name, 0)
