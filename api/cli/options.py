"""Options that verbs share, with the text of their help."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated

import typer

from .exits import UsageError

Filenames = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="PATH", help="A file, a folder, or - for stdin; may be repeated."),
]
Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Read folders and the folders below them.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Only pods and claims of this namespace.")
]
Selector = Annotated[
    str | None, typer.Option("--selector", "-l", metavar="LABELS", help="Only pods and claims with these labels.")
]
SkipValidation = Annotated[
    bool, typer.Option("--skip-validation", help="Accept names and limits that the API server would refuse.")
]
FeatureGates = Annotated[
    str,
    typer.Option("--feature-gates", metavar="A=true,B=false", help="Upstream gates; also AllAlpha and AllBeta."),
]
KubernetesVersion = Annotated[
    str | None,
    typer.Option("--kubernetes-version", metavar="VERSION", help="Start from the gate defaults of 1.36 or 1.37."),
]


class CelErrors(str, Enum):
    """What a CEL run-time error on a candidate does."""

    KUBE = "kube"
    STRICT = "strict"
    SKIP = "skip"


class Format(str, Enum):
    """How a result is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    MANIFESTS = "manifests"
    NAME = "name"


_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """``30s``, ``1m30s``, ``500ms`` or a plain number of seconds.

    Raises
    ------
    UsageError
        If the text is none of these, or not above zero.
    """
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        total = float(text)
    elif text and _PARTS.sub("", text) == "":
        total = sum(float(number) * _SECONDS[unit] for number, unit in _PARTS.findall(text))
    else:
        raise UsageError(f"--time-limit: {text!r} is not a duration such as 30s or 1m30s")
    if not 0 < total < 1e9:
        raise UsageError(f"--time-limit: {text!r} must be above zero and below 1e9 seconds")
    return total
