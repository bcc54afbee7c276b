"""The question ``compare``: the same input through several engines, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import monotonic

from ..models.cluster import Cluster
from ..models.gates import FeatureGates
from ..models.units import Unit, units
from ..peers.kube_scheduler import KubeScheduler
from .allocate import TIME_LIMIT, allocate, asked_units, gates_of
from .checked import check
from .compare_left import LeftOver, left_over
from .compare_units import DIFFERENT, UnitComparison, compare_units
from .engines import check_engine
from .honoured import check_honoured
from .kube_scheduler import NAME as KUBE_SCHEDULER
from .kube_scheduler import check_policy
from .kube_scheduler_list import UnitList, is_listable
from .outcome import ALLOCATED, UNKNOWN, AllocationOutcome, Statistics
from .soft_entries import overlooked

DEFAULT_ENGINES = ("backtracking", KUBE_SCHEDULER)


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One engine's answer, and how long the search took each time; ``version`` is that of a peer."""

    engine: str
    answer: AllocationOutcome
    seconds: tuple[float, ...]
    left: LeftOver
    version: str = ""

    @property
    def median_seconds(self) -> float:
        """The middle one of the times."""
        return median(self.seconds)

    @property
    def admitted(self) -> int:
        """How many units got all they ask for."""
        return self.answer.counts()[ALLOCATED]

    @property
    def verdict(self) -> tuple[str, int]:
        """What must be equal: the outcome, and how many are admitted."""
        return self.answer.outcome, self.admitted


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers of all engines in the order asked for, and every unit's against that of the first engine."""

    runs: tuple[EngineRun, ...]
    units: tuple[UnitComparison, ...]

    @property
    def same_verdict(self) -> bool:
        """All engines that decided agree on outcome and number."""
        return len({run.verdict for run in self.decided}) <= 1

    @property
    def decided(self) -> tuple[EngineRun, ...]:
        """The engines that were done within the limit."""
        return tuple(run for run in self.runs if not run.answer.counts()[UNKNOWN])

    @property
    def all_decided(self) -> bool:
        """No engine ran into the time limit."""
        return len(self.decided) == len(self.runs)

    @property
    def identical(self) -> bool:
        """Every unit has the same outcome, node and devices everywhere."""
        return all(unit.relation == "equal" for unit in self.units)

    @property
    def parting(self) -> UnitComparison | None:
        """The first unit with which the answers part; None if they never do."""
        different = [unit for unit in self.units if unit.relation == DIFFERENT]
        unequal = (unit for unit in self.units if unit.relation != "equal")
        return different[0] if different else next(unequal, None)


def compare(
    cluster: Cluster,
    engines: Sequence[str] = DEFAULT_ENGINES,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "kube",
    time_limit: float | None = TIME_LIMIT,
    repeat: int = 1,
    seed: int = 0,
) -> Comparison:
    """Ask several engines the same; options as for ``allocate``, ``time_limit`` for each engine each time.

    ``repeat`` is how often each engine is asked; that answers are the same each time is taken for granted. Times are
    of the search alone: without reading, start-up and talking to peers, and without the verifier.

    Raises ``ValueError``, one line, for fewer than two engines and as ``allocate`` does, ``PeerError`` if a peer fails.
    """
    names = [check_engine(name) for name in engines]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise ValueError("compare needs at least two different engines")
    if repeat < 1:
        raise ValueError("repeat must be at least 1")
    if KUBE_SCHEDULER in names:
        check_policy(cel_errors)
    runner = _Runner(cluster, gates_of(feature_gates), node, namespace, selector, cel_errors, time_limit, seed)
    runner.check(names)
    runs = tuple(runner.run(name, repeat) for name in names)
    return Comparison(runs, compare_units(cluster, [run.answer for run in runs]))


@dataclass(frozen=True, slots=True)
class _Runner:
    """Options that all engines are run with."""

    cluster: Cluster
    gates: FeatureGates
    node: str | None
    namespace: str | None
    selector: str
    cel_errors: str
    time_limit: float | None
    seed: int

    def check(self, engines: Sequence[str]) -> None:
        """Raise ``ValueError`` for an engine that cannot honour what some claims demand (SOFT-3)."""
        asked = self._units()
        for engine in engines:
            check_honoured(engine, self.cluster, asked)

    def run(self, engine: str, repeat: int) -> EngineRun:
        if engine == KUBE_SCHEDULER and is_listable(self._units()):
            return self._listed(repeat)
        answers = [self._allocate(engine) for _ in range(repeat)]
        return self._made(engine, answers[0], [answer.seconds["search"] for answer in answers])

    def _units(self) -> list[Unit]:
        found = units(self.cluster, namespace=self.namespace, selector=self.selector)
        return asked_units(found, self.node)

    def _allocate(self, engine: str) -> AllocationOutcome:
        return allocate(
            self.cluster,
            node=self.node,
            namespace=self.namespace,
            selector=self.selector,
            engine=engine,
            feature_gates=self.gates,
            cel_errors=self.cel_errors,
            time_limit=self.time_limit,
            seed=self.seed,
        )

    def _listed(self, repeat: int) -> EngineRun:
        """Ask the scheduler's allocator about all units in one question, so that talking is not in its time."""
        cluster = self.cluster
        nodes = list(cluster.nodes.values()) if self.node is None else [cluster.node(self.node)]
        asked = UnitList(cluster, self.gates, self._units(), nodes, self.seed)
        with KubeScheduler() as peer:
            version = peer.handshake.version
            found = [asked.schedule(peer, self.time_limit) for _ in range(repeat)]
        notices = overlooked(KUBE_SCHEDULER, cluster, self._units())
        started = monotonic()
        check(cluster, found[0].units, self.gates, self.cel_errors)
        statistics = Statistics(steps=found[0].steps, devices=cluster.summary()["devices"])
        seconds = {"search": found[0].seconds, "verify": monotonic() - started}
        answer = AllocationOutcome(
            KUBE_SCHEDULER, found[0].units, self.gates, self.cel_errors, True, statistics, seconds, notices
        )
        return replace(self._made(KUBE_SCHEDULER, answer, [one.seconds for one in found]), version=version)

    def _made(self, engine: str, answer: AllocationOutcome, seconds: Sequence[float]) -> EngineRun:
        return EngineRun(engine, answer, tuple(seconds), left_over(self.cluster, answer))
