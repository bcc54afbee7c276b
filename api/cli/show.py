"""``drasat show``: what there is, how much of it is free, and who holds the rest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .options import check_node_name, load_cluster
from .output import (
    Exit,
    by_width,
    check_report,
    print_problems,
    print_result,
    print_table,
    run_verb,
    write_stdout,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..verbs.show import InventoryResult


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Show only this node and devices that it reaches.")
    ] = None,
    device_class: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Show only devices that this DeviceClass matches.")
    ] = None,
    driver: Annotated[
        str | None, typer.Option("--driver", metavar="NAME", help="Show only devices of this driver.")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Show only claims of this namespace, and all devices."),
    ] = None,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    time_limit: options.TimeLimit = "60s",
    report: options.Report = None,
    output: options.Output = "table",
) -> None:
    """Show what there is, how much of it is free, and who holds the rest.

    Device classes, nodes, pools and claims are listed with numbers of devices: free, in use, tainted, and blocked by
    what is in use beside them. With -o wide a tree has every device with its claims and their pods.

    Exit codes: 0 shown; 2 bad input or usage; 3 not everything was decided within the limit.
    """
    from ..verbs.show import show

    check_node_name(node)
    check_report(report)
    gates, seconds = options.parse_feature_gates(feature_gates, kubernetes_version), options.parse_seconds(time_limit)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates, node)
    ask = partial(show, cluster, node=node, device_class=device_class, driver=driver, namespace=namespace)
    result, _ = run_verb(partial(ask, feature_gates=gates, time_limit=seconds))
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    print_result(result, output, _PRINTERS, report)
    raise typer.Exit(Exit.DONE if result.document.complete else Exit.UNDECIDED)


def _print_tables(result: InventoryResult, wide: bool = False) -> None:
    from ..reports import inventory, tables

    document = result.document
    write_stdout_lines([inventory.summary(document)])
    parts = (
        (inventory.CLASS_HEADERS, list(inventory.class_rows(document, wide=wide))),
        (inventory.NODE_HEADERS, list(inventory.node_rows(document, wide=wide))),
        (inventory.POOL_HEADERS, list(inventory.pool_rows(document, wide=wide))),
        inventory.claim_table(document, wide=wide),
    )
    for headers, rows in parts:
        if rows:
            shown = (headers, rows) if wide else inventory.condense(headers, rows)
            print_table(*shown, below=True, wide=wide)
    if wide:
        write_stdout("\n" + tables.format_tree(inventory.inventory_tree(document)))


_PRINTERS = by_width(_print_tables)
