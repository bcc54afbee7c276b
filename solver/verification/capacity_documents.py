"""What the document of ``capacity`` says, checked against the manifests: copies that fit, and why no more do.

Copies are made of the object here, and placed as the example of a kind of nodes says. A bound is a refusal of one copy
more: its witness is derived for so many copies side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimSpec
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import constraints_annotation
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectMeta
from ...models.results.capacity import CapacityDocument, CopiedObject, Copies, NodeCopies
from ...models.results.common import CheckedLine
from ...models.workload.requested import all_units
from ...models.workload.units import Unit, generated_claim_name
from .documents import LATE, CheckQuestion, Lines, line
from .refusals import NodeRefusals, RefusedUnits
from .state import ExpressionTimeoutError
from .verify import Placement, Replay
from .witnesses import WitnessDepth


@dataclass(frozen=True, slots=True)
class _Copied:
    """What copies are made of: the specs of a copy's claims by their names in documents, and its pod."""

    namespace: str
    claims: tuple[tuple[str, ResourceClaimSpec, dict[str, str] | None], ...]
    pod: Pod | None = None
    shared: tuple[ResourceClaim, ...] = ()

    def copy(self, number: int) -> tuple[list[ResourceClaim], Pod | None]:
        """The claims and the pod of a copy."""
        mark = f"drasat-check-{number}"
        claims = [
            ResourceClaim(
                metadata=ObjectMeta(name=f"{mark}-{place}", namespace=self.namespace, annotations=annotations),
                spec=spec,
            )
            for place, (_, spec, annotations) in enumerate(self.claims)
        ]
        pod = self.pod and replace(
            self.pod,
            metadata=ObjectMeta(name=mark, namespace=self.namespace, labels=self.pod.metadata.labels),
            spec=replace(self.pod.spec, node_name=None),
            status=None,
        )
        return claims, pod

    def side_by_side(self, copies: int) -> RefusedUnits:
        """So many copies, of which it is said that they do not fit together."""
        made = [self.copy(number) for number in range(copies)]
        names = tuple(name for _ in made for name, _, _ in self.claims)
        pods = tuple(pod for _, pod in made if pod is not None)
        return RefusedUnits(tuple(claim for claims, _ in made for claim in claims), names, pods, self.shared)


def capacity_lines(document: CapacityDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``capacity``."""
    cluster = question.cluster.with_gates(gates)
    copied = _copied(cluster, document.asked, gates)
    about = f"{document.asked.kind} {document.asked.namespace}/{document.asked.name}"
    if copied is None:
        yield line(about, "is copied", ["the input has no such object that asks for devices"])
        return
    check = _CapacityCheck(cluster, gates, question, document.cel_errors, copied)
    for kind in document.nodes:
        yield from check.kind(kind)
    named = [name for kind in document.nodes for name in kind.nodes]
    wanted = {question.node} if question.node else set(cluster.nodes)
    left = sorted(wanted - set(named))
    wrong = [f"node {left[0]} is not there"] if left else []
    wrong += ["a node is there twice"] if len(set(named)) < len(named) else []
    yield line("document", "nodes", wrong)
    yield _total(document, cluster)


def _copied(cluster: Cluster, asked: CopiedObject, gates: FeatureGates) -> _Copied | None:
    key, name = (asked.namespace, asked.name), f"{asked.namespace}/{asked.name}"
    if asked.kind == "ResourceClaim" and key in cluster.claims:
        claim = cluster.claims[key]
        return _Copied(asked.namespace, ((name, claim.spec, constraints_annotation(claim.metadata)),))
    if asked.kind == "ResourceClaimTemplate" and key in cluster.templates:
        template = cluster.templates[key]
        own = constraints_annotation(template.metadata, template.spec.metadata or ObjectMeta())
        return _Copied(asked.namespace, ((name, template.spec.spec, own),))
    unit = next((one for one in all_units(cluster, gates) if one.pod and (one.namespace, one.name) == key), None)
    if asked.kind != "Pod" or unit is None or unit.pod is None:
        return None
    return _Copied(asked.namespace, tuple(_claims_of(unit)), unit.pod, tuple(_shared(unit)))


def _claims_of(unit: Unit) -> Iterator[tuple[str, ResourceClaimSpec, dict[str, str] | None]]:
    """Claims from templates are made anew for each copy."""
    for ref in unit.claims:
        if ref.claim is not None and (ref.generated or _is_made_for(ref.claim)) and not ref.group:
            name = f"{unit.namespace}/{generated_claim_name(unit.name, ref.entry)}"
            yield name, ref.claim.spec, ref.claim.metadata.annotations


def _shared(unit: Unit) -> Iterator[ResourceClaim]:
    for ref in unit.claims:
        if ref.claim is not None and not (ref.generated or _is_made_for(ref.claim)):
            yield ref.claim


def _is_made_for(claim: ResourceClaim) -> bool:
    return any(one.controller and one.kind == "Pod" for one in claim.metadata.owner_references or ())


def _total(document: CapacityDocument, cluster: Cluster) -> CheckedLine:
    """The sum over nodes that share nothing; of those that do, what they have together, which is not derived."""
    shared = {name for one in document.sharing for name in one.nodes}
    parts = [one.together for one in document.sharing]
    parts += [kind.each for kind in document.nodes for name in kind.nodes if name not in shared]
    said = f"{_text(document.total.fits)} fit in all, at most {_text(document.total.bound)}"
    if any(one.unbounded for one in parts):
        return line("document", said, [] if document.total.unbounded else ["any number fits on some node"], _UNBOUNDED)
    fits = sum(one.fits or 0 for one in parts)
    bounds = [one.bound for one in parts]
    bound = None if None in bounds else sum(one or 0 for one in bounds)
    wrong = [] if document.total.fits == fits else [f"the nodes have {fits} together"]
    wrong += [] if document.total.bound == bound else [f"the bounds of the nodes are {_text(bound)} together"]
    shares = document.sharing or any(not one.spec.node_name for one in cluster.slices)
    return line("document", said, wrong, _SHARED if shares else "")


_SHARED = "nodes may share devices, and what they have together is not derived"
_UNBOUNDED = "that any number fits is not derived"


def _text(number: int | None) -> str:
    return "any number" if number is None else str(number)


class _CapacityCheck:
    """Copies of an object on the nodes of a cluster."""

    def __init__(
        self, cluster: Cluster, gates: FeatureGates, question: CheckQuestion, cel_errors: str, copied: _Copied
    ) -> None:
        self._cluster = cluster
        self._question = question
        self._copied = copied
        self._arguments = gates, cel_errors, question.constraints, True, True, question.deadline
        self._judge = NodeRefusals(self._replay(), question.constraints)

    def _replay(self) -> Replay:
        return Replay(self._cluster, *self._arguments)

    def kind(self, told: NodeCopies) -> Lines:
        """Check what fits on equal nodes, on the first of them, and the bound on each."""
        lost = [name for name in told.nodes if name not in self._cluster.nodes]
        about = f"node {', '.join(told.nodes[:1])}" + (f" and {len(told.nodes) - 1} more" if told.nodes[1:] else "")
        if lost or not told.nodes:
            yield line(about, "copies", [f"the input has no node {', '.join(lost[:1])}"])
            return
        yield from self._flaws(about, told.each)
        if self._question.is_late:
            yield line(about, "copies", [], LATE)
            return
        if told.each.unbounded:
            yield line(about, "any number fits", [], _UNBOUNDED)
        if told.each.fits:
            # The devices of the example are those of the first node.
            yield self._fits(f"node {told.nodes[0]}", told)
        if told.each.bound is not None:
            yield self._bound(about, told)

    def _flaws(self, about: str, each: Copies) -> Lines:
        proven = each.unbounded or each.fits == each.bound
        wrong = [] if each.proven == proven else [f"{_text(each.fits)} fit, at most {_text(each.bound)}"]
        if each.bound is not None and each.fits is not None and each.bound < each.fits:
            wrong.append(f"{each.fits} fit, and the bound is {each.bound}")
        if wrong:
            yield line(about, f"proven: {str(each.proven).lower()}", wrong)

    def _fits(self, about: str, told: NodeCopies) -> CheckedLine:
        said, replay = f"{told.each.fits} fit", self._replay()
        node = self._cluster.node(told.nodes[0])
        wrong: list[object] = []
        try:
            for number, allocations in enumerate(told.example):
                claims, pod = self._copied.copy(number)
                if len(claims) != len(allocations):
                    wrong.append(f"copy {number + 1} has {len(allocations)} allocations for {len(claims)} claims")
                    continue
                pairs = tuple(zip(claims, allocations, strict=True))
                wrong += [
                    f"copy {number + 1}: {one.rule}: {one.message}"
                    for one in replay.unit(Placement(node, pairs, pod, self._copied.shared))
                ]
        except ExpressionTimeoutError:
            return line(about, said, wrong, LATE)
        except (ValueError, ArithmeticError) as error:
            wrong.append(f"it cannot be read: {error}")
        shown = len(told.example)
        if told.each.fits is not None and shown > told.each.fits:
            wrong.append(f"the example has {shown}")
        return line(about, said, wrong, "" if shown == told.each.fits else f"the example has {shown} of them")

    def _bound(self, about: str, told: NodeCopies) -> CheckedLine:
        """One copy more than the bound fits on none of the nodes."""
        more = (told.each.bound or 0) + 1
        said = f"at most {told.each.bound} fit"
        if more > _MOST_COPIES:
            return line(about, said, [], f"more than {_MOST_COPIES} copies are not counted")
        wrong: list[str] = []
        copies = self._copied.side_by_side(more)
        for name in told.nodes:
            node = self._cluster.node(name)
            try:
                if self._judge.has_no_place(copies, node):
                    continue
            except ExpressionTimeoutError:
                return line(about, said, wrong, LATE)
            if told.witness is None:
                return line(about, said, wrong, f"it has no witness, and rests on {told.proof_kind}")
            depth: WitnessDepth = "bound" if name == told.nodes[0] else "argument"
            try:
                flaw = self._judge.witnesses(copies, node).flaw(told.witness, depth)
            except ExpressionTimeoutError:
                return line(about, said, wrong, LATE)
            if self._question.is_late:
                return line(about, said, wrong, LATE)
            wrong += [f"{name}: {flaw}"] if flaw else []
        return line(about, said, wrong)


# Witnesses about more are not derived: the work grows with their number.
_MOST_COPIES = 1000
