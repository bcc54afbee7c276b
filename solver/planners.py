"""Planners by name: sequential schedulers, and ``plan``, which looks at the whole queue at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from ..peers.build import locate
from ..peers.kube_scheduler import KubeScheduler
from .checked import check_plan
from .kube_scheduler import NAME as KUBE_SCHEDULER
from .kube_scheduler import KubeSchedulerEngine
from .plan_outcome import PlannedUnitOutcome
from .planning.rivals.choices import BestFit, Choice, FirstFit, FragmentationDescent
from .planning.rivals.orders import arriving
from .planning.rivals.sequential import Sequential
from .planning.rivals.setting import Input, Setting
from .planning.rivals.trials import Trials

PLAN = "plan"

CHOICES: dict[str, Callable[[Setting], Choice]] = {
    "first-fit": lambda _setting: FirstFit(),
    "best-fit": lambda setting: BestFit(setting.mix, setting.floor.groups),
    "fgd": lambda setting: FragmentationDescent(setting.mix),
    KUBE_SCHEDULER: lambda _setting: FirstFit(),
}
PLANNERS = (*CHOICES, PLAN)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a sequential scheduler made of the queue; ``in_time``: nothing was left out because time was up.

    ``seconds`` are those of the scheduling, without the verifier. ``version`` is that of a peer.
    """

    units: tuple[PlannedUnitOutcome, ...]
    in_time: bool
    seconds: float
    version: str = ""


def default_planners() -> tuple[str, ...]:
    """All planners that are there: the real scheduler only where it is built."""
    return tuple(name for name in PLANNERS if name != KUBE_SCHEDULER or locate() is not None)


def check_planner(name: str) -> str:
    """Return the name. Raises ``ValueError``, one line, for an unknown one."""
    if name not in PLANNERS:
        raise ValueError(f"unknown planner {name!r}, known are: {', '.join(PLANNERS)}")
    return name


def schedule(given: Input, planner: str, order: str, time_limit: float | None) -> Scheduled:
    """Place the units one by one in this order, and check the whole.

    Raises ``VerificationError`` if it does not pass, and ``PeerError`` if the real scheduler fails.
    """
    queue = arriving(given.units, order, given.seed)
    started = monotonic()
    deadline = None if time_limit is None else started + time_limit
    setting = Setting(given, deadline)
    with _trials(planner, setting) as (trials, version):
        scheduler = Sequential(setting, CHOICES[planner](setting), trials)
        scheduler.run(queue)
    seconds = monotonic() - started
    units = tuple(scheduler.outcomes(given.units))
    check_plan(
        given.cluster,
        units,
        given.gates,
        given.cel_errors,
        order=scheduler.order(given.units),
        namespace=given.namespace,
        selector=given.selector,
    )
    return Scheduled(units, scheduler.in_time, seconds, version)


@contextmanager
def _trials(planner: str, setting: Setting) -> Iterator[tuple[Trials, str]]:
    """Who is asked for devices: our own search, or the real allocator."""
    if planner != KUBE_SCHEDULER:
        yield setting.trials, ""
        return
    with KubeScheduler() as peer:
        engine = KubeSchedulerEngine(setting.session, peer)
        yield Trials(engine, setting.trials.deadline), peer.handshake.version
