"""The model of bundles has the numbers of copies that the ordinary engine allocates side by side, and no others."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from support.bundles import Bench, after, allowed, possible, random_question, replays, vectors
from support.families import FAMILIES, member
from support.objects import claim, device_class, node, want
from support.related import Related

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.core import Pod
from drasat.models.workload.requested import requested_units
from drasat.problem.constraints import pools_with_negative_draws
from drasat.problem.messages import FatalError
from drasat.solver.allocate.load import load
from drasat.solver.engines.search import Search
from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.pricing.bundle import without_admin_access
from drasat.solver.plan.pricing.cp_sat import BundlePricer, most_copies_alone
from drasat.solver.plan.pricing.cp_sat_model import BundleModel


def fitting(question):
    """Every number of copies that is possible; the model has the same, and neither counting nor sizes refute any."""
    model = BundleModel(question, [unit.most for unit in question.units])
    found = [counts for counts in vectors(question) if possible(question, counts)]
    assert [counts for counts in vectors(question) if allowed(model, counts)] == found
    assert all(
        count <= most for counts in found for count, most in zip(counts, most_copies_alone(question), strict=True)
    )
    sizes, indices = BundlePricer({0: question}).sizes(0), [unit.index for unit in question.units]
    assert all(sizes.holds(dict(zip(indices, counts, strict=True))) for counts in found)
    return found


def priced(question, rng, times=3):
    """Prices and limits by chance, and what the pricer says."""
    pricer = BundlePricer({0: question})
    for _ in range(times):
        prices = Prices(tuple(rng.randint(0, 9) for _ in question.units))
        most = [rng.randint(0, unit.most) for unit in question.units]
        yield prices, most, pricer.price(0, prices, most, PricingLimits(rng.choice((*Effort,))))


def is_best(found, prices, most, answer):
    """Whether the column is as valuable as any that fits within the limits, and the bound says so."""
    within = [counts for counts in found if all(map(int.__le__, counts, most))]
    best = max(sum(map(int.__mul__, prices.units, counts)) for counts in within)
    return best == answer.bound == sum(map(prices.value, answer.columns))


def test_numbers_of_copies_and_the_best_are_those_of_enumeration():
    """DEV-1, DEV-13, CON-4 to CON-9, CTR-2, CAP-6, GRP-3, SRCH-6, SRCH-8: with every rule that counts can state."""
    seen = Counter()
    for seed in range(45):
        rng = Random(f"bundles/{seed}")
        question = random_question(rng)
        found = fitting(question)
        seen["several"] += len(found) > 3
        for prices, most, answer in priced(question, rng):
            assert is_best(found, prices, most, answer)
            for column in answer.columns:
                assert replays(question, column.payload)
                seen["columns"] += 1
    assert seen["several"] > 10
    assert seen["columns"] > 40


def test_all_columns_of_some_worth_are_listed_up_to_what_covers_them():
    seen = Counter()
    for seed in range(60):
        rng = Random(f"bundles/{seed}")
        question = random_question(rng)
        prices = Prices(tuple(rng.randint(1, 9) for _ in question.units))
        most = [rng.randint(1, unit.most) for unit in question.units]
        fitting_ = [one for one in vectors(question) if all(map(int.__le__, one, most)) and possible(question, one)]
        values = {one: sum(map(int.__mul__, prices.units, one)) for one in fitting_}
        least = rng.choice((1, max(1, *values.values()) - rng.randint(0, 5)))
        columns = BundlePricer({0: question}).enumerate(0, prices, most, least, PricingLimits(Effort.THOROUGH))
        listed = [column.payload.counts for column in columns]
        assert all(values[counts] >= least for counts in listed)
        for counts in fitting_:
            covered = any(all(map(int.__le__, counts, other)) for other in listed)
            assert covered or values[counts] < least or not any(counts)
        assert len(set(listed)) == len(listed)
        seen["several"] += len(listed) > 1
    assert seen["several"] > 3


def one_after_the_other(question):
    """Numbers of copies that the search places so, as far as other resources suffice."""
    in_use, left, counts = question.in_use, list(question.left), []
    for unit in question.units:
        counts.append(0)
        while counts[-1] < unit.most and all(map(int.__le__, unit.needs, left)):
            picks = Search(unit.problem, in_use).run()
            if picks is None:
                break
            in_use = after(unit.problem, in_use, picks)
            left = [free - need for free, need in zip(left, unit.needs, strict=True)]
            counts[-1] += 1
    return counts


def test_admin_access_is_in_the_way_of_its_own_unit_only():
    """DEV-1, DEV-15, IN-3: what one unit observes others may take, and bounds allow for what is given back."""
    seen = Counter()
    for seed in range(150):
        rng = Random(f"observers/{seed}")
        question = random_question(rng, admins=True)
        demands = [demand for unit in question.units for demand in unit.problem.demands]
        if not any(demand.admin for demand in demands) or pools_with_negative_draws(question.units[0].problem):
            continue
        counts = one_after_the_other(question)
        if without_admin_access(question) is None:
            seen["exact"] += 1
            assert allowed(BundleModel(question, [unit.most for unit in question.units]), counts)
        for prices, most, answer in priced(question, rng, times=2):
            assert answer.bound >= sum(map(int.__mul__, prices.units, map(min, counts, most)))
            assert all(prices.value(column) <= answer.bound for column in answer.columns)
            assert all(replays(question, column.payload) for column in answer.columns)
            seen["columns"] += len(answer.columns)
    assert seen["exact"] > 10
    assert seen["columns"] > 40


def related(rng):
    """One to three units whose claims have relations: expressions, shapes, set semantics; None if an error is fatal."""
    case = Related(rng)
    objects = case.objects()
    own = [one for one in objects if isinstance(one, ResourceClaim) and not one.status]
    rest = [one for one in objects if one not in own and not isinstance(one, Pod)]
    asked = [own] if rng.random() < 0.5 else [[one] for one in own]
    if rng.random() < 0.5:
        asked.append([claim(want(count=rng.choice((1, 2))), name="plain")])
    most = [rng.choice((1, 2, 3) if len(asked) < 3 else (1, 2)) for _ in asked]
    try:
        return Bench(Cluster.of([*rest, device_class(), node()]), asked, most)
    except FatalError:
        return None


@pytest.mark.parametrize(("listed", "seeds"), [(600, 35), (0, 20)], ids=["listed", "side by side"])
def test_relations_hold_for_each_copy_and_the_verifier_agrees(listed, seeds):
    """CELC-3, SEM-0, TOPO-1: an entry of a copy that is left out asks for nothing; also where copies stay alone."""
    seen = Counter()
    for seed in range(seeds):
        rng = Random(f"related bundles/{seed}")
        bench = related(rng)
        if bench is None:
            continue
        question = replace(bench.question, most_configurations=listed)
        found = fitting(question)
        seen["several"] += len(found) > 2
        for prices, most, answer in priced(question, rng):
            assert is_best(found, prices, most, answer)
            for column in answer.columns:
                assert not bench.violations(column.payload)
                seen["columns"] += 1
    assert seen["several"] > 2
    assert seen["columns"] > 7


@pytest.mark.parametrize("family", FAMILIES)
def test_bundles_of_made_clusters_are_valid_allocations(family):
    """Every copy of every bundle passes the verifier, on top of the copies before it."""
    for seed in range(4):
        rng = Random(f"{family}/{seed}")
        cluster = load(member(family, seed))
        asked = [
            [ref.claim for ref in unit.requested_claims if ref.claim is not None] for unit in requested_units(cluster)
        ]
        asked = [claims for claims in asked[:3] if claims]
        try:
            bench = Bench(cluster, asked, [rng.choice((1, 2, 3)) for _ in asked], on=next(iter(cluster.nodes)))
        except FatalError:
            continue
        for prices, _, answer in priced(bench.question, rng):
            assert sum(map(prices.value, answer.columns)) <= answer.bound
            assert not any(bench.violations(column.payload) for column in answer.columns)
