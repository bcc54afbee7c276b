"""What the verifier and audits make of a solver that is wrong.

``PYTHONPATH=tests python tests/properties/test_faults.py 40`` takes so many seeds of each family.
"""

import sys
from collections import Counter

import pytest
from support.families import FAMILIES
from support.faults import FAULTS
from support.random_clusters import load
from support.random_plans import FAMILIES as PLAN_FAMILIES
from support.random_plans import plan_manifests

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import VerificationError
from drasat.solver.plan.plan import plan

SECONDS = 600.0
# What contradicts itself may keep a search going.
ENDLESS, LIMIT = ("values", "a column"), 2.0


class Allocation:
    """Which units of a cluster are refused, up to the first that differs."""

    def __init__(self, cluster):
        self._cluster, self.engine = cluster, "cp-sat"
        self.right = self.asked(None, None)

    def asked(self, audit, limit):
        found = allocate(self._cluster, engine=self.engine, time_limit=limit, audit=audit)
        return [
            (unit.outcome is Status.ALLOCATED, bool(unit.proof_kind and unit.proof_kind.is_checked))
            for unit in found.units
        ]

    def is_wrong(self, found):
        """Whether something is refused that fits; later units meet other devices in use."""
        return self._first(found) is not None

    def is_certified(self, found):
        return self._first(found)[1]

    def _first(self, found):
        pairs = zip(self.right, found, strict=True)
        first = next(((right, one) for right, one in pairs if right[0] != one[0]), None)
        return first[1] if first and first[0][0] else None


class Planned:
    """What the stages of a plan come to."""

    def __init__(self, cluster):
        self._cluster, self._buys = cluster, bool(cluster.node_templates)
        self.right = self.asked(None, None)

    def asked(self, audit, limit):
        objective = ("priority", "admitted", "cost" if self._buys else "fewest-nodes")
        return plan(self._cluster, objective=objective, buy=self._buys, gap=0, time_limit=limit, audit=audit).objective

    def is_wrong(self, found):
        """Whether a stage is said to be proven and is not the best."""
        return self._first(found) is not None

    def is_certified(self, found):
        return self._first(found).proof.is_checked

    def _first(self, found):
        for right, one in zip(self.right, found, strict=True):
            if right.value != one.value:
                # Later stages are about other plans.
                return one if one.proven else None
        return None


def questions(seeds):
    """The questions of each verb."""
    allocations = [Allocation(load(family, seed)) for family in FAMILIES for seed in range(seeds)]
    documents = [plan_manifests(family, seed) for family in PLAN_FAMILIES for seed in range(seeds)]
    plans = [Planned(Cluster.build(read_manifests([one])[0])) for one in documents]
    return {"allocate": allocations, "plan": plans}


def reaching(question, audit, limit):
    """Whether an answer is stopped, wrong or right; and whether a wrong one is certified."""
    try:
        found = question.asked(audit, limit)
    except VerificationError:
        return "stopped", False
    wrong = question.is_wrong(found)
    return "wrong" if wrong else "right", wrong and question.is_certified(found)


def counted(asked, fault, audit):
    """How many answers of each verb are stopped, wrong and right; and how many wrong ones are certified."""
    counts = Counter()
    for verb, own in asked.items():
        for question in own:
            # Otherwise the search would answer before the solver is asked.
            question.engine = "auto" if fault == SEARCH else "cp-sat"
            what, certified = reaching(question, audit, LIMIT if fault.startswith(ENDLESS) else None)
            counts[verb, what] += 1
            counts[verb, "certified"] += certified
    return counts


@pytest.fixture(scope="module")
def asked():
    return questions(1)


# So many wrong answers of 23 allocations and 20 plans reach the user without an audit.
REACHING = {
    "the solver always says infeasible": (9, 8),
    "the first solution is called optimal": (0, 8),
    "models are too tight by one variable": (3, 5),
    "candidates are lost": (3, 8),
    "the search ends early": (6, 0),
    "different devices are one class": (1, 1),
    "the encoder sharing is missing": (0, 1),
}
SEARCH = "the search ends early"


@pytest.mark.parametrize("fault", FAULTS)
def test_no_wrong_answer_is_certified_where_it_is_audited(fault, asked, monkeypatch, record_property):
    """And no fault ends in anything but an answer or a VerificationError."""
    FAULTS[fault](monkeypatch)
    plain, audited = counted(asked, fault, None), counted(asked, fault, SECONDS)
    shown = plain["allocate", "wrong"], plain["plan", "wrong"]
    record_property("wrong answers without an audit", shown)
    most = REACHING.get(fault, (0, 0))
    assert shown[0] <= most[0]
    assert shown[1] <= most[1]
    assert audited["allocate", "certified"] == audited["plan", "certified"] == 0
    # A refusal that an audit finds to be wrong is no answer.
    assert audited["allocate", "wrong"] == 0


def main(seeds):
    """A long run: what each fault comes to without an audit and with one."""
    asked = questions(seeds)
    for name, fault in FAULTS.items():
        with pytest.MonkeyPatch.context() as patch:
            fault(patch)
            for audit in (None, SECONDS):
                print(name, "audited" if audit else "plain", dict(counted(asked, name, audit)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
