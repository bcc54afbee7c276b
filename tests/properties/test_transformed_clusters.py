"""What is possible does not depend on names and orders, and two clusters side by side have twice as much."""

import pytest
from support import families, random_plans
from support.transformations import doubled, permuted, renamed, split

import drasat

SEEDS = range(3)
# Far beyond what audits here take; one that finds an allocation for a no, or more copies than a bound, raises an error.
SECONDS = 600.0
TRANSFORMED = pytest.mark.parametrize("transformed", [permuted, split, renamed])
QUEUES = sorted(random_plans.FAMILIES)


def first_unit(objects, **options):
    """The outcome of the first unit, which nothing was taken from, and its stages; every no is audited."""
    [first, *_] = drasat.allocate(drasat.load(objects), audit=SECONDS, time_limit=None, **options).units
    return first.outcome, [(one.stage, one.value, one.proven) for one in first.objective]


@TRANSFORMED
@pytest.mark.parametrize("family", families.FAMILIES)
def test_existence_and_the_best_allocation_are_the_same(family, transformed):
    for seed in SEEDS:
        objects = families.member(family, seed)
        assert first_unit(transformed(objects, seed)) == first_unit(objects), seed
    options = {"objective": "fewest-devices-opened,least-consumption"}
    assert first_unit(transformed(objects), **options) == first_unit(objects, **options)


def stages(objects, family):
    """Values of a plan that are proven."""
    buy = family.startswith("bu")
    result = drasat.plan(drasat.load(objects), buy=buy, budget=20 if family == "budget" else None, gap=0)
    return {one.stage: one.value for one in result.document.objective if one.proven}


@TRANSFORMED
@pytest.mark.parametrize("family", QUEUES)
def test_the_best_plan_is_as_good(family, transformed):
    objects = random_plans.plan_manifests(family, 1)
    before, after = stages(objects, family), stages(transformed(objects), family)
    assert next(iter(before)) in after
    for name in before.keys() & after.keys():
        assert after[name] == before[name], name


# A budget is one for both halves.
@pytest.mark.parametrize("family", sorted(set(QUEUES) - {"budget"}))
def test_the_best_plan_of_two_clusters_is_twice_as_good(family):
    objects = random_plans.plan_manifests(family, 2)
    before, after = stages(objects, family), stages(doubled(objects), family)
    assert next(iter(before)) in after
    for name in before.keys() & after.keys():
        assert after[name] == 2 * before[name], name


def counts(objects, **options):
    total = drasat.capacity(drasat.load(objects), audit=SECONDS, time_limit=None, **options).document.total
    return (total.fits, total.unbounded) if total.proven else None


@TRANSFORMED
@pytest.mark.parametrize("family", ["counters", "capacity", "match", "distinct", "lists", "taints", "nodes", "in-use"])
def test_as_many_copies_fit(family, transformed):
    objects = families.member(family, 5)
    [name] = [one["metadata"]["name"] for one in objects if one["kind"].startswith("ResourceClaim")][:1]
    kind = "template" if any(one["kind"] == "ResourceClaimTemplate" for one in objects) else "claim"
    asked = {kind: f"{namespace_of(objects)}/{name}"}
    assert counts(transformed(objects), **asked) == counts(objects, **asked)


def namespace_of(objects):
    return next(one["metadata"]["namespace"] for one in objects if one["kind"].startswith("ResourceClaim"))
