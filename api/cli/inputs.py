"""What verbs that answer about a cluster read, and what they say about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from . import options
from .output import Exit, UsageError, print_problems

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.gates import FeatureGates

EXIT_BY_OUTCOME = {"Allocated": Exit.DONE, "Unallocatable": Exit.NO, "Error": Exit.NO, "Unknown": Exit.UNDECIDED}
"""The exit code of each outcome."""


def check_node_name(name: str | None) -> None:
    """Refuse what no node can be called. Raises ``UsageError``."""
    if name is not None and not name.isprintable():
        raise UsageError(f"--node: {name!r} is no name of a node")


def load_cluster(filename: Sequence[str], *, recursive: bool, skip_validation: bool, gates: FeatureGates) -> Cluster:
    """Read and validate the input; warnings and what was ignored go to stderr. Raises ``InputError``."""
    from ..solver.allocate.load import load_all

    loaded = load_all(filename, recursive=recursive, skip_validation=skip_validation, gates=gates)
    print_problems(*map(str, loaded.warnings), *options.ignored_kinds_line(loaded.ignored))
    return loaded.cluster


def unknown_node_warnings(cluster: Cluster, name: str | None) -> Iterator[str]:
    """Warn of a node that is not in the input."""
    if name is not None and not cluster.knows_node(name):
        yield f'warning: node "{name}" is not in the input'
