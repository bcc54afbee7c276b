"""Manifests: what was read, with the typed v1 object, the mapping as read, and its place."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from .claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from .core import Namespace, Node, Pod
from .problems import InputProblem, Source
from .slices import ResourceSlice
from .taints import DeviceTaintRule

ApiObject = (
    ResourceSlice | DeviceClass | ResourceClaim | ResourceClaimTemplate | DeviceTaintRule | Node | Pod | Namespace
)
InputSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as read.

    ``object`` is in v1 shape with the API's defaults (CLM-1), None for a kind that is ignored.
    ``raw`` is the mapping as read, in its own ``api_version``; it is None for ResourceSlices, of
    which a cluster has too many to keep twice.
    """

    kind: str
    api_version: str
    object: ApiObject | None
    raw: Mapping[str, Any] | None
    source: Source


def read_manifests(
    sources: Iterable[InputSource], recursive: bool = False
) -> tuple[list[Manifest], list[InputProblem], Counter[str]]:
    """Everything the sources hold: manifests, problems in reading order, and a count of ignored kinds."""
    raise NotImplementedError
