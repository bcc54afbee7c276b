"""``drasat topology``: devices in their places, free ones, and the largest shape that still fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options
from .options import EXIT_BY_OUTCOME, check_node_name, load_cluster
from .output import Exit, UsageError, print_result, print_stderr, print_table, write_stdout

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.gates import FeatureGates
    from ..verbs.allocate import AllocationResult
    from ..verbs.topology import TopologyResult


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    name: Annotated[
        list[str] | None, typer.Option("--name", metavar="NAME", help="List only this DeviceTopology; may be repeated.")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="NAME", help="List only instances with devices that this node reaches."),
    ] = None,
    allocate: Annotated[
        bool, typer.Option("--allocate", help="Allocate open claims first, and show their devices as chosen.")
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw a picture into this .png or .svg file (needs the extra report)."
        ),
    ] = None,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    time_limit: options.TimeLimit = "60s",
    objective: options.Objective = "",
    output: Annotated[Literal["table", "wide", "json", "yaml", "dot"], options.PRINTED_AS] = "table",
) -> None:
    """List device topologies and the largest free shape of each.

    Devices are shown in their places, used or free.

    Exit codes: 0 listed; 2 bad input or usage; with --allocate also those of allocate.
    """
    check_node_name(node)
    if objective and not allocate:
        raise UsageError("--objective needs --allocate")
    gates, seconds = options.parse_feature_gates(feature_gates, kubernetes_version), options.parse_seconds(time_limit)
    try:
        if plot is not None:
            from ..reports.plots import check_plot_path

            check_plot_path(Path(plot))
        reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
        cluster = load_cluster(filename, reading, gates, node)
        got, code = _allocate_open_claims(cluster, node, gates, seconds, objective) if allocate else (None, Exit.DONE)
        result = _survey(cluster, name or [], node, gates, got)
        if plot is not None:
            result.plot(plot)
    except ValueError as error:
        raise UsageError(str(error)) from None
    print_result(result, output, _PRINTERS)
    raise typer.Exit(code)


def _allocate_open_claims(
    cluster: Cluster, node: str | None, gates: FeatureGates, seconds: float, objective: str
) -> tuple[AllocationResult, Exit]:
    """Allocate open claims; return the result, after Ctrl-C the one by then, and the exit code."""
    from ..verbs.allocate import AllocationInterrupted, allocate

    try:
        result = allocate(cluster, node=node, feature_gates=gates, time_limit=seconds, objective=objective)
    except AllocationInterrupted as interrupt:
        return interrupt.result, Exit.INTERRUPTED
    return result, EXIT_BY_OUTCOME[result.outcome]


def _survey(
    cluster: Cluster, names: list[str], node: str | None, gates: FeatureGates, got: AllocationResult | None
) -> TopologyResult:
    from ..verbs.topology import topology

    return topology(cluster, names=names, node=node, chosen=() if got is None else got, feature_gates=gates)


def _print_table(result: TopologyResult, wide: bool = False) -> None:
    from ..reports import topology

    print_table(topology.headers(result.document), topology.rows(result.document), wide=wide)
    print_stderr(*topology.remarks(result.document))


def _print_wide(result: TopologyResult) -> None:
    from ..reports import topology

    _print_table(result, wide=True)
    print_table(topology.DEVICE_HEADERS, topology.wide_rows(result.document), below=True, wide=True)


_PRINTERS: dict[str, Callable[[TopologyResult], None]] = {
    "table": _print_table,
    "wide": _print_wide,
    "dot": lambda result: write_stdout(result.to_dot()),
}
