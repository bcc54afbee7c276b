"""Clusters of a few lines, explained."""

from support.objects import NODE, device_class, node

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceClass
from drasat.models.kubernetes.core import Node
from drasat.solver.explain.explain import explain


def explained(*objects, **options):
    """All units of these objects; a class ``any`` and the node ``n1`` are there unless the objects have such."""
    given = list(objects)
    if not any(isinstance(item, DeviceClass) for item in given):
        given.append(device_class())
    if not any(isinstance(item, Node) for item in given):
        given.append(node(NODE))
    return explain(Cluster.of(given), **options).units


def unit(*objects, **options):
    """The last unit, which must not fit."""
    found = explained(*objects, **options)[-1]
    assert found.outcome in ("Unallocatable", "Error"), found
    return found


def reasons(*objects, **options):
    """Id and message of the reasons on the only kind of node; they must be minimal, and shown twice."""
    (kind,) = unit(*objects, **options).failures
    assert kind.minimal
    assert "no second proof" not in " ".join(kind.notes)
    return [(reason.id, reason.message) for reason in kind.reasons]


def relaxations(*objects, **options):
    """The changes of each relaxation, with its cost."""
    found = unit(*objects, **options).relaxations
    return [(tuple(change.message for change in one.changes), one.cost) for one in found]
