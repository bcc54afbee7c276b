"""Clusters and answers for tests of ``capacity``."""

from support.objects import device_class, node

from drasat.models.cluster.cluster import Cluster
from drasat.solver.capacity.capacity import capacity
from drasat.solver.capacity.records import Room

KIND = "device.attributes['d.x'].kind == '{}'"


def cluster(*objects):
    """A cluster with the class ``any``, and the node ``n1`` if there is no other."""
    given = list(objects)
    if not any(type(item).__name__ == "Node" for item in given):
        given.append(node())
    return Cluster.of([*given, device_class()])


def ask(*objects, **options):
    """How many more copies fit there."""
    return capacity(cluster(*objects), **options)


def exactly(fits, first_fit=None):
    """So many, proven; first fit reaches as many unless said otherwise."""
    return Room(fits, fits, fits if first_fit is None else first_fit)
