"""What the document of ``explain`` says, checked against the manifests alone: units, and groups of pods."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import msgspec

from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import CheckedLine, ProofKind
from ...models.results.explanation import ExplainedGroup, ExplainedUnit, ExplanationDocument
from ...models.workload.evictions import emptied_cluster
from ...models.workload.queue import read_groups
from .documents import CheckQuestion, Lines, ToldRefusal, ToldUnit, UnitCheck, line, unit_text
from .gangs import gang_findings


def explanation_lines(document: ExplanationDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``explain``: what is placed, and what refuses the others."""
    check = UnitCheck(question, gates, document.cel_errors)
    if document.group is msgspec.UNSET:
        yield from check.missing([(one.pod, one.claims) for one in document.units])
    for unit in document.units:
        yield from check.unit(
            ToldUnit(
                unit.pod,
                unit.claims,
                unit.outcome,
                unit.node,
                unit.allocations,
                tuple(ToldRefusal(one.names, one.nodes, one.witness, one.proof, "bound") for one in unit.failures),
            )
        )
        yield from _relaxation_lines(unit, question)
    yield from check.groups()
    if document.proof is not None:
        yield _proof_line(document, document.proof)
    if document.group is not msgspec.UNSET:
        yield from _group_lines(document.group, gates, document.cel_errors, question)


def _proof_line(document: ExplanationDocument, proof: ProofKind) -> CheckedLine:
    """What all rests on is no better than what any of the refusals does; nodes that are not explained count, too."""
    kinds = [one.proof for unit in document.units for one in unit.failures if unit.outcome == "Unallocatable"]
    trials = () if document.group is msgspec.UNSET else document.group.trials
    kinds += [one.proof for one in trials if one.answer == "no" and one.proof is not None]
    weakest = ProofKind.weakest([*kinds, proof])
    wrong = [] if weakest is proof else [f"proof is {proof}, the weakest of the units is {weakest}"]
    wrong += [
        f"certified is {str(told).lower()}, and proof {kind}"
        for told, kind in [
            *([(document.certified, proof)] if document.group is msgspec.UNSET else ()),
            *((one.certified, one.proof) for unit in document.units for one in unit.failures),
        ]
        if told != kind.is_checked
    ]
    if document.group is not msgspec.UNSET and document.certified != (proof is ProofKind.AUDITED):
        wrong.append(f"certified is {str(document.certified).lower()}, and proof {proof}")
    return line("document", "proof", wrong)


def _group_lines(group: ExplainedGroup, gates: FeatureGates, cel_errors: str, question: CheckQuestion) -> Lines:
    """Check a group in each state of the cluster: a yes without steps is replayed, and counted against the minimum."""
    cluster, key = question.cluster.with_gates(gates), (group.kind, group.namespace, group.name)
    label, members = f"{group.kind} {group.namespace}/{group.name}", read_groups(cluster, gates, natural_gangs=True)
    if key not in members:
        yield line(label, "group", ["the input has no such group"])
        return
    empty = emptied_cluster(cluster, members[key].running)
    for trial in group.trials:
        about = f"{label}, {trial.question}"
        if trial.answer != "yes" or trial.question not in ("empty", "now"):
            yield line(about, trial.answer, [], "" if trial.answer == "notNeeded" else _UNSAID)
            continue
        state = empty if trial.question == "empty" else cluster
        check = UnitCheck(replace(question, cluster=state), gates, cel_errors)
        for unit in trial.units:
            told = ToldUnit(unit.pod, unit.claims, unit.outcome, unit.node, unit.allocations, ())
            yield from check.unit(told)
        gang = read_groups(state, gates, natural_gangs=True)[key].gang
        nodes = [one.node for one in trial.units]
        if gang is not None and nodes:
            sets = ((gang, node, Decimal(0)) for node in (*nodes, *([None] * (trial.wait - len(nodes)))))
            yield line(about, trial.answer, [one.message for one in gang_findings(state, sets)])


_UNSAID = "the document has no data from which it can be derived"


def _relaxation_lines(unit: ExplainedUnit, question: CheckQuestion) -> Lines:
    for number, one in enumerate(unit.relaxations, 1):
        wrong = [] if one.changes else ["it changes nothing"]
        wrong += [] if one.node in question.cluster.nodes else ["the input has no such node"]
        wrong += ["the unit is allocated"] if unit.outcome == "Allocated" else []
        said = f"relaxation {number} on node {one.node}"
        yield line(unit_text(unit.pod, unit.claims), said, wrong, "a change is a sentence, and cannot be made again")
