"""``drasat capacity``: how many more copies of a claim, a template, a pod or a workload of Kueue fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from . import options
from .options import check_node_name, load_cluster
from .output import (
    Exit,
    UsageError,
    check_report,
    print_problems,
    print_result,
    print_stderr,
    print_table,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..verbs.capacity import CapacityResult, QueueCapacityResult


def _copied_object(option: str, what: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(option, metavar="[NAMESPACE/]NAME", help=what)
    return info


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    claim: Annotated[str | None, _copied_object("--claim", "Copy this ResourceClaim.")] = None,
    template: Annotated[
        str | None, _copied_object("--template", "Copy the claims of this ResourceClaimTemplate.")
    ] = None,
    pod: Annotated[str | None, _copied_object("--pod", "Copy this pod: all its claims on one node.")] = None,
    workload: Annotated[
        str | None,
        _copied_object("--workload", "Copy this Workload of Kueue, or that of a job or pod with a queue name."),
    ] = None,
    queues: Annotated[
        bool,
        typer.Option("--queues", help="With --template or --pod: count in each LocalQueue, by quota of Kueue as well."),
    ] = False,
    node: Annotated[str | None, typer.Option("--node", metavar="NAME", help="Use only this node.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Stop counting at this number of copies on one node.")
    ] = 1000,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    audit: options.Audit = None,
    timings: options.Timings = False,
    report: options.Report = None,
    output: options.Output = "table",
) -> None:
    """Count how many more copies of a claim, a template, a pod or a workload of Kueue fit.

    The number is proven where that is possible, and the result says what stops the next copy. Copies of a workload are
    counted by quota, by placement and by both, in its LocalQueue and the others of its namespace. Where the input has
    ClusterQueues and nothing is named, each sort of workload is counted in its LocalQueue.

    Exit codes: 0 one more fits at least; 1 none fits; 2 bad input or usage; 3 none was found, and that is not proven.
    """
    from ..verbs.capacity import capacity, queue_capacity

    check_node_name(node)
    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    seconds = options.parse_seconds(time_limit)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates, node)
    named = [one for one in (claim, template, pod, node) if one is not None]
    if workload is not None and named:
        raise UsageError("copies are made of one claim, one template, one pod or one workload: give only one of them")
    by_queue = queues and named in ([template], [pod])
    if queues and not by_queue:
        raise UsageError("--queues goes with --template or --pod, and with nothing else to copy")
    if by_queue or workload is not None or (not named and _has_queues(cluster)):
        if audit is not None:
            raise UsageError("--audit is about copies of one claim, template or pod")
        count = partial(queue_capacity, cluster, workload=workload, template=template, pod=pod, limit=limit)
        _answer_queues(partial(count, feature_gates=gates, time_limit=seconds, seed=seed), workload, output, report)
    ask = partial(capacity, cluster, claim=claim, template=template, pod=pod, node=node, limit=limit)
    ask = partial(ask, audit=None if audit is None else options.parse_seconds(audit, "--audit"))
    result, interrupted = run_verb(partial(ask, feature_gates=gates, time_limit=seconds, seed=seed, timings=timings))
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    print_result(result, output, {"table": _print_table, "wide": _print_wide}, report)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    # Whether one more copy fits.
    none_fits = Exit.NO if result.proven else Exit.UNDECIDED
    raise typer.Exit(Exit.DONE if result.unbounded or result.fits else none_fits)


def _has_queues(cluster: Cluster) -> bool:
    from ..models.kubernetes.kueue import ClusterQueue

    return bool(cluster.objects(ClusterQueue))


def _answer_queues(
    ask: Callable[[], QueueCapacityResult], workload: str | None, output: str, report: str | None
) -> NoReturn:
    """Print what fits in queues, and end. The own LocalQueue of a named workload decides, else any row."""
    result, interrupted = run_verb(ask)
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    print_result(result, output, {"table": _print_queues, "wide": _print_queues_wide}, report)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    decisive = result.queues if workload is None else result.queues[:1]
    if any(one.both.fits or one.both.unbounded for one in decisive):
        raise typer.Exit(Exit.DONE)
    raise typer.Exit(Exit.NO if all(one.both.proven for one in decisive) else Exit.UNDECIDED)


def _print_queues(result: QueueCapacityResult, wide: bool = False) -> None:
    from ..reports import capacity

    print_table(capacity.QUEUE_HEADERS, capacity.queue_rows(result.document), wide=wide)
    write_stdout_lines([capacity.queue_summary(result.document)])


def _print_queues_wide(result: QueueCapacityResult) -> None:
    from ..reports import capacity

    _print_queues(result, wide=True)
    rows = [[str(cell) for cell in row] for row in capacity.pod_rows(result.document)]
    print_table(capacity.POD_HEADERS, rows, below=True, wide=True)


def _print_table(result: CapacityResult, wide: bool = False) -> None:
    from ..reports import capacity, tables

    print_table(capacity.HEADERS, capacity.rows(result.document, wide=wide), wide=wide)
    write_stdout_lines([capacity.summary(result.document)])
    print_stderr(*tables.timing_lines(result.document))


def _print_wide(result: CapacityResult) -> None:
    from ..reports import capacity

    _print_table(result, wide=True)
    write_stdout_lines(capacity.proofs(result.document))
