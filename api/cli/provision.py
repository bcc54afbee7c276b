"""``drasat provision``: the requests that Kueue makes for an autoscaler, and what becomes of its workloads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

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
    print_table,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..verbs.provision import ProvisionResult


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    events: Annotated[
        str | None,
        typer.Option(
            "--events", metavar="PATH", help="Let the events of this file happen (YAML or JSON lines; - for stdin)."
        ),
    ] = None,
    quota: Annotated[
        Literal["kueue", "free", "events"] | None,
        typer.Option(
            "--quota",
            help="Give quota as Kueue's scheduler does, to all workloads that wait (free), or to those that an event "
            "names. [default: events if one gives quota, else kueue]",
        ),
    ] = None,
    backoff: Annotated[
        Literal["as-coded", "intended"],
        typer.Option("--backoff", help="Count the wait before a retry as Kueue does, or as its design says."),
    ] = "as-coded",
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Answer the requests as an autoscaler that sees devices, and let time go on."),
    ] = False,
    joint: Annotated[
        bool, typer.Option("--joint", help="With --answers: as many requests as possible, proven, not in their order.")
    ] = False,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", metavar="NAME=KIND", help="With --answers: a class is answered as check-capacity or scale-up."
        ),
    ] = None,
    provisioning_time: Annotated[
        str,
        typer.Option("--provisioning-time", metavar="DURATION", help="With --answers: until a bought node is there."),
    ] = "5m",
    seed: options.Seed = 0,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    time_limit: options.TimeLimit = "60s",
    report: options.Report = None,
    output: Annotated[Literal["table", "wide", "json", "yaml", "manifests"], options.PRINTED_AS] = "table",
) -> None:
    """Make the ProvisioningRequests that Kueue makes, and follow what becomes of them.

    Workloads with quota whose queue has a provisioning check get requests and PodTemplates: -o manifests prints them,
    ready for kubectl. With --events a timeline shows what the autoscaler's answers, preemptions and changes lead to:
    states of checks, retries, back-offs, evictions. With -o wide it has the texts of Kueue's events.

    --answers places each request whole or not at all, with claims for devices: on nodes that are there, or also on
    nodes bought from NodeTemplates. The timeline ends when nothing more happens by itself. -o manifests has the
    conditions.

    Exit codes: 0 done; 2 bad input or usage; 3 not all events happened, or requests are undecided, within the limit.
    """
    from ..verbs.provision import provision

    check_report(report)
    gates = options.parse_feature_gates(feature_gates, kubernetes_version)
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size)
    cluster = load_cluster(filename, reading, gates)
    ask = partial(provision, cluster, events=events, quota=quota, backoff=backoff, max_input_size=max_input_size)
    ask = partial(ask, answers=answers, joint=joint, classes=classes or (), seed=seed)
    duration = int(provisioning_time) if provisioning_time.isdecimal() else provisioning_time
    ask = partial(ask, provisioning_time=duration)
    result, _ = run_verb(partial(ask, time_limit=options.parse_seconds(time_limit)))
    print_problems(*(f"warning: {line}" for line in result.reasons()))
    print_result(result, output, _PRINTERS, report)
    raise typer.Exit(Exit.DONE if result.document.complete else Exit.UNDECIDED)


def _print_tables(result: ProvisionResult, wide: bool = False) -> None:
    from ..reports import provision

    document = result.document
    write_stdout_lines([provision.summary(document)])
    parts = (
        (provision.TIMELINE_HEADERS, provision.timeline_rows(document)),
        *([(provision.EVENT_HEADERS, provision.event_rows(document))] if wide else []),
        (provision.REQUEST_HEADERS, provision.request_rows(document)),
        (provision.ANSWER_HEADERS, provision.answer_rows(document)),
        (provision.WORKLOAD_HEADERS, provision.workload_rows(document)),
    )
    for headers, rows in parts:
        if listed := list(rows):
            print_table(headers, listed, below=True, wide=wide)


_PRINTERS = {**by_width(_print_tables), "manifests": print_manifests}
