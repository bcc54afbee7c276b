"""From sources to a Cluster: read, validate, index (DESIGN section 2, steps 1 and 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import InputError, InputProblem, has_errors
from ...models.kubernetes.gates import FeatureGates
from ...models.manifests.reader import InputSource, read_manifests
from .validate import manifest_problems


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    """A cluster, what deserves a warning, and how many objects of other kinds were ignored."""

    cluster: Cluster
    warnings: tuple[InputProblem, ...]
    ignored: Counter[str]


def load(*sources: InputSource, skip_validation: bool = False) -> Cluster:
    """Read and validate manifests.

    Parameters
    ----------
    sources
        Paths of files or folders, ``"-"`` for stdin, mappings (one object each), or iterables of mappings.
    skip_validation
        Accept names and limits that the API server would refuse; structural errors still raise.

    Raises
    ------
    InputError
        With every problem of every source.

    """
    return load_all(sources, skip_validation=skip_validation).cluster


def load_all(
    sources: Sequence[InputSource],
    *,
    recursive: bool = False,
    skip_validation: bool = False,
    gates: FeatureGates | None = None,
) -> LoadedCluster:
    """``load``, with the warnings and the count of ignored kinds. Raises ``InputError``."""
    manifests, found, ignored = read_manifests(sources, recursive)
    found += manifest_problems(manifests, gates or FeatureGates.all_on(), skip_validation=skip_validation)
    if has_errors(found):
        raise InputError(found)
    return LoadedCluster(Cluster.build(manifests), tuple(found), ignored)
