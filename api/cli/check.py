"""``drasat check``: whether a result document holds, by the manifests alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .output import Exit, by_width, print_problems, print_result, print_table, run_verb, write_stdout_lines

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.manifests.sources import InputSource
    from ..verbs.check import CheckResult


def command(
    document: Annotated[
        str, typer.Argument(metavar="RESULT", help="The document, as JSON or YAML, of -o json; - is stdin.")
    ],
    filename: options.Filenames,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    selector: options.Selector = "",
    node: options.Node = None,
    natural_gangs: options.NaturalGangs = False,
    instance_types: options.InstanceTypes = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Decide every no without a witness anew, by the verifier's own formulation.")
    ] = False,
    skip_validation: options.SkipValidation = False,
    max_input_size: options.MaxInputSize = None,
    time_limit: options.TimeLimit = "5m",
    output: options.Output = "table",
) -> None:
    """Check a result document against the manifests, line by line.

    Nothing of what made the document is used: placements are replayed by the rules of the verifier, witnesses of a no
    are derived from the manifests, and sums are added up. A line holds, fails, or cannot be checked from the document.
    Options that narrowed the question must be given again.

    Exit codes: 0 all that can be checked holds; 1 something does not; 2 bad input or usage; 130 interrupted.
    """
    from ..verbs.check import check

    limit = options.parse_seconds(time_limit)
    size = options.check_input_size(max_input_size)
    cluster = _load(filename, recursive, skip_validation, size, instance_types or ())
    ask = partial(check, document, cluster, node=node, namespace=namespace, selector=selector, audit=audit)
    ask = partial(ask, natural_gangs=natural_gangs, time_limit=limit, max_input_size=size)
    result, interrupted = run_verb(ask)
    print_result(result, output, by_width(_print_lines))
    raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.DONE if result.holds else Exit.NO)


def _load(
    paths: Sequence[str], recursive: bool, skip_validation: bool, size: int | None, instance_types: Sequence[str]
) -> Cluster:
    """Read and validate the input with the rules of the API server alone: what compiles questions is not loaded."""
    from ..models.cluster.cluster import Cluster
    from ..models.formats.errors import InputError, has_errors, merge_warnings
    from ..models.kubernetes.gates import FeatureGates
    from ..models.manifests.reader import read_manifests
    from ..models.validation.validate import object_checks, validate_manifests

    sources: list[InputSource] = [*paths, *map(options.kwok_types, instance_types)]
    checks = object_checks(FeatureGates.all_on(), skip_validation)
    manifests, found, ignored = read_manifests(sources, recursive, max_input_size=size, checks=checks)
    found += validate_manifests(manifests, FeatureGates.all_on(), skip_validation, found, checks.good)
    if has_errors(found):
        raise InputError(found)
    print_problems(*map(str, merge_warnings(found)), *options.ignored_kinds_line(ignored))
    return Cluster.build(manifests)


def _print_lines(result: CheckResult, wide: bool = False) -> None:
    rows = [(one.about, one.said, one.verdict, one.reason) for one in result.lines]
    print_table(("ABOUT", "SAID", "VERDICT", "REASON"), rows, wide=wide)
    left = [f"not checked: {one}" for one in result.document.not_checked]
    left += [f"not read: {', '.join(result.document.not_read)}"] if wide and result.document.not_read else []
    write_stdout_lines(["", *left, result.summary()])
