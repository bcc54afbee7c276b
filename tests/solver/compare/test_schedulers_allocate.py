"""Where neither rooms nor gangs matter, first fit in the order given is what ``allocate`` does."""

import pytest
from support.families import FAMILIES, member
from support.gates import ALL
from support.sequential import given_of, read

from drasat.models.kubernetes.gates import FeatureGates
from drasat.scenarios.queues import fleet
from drasat.solver.allocate.allocate import allocate
from drasat.solver.compare.schedulers import schedule

RULES = {"kube": (ALL, "kube"), "strict": (ALL, "strict"), "1.36": (FeatureGates.for_version("1.36"), "kube")}


def by_allocate(cluster, gates, policy):
    """Nodes and allocations of the units that got something; pods whose claims others got already get nothing new."""
    return _told(allocate(cluster, engine="backtracking", feature_gates=gates, cel_errors=policy))


def by_schedule(cluster, gates, policy):
    return _told(schedule(given_of(cluster, gates, policy), "first-fit", "given", None))


def _told(found):
    return {
        (one.unit.namespace, one.unit.name): (one.node, [made for _, made in one.allocations])
        for one in found.units
        if one.allocations
    }


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("family", FAMILIES)
def test_first_fit_is_what_allocate_does(family, rules):
    for seed in range(5):
        cluster = read(member(family, seed))
        assert by_schedule(cluster, *RULES[rules]) == by_allocate(cluster, *RULES[rules]), seed


def test_on_a_fleet_without_rooms_too():
    objects = [{**one, "status": {}} if one["kind"] == "Node" else one for one in fleet(10)]
    cluster = read(one for one in objects if one["kind"] not in ("Deployment", "Job"))
    found = by_allocate(cluster, ALL, "kube")
    assert len(found) > 10
    assert by_schedule(cluster, ALL, "kube") == found
