"""On random Problems the model says what a search through all combinations says, merged, alone, and with guards."""

from dataclasses import replace
from itertools import product

import pytest
from support.modelling import Question, replayed, searched
from support.random_problems import random_problem

from drasat.models.results.common import Status
from drasat.problem.filters import usable_devices
from drasat.problem.messages import DeadlineExceededError
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver
from drasat.solver.proofs import find_witness

BATCHES = 8
EACH = 40


def asked(batch):
    for number in range(batch * EACH, (batch + 1) * EACH):
        question = Question(*random_problem(number), [])
        try:
            yield number, question, searched(question)
        except DeadlineExceededError:
            continue


@pytest.mark.parametrize("batch", range(BATCHES))
def test_all_ways_agree(batch):
    """DEV-1, DEV-13, CON-4 to CON-9, CTR-2, CTR-3, CAP-6, GRP-3, SRCH-6: existence, and every answer is accepted."""
    answers = set()
    for number, question, first in asked(batch):
        answers.add(first is None)
        for together in (True, False):
            taken = question.taken(together=together)
            assert (taken is None) == (first is None), number
            assert taken is None or replayed(question, taken), number
        proof = find_witness(question.problem, question.in_use, usable_devices(question.problem, question.in_use))
        assert proof is None or first is None, number
        assert guarded(question) == (first is not None), number
    assert answers == {True, False}


def guarded(question):
    """Whether a model with a switch for every reason has a solution with all of them on."""
    model = question.model(guarded=True)
    for guard in model.guards.values():
        model.rows.fix(guard, 1)
    return run_solver(model.rows, Limits()).status is SolverStatus.OPTIMAL


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_best_alternatives_are_found(batch):
    """SRCH-4: no choice of alternatives that is earlier in order has a solution."""
    for number, question, first in asked(batch):
        lists = [request.demands for claim in question.problem.claims for request in claim.requests if request.listed]
        if not lists or len(lists) > 4:
            continue
        hasty, decision = question.decision(thorough=False), question.decision()
        assert (hasty.status, decision.status) == ((Status.UNALLOCATABLE, Status.ALLOCATED)[first is not None],) * 2, (
            number
        )
        if first is not None:
            assert replayed(question, [(pick.demand, pick.device) for pick in hasty.picks]), number
            chosen = {pick.demand for pick in decision.picks}
            ranks = [next(rank for rank, demand in enumerate(own) if demand in chosen) for own in lists]
            assert ranks == best(question, lists), number


def best(question, lists):
    """The first ranks, request by request, with which the search finds anything."""
    everything = product(*(range(len(own)) for own in lists))
    return next(list(ranks) for ranks in everything if searched(limited(question, lists, ranks)) is not None)


def limited(question, lists, ranks):
    """The question with these alternatives only."""
    gone = {demand for own, chosen in zip(lists, ranks, strict=True) for demand in own if demand != own[chosen]}
    demands = tuple(
        replace(demand, candidates=(), count=99, all_devices=False) if demand.index in gone else demand
        for demand in question.problem.demands
    )
    return replace(question, problem=replace(question.problem, demands=demands))
