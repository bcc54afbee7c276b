"""The public function ``quota`` and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.formats.runtime import gc_paused, gc_young_only
from ..models.results import quota as records
from ..reports import quota as report
from . import Interrupted, ResultWithManifests

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


class QuotaResult(ResultWithManifests[records.QuotaDocument]):
    """The answer of ``quota``; its manifests are the Workloads with ``status.admission`` and conditions."""

    @property
    def workloads(self) -> tuple[records.WorkloadQuota, ...]:
        """Workloads by namespace and name."""
        return self.document.workloads

    @property
    def quota(self) -> tuple[records.NodeQuotaReport, ...]:
        """Flavors and resources of cohorts and queues, with usage."""
        return self.document.quota

    @property
    def stranded(self) -> tuple[records.WorkloadPlacement, ...]:
        """Workloads that have quota and cannot be placed, with the reasons."""
        placement = self.document.placement
        return tuple(one for one in placement.workloads if one.placed < one.asked) if placement else ()

    @property
    def all_admitted(self) -> bool:
        """Whether every workload that is not finished has its quota."""
        return all(one.state != "pending" for one in self.workloads)

    def to_frame(
        self, table: Literal["workloads", "quota", "evictions", "stranded", "limits", "prices", "joint"] = "workloads"
    ) -> pandas.DataFrame:
        """One row a workload; or an amount of a queue or cohort, an eviction, what is stranded, a change, a price.

        ``joint`` has the prices of joint plans.
        """
        columns, rows = report.FRAMES[table]
        return self._frame(rows(self.document), columns)

    def summary(self) -> str:
        """One line: how many workloads have quota, after how many cycles."""
        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """Why workloads wait, in Kueue's words, and queues that admit nothing."""
        return report.reasons(self.document)

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        return (self.to_frame("workloads"), self.to_frame("quota"))


class QuotaInterrupted(Interrupted[QuotaResult]):
    """Ctrl-C during ``quota``; ``result`` holds what the cycles that ended by then came to."""


@gc_young_only()
def quota(
    cluster: Cluster,
    *,
    cycles: int | None = None,
    placement: bool = True,
    limits: bool = False,
    joint_prices: bool = False,
    time_limit: float | None = 60.0,
    seed: int = 0,
    on_cycle: Callable[[int, int, int], None] | None = None,
) -> QuotaResult:
    """Say which workloads Kueue admits, in which flavors, whom it evicts for them, and why others wait.

    The cycles of Kueue's scheduler run on the workloads, queues and cohorts of the input until nothing changes or the
    same states come back. Workloads with ``status.admission`` hold quota at the start. Jobs with a queue name become
    workloads. Quota is a count: whether the pods of what is admitted can be placed is a question of its own, which a
    plan of all of them answers.

    Parameters
    ----------
    cluster
        ClusterQueues, Cohorts, LocalQueues, ResourceFlavors and Workloads of Kueue, its Configuration, and what
        workloads ask for; see ``load``.
    cycles
        Run this many cycles at most; None for no such limit.
    placement
        Plan the pods of all workloads with quota on nodes that their flavors allow, with devices, if there are nodes.
    limits
        Say what limits the workloads that wait: which quota they lack, the least change of quota that admits each of
        them, and what one more of an amount admits. Each change is judged by running the cycles again.
    joint_prices
        Decide quota and placement at once, as ``plan`` does, and say what one more of an amount admits to such a plan.
        Each price is judged by planning again.
    time_limit
        Seconds for everything; None for no limit. The result holds what was known by then; workloads that were not
        counted yet have no charge.
    seed
        Decides among equal choices of the plan.
    on_cycle
        Called after each cycle with its number, and how many workloads it admitted and evicted.

    Raises
    ------
    ValueError
        One line, for a configuration with which Kueue does not start, or a number of cycles below 1.
    QuotaInterrupted
        For a KeyboardInterrupt; ``result`` holds what was known by then.

    """
    from ..integrations.kueue.configuration import kueue_configuration, start_errors
    from ..integrations.kueue.cycles import CycleRecord, KueueState
    from ..integrations.kueue.quota_document import quota_document, workload_manifests

    began = time.monotonic()
    deadline = None if time_limit is None else began + time_limit
    if cycles is not None and cycles < 1:
        raise ValueError(f"cycles must be at least 1, not {cycles}")
    if refused := start_errors(cluster):
        raise ValueError(f"Kueue does not start with this configuration: {'; '.join(refused)}")
    configuration = kueue_configuration(cluster)

    def report(record: CycleRecord) -> None:
        if on_cycle is not None:
            on_cycle(record.number, len(record.admitted), len(record.evicted))

    with gc_paused():
        state = KueueState(cluster, configuration, deadline=deadline)
        held = {key for key, one in state.workloads.items() if one.reserved}
        # What follows the cycles takes about as long as to read and count workloads, though there is no time to plan.
        read = time.monotonic() - began if placement else 0.0
        phase = state.run(cycles, deadline=None if deadline is None else deadline - read, on_cycle=report)
        document, interrupted = quota_document(state, phase), phase.interrupted
    if placement and not interrupted and any(cluster.nodes) and any(one.reserved for one in state.workloads.values()):
        from ..integrations.kueue.placement import place_admitted

        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        placed, interrupted = _known(lambda: place_admitted(cluster, state, phase, held, time_limit=left, seed=seed))
        document = msgspec.structs.replace(document, placement=placed)
    if limits and not interrupted:
        from ..integrations.kueue.quota_changes import quota_limits

        found, interrupted = _known(
            lambda: quota_limits(cluster, configuration, state, max_cycles=cycles, deadline=deadline)
        )
        document = msgspec.structs.replace(document, limits=found)
    if joint_prices and not interrupted:
        from ..integrations.kueue import joint_prices as prices

        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        joint, interrupted = _known(lambda: prices.joint_prices(cluster, time_limit=left, seed=seed))
        document = msgspec.structs.replace(document, joint=joint)
    result = QuotaResult(document, partial(workload_manifests, cluster, state), cluster)
    if interrupted:
        raise QuotaInterrupted(result)
    return result


def _known(ask: Callable[[], T]) -> tuple[T, bool]:
    """What a question comes to, after Ctrl-C what was known by then, and whether that ended it."""
    from ..solver.engines.outcome import SearchInterrupted

    try:
        return ask(), False
    except SearchInterrupted as stopped:
        return stopped.answer, True
