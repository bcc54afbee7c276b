"""Witnesses of proof engines that lie: nothing is certified that the verifier does not derive."""

import pytest
from support.objects import DRIVER, claim, device, device_class, node, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import gates_of
from drasat.models.results.common import CountedWitness, WitnessRequest
from drasat.problem.messages import CountedSum, Justification
from drasat.solver.allocate.check import VerificationError
from drasat.solver.capacity import node as counting
from drasat.solver.engines import auto
from drasat.solver.explain import conflict
from drasat.solver.verification.refusals import CountedFailure, CountedRefusal, RefusedUnits, derived_refusals
from drasat.verbs.allocate import allocate
from drasat.verbs.capacity import capacity
from drasat.verbs.explain import explain

FITTING = Cluster.of([device_class(), node(), pool(device("d1"), device("d2")), claim(want("r"))])
SHORT = Cluster.of([device_class(), node(), pool(device("d1")), claim(want("r", 2))])
REFUSED = Justification("devices", ("there are too few",))
FORGED = Justification("devices", ("there are none",), counted=CountedSum("devices", ((0, "r"),), 2, 0))


def lie(monkeypatch, told):
    for module in (auto, conflict, counting):
        monkeypatch.setattr(module, "find_witness", lambda *_: told)


def copies(cluster):
    return capacity(cluster, claim="ns/c")


def failures(document):
    return document.nodes if document.kind == "CapacityResult" else document.units[0].failures


def proofs(document):
    """What each no of a document rests on, and whether it is certified."""
    for one in failures(document):
        yield str(getattr(one, "proof_kind", None) or one.proof), one.certified


@pytest.mark.parametrize("ask", [allocate, explain, copies])
def test_what_is_counted_right_is_certified(ask):
    assert [*proofs(ask(SHORT).document)] == [("witness", True)]


@pytest.mark.parametrize("ask", [allocate, copies])
def test_a_wrong_no_with_a_forged_sum_is_withheld(ask, monkeypatch):
    lie(monkeypatch, FORGED)
    with pytest.raises(VerificationError, match="AUDIT"):
        ask(FITTING)


@pytest.mark.parametrize("ask", [allocate, copies])
def test_a_right_no_with_a_forged_sum_rests_on_an_audit(ask, monkeypatch):
    lie(monkeypatch, FORGED)
    document = ask(SHORT).document
    assert [*proofs(document)] == [("audited", True)]
    assert all(one.witness is None for one in failures(document))


@pytest.mark.parametrize("ask", [allocate, copies])
def test_a_no_without_a_sum_rests_on_the_solver(ask, monkeypatch):
    lie(monkeypatch, REFUSED)
    document = ask(SHORT).document
    assert [*proofs(document)] == [("solver", False)]


def test_a_set_of_reasons_with_a_forged_sum_rests_on_an_audit(monkeypatch):
    right = conflict.find_witness
    monkeypatch.setattr(conflict, "find_witness", lambda *given: right(*given) and FORGED)
    [failure] = explain(SHORT).document.units[0].failures
    assert (failure.proof, failure.certified, failure.witness) == ("audited", True, None)


def test_a_sum_about_one_node_proves_nothing_about_another():
    given = [pool(device("d1"), name="p1"), pool(device("d1"), device("d2"), name="p2", node_name="n2")]
    asked = claim(want("r", 2))
    cluster = Cluster.of([device_class(), node("n1"), node("n2"), *given, asked])
    told = CountedWitness(
        kind="devices",
        subject="",
        requests=(WitnessRequest(claim="ns/c", request="r"),),
        needed=2,
        available=1,
        devices=(f"{DRIVER}/p1/d1",),
    )
    units = RefusedUnits((asked,), ("ns/c",))
    steps = [CountedRefusal(units, (CountedFailure(names, told),)) for names in [("n1",), ("n1", "n2")]]
    found = derived_refusals(cluster, steps, gates_of(None))
    assert [one.derived for one in found] == [(True,), (False,)]
    assert not any(one.wrong for one in found)


def test_a_node_without_a_sum_has_to_be_none_for_the_unit():
    cluster = Cluster.of([device_class(), node(), pool(device("d1"))])
    units = RefusedUnits((claim(want("r")),), ("ns/c",))
    [found] = derived_refusals(cluster, [CountedRefusal(units, (CountedFailure(("n1",)),))], gates_of(None))
    assert found.derived == (False,)
