"""``drasat allocate``: which devices each claim gets, on which node, and if none: why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, printing
from .exits import Exit, UsageError, complain, tell, write
from .inputs import OUTCOMES, check_node, load_cluster, unknown_node
from .watching import watching

if TYPE_CHECKING:
    from ..models.cluster import Cluster
    from ..results import AllocationResult


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
    cel_errors: Annotated[
        options.CelErrors | None,
        typer.Option(
            help="What a CEL run-time error on a candidate does. [default: strict; engine kube-scheduler: kube]"
        ),
    ] = None,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    objective: options.Objective = "",
    cel_road: Annotated[
        options.CelRoad, typer.Option(help="How the solver takes expressions over devices.")
    ] = options.CelRoad.AUTO,
    timings: options.Timings = False,
    output: options.Output = options.Format.TABLE,
) -> None:
    """Allocate the claims that have no allocation: those of pods, and loose ones."""
    from ..functions import allocate
    from ..results import AllocationInterrupted

    check_node(node)
    gates = options.gates(feature_gates, kubernetes_version)
    limit = options.seconds(time_limit)
    cluster = load_cluster(filename, recursive=recursive, skip_validation=skip_validation, gates=gates)
    complain(*_order(engine, cel_errors))
    interrupted = False
    try:
        result = allocate(
            cluster,
            node=node,
            namespace=namespace,
            selector=selector,
            engine=engine,
            feature_gates=gates,
            cel_errors=cel_errors.value if cel_errors else None,
            time_limit=limit,
            seed=seed,
            objective=objective,
            cel_road=cel_road.value,
            timings=timings,
            watch=watching(),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except AllocationInterrupted as interrupt:
        result, interrupted = interrupt.result, True
    complain(*_doubts(cluster, result, node, namespace, selector))
    complain(*(f"warning: {notice}" for notice in result.document.notices))
    _PRINT[output](result)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else OUTCOMES[result.outcome])


def _order(engine: str, cel_errors: options.CelErrors | None) -> Iterator[str]:
    """Say that an error cannot be met in order by an engine that has none."""
    from ..solver.engines import effective_policy

    if cel_errors is options.CelErrors.KUBE and effective_policy(engine, cel_errors.value) != cel_errors.value:
        yield f"warning: engine {engine} visits devices in no order: --cel-errors kube means strict"


def _doubts(
    cluster: Cluster, result: AllocationResult, node: str | None, namespace: str | None, selector: str
) -> Iterator[str]:
    """What is no error but hardly meant: names that match nothing, claims that nobody asks for."""
    from ..models.units import left_over

    yield from unknown_node(cluster, node)
    for claim in () if selector else left_over(cluster, namespace):
        pods = "pods that are finished or being deleted"
        yield f"warning: claim {'/'.join(claim)} is named only by {pods}: not asked for"
    makers = {
        "Job": cluster.jobs,
        "Deployment": cluster.deployments,
        "StatefulSet": cluster.stateful_sets,
        "ReplicaSet": cluster.replica_sets,
    }
    there = ", ".join(f"{len(objects)} {kind}" for kind, objects in makers.items() if objects)
    if there:
        yield f"warning: pods that are still to be made are not asked about ({there}): drasat plan takes them"
    if not result.units:
        yield "warning: nothing to allocate: no pod or claim that was asked about is without an allocation"


def _table(result: AllocationResult) -> None:
    from ..reports import allocation, tables

    write(tables.table(allocation.HEADERS, list(allocation.rows(result.document))))
    _say_why(result)


def _wide(result: AllocationResult) -> None:
    from ..reports import allocation, tables

    write(tables.table(allocation.WIDE_HEADERS, list(allocation.wide_rows(result.document))))
    _say_why(result)


def _say_why(result: AllocationResult) -> None:
    """Stages of an objective go to stderr, soft entries, then reasons, and the wall times after them."""
    from ..reports import allocation, lines

    tell(*allocation.stages(result.document))
    tell(*allocation.soft_entries(result.document))
    tell(*allocation.reasons(result.document))
    tell(*lines.timings(result.document))


def _manifests(result: AllocationResult) -> None:
    printing.manifests(result)
    _say_why(result)


_PRINT: dict[options.Format, Callable[[AllocationResult], None]] = {
    options.Format.TABLE: _table,
    options.Format.WIDE: _wide,
    options.Format.JSON: printing.json,
    options.Format.YAML: printing.yaml,
    options.Format.MANIFESTS: _manifests,
    options.Format.NAME: printing.names,
}
