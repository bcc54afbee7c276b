"""Refusals that are said to rest on sums: each is derived again before anybody calls it certified.

A unit is refused on nodes that are none for its pod, or have no room, and on nodes where counting leaves too little
(``witnesses``), beside what was placed before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import CountedWitness
from .claims import is_usable_on
from .devices import DeviceRules
from .nodes import node_findings
from .state import ExpressionTimeoutError
from .verify import Placement, Replay
from .witnesses import NodeWitnesses, WitnessDepth


@dataclass(frozen=True, slots=True, eq=False)
class RefusedUnits:
    """One unit, or equal ones side by side: the claims to allocate with their names in documents, and the pods.

    ``earlier`` are claims that were allocated before.
    """

    claims: tuple[ResourceClaim, ...]
    names: tuple[str, ...]
    pods: tuple[Pod, ...] = ()
    earlier: tuple[ResourceClaim, ...] = ()

    @property
    def has_equal_names(self) -> bool:
        """Whether a name does not tell which of the claims is meant, as in sums with cases about equal copies."""
        return len(set(self.names)) < len(self.names)

    def content(self) -> bytes | None:
        """The same for units that ask for the same; None if that cannot be told."""
        if self.earlier:
            return None
        asked = [(one.spec, one.metadata.annotations) for one in self.claims]
        try:
            return msgspec.msgpack.encode((asked, [(pod.metadata.namespace, pod.spec) for pod in self.pods]))
        except (TypeError, ValueError, OverflowError):
            return None


class NodeRefusals:
    """Judges refusals on nodes, beside what the replay has placed by now."""

    def __init__(self, replay: Replay, constraints: Sequence[CallerConstraint]) -> None:
        self._replay = replay
        self._constraints = constraints
        context = replay.context
        self._rules = DeviceRules(context.classes, context.gates, context.expressions)

    def witnesses(self, refused: RefusedUnits, node: Node) -> NodeWitnesses:
        """What judges witnesses about the units' claims on a node."""
        claims = [self._replay.loads.claim_on(claim, node) for claim in refused.claims]
        return NodeWitnesses(self._replay.context, claims, refused.names, node, self._constraints, self._rules)

    def has_no_place(self, refused: RefusedUnits, node: Node, witnesses: Sequence[CountedWitness] = ()) -> bool:
        """Whether the units have no place on a node: for what the node or the claims are, or by one of the witnesses.

        Raises ``SelectorError``, ``ExpressionTimeoutError``.
        """
        loads = self._replay.loads
        if any(next(node_findings(pod, node), None) is not None for pod in refused.pods[:1]):
            return True
        if refused.pods and not loads.has_room_for(refused.pods, node):
            return True
        held = (claim.status.allocation if claim.status else None for claim in refused.earlier)
        if any(allocation is not None and not is_usable_on(allocation, node) for allocation in held):
            return True
        judged = self.witnesses(refused, node)
        return judged.refused or any(not judged.flaw(one, "argument") for one in witnesses)


@dataclass(frozen=True, slots=True)
class CountedFailure:
    """Nodes that are said to have no place for a unit, and the sum on the first of them.

    Without a witness it is said of the nodes themselves, or of the claims.
    """

    nodes: tuple[str, ...]
    witness: CountedWitness | None = None
    depth: WitnessDepth = "exact"


@dataclass(frozen=True, slots=True, eq=False)
class CountedRefusal:
    """A unit that is refused, and what counts against it, node by node."""

    units: RefusedUnits
    failures: tuple[CountedFailure, ...]


@dataclass(frozen=True, slots=True)
class DerivedRefusal:
    """Which of the failures were derived, in their order, and what is wrong with a witness."""

    derived: tuple[bool, ...]
    wrong: str = ""


def derived_refusals(
    cluster: Cluster,
    steps: Iterable[Placement | CountedRefusal],
    gates: FeatureGates,
    *,
    cel_errors: str = "strict",
    caller_constraints: Sequence[CallerConstraint] = (),
    deadline: float | None = None,
) -> list[DerivedRefusal]:
    """Derive every refusal anew, beside the placements before it, which were verified.

    The arguments are as for ``verify``. A failure for which there is no time is not derived.
    """
    replay = Replay(cluster, gates, cel_errors, caller_constraints, deadline=deadline)
    derivation = _Derivation(cluster, NodeRefusals(replay, caller_constraints), deadline)
    found: list[DerivedRefusal] = []
    for step in steps:
        if isinstance(step, CountedRefusal):
            found.append(derivation.of(step))
        else:
            replay.enter(step)
    return found


@dataclass
class _Derivation:
    """Derives refusals one after the other; nodes only get fuller, so that what was refused stays refused."""

    cluster: Cluster
    judge: NodeRefusals
    deadline: float | None
    known: dict[bytes, set[str]] = field(default_factory=dict)
    seen: dict[tuple[bytes, int], tuple[bool, str]] = field(default_factory=dict)

    def of(self, refusal: CountedRefusal) -> DerivedRefusal:
        content = refusal.units.content()
        refused = self.known.setdefault(content, set()) if content is not None else set[str]()
        derived: list[bool] = []
        wrong = ""
        for failure in refusal.failures:
            # Equal units share the record of their nodes while nothing changes.
            key = content or b"", id(failure.nodes)
            found = self.seen.get(key) if content is not None else None
            if found is None:
                found = self.seen[key] = self._failure(refusal.units, failure, refused)
            holds, flaw = found
            derived.append(holds)
            wrong = wrong or flaw
        return DerivedRefusal(tuple(derived), wrong)

    def _failure(self, units: RefusedUnits, failure: CountedFailure, refused: set[str]) -> tuple[bool, str]:
        """Whether a failure is derived on all its nodes, and what is wrong with its witness."""
        if failure.witness is None and refused.issuperset(failure.nodes):
            return True, ""
        witnesses = [failure.witness] if failure.witness else []
        try:
            if failure.witness is not None:
                node = self.cluster.node(failure.nodes[0])
                judged = self.judge.witnesses(units, node)
                flaw = judged.flaw(failure.witness, failure.depth)
                if flaw:
                    unread = judged.left < 0 or (failure.witness.cases and units.has_equal_names)
                    # A sum that bounds what is there proves the no, although it is not the one that is derived.
                    unread = unread or (failure.depth == "exact" and not judged.flaw(failure.witness, "bound"))
                    return False, "" if unread else f"on node {failure.nodes[0]}: {flaw}"
                refused.add(failure.nodes[0])
            for name in failure.nodes:
                if name in refused:
                    continue
                if self.deadline is not None and monotonic() > self.deadline:
                    return False, ""
                if not self.judge.has_no_place(units, self.cluster.node(name), witnesses):
                    return False, ""
                refused.add(name)
        except (SelectorError, ExpressionTimeoutError):
            return False, ""
        return True, ""
