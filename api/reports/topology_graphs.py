"""Instances of topologies as networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx

    from ..models.identity import DeviceId
    from ..topology_documents import InstanceAnswer


def graph(instance: InstanceAnswer) -> networkx.Graph[DeviceId]:
    """A node for each device (driver, pool, name) with ``coordinates`` and ``state``, an edge for each link."""
    import networkx

    made: networkx.Graph[DeviceId] = networkx.Graph(name=instance.name)
    ids = [(one.driver, one.pool, one.device) for one in instance.devices]
    for id_, device in zip(ids, instance.devices, strict=True):
        made.add_node(id_, coordinates=device.coordinates, state=device.state)
    made.add_edges_from((ids[one], ids[other]) for one, other in instance.links)
    return made
