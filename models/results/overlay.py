"""The document of ``overlay``: what NodeOverlays come to, for every pool and instance type."""

from __future__ import annotations

from typing import Literal

from ..formats.decode import Model
from .common import API_VERSION, ProofKind

OverlayReason = Literal["", "Conflict", "RuntimeValidation"]


class OverlayAnswer(Model, kw_only=False, omit_defaults=False):
    """An overlay, in the order of evaluation. ``other`` is the overlay of equal weight that it meets.

    ``types`` and ``offerings`` are how many it matches, counted once for each pool. ``proof`` is what it rests on that
    an overlay does not count: a witness, for the manifests show it.
    """

    name: str
    weight: int
    ready: bool
    reason: OverlayReason
    message: str
    other: str
    types: int
    offerings: int
    proof: ProofKind | None = None


class OverlaidOffering(Model, kw_only=False, omit_defaults=False):
    """An offering with its price for a node and the one that its type lists; ``overlay`` set the price."""

    zone: str
    capacity_type: str
    available: bool
    list_price: str
    price: str
    overlay: str


class OverlaidResource(Model, kw_only=False, omit_defaults=False):
    """A resource that an overlay set; ``listed`` is what the type has of it without, empty for none."""

    name: str
    listed: str
    amount: str
    overlay: str


class OverlaidDriver(Model, kw_only=False, omit_defaults=False):
    """The devices that a driver publishes on a node, and the overlay that says so, empty for the type itself."""

    driver: str
    devices: int
    overlay: str


class OverlaidType(Model, kw_only=False, omit_defaults=False):
    """An instance type as a pool has it. ``changed``: an overlay set something of it."""

    pool: str
    type: str
    changed: bool
    offerings: tuple[OverlaidOffering, ...]
    resources: tuple[OverlaidResource, ...]
    drivers: tuple[OverlaidDriver, ...]


class OverlayDocument(Model, kw_only=True, omit_defaults=False):
    """All types of all pools with overlays applied. ``notices`` say what Karpenter does not."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["OverlayResult"] = "OverlayResult"
    overlays: tuple[OverlayAnswer, ...]
    types: tuple[OverlaidType, ...]
    notices: tuple[str, ...]
