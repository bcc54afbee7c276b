"""``drasat compare``: engines side by side on one input or on growing ones, or planners on one queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .options import load_cluster
from .output import (
    Exit,
    UsageError,
    by_width,
    check_report,
    print_problems,
    print_result,
    print_table,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.results.comparison import ComparisonDocument, PlanComparisonDocument, SweepDocument
    from ..verbs.compare import ComparisonResult, PlanComparisonResult, SweepResult
    from ..verbs.purchases import PurchaseComparisonResult

Engines = Annotated[
    str,
    typer.Option(
        "--engines",
        metavar="A,B",
        autocompletion=options.complete_list(options.engine_names),
        help="Ask these engines, two or more; the others are compared with the first.",
    ),
]
Repeat = Annotated[
    int, typer.Option("--repeat", metavar="N", help="Ask each engine this often; its time is the median.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Count other devices or nodes with the same verdict as a difference.")
]
Sweep = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="NAME[=SIZE,...]",
        help="Instead of -f, generate clusters of growing size: easy, too-many, hopeless, pods, selecting-pods or "
        "matching-pods.",
    ),
]


def command(
    filename: options.OptionalFilenames = None,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    node: options.Node = None,
    engines: Engines = "backtracking,kube-scheduler",
    repeat: Repeat = 1,
    exact: Exact = False,
    sweep: Sweep = None,
    plan: Plan = False,
    planners: Planners = None,
    orders: Orders = None,
    objective: Objective = None,
    gap: Gap = None,
    quota: Quota = None,
    moves: PlannedMoves = None,
    move_bare: PlannedBare = False,
    preempt: PlannedPreempt = False,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    cel_errors: options.CelErrorPolicy = "kube",
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    timings: options.Timings = False,
    report: options.Report = None,
    output: options.Output = "table",
) -> None:
    """Compare the answers of several engines to one question.

    Verdicts, devices, steps and times stand side by side, with the first unit whose answers differ.

    Exit codes: 0 same verdict and number admitted; 1 different; 2 bad input or usage; 3 an engine ran out of time. With
    --plan: 0 plan admits at least as many units as every other planner; 1 another admits more; 3 one ran out of time.
    """
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    plan_options = PlanComparisonOptions(planners, orders, objective, gap, quota, moves, move_bare, preempt)
    plan_options.check(plan)
    check_report(report)
    common: dict[str, Any] = {
        "feature_gates": gates,
        "cel_errors": cel_errors,
        "time_limit": options.parse_seconds(time_limit),
        "seed": seed,
    }
    names = [name.strip() for name in engines.split(",")]
    if sweep is not None:
        if filename or node or namespace or selector or plan:
            raise UsageError("--sweep makes its own input: no -f, -n, -l, --node or --plan")
        raise typer.Exit(_run_sweep(sweep, names, {**common, "repeat": repeat}, output, report))
    if not filename:
        raise UsageError("compare needs -f PATH, or --sweep NAME")
    if plan and (node is not None or exact or repeat != 1):
        raise UsageError("--plan asks each planner once about all nodes: no --node, --repeat or --exact")
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates, node)
    common |= {"namespace": namespace, "selector": selector, "timings": timings}
    if plan:
        raise typer.Exit(run_plan_comparison(cluster, plan_options, common, output, report))
    from ..verbs.compare import compare

    result, _ = run_verb(partial(compare, cluster, names, node=node, repeat=repeat, **common))
    told = dict.fromkeys(notice for engine in result.document.engines for notice in engine.notices)
    print_problems(*(f"warning: {notice}" for notice in told), *_skipped_lines(result.document))
    print_result(result, output, {"table": _print_comparison_table, "wide": _print_comparison_wide}, report)
    raise typer.Exit(_comparison_exit_code(result.identical if exact else result.same_verdict, result.document.decided))


def _run_sweep(text: str, engines: list[str], common: dict[str, Any], output: str, report: str | None) -> Exit:
    from ..verbs.compare import parse_sweep, sweep

    grown, _ = run_verb(lambda: sweep(*parse_sweep(text), engines, **common))
    print_problems(*_skipped_lines(grown.document))
    print_result(grown, output, by_width(_print_sweep_table), report)
    return _comparison_exit_code(grown.same_verdict, grown.decided)


def _skipped_lines(document: ComparisonDocument | PlanComparisonDocument | SweepDocument) -> Iterator[str]:
    """Say which engines or planners could not answer."""
    return (f"warning: {one.name} could not answer: {one.reason}" for one in document.skipped)


def _comparison_exit_code(same: bool, decided: bool) -> Exit:
    if not same:
        return Exit.NO
    return Exit.DONE if decided else Exit.UNDECIDED


def _print_comparison_table(result: ComparisonResult, wide: bool = False) -> None:
    from ..reports import comparison

    rows = comparison.comparison_rows(result.document, result.seconds)
    print_table(comparison.COMPARISON_HEADERS, rows, wide=wide)
    write_stdout_lines(comparison.comparison_summary(result.document))


def _print_comparison_wide(result: ComparisonResult) -> None:
    from ..reports import comparison

    _print_comparison_table(result, wide=True)
    rows = comparison.comparison_unit_rows(result.document)
    print_table(comparison.COMPARISON_UNIT_HEADERS, rows, below=True, wide=True)


def _print_sweep_table(result: SweepResult, wide: bool = False) -> None:
    from ..reports import comparison

    print_table(*comparison.sweep_table(result.document), wide=wide)


Plan = Annotated[bool, typer.Option("--plan", help="Compare planners of the whole queue instead of engines.")]
Planners = Annotated[
    str | None,
    typer.Option(
        "--planners",
        metavar="A,B",
        help="With --plan: compare these planners: first-fit, best-fit, fgd, kube-scheduler, plan, or those that know "
        "quota of Kueue: kueue, plan, or those that buy nodes of NodePools: karpenter, karpenter-like, plan, or with "
        "--moves also descheduler-like, with --preempt also preempt-like-kube-scheduler. [default: with ClusterQueues "
        "kueue, plan, with --moves or --preempt first-fit, that one, plan, else the first ones; kube-scheduler where "
        "built]",
    ),
]
Orders = Annotated[
    str | None,
    typer.Option(
        "--orders",
        metavar="A,B",
        help="With --plan: let units arrive in these orders: given, random (by --seed) or priority. [default: all]",
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="A,B",
        autocompletion=options.complete_list(options.plan_stages),
        help="With --plan: optimize these stages, as for drasat plan.",
    ),
]
Gap = Annotated[
    str | None,
    typer.Option("--gap", metavar="PART", help="With --plan: use this gap, as for drasat plan. [default: 0.1%]"),
]
Quota = Annotated[
    str | None, typer.Option("--quota", metavar="MODE", help="With --plan: ignore: quota of Kueue does not count.")
]


PlannedMoves = Annotated[
    str | None,
    typer.Option(
        "--moves",
        metavar="N|any",
        help="With --plan: let plan and descheduler-like move at most so many running pods, as for drasat plan.",
    ),
]
PlannedBare = Annotated[
    bool, typer.Option("--move-bare", help="With --moves: let pods without a controller move, too.")
]
PlannedPreempt = Annotated[
    bool,
    typer.Option(
        "--preempt",
        help="With --plan: let running pods lose their places, as for drasat plan, beside what kube-scheduler does.",
    ),
]


# They are compared with one another and with ``plan`` alone.
BUYING_PLANNERS = ("karpenter", "karpenter-like")


@dataclass(frozen=True, slots=True)
class PlanComparisonOptions:
    """Options that make sense with ``--plan`` alone; None: not given."""

    planners: str | None
    orders: str | None
    objective: str | None
    gap: str | None
    quota: str | None
    moves: str | None = None
    move_bare: bool = False
    preempt: bool = False

    @property
    def buys(self) -> bool:
        """Planners that buy nodes are compared."""
        return any(name in BUYING_PLANNERS for name in _split_names(self.planners or ""))

    def check(self, plan: bool) -> None:
        """Raise ``UsageError`` if one is given without ``--plan``."""
        if not plan and self.arguments():
            raise UsageError(
                "--planners, --orders, --objective, --gap, --quota, --moves, --move-bare and --preempt need --plan"
            )

    def arguments(self) -> dict[str, Any]:
        """Return the options that are given, as arguments of ``compare_plans``."""
        said = {
            "planners": self.planners and _split_names(self.planners),
            "orders": self.orders and _split_names(self.orders),
            "objective": self.objective,
            "gap": None if self.gap is None else options.parse_fraction(self.gap),
            "quota": self.quota,
            "moves": self.moves,
            "move_bare": self.move_bare or None,
            "preempt": self.preempt or None,
        }
        return {name: value for name, value in said.items() if value is not None}


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def run_plan_comparison(
    cluster: Cluster, plan_options: PlanComparisonOptions, common: dict[str, Any], output: str, report: str | None
) -> Exit:
    """Compare planners, print the result, write its report and return the exit code. Raises ``UsageError``."""
    if plan_options.buys:
        return _run_purchase_comparison(cluster, plan_options, common, output, report)
    from ..verbs.compare import compare_plans

    result, _ = run_verb(partial(compare_plans, cluster, **plan_options.arguments(), **common))
    print_problems(*_plan_comparison_warnings(cluster, result), *_skipped_lines(result.document))
    print_result(result, output, by_width(_print_plan_comparison_table), report)
    if result.document.beaten:
        return Exit.NO
    return Exit.DONE if result.document.decided else Exit.UNDECIDED


def _run_purchase_comparison(
    cluster: Cluster, plan_options: PlanComparisonOptions, common: dict[str, Any], output: str, report: str | None
) -> Exit:
    """Compare planners that buy nodes, as ``run_plan_comparison``."""
    from ..reports import comparison
    from ..verbs.purchases import compare_purchases

    arguments = plan_options.arguments()
    if {"orders", "objective", "quota", "moves", "move_bare", "preempt"} & arguments.keys():
        raise UsageError(
            "planners that buy nodes take the queue as a whole: no --orders, --objective, --quota, --moves or --preempt"
        )
    kept = {name: value for name, value in common.items() if name != "cel_errors"}
    result, _ = run_verb(partial(compare_purchases, cluster, **arguments, **kept))
    document = result.document
    notices = [f"{one.planner}: {said}" for one in document.planners for said in one.notices]
    print_problems(*options.plan_warnings(cluster, notices, existing="" not in cluster.nodes))

    def print_tables(shown: PurchaseComparisonResult, wide: bool = False) -> None:
        print_table(
            comparison.PURCHASE_HEADERS, comparison.purchase_rows(shown.document, shown.seconds), below=True, wide=wide
        )
        print_table(comparison.PURCHASE_NODE_HEADERS, comparison.bought_rows(shown.document), below=True, wide=wide)
        write_stdout_lines([comparison.purchase_summary(shown.document)])

    print_result(result, output, by_width(print_tables), report)
    print_problems(*result.reasons())
    return Exit.DONE if document.decided else Exit.UNDECIDED


def _plan_comparison_warnings(cluster: Cluster, result: PlanComparisonResult) -> list[str]:
    """List fields that no planner supports, and rules that some planners ignore."""
    notices = [notice for one in result.document.planners for notice in one.notices]
    return [
        *options.plan_warnings(cluster, notices, planned=True),
        *options.empty_queue_warnings(result.document.asked),
    ]


def _print_plan_comparison_table(result: PlanComparisonResult, wide: bool = False) -> None:
    from ..reports import comparison

    print_table(*comparison.plan_comparison_table(result.document, result.seconds), wide=wide)
    write_stdout_lines([comparison.plan_comparison_summary(result.document)])
