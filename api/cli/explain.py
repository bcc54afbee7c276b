"""``drasat explain``: why claims cannot be allocated, and the smallest changes with which they can."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .options import EXIT_BY_OUTCOME, check_node_name, load_cluster
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
    from ..verbs.explain import ExplanationResult

Group = Annotated[
    str,
    typer.Option(
        "--group",
        metavar="NAME",
        help="Say whether this group of pods can be scheduled: on the empty cluster, on this one, and after which "
        "evictions or moves. NAME may have a namespace, or kind and namespace, before it: PodGroup/team/train.",
    ),
]


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    node: options.Node = None,
    group: Group = "",
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    cel_errors: options.CelErrorPolicy = "strict",
    time_limit: options.TimeLimit = "60s",
    audit: options.Audit = None,
    seed: options.Seed = 0,
    natural_gangs: options.NaturalGangs = False,
    timings: options.Timings = False,
    report: options.Report = None,
    output: options.Output = "table",
) -> None:
    """Explain why claims cannot be allocated, and what would help.

    Each class of nodes has a minimal set of reasons. Each unit has the smallest changes with which it fits. A group of
    pods has one answer for the empty cluster, for this one, and for evictions and moves.

    Exit codes: 0 everything fits; 1 something does not; 2 bad input or usage; 3 undecided within the limit.
    """
    from ..verbs.explain import explain

    check_node_name(node)
    if group and (node is not None or selector):
        raise UsageError("--group makes no sense with --node or -l")
    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    limit = options.parse_seconds(time_limit)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates, node)
    ask = partial(explain, cluster, node=node, namespace=namespace, selector=selector, feature_gates=gates)
    seconds = None if audit is None else options.parse_seconds(audit, "--audit")
    ask = partial(ask, natural_gangs=natural_gangs, group=group, audit=seconds)
    result, interrupted = run_verb(partial(ask, cel_errors=cel_errors, time_limit=limit, seed=seed, timings=timings))
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    if not result.units and not group:
        print_problems("warning: nothing to explain: no pod or claim waits for devices")
    print_result(result, output, {"table": _print_text, "wide": _print_rows}, report)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else EXIT_BY_OUTCOME[result.outcome])


def _print_text(result: ExplanationResult) -> None:
    from ..reports import explanation, tables

    write_stdout_lines(explanation.lines(result.document), outcomes=True)
    print_stderr(*tables.timing_lines(result.document))


def _print_rows(result: ExplanationResult) -> None:
    from ..reports import explanation, tables

    print_table(explanation.COLUMNS, tables.display_cells(explanation.rows(result.document)), wide=True)
    print_stderr(*tables.timing_lines(result.document))
