"""The document of ``compare --plan``; see ``documents``."""

from __future__ import annotations

from typing import Literal

import msgspec

from .documents import API_VERSION
from .models.base import Model
from .plan_documents import PlanStage, PlanVerdict

Order = Literal["given", "random", "priority"]


class FragmentationAnswer(Model, omit_defaults=False):
    """Free devices, and how many of them the average unit of the queue cannot use; parts of shared devices count.

    ``ofFree`` and ``ofAll`` are what that is of the free devices and of all devices, between 0 and 1.
    """

    free: float
    wasted: float
    of_free: float
    of_all: float


class PlannerAnswer(Model, kw_only=True, omit_defaults=False):
    """One planner with one order of the queue; ``order`` is null for ``plan``, which takes the queue as a whole.

    ``label`` is ``planner/order``, or the planner alone. ``version`` is that of a peer, empty for planners of drasat
    itself. ``used`` are the devices in use at the end, what ran before included, of ``devices`` that nodes reach.
    ``decided``: it was done in time. ``fragmentation`` is null if time was up before it was known. ``outcome`` and
    ``objective`` are those of ``plan``, null and empty for others. ``notices`` say what of the question it left aside.
    """

    label: str
    planner: str
    order: Order | None
    version: str
    outcome: PlanVerdict | None
    admitted: int
    gangs: int
    used: int
    devices: int
    fragmentation: FragmentationAnswer | None
    decided: bool
    verified: bool
    objective: tuple[PlanStage, ...]
    notices: tuple[str, ...]


class PlanComparisonDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare --plan -o json`` prints; ``asked`` units and ``gangs`` are in the queue.

    ``beaten``: some planner admits more units than ``plan``; ``decided``: all were done in time. ``timings`` are
    seconds, by label.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["PlanComparison"] = "PlanComparison"
    beaten: bool
    decided: bool
    asked: int
    gangs: int
    planners: tuple[PlannerAnswer, ...]
    gap: float
    seed: int
    feature_gates: dict[str, bool]
    cel_errors: str
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
