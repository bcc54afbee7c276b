"""Match and distinct entries as relations: across claims, soft, by pairs; measured by what their conditions say."""

from itertools import combinations
from random import Random

import pytest
from support.modelling import Question
from support.token_relations import RULES, choices, random_problem

from drasat.encoders.constraints.attributes import pair_costs
from drasat.encoders.solution import decode_solution
from drasat.problem.problem import InUse
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver

SEEDS = range(60)
MATCHES = RULES[:2]


def verdict(problem, members):
    """Whether the relation holds, or counts as if it did."""
    return problem.relations[0].verdict(members) is True


def least(problem, cost):
    """The model with the least cost, and what it takes; None where nothing fits."""
    model = Question(problem, InUse(), []).model()
    terms = cost(model, model.merged.relations)
    model.rows.minimize(terms)
    found = run_solver(model.rows, Limits())
    if found.status is SolverStatus.INFEASIBLE:
        return None
    return sum(factor * found.values[variable] for variable, factor in terms), decode_solution(model, found.values)


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_hard_relation_allows_what_its_condition_allows(rule, tolerant):
    """SEM-6, and entries that span claims: with equal things put together or not."""
    answers = set()
    for seed in SEEDS:
        problem = random_problem(Random(f"hard/{seed}"), [rule], errors_count_as_true=tolerant)
        possible = any(verdict(problem, members) for members in choices(problem))
        for together in (True, False):
            taken = Question(problem, InUse(), []).taken(together=together)
            assert (taken is not None) == possible, seed
            assert taken is None or verdict(problem, taken), seed
        answers.add(possible)
    assert answers == {True, False}


def violated(model, relations):
    costs = []
    for relation in relations:
        lost = model.rows.boolean()
        model.rows.at_most([(lost, -1), (model.soft_literal(relation), -1)], -1)
        costs.append((lost, 1))
    return costs


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_soft_relation_is_kept_where_that_can_be(rule):
    """SOFT-1."""
    found = set()
    for seed in SEEDS:
        problem = random_problem(Random(f"soft/{seed}"), [rule], weight=1)
        costs = [not verdict(problem, members) for members in choices(problem)]
        reached = least(problem, violated)
        assert (reached is None) == (not costs), seed
        if reached is not None:
            assert reached[0] == min(costs) == (not verdict(problem, reached[1])), seed
            found.add(reached[0])
    assert found == {0, 1}


def pairs_of(problem, members):
    """Count pairs that do not match, by the condition itself."""
    relation = problem.relations[0]
    covered = sorted(member for member in members if member[0] in relation.demands)
    return sum(relation.condition.evaluate(pair) is not True for pair in combinations(covered, 2))


@pytest.mark.parametrize("rule", MATCHES, ids=str)
def test_pairs_that_do_not_match_are_counted(rule):
    """SOFT-2."""
    found = set()
    for seed in SEEDS:
        problem = random_problem(Random(f"pairs/{seed}"), [rule], weight=1, per_pair=True)
        costs = [pairs_of(problem, members) for members in choices(problem)]
        reached = least(problem, lambda model, relations: [t for one in relations for t in pair_costs(model, one)])
        assert (reached is None) == (not costs), seed
        if reached is not None:
            assert reached[0] == min(costs) == pairs_of(problem, reached[1]), seed
            found.add(reached[0])
    assert len(found) > 2
