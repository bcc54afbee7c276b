"""A whole plan, checked jointly and from what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...models.cluster import Cluster
from ...models.gates import FeatureGates
from ...models.units import all_units
from .findings import Finding
from .gangs import gang_findings
from .placed_unit import PlacedUnit, label
from .plan_claims import claim_findings
from .queued import Queue, all_asked, order_findings
from .rooms import room_findings
from .verifier import Placement, Violation, verify


def plan_violations(
    cluster: Cluster,
    units: Sequence[PlacedUnit],
    gates: FeatureGates,
    *,
    cel_errors: str = "strict",
    order: Sequence[int] | None = None,
    namespace: str | None = None,
    selector: str = "",
) -> list[Violation]:
    """Check that a plan can be carried out, and that it is about the queue.

    Beside the rules of allocation (NODE-2 for nodes that do not suit a pod or are not its own, SCHED-2 for claims
    without an allocation, with two, or with one that the node cannot use) these may be broken:

    - PLAN-ONCE: every unit of the queue is in the plan once, and nothing else is; an order has every placed unit once.
    - PLAN-NODE: units go to nodes of the cluster.
    - PLAN-CLAIM: claims are those of the queue; only claims of placed units are allocated, each once, for a unit
      that has it; no unit is placed a claim of which cannot be had (SCHED-1).
    - PLAN-ROOM: what units take of a node is left there by the pods that run.
    - PLAN-GANG: of a gang all members are placed, or as many as are enough together with those that run, or none;
      none of a gang whose group is not there.
    - PLAN-DOMAIN: the nodes of a gang's members, those that run included, have one value of the gang's label.

    Parameters
    ----------
    cluster
        What was read, with the nodes that are to be bought.
    units
        All units of the queue, placed or not.
    gates, cel_errors
        As for ``verify``.
    order
        The order in which units were placed, as positions in ``units``; None: in their own. A claim that units share
        is allocated for the first of them.
    namespace, selector
        What the queue was narrowed to.

    Returns
    -------
    list of Violation
        Empty for a valid plan.

    """
    queue = Queue(cluster, gates, namespace, selector)
    found = [*queue.compare(units), *_about_plan(cluster, units, gates, order, queue)]
    placements = [_placement(cluster, units[number]) for number in _sequence(units, order)]
    # Groups may be about claims of pods that are still to be made.
    asked = all_asked(all_units(cluster), units) if cluster.constraint_groups else None
    broken = verify(cluster, placements, gates, cel_errors=cel_errors, groups=True, asked=asked)
    return [*(Violation(finding.rule, "", finding.message) for finding in found), *broken]


def _about_plan(
    cluster: Cluster, units: Sequence[PlacedUnit], gates: FeatureGates, order: Sequence[int] | None, queue: Queue
) -> Iterator[Finding]:
    for unit in units:
        if unit.node is not None and unit.node not in cluster.nodes:
            yield Finding("PLAN-NODE", f"{label(unit)} is on node {unit.node}, which is not there")
        if unit.allocations or unit.unit.problems:
            yield from claim_findings(unit)
    if order is not None:
        yield from order_findings(units, order)
    placed = ((unit.node, one.shape.requests) for unit, one in queue.known if unit.node is not None)
    yield from room_findings(cluster, gates, placed)
    yield from gang_findings(cluster, ((one.gang, unit.node) for unit, one in queue.known if one.gang is not None))


def _sequence(units: Sequence[PlacedUnit], order: Sequence[int] | None) -> list[int]:
    """Positions of the placed units: in the order given, each once, and then those that it leaves out."""
    placed = [number for number, unit in enumerate(units) if unit.node is not None]
    there = set(placed)
    return list(dict.fromkeys((*(number for number in order or () if number in there), *placed)))


def _placement(cluster: Cluster, unit: PlacedUnit) -> Placement:
    new = {ref.key for ref, _ in unit.allocations}
    pairs = [(ref.claim, allocation) for ref, allocation in unit.allocations if ref.claim is not None]
    earlier = [ref.claim for ref in unit.unit.claims if ref.claim is not None and ref.key not in new]
    return Placement(cluster.node(unit.node or ""), tuple(pairs), unit.unit.pod, tuple(earlier))
