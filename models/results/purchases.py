"""The document of ``compare --plan`` where planners buy nodes: what each buys, and what pods stay without a place."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from .common import API_VERSION, ProofKind
from .comparison import SkippedAnswer
from .plan import Number

PurchasePlanner = Literal["karpenter", "karpenter-like", "plan"]


class PurchasedNode(Model, kw_only=False, omit_defaults=False):
    """A node that is bought, and its pods (``namespace/name``)."""

    pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: Number
    pods: tuple[str, ...]


class UnplacedPod(Model, kw_only=False, omit_defaults=False):
    """A pod without a place, and why, in the planner's words."""

    pod: str
    reason: str


class PurchaseAnswer(Model, kw_only=True, omit_defaults=False):
    """What a planner decides. ``cost`` is the price of all its nodes; ``bound`` is below that of any plan.

    ``refused`` are pods that kube-scheduler's rules refuse when the nodes are there and are filled one after the other.
    Of ``plan``, which keeps to these rules, they are pods that Karpenter itself refuses on the node alone.
    ``proof`` is what ``proven`` rests on, null if it is not proven; ``certified``: anyone can check it.
    ``notices`` say what of the question it left aside, and which known defect of Karpenter may have decided.
    """

    planner: PurchasePlanner
    version: str
    placed: int
    cost: Number
    bound: Number | None
    proven: bool
    nodes: tuple[PurchasedNode, ...]
    unplaced: tuple[UnplacedPod, ...]
    refused: tuple[str, ...]
    decided: bool
    notices: tuple[str, ...]
    proof: ProofKind | None = None
    certified: bool = False


class PurchaseComparisonDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare --plan`` prints for planners that buy; ``asked`` are all pods that wait.

    ``cheapest`` are the planners of least cost among those that place most. ``differing`` names the first few pods that
    do not go to the same pool and instance type everywhere.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["PurchaseComparison"] = "PurchaseComparison"
    asked: int
    planners: tuple[PurchaseAnswer, ...]
    skipped: tuple[SkippedAnswer, ...]
    cheapest: tuple[str, ...]
    differing: tuple[str, ...]
    decided: bool
    seed: int
    feature_gates: dict[str, bool]
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
