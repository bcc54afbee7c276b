"""Validation of everything that was read, as input problems."""

from collections.abc import Iterable, Iterator

from ..gates import FeatureGates
from ..manifests import Manifest
from ..problems import InputProblem
from . import validate_object
from .findings import STRUCTURE
from .old_versions import version_problems
from .references import cross_checks, input_problem


def validate_manifests(
    manifests: Iterable[Manifest], gates: FeatureGates | None = None, skip_validation: bool = False
) -> list[InputProblem]:
    """Problems of each object in reading order, then those across objects.

    ``skip_validation`` leaves out errors about names and limits, never those about structure, and no warnings.
    """
    typed = [manifest for manifest in manifests if manifest.object is not None]
    own = [problem for manifest in typed for problem in _own_problems(manifest, gates, skip_validation)]
    return own + cross_checks(typed, skip_validation)


def _own_problems(manifest: Manifest, gates: FeatureGates | None, skip_validation: bool) -> Iterator[InputProblem]:
    yield from version_problems(manifest)
    for problem in validate_object(manifest.kind, manifest.object, gates):
        if not skip_validation or problem.severity == "warning" or problem.category == STRUCTURE:
            yield input_problem(manifest, problem.path, problem.message, problem.severity)
