"""Units tied by groups are placed exactly if trying everything finds a way; what is found keeps what must hold."""

from collections import Counter

import pytest
from support.groups import answered
from support.objects import device_class
from support.random_groups import Instance

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import ProofKind, Status
from drasat.models.workload.requested import requested_units
from drasat.solver.plan.plan import plan
from drasat.solver.verification.audit import audit, tied_units

ENGINES = ("backtracking", "cp-sat", "auto")


def chosen_by(instance, answer):
    """What each claim got, as the instance says it."""
    by_id = {item.id: item for item in instance.items}
    chosen = {}
    for unit in answer.units:
        for ref, made in unit.allocations:
            own = chosen.setdefault(ref.name, {})
            for result in made.devices.results:
                name = result.request.partition("/")[0]
                own[name] = (*own.get(name, ()), by_id[f"{result.pool}/{result.device}"])
    return chosen


def told(answer):
    """Costs of the soft entries of groups."""
    return sorted(entry.cost for unit in answer.units for entry in unit.soft_entries)


def check(seed, engine):
    """Compare an answer with all that there could be; return whether there is any."""
    instance = Instance(seed)
    answer = answered(*instance.objects(), engine=engine)
    first = next(instance.answers(), None)
    outcomes = {unit.outcome for unit in answer.units}
    assert outcomes == ({Status.UNALLOCATABLE} if first is None else {Status.ALLOCATED}), (
        seed,
        engine,
        outcomes,
        first,
    )
    if first is not None:
        chosen = chosen_by(instance, answer)
        assert instance.fits(chosen), (seed, engine)
        soft = [(wish, bond) for bond in instance.bonds for wish in bond.wishes if wish.weight]
        about = [pair for pair in soft if any(name in instance.asked for name in covered(instance, *pair))]
        assert told(answer) == sorted(instance.cost(wish, bond, chosen) for wish, bond in about), (seed, engine)
    return first is not None


def covered(instance, wish, bond):
    """Claims that a wish is about."""
    requests = {**instance.asked, **{name: [("r", [1])] for name in instance.held}}
    return [name for name in bond.claims if any(wish.covers(name, request) for request, _ in requests[name])]


@pytest.mark.parametrize("engine", ENGINES)
def test_units_are_placed_exactly_if_there_is_a_way(engine):
    found = [check(seed, engine) for seed in range(60)]
    assert 10 < sum(found) < 50


@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
def test_no_nodes_and_devices_cost_less(engine):
    """With soft entries as the objective all nodes are compared (SOFT-1)."""
    compared = [least(seed, engine) for seed in range(40)]
    assert sum(cost is not None for cost in compared) > 5
    assert any(compared)


def least(seed, engine):
    """Compare what soft entries cost with the least there could be; None if nothing is placed or wished for."""
    instance = Instance(seed)
    wishes = [(wish, bond) for bond in instance.bonds for wish in bond.wishes if wish.weight]
    costs = [sum(instance.cost(*pair, chosen) for pair in wishes) for _, chosen in instance.answers()] if wishes else []
    if not costs:
        return None
    answer = answered(*instance.objects(), engine=engine, objective="soft")
    assert sum(told(answer)) == min(costs), (seed, engine)
    (stage,) = answer.units[0].objective
    assert stage.value == min(costs)
    return min(costs)


def refuted(seed):
    """Whether there is no way, and whether the verifier's audit says so; nothing that fits is refuted."""
    instance = Instance(seed)
    cluster = Cluster.of([device_class(), *instance.objects()])
    fits = next(instance.answers(), None) is not None
    [tied] = tied_units(cluster, requested_units(cluster))
    tied.nodes = tuple(cluster.nodes.values())
    [verdict] = audit(cluster, [tied], FeatureGates.all_on())
    assert not (fits and verdict.is_impossible), seed
    [proof, *others] = {one.proof_kind for one in answered(*instance.objects(), audit=600.0).units}
    assert not others
    assert (proof is ProofKind.AUDITED) == verdict.is_impossible, seed
    # A check never takes it for a mistake that a unit finds devices alone.
    lines = drasat.check(drasat.allocate(cluster), cluster, audit=True, time_limit=None).lines
    assert {one.verdict for one in lines} <= {"holds", "unchecked"}, seed
    found = plan(cluster, objective=["admitted"], audit=600.0)
    # What is tied is placed whole or not at all: then no plan places any of it.
    if not fits:
        assert found.objective[0].value == 0
        assert (found.objective[0].bound == 0) or not verdict.is_impossible
    return not fits, verdict.is_impossible


def test_what_is_tied_is_refuted_by_the_verifier_alone():
    """Expressions over devices and what members hold already are left aside, so that some refusals are not."""
    counts = Counter(refuted(seed) for seed in range(60))
    assert not counts[False, True]
    assert counts[True, True] >= 10
    assert counts[True, True] > counts[True, False]
