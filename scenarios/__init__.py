"""Made-up clusters of real shapes, seeded.

Generators return v1 objects as plain mappings, ready for ``drasat.load``; ``combine`` puts together what several
generators return. The same arguments give the same objects, and a cluster of more nodes begins with those of a
smaller one.

- Nodes: ``gpu_nodes``, ``mig_nodes``, ``nic_nodes``, ``cpu_nodes``, ``channel_nodes``, ``multi_host_nodes``, and
  ``mixed_nodes`` for several shapes. ``fullness`` (0 to 1) is how much claims hold already.
- Taints and taint rules on any of them: ``with_taints``.
- Pods and claims: ``requests``.
- Clusters with a queue to plan: ``queues.fleet``, ``queues.gang_queue``, ``queues.WORKLOADS``; teams with quota of
  Kueue: ``quota.quota``.
- Clusters that filled up and were partly left, with what waits for room: ``fragmented``, by a kind of
  ``fragmented.GENERATORS`` (``openb``, ``partitions``, ``racks``).
- Catalogues of Karpenter's instance types, with pools and pods that wait: ``machines.machines``.
- Questions about one node that are hard for a search: ``one_node.QUESTIONS``, about expressions over devices
  ``lattices.RELATED_QUESTIONS``.
"""

from __future__ import annotations

from .clusters import mixed_nodes, requests, with_taints
from .mig import mig_nodes
from .node_shapes import channel_nodes, combine, cpu_nodes, gpu_nodes, multi_host_nodes, nic_nodes

__all__ = [
    "channel_nodes",
    "combine",
    "cpu_nodes",
    "gpu_nodes",
    "mig_nodes",
    "mixed_nodes",
    "multi_host_nodes",
    "nic_nodes",
    "requests",
    "with_taints",
]
