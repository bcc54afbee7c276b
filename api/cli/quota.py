"""``drasat quota``: which workloads Kueue admits, and why others wait."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .options import load_cluster
from .output import (
    Exit,
    by_width,
    check_report,
    print_manifests,
    print_problems,
    print_result,
    print_table,
    progress_line,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..verbs.quota import QuotaResult


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    cycles: Annotated[
        int | None, typer.Option("--cycles", metavar="N", help="Run at most N cycles. [default: until nothing changes]")
    ] = None,
    placement: Annotated[
        bool,
        typer.Option("--placement/--no-placement", help="Say whether the pods of admitted workloads can be placed."),
    ] = True,
    limits: Annotated[
        bool, typer.Option("--limits", help="Say what limits waiting workloads, and which quota would admit them.")
    ] = False,
    joint_prices: Annotated[
        bool,
        typer.Option("--joint-prices", help="Plan admission and placement at once; say what more quota admits to it."),
    ] = False,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    report: options.Report = None,
    output: options.ManifestOutput = "table",
) -> None:
    """Say which workloads Kueue admits, in which flavors, whom it evicts for them, and why others wait.

    Kueue's scheduler runs on the workloads and queues of the input until nothing changes. Quota is a count, so a plan
    says then which admitted workloads can be placed on nodes of their flavors, with devices. With -o wide the tables
    have charges, nodes and Kueue's messages. -o manifests prints the Workloads with their admission and conditions.

    Exit codes: 0 all admitted and placed; 1 some wait, or cannot be placed; 2 bad input or usage; 3 stopped before it
    was settled, or a better plan may place more; 130 interrupted.
    """
    from ..verbs.quota import quota

    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    seconds = options.parse_seconds(time_limit)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates)
    line = progress_line()

    def show(number: int, admitted: int, evicted: int) -> None:
        if line is not None:
            line.report("cycles", f"{number}, the last admitted {admitted} and evicted {evicted}")

    ask = partial(quota, cluster, cycles=cycles, placement=placement, limits=limits, joint_prices=joint_prices)
    ask = partial(ask, time_limit=seconds, seed=seed)
    result, interrupted = run_verb(partial(ask, on_cycle=show))
    document = result.document
    print_problems(
        *(f"warning: ClusterQueue {name}: {text}" for name, text in document.inactive.items()),
        *(f"warning: {notice}" for notice in document.notices),
    )
    print_result(result, output, _PRINTERS, report)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    open_placement = result.all_admitted and document.placement and not document.placement.proven
    if not (document.settled or document.repeating) or open_placement:
        raise typer.Exit(Exit.UNDECIDED)
    raise typer.Exit(Exit.DONE if result.all_admitted and not result.stranded else Exit.NO)


def _print_tables(result: QuotaResult, wide: bool = False) -> None:
    from ..reports import quota

    write_stdout_lines([quota.summary(result.document)])
    for headers, rows in quota.tables(result.document, wide=wide):
        print_table(headers, rows, below=True, wide=wide)
    write_stdout_lines(quota.joint_lines(result.document))


_PRINTERS = {**by_width(_print_tables), "manifests": print_manifests}
