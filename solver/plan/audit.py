"""Audits of plans: the verifier finds bounds of stages anew, and whether what has no node has a place beside them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.results.common import ProofKind
from ...models.results.plan import PlanStage
from ...models.workload.node_room import device_resources
from ...models.workload.unit_classes import UnitShape
from ..allocate.audit import AUDIT_RULE
from ..allocate.check import VerificationError
from ..verification.audit import Refusal, audit
from ..verification.bounds import BoundQuestion, audited_bounds
from ..verification.existence import Audit
from ..verification.plans import plan_placements
from ..verification.verify import Placement, Violation
from .build import PlanRequest
from .outcome import PlanOutcome
from .why_not import MOST_UNIT_CLASSES, OUTBID

_DAEMON_SET = "DaemonSet"


@dataclass(frozen=True, slots=True)
class PlanAudit:
    """What was asked, and the cluster with what is bought.

    ``usable`` names the nodes that the plan may use; None: all. The rest is what narrows the queue.
    """

    request: PlanRequest
    cluster: Cluster
    usable: Container[str] | None
    namespace: str | None
    selector: str
    natural_gangs: bool

    def audited(self, answer: PlanOutcome, deadline: float) -> tuple[PlanOutcome, bool]:
        """Audit an answer until ``deadline``, a reading of ``time.monotonic``; what has no time stays as it is.

        The second value says that Ctrl-C ended it.

        Raises
        ------
        VerificationError
            If a stage is beyond its bound, or a unit that is said to fit nowhere fits: a defect of drasat.

        """
        try:
            answer = self._with_stages(answer, deadline)
            return self._with_units(answer, deadline), False
        except KeyboardInterrupt:
            return answer, True

    def _with_stages(self, answer: PlanOutcome, deadline: float) -> PlanOutcome:
        placed = plan_placements(self.cluster, answer.units, answer.order)
        daemons = [placement for unit, placement in placed if unit.kind == _DAEMON_SET]
        request, session = self.request, self.request.session
        question = BoundQuestion(
            session.cluster,
            session.gates,
            session.policy,
            self.namespace,
            self.selector,
            self.natural_gangs,
            session.caller_constraints,
            request.catalogue is not None,
            request.only_new,
            request.budget,
            daemons,
        )
        bounds = audited_bounds(question, answer.objective, answer.duals or (), deadline)
        pairs = zip(answer.objective, bounds, strict=True)
        return replace(answer, objective=tuple(_audited_stage(stage, bound, answer.gap) for stage, bound in pairs))

    def _with_units(self, answer: PlanOutcome, deadline: float) -> PlanOutcome:
        placements = [placement for _, placement in plan_placements(self.cluster, answer.units, answer.order)]
        return replace(answer, audited=frozenset(self._refused(answer, placements, deadline)))

    def _refused(self, answer: PlanOutcome, placements: Sequence[Placement], deadline: float) -> Iterator[int]:
        """Yield the positions of units that have no place on any node beside the plan."""
        nodes = tuple(node for name, node in self.cluster.nodes.items() if self.usable is None or name in self.usable)
        classes: dict[bytes, list[int]] = {}
        for place, one in enumerate(answer.units):
            own = self.request.queue[place].unit_set
            # The reasons say that it fits no node: of members of gangs, and of what was not looked into, they do not.
            if one.node is None and own.gang is None and any(reason.id == OUTBID for reason in one.reasons):
                classes.setdefault(own.shape.signature, []).append(place)
        asked = list(classes.values())[:MOST_UNIT_CLASSES]
        units = [answer.units[places[0]].unit for places in asked]
        made = {ref.key for one in answer.units for ref, _ in one.allocations}
        refusals = []
        for unit in units:
            held = {ref.key for ref in unit.claims if ref.allocated or ref.key in made}
            claims = [(ref.key in held, ref.claim) for ref in unit.claims if ref.claim is not None]
            new, earlier = (tuple(claim for is_held, claim in claims if is_held is which) for which in (False, True))
            refusals.append(Refusal(nodes, new, unit.pod, earlier))
        session = self.request.session
        verdicts = audit(
            self.cluster,
            [*placements, *refusals],
            session.gates,
            cel_errors=session.policy,
            caller_constraints=session.caller_constraints,
            deadline=deadline,
        )
        for unit, places, of_nodes in zip(units, asked, verdicts, strict=True):
            possible = [node for node, one in zip(nodes, of_nodes, strict=True) if one is Audit.POSSIBLE]
            if possible and self._is_read(self.request.queue[places[0]].unit_set.shape):
                said = f"{unit.namespace}/{unit.name} is said to fit no node, and fits {possible[0].metadata.name}"
                raise VerificationError([Violation(AUDIT_RULE, "", said)])
            if all(one is Audit.IMPOSSIBLE for one in of_nodes):
                yield from places

    def _is_read(self, shape: UnitShape) -> bool:
        """Whether the audit reads all that may refuse a unit: not what devices take of nodes, groups, or other pods."""
        devices = device_resources(self.cluster, self.request.session.gates)
        return not (devices or self.cluster.constraint_groups or shape.rules)


def _audited_stage(stage: PlanStage, bound: Fraction | None, gap: float) -> PlanStage:
    """Say that a stage is audited where this bound closes its gap, too. Raises ``VerificationError``."""
    if bound is None:
        return stage
    value, sign = Fraction(str(stage.value)), 1 if stage.sense == "max" else -1
    if sign * (value - bound) > _NOISE * abs(bound):
        said = f"the stage {stage.stage} is {stage.value}, and no plan is beyond {float(bound)}"
        raise VerificationError([Violation(AUDIT_RULE, "", said)])
    if stage.proof is not ProofKind.SOLVER or abs(bound - value) > Fraction(str(gap)) * abs(bound):
        return stage
    return replace_fields(stage, proof=ProofKind.AUDITED)


# Values that are no short decimals are rounded.
_NOISE = Fraction(1, 10**9)
