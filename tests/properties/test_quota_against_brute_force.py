"""Plans with quota are the best there are: every stage, against trying every admission.

To try more scenes, from a seed on:
``PYTHONPATH=tests python tests/properties/test_quota_against_brute_force.py 0 2000``.
"""

import sys
from dataclasses import replace
from random import Random

import pytest
from support.quota_by_force import QuotaForce, TooManyStepsError
from support.quota_scene import random_scene, varied_scene

_FIRST = ("admitted", "admitted=devices", "priority", "admitted=annotation:drasat.dev/value", "fair")
_SECOND = ("admitted", "fewest-nodes", "admitted=devices", "borrowed", "fair")
_SEEDS = 60
# Every so many scenes are planned with an audit as well, which has far more time than it needs.
_AUDITED, _SECONDS = 6, 600.0


def stages_of(seed):
    random = Random(f"quota/objective/{seed}")
    return list(dict.fromkeys([random.choice(_FIRST), *random.sample(_SECOND, random.randint(0, 2))]))


def check(seed, scene_of=random_scene):
    """Compare a plan with brute force; False where that takes too long."""
    scene, stages = scene_of(seed), stages_of(seed)
    try:
        force = QuotaForce(scene, stages)
    except TooManyStepsError:
        return False
    found = scene.plan(objective=stages, gap=0.0)
    values = {stage.stage: stage.value for stage in found.objective}
    assert found.outcome == "Optimal", (seed, stages, found.objective)
    expected = pytest.approx(list(map(float, force.best)), rel=1e-7)
    assert [values[name] for name in force.names] == expected, (seed, found.quota.admissions, force.names)
    assert all(stage.proven for stage in found.objective), seed
    if seed % _AUDITED == 0:
        check_audit(scene.plan(objective=stages, gap=0.0, audit=_SECONDS), force, seed)
    return True


def check_audit(found, force, seed):
    """An audit gives the same plan, no bound that cuts off the best, and no proof that it has not checked."""
    stages = {stage.stage: stage for stage in found.objective}
    for name, best in zip(force.names, map(float, force.best), strict=True):
        stage = stages[name]
        assert stage.value == pytest.approx(best, rel=1e-7), (seed, name)
        assert not stage.proven or stage.proof.is_checked, (seed, name)
        if stage.bound is not None:
            sign = 1 if stage.sense == "max" else -1
            assert sign * (stage.bound - best) >= -1e-7 * abs(best), (seed, name)


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_plans_with_quota_are_the_best_that_there_are(seed):
    """4.2 of Kueue's quota, flavors, strict queues (4.6), partial admission (4.5), and places on nodes at once."""
    if not check(seed):
        pytest.skip("too large for brute force")


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_so_are_plans_with_stopped_queues_admitted_workloads_and_racks(seed):
    """Stop policies (4.1), workloads that hold quota (4.9), and required topologies."""
    if not check(seed, varied_scene):
        pytest.skip("too large for brute force")


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_shares_of_amounts_without_a_large_step_are_bounded_for_what_they_are(seed):
    """Roots have so much of everything that no small steps divide all shares: these are rounded, values are exact."""
    stages = ("fair", "borrowed")[seed % 2], "admitted"
    scene, random = random_scene(seed), Random(f"quota/rounded/{seed}")
    primes = {("a", "gpu"): 100_003, ("b", "gpu"): 1_000_003, ("a", "cpu"): 1_299_709, ("c", "cpu"): 15_485_863}
    nodes = [
        one if one.parent is not None else replace(one, nominal={**one.nominal, **_chosen(random, primes)})
        for one in scene.problem.nodes
    ]
    scene.problem = replace(scene.problem, nodes=tuple(nodes))
    try:
        force = QuotaForce(scene, stages)
    except TooManyStepsError:
        pytest.skip("too large for brute force")
    found = scene.plan(objective=list(stages))
    first, best = found.objective[0], float(force.best[0])
    assert first.proven, found.objective
    assert first.value == pytest.approx(best, rel=0.001)
    assert (first.bound >= best) if stages[0] == "fair" else (first.bound <= best)


def _chosen(random, amounts):
    return {pair: amount for pair, amount in amounts.items() if random.random() < 0.8}


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    done = 0
    for seed in range(first, first + count):
        for scene_of in (random_scene, varied_scene):
            try:
                done += check(seed, scene_of)
            except Exception as error:
                print(seed, scene_of.__name__, type(error).__name__, error)
    print(f"{done} of {2 * count} compared")
