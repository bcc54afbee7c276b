"""Options that commands share, with their help and their parsers, and the reading of the input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..models.formats.errors import plural
from .output import Exit, UsageError, print_problems

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.gates import FeatureGates as FeatureGateSet
    from ..solver.allocate.load import LoadedCluster

Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Read folders and the folders below them.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Take only pods and claims of this namespace.")
]
InstanceTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--instance-types",
        metavar="FILE",
        help="Add the instance types of this JSON file of Karpenter's kwok provider; may be repeated.",
    ),
]
Selector = Annotated[
    str, typer.Option("--selector", "-l", metavar="LABELS", help="Take only pods and claims with these labels.")
]
SkipValidation = Annotated[
    bool, typer.Option("--skip-validation", help="Accept names and limits that the API server would refuse.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse fields that their kind does not have, and kinds that are misspelt.")
]
MaxInputSize = Annotated[
    str | None,
    typer.Option(
        "--max-input-size",
        metavar="SIZE",
        help="Read no more than this, after unpacking, e.g. 2Gi. "
        "[default: 512Mi; of a packed file 64Mi, or 200 times its size]",
    ),
]
Node = Annotated[
    str | None,
    typer.Option(
        "--node", metavar="NAME", help="Use only this node; all loose claims then count as the claims of one pod."
    ),
]
FeatureGates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        metavar="A=true,B=false",
        help="Switch upstream feature gates, or the groups AllAlpha and AllBeta.",
    ),
]
KubernetesVersion = Annotated[
    str | None,
    typer.Option(
        "--kubernetes-version", metavar="VERSION", help="Start from the gate defaults of this release, 1.36 or 1.37."
    ),
]


def complete_list(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes the last of several names with commas between them, each of which stands there once."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last) and name not in taken]

    return complete


def engine_names() -> Iterable[str]:
    """The engines that ``--engine`` takes."""
    from ..solver.engines.registry import ENGINES

    return ENGINES


def _allocation_stages() -> Iterable[str]:
    from ..encoders.objectives.stages import STAGES

    return STAGES


def plan_stages() -> Iterable[str]:
    """The stages of a plan; capacities and annotations have any names."""
    from ..solver.plan.build.objectives import STAGE_NAMES

    return (*STAGE_NAMES, "admitted=devices", "admitted=capacity:", "admitted=annotation:")


CelErrors = Literal["kube", "strict", "skip"]
Format = Literal["table", "wide", "json", "yaml"]
ManifestFormat = Literal["table", "wide", "json", "yaml", "manifests"]
ClaimFormat = Literal["table", "wide", "json", "yaml", "manifests", "name"]
PlanFormat = Literal["table", "wide", "json", "yaml", "manifests", "name", "commands"]
PRINTED_AS = typer.Option("--output", "-o", help="Print the result in this format.")
Filename = typer.Option(
    "--filename", "-f", metavar="PATH", help="Read this file or folder, or stdin for -; may be repeated."
)
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        autocompletion=complete_list(engine_names),
        help="Search with auto, cp-sat, backtracking or kube-scheduler (the real allocator).",
    ),
]
CEL_ERRORS_HELP = (
    "Treat a CEL expression that fails on a device as the scheduler does (kube: the allocation fails), "
    "never use the device (strict: if nothing else fits, the outcome is Error), or skip the device."
)
CelErrorPolicy = Annotated[CelErrors, typer.Option("--cel-errors", help=CEL_ERRORS_HELP)]
TimeLimit = Annotated[
    str, typer.Option("--time-limit", metavar="DURATION", help="Stop after this time, e.g. 30s or 1m30s.")
]
Audit = Annotated[
    str | None,
    typer.Option(
        "--audit",
        metavar="DURATION",
        help="Decide each no and bound anew, by the verifier's own formulation, for so long, e.g. 10s.",
    ),
]
NaturalGangs = Annotated[
    bool,
    typer.Option(
        "--natural-gangs",
        help="Place pods that are of no use alone together or not at all, such as a group of a LeaderWorkerSet.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Use this random seed; equal input and seed give an equal answer.")]
Objective = Annotated[
    str,
    typer.Option(
        "--objective",
        metavar="A,B",
        autocompletion=complete_list(_allocation_stages),
        help="Find the best allocation instead of the first, by these stages: preference, soft, fragmentation, "
        "compact, fewest-devices-opened, least-consumption.",
    ),
]
Timings = Annotated[bool, typer.Option("--timings", help="Add wall times to the result.")]
Report = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE", help="Write a report with pictures into this .html file (needs the extra report)."
    ),
]
Output = Annotated[Format, PRINTED_AS]
ManifestOutput = Annotated[ManifestFormat, PRINTED_AS]
ClaimOutput = Annotated[ClaimFormat, PRINTED_AS]
PlanOutput = Annotated[PlanFormat, PRINTED_AS]
Filenames = Annotated[list[str], Filename]
OptionalFilenames = Annotated[list[str] | None, Filename]


def ignored_kinds_line(kinds: Mapping[str, int]) -> list[str]:
    """One line about the objects of other kinds, or none."""
    if not kinds:
        return []
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return [f"ignored {plural(sum(kinds.values()), 'object')} of other kinds: {summary}"]


def parse_feature_gates(switches: str, version: str | None) -> FeatureGateSet:
    """The gates in force: all on, or a release's defaults, and switches on top.

    Raises
    ------
    UsageError
        For an unknown gate or version.

    """
    from ..models.kubernetes.gates import FeatureGates as FeatureGateSet

    try:
        base = FeatureGateSet.for_version(version) if version else FeatureGateSet.all_on()
        return FeatureGateSet.parse(switches, base)
    except ValueError as error:
        raise UsageError(str(error)) from None


_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_seconds(text: str, option: str = "--time-limit") -> float:
    """``30s``, ``1m30s``, ``500ms`` or a plain number of seconds.

    Raises
    ------
    UsageError
        If the text is none of these, or not above zero.

    """
    if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text):
        total = float(text)
    elif text and _DURATION_PART.sub("", text) == "":
        total = sum(float(number) * _SECONDS_PER_UNIT[unit] for number, unit in _DURATION_PART.findall(text))
    else:
        raise UsageError(f"{option}: {text!r} is not a duration such as 30s or 1m30s")
    if not 0 < total < 1e9:
        raise UsageError(f"{option}: {text!r} must be above zero and below 1e9 seconds")
    return total


def parse_fraction(text: str) -> float:
    """``0.1%`` or ``0.001`` as a number.

    Raises
    ------
    UsageError
        If the text is neither, or not below 100%.

    """
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(%?)", text, re.ASCII)
    found = float(Decimal(match[1]) / (100 if match[2] else 1)) if match else 1.0
    if found >= 1:
        raise UsageError(f"--gap: {text!r} is not a part such as 0.1% or 0.001, below 100%")
    return found


EXIT_BY_OUTCOME = {"Allocated": Exit.DONE, "Unallocatable": Exit.NO, "Error": Exit.NO, "Unknown": Exit.UNDECIDED}
"""The exit code of each outcome."""


def check_node_name(name: str | None) -> None:
    """Refuse what no node can be called. Raises ``UsageError``."""
    if name is not None and not name.isprintable():
        raise UsageError(f"--node: {name!r} is no name of a node")


@dataclass(frozen=True, slots=True)
class InputOptions:
    """The options that say how the input is read."""

    recursive: bool
    skip_validation: bool
    strict: bool = False
    max_input_size: str | None = None
    instance_types: Sequence[str] = ()

    def load(self, paths: Sequence[str], gates: FeatureGateSet) -> LoadedCluster:
        """Read and validate the input. Raises ``InputError``, and ``UsageError`` for a limit or file that is none."""
        from ..solver.allocate.load import load_all

        return load_all(
            [*paths, *map(kwok_types, self.instance_types)],
            recursive=self.recursive,
            skip_validation=self.skip_validation,
            strict=self.strict,
            max_input_size=check_input_size(self.max_input_size),
            gates=gates,
        )


def kwok_types(path: str) -> list[dict[str, Any]]:
    """Read a file of ``--instance-types``. Raises ``UsageError``."""
    from ..integrations.karpenter.instance_types import read_kwok_types

    try:
        return read_kwok_types(path)
    except ValueError as error:
        raise UsageError(f"--instance-types: {error}") from None


def load_cluster(
    paths: Sequence[str], reading: InputOptions, gates: FeatureGateSet, node: str | None = None
) -> Cluster:
    """Read and validate the input; warnings and what was ignored go to stderr.

    Raises
    ------
    InputError
        If something in the input would be refused.
    UsageError
        If the limit is no size, or the input has no node of this name.

    """
    loaded = reading.load(paths, gates)
    print_problems(*map(str, loaded.warnings), *ignored_kinds_line(loaded.ignored))
    if node is not None and not loaded.cluster.knows_node(node):
        hint = "".join(f": did you mean {name}?" for name in get_close_matches(node, loaded.cluster.nodes, 1))
        raise UsageError(f'--node: node "{node}" is not in the input{hint}')
    return loaded.cluster


def check_input_size(text: str | None) -> int | None:
    """Bytes of a ``--max-input-size``; None: the default. Raises ``UsageError``."""
    from ..models.manifests.sources import parse_input_size

    try:
        return None if text is None else parse_input_size(text)
    except ValueError as error:
        raise UsageError(f"--max-input-size: {text!r}: {error}") from None


def plan_warnings(
    cluster: Cluster, notices: Sequence[str], *, existing: bool = True, planned: bool = False, prefers: bool = False
) -> Iterator[str]:
    """Warn of unsupported fields, of existing nodes with unknown resources, and of what the notices say.

    ``planned``: rules of pods about one another are kept. ``prefers``: what they prefer counts.
    """
    from ..models.workload.node_room import allocatable_warnings
    from ..models.workload.unsupported import unsupported_fields

    unknown = allocatable_warnings(cluster) if existing else ()
    ignored = unsupported_fields(cluster, planned=planned, prefers=prefers)
    yield from (f"warning: {line}" for line in dict.fromkeys((*ignored, *unknown, *notices)))


def empty_queue_warnings(requested: int) -> Iterator[str]:
    """Warn if nothing waits."""
    if not requested:
        yield "warning: nothing to plan: no pod, controller or claim that was asked about waits"
