"""``drasat plan``: a plan for everything that waits, on existing or on new nodes, with bounds."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from . import options, output
from .options import load_cluster
from .output import (
    Exit,
    UsageError,
    check_report,
    print_problems,
    print_result,
    print_stderr,
    print_table,
    progress_line,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..verbs.plan import PlanResult

Objective = Annotated[
    str,
    typer.Option(
        "--objective",
        metavar="A,B",
        autocompletion=options.complete_list(options.plan_stages),
        help="Optimize these stages, the most important first: priority, "
        "admitted[=count|devices|capacity:NAME|annotation:KEY], fair, borrowed, cost, fewest-nodes, "
        "free-domains=LABEL, spread, preferences, preference, soft, fragmentation, compact, least-consumption. "
        "[default: priority,admitted; with --buy also "
        "cost, with NodePools fewest-nodes; then least-consumption if units have a choice]",
    ),
]
Gap = Annotated[
    str,
    typer.Option(
        "--gap", metavar="PART", help="Count a stage as proven when value and bound are this close, 0.1% or 0.001."
    ),
]
Buy = Annotated[
    bool,
    typer.Option(
        "--buy", help="Find the cheapest nodes of NodeTemplates and Karpenter's NodePools with which everything fits."
    ),
]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="With --buy: ignore the nodes that exist.")]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="N", help="With --buy: find the best plan that costs at most this much."),
]
Alternatives = Annotated[
    Literal["in-order", "any"],
    typer.Option(
        "--alternatives",
        help="In requests of alternatives let the order count more than the cost (in-order), or the cost (any).",
    ),
]
Mix = Annotated[
    list[str] | None,
    typer.Option(
        "--mix",
        metavar="PATH",
        help="Let the stage fragmentation leave room for the units of these manifests. [default: the queue]",
    ),
]
Quota = Annotated[
    str,
    typer.Option(
        "--quota",
        metavar="MODE",
        autocompletion=options.complete_list(lambda: ("joint", "kueue", "ignore")),
        help="Decide admission by Kueue's quota and placement at once (joint), place what Kueue's own cycles admit "
        "(kueue), or ignore quota (ignore). [default: joint if there are ClusterQueues]",
    ),
]
Moves = Annotated[
    str | None,
    typer.Option(
        "--moves",
        metavar="N|any",
        help="Let at most so many running pods go elsewhere, those that a controller makes again; say in which order.",
    ),
]
MoveBare = Annotated[bool, typer.Option("--move-bare", help="With --moves: let pods without a controller move, too.")]
Preempt = Annotated[
    bool,
    typer.Option(
        "--preempt",
        help="Let running pods lose their places for what waits with a higher priority: the least that suffices. With "
        "--moves pods may go elsewhere instead.",
    ),
]
Consolidate = Annotated[
    bool,
    typer.Option(
        "--consolidate",
        help="Find the cheapest nodes for what runs: which can go, and which new ones of NodePools and NodeTemplates "
        "replace them. Means --moves any.",
    ),
]
Replacements = Annotated[
    Literal["none", "one", "any"],
    typer.Option("--replacement", help="With --consolidate: allow no new node, one in all, or any number."),
]
Duals = Annotated[
    bool,
    typer.Option(
        "--duals", help="Add to -o json and -o yaml the duals from which the bound of each stage can be found."
    ),
]
Workers = Annotated[
    int,
    typer.Option("--workers", metavar="N", min=1, help="Use this many threads; the plan is the same with any number."),
]


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    objective: Objective = "",
    gap: Gap = "0.1%",
    buy: Buy = False,
    only_new: OnlyNew = False,
    budget: Budget = None,
    alternatives: Alternatives = "any",
    mix: Mix = None,
    natural_gangs: options.NaturalGangs = False,
    quota: Quota = "",
    moves: Moves = None,
    move_bare: MoveBare = False,
    consolidate: Consolidate = False,
    replacement: Replacements = "any",
    preempt: Preempt = False,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    instance_types: options.InstanceTypes = None,
    cel_errors: options.CelErrorPolicy = "strict",
    time_limit: options.TimeLimit = "300s",
    seed: options.Seed = 0,
    workers: Workers = 1,
    audit: options.Audit = None,
    duals: Duals = False,
    timings: options.Timings = False,
    report: options.Report = None,
    output: options.PlanOutput = "table",
) -> None:
    """Plan all waiting pods, jobs and claims at once.

    The plan says on which nodes they go and with which devices, and bounds how much better another plan can be.

    Exit codes: 0 all placed, but for members of coverage groups that are not needed; 1 some are not, and nothing better
    exists within the gap; 2 bad input or usage; 3 some are not, and that is not proven; 130 interrupted.
    """
    from ..verbs.plan import plan

    if not buy and (only_new or budget is not None):
        raise UsageError("--only-new and --budget need --buy")
    if (move_bare and moves is None and not consolidate) or (replacement != "any" and not consolidate):
        raise UsageError("--move-bare needs --moves, and --replacement needs --consolidate")
    if preempt and consolidate:
        raise UsageError("--preempt and --consolidate make no sense together: nodes go where nothing is lost")
    if output == "commands" and moves is None and not consolidate and not preempt:
        raise UsageError("-o commands needs --moves, --preempt or --consolidate")
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    check_report(report)
    limit, part = options.parse_seconds(time_limit), options.parse_fraction(gap)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    whole = replace(reading, instance_types=instance_types or ())
    cluster = load_cluster(filename, whole, gates)
    # What its units ask for is in the input proper, so that warnings about what is missing would mislead.
    target = reading.load(mix, gates).cluster if mix else None
    ask = partial(plan, cluster, objective=objective, gap=part, namespace=namespace, selector=selector, mix=target)
    ask = partial(ask, natural_gangs=natural_gangs, quota=quota, alternatives=alternatives)
    ask = partial(ask, buy=buy, only_new=only_new, budget=budget, feature_gates=gates, cel_errors=cel_errors)
    seconds = None if audit is None else options.parse_seconds(audit, "--audit")
    ask = partial(ask, audit=seconds)
    ask = partial(ask, duals=duals, moves=moves, move_bare=move_bare, consolidate=consolidate, replacement=replacement)
    ask = partial(ask, preempt=preempt)
    line = progress_line()
    ask = partial(ask, time_limit=limit, seed=seed, timings=timings, watch=line and line.report_plan)
    with _thread_pool(workers) as executor:
        result, interrupted = run_verb(partial(ask, executor=executor))
    # The node without a name stands for unknown ones. What is bought is known.
    existing = not only_new and not (buy and "" in cluster.nodes)
    print_problems(*_warnings(cluster, result, existing, cel_errors))
    print_result(result, output, _PRINTERS, report)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else _exit_code(result))


@contextmanager
def _thread_pool(workers: int) -> Iterator[Executor | None]:
    """Threads for parts of the work; the solver lets others run beside it. What has not begun by the end is dropped."""
    if workers == 1:
        yield None
        return
    executor = ThreadPoolExecutor(workers)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _warnings(cluster: Cluster, result: PlanResult, existing: bool, cel_errors: options.CelErrors) -> Iterator[str]:
    """Warn of unsupported fields, of nodes with unknown resources, of ignored rules, and of an empty queue."""
    notices, prefers = result.written.notices, any(one.stage == "preferences" for one in result.written.objective)
    yield from options.plan_warnings(cluster, notices, existing=existing, planned=True, prefers=prefers)
    if result.written.cel_errors != cel_errors:
        summary = f"--cel-errors {cel_errors} means {result.written.cel_errors}"
        yield f"warning: a plan visits devices in no order: {summary}"
    if result.written.steps is msgspec.UNSET and not result.written.unread:
        yield from options.empty_queue_warnings(result.written.asked)


def _exit_code(result: PlanResult) -> Exit:
    """Return the code that says whether all units are placed; if not, whether that is proven to be the best.

    Members of coverage groups that nobody needs are as good as placed.
    """
    unneeded = sum(one.unneeded for one in result.written.coverage or ())
    if result.placed + unneeded == result.written.asked and not result.written.unread:
        return Exit.DONE
    return Exit.NO if result.outcome in ("Optimal", "Infeasible") else Exit.UNDECIDED


def _print_table(result: PlanResult, wide: bool = False) -> None:
    """Print the tables, the nodes to buy and a summary; bounds and reasons go to stderr."""
    from ..reports import plan, tables

    if wide:
        print_table(plan.UNIT_HEADERS, plan.unit_cells(result.written), wide=True)
        nodes = tables.display_cells(plan.node_rows(result.written))
        print_table(plan.NODE_HEADERS, nodes, below=True, wide=True)
    else:
        print_table(plan.HEADERS, plan.owner_cells(result.written))
    for headers, cells in plan.quota_tables(result.written, wide=wide):
        print_table(headers, cells, below=True, wide=wide)
    if result.written.coverage:
        print_table(
            plan.COVERAGE_HEADERS, tables.display_cells(plan.coverage_rows(result.written)), below=True, wide=wide
        )
    if result.written.bought:
        headers, rows = plan.bought_table(result.written)
        print_table(headers, tables.display_cells(rows), below=True, wide=wide)
    if result.written.removed:
        removed = tables.display_cells(plan.removed_rows(result.written))
        print_table(plan.REMOVED_HEADERS, removed, below=True, wide=wide)
    if result.written.victims:
        print_table(plan.VICTIM_HEADERS, tables.display_cells(plan.victim_rows(result.written)), below=True, wide=wide)
    if result.written.scheduler_would:
        cells = tables.display_cells(plan.scheduler_rows(result.written))
        print_table(plan.SCHEDULER_HEADERS, cells, below=True, wide=wide)
    if result.written.steps:
        print_table(plan.STEP_HEADERS, tables.display_cells(plan.step_rows(result.written)), below=True, wide=wide)
    write_stdout_lines(["", plan.summary(result.written)], outcomes=True)
    _print_explanations(result)


def _print_explanations(result: PlanResult) -> None:
    from ..reports import plan, tables

    print_stderr(*plan.stages(result.written), *plan.reasons(result.written), *tables.timing_lines(result.written))


def _print_commands(result: PlanResult) -> None:
    from ..reports import plan

    write_stdout_lines(plan.command_lines(result.written))
    _print_explanations(result)


def _print_allocated_manifests(result: PlanResult) -> None:
    output.print_manifests(result)
    _print_explanations(result)


_PRINTERS = {
    **output.by_width(_print_table),
    "manifests": _print_allocated_manifests,
    "name": output.print_claim_names,
    "commands": _print_commands,
}
