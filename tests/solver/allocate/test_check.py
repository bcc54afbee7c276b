"""Answers of which a part could not be verified before the time limit passed."""

import pytest
from support.groups import asking, group
from support.objects import claim, device_class, devices, node, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.solver.allocate import allocate as allocate_module
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import verification_ends, verified_outcomes
from drasat.solver.allocate.coupling import find_coupled_units
from drasat.solver.explain import explain as explain_module
from drasat.solver.explain.explain import explain
from drasat.solver.verification.verify import VerificationTimeoutError

ASKED = ("a", "too-many", "b", "c")


@pytest.fixture
def cluster():
    """Three GPUs: all claims but one fit."""
    counts = {"too-many": 9}
    claims = (claim(want(count=counts.get(name, 1)), name=name) for name in ASKED)
    gpus = pool(*devices("g0", "g1", "g2"), name="n1", node_name="n1")
    return Cluster.of([device_class(), gpus, node("n1"), *claims])


def checked_until(verified):
    """A check that is given up when so many placements are verified."""

    def check(*_args, **_options):
        raise VerificationTimeoutError(verified)

    return check


def test_an_answer_that_is_verified_stays(cluster):
    outcomes = allocate(cluster).units
    assert verified_outcomes(outcomes, lambda: None) == outcomes


@pytest.mark.parametrize(
    ("verified", "decided"),
    [
        (0, []),
        (1, ["Allocated", "Unallocatable"]),
        (2, ["Allocated", "Unallocatable", "Allocated"]),
        (3, ["Allocated", "Unallocatable", "Allocated", "Allocated"]),
    ],
)
def test_units_from_the_first_that_is_not_verified_are_unknown(cluster, verified, decided):
    """Also those that do not fit: they were looked at beside units of which nothing is shown."""
    units = verified_outcomes(allocate(cluster).units, checked_until(verified))
    assert [unit.outcome for unit in units] == decided + ["Unknown"] * (len(ASKED) - len(decided))
    for unit in units[len(decided) :]:
        assert ([reason.id for reason in unit.reasons], unit.node, unit.allocations) == (["timeLimit"], None, ())


def test_what_groups_couple_is_shown_only_if_all_is_verified():
    gpus = pool(*devices("g0", "g1", "g2", "g3"), name="n1", node_name="n1")
    claims = [asking(name) for name in ("own", "x", "y", "last")]
    cluster = Cluster.of([device_class(), gpus, node("n1", zone="z"), *claims, group("x", "y", label="zone")])
    outcomes = allocate(cluster).units
    assert [one.outcome for one in outcomes] == ["Allocated"] * 4
    sets = find_coupled_units(cluster, [one.unit for one in outcomes])
    units = verified_outcomes(outcomes, checked_until(4), sets)
    assert [one.outcome for one in units] == ["Allocated", *["Unknown"] * 3]


@pytest.mark.parametrize(("module", "verb"), [(allocate_module, allocate), (explain_module, explain)])
def test_verbs_show_nothing_that_is_not_verified(cluster, monkeypatch, module, verb):
    """SCHED-7"""
    monkeypatch.setattr(module, "check_allocations", checked_until(1))
    units = verb(cluster).units
    assert [str(unit.outcome) for unit in units] == ["Allocated", "Unallocatable", "Unknown", "Unknown"]
    assert [[reason.id for reason in unit.reasons] for unit in units[2:]] == [["timeLimit"]] * 2


def test_verification_may_miss_a_limit_by_a_twentieth_and_a_quarter_of_a_second():
    assert verification_ends(100.0, None) is None
    assert verification_ends(100.0, 10.0) == 110.75
