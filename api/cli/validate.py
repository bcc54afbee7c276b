"""``drasat validate``: what the API server, or drasat, would refuse or warn about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..models.formats.errors import plural
from ..models.manifests.reader import is_told_as_ignored
from . import options
from .output import Exit, print_result, print_table, write_stdout_lines

if TYPE_CHECKING:
    from ..verbs.validate import ValidationResult


def _print_lines(result: ValidationResult) -> None:
    write_stdout_lines(map(str, result.problems))
    write_stdout_lines(
        f"not read: {one.count} {one.kind} of {one.api_version}"
        for one in result.document.ignored
        if not is_told_as_ignored(one.kind, one.api_version, result.problems)
    )
    write_stdout_lines([f"{plural(result.count('error'), 'error')}, {plural(result.count('warning'), 'warning')}"])


def _print_rows(result: ValidationResult) -> None:
    from ..models.results.common import ValidationProblem

    fields = ValidationProblem.__struct_fields__
    print_table(
        fields, [[getattr(problem, name) for name in fields] for problem in result.document.problems], wide=True
    )


def _print_names(result: ValidationResult) -> None:
    write_stdout_lines(dict.fromkeys(f"{problem.kind.lower()}/{problem.name}" for problem in result.document.problems))


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    output: Annotated[Literal["table", "wide", "json", "yaml", "name"], options.PRINTED_AS] = "table",
) -> None:
    """Check manifests as the API server would.

    All problems of all manifests are listed. Exit codes: 0 valid; 2 something would be refused.
    """
    from ..verbs.validate import validate

    result = validate(
        *filename,
        recursive=recursive,
        skip_validation=skip_validation,
        strict=strict,
        max_input_size=options.check_input_size(max_input_size),
        feature_gates=options.parse_feature_gates(feature_gates, kubernetes_version),
    )
    print_result(result, output, {"table": _print_lines, "wide": _print_rows, "name": _print_names})
    raise typer.Exit(Exit.DONE if result.valid else Exit.BAD_INPUT)
