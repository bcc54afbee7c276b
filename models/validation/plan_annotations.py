"""Annotations for plans; one that cannot be read is never lifted, as it would mean something else."""

from ..meta import ObjectMeta
from ..plan_annotations import GANG, GANG_DOMAIN, REPLICAS, annotation_problems
from .findings import STRUCTURE, Findings, Key, Path


def check_plan_annotations(found: Findings, metadata: ObjectMeta, path: Path = ("metadata",)) -> None:
    """Check each annotation by itself."""
    for key, problem in annotation_problems(metadata.annotations):
        found.error((*path, "annotations", Key(key)), problem, STRUCTURE)


def check_gang(found: Findings, path: Path, grouped: bool, *places: ObjectMeta) -> None:
    """Check that a domain is a gang's: of the annotation, or of a group that the pod's spec names (``grouped``)."""
    keys = {key for place in places for key in place.annotations or ()}
    if GANG_DOMAIN in keys and GANG not in keys and not grouped:
        found.error((*path, "annotations", Key(GANG_DOMAIN)), f"Forbidden: is for gangs only: {GANG}", STRUCTURE)


def forbid_replicas(found: Findings, metadata: ObjectMeta, path: Path, instead: str) -> None:
    """Report copies of what has a number of its own."""
    if REPLICAS in (metadata.annotations or ()):
        found.error((*path, "annotations", Key(REPLICAS)), f"Forbidden: use {instead}", STRUCTURE)
