"""``drasat validate``: what the API server, or drasat, would refuse or warn about."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .exits import Exit, write, write_lines

if TYPE_CHECKING:
    from ..results import ValidationResult


class ReportFormat(StrEnum):
    """How problems are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def _lines(result: ValidationResult) -> None:
    write_lines(map(str, result.problems))
    write_lines([f"{result.count('error')} errors, {result.count('warning')} warnings"])


def _names(result: ValidationResult) -> None:
    write_lines(dict.fromkeys(f"{problem.kind.lower()}/{problem.name}" for problem in result.document.problems))


def _json(result: ValidationResult) -> None:
    write(result.to_json())


def _yaml(result: ValidationResult) -> None:
    write(result.to_yaml())


_PRINT = {
    ReportFormat.TABLE: _lines,
    ReportFormat.JSON: _json,
    ReportFormat.YAML: _yaml,
    ReportFormat.NAME: _names,
}


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    skip_validation: options.SkipValidation = False,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    output: Annotated[
        ReportFormat, typer.Option("--output", "-o", help="How problems are printed.")
    ] = ReportFormat.TABLE,
) -> None:
    """Check manifests as the API server would, all of them in one run. Exit code 2 if anything is refused."""
    from ..functions import validate

    result = validate(
        *filename,
        recursive=recursive,
        skip_validation=skip_validation,
        feature_gates=options.gates(feature_gates, kubernetes_version),
    )
    _PRINT[output](result)
    raise typer.Exit(Exit.DONE if result.valid else Exit.BAD_INPUT)
