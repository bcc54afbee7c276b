"""Audits of explanations: what is audited, what is left, and that a wrong set of reasons is a defect."""

from dataclasses import replace
from random import Random

import pytest
from support.families import FAMILIES
from support.gates import ALL
from support.objects import claim, device, device_class, devices, match, node, pool, taint, want
from support.random_clusters import load
from support.related import Related

from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import ProofKind
from drasat.scenarios import one_node
from drasat.solver.allocate.check import VerificationError
from drasat.solver.allocate.load import load as read
from drasat.solver.explain import explainer
from drasat.solver.explain.explain import explain

# Far beyond what the audits here take.
SECONDS = 600.0


def audited(cluster, **options):
    return explain(cluster, audit=SECONDS, time_limit=None, **options)


def refused(document):
    return [one for unit in document.units if unit.outcome == "Unallocatable" for one in unit.failures]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_set_of_reasons_of_a_family_is_audited(family):
    documents = [audited(load(family, seed), feature_gates=ALL) for seed in range(12)]
    failures = [one for document in documents for one in refused(document)]
    assert len(failures) >= 2
    assert {(one.proof, one.certified) for one in failures} == {(ProofKind.AUDITED, True)}
    assert {document.proof for document in documents} == {ProofKind.AUDITED, None}
    assert all(document.certified for document in documents)


def test_expressions_over_devices_and_topologies_are_audited():
    clusters = (Cluster.of([device_class(), node(), *Related(Random(seed)).objects()]) for seed in range(40))
    failures = [one for cluster in clusters for one in refused(audited(cluster))]
    assert len(failures) >= 10
    assert {one.proof for one in failures} == {ProofKind.AUDITED}


# Neither the engine nor the audit counts them, and both take long.
SLOW = (
    "33 claims of 4, each of one of 16 groups of 8",
    "32 of 64 without such a value",
    "8 x 3g and 17 x 2g on 8 GPUs, claims",
    "8 x 3g and 17 x 2g on 8 GPUs, requests",
)


CASE = Cluster.of(
    [
        device_class(),
        node("n1"),
        node("n2"),
        pool(*devices("a", "b"), device("c", taints=(taint("k"),))),
        claim(want(count=3), constraints=(match("model"),), name="x"),
    ]
)


def forged(change):
    """Explain with sets of reasons that are changed."""
    right = explainer.minimal_unsatisfiable_subset

    def found(model, limits, proof, without=None):
        conflict = right(model, limits, proof, without)
        return conflict and replace(conflict, reasons=tuple(change(conflict.reasons, list(model.guards))))

    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda reasons, _: reasons[:-1], "and its reasons are possible together"),
        (lambda reasons, guards: [*reasons, next(one for one in guards if one not in reasons)], "is not needed"),
    ],
)
def test_a_set_with_one_reason_too_few_or_too_many_is_a_defect(change, message, monkeypatch):
    monkeypatch.setattr(explainer, "minimal_unsatisfiable_subset", forged(change))
    assert explain(CASE).units[0].failures[0].minimal
    with pytest.raises(VerificationError, match=message):
        audited(CASE)


def test_without_an_audit_nothing_is_audited():
    document = explain(CASE)
    assert document.proof in (ProofKind.WITNESS, ProofKind.SOLVER)
    assert document.certified == (document.proof is ProofKind.WITNESS)


def test_an_audit_without_time_leaves_what_a_no_rests_on():
    document = explain(CASE, audit=0.0)
    assert document.proof == explain(CASE).proof
    assert [one.proof for one in refused(document)] == [one.proof for one in refused(explain(CASE))]


def test_where_all_fits_there_is_nothing_to_prove():
    fits = Cluster.of([device_class(), node("n1"), pool(*devices("a")), claim(want(), name="x")])
    document = explain(fits)
    assert (document.proof, document.certified) == (None, True)


def test_what_the_node_itself_refuses_is_audited():
    unschedulable = Cluster.of([device_class(), pool(*devices("a")), claim(want(count=2), name="x")])
    assert audited(unschedulable).proof in (ProofKind.AUDITED, ProofKind.WITNESS)


@pytest.mark.parametrize("name", [name for name in one_node.QUESTIONS if name not in SLOW])
def test_hard_questions_are_audited(name):
    document = audited(read(one_node.QUESTIONS[name].objects()))
    assert {one.proof for one in refused(document)} <= {ProofKind.AUDITED}
