"""``drasat overlay``: what Karpenter's NodeOverlays come to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import typer

from . import options
from .options import load_cluster
from .output import (
    Exit,
    by_width,
    print_manifests,
    print_problems,
    print_result,
    print_table,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..verbs.overlay import OverlayResult


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    feature_gates: options.FeatureGates = "",
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    instance_types: options.InstanceTypes = None,
    output: options.ManifestOutput = "table",
) -> None:
    """Apply NodeOverlays to the instance types of each NodePool, as Karpenter does.

    The table has the overlays, and the prices, resources and devices that they set. With -o wide it has all offerings
    and devices. -o manifests prints the overlays with their status.

    Exit codes: 0 all overlays count; 1 some do not; 2 bad input or usage.
    """
    from ..verbs.overlay import overlay

    gates = options.parse_feature_gates(feature_gates, None)
    cluster = load_cluster(
        filename, options.InputOptions(recursive, skip_validation, strict, max_input_size, instance_types or ()), gates
    )
    result, _ = run_verb(partial(overlay, cluster, feature_gates=gates))
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    print_result(result, output, _PRINTERS)
    raise typer.Exit(Exit.DONE if all(one.ready for one in result.overlays) else Exit.NO)


def _print_tables(result: OverlayResult, wide: bool = False) -> None:
    from ..reports import overlay

    write_stdout_lines([overlay.summary(result.document)])
    for headers, rows in overlay.tables(result.document, wide=wide):
        print_table(headers, rows, below=True, wide=wide)


_PRINTERS = {**by_width(_print_tables), "manifests": print_manifests}
