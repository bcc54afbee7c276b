"""The document of ``capacity``."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from .common import API_VERSION, Reason, RequestTable


class CopiedObject(Model, omit_defaults=False):
    """The object that is copied."""

    kind: Literal["ResourceClaim", "ResourceClaimTemplate", "Pod"]
    namespace: str
    name: str


class Copies(Model, kw_only=True, omit_defaults=False):
    """How many copies fit at the same time, beside what is in use.

    ``fits`` were found and verified; ``bound`` is proven, null where none is known; ``proven``: they are equal, or any
    number fits (``unbounded``, and then the numbers are null). ``firstFit`` is what the scheduler's own search
    reaches, copy by copy; null where that was not decided in time.
    """

    fits: int | None
    bound: int | None
    proven: bool
    unbounded: bool
    first_fit: int | None


class NodeCopies(Model, kw_only=True, omit_defaults=False):
    """Equal nodes, the copies that fit on each of them alone, and what stops the next one.

    ``requests`` says what becomes of the devices when one more copy looks at them beside those that fit; ``proof`` why
    no more than the bound fit however they are placed, where counting is enough. ``certified``: the bound is sure.
    """

    nodes: tuple[str, ...]
    each: Copies
    reasons: tuple[Reason, ...]
    proof: str
    certified: bool
    requests: tuple[RequestTable, ...]


class SharingNodes(Model, kw_only=True, omit_defaults=False):
    """Nodes that reach the same devices or counters, and the copies that fit on all of them together."""

    nodes: tuple[str, ...]
    together: Copies


class CapacityDocument(Model, kw_only=True, omit_defaults=False):
    """What ``capacity -o json`` prints. ``limit`` is the number of copies on one node at which counting ends.

    ``notices`` say what of the question was left aside.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["CapacityResult"] = "CapacityResult"
    asked: CopiedObject
    total: Copies
    nodes: tuple[NodeCopies, ...]
    sharing: tuple[SharingNodes, ...]
    limit: int
    notices: tuple[str, ...] = ()
    feature_gates: dict[str, bool]
    cel_errors: str
    verified: bool
    statistics: dict[str, int]
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
