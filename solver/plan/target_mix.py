"""The units of a target mix, for which the stage ``fragmentation`` leaves room."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates
from ...models.workload.expansion import QueuedUnit, expand_units
from ...models.workload.queue import read_queue
from ...problem.selectors import NodeResourceClaims
from .build.objectives import FRAGMENTATION
from .outcome import refused_units


def target_mix_units(cluster: Cluster, mix: Cluster, gates: FeatureGates, stages: Sequence[str]) -> list[QueuedUnit]:
    """The units of a target mix. Raises ``ValueError`` where no stage asks for it, or it has none."""
    if FRAGMENTATION not in stages:
        raise ValueError(f"a mix makes sense with the stage {FRAGMENTATION} alone")
    expanded = expand_units(mix, read_queue(mix, gates=gates), gates)
    units = list(NodeResourceClaims(cluster, gates).planned(expanded))
    refused = refused_units(cluster, units)
    if len(refused) == len(units):
        said = "; ".join(dict.fromkeys(reason.message for reasons in refused.values() for reason in reasons))
        raise ValueError(f"the mix has no unit that could be placed{': ' if said else ''}{said}")
    return [planned for place, planned in enumerate(units) if place not in refused]
