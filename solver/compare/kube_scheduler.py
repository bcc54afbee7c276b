"""A list of units through the scheduler's own allocator, one after the other, in a single question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import Misfit, pod_fits
from ...models.kubernetes.core import Node, PodSpec
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import key_of
from ...models.manifests.writer import is_allocated
from ...models.results.common import Reason
from ...models.workload.units import ClaimRef, Unit
from ...peers.answers import PodVerdict
from ...peers.errors import PeerError
from ...peers.kube_scheduler import KubeScheduler
from ...peers.requests import PodRequest, ScheduleRequest, features_of_gates
from ..allocate.placement import unplaced_outcome
from ..engines.kube_scheduler import NAME, named_classes, with_seeded_share_ids
from ..engines.outcome import ALLOCATED, ERROR, UNALLOCATABLE, UNKNOWN, UnitOutcome
from ..engines.reasons import misfit_reasons, missing_reference_reasons


@dataclass(frozen=True, slots=True)
class ListSchedule:
    """What became of the units, the search steps, and the seconds spent in the allocator alone."""

    units: tuple[UnitOutcome, ...]
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _ListedUnit:
    """A unit with the nodes that suit its pod (None: all), and why others do not; ``total`` are all nodes."""

    unit: Unit
    total: int
    nodes: tuple[str, ...] | None
    misfits: tuple[Misfit, ...]


def is_listable(units: Sequence[Unit]) -> bool:
    """Tell whether units can be asked about in one question: a pod's claims must be in one namespace there."""
    return all(ref.key[0] == unit.namespace for unit in units for ref in unit.claims)


class UnitList:
    """Units on nodes, both in order; asked again and again, the answer is the same but for the seconds."""

    def __init__(
        self, cluster: Cluster, gates: FeatureGates, units: Sequence[Unit], nodes: Sequence[Node], seed: int
    ) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._seed = seed
        self._units = units
        self._suitable: dict[bytes, tuple[tuple[str, ...] | None, tuple[Misfit, ...]]] = {}
        self._refused = {
            unit: reasons for unit in units if (reasons := missing_reference_reasons(unit, cluster.classes))
        }
        self._asked = [self._suited(unit) for unit in units if unit not in self._refused]
        self._request = self._written(gates)

    def _suited(self, unit: Unit) -> _ListedUnit:
        if unit.pod is None:
            return _ListedUnit(unit, len(self._nodes), None, ())
        spec = unit.pod.spec
        key = msgspec.msgpack.encode((spec.node_name, spec.node_selector, spec.affinity, spec.tolerations))
        if key not in self._suitable:
            self._suitable[key] = self._nodes_for(spec)
        return _ListedUnit(unit, len(self._nodes), *self._suitable[key])

    def _nodes_for(self, spec: PodSpec) -> tuple[tuple[str, ...] | None, tuple[Misfit, ...]]:
        found = [(node.metadata.name, pod_fits(spec, node)) for node in self._nodes]
        misfits = tuple(some[0] for _, some in found if some)
        return tuple(name for name, some in found if not some) if misfits else None, misfits

    def _written(self, gates: FeatureGates) -> ScheduleRequest:
        cluster = self._cluster
        claims = {
            ref.key: ref.claim for asked in self._asked for ref in asked.unit.requested_claims if ref.claim is not None
        }
        return ScheduleRequest(
            nodes=self._nodes,
            pods=[_pod_request(asked) for asked in self._asked],
            claims=list(claims.values()),
            classes=named_classes(claims.values(), cluster),
            slices=cluster.slices,
            taint_rules=cluster.taint_rules,
            allocated=[claim for claim in cluster.claims.values() if is_allocated(claim)],
            features=features_of_gates(gates),
        )

    def schedule(self, peer: KubeScheduler, time_limit: float | None) -> ListSchedule:
        """Ask; ``time_limit`` in seconds is for the whole. Raises ``PeerError``."""
        answer = peer.schedule(replace(self._request, time_limit_seconds=time_limit or 0.0))
        if [(pod.namespace, pod.name) for pod in answer.pods] != [_pod_key(asked.unit) for asked in self._asked]:
            raise PeerError(f"peer {NAME} answered nonsense: other pods than it was asked about")
        placed = {
            asked.unit: _OUTCOME_MAKERS[verdict.outcome](asked, verdict, self._seed)
            for asked, verdict in zip(self._asked, answer.pods, strict=True)
        }
        refused = {unit: unplaced_outcome(unit, UNALLOCATABLE, reasons) for unit, reasons in self._refused.items()}
        outcomes = placed | refused
        units = tuple(outcomes[unit] for unit in self._units)
        return ListSchedule(units, sum(verdict.steps or 0 for verdict in answer.pods), answer.seconds)


def _pod_request(asked: _ListedUnit) -> PodRequest:
    namespace, name = _pod_key(asked.unit)
    claims = tuple(ref.key[1] for ref in asked.unit.claims if ref.claim is not None)
    return PodRequest(namespace=namespace, name=name, claims=claims, nodes=asked.nodes)


def _pod_key(unit: Unit) -> tuple[str, str]:
    return key_of(unit.pod.metadata) if unit.pod else (unit.namespace, unit.name)


def _allocated(asked: _ListedUnit, verdict: PodVerdict, seed: int) -> UnitOutcome:
    made = verdict.allocations or ()
    refs = {ref.key[1]: ref for ref in asked.unit.requested_claims}
    if len(made) != len(verdict.claims) or not refs.keys() >= set(verdict.claims):
        raise PeerError(f"peer {NAME} answered nonsense: claims of {verdict.name} that were not asked for")
    named: list[ClaimRef] = [refs[name] for name in verdict.claims]
    pairs = tuple(
        (ref, with_seeded_share_ids(allocation, ref.claim, seed))
        for ref, allocation in zip(named, made, strict=True)
        if ref.claim is not None
    )
    return UnitOutcome(asked.unit, ALLOCATED, verdict.node, allocations=pairs)


def _unallocatable(asked: _ListedUnit, verdict: PodVerdict, _seed: int) -> UnitOutcome:
    tried, total = verdict.nodes_tried, asked.total
    told = verdict.error or "cannot allocate all claims"
    devices = [Reason("combination", "", f"{tried} of {total} nodes: {told}")] if tried else []
    reasons = [*devices, *misfit_reasons(asked.misfits, total)]
    nodes = "the pod's claims are allocated for other nodes" if total else "there are no nodes"
    return unplaced_outcome(asked.unit, UNALLOCATABLE, reasons or [Reason("nodes", "", nodes)])


def _fatal(asked: _ListedUnit, verdict: PodVerdict, _seed: int) -> UnitOutcome:
    return unplaced_outcome(asked.unit, ERROR, [Reason("error", "", verdict.error)])


def _timeout(asked: _ListedUnit, verdict: PodVerdict, _seed: int) -> UnitOutcome:
    return unplaced_outcome(asked.unit, UNKNOWN, [Reason("timeLimit", "", verdict.error or "the time limit passed")])


_OUTCOME_MAKERS: dict[str, Callable[[_ListedUnit, PodVerdict, int], UnitOutcome]] = {
    "allocated": _allocated,
    "unallocatable": _unallocatable,
    "error": _fatal,
    "timeout": _timeout,
}
