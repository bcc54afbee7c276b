"""The verifier's own formulation agrees with the engines about what is refused and what is placed."""

import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.families import FAMILIES
from support.objects import claim, device, device_class, distinct, node, pool, want
from support.random_clusters import clusters, examples, gates, load
from support.related import Related

from drasat import load as read
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import ProofKind, Status
from drasat.scenarios import one_node
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import VerificationError, placements_of_outcomes
from drasat.solver.engines import registry
from drasat.solver.engines.auto import SearchThenSolve
from drasat.solver.engines.engine import Decision
from drasat.solver.engines.engines import OptimizingEngine
from drasat.solver.verification.audit import Refusal, audit
from drasat.solver.verification.existence import Audit

# Far beyond what the audits here take: what is not decided shows a weakness, not a slow machine.
SECONDS = 600.0


def audited(cluster, **options):
    """The answer with an audit of every no, and the audits of every placed unit as if it were refused."""
    answer = allocate(cluster, audit=SECONDS, time_limit=None, **options)
    steps = []
    for one in placements_of_outcomes(cluster, answer.units):
        steps += [Refusal((one.node,), tuple(claim for claim, _ in one.claims), one.pod, one.earlier), one]
    found = audit(cluster, steps, answer.gates, cel_errors=answer.cel_errors)
    return answer, [one for verdict in found for one in verdict.nodes]


def check(cluster, **options):
    """Every no is audited, every yes is found; return how many there were of each kind."""
    answer, placed = audited(cluster, **options)
    refused = [unit for unit in answer.units if unit.outcome is Status.UNALLOCATABLE]
    assert {unit.proof_kind for unit in refused} <= {ProofKind.AUDITED}
    assert set(placed) <= {Audit.POSSIBLE}
    return Counter(no=len(refused), yes=len(placed))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_no_of_a_family_is_audited_and_every_yes_found(family):
    counts = sum((check(load(family, seed), feature_gates=FeatureGates.all_on()) for seed in range(20)), Counter())
    assert min(counts["no"], counts["yes"]) >= 3


@examples(120)
@given(clusters(), gates(), st.sampled_from(("strict", "skip")))
def test_audits_know_the_gates_and_policies(name, gates, policy):
    check(load(*name), feature_gates=gates, cel_errors=policy)


def test_audits_know_that_the_first_of_different_values_may_be_a_list():
    """CON-9: with the feature off it is no value that the others have."""
    there = [device("d0", x=("a",)), device("d1", x="a")]
    asked = claim(want(count=2), constraints=(distinct("d.x/x"),))
    cluster = Cluster.of([device_class(), node(), pool(*there), asked])
    assert check(cluster, feature_gates=FeatureGates.for_version("1.36")) == Counter(yes=1, no=0)


def test_audits_know_expressions_over_devices_and_topologies():
    clusters = (Cluster.of([device_class(), node(), *Related(Random(seed)).objects()]) for seed in range(120))
    counts = sum((check(cluster) for cluster in clusters), Counter())
    assert min(counts["no"], counts["yes"]) >= 20


# They take seconds each.
LONG = ("33 claims of 4, each of one of 16 groups of 8", "32 of 64 without such a value")


@pytest.mark.parametrize("name", [name for name in one_node.QUESTIONS if name not in LONG])
def test_hard_questions_are_audited(name):
    check(read(one_node.QUESTIONS[name].objects()))


class FaultyDecider(SearchThenSolve):
    """The decider of the engine ``auto`` with a fault; without one it is right."""

    def __init__(self, session, fault):
        super().__init__(session)
        self._fault = fault

    def decide(self, problem, in_use, deadline):
        return self._fault(lambda seen: SearchThenSolve.decide(self, seen, in_use, deadline), problem)


# What may go wrong before a no; each makes some of what fits unallocatable.
FAULTS = {
    "the solver always says infeasible": lambda _decide, _problem: Decision(Status.UNALLOCATABLE),
    "the search ends early": lambda decide, problem: (
        Decision(Status.UNALLOCATABLE, proof_kind=ProofKind.EXHAUSTED) if len(problem.demands) > 1 else decide(problem)
    ),
    "half of the candidates are lost": lambda decide, problem: decide(
        problem.without_devices(frozenset(range(0, problem.size, 2)))
    ),
    "one variable is fixed": lambda decide, problem: decide(problem.without_devices(frozenset({0}))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_false_refusal_passes_an_audit(fault, monkeypatch, record_property):
    """Without an audit a share of the false refusals reaches the user; with it none does.

    A false refusal with a wrong witness does not reach the user in either case.
    """
    cases = [load(family, seed) for family in FAMILIES for seed in range(4)]
    right = [[unit.outcome for unit in allocate(cluster).units] for cluster in cases]
    monkeypatch.setitem(
        registry.ENGINES, "auto", lambda session: OptimizingEngine(session, FaultyDecider(session, FAULTS[fault]))
    )
    shown = caught = 0
    for cluster, outcomes in zip(cases, right, strict=True):
        try:
            found = [unit.outcome for unit in allocate(cluster).units]
        except VerificationError:
            with pytest.raises(VerificationError):
                allocate(cluster, audit=SECONDS, time_limit=None)
            caught += 1
            continue
        # From the first difference on, units meet other devices in use.
        pairs = zip(outcomes, found, strict=True)
        first = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if first != (Status.ALLOCATED, Status.UNALLOCATABLE):
            continue
        with pytest.raises(VerificationError, match="is refused, and has an allocation"):
            allocate(cluster, audit=SECONDS, time_limit=None)
        shown += 1
    record_property("table of false refusals that reach the user without an audit", f"{fault}: {shown} of {len(cases)}")
    assert shown + caught > 0


def test_ctrl_c_is_given_back_after_an_audit():
    """The solver takes it where it is allowed to, and never gives it back."""
    code = (
        "import os, signal, time\n"
        "import drasat\n"
        "from drasat.scenarios import one_node\n"
        "result = drasat.allocate(drasat.load(one_node.too_many(20)), audit=600.0, time_limit=None)\n"
        "assert result.document.proof == 'audited'\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('given back')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "given back\n")
