"""Clusters where some kinds of nodes are priced by sums, and others by models."""

import pickle
from random import Random

import pytest
from support.bundles import possible, replays, vectors
from support.linear import linear_of, part, random_pods, shares, wanting, wholes
from support.plan_building import DRIVER, device, node, of, planning, posed, published, values

from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.master_problem import PlanLimits
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing import DispatchingPricer
from drasat.solver.plan.pricing.cp_sat import BundlePricer

EXACT = PlanLimits(gap=0.0)
THOROUGH = PricingLimits(Effort.THOROUGH)
PAIR = of(2)
PAIR["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/root"}]


def rooted(name, *roots, cpu="9"):
    """A node whose devices have roots, so that pairs of one root can be asked for there."""
    listed = [device(f"gpu-{number}", root=root) for number, root in enumerate(roots)]
    return [node(name, cpu=cpu), published(name, *listed)]


def pairs(name, count, where, cpu="1"):
    """Pods that want two devices of one root, on a node by name."""
    chosen = {"nodeSelector": {"kubernetes.io/hostname": where}}
    return wanting(name, count, PAIR, cpu=cpu, pod_spec=chosen)


def mixed():
    """Pairs are asked for on n1 alone, so that nothing but a number counts on n2."""
    supply = [*rooted("n1", "x", "x", "y", "y", "z"), *wholes("n2", 3)]
    for item in supply:
        if item["kind"] == "Node":
            item["metadata"]["labels"] = {"kubernetes.io/hostname": item["metadata"]["name"]}
    return [*supply, *pairs("pairs", 3, "n1"), *wanting("ones", 6, of(1))]


def random_mixed(rng):
    """Nodes with devices of one claim at a time and with shared ones: a pod means a number here, an amount there."""
    made = [*wholes("n1", rng.randint(1, 3), cpu=str(rng.randint(2, 8)))]
    made += shares("n2", rng.randint(2, 3), cpu=str(rng.randint(2, 8)))
    return [
        *made,
        *wanting("all", rng.randint(1, 4), of(1)),
        *random_pods(rng, [of(2), part(4), part(6), part(5), None]),
    ]


def by_name(found):
    return {kind.nodes[0].metadata.name: kind.index for kind in found.node_classes}


def price(found, node_class, worth):
    return found.pricer.price(node_class, Prices(tuple(worth)), found.problem.demands(), THOROUGH)


def test_each_kind_of_node_has_the_pricer_that_it_needs():
    found = posed(*mixed())
    assert linear_of(found) == ["n2"]
    numbers = by_name(found)
    # Columns of sums have devices as payload, those of models have bundles.
    for name, kind in (("n1", "Bundle"), ("n2", "tuple")):
        answer = price(found, numbers[name], [2] * len(found.problem.units))
        assert {type(column.payload).__name__ for column in answer.columns} == {kind}
        assert {column.node_class for column in answer.columns} == {numbers[name]}


def test_a_plan_of_both_is_the_best_that_there_is():
    found = planning(*mixed(), objective="admitted=devices,admitted")
    # All eight devices are taken, and a pair takes two of them for one pod: one pair beside all that want one.
    assert values(found) == {"admitted=devices": 8, "admitted": 7}
    assert found.outcome == "Optimal"


@pytest.mark.parametrize("make", [lambda _: mixed(), random_mixed])
@pytest.mark.parametrize("seed", range(4))
def test_columns_of_both_are_valid_bundles_and_the_best(make, seed):
    rng = Random(seed)
    found = posed(*make(rng))
    assert 0 < len(found.pricer.linear.devices) < len(found.node_classes)
    worth = [rng.randint(1, 9) for _ in found.problem.units]
    for kind in found.node_classes:
        question = found.questions[kind.index]
        answer = price(found, kind.index, worth)
        for column in answer.columns:
            bundle = found.pricer.bundle(column)
            assert dict(column.counts) == {
                unit.index: count for unit, count in zip(question.units, bundle.counts, strict=True) if count
            }
            assert replays(question, bundle)
        best = max(
            sum(worth[unit.index] * count for unit, count in zip(question.units, counts, strict=True))
            for counts in vectors(question)
            if possible(question, counts)
        )
        assert max(Prices(tuple(worth)).value(column) for column in answer.columns) == best
        assert answer.bound >= best


@pytest.mark.parametrize("seed", range(20, 32))
def test_mixed_plans_are_as_good_as_with_models_alone(seed):
    found = posed(*random_mixed(Random(seed)), objective="admitted=devices,admitted,fewest-nodes")
    assert 0 < len(found.pricer.linear.devices) < len(found.node_classes)
    stages = [goal.stage for goal in found.goals]
    both, models = (
        solve_stages(found.problem, stages, pricer, limits=EXACT)
        for pricer in (found.pricer, BundlePricer(found.questions))
    )
    assert [(one.value, one.bound) for one in both.stages] == [(one.value, one.bound) for one in models.stages]
    assert all(one.proven for one in both.stages)


@pytest.mark.parametrize("seed", range(40, 44))
def test_mixed_plans_pass_the_verifier(seed):
    found = planning(*random_mixed(Random(seed)), objective="admitted,admitted=devices,fewest-nodes")
    assert (found.verified, found.outcome) == (True, "Optimal")


def test_all_columns_of_some_worth_are_found_for_both():
    found = posed(*mixed())
    worth = (1,) * len(found.problem.units)
    for kind in found.node_classes:
        columns = found.pricer.enumerate(kind.index, Prices(worth), found.problem.demands(), 1, THOROUGH)
        question = found.questions[kind.index]
        listed = {tuple(dict(column.counts).get(unit.index, 0) for unit in question.units) for column in columns}
        # What is not listed is covered by something that is.
        for counts in vectors(question):
            if any(counts) and possible(question, counts):
                assert any(all(a <= b for a, b in zip(counts, other, strict=True)) for other in listed)
        assert all(possible(question, counts) for counts in listed)


def test_units_are_taken_out_of_columns_of_both():
    found = posed(*mixed())
    for kind in found.node_classes:
        answer = price(found, kind.index, [1] * len(found.problem.units))
        column = answer.columns[0]
        least = {unit: count - 1 for unit, count in column.counts}
        less = found.pricer.reduced(column, least)
        assert dict(less.counts) == {unit: count for unit, count in least.items() if count}
        assert replays(found.questions[kind.index], found.pricer.bundle(less))


def test_pricers_answer_equally_in_another_process():
    found = posed(*mixed())
    sent = pickle.loads(pickle.dumps(found.pricer))
    assert isinstance(sent, DispatchingPricer)
    prices, most = Prices((3,) * len(found.problem.units)), found.problem.demands()
    for kind in found.node_classes:
        one, other = (pricer.price(kind.index, prices, most, THOROUGH) for pricer in (found.pricer, sent))
        assert one == other
        assert [found.pricer.bundle(column) for column in one.columns] == [sent.bundle(c) for c in other.columns]


def test_a_cluster_without_linear_nodes_has_models_only():
    found = posed(*rooted("n1", "x", "x"), *wanting("a", 2, PAIR))
    assert found.pricer.linear.devices == {}
    answer = price(found, 0, [1])
    assert [dict(column.counts) for column in answer.columns] == [{0: 1}]
