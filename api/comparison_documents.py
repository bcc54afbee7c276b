"""The documents of ``compare``, of one question and of sweeps; see ``documents``."""

from __future__ import annotations

from typing import Literal

import msgspec

from .documents import API_VERSION, Outcome, Reason
from .models.base import Model
from .solver.compare_units import Relation


class LeftOver(Model, omit_defaults=False):
    """Devices in all, devices that nobody holds, and nodes all of whose own devices are free."""

    devices: int
    free: int
    whole_nodes: int


class EngineAnswer(Model, omit_defaults=False):
    """One engine's answer as a whole; ``version`` is that of a peer, empty for engines of drasat itself.

    ``notices`` say what of the question it left aside.
    """

    engine: str
    version: str
    outcome: Outcome
    admitted: int
    steps: int
    left: LeftOver
    verified: bool
    notices: tuple[str, ...] = ()


class RequestDevices(Model, omit_defaults=False):
    """What a request (``name`` or ``name/alternative``) of a claim got, as ``driver/pool/device``."""

    claim: str
    request: str
    devices: tuple[str, ...]


class UnitSide(Model, omit_defaults=False):
    """One engine's answer to a unit, and how it relates to that of the first engine."""

    engine: str
    relation: Relation
    outcome: Outcome
    node: str | None
    requests: tuple[RequestDevices, ...]
    reasons: tuple[Reason, ...]


class UnitSides(Model, omit_defaults=False):
    """A pod, or a loose claim (``pod`` is null), with all answers; ``request`` is the first that got something else."""

    pod: str | None
    claims: tuple[str, ...]
    relation: Relation
    claim: str
    request: str
    sides: tuple[UnitSide, ...]


class ComparisonDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare -o json`` prints. ``parting`` is the first unit with which the answers part.

    ``sameVerdict``: outcome and number of admitted units agree among the engines that were done in time (``decided``:
    all were); ``identical``: every unit got the same node and devices everywhere.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ComparisonResult"] = "ComparisonResult"
    same_verdict: bool
    identical: bool
    decided: bool
    asked: int
    engines: tuple[EngineAnswer, ...]
    parting: UnitSides | None
    units: tuple[UnitSides, ...]
    feature_gates: dict[str, bool]
    cel_errors: str
    timings: dict[str, list[float]] | msgspec.UnsetType = msgspec.UNSET


class SweepEngine(Model, omit_defaults=False):
    """One engine at one size; ``seconds`` is the median."""

    engine: str
    outcome: Outcome
    admitted: int
    steps: int
    seconds: float


class SweepPoint(Model, omit_defaults=False):
    """One size; engines that ran out of time at a smaller one are missing."""

    size: int
    asked: int
    engines: tuple[SweepEngine, ...]


class SweepDocument(Model, kw_only=True, omit_defaults=False):
    """What ``compare --sweep -o json`` prints. The only document with wall times that are not asked for."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["SweepResult"] = "SweepResult"
    sweep: str
    same_verdict: bool
    decided: bool
    points: tuple[SweepPoint, ...]
