"""Cycles that are stopped, and cycles without an end (kueue-dra 4.6)."""

import pytest
from support.kueue_cases import cases_of
from support.kueue_verdicts import phase_verdict

from drasat import quota
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.integrations.kueue.scheduling import CycleStoppedError

# Cases with preemptions, with shares and without.
CASES = [one for one in cases_of("preempt", "fair", "treepreempt", "fairtree", "partial") if "phases" in one.verdict]


def state_of(case):
    return KueueState(case.cluster, kueue_configuration(case.cluster))


def looks_at_the_clock(case):
    """How often the first cycle asks whether it has to stop."""
    state, looks = state_of(case), []
    state._cycle(1, state._heads(set()), lambda: bool(looks.append(None)))
    return len(looks)


@pytest.mark.parametrize("case", CASES[::10], ids=str)
def test_a_cycle_that_is_stopped_leaves_nothing_behind(case):
    """Wherever it is stopped, all goes afterwards as if it had never begun."""
    state = state_of(case)
    for last in range(looks_at_the_clock(case)):
        looks = iter([False] * last + [True])
        heads = state._heads(set())
        with pytest.raises(CycleStoppedError):
            state._cycle(1, heads, lambda looks=looks: next(looks))
        for workload, queue in heads:
            queue.pending.put_back(workload)
    assert phase_verdict(state) == phase_verdict(state_of(case))


def test_workloads_that_are_evicted_without_an_end_are_named():
    """Kueue itself goes on so in this case: its order of heads is not that in which it chose the victims."""
    (case,) = (one for one in CASES if one.name == "fair-101-010")
    result = quota(case.cluster)
    assert (result.document.settled, result.document.repeating) == (False, True)
    assert result.document.notices == ("Kueue admits and evicts again and again: team/w06",)
    assert "the same states come back" in result.summary()
