"""Nodes with room for pods, pods that take some of it, and what makes pods."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import objects
from .objects import Mapped


def with_room(node: Mapped, allocatable: Mapping[str, str]) -> Mapped:
    """The node with what its pods may take of each resource."""
    return {**node, "status": {"allocatable": dict(allocatable)}}


def pod_spec(requests: Mapping[str, str], claims: Sequence[Mapped] = (), **spec: Any) -> Mapped:
    """The spec of a pod with one container; ``claims`` are its entries, further fields in the API's spelling."""
    container: Mapped = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    container |= objects.present(resources=objects.present(requests=dict(requests)))
    return {"containers": [container], **objects.present(resourceClaims=list(claims)), **spec}


def pod(name: str, spec: Mapped, namespace: str = "default", annotations: Mapping[str, str] | None = None) -> Mapped:
    """A pod that waits."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name, namespace, annotations), "spec": spec}


def deployment(name: str, replicas: int, spec: Mapped, namespace: str = "default") -> Mapped:
    """A Deployment of equal pods."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(name, namespace), "spec": body}


def job(
    name: str, parallelism: int, spec: Mapped, namespace: str = "default", annotations: Mapping[str, str] | None = None
) -> Mapped:
    """A Job whose pods run at once."""
    template = {"spec": {"restartPolicy": "Never", **spec}}
    body = {"parallelism": parallelism, "completions": parallelism, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(name, namespace, annotations), "spec": body}


def _metadata(name: str, namespace: str, annotations: Mapping[str, str] | None = None) -> Mapped:
    return {"name": name, "namespace": namespace, **objects.present(annotations=dict(annotations or {}))}
