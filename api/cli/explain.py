"""``drasat explain``: why claims cannot be allocated, and the smallest changes with which they could."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, output
from .options import EXIT_BY_OUTCOME, check_node_name, load_cluster, unknown_node_warnings
from .output import Exit, UsageError, print_problems, print_stderr, write_stdout_lines

if TYPE_CHECKING:
    from ..verbs.explain import ExplanationResult


class ExplanationFormat(StrEnum):
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
    output: Annotated[
        ExplanationFormat, typer.Option("--output", "-o", help="How it is printed.")
    ] = ExplanationFormat.TABLE,
) -> None:
    """Say why claims cannot be allocated: a minimal set of reasons by kind of node, and what would help.

    Exit codes: 0 everything fits; 1 something does not; 2 bad input or usage; 3 undecided within the limit.
    """
    from ..verbs.explain import ExplanationInterrupted, explain

    check_node_name(node)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    limit = options.parse_seconds(time_limit)
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
    print_problems(*unknown_node_warnings(cluster, node), *(f"warning: {notice}" for notice in result.document.notices))
    if not result.units:
        print_problems("warning: nothing to explain: no pod or claim that was asked about is without an allocation")
    _PRINTERS[output](result)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else EXIT_BY_OUTCOME[result.outcome])


def _print_text(result: ExplanationResult) -> None:
    from ..reports import explanation, tables

    write_stdout_lines(explanation.lines(result.document))
    print_stderr(*tables.timing_lines(result.document))


_PRINTERS: dict[ExplanationFormat, Callable[[ExplanationResult], None]] = {
    ExplanationFormat.TABLE: _print_text,
    ExplanationFormat.JSON: output.print_json,
    ExplanationFormat.YAML: output.print_yaml,
}
