"""``drasat snapshot``: a file of a cluster's state, with names replaced if asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .output import UsageError, print_problems, print_table, run_verb

_KEY_VARIABLE = "DRASAT_REDACT_KEY"


def _redaction_key(given: str | None, redact: bool) -> str | None:
    """The key of the option or of the environment; ``@FILE`` is the content of a file. Raises ``UsageError``."""
    if given is not None and not redact:
        raise UsageError("--redact-key needs --redact")
    text = given if given is not None else os.environ.get(_KEY_VARIABLE) if redact else None
    if text is not None and text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            raise UsageError(f"--redact-key: {text[1:]} is no text") from None
    if text is not None and not text:
        raise UsageError("--redact-key: the key is empty")
    return text


def command(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Write to this file, packed if its name ends in .gz.")
    ],
    filename: options.OptionalFilenames = None,
    recursive: options.Recursive = False,
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Use this context of the kubeconfig.")
    ] = None,
    kubeconfig: Annotated[
        str | None, typer.Option("--kubeconfig", metavar="FILE", help="Pass this kubeconfig to kubectl.")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Of kinds in namespaces read only this namespace."),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Replace names, labels, images, environment and annotations; keep all answers."),
    ] = False,
    redact_key: Annotated[
        str | None,
        typer.Option(
            "--redact-key",
            metavar="KEY",
            help=f"Give the same new names whenever this key is used; @FILE reads it from a file, {_KEY_VARIABLE} is "
            "the same in the environment.",
        ),
    ] = None,
    time_limit: options.TimeLimit = "5m",
    max_input_size: options.MaxInputSize = None,
) -> None:
    """Write the state of a cluster to a file that every command reads with -f.

    The cluster is read through kubectl, or files are read with -f. What may not be read is reported. Exit codes: 0
    written; 2 no file: bad usage, kubectl failed, or a kind that every answer needs may not be read; 130 interrupted.
    """
    from ..integrations.snapshot.kubectl import unread_lines
    from ..models.manifests.writer import check_output_file
    from ..verbs.snapshot import snapshot

    key = _redaction_key(redact_key, redact)
    limit = options.parse_seconds(time_limit)
    size = options.check_input_size(max_input_size)
    try:
        check_output_file(output)
    except ValueError as error:
        raise UsageError(f"--output: {error}") from None
    result, _ = run_verb(
        lambda: snapshot(
            *(filename or ()),
            recursive=recursive,
            context=context,
            kubeconfig=kubeconfig,
            namespace=namespace,
            redact=redact,
            redact_key=key,
            time_limit=limit,
            max_input_size=size,
        )
    )
    result.write(output)
    document = result.document
    print_problems(*unread_lines(document.unread), *options.ignored_kinds_line(document.ignored))
    rows = [(one.kind, one.api_version, str(one.objects), one.resource_version or "-") for one in document.kinds]
    print_table(("KIND", "VERSION", "OBJECTS", "RESOURCEVERSION"), rows)
