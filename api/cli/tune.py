"""``drasat tune``: orders of devices, slices and alternatives with which kube-scheduler's first fit loses least."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .options import load_cluster
from .output import (
    Exit,
    by_width,
    check_report,
    print_manifests,
    print_problems,
    print_result,
    print_stderr,
    print_table,
    run_verb,
)
from .output import write_stdout_lines as write_lines

if TYPE_CHECKING:
    from ..verbs.tune import TuneResult

Orders = Annotated[
    str,
    typer.Option(
        "--orders",
        metavar="A,B",
        help="Let these be listed in another order: devices of slices, slices of pools, alternatives of requests.",
    ),
]
Arrivals = Annotated[
    int, typer.Option("--arrivals", metavar="N", help="Let the queue arrive in N orders: as read, then at random.")
]
Trials = Annotated[int, typer.Option("--trials", metavar="N", help="Simulate at most N orders.")]
Confirm = Annotated[
    bool, typer.Option("--confirm", help="Let the real allocator place the queue before and after, too.")
]


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    orders: Orders = "devices,slices,alternatives",
    arrivals: Arrivals = 3,
    trials: Trials = 300,
    confirm: Confirm = False,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    cel_errors: options.CelErrorPolicy = "kube",
    time_limit: options.TimeLimit = "60s",
    seed: options.Seed = 0,
    report: options.Report = None,
    output: options.ManifestOutput = "table",
) -> None:
    """Find orders of devices, slices and alternatives with which kube-scheduler's first fit loses least.

    The table has the lists whose order changes. What first fit places before and after stands beside the most that
    anybody can place. -o manifests prints the slices, claims and templates in the new order.

    Exit codes: 0 done; 1 the real allocator places less with the new orders; 2 bad input or usage; 3 the time limit
    ended the search.
    """
    from ..verbs.tune import tune

    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates)
    ask = partial(tune, cluster, orders=[name.strip() for name in orders.split(",")], arrivals=arrivals, trials=trials)
    ask = partial(ask, namespace=namespace, selector=selector, feature_gates=gates, cel_errors=cel_errors)
    limit = options.parse_seconds(time_limit)
    result, _ = run_verb(partial(ask, time_limit=limit, seed=seed, confirm=confirm))
    document = result.document
    print_problems(*options.plan_warnings(cluster, document.notices), *options.empty_queue_warnings(document.asked))
    print_result(result, output, _PRINTERS, report)
    own = document.confirmed or None
    worse = own is not None and sum(own.after) < sum(own.before)
    raise typer.Exit(Exit.NO if worse else Exit.DONE if document.decided and document.after else Exit.UNDECIDED)


def _print_orders(result: TuneResult, wide: bool = False) -> None:
    from ..reports import comparison

    if result.orders:
        print_table(comparison.TUNE_HEADERS, comparison.tune_rows(result.document, wide=wide), wide=wide)
    write_lines(["", result.summary()] if result.orders else [result.summary()])
    print_stderr(*result.reasons())


_PRINTERS = {**by_width(_print_orders), "manifests": print_manifests}
