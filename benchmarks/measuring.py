"""Measure engines on one question: time of the search, and of the whole call with its verification.

Times are CPU time of this process, so that what else the machine does matters little; only limits are by the clock,
and the real allocator, which is another process, tells its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.peers.clients import KubeScheduler, peer_statuses
from drasat.reports.comparison import display_duration
from drasat.solver.allocate.allocate import allocate
from drasat.solver.compare.engines import UnitList
from drasat.solver.engines.kube_scheduler import NAME as KUBE_SCHEDULER
from drasat.solver.engines.outcome import AllocationOutcome, Statistics, worst_outcome

LIMIT = 10.0
# A question is asked until one of them is reached.
REPEATS = 15
ENOUGH_SECONDS = 1.0

GATES = FeatureGates.all_on()


@dataclass(frozen=True, slots=True)
class Measured:
    """An engine's answer; ``search`` and ``whole`` (with verification) are median seconds, without the index.

    ``proof`` is what the answer rests on: ``verified`` for a yes, for a no the id of a count, or ``certified`` where
    that was found in another way; ``none`` for all that is not certain.
    """

    outcome: str
    search: float
    whole: float
    proof: str
    statistics: Statistics

    @property
    def told(self) -> str:
        """The time of the search, or that there was no answer."""
        return "none in time" if self.outcome == Status.UNKNOWN else display_duration(self.search)


def measure(cluster: Cluster, engine: str, limit: float = LIMIT, repeats: int = REPEATS) -> Measured:
    """Ask several times. What the first time makes for later ones, such as the index, does not count.

    Where there is no answer within the limit, there is no second time.
    """
    times: list[list[float]] = []
    started = perf_counter()
    answer, *first = _ask(cluster, engine, limit)
    decided = answer.outcome != Status.UNKNOWN
    while decided and len(times) < repeats and (not times or perf_counter() < started + ENOUGH_SECONDS):
        answer, *seconds = _ask(cluster, engine, limit)
        times.append(seconds)
    search, whole = (median(column) for column in zip(*(times or [first]), strict=True))
    return Measured(answer.outcome, search, whole, _proof(answer), answer.statistics)


def _ask(cluster: Cluster, engine: str, limit: float) -> tuple[AllocationOutcome, float, float]:
    """Return the answer, and the CPU seconds until it was found and until it was verified."""
    started = process_time()
    marks = [started]
    answer = allocate(
        cluster,
        engine=engine,
        feature_gates=GATES,
        time_limit=limit,
        progress=lambda _done, _all: marks.append(process_time()),
    )
    return answer, marks[-1] - started, process_time() - started


def _proof(answer: AllocationOutcome) -> str:
    failures = [failure for unit in answer.units for failure in unit.failures]
    if answer.outcome == Status.ALLOCATED:
        return "verified"
    if answer.outcome != Status.UNALLOCATABLE:
        return "none"
    return ", ".join(
        dict.fromkeys(failure.proof.id if failure.proof else failure.proof_kind.value for failure in failures)
    )


def measure_peer(cluster: Cluster, limit: float = LIMIT) -> Measured:
    """Ask the real allocator once; its time is its own, without talking to it."""
    nodes = list(cluster.nodes.values())
    asked = UnitList(cluster, GATES, requested_units(cluster), nodes, 0)
    with KubeScheduler() as peer:
        found = asked.schedule(peer, limit)
    outcome = worst_outcome([unit.outcome for unit in found.units])
    return Measured(outcome, found.seconds, found.seconds, "none", Statistics(steps=found.steps))


def peer_is_built() -> bool:
    """Whether the real allocator can be asked."""
    return all(status.handshake for status in peer_statuses([KUBE_SCHEDULER]))


def share(seconds: list[float], part: float) -> float:
    """The time within which so large a part of the questions is answered."""
    return sorted(seconds)[max(0, -(-int(part * 1000) * len(seconds) // 1000) - 1)]
