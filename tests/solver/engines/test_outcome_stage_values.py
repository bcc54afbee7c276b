"""Values of stages over many nodes: a bound holds for all of them, or it is given up."""

from itertools import product

import pytest

from drasat.encoders.objectives.stages import STAGES
from drasat.problem.problem import BoundedValue
from drasat.solver.engines.outcome import (
    StageValue,
    bound_over_nodes,
    is_zero_objective,
    objective_vector,
    zero_objective,
)


def reached(*stages):
    """Stages of one part each, from pairs of value and bound."""
    return tuple(StageValue(str(number), (BoundedValue(*pair),)) for number, pair in enumerate(stages))


def told(objective):
    return [(stage.value, stage.bound, stage.proven) for stage in objective]


def test_a_stage_is_proven_if_all_nodes_are():
    best = reached((2, 2), (5, 5))
    assert told(bound_over_nodes(best, [reached((2, 2), (7, 7)), reached((3, 3), (0, 0))])) == [
        (2, 2, True),
        (5, 5, True),
    ]


def test_a_node_that_could_be_better_takes_the_proof_away():
    best = reached((2, 2), (5, 5))
    assert told(bound_over_nodes(best, [reached((4, 1), (9, 9))])) == [(2, 1, False), (5, 5, True)]


def test_nothing_is_known_about_a_node_that_was_not_asked():
    assert told(bound_over_nodes(reached((2, 2), (5, 5)), [None])) == [(2, 0, False), (5, 0, False)]


def test_a_node_that_is_beaten_in_one_stage_does_not_count_in_the_next():
    assert told(bound_over_nodes(reached((2, 2), (5, 5)), [reached((3, 3), (1, 1))])) == [(2, 2, True), (5, 5, True)]


def test_bounds_for_better_answers_only_are_given_up():
    """There the second stage was bounded below 1; an answer with 2 could have any third value."""
    best = reached((2, 2), (2, 2), (9, 9))
    other = reached((3, 2), (1, 1), (9, 9))
    assert told(bound_over_nodes(best, [other])) == [(2, 2, True), (2, 1, False), (9, 0, False)]


def test_an_answer_that_costs_nothing_is_as_good_as_zeros():
    free = zero_objective(STAGES.values())
    assert is_zero_objective(free)
    assert [stage.stage for stage in free] == list(STAGES)
    assert objective_vector(free) == objective_vector(
        tuple(StageValue(stage, (BoundedValue(0, 0), BoundedValue(0, 0))) for stage in STAGES)
    )
    assert told(bound_over_nodes(reached((0, 0)), [zero_objective([STAGES["soft"]])])) == [(0, 0, True)]


def test_the_sum_of_a_stage_is_proven_only_with_all_of_its_parts():
    stage = StageValue("preference", (BoundedValue(1, 1), BoundedValue(2, 0)))
    assert (stage.value, stage.bound, stage.proven) == (3, 1, False)


@pytest.mark.parametrize("stages", [1, 2])
def test_no_answer_is_below_a_bound(stages):
    """Every pair of nodes, each with any two answers and any sound bounds below what its own search came to."""
    points = list(product(range(3), repeat=stages))
    for ours, theirs in product(product(points, repeat=2), repeat=2):
        (best, bounds), (other, other_bounds) = searched(ours), searched(theirs)
        if other < best:
            continue
        first = reached(*zip(best, bounds, strict=True))
        second = reached(*zip(other, other_bounds, strict=True))
        combined = bound_over_nodes(first, [second])
        for stage, one in enumerate(combined):
            rivals = [
                point
                for point in (*ours, *theirs)
                if all(mine <= known for mine, known in zip(point[:stage], best[:stage], strict=True))
            ]
            assert one.bound <= min(point[stage] for point in rivals)


def searched(points):
    """A search that stopped at the first of its answers; its bounds are the tightest that hold."""
    best = points[0]
    return best, [
        min(
            point[stage]
            for point in points
            if all(mine <= known for mine, known in zip(point[:stage], best[:stage], strict=True))
        )
        for stage in range(len(best))
    ]
