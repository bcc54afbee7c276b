"""The public function ``provision`` and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from os import PathLike
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from ..models.cluster.cluster import Cluster
from ..models.results import provision as records
from ..reports import provision as report
from . import ResultWithManifests

if TYPE_CHECKING:
    import pandas

    from ..integrations.provisioning.answers import AnswerOptions
    from ..integrations.provisioning.timeline import Scheduler

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
    def answers(self) -> tuple[records.RequestAnswer, ...]:
        """The answers to requests in the order in which they were given; nothing without ``answers``."""
        return self.document.answers

    @property
    def timeline(self) -> tuple[records.TimelineEntry, ...]:
        """What each event led to, in order."""
        return self.document.timeline

    def to_frame(self, table: Literal["timeline", "requests", "workloads", "answers"] = "timeline") -> pandas.DataFrame:
        """One row an event of Kubernetes; or a pod set of a request, a check of a workload, or a node of an answer."""
        columns, rows = report.FRAMES[table]
        return self._frame(rows(self.document), columns)

    def summary(self) -> str:
        """One line: how many requests there are, and how far workloads got."""
        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """What keeps checks from working, and where Kueue does what its users may not expect."""
        return report.remarks(self.document)

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        answered = (self.to_frame("answers"),) if self.answers else ()
        return (self.to_frame("requests"), *answered, self.to_frame("workloads"), self.to_frame())


def provision(
    cluster: Cluster,
    *,
    events: str | PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
    quota: QuotaSource | None = None,
    backoff: records.BackoffReading = "as-coded",
    max_input_size: int | str | None = None,
    time_limit: float | None = 60.0,
    answers: bool = False,
    joint: bool = False,
    classes: Mapping[str, records.AnswerKind] | Iterable[str] = (),
    provisioning_time: int | str = 300,
    seed: int = 0,
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
        Seconds for everything; None for no limit. Events that did not happen in time are left out, and requests that
        could not be decided in time are ``Undecided``.
    answers
        Answer the requests as an autoscaler that sees devices would: each is placed whole or not at all, beside what
        runs and what was booked before. The timeline goes on until nothing happens by itself any more.
    joint
        Answer requests that wait at the same time together, as many as possible, then at the least cost; else in the
        order in which they were made, each at the least cost.
    classes
        What more classes of requests mean, as ``NAME=check-capacity`` (nodes that are there) or ``NAME=scale-up``
        (nodes may be bought from NodeTemplates); the two classes of the cluster autoscaler are known.
    provisioning_time
        Seconds, or a duration such as ``5m``, until a bought node is there, for NodeTemplates without the annotation
        ``drasat.dev/provisioning-time``.
    seed
        Seed of the solver.

    Raises
    ------
    ValueError
        For options of ``answers`` that cannot be read, or that are given without it; one line.
    InputError
        For events that are malformed, unknown, out of order, or that cannot happen, each with its line.

    """
    ends = None if time_limit is None else monotonic() + time_limit
    from ..integrations.provisioning.event_file import read_events
    from ..integrations.provisioning.objects import request_manifests
    from ..integrations.provisioning.timeline import run_timeline

    read = [] if events is None else read_events(events, max_input_size)
    given = quota or ("events" if any(one.name == "reserve" for one in read) else "kueue")
    if not answers and (joint or classes):
        raise ValueError("joint and classes are about answers, and nothing is answered")
    options = _answer_options(joint, classes, provisioning_time, seed) if answers else None
    # What answers need is loaded within the limit.
    left = None if ends is None else max(0.0, ends - monotonic())
    state, document = run_timeline(cluster, read, _scheduler(cluster, given), backoff, left, options)
    return ProvisionResult(document, partial(request_manifests, state), cluster)


def _answer_options(
    joint: bool, classes: Mapping[str, records.AnswerKind] | Iterable[str], provisioning_time: int | str, seed: int
) -> AnswerOptions:
    from ..integrations.provisioning.answers import AnswerOptions, read_classes
    from ..integrations.provisioning.event_file import read_seconds

    texts = [f"{name}={kind}" for name, kind in classes.items()] if isinstance(classes, Mapping) else classes
    seconds = read_seconds(provisioning_time)
    if seconds is None:
        raise ValueError(f"provisioning time {provisioning_time!r} is not a duration such as 90s or 5m")
    return AnswerOptions(read_classes(texts), joint, seconds, seed=seed)


def _scheduler(cluster: Cluster, quota: QuotaSource) -> Scheduler:
    from ..integrations.provisioning.reservation import give_free_quota
    from ..integrations.provisioning.timeline import no_scheduler

    if quota == "kueue":
        from ..integrations.provisioning.scheduler import KueueScheduler

        return KueueScheduler(cluster)
    return give_free_quota if quota == "free" else no_scheduler
