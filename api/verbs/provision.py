"""The public function ``provision`` and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from ..models.cluster.cluster import Cluster
from ..models.results import provision as records
from . import ResultWithManifests

if TYPE_CHECKING:
    import pandas

    from ..integrations.provisioning.simulation import Scheduler

QuotaSource = Literal["kueue", "free", "events"]


class ProvisionResult(ResultWithManifests[records.ProvisionDocument]):
    """The answer of ``provision``; its manifests are the requests at the end, with their PodTemplates."""

    @property
    def requests(self) -> tuple[records.RequestReport, ...]:
        """ProvisioningRequests by namespace and name."""
        return self.document.requests

    @property
    def workloads(self) -> tuple[records.ProvisionedWorkload, ...]:
        """Workloads by namespace and name, with their checks."""
        return self.document.workloads

    @property
    def timeline(self) -> tuple[records.TimelineEntry, ...]:
        """What each event led to, in order."""
        return self.document.timeline

    def to_frame(self, table: Literal["timeline", "requests", "workloads"] = "timeline") -> pandas.DataFrame:
        """One row an event of Kubernetes; or a pod set of a request, or a check of a workload."""
        from ..reports import provision as report

        columns, rows = report.FRAMES[table]
        return self._frame(rows(self.document), columns)

    def summary(self) -> str:
        """One line: how many requests there are, and how far workloads got."""
        from ..reports import provision as report

        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """What keeps checks from working, and where Kueue does what its users may not expect."""
        from ..reports import provision as report

        return report.remarks(self.document)

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        return (self.to_frame("requests"), self.to_frame("workloads"), self.to_frame())

    def __repr__(self) -> str:
        return f"ProvisionResult({self.summary()})"


def provision(
    cluster: Cluster,
    *,
    events: str | PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
    quota: QuotaSource | None = None,
    backoff: records.BackoffReading = "as-coded",
    max_input_size: int | str | None = None,
    time_limit: float | None = 60.0,
) -> ProvisionResult:
    """Make the ProvisioningRequests that Kueue makes for workloads with quota, and follow what becomes of them.

    Kueue's controllers run on the objects until they have nothing left to do. With events the clock moves on, and the
    timeline says what each event led to: states of checks, retries and their back-off, requests, evictions.

    Parameters
    ----------
    cluster
        ClusterQueues, AdmissionChecks, ProvisioningRequestConfigs and Workloads of Kueue; see ``load``.
    events
        A file of events (``-`` for stdin), YAML or JSON lines, or events as mappings; each has ``time`` in seconds and
        what happens then: ``reserve``, ``condition``, ``tick``, ``evict``, ``preempt``, ``finish``, ``activate``,
        ``deactivate``, ``apply``, ``delete``, ``refuse`` or ``accept``.
    quota
        Who gives quota to workloads that wait: Kueue's scheduler (``kueue``); all of them get it at once, as in queues
        that are never full, in the flavors that come first (``free``); or those that an event names (``events``).
        Workloads that hold quota in the input keep it. Default: ``events`` if an event gives quota, else ``kueue``.
    backoff
        From when the wait before a retry counts: ``as-coded`` is what Kueue does, from when the check last became
        Pending, with the quota kept until then; ``intended`` is from the failure, without quota.
    max_input_size
        The most that the file of events may hold, in bytes or as a quantity.
    time_limit
        Seconds for everything; None for no limit. Events that did not happen in time are left out.

    Raises
    ------
    InputError
        For events that are malformed, unknown, out of order, or that cannot happen, each with its line.

    """
    from ..integrations.provisioning.event_file import read_events
    from ..integrations.provisioning.objects import request_manifests
    from ..integrations.provisioning.timeline import run_timeline

    read = [] if events is None else read_events(events, max_input_size)
    given = quota or ("events" if any(one.name == "reserve" for one in read) else "kueue")
    state, document = run_timeline(cluster, read, _scheduler(cluster, given), backoff, time_limit)
    return ProvisionResult(document, partial(request_manifests, state), cluster)


def _scheduler(cluster: Cluster, quota: QuotaSource) -> Scheduler:
    from ..integrations.provisioning.reservation import give_free_quota
    from ..integrations.provisioning.simulation import no_scheduler

    if quota == "kueue":
        from ..integrations.provisioning.scheduler import KueueScheduler

        return KueueScheduler(cluster)
    return give_free_quota if quota == "free" else no_scheduler
