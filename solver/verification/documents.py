"""What result documents say, checked against the manifests alone, line by line.

A document is a claim by somebody else: placements are replayed, refusals are derived from their witnesses, and numbers
are added up again. A line ``holds``, or ``fails`` with the reason, or is ``unchecked`` where the document does not say
enough. Nothing here asks how an answer was found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.formats.errors import plural
from ...models.kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import (
    AllocationDocument,
    CheckedLine,
    ClaimAnswer,
    CountedWitness,
    ProofKind,
    Status,
    UnitAnswer,
)
from ...models.workload.groups import GroupError
from ...models.workload.requested import all_units, merge_units, requested_units
from ...models.workload.units import Unit
from .existence import Audit, NodeAudit
from .refusals import NodeRefusals, RefusedUnits
from .state import ExpressionTimeoutError
from .verify import Placement, Replay
from .witnesses import WitnessDepth

Lines: TypeAlias = Iterator[CheckedLine]
LATE = "the time limit passed"


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """The manifests, and what was asked that a document does not say.

    ``node`` is the only node, ``namespace`` and ``selector`` narrow the units, ``constraints`` are entries of every
    claim. ``deadline`` is a reading of ``time.monotonic``. With ``audits`` every no that has no witness is decided
    anew.
    """

    cluster: Cluster
    node: str | None = None
    namespace: str | None = None
    selector: str = ""
    natural_gangs: bool = False
    constraints: Sequence[CallerConstraint] = ()
    deadline: float | None = None
    audits: bool = False

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and monotonic() > self.deadline


def line(about: str, said: str, wrong: Iterable[object], unchecked: str = "") -> CheckedLine:
    """A line that fails for these reasons, of which the first few are told, or else is ``unchecked`` for that one."""
    reasons = [str(one) for one in wrong]
    if not reasons:
        return CheckedLine(about, said, "unchecked" if unchecked else "holds", unchecked)
    more = [f"{len(reasons) - _REASONS_TOLD} more"] if len(reasons) > _REASONS_TOLD else []
    return CheckedLine(about, said, "fails", "; ".join([*reasons[:_REASONS_TOLD], *more]))


_REASONS_TOLD = 3


def allocation_lines(document: AllocationDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``allocate``."""
    check = UnitCheck(question, gates, document.cel_errors)
    yield from check.missing([(one.pod, _names(one.claims)) for one in document.units])
    for unit in document.units:
        yield from check.unit(
            ToldUnit(
                unit.pod,
                _names(unit.claims),
                unit.outcome,
                unit.node,
                unit.claims,
                tuple(ToldRefusal(one.names, one.nodes, one.witness, one.proof_kind, "exact") for one in unit.failures),
                _costs(unit),
            )
        )
        for stage in unit.objective:
            yield from _stage_lines(unit, stage.stage, stage.value)
    yield from check.groups()
    kinds = [one.proof_kind for unit in document.units for one in unit.failures if unit.outcome == "Unallocatable"]
    # Nodes that no failure names may rest on less.
    told = () if document.proof is None else (document.proof,)
    weakest = ProofKind.weakest([*kinds, *told])
    wrong = [] if document.proof is weakest else [f"proof is {document.proof}, the weakest of the units is {weakest}"]
    wrong += [
        f"certified is {str(one.certified).lower()}, and proof {one.proof_kind}"
        for unit in document.units
        for one in unit.failures
        if one.certified != one.proof_kind.is_checked
    ]
    wrong += (
        []
        if document.certified == (document.proof is None or document.proof.is_checked)
        else [f"certified is {str(document.certified).lower()}, and proof {document.proof}"]
    )
    yield line("document", "proof", wrong)
    entries = [entry for unit in document.units for entry in unit.soft_entries]
    wrong = [f"entry {one.name} costs {one.cost}" for one in entries if one.kept != (one.cost == 0)]
    if entries:
        yield line("document", f"{len(entries)} soft entries", wrong)
    gravest = min((Status(unit.outcome) for unit in document.units), key=list(Status).index, default=Status.ALLOCATED)
    yield line("document", "outcome", [] if document.outcome == gravest.value else [f"it is {gravest.value}"])


def _names(claims: Sequence[ClaimAnswer]) -> tuple[str, ...]:
    return tuple(f"{one.namespace}/{one.name}" for one in claims)


def _costs(unit: UnitAnswer) -> Mapping[ObjectKey, Sequence[int]]:
    found: dict[ObjectKey, list[int]] = defaultdict(list)
    # Entries of ConstraintGroups are no claim's.
    for entry in (one for one in unit.soft_entries if one.claim):
        namespace, _, name = entry.claim.rpartition("/")
        found[namespace, name].append(entry.cost)
    return found


def _stage_lines(unit: UnitAnswer, stage: str, value: int) -> Lines:
    about, said = unit_text(unit.pod, _names(unit.claims)), f"objective {stage} {value}"
    if stage == "soft":
        cost = sum(one.cost for one in unit.soft_entries)
        yield line(about, said, [] if cost == value else [f"the soft entries cost {cost}"])
    else:
        yield line(about, said, [], "the document has no terms of this stage to add up")


def unit_text(pod: str | None, claims: Sequence[str]) -> str:
    """A unit as lines name it."""
    if pod is not None:
        return f"pod {pod}"
    return f"claims {', '.join(claims)}" if len(claims) > 1 else f"claim {''.join(claims)}"


@dataclass(frozen=True, slots=True)
class ToldRefusal:
    """Nodes that are said to have no place for a unit, the first by name, and what that rests on."""

    names: tuple[str, ...]
    nodes: int
    witness: CountedWitness | None
    proof: ProofKind
    depth: WitnessDepth


@dataclass(frozen=True, slots=True)
class ToldUnit:
    """What a document says of a unit."""

    pod: str | None
    names: tuple[str, ...]
    outcome: str
    node: str | None
    claims: tuple[ClaimAnswer, ...]
    refusals: tuple[ToldRefusal, ...]
    costs: Mapping[ObjectKey, Sequence[int]] = field(default_factory=dict)


class UnitCheck:
    """Replays units in the order of a document, each beside what those before it hold."""

    def __init__(self, question: CheckQuestion, gates: FeatureGates, cel_errors: str) -> None:
        self._question = question
        self._cluster = cluster = question.cluster.with_gates(gates)
        self._gates = gates
        self._replay = Replay(cluster, gates, cel_errors, question.constraints, deadline=question.deadline)
        units = all_units(cluster, gates)
        self._pods = {unit.pod_label: unit for unit in units if unit.pod is not None}
        self._loose = {f"{unit.namespace}/{unit.name}": unit for unit in units if unit.pod is None}
        self._nodes = [cluster.node(question.node)] if question.node else list(cluster.nodes.values())
        self._made: dict[ObjectKey, ResourceClaim] = {}
        self._refusals = _Refusals(question, self._replay, self._nodes)
        self._placed = False

    def missing(self, told: Iterable[tuple[str | None, tuple[str, ...]]]) -> Lines:
        """Check that the document is about each unit that waits, once."""
        seen: list[str] = []
        for pod, claims in told:
            seen += [f"pod {pod}"] if pod is not None else [f"claim {name}" for name in claims]
        ask = self._question
        asked = requested_units(self._cluster, namespace=ask.namespace, selector=ask.selector, gates=self._gates)
        wanted = [f"pod {one.pod_label}" if one.pod else f"claim {one.namespace}/{one.name}" for one in asked]
        known = set(seen)
        left = [name for name in wanted if name not in known]
        wrong = [f"{plural(len(left), 'unit')} of the input that wait are not there, such as {left[0]}"] if left else []
        twice = next((name for name, times in Counter(seen).items() if times > 1), None)
        yield line("document", "units", [*wrong, *([f"{twice} is there twice"] if twice else [])])

    def unit(self, told: ToldUnit) -> Lines:
        """Check what is said of a unit."""
        about = unit_text(told.pod, told.names)
        unit = self._unit(told)
        if unit is None:
            yield line(about, told.outcome, ["the input has no such unit that waits"])
        elif wrong := list(_contradictions(told, unit)):
            yield line(about, told.outcome, wrong)
        elif self._question.is_late:
            yield line(about, told.outcome, [], LATE)
        elif told.outcome == Status.ALLOCATED:
            yield self._allocated(about, told, unit)
        elif told.outcome == Status.UNALLOCATABLE:
            yield from self._refused(about, told, unit)
        elif told.outcome == Status.ERROR:
            yield line(about, told.outcome, [], "errors of expressions are not derived")

    def _unit(self, told: ToldUnit) -> Unit | None:
        if told.pod is not None:
            return self._pods.get(told.pod)
        parts = [unit for name in told.names if (unit := self._loose.get(name)) is not None]
        if not parts or len(parts) < len(told.names):
            return None
        return parts[0] if len(parts) == 1 else merge_units(parts)

    def _allocated(self, about: str, told: ToldUnit, unit: Unit) -> CheckedLine:
        said = f"Allocated on node {told.node}"
        if told.node is None or told.node not in self._cluster.nodes:
            return line(about, said, ["the input has no such node"])
        refs = {ref.key: ref for ref in unit.claims}
        pairs: list[tuple[ResourceClaim, AllocationResult]] = []
        wrong: list[object] = []
        for one in told.claims:
            ref = refs.get((one.namespace, one.name))
            if ref is None or ref.claim is None:
                wrong.append(f"claim {one.namespace}/{one.name} is none of it")
            elif one.allocation is not None:
                pairs.append((ref.claim, one.allocation))
            # What several units share is told with the first of them.
            elif ref.key not in self._made:
                wrong.append(f"claim {one.namespace}/{one.name} has no allocation")
        new = {(one.namespace, one.name) for one in told.claims if one.allocation is not None}
        earlier = (self._made.get(key, ref.claim) for key, ref in refs.items() if key not in new)
        placement = Placement(
            self._cluster.node(told.node),
            tuple(pairs),
            unit.pod,
            tuple(one for one in earlier if one is not None),
            told.costs,
        )
        try:
            wrong += self._replay.unit(placement)
        except ExpressionTimeoutError:
            return line(about, said, wrong, LATE)
        except (ValueError, ArithmeticError) as error:
            return line(about, said, [*wrong, f"it cannot be read: {error}"])
        for claim, allocation in pairs:
            key = claim.metadata.namespace or "default", claim.metadata.name
            self._made[key] = replace(claim, status=ResourceClaimStatus(allocation=allocation))
        self._refusals.note(placement)
        self._placed = True
        return line(about, said, wrong)

    def _refused(self, about: str, told: ToldUnit, unit: Unit) -> Lines:
        if unit.problems:
            yield line(about, f"{told.outcome}: {unit.problems[0]}", [])
            return
        new = {ref.key for ref in unit.requested_claims} - self._made.keys()
        claims = {"/".join(ref.key): ref.claim for ref in unit.claims if ref.key in new and ref.claim is not None}
        earlier = [self._made.get(ref.key, ref.claim) for ref in unit.claims if ref.key not in new]
        pods = (unit.pod,) if unit.pod is not None else ()
        held = tuple(one for one in earlier if one is not None)
        refused = RefusedUnits(tuple(claims.values()), tuple(claims), pods, held)
        for one in told.refusals:
            if one.witness is not None:
                said = f"witness on {', '.join(one.names[:1])}: {one.witness.needed} of {one.witness.available}"
                yield self._refusals.witness(about, said, refused, one)
        yield self._refusals.everywhere(about, refused, told.refusals)

    def groups(self) -> Lines:
        """Check ConstraintGroups once all units are placed."""
        if not self._cluster.constraint_groups:
            return
        ask = self._question
        try:
            asked = requested_units(self._cluster, namespace=ask.namespace, selector=ask.selector, gates=self._gates)
            yield line("document", "ConstraintGroups", self._replay.groups(self._cluster, asked))
        except ExpressionTimeoutError:
            yield line("document", "ConstraintGroups", [], LATE)
        except GroupError as error:
            yield line("document", "ConstraintGroups", [error])


def _contradictions(told: ToldUnit, unit: Unit) -> Iterator[str]:
    """Claims that are not of the unit, devices of one that is refused, and refusals of one that is not."""
    own = {"/".join(ref.key) for ref in unit.claims}
    yield from (f"claim {name} is none of it" for name in sorted(set(told.names) - own))
    yield from (f"claim {name} is there twice" for name, times in Counter(told.names).items() if times > 1)
    for namespace, name in sorted(told.costs.keys() - {ref.key for ref in unit.claims}):
        yield f"soft entries are about claim {namespace}/{name}"
    if told.outcome == Status.ALLOCATED:
        yield from (f"node {', '.join(one.names[:1])} refuses it" for one in told.refusals)
        return
    if told.node is not None:
        yield f"it is on node {told.node}"
    given = (one for one in told.claims if one.allocation is not None)
    yield from (f"claim {one.namespace}/{one.name} has devices" for one in given)


class _Refusals:
    """Refused units on all nodes; equal units are looked at again only on nodes that have changed."""

    def __init__(self, question: CheckQuestion, replay: Replay, nodes: Sequence[Node]) -> None:
        self._question = question
        self._replay = replay
        self._nodes = nodes
        self._judge = NodeRefusals(replay, question.constraints)
        # What devices take of nodes, and what couples units, is not audited: it may refuse what has an allocation.
        self._is_complete = not (question.cluster.constraint_groups or replay.loads.has_drawing_devices)
        self._changes = 0
        self._changed: dict[str, int] = {}
        self._changed_for_all = 0
        self._known: dict[bytes, dict[str, tuple[int, bool]]] = {}

    @cached_property
    def _local_pools(self) -> Mapping[tuple[str, str], str | None]:
        """The node of each pool that only one node has."""
        found: dict[tuple[str, str], str | None] = {}
        for one in self._question.cluster.slices:
            key, node = (one.spec.driver, one.spec.pool.name), one.spec.node_name or None
            found[key] = node if found.get(key, node) == node else None
        return found

    def note(self, placement: Placement) -> None:
        """A unit was placed: its node has less room and fewer devices."""
        self._changes += 1
        name = placement.node.metadata.name
        self._changed[name] = self._changes
        results = (result for _, allocation in placement.claims for result in allocation.devices.results or ())
        if any(self._local_pools.get((one.driver, one.pool)) != name for one in results):
            self._changed_for_all = self._changes

    def witness(self, about: str, said: str, refused: RefusedUnits, told: ToldRefusal) -> CheckedLine:
        """Check the witness of some nodes on the first of them."""
        assert told.witness is not None
        nodes = {node.metadata.name: node for node in self._nodes}
        lost = [name for name in told.names if name not in nodes]
        if lost or not told.names:
            return line(about, said, [f"the input has no node {', '.join(lost)}"])
        node = nodes[told.names[0]]
        try:
            flaw = self._judge.witnesses(refused, node).flaw(told.witness, told.depth)
        except ExpressionTimeoutError:
            return line(about, said, [], LATE)
        return line(about, said, filter(None, [flaw]))

    def everywhere(self, about: str, refused: RefusedUnits, told: Sequence[ToldRefusal]) -> CheckedLine:
        """Check that every node is refuted: by itself, by one of the witnesses, or by an audit."""
        witnesses = [one.witness for one in told if one.witness is not None]
        content = refused.content()
        key = None if content is None else content + msgspec.msgpack.encode(_without_names(refused, witnesses))
        known = self._known.setdefault(key, {}) if key is not None else {}
        possible: list[str] = []
        open_: list[str] = []
        for node in self._nodes:
            name = node.metadata.name
            if self._question.is_late:
                return line(about, "Unallocatable", [], LATE)
            verdict = known.get(name)
            if verdict is None or verdict[0] < max(self._changed.get(name, 0), self._changed_for_all):
                found = self._refuted(refused, node, witnesses)
                if found is Audit.POSSIBLE and self._is_complete:
                    possible.append(name)
                verdict = known[name] = self._changes, found is Audit.IMPOSSIBLE
            if not verdict[1]:
                open_.append(name)
        said = f"Unallocatable on {plural(len(self._nodes), 'node')}"
        wrong = [f"it has an allocation on node {possible[0]}"] if possible else []
        if sum(one.nodes for one in told) > len(self._nodes) or any(one.nodes < len(one.names) for one in told):
            wrong.append(f"kinds of nodes have {sum(one.nodes for one in told)} nodes")
        names = Counter(name for one in told for name in one.names)
        wrong += [f"node {name} is of two kinds" for name, times in names.items() if times > 1]
        if wrong:
            return line(about, said, wrong)
        kinds = sorted({one.proof.value for one in told if one.witness is None})
        rests = f", which rest on {' and '.join(kinds)}" if kinds else ""
        left = f"{plural(len(open_), 'node')}, such as {open_[0]}, have no witness{rests}" if open_ else ""
        return line(about, said, [], left)

    def _refuted(self, refused: RefusedUnits, node: Node, witnesses: Sequence[CountedWitness]) -> Audit:
        replay = self._replay
        try:
            if self._judge.has_no_place(refused, node, witnesses):
                return Audit.IMPOSSIBLE
            if not self._question.audits:
                return Audit.UNDECIDED
            claims = [replay.loads.claim_on(claim, node) for claim in refused.claims]
            constraints, deadline = self._question.constraints, self._question.deadline
            return NodeAudit(replay.context, claims, node, constraints, deadline).decide()
        except (SelectorError, ExpressionTimeoutError):
            return Audit.UNDECIDED


def _without_names(refused: RefusedUnits, witnesses: Sequence[CountedWitness]) -> list[CountedWitness]:
    """Witnesses with numbers in the place of the names of claims."""
    numbers = {name: str(number) for number, name in enumerate(refused.names)}

    def plain(one: CountedWitness) -> CountedWitness:
        requests = tuple(replace(request, claim=numbers.get(request.claim, request.claim)) for request in one.requests)
        return replace(one, requests=requests, cases=tuple(map(plain, one.cases)), devices=())

    return list(map(plain, witnesses))
