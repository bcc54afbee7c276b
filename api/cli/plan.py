"""``drasat plan``: what waits on the nodes there are, or on nodes to be bought, as good as can be, with bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, printing
from .exits import Exit, UsageError, complain, tell, write, write_lines
from .inputs import load_cluster
from .watching import watching_plan

if TYPE_CHECKING:
    from ..models.cluster import Cluster
    from ..plans import PlanResult

Objective = Annotated[
    str,
    typer.Option(
        "--objective",
        metavar="A,B",
        help="Stages, the most important first: priority, admitted[=count|devices|capacity:NAME|annotation:KEY], "
        "cost, fewest-nodes, spread, preference, soft, fragmentation, compact. "
        "[default: priority,admitted; with --buy also cost]",
    ),
]
Gap = Annotated[
    str, typer.Option("--gap", metavar="PART", help="How close to its bound a stage counts as proven, 0.1% or 0.001.")
]
Buy = Annotated[bool, typer.Option("--buy", help="Find the cheapest nodes of NodeTemplates with which all fits.")]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="With --buy: the nodes that there are do not count.")]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="N", help="With --buy: the best that may cost so much at most.")
]
Mix = Annotated[
    list[str] | None,
    typer.Option("--mix", metavar="PATH", help="Manifests of what fragmentation leaves room for. [default: the queue]"),
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, help="So many threads; the plan is the same with any number.")
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
    mix: Mix = None,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    cel_errors: options.CelErrorPolicy = options.CelErrors.STRICT,
    time_limit: options.TimeLimit = "300s",
    seed: options.Seed = 0,
    workers: Workers = 1,
    timings: options.Timings = False,
    output: options.Output = options.Format.TABLE,
) -> None:
    """Plan all pods, jobs and claims that wait at once: on which nodes, with which devices, and how good that is.

    Exit codes: 0 all placed; 1 some are not, and nothing better exists within the gap; 2 bad input or usage; 3 some are
    not, and that is not proven; 130 interrupted.
    """
    from ..plans import PlanInterrupted, plan
    from ..solver.load import load_all

    if not buy and (only_new or budget is not None):
        raise UsageError("--only-new and --budget need --buy")
    gates = options.gates(feature_gates, kubernetes_version)
    limit, part = options.seconds(time_limit), options.part(gap)
    cluster = load_cluster(filename, recursive=recursive, skip_validation=skip_validation, gates=gates)
    # What its units ask for is in the input proper, so that warnings about what is missing would mislead.
    target = load_all(mix, recursive=recursive, skip_validation=skip_validation, gates=gates).cluster if mix else None
    interrupted = False
    try:
        with _pool(workers) as executor:
            result = plan(
                cluster,
                objective=objective,
                gap=part,
                namespace=namespace,
                selector=selector,
                feature_gates=gates,
                cel_errors=cel_errors.value,
                time_limit=limit,
                seed=seed,
                buy=buy,
                only_new=only_new,
                budget=budget,
                mix=target,
                executor=executor,
                timings=timings,
                watch=watching_plan(),
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except PlanInterrupted as interrupt:
        result, interrupted = interrupt.result, True
    complain(*_doubts(cluster, result, only_new, cel_errors))
    _PRINT[output](result)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else _exit(result))


@contextmanager
def _pool(workers: int) -> Iterator[Executor | None]:
    """Threads for parts of the work; the solver lets others run beside it. What has not begun by the end is dropped."""
    if workers == 1:
        yield None
        return
    executor = ThreadPoolExecutor(workers)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _doubts(cluster: Cluster, result: PlanResult, only_new: bool, cel_errors: options.CelErrors) -> Iterator[str]:
    """What the plan takes no notice of, what is unknown of nodes that count, and what is hardly meant."""
    from ..models.running_pods import room_warnings
    from ..models.unhonoured import unhonoured

    rooms = () if only_new else room_warnings(cluster)
    found = (*unhonoured(cluster), *rooms, *result.document.notices)
    yield from (f"warning: {line}" for line in dict.fromkeys(found))
    if result.document.cel_errors != cel_errors.value:
        told = f"--cel-errors {cel_errors.value} means {result.document.cel_errors}"
        yield f"warning: a plan visits devices in no order: {told}"
    if not result.document.asked:
        yield "warning: nothing to plan: no pod, controller or claim that was asked about waits"


def _exit(result: PlanResult) -> Exit:
    """Whether all is placed is what the code says first; then whether it is proven that no better plan exists."""
    if result.placed == result.document.asked:
        return Exit.DONE
    return Exit.NO if result.outcome in ("Optimal", "Infeasible") else Exit.UNDECIDED


def _table(result: PlanResult) -> None:
    from ..reports import plan, tables

    write(tables.table(plan.HEADERS, plan.cells(plan.rows(result.document))))
    _conclude(result)


def _wide(result: PlanResult) -> None:
    from ..reports import plan, tables

    write(tables.table(plan.UNIT_HEADERS, plan.cells(plan.unit_rows(result.document))))
    write("\n" + tables.table(plan.NODE_HEADERS, plan.cells(plan.node_rows(result.document))))
    _conclude(result)


def _conclude(result: PlanResult) -> None:
    """What must be bought and a summary end the tables; how good and why not is told beside them."""
    from ..reports import plan, tables

    if result.document.bought:
        write("\n" + tables.table(plan.BOUGHT_HEADERS, plan.cells(plan.bought_rows(result.document))))
    write_lines(["", plan.summary(result.document)])
    _say_why(result)


def _say_why(result: PlanResult) -> None:
    from ..reports import lines, plan

    tell(*plan.stages(result.document), *plan.reasons(result.document), *lines.timings(result.document))


def _manifests(result: PlanResult) -> None:
    printing.manifests(result)
    _say_why(result)


_PRINT: dict[options.Format, Callable[[PlanResult], None]] = {
    options.Format.TABLE: _table,
    options.Format.WIDE: _wide,
    options.Format.JSON: printing.json,
    options.Format.YAML: printing.yaml,
    options.Format.MANIFESTS: _manifests,
    options.Format.NAME: printing.names,
}
