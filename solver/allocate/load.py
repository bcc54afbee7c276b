"""From sources to a Cluster: read, validate, index (DESIGN section 2, steps 1 and 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import InputError, InputProblem, has_errors, merge_warnings
from ...models.kubernetes.gates import FeatureGates
from ...models.manifests.reader import read_manifests
from ...models.manifests.sources import InputSource
from ...models.validation.validate import object_checks
from .validate import manifest_problems


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    """A cluster, what deserves a warning (equal ones once), and how many objects of other kinds were ignored."""

    cluster: Cluster
    warnings: tuple[InputProblem, ...]
    ignored: Counter[str]


def load(
    *sources: InputSource, skip_validation: bool = False, strict: bool = False, max_input_size: int | str | None = None
) -> Cluster:
    """Read and validate manifests.

    Parameters
    ----------
    sources
        Paths of files or folders, ``"-"`` for stdin, mappings (one object each), or iterables of mappings.
    skip_validation
        Accept names and limits that the API server would refuse; structural errors still raise.
    strict
        Raise for fields that their kind does not have, and for kinds that are probably misspelt.
    max_input_size
        The most that all files may hold together after unpacking, in bytes or as a quantity such as ``"2Gi"``. Default:
        512 MiB, and a packed file may hold 64 MiB, or 200 times its size if that is more.

    Raises
    ------
    InputError
        With every problem of every source.
    ValueError
        For a ``max_input_size`` that is none.

    """
    return load_all(sources, skip_validation=skip_validation, strict=strict, max_input_size=max_input_size).cluster


def load_all(
    sources: Sequence[InputSource],
    *,
    recursive: bool = False,
    skip_validation: bool = False,
    strict: bool = False,
    max_input_size: int | str | None = None,
    gates: FeatureGates | None = None,
) -> LoadedCluster:
    """``load``, with the warnings and the count of ignored kinds. Raises ``InputError``."""
    checks, size = object_checks(gates := gates or FeatureGates.all_on(), skip_validation), max_input_size
    manifests, found, ignored = read_manifests(sources, recursive, strict=strict, max_input_size=size, checks=checks)
    found += manifest_problems(manifests, gates, skip_validation=skip_validation, unreadable=found, good=checks.good)
    if has_errors(found):
        raise InputError(found)
    return LoadedCluster(Cluster.build(manifests), tuple(merge_warnings(found)), ignored)
