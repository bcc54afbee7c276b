"""Sets of pods that controllers make, the objects between, and what the table of kinds may ask its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ..cluster.cluster import Cluster
from ..kubernetes.core import Pod
from ..kubernetes.kinds import GroupKind, kind_of
from ..kubernetes.meta import KubernetesObject, ObjectMeta, OwnerReference, key_of
from ..kubernetes.workloads import PodTemplateSpec

MOST_UNITS = 1_000_000
"""More units than so many are not planned: a document names each of them, and a manifest may ask for any number."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Names the queue of Kueue in which an object waits for quota."""
SUSPENDED = "suspended, so that its pods are not planned"


T = TypeVar("T")
Look = Callable[[], None]
"""Looks whether a time limit has passed, and raises an exception then."""
_OBJECTS_BETWEEN_LOOKS = 256


def looking(items: Iterable[T], look: Look | None) -> Iterable[T]:
    """The items; ``look`` is called after every few of them, and so never where there are few."""
    return items if look is None else _looking(items, look)


def _looking(items: Iterable[T], look: Look) -> Iterator[T]:
    for number, one in enumerate(items, 1):
        if number % _OBJECTS_BETWEEN_LOOKS == 0:
            look()
        yield one


class Maker(NamedTuple):
    """What owns pods: an object of the input, or one that a controller would make."""

    kind: GroupKind
    namespace: str
    name: str


class KindGang(NamedTuple):
    """A gang that a kind, a field or an annotation of a controller asks for; see ``Gang`` for the fields."""

    kind: str
    name: str
    minimum: int | None = None
    domain: str | None = None


class PodSet(NamedTuple):
    """Equal pods of one template that one object makes.

    Names are ``prefix`` and a number, or ``prefix`` alone without ``is_numbered``. ``is_named``: the controller gives
    these very names, else it adds random letters. ``labels`` tell the pods of the set from others of its maker.
    ``at_once`` is how many of the numbers run at one time, those that run included; ``index_label`` is the label or
    annotation that holds a pod's number. ``node`` is the only node where a pod of a DaemonSet goes.
    """

    maker: Maker
    template: PodTemplateSpec
    numbers: Sequence[int]
    prefix: str
    is_numbered: bool = True
    is_named: bool = False
    labels: Mapping[str, str] = {}
    at_once: int | None = None
    index_label: str = ""
    gang: KindGang | None = None
    node: str = ""
    annotations: Mapping[str, str] = {}

    def pod(self) -> Pod:
        """The template as a pod; the annotations of the template count before those of what makes it."""
        given = self.template.metadata
        texts = {**self.annotations, **(given.annotations or {})} or None
        metadata = ObjectMeta(name=self.prefix, namespace=self.maker.namespace, labels=given.labels, annotations=texts)
        return Pod(metadata=metadata, spec=self.template.spec)

    def pod_name(self, number: int) -> str:
        """The name of the pod with a number."""
        return f"{self.prefix}-{number}" if self.is_numbered else self.prefix


class Child(NamedTuple):
    """An object that a controller makes; its name has random letters if it is ``generated``."""

    made: KubernetesObject
    gang: KindGang | None = None
    generated: bool = False


def check_number_of_units(total: int) -> None:
    """Raise ``ValueError``, one line, for more units than are planned."""
    if total > MOST_UNITS:
        raise ValueError(f"the queue has {total:,} units, and no more than {MOST_UNITS:,} are planned")


class ControllerContext(Protocol):
    """What rows of the table of kinds may ask. With ``natural_gangs`` pods that are of no use alone are a gang."""

    cluster: Cluster
    natural_gangs: bool

    def note(self, text: str, made: KubernetesObject) -> None:
        """Say something about an object."""

    def counted(self, made: KubernetesObject, count: int) -> range:
        """The numbers of objects that another one makes. Raises ``ValueError`` for too many in all; one line."""

    def has_object(self, reference: OwnerReference, namespace: str) -> bool:
        """Whether an object that another one names as its owner is in the input, or has pods there."""

    def pods_of(self, made: KubernetesObject) -> list[Pod]:
        """The pods that name this object as their controller."""


def maker_of(made: KubernetesObject) -> Maker:
    """How owner references name an object."""
    return Maker(kind_of(type(made)).group_kind, *key_of(made.metadata))


def child_metadata(made: KubernetesObject, name: str, given: ObjectMeta | None = None) -> ObjectMeta:
    """The metadata of an object below, with labels and annotations of its template."""
    return ObjectMeta(
        name=name,
        namespace=key_of(made.metadata)[0],
        labels=given.labels if given else None,
        annotations=given.annotations if given else None,
    )


def count_or(given: int | None, default: int) -> int:
    """A number of an object, and what the API server takes where there is none; never negative."""
    return max(0, default if given is None else given)
