"""The document of ``explain``."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from .common import API_VERSION, ClaimAnswer, CountedWitness, Outcome, ProofKind, Reason, RejectedDevices


class DevicesForRequest(Model, kw_only=True, omit_defaults=False):
    """A request among the reasons, and a node's devices as it sees them one by one.

    ``matching`` devices pass all selectors of class and request; ``fallen`` of them cannot be had, by the first thing
    that is in the way (``inUse`` before all others), and ``free`` is the rest.
    """

    claim: str
    request: str
    device_class: str
    needed: int
    devices: int
    matching: int
    free: int
    fallen: tuple[RejectedDevices, ...]


class ExplainedNodes(Model, kw_only=True, omit_defaults=False):
    """Nodes on which a unit cannot be allocated for the same reasons; devices are those of the first.

    ``reasons`` are impossible together and, if ``minimal``, not without any one of them. ``proof`` is
    what that rests on; ``certified``: anyone can check it, or it was audited. ``witness`` is the sum about the reasons
    on the first node, where counting is enough; what is no reason counts for nothing in it.
    """

    nodes: int
    names: tuple[str, ...]
    reasons: tuple[Reason, ...]
    minimal: bool
    proof: ProofKind
    certified: bool
    requests: tuple[DevicesForRequest, ...]
    notes: tuple[str, ...]
    witness: CountedWitness | None = None


class RelaxationAnswer(Model, kw_only=True, omit_defaults=False):
    """Changes with which the unit can be allocated on the node: that was done, and verified."""

    changes: tuple[Reason, ...]
    cost: int
    node: str


class ExplainedUnit(Model, kw_only=True, omit_defaults=False):
    """A pod, or loose claims (``pod`` is null). ``reasons`` are about the unit as a whole, ``failures`` about nodes.

    ``complete``: all kinds of nodes are explained, and the search for relaxations did not stop early. ``allocations``
    are what an allocated unit takes, beside which later ones are explained.
    """

    pod: str | None
    claims: tuple[str, ...]
    node: str | None
    outcome: Outcome
    reasons: tuple[Reason, ...]
    failures: tuple[ExplainedNodes, ...]
    relaxations: tuple[RelaxationAnswer, ...]
    complete: bool
    allocations: tuple[ClaimAnswer, ...] = ()


class ExplanationDocument(Model, kw_only=True, omit_defaults=False):
    """What ``explain -o json`` prints. ``notices`` say what of the question was left aside."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ExplanationResult"] = "ExplanationResult"
    outcome: Outcome
    units: tuple[ExplainedUnit, ...]
    notices: tuple[str, ...] = ()
    feature_gates: dict[str, bool]
    cel_errors: str
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
