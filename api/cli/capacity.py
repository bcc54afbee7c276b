"""``drasat capacity``: how many more copies of a claim, a template or a pod fit, and what stops the next."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, printing
from .exits import Exit, UsageError, complain, tell, write, write_lines
from .inputs import check_node, load_cluster, unknown_node

if TYPE_CHECKING:
    from ..capacities import CapacityResult


class ReportFormat(StrEnum):
    """How the room is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def _name(option: str, what: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(option, metavar="[NAMESPACE/]NAME", help=what)
    return info


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    claim: Annotated[str | None, _name("--claim", "Copies of this ResourceClaim.")] = None,
    template: Annotated[str | None, _name("--template", "Claims from this ResourceClaimTemplate.")] = None,
    pod: Annotated[str | None, _name("--pod", "Copies of this pod: all its claims on one node.")] = None,
    node: Annotated[str | None, typer.Option("--node", metavar="NAME", help="Only this node.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="The number of copies on one node at which counting ends.")
    ] = 1000,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    timings: options.Timings = False,
    output: Annotated[ReportFormat, typer.Option("--output", "-o", help="How it is printed.")] = ReportFormat.TABLE,
) -> None:
    """Count how many more copies of a claim, a claim template or a pod fit, with proof, and say what stops the next.

    Exit codes: 0 one more fits at least; 1 none fits; 2 bad input or usage; 3 none was found, and that is not proven.
    """
    from ..capacities import CapacityInterrupted, capacity

    check_node(node)
    gates = options.gates(feature_gates, kubernetes_version)
    seconds = options.seconds(time_limit)
    cluster = load_cluster(filename, recursive=recursive, skip_validation=skip_validation, gates=gates)
    interrupted = False
    try:
        result = capacity(
            cluster,
            claim=claim,
            template=template,
            pod=pod,
            node=node,
            limit=limit,
            feature_gates=gates,
            time_limit=seconds,
            seed=seed,
            timings=timings,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except CapacityInterrupted as interrupt:
        result, interrupted = interrupt.result, True
    complain(*unknown_node(cluster, node), *(f"warning: {notice}" for notice in result.document.notices))
    _PRINT[output](result)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else _exit(result))


def _exit(result: CapacityResult) -> Exit:
    """Whether one more fits is what the code says; how many is in the answer, and whether that is proven."""
    if result.unbounded or result.fits:
        return Exit.DONE
    return Exit.NO if result.proven else Exit.UNDECIDED


def _table(result: CapacityResult) -> None:
    from ..reports import capacity, lines, tables

    write(tables.table(capacity.HEADERS, list(capacity.rows(result.document))))
    write_lines([capacity.summary(result.document)])
    tell(*lines.timings(result.document))


def _wide(result: CapacityResult) -> None:
    from ..reports import capacity

    _table(result)
    write_lines(capacity.proofs(result.document))


_PRINT: dict[ReportFormat, Callable[[CapacityResult], None]] = {
    ReportFormat.TABLE: _table,
    ReportFormat.WIDE: _wide,
    ReportFormat.JSON: printing.json,
    ReportFormat.YAML: printing.yaml,
}
