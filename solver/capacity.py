"""The question ``capacity``: how many more copies of a claim, a template or a pod fit, and what stops the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic

from ..models.cluster import Cluster
from ..models.collector import young_only
from ..models.gates import FeatureGates
from ..problem.in_use import Ledger
from ..problem.policies import STRICT
from .allocate import TIME_LIMIT, gates_of
from .attempts import Session, work_within
from .capacity_ask import left_aside, original
from .capacity_engine import CopyEngine
from .capacity_outcome import CapacityInterrupted, CapacityOutcome, added
from .capacity_shared import Placed
from .capacity_survey import Survey
from .checked import check
from .outcome import ALLOCATED, UnitOutcome

LIMIT = 1000

# Equal nodes get equal answers; beyond so many copies in all, those of the nodes that come last are not verified.
_VERIFIED = 20_000


@young_only()
def capacity(
    cluster: Cluster,
    *,
    claim: str | None = None,
    template: str | None = None,
    pod: str | None = None,
    node: str | None = None,
    limit: int = LIMIT,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
) -> CapacityOutcome:
    """Find how many more copies fit at the same time, beside what claims hold already; other open claims do not count.

    Parameters
    ----------
    cluster
        What there is.
    claim, template, pod
        What is copied, by ``[namespace/]name``: at most one; none: the only thing in the input that asks for devices.
    node
        Only this node.
    limit
        The number of copies on one node at which counting ends.
    feature_gates
        A ``FeatureGates``, or switches by upstream name on top of the default, every feature on.
    time_limit
        Seconds for everything; None: no limit.
    seed
        Decides the share ids that are verified.

    Raises
    ------
    ValueError
        One line, for an unknown gate or name, several things to copy, or a limit below 1.
    VerificationError
        If copies that were said to fit do not pass the independent check; that is a defect of drasat.
    CapacityInterrupted
        For a KeyboardInterrupt during the search, with what was known by then.

    """
    if limit < 1:
        raise ValueError(f"the limit of copies must be above zero, not {limit}")
    gates, started = gates_of(feature_gates), monotonic()
    asked = original(cluster, claim=claim, template=template, pod=pod)
    engine = CopyEngine(Session(cluster, gates, STRICT, seed, work=work_within(time_limit)), asked)
    deadline = None if time_limit is None else started + time_limit
    survey = Survey(cluster, engine, Ledger(cluster.usage(gates)), limit, deadline)
    survey.run(list(cluster.nodes.values()) if node is None else [cluster.node(node)])
    searched = monotonic()
    _verify(cluster, engine, survey, gates)
    answer = CapacityOutcome(
        asked.kind,
        asked.namespace,
        asked.name,
        added(survey.rooms),
        survey.answers,
        tuple(survey.shared),
        limit,
        asked.claims,
        gates,
        STRICT,
        True,
        replace(engine.counts, devices=cluster.device_count),
        {"search": searched - started, "verify": monotonic() - searched},
        left_aside(cluster, asked),
    )
    if survey.interrupted:
        raise CapacityInterrupted(answer)
    return answer


def _verify(cluster: Cluster, engine: CopyEngine, survey: Survey, gates: FeatureGates) -> None:
    """Check all copies that fit at the same time, and those on each kind of node that fit on it alone."""
    copies = [placed for group in survey.placed for placed in group]
    check(cluster, _outcomes(engine, copies[:_VERIFIED]), gates, STRICT)
    for placed in survey.alone:
        check(cluster, _outcomes(engine, placed), gates, STRICT)


def _outcomes(engine: CopyEngine, copies: Sequence[Placed]) -> list[UnitOutcome]:
    outcomes = []
    for number, (place, picks) in enumerate(copies):
        unit = engine.asked.copy(number)
        allocations = engine.build(place.scene, unit, picks)
        pairs = tuple(zip(unit.asked, allocations, strict=True))
        outcomes.append(UnitOutcome(unit, ALLOCATED, place.node.metadata.name, allocations=pairs))
    return outcomes
