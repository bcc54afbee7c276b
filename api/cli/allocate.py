"""``drasat allocate``: devices for claims, and the reasons where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options, output
from .options import EXIT_BY_OUTCOME, check_node_name, load_cluster
from .output import Exit, check_report, print_problems, print_result, print_stderr, print_table, progress_line, run_verb

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..verbs.allocate import AllocationResult


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    node: options.Node = None,
    engine: options.Engine = "auto",
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    cel_errors: Annotated[
        options.CelErrors | None,
        typer.Option(help=f"{options.CEL_ERRORS_HELP} [default: strict; engine kube-scheduler: kube]"),
    ] = None,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    objective: options.Objective = "",
    cel_encoding: Annotated[
        Literal["auto", "lower", "table", "lazy"],
        typer.Option(help="Encode CEL expressions over devices for the solver in this way."),
    ] = "auto",
    cel_road: Annotated[str | None, typer.Option(hidden=True)] = None,
    audit: options.Audit = None,
    timings: options.Timings = False,
    report: options.Report = None,
    output: options.ClaimOutput = "table",
) -> None:
    """Allocate devices to claims, and explain what does not fit.

    All claims without an allocation are allocated: those of pods, and loose claims.
    """
    from ..solver.engines.registry import effective_policy
    from ..verbs.allocate import allocate

    check_node_name(node)
    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    limit = options.parse_seconds(time_limit)
    seconds = None if audit is None else options.parse_seconds(audit, "--audit")
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates, node)
    if cel_errors == "kube" and effective_policy(engine, cel_errors) != cel_errors:
        print_problems(f"warning: engine {engine} visits devices in no order: --cel-errors kube means strict")
    encoding: str = cel_encoding
    if cel_road is not None:
        print_problems("warning: --cel-road is now --cel-encoding, and its value tabulate is now table")
        encoding = "table" if cel_road == "tabulate" else cel_road
    ask = partial(allocate, cluster, node=node, namespace=namespace, selector=selector, engine=engine)
    ask = partial(ask, feature_gates=gates, cel_errors=cel_errors, objective=objective, cel_encoding=encoding)
    line = progress_line()
    ask = partial(ask, watch=line and line.report_search, progress=line and line.report_units)
    result, interrupted = run_verb(partial(ask, time_limit=limit, seed=seed, timings=timings, audit=seconds))
    print_problems(*_warnings(cluster, result, namespace, selector))
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    print_result(result, output, _PRINTERS, report)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else EXIT_BY_OUTCOME[result.outcome])


def _warnings(cluster: Cluster, result: AllocationResult, namespace: str | None, selector: str) -> Iterator[str]:
    """Warn of claims of finished pods, and of no units."""
    from ..models.workload.requested import orphaned_claims
    from ..models.workload.unsupported import unsupported_fields

    for claim in () if selector else orphaned_claims(cluster, namespace):
        pods = "pods that are finished or being deleted"
        yield f"warning: claim {'/'.join(claim)} is named only by {pods}: not asked for"
    yield from (f"warning: {line}" for line in unsupported_fields(cluster) if result.units)
    if not result.units:
        yield "warning: nothing to allocate: no pod or claim waits for devices"


def _print_table(result: AllocationResult, wide: bool = False) -> None:
    from ..reports import allocation

    if wide:
        print_table(allocation.WIDE_HEADERS, allocation.wide_rows(result.document), wide=True)
    else:
        print_table(allocation.HEADERS, allocation.rows(result.document))
    _print_explanations(result)


def _print_explanations(result: AllocationResult) -> None:
    """Stages of an objective go to stderr, soft entries, then reasons, and the wall times after them."""
    from ..reports import allocation, tables

    print_stderr(*allocation.stages(result.document))
    print_stderr(*allocation.soft_entries(result.document))
    print_stderr(*allocation.reasons(result.document))
    print_stderr(*tables.timing_lines(result.document))


def _print_allocated_manifests(result: AllocationResult) -> None:
    output.print_manifests(result)
    _print_explanations(result)


_PRINTERS = {**output.by_width(_print_table), "manifests": _print_allocated_manifests, "name": output.print_claim_names}
