"""``drasat compare``: several engines side by side on the same input, or on inputs of growing size."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, plan_comparison, printing
from .exits import Exit, UsageError, asked, complain, write, write_lines
from .inputs import load_cluster

if TYPE_CHECKING:
    from ..comparing import ComparisonResult
    from ..sweeping import SweepResult

Filenames = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="PATH", help="A file, a folder, or - for stdin; may be repeated."),
]
Engines = Annotated[
    str, typer.Option("--engines", metavar="A,B", help="Two or more engines; the others are compared with the first.")
]
Repeat = Annotated[int, typer.Option("--repeat", metavar="N", help="Ask each engine so often; its time is the median.")]
Exact = Annotated[bool, typer.Option("--exact", help="Other devices or nodes with the same verdict are a difference.")]
Sweep = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="NAME[=SIZE,...]",
        help="Instead of -f: made-up clusters of growing size; easy, too-many, hopeless, pods, selecting-pods or "
        "matching-pods.",
    ),
]


class ReportFormat(StrEnum):
    """How a comparison is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def command(
    filename: Filenames = None,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    node: options.Node = None,
    engines: Engines = "backtracking,kube-scheduler",
    repeat: Repeat = 1,
    exact: Exact = False,
    sweep: Sweep = None,
    plan: plan_comparison.Plan = False,
    planners: plan_comparison.Planners = None,
    orders: plan_comparison.Orders = None,
    objective: plan_comparison.Objective = None,
    gap: plan_comparison.Gap = None,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    cel_errors: options.CelErrorPolicy = options.CelErrors.KUBE,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    timings: options.Timings = False,
    output: Annotated[ReportFormat, typer.Option("--output", "-o", help="How it is printed.")] = ReportFormat.TABLE,
) -> None:
    """Ask several engines the same: verdicts, devices, steps and times side by side, and where the answers part.

    Exit codes: 0 same verdict and number admitted; 1 different; 2 bad input or usage; 3 an engine ran out of time. With
    --plan: 0 plan admits at least as many units as every other planner; 1 another admits more; 3 one ran out of time.
    """
    gates = options.gates(feature_gates, kubernetes_version)
    wishes = plan_comparison.Wishes(planners, orders, objective, gap)
    wishes.check(plan)
    common: dict[str, Any] = {
        "feature_gates": gates,
        "cel_errors": cel_errors.value,
        "time_limit": options.seconds(time_limit),
        "seed": seed,
    }
    names = [name.strip() for name in engines.split(",")]
    if sweep is not None:
        if filename or node or namespace or selector or plan:
            raise UsageError("--sweep makes its own input: no -f, -n, -l, --node or --plan")
        raise typer.Exit(_sweep(sweep, names, {**common, "repeat": repeat}, output))
    if not filename:
        raise UsageError("compare needs -f PATH, or --sweep NAME")
    if plan and (node is not None or exact or repeat != 1):
        raise UsageError("--plan asks each planner once about all nodes: no --node, --repeat or --exact")
    cluster = load_cluster(filename, recursive=recursive, skip_validation=skip_validation, gates=gates)
    common |= {"namespace": namespace, "selector": selector, "timings": timings}
    if plan:
        raise typer.Exit(plan_comparison.run(cluster, wishes, common, output.value))
    from ..comparing import compare

    result = asked(partial(compare, cluster, names, node=node, repeat=repeat, **common))
    complain(*(f"warning: {notice}" for engine in result.document.engines for notice in engine.notices))
    _PRINT[output](result)
    raise typer.Exit(_exit(result.identical if exact else result.same_verdict, result.document.decided))


def _sweep(text: str, engines: list[str], common: dict[str, Any], output: ReportFormat) -> Exit:
    from ..sweeping import parse_sweep, sweep

    grown = asked(lambda: sweep(*parse_sweep(text), engines, **common))
    _PRINT_SWEEP[output](grown)
    return _exit(grown.same_verdict, grown.decided)


def _exit(same: bool, decided: bool) -> Exit:
    if not same:
        return Exit.NO
    return Exit.DONE if decided else Exit.UNDECIDED


def _table(result: ComparisonResult) -> None:
    from ..reports import comparison, tables

    write(tables.table(comparison.HEADERS, list(comparison.rows(result.document, result.seconds))))
    write_lines(comparison.summary(result.document))


def _wide(result: ComparisonResult) -> None:
    from ..reports import comparison, tables

    _table(result)
    write("\n" + tables.table(comparison.UNIT_HEADERS, list(comparison.unit_rows(result.document))))


def _sweep_table(result: SweepResult) -> None:
    from ..reports import comparison, tables

    write(tables.table(*comparison.sweep_table(result.document)))


_PRINT: dict[ReportFormat, Callable[[ComparisonResult], None]] = {
    ReportFormat.TABLE: _table,
    ReportFormat.WIDE: _wide,
    ReportFormat.JSON: printing.json,
    ReportFormat.YAML: printing.yaml,
}
_PRINT_SWEEP: dict[ReportFormat, Callable[[SweepResult], None]] = {
    ReportFormat.TABLE: _sweep_table,
    ReportFormat.WIDE: _sweep_table,
    ReportFormat.JSON: printing.json,
    ReportFormat.YAML: printing.yaml,
}
