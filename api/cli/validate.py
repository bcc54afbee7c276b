"""``drasat validate``: what the API server, or drasat, would refuse or warn about."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .output import Exit, write_stdout, write_stdout_lines

if TYPE_CHECKING:
    from ..verbs.validate import ValidationResult


class ValidationFormat(StrEnum):
    """How problems are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def _print_lines(result: ValidationResult) -> None:
    write_stdout_lines(map(str, result.problems))
    write_stdout_lines([f"{result.count('error')} errors, {result.count('warning')} warnings"])


def _print_names(result: ValidationResult) -> None:
    write_stdout_lines(dict.fromkeys(f"{problem.kind.lower()}/{problem.name}" for problem in result.document.problems))


def _print_json(result: ValidationResult) -> None:
    write_stdout(result.to_json())


def _print_yaml(result: ValidationResult) -> None:
    write_stdout(result.to_yaml())


_PRINTERS = {
    ValidationFormat.TABLE: _print_lines,
    ValidationFormat.JSON: _print_json,
    ValidationFormat.YAML: _print_yaml,
    ValidationFormat.NAME: _print_names,
}


def command(
    filename: options.Filenames,
    recursive: options.Recursive = False,
    skip_validation: options.SkipValidation = False,
    feature_gates: options.FeatureGates = "",
    kubernetes_version: options.KubernetesVersion = None,
    output: Annotated[
        ValidationFormat, typer.Option("--output", "-o", help="How problems are printed.")
    ] = ValidationFormat.TABLE,
) -> None:
    """Check manifests as the API server would, all of them in one run. Exit code 2 if anything is refused."""
    from ..verbs.validate import validate

    result = validate(
        *filename,
        recursive=recursive,
        skip_validation=skip_validation,
        feature_gates=options.parse_feature_gates(feature_gates, kubernetes_version),
    )
    _PRINTERS[output](result)
    raise typer.Exit(Exit.DONE if result.valid else Exit.BAD_INPUT)
