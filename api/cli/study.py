"""``drasat study``: many variants of one question."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .options import load_cluster
from .output import (
    Exit,
    UsageError,
    check_report,
    print_problems,
    print_result,
    print_stderr,
    print_table,
    progress_line,
    run_verb,
    write_stdout_lines,
)

if TYPE_CHECKING:
    from ..verbs.study import StudyResult

_FORMATS = ("table", "wide", "json", "yaml")


def command(
    filename: options.Filenames,
    study: Annotated[str, typer.Option("--study", metavar="FILE", help="Compute the variants of this study.")],
    recursive: options.Recursive = False,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Compute in this many processes of this machine.")
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler, such as tcp://HOST:8786."
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            help="Keep finished variants here, and do not compute again what is there. "
            "[default: FILE.variants beside the file of -o]",
        ),
    ] = None,
    skip_validation: options.SkipValidation = False,
    strict: options.Strict = False,
    max_input_size: options.MaxInputSize = None,
    instance_types: options.InstanceTypes = None,
    timings: options.Timings = False,
    report: options.Report = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FORMAT",
            help="Write the table into this .parquet or .csv file, or the document into this .json file; or print the "
            "result as table, wide, json or yaml.",
        ),
    ] = "table",
) -> None:
    """Ask one question in many variants, and reduce each answer to named figures.

    A study file lists variants: of the queue, the nodes, gates, objectives, seeds, mixes, budgets, planners, orders.
    Finished variants are kept beside the output file, and a study that was ended goes on where it was.

    Exit codes: 0 all variants have figures; 1 some failed; 2 bad input or usage; 130 interrupted.
    """
    from ..models.kubernetes.gates import FeatureGates
    from ..verbs.study import study as ask

    file = None if output in _FORMATS else _output_file(output, study)
    check_report(report)
    if study == "-" and "-" in filename:
        raise UsageError("--study and --filename cannot both be stdin")
    reading = options.InputOptions(recursive, skip_validation, strict, max_input_size, instance_types or ())
    cluster = load_cluster(filename, reading, FeatureGates.all_on())
    if keep == "":
        raise UsageError("--keep: a path is empty")
    if keep is None and file is not None:
        keep = f"{file}.variants"
    line = progress_line()
    asked = partial(ask, cluster, study, keep=keep, workers=workers, dask=dask, timings=timings)
    result, interrupted = run_verb(partial(asked, watch=line and line.report_study))
    if result.kept:
        print_stderr(f"{result.kept} of {len(result.variants)} variants were there already: {keep}")
    print_problems(*(f"warning: {notice}" for notice in result.document.notices))
    if file is not None and interrupted:
        print_stderr(f"interrupted: {file} is not written; {keep} keeps what is finished")
    elif file is not None:
        result.write(file, timings=timings)
    print_result(result, output if file is None else "table", {"table": _print_table, "wide": _print_wide}, report)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(Exit.NO if result.failed else Exit.DONE)


def _output_file(path: str, study: str) -> Path:
    """Refuse a file that cannot be written, or is the study, before anything is computed. Raises ``UsageError``."""
    from ..reports.study import check_study_path

    if Path(path).resolve() == Path(study).resolve():
        raise UsageError(f"--output: {path} is the study itself")
    try:
        check_study_path(Path(path))
    except ValueError as error:
        raise UsageError(f"--output: {error}; or print it as {', '.join(_FORMATS)}") from None
    return Path(path)


def _print_table(result: StudyResult, wide: bool = False) -> None:
    from ..reports import study

    headers, cells = study.table_cells(result.document, wide=wide)
    print_table(headers, cells, wide=wide)
    write_stdout_lines([study.summary(result.document)])
    print_stderr(*(line for line in study.reasons(result.document) if line not in result.document.notices))


def _print_wide(result: StudyResult) -> None:
    _print_table(result, wide=True)
