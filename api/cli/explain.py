"""``drasat explain``: why claims cannot be allocated, and the smallest changes with which they could."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, printing
from .exits import Exit, UsageError, complain, tell, write_lines
from .inputs import OUTCOMES, check_node, load_cluster, unknown_node

if TYPE_CHECKING:
    from ..explaining import ExplanationResult


class ReportFormat(StrEnum):
    """How an explanation is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    node: options.Node = None,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    cel_errors: options.CelErrorPolicy = options.CelErrors.STRICT,
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    timings: options.Timings = False,
    output: Annotated[ReportFormat, typer.Option("--output", "-o", help="How it is printed.")] = ReportFormat.TABLE,
) -> None:
    """Say why claims cannot be allocated: a minimal set of reasons by kind of node, and what would help.

    Exit codes: 0 everything fits; 1 something does not; 2 bad input or usage; 3 undecided within the limit.
    """
    from ..explaining import ExplanationInterrupted, explain

    check_node(node)
    gates = options.gates(feature_gates, kubernetes_version)
    limit = options.seconds(time_limit)
    cluster = load_cluster(filename, recursive=recursive, skip_validation=skip_validation, gates=gates)
    interrupted = False
    try:
        result = explain(
            cluster,
            node=node,
            namespace=namespace,
            selector=selector,
            feature_gates=gates,
            cel_errors=cel_errors.value,
            time_limit=limit,
            seed=seed,
            timings=timings,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except ExplanationInterrupted as interrupt:
        result, interrupted = interrupt.result, True
    complain(*unknown_node(cluster, node), *(f"warning: {notice}" for notice in result.document.notices))
    if not result.units:
        complain("warning: nothing to explain: no pod or claim that was asked about is without an allocation")
    _PRINT[output](result)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else OUTCOMES[result.outcome])


def _text(result: ExplanationResult) -> None:
    from ..reports import explanation, lines

    write_lines(explanation.lines(result.document))
    tell(*lines.timings(result.document))


_PRINT: dict[ReportFormat, Callable[[ExplanationResult], None]] = {
    ReportFormat.TABLE: _text,
    ReportFormat.JSON: printing.json,
    ReportFormat.YAML: printing.yaml,
}
