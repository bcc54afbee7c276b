"""What an autoscaler that sees devices answers to ProvisioningRequests, each of which is placed whole or not at all.

Pods of a request are a gang of the planner, and claims are made from their templates for each pod. A request of a class
that checks capacity uses nodes that are there. One of a class that scales up may buy nodes from NodeTemplates.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from time import monotonic
from typing import Any, Final

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import GANG_ANNOTATION, VALUE_ANNOTATION
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.karpenter import NodePool
from ...models.kubernetes.meta import Condition, ObjectKey
from ...models.kubernetes.node_templates import NodeTemplate, PurchaseLimit
from ...models.results import provision as records
from ...models.results.common import ProofKind, Reason
from ...models.results.plan import BoughtNodes, plain_number
from ...problem.messages import DeadlineExceededError
from ...solver.engines.engine import TIME_LIMIT_RULE
from ...solver.engines.outcome import SearchInterrupted
from ...solver.plan.outcome import PlannedUnitOutcome, PlanOutcome
from ...solver.plan.plan import GAP, plan
from ..karpenter.candidates import node_market
from ..karpenter.overlays import evaluate
from .bookings import (
    PRESENT_LABEL,
    Booking,
    CapacityBook,
    UnanswerableError,
    is_booked,
    is_open,
    pod_set_number,
    request_pods,
)
from .event_file import read_seconds
from .machine import AnswerRequest
from .objects import time_stamp
from .state import AutoscalerRequest, ProvisioningState

CHECK_CAPACITY: Final = "check-capacity"
SCALE_UP: Final = "scale-up"
CLASSES: Mapping[str, records.AnswerKind] = {
    "check-capacity.autoscaling.x-k8s.io": CHECK_CAPACITY,
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io": SCALE_UP,
}
PROVISIONING_TIME_ANNOTATION = "drasat.dev/provisioning-time"
# Weights of pods above this are rounded by the planner.
_LARGEST_WEIGHT = 1 << 30
_MOST_REASONS = 3
# Reasons of the planner that say what else would help.
_HINTS = ("outbid", "relaxation")
_NOT_PRESENT = re.compile(rf"node\(s\) didn't match Pod's node affinity/selector: no label {PRESENT_LABEL}=")
_OBJECTIVE = (f"admitted=annotation:{VALUE_ANNOTATION}", "cost")


def read_classes(given: Iterable[str]) -> dict[str, records.AnswerKind]:
    """Read ``NAME=check-capacity`` or ``NAME=scale-up``. Raises ``ValueError``, one line."""
    found: dict[str, records.AnswerKind] = dict(CLASSES)
    for text in given:
        name, _, kind = text.partition("=")
        if not name or kind not in (CHECK_CAPACITY, SCALE_UP):
            raise ValueError(f"class {text!r}: must be NAME={CHECK_CAPACITY} or NAME={SCALE_UP}")
        found[name] = CHECK_CAPACITY if kind == CHECK_CAPACITY else SCALE_UP
    return found


def provisioning_times(templates: Mapping[str, NodeTemplate], default: int) -> dict[str, int]:
    """Say how many seconds it takes until a node of each template is there. Raises ``ValueError``, one line."""
    found = {}
    for name, one in templates.items():
        text = (one.metadata.annotations or {}).get(PROVISIONING_TIME_ANNOTATION)
        seconds = default if text is None else read_seconds(int(text) if re.fullmatch("[0-9]{1,12}", text) else text)
        if seconds is None:
            where = f"NodeTemplate {name}: metadata.annotations[{PROVISIONING_TIME_ANNOTATION}]"
            raise ValueError(f"{where}: {text!r} is not a duration such as 90s or 5m")
        found[name] = seconds
    return found


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How requests are answered: what classes mean, whether jointly, and seconds until bought nodes are there."""

    classes: Mapping[str, records.AnswerKind]
    joint: bool = False
    provisioning_time: int = 300
    gates: FeatureGates | None = None
    seed: int = 0


class RequestAnswerer:
    """Answers the open requests of states, one after the other; it remembers what it booked and bought.

    ``deadline`` is a reading of the clock, after which nothing is answered. ``complete`` is false once an answer was
    not found in time. Raises ``ValueError`` for a NodeTemplate with a bad provisioning time.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: AnswerOptions,
        deadline: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.answers: list[records.RequestAnswer] = []
        self.rounds: list[records.AnswerRound] = []
        self.notices: list[str] = []
        self.complete = True
        self._options = options
        self._deadline, self._clock = deadline, clock
        self._limits: tuple[PurchaseLimit, ...] = ()
        if cluster.objects(NodePool):
            try:
                market = node_market(cluster, evaluate(cluster, gates_of(options.gates), deadline), deadline=deadline)
            except DeadlineExceededError:
                # Nothing is answered from now on.
                self.complete = False
            else:
                cluster, self._limits = market.cluster, market.limits
                self.notices += market.notices
        self._templates = cluster.node_templates
        self._times = provisioning_times(self._templates, options.provisioning_time)
        self._book = CapacityBook(cluster)
        self._answered: set[tuple[ObjectKey, int]] = set()
        self._due: list[Booking] = []

    @property
    def next_time(self) -> int | None:
        """When the next nodes that were bought are there."""
        return min((one.ready_at for one in self._due), default=None)

    def answer(self, state: ProvisioningState) -> list[AnswerRequest]:
        """Give the answers in a state: requests whose nodes are there now, and those that nobody answered yet."""
        self._book.release(state)
        arrived = [one for one in self._due if one.ready_at <= state.now]
        self._due = [one for one in self._due if one.ready_at > state.now]
        stamp = time_stamp(state)
        said = [_provisioned(one, stamp) for one in arrived]
        fresh = [one for one in state.requests.values() if (one.key, one.serial) not in self._answered]
        self._answered.update((one.key, one.serial) for one in fresh)
        self._keep_booked([one for one in fresh if is_booked(one)], state)
        opened = sorted((one for one in fresh if is_open(one)), key=lambda one: one.serial)
        known = [one for one in opened if one.class_name in self._options.classes]
        self._tell_unknown(one for one in opened if one not in known)
        batches = [known] if self._options.joint and known else [[one] for one in known]
        for batch in batches:
            said += self._answer_batch(batch, state)
        return said

    def _tell_unknown(self, requests: Iterable[AutoscalerRequest]) -> None:
        for one in requests:
            told = f"nobody answers requests of class {one.class_name}: --class {one.class_name}=scale-up would"
            if told not in self.notices:
                self.notices.append(told)

    def _keep_booked(self, requests: Sequence[AutoscalerRequest], state: ProvisioningState) -> None:
        """Hold the room of requests that were provisioned before, and whose pods do not run yet."""
        for one in requests:
            if one.key in self._book.consumed:
                continue
            asked, _ = self._asked([one], state, {one.key: CHECK_CAPACITY})
            found = self._planned(asked, state, buy=False)
            units = tuple(unit for unit in found.units if unit.gang and unit.node) if found else ()
            if units:
                self._book.book(Booking(one, units, state.now))
            else:
                self.notices.append(f"the booking of {'/'.join(one.key)} has no room on the nodes that are there")

    def _answer_batch(self, batch: Sequence[AutoscalerRequest], state: ProvisioningState) -> list[AnswerRequest]:
        kinds = {one.key: self._options.classes[one.class_name] for one in batch}
        asked, refused = self._asked(batch, state, kinds)
        buy = bool(self._templates) and SCALE_UP in kinds.values()
        found = self._planned(asked, state, buy=buy) if asked else None
        decided = found is not None and _admissions_proven(found)
        units: dict[str, list[PlannedUnitOutcome]] = defaultdict(list)
        for unit in found.units if found else ():
            units[unit.gang].append(unit)
        template_of: dict[str, str] = {}
        for name, nodes in found.bought.items() if found else ():
            template_of.update((node.metadata.name, name) for node in nodes)
            self._book.buy(name, (node.metadata.name for node in nodes), state.now + self._times[name])
        said, answers, paid = [], [], set[str]()
        for number, one in enumerate(batch):
            own = units.get(_gang(number), [])
            if one.key in refused:
                answer = _failed(one, kinds[one.key], state.now, (Reason("request", "", refused[one.key]),))
            elif own and all(unit.node for unit in own):
                ready = max(self._book.ready_at(unit.node or "") for unit in own)
                booking = Booking(one, tuple(own), max(ready, state.now))
                self._book.book(booking)
                answer = self._provided(booking, kinds[one.key], state.now, template_of, paid)
                if booking.ready_at > state.now:
                    self._due.append(booking)
            elif decided:
                proof = found.objective[0].proof if found else None
                answer = _failed(one, kinds[one.key], state.now, _reasons(one, own), proof or ProofKind.SOLVER)
            else:
                answer = _undecided(one, kinds[one.key], state.now)
                self.complete = False
            answers.append(answer)
            if answer.conditions:
                written = tuple(_written(made, time_stamp(state)) for made in answer.conditions)
                said.append(AnswerRequest(one.key, written, answer.provisioning_class_details))
        self.answers += answers
        counts = Counter(one.outcome for one in answers)
        self.rounds.append(
            records.AnswerRound(
                time=state.now,
                requests=len(batch),
                provisioned=counts["Provisioned"],
                proven=found is None or found.outcome in ("Optimal", "Infeasible"),
                objective=found.objective if found else (),
            )
        )
        return said

    def _asked(
        self,
        batch: Sequence[AutoscalerRequest],
        state: ProvisioningState,
        kinds: Mapping[ObjectKey, records.AnswerKind],
    ) -> tuple[list[Pod], dict[ObjectKey, str]]:
        """Give the pods of requests, and why a request cannot be answered; each request weighs the same."""
        counts = {sum(entry.count for entry in one.pod_sets) for one in batch}
        whole = lcm(*(count for count in counts if count > 0))
        pods: list[Pod] = []
        refused: dict[ObjectKey, str] = {}
        for number, one in enumerate(batch):
            weight = Fraction(whole, max(1, sum(entry.count for entry in one.pod_sets)))
            weights = (str(weight), str(weight)) if whole <= _LARGEST_WEIGHT else ("1", "0")
            try:
                pods += request_pods(one, state, _gang(number), weights, may_buy=kinds[one.key] == SCALE_UP)
            except UnanswerableError as error:
                refused[one.key] = str(error)
        return pods, refused

    def _planned(self, pods: Sequence[Pod], state: ProvisioningState, *, buy: bool) -> PlanOutcome | None:
        """Plan these pods beside what is booked; None if there is no time left."""
        left = None if self._deadline is None else self._deadline - self._clock()
        if left is not None and left <= 0:
            return None
        cluster = self._book.cluster(state.now, pods)
        gangs = len({(pod.metadata.annotations or {})[GANG_ANNOTATION] for pod in pods})
        options = self._options
        try:
            return plan(
                cluster,
                objective=_OBJECTIVE if buy else _OBJECTIVE[:1],
                gap=min(GAP, 0.5 / gangs),
                feature_gates=options.gates,
                time_limit=left,
                seed=options.seed,
                buy=buy,
                purchase_limits=self._limits_left() if buy else (),
            )
        except SearchInterrupted:
            raise KeyboardInterrupt from None

    def _limits_left(self) -> tuple[PurchaseLimit, ...]:
        """Give the limits of NodePools less what was bought."""
        counts = self._book.bought_counts
        spent = [sum(one.amounts.get(name, 0) * count for name, count in counts.items()) for one in self._limits]
        return tuple(
            PurchaseLimit(one.label, one.amounts, one.most - used)
            for one, used in zip(self._limits, spent, strict=True)
        )

    def _provided(
        self, booking: Booking, kind: records.AnswerKind, now: int, new: Mapping[str, str], paid: set[str]
    ) -> records.RequestAnswer:
        """Give the answer to a request with room; nodes that several requests share are bought by the first of them."""
        own = [node for node in dict.fromkeys(unit.node or "" for unit in booking.units) if node in new]
        bought = Counter(new[node] for node in own if node not in paid)
        paid.update(own)
        nodes = tuple(self._bought_nodes(name, count) for name, count in sorted(bought.items()))
        details = {"nodes": str(len({unit.node for unit in booking.units}))}
        if nodes:
            details["nodeTemplates"] = ",".join(f"{one.template}={one.count}" for one in nodes)
            details["cost"] = str(sum(Decimal(str(one.cost)) for one in nodes))
        accepted = _condition("Accepted", "True", "Accepted", "ProvisioningRequest is accepted")
        waits = booking.ready_at - now
        message = f"the nodes are there in {waits} s"
        there = (
            _condition("Provisioned", "False", "CapacityIsNotProvisioned", message)
            if waits
            else _provided_condition(booking)
        )
        return records.RequestAnswer(
            **_head(booking.request, kind, now),
            outcome="Provisioned",
            provisioned_at=booking.ready_at,
            conditions=(accepted, there),
            provisioning_class_details=details,
            reasons=(),
            bought=nodes,
            reservation=tuple(_reservation(booking, new)),
        )

    def _bought_nodes(self, template: str, count: int) -> BoughtNodes:
        price = Decimal(str(self._templates[template].spec.price or 0))
        return BoughtNodes(template=template, count=count, price=plain_number(price), cost=plain_number(price * count))


def _gang(number: int) -> str:
    return f"request-{number}"


def _admissions_proven(found: PlanOutcome) -> bool:
    """Whether it is proven that no more requests can be satisfied."""
    return bool(found.objective) and found.objective[0].proven


def _head(request: AutoscalerRequest, kind: records.AnswerKind, now: int) -> dict[str, Any]:
    return {
        "time": now,
        "namespace": request.namespace,
        "name": request.name,
        "provisioning_class_name": request.class_name,
        "kind": kind,
    }


def _condition(type_: str, status: str, reason: str, message: str) -> records.AnsweredCondition:
    return records.AnsweredCondition(type=type_, status=status, reason=reason, message=message)


def _provided_condition(booking: Booking) -> records.AnsweredCondition:
    nodes = len({unit.node for unit in booking.units})
    message = f"{plural(len(booking.units), 'pod')} on {plural(nodes, 'node')}"
    return _condition("Provisioned", "True", "CapacityIsFound", f"Capacity is found: {message}")


def _provisioned(booking: Booking, stamp: str) -> AnswerRequest:
    """Say that the nodes of a request are there."""
    return AnswerRequest(booking.request.key, (_written(_provided_condition(booking), stamp),))


def _written(made: records.AnsweredCondition, stamp: str) -> Condition:
    return Condition(
        type=made.type, status=made.status, reason=made.reason, message=made.message, last_transition_time=stamp
    )


def _failed(
    request: AutoscalerRequest,
    kind: records.AnswerKind,
    now: int,
    reasons: tuple[Reason, ...],
    proof: ProofKind | None = None,
) -> records.RequestAnswer:
    texts = list(dict.fromkeys(one.message for one in reasons if one.id not in _HINTS))
    more = f"; and {len(texts) - _MOST_REASONS} more" if len(texts) > _MOST_REASONS else ""
    message = "; ".join(texts[:_MOST_REASONS]) + more
    return records.RequestAnswer(
        **_head(request, kind, now),
        outcome="Failed",
        provisioned_at=None,
        conditions=(_condition("Failed", "True", "CapacityIsNotFound", message),),
        provisioning_class_details={},
        reasons=reasons,
        bought=(),
        reservation=(),
        proof=proof,
        certified=proof is not None and proof.is_checked,
    )


def _undecided(request: AutoscalerRequest, kind: records.AnswerKind, now: int) -> records.RequestAnswer:
    return records.RequestAnswer(
        **_head(request, kind, now),
        outcome="Undecided",
        provisioned_at=None,
        conditions=(),
        provisioning_class_details={},
        reasons=(Reason(TIME_LIMIT_RULE, "", "the time limit left no time to decide it"),),
        bought=(),
        reservation=(),
    )


def _reasons(request: AutoscalerRequest, units: Iterable[PlannedUnitOutcome]) -> tuple[Reason, ...]:
    """Give the reasons of all pods, each once, in words about the request."""
    found: dict[tuple[str, str], Reason] = {}
    for unit in units:
        for one in unit.reasons:
            message = one.message.replace(f"Gang {request.namespace}/{unit.gang}", f"request {'/'.join(request.key)}")
            message = _NOT_PRESENT.sub("node(s) that are not there yet", message)
            found.setdefault((one.id, message), Reason(one.id, one.claim, message))
    return tuple(found.values())


def _reservation(booking: Booking, new: Mapping[str, str]) -> Iterator[records.ReservedNode]:
    """Give what a request holds by node: pods of each pod set, and devices."""
    entries = [entry.pod_set for entry in booking.request.pod_sets]
    by_node: dict[str, list[PlannedUnitOutcome]] = defaultdict(list)
    for unit in booking.units:
        by_node[unit.node or ""].append(unit)
    for node, units in sorted(by_node.items()):
        counts = Counter(entries[pod_set_number(unit.name)] for unit in units)
        devices = (
            f"{one.driver}/{one.pool}/{one.device}"
            for unit in units
            for _, allocation in unit.allocations
            for one in allocation.devices.results or ()
        )
        yield records.ReservedNode(
            node=node, template=new.get(node), pods=dict(sorted(counts.items())), devices=tuple(devices)
        )
