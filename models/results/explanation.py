"""The document of ``explain``."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from .common import API_VERSION, ClaimAnswer, CountedWitness, Outcome, ProofKind, Reason, RejectedDevices
from .plan import PlanStage, PlanStep, PlanVictim


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
    what that rests on; ``certified``: anyone can check it, or it was audited: no node has a place for the unit, and the
    reasons are impossible together on the first, and each is needed. ``witness`` is the sum about the reasons
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


class GroupTrial(Model, kw_only=True, omit_defaults=False):
    """Whether a group can be scheduled in one state of the cluster.

    ``question``: ``empty`` is the cluster without running pods but those of DaemonSets and static ones, ``now`` the
    cluster as it is, ``evictions`` and ``moves`` are what ``plan --preempt`` and ``plan --moves any`` make room for.
    ``answer`` is ``notNeeded`` where the group can be scheduled as it is. ``placed`` of the members that ``wait`` find
    a place beside those that ``run``; no plan places more than ``most``, null where that is not known. ``proof`` is
    what a no rests on. Where the answer is yes, ``units`` are the members with nodes and claims in a verified plan,
    ``victims`` and ``steps`` what has to be done before, and ``stages`` the values and bounds of what is lost.
    """

    question: Literal["empty", "now", "evictions", "moves"]
    answer: Literal["yes", "no", "unknown", "notNeeded"]
    wait: int
    run: int
    placed: int
    most: int | None
    proof: ProofKind | None
    units: tuple[ExplainedUnit, ...]
    victims: tuple[PlanVictim, ...]
    steps: tuple[PlanStep, ...]
    stages: tuple[PlanStage, ...]
    reasons: tuple[str, ...]


class ExplainedGroup(Model, kw_only=True, omit_defaults=False):
    """A group of pods, and whether it can be scheduled.

    ``minimum`` is how many members must have a node at once, null for all of them, and ``domain`` the node label of
    which their nodes have one value, empty for none.
    """

    kind: str
    namespace: str
    name: str
    minimum: int | None
    domain: str
    trials: tuple[GroupTrial, ...]


class ExplanationDocument(Model, kw_only=True, omit_defaults=False):
    """What ``explain -o json`` prints. ``notices`` say what of the question was left aside.

    ``group`` is there where the question is about a group of pods; then there are no ``units``.
    ``proof`` is what every no and every set of reasons rests on at least, null where nothing is refused; ``certified``:
    each is a witness or audited. Of a group ``certified`` says that each no is audited.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ExplanationResult"] = "ExplanationResult"
    outcome: Outcome
    units: tuple[ExplainedUnit, ...]
    group: ExplainedGroup | msgspec.UnsetType = msgspec.UNSET
    notices: tuple[str, ...] = ()
    feature_gates: dict[str, bool]
    cel_errors: str
    proof: ProofKind | None = None
    certified: bool = False
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
