"""``drasat capacity``: how many more copies of a claim, a template or a pod fit, and what stops the next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .options import check_node_name, load_cluster
from .output import (
    Exit,
    check_report,
    print_problems,
    print_result,
    print_stderr,
    print_table,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..verbs.capacity import CapacityResult


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
    timings: options.Timings = False,
    report: options.Report = None,
    output: options.Output = "table",
) -> None:
    """Count how many more copies of a claim, a template or a pod fit.

    The number is proven where that is possible, and the result says what stops the next copy.

    Exit codes: 0 one more fits at least; 1 none fits; 2 bad input or usage; 3 none was found, and that is not proven.
    """
    from ..verbs.capacity import capacity

    check_node_name(node)
    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    seconds = options.parse_seconds(time_limit)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates, node)
    ask = partial(capacity, cluster, claim=claim, template=template, pod=pod, node=node, limit=limit)
    result, interrupted = run_verb(partial(ask, feature_gates=gates, time_limit=seconds, seed=seed, timings=timings))
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    print_result(result, output, {"table": _print_table, "wide": _print_wide}, report)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    # Whether one more copy fits.
    none_fits = Exit.NO if result.proven else Exit.UNDECIDED
    raise typer.Exit(Exit.DONE if result.unbounded or result.fits else none_fits)


def _print_table(result: CapacityResult, wide: bool = False) -> None:
    from ..reports import capacity, tables

    print_table(capacity.HEADERS, capacity.rows(result.document, wide=wide), wide=wide)
    write_stdout_lines([capacity.summary(result.document)])
    print_stderr(*tables.timing_lines(result.document))


def _print_wide(result: CapacityResult) -> None:
    from ..reports import capacity

    _print_table(result, wide=True)
    write_stdout_lines(capacity.proofs(result.document))
