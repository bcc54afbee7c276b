"""The public function ``study`` and its result: many variants of one question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.results.study import StudyDocument, StudyVariant
from . import Interrupted, Result
from .study_run import (
    FAILED,
    FinishedVariant,
    SharedCluster,
    VariantStore,
    compute_here,
    compute_in_processes,
    compute_on,
    dask_executor,
)
from .study_variants import Study, StudySource, cluster_hash, read_study

if TYPE_CHECKING:
    import pandas

StudyWatch = Callable[[int, int, float | None], None]


class StudyResult(Result[StudyDocument]):
    """The answer of ``study``; ``seconds`` are by variant, as measured when it was computed, ``kept`` of how many."""

    def __init__(self, document: StudyDocument, seconds: Mapping[str, float], kept: int = 0) -> None:
        super().__init__(document)
        self.seconds = dict(seconds)
        self.kept = kept

    @property
    def variants(self) -> tuple[StudyVariant, ...]:
        """Variants in the order of the study, each with its figures."""
        return self.document.variants

    @property
    def failed(self) -> tuple[StudyVariant, ...]:
        """Variants that have no figures, with the reason."""
        return tuple(one for one in self.variants if one.outcome == FAILED)

    def to_frame(self, *, timings: bool = False) -> pandas.DataFrame:
        """One row a variant, with a column for each setting and each figure; with ``timings`` also the seconds."""
        from ..reports import study as report

        columns, rows = report.frame_rows(self.document, self.seconds if timings else None)
        return self._frame(rows, columns).convert_dtypes()

    def write(self, path: str | Path, *, timings: bool = False) -> None:
        """Write the table as ``.parquet`` or ``.csv``, or the document as ``.json``; the file appears when complete.

        Raises
        ------
        ValueError
            One line, for another suffix, a folder that is not there, or if what a suffix needs is not installed.
        OSError
            If the file cannot be written.

        """
        from ..models.manifests.writer import write_whole
        from ..reports.study import check_study_path

        file = Path(path)
        check_study_path(file)
        content: str | bytes = self.to_json()
        if file.suffix.lower() == ".csv":
            content = self.to_frame(timings=timings).to_csv(index=False)
        elif file.suffix.lower() == ".parquet":
            content = self.to_frame(timings=timings).to_parquet(index=False)
        data = content.encode() if isinstance(content, str) else content
        write_whole(file, lambda part: part.write(data), shared=True)

    def summary(self) -> str:
        """One line: how many variants there are, and how many failed."""
        from ..reports import study as report

        return report.summary(self.document)

    def reasons(self) -> Iterable[str]:
        """Why variants failed: one line for all with the same reason."""
        from ..reports import study as report

        return report.reasons(self.document)


class StudyInterrupted(Interrupted[StudyResult]):
    """Ctrl-C during ``study``; ``result`` holds the variants that were finished by then."""


def study(
    cluster: Cluster,
    study: StudySource,
    *,
    keep: str | Path | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    dask: str | None = None,
    timings: bool = False,
    watch: StudyWatch | None = None,
) -> StudyResult:
    """Ask one question in many variants, and reduce each answer to named figures.

    Variants differ in options of a verb, such as objectives, seeds, gates, budgets, planners and orders, and in the
    cluster: a longer queue, nodes added or removed. A variant that fails has no figures, and the others go on. Equal
    studies of equal clusters have equal figures, unless a time limit ends a verb.

    Parameters
    ----------
    cluster
        What there is, and what waits; see ``load``.
    study
        A study file, or its content as a mapping; ``docs/guides/studies.md`` describes its fields.
    keep
        A folder where finished variants are kept. A variant of the same cluster that is there is not computed again.
    workers
        The number of processes on this machine; 1 computes in this process.
    executor
        Where variants are computed instead: any ``concurrent.futures.Executor``. Each process of it reads the cluster
        once.
    dask
        The address of a Dask scheduler whose workers compute the variants instead, such as ``tcp://HOST:8786``.
    timings
        Put the seconds of each variant into the document.
    watch
        Called with the number of variants that are done and of all, and the seconds that the others will take about
        (None as long as nothing is known), whenever a variant is done.

    Raises
    ------
    InputError
        With everything that is wrong in the study: unknown fields, verbs and options, wrong types and values.
    ValueError
        One line, for a number of workers below 1, several of ``workers``, ``executor`` and ``dask``, or if there is no
        Dask scheduler.
    OSError
        If a variant cannot be kept.
    StudyInterrupted
        For a KeyboardInterrupt; ``result`` holds the variants that were finished by then.

    """
    if workers < 1:
        raise ValueError("a study needs at least one worker")
    if (workers > 1) + (executor is not None) + (dask is not None) > 1:
        raise ValueError("a study runs on workers, on an executor or on Dask, not on several of them")
    asked = read_study(study)
    shared = SharedCluster(cluster_hash(cluster), cluster)
    run = _StudyRun(asked, VariantStore(Path(keep) if keep is not None else None, shared.digest), watch)
    try:
        run.compute(shared, workers, executor, dask)
    except KeyboardInterrupt:
        raise StudyInterrupted(run.result(timings)) from None
    return run.result(timings)


class _StudyRun:
    """The variants of a study with what is known of them by now."""

    def __init__(self, study: Study, store: VariantStore, watch: StudyWatch | None) -> None:
        self._study = study
        self._store = store
        self._watch = watch
        self._found = {number: found for number, one in enumerate(study.variants) if (found := store.read(one))}
        self._kept = len(self._found)
        self._began = monotonic()

    def compute(self, shared: SharedCluster, workers: int, executor: Executor | None, dask: str | None) -> None:
        """Compute the variants that were not kept."""
        asked = [one for one in enumerate(self._study.variants) if one[0] not in self._found]
        if not asked:
            return
        if workers > 1:
            compute_in_processes(min(workers, len(asked)), shared, asked, self._finish)
        elif executor is None and dask is None:
            compute_here(shared, asked, self._finish)
        else:
            with ExitStack() as stack:
                place: tuple[Any, Any] = (executor, shared)
                if dask is not None:
                    place = stack.enter_context(dask_executor(dask, shared))
                for number, _ in compute_on(*place, asked, self._finish):
                    self._finish(number, FinishedVariant(outcome=FAILED, figures={}, seconds=0, error=_BROKEN))

    def _finish(self, number: int, found: FinishedVariant) -> None:
        self._store.keep(self._study.variants[number], found)
        self._found[number] = found
        if self._watch is not None:
            done, total = len(self._found), len(self._study.variants)
            each = (monotonic() - self._began) / (done - self._kept)
            self._watch(done, total, each * (total - done))

    def result(self, timings: bool) -> StudyResult:
        """What is known by now."""
        pairs = [(self._study.variants[number], found) for number, found in sorted(self._found.items())]
        there = list(dict.fromkeys(name for _, found in pairs for name in found.figures))
        missing = [name for name in self._study.figures if name not in there]
        names = tuple(name for name in self._study.figures if name in there) or tuple(there)
        known = ", ".join(there) or "none"
        notices = [f"no variant has a figure {name!r}, known are: {known}" for name in missing]
        seconds = {one.name: found.seconds for one, found in pairs}
        document = StudyDocument(
            cluster=self._store.cluster,
            settings=tuple(dict.fromkeys(name for one, _ in pairs for name in one.settings)),
            figures=names,
            variants=tuple(
                StudyVariant(
                    name=one.name,
                    verb=one.verb,
                    settings=dict(one.settings),
                    outcome=found.outcome,
                    figures={name: found.figures[name] for name in names if name in found.figures},
                    error=found.error,
                )
                for one, found in pairs
            ),
            notices=tuple(notices),
            timings=seconds if timings else msgspec.UNSET,
        )
        return StudyResult(document, seconds, self._kept)


_BROKEN = "the executor ended before the variant was computed"
