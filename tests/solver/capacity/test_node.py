"""The search for the largest number of copies, with somebody else who answers."""

import random

import pytest
from support.modelling import question
from support.objects import DRIVER, Session, claim, device, match, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import ProofKind, Status
from drasat.problem.messages import Justification
from drasat.solver.capacity.node import FirstFitDecider, deadline_slice, most_copies, tighten_upper_bound
from drasat.solver.capacity.records import Room, total_room
from drasat.solver.engines.engine import Decision
from drasat.solver.engines.search import DepthFirstDecider

SAID = Justification("devices", ("too many",))


class Told:
    """Knows that ``fits`` copies fit; counts up to ``counted``, and is at a loss from ``unsure`` up to ``sure``."""

    def __init__(self, fits, counted=None, unsure=None, sure=10**9, parts=()):
        self.fits, self.counted, self.unsure, self.sure = fits, counted, unsure, sure
        self.parts = parts
        self.asked = []

    def witness(self, copies):
        return SAID if self.counted is not None and copies > self.counted else None

    def decide(self, copies, _deadline):
        self.asked.append(copies)
        if self.unsure is not None and self.unsure <= copies < self.sure:
            return Decision(Status.UNKNOWN)
        answer = Status.ALLOCATED if copies <= self.fits else Status.UNALLOCATABLE
        return Decision(answer, picks=(None,) * copies, proof_kind=ProofKind.EXHAUSTED)

    def picks_per_copy(self, picks, copies):
        assert len(picks) == copies
        return [()] * copies

    def apart(self):
        return list(self.parts)


def found(told, known=0, limit=1000):
    answer = most_copies(told, [()] * known, limit, None)
    return len(answer.copies), answer.bound


@pytest.mark.parametrize("fits", [0, 1, 5, 8, 31, 200])
@pytest.mark.parametrize("slack", [0, 1, 7])
def test_between_what_is_known_and_what_counting_says(fits, slack):
    told = Told(fits, counted=fits + slack)
    assert found(told, known=fits // 2) == (fits, fits)
    assert found(Told(fits), known=fits // 3) == (fits, fits)


def test_nothing_is_asked_where_first_fit_reaches_what_counting_allows():
    told = Told(5, counted=5)
    answer = most_copies(told, [()] * 5, 1000, None)
    assert (len(answer.copies), answer.bound, answer.refuted.witness) == (5, 5, SAID)
    assert told.asked == []


def test_the_first_question_is_whether_all_fits_that_counting_allows():
    told = Told(8, counted=8)
    found(told, known=3)
    assert told.asked == [8]


def test_what_is_not_decided_stays_between():
    assert found(Told(6, counted=12, unsure=5), known=2) == (4, 12)
    assert found(Told(6, unsure=5, sure=9), known=2) == (4, None)
    assert found(Told(6, counted=12, unsure=7, sure=9), known=2) == (6, 11)


def test_counting_ends_at_the_limit():
    assert found(Told(50), limit=10) == (10, None)
    assert found(Told(50, counted=50), limit=10) == (10, None)
    assert found(Told(10, counted=10), known=4, limit=10) == (10, 10)


def test_parts_add_up_and_share_the_limit():
    parts = [Told(2, counted=3), Told(3), Told(0, counted=0)]
    whole = Told(99, parts=parts)
    assert found(whole, known=1) == (5, 5)
    assert whole.asked == []
    assert found(Told(99, parts=[Told(2, unsure=2), Told(3)]), known=1) == (4, None)
    assert found(Told(99, counted=9, parts=[Told(2, unsure=2), Told(3)]), known=1) == (4, 9)
    assert found(Told(99, parts=[Told(9), Told(9)]), limit=12) == (12, 18)


def test_what_was_known_is_kept_where_parts_find_less():
    assert found(Told(99, counted=9, parts=[Told(1, unsure=1), Told(1, unsure=1)]), known=3) == (3, 9)


@pytest.mark.parametrize(("truth", "fitting", "bound", "expected"), [(4, 4, 9, 4), (6, 4, 9, 6), (9, 4, 9, 9)])
def test_a_bound_is_lowered_to_what_is_refuted(truth, fitting, bound, expected):
    assert tighten_upper_bound(Told(truth), fitting, bound, None) == expected
    assert tighten_upper_bound(Told(truth, counted=truth), fitting, bound, None) == expected


def test_a_bound_stays_where_nothing_is_refuted():
    assert tighten_upper_bound(Told(4, unsure=5), 4, 9, None) == 9
    assert tighten_upper_bound(Told(4, unsure=5, sure=7), 4, 9, None) <= 9


def test_parts_of_the_time_are_never_less_than_a_second():
    from time import monotonic

    now = monotonic()
    assert deadline_slice(None, 3) is None
    assert deadline_slice(now + 60, 3) < now + 30
    assert deadline_slice(now + 60, 1000) > now + 0.9
    assert deadline_slice(now - 1, 2) == now - 1


def test_rooms_add_up():
    assert total_room([]) == Room(0, 0, 0)
    assert total_room([Room(1, 2, 1), Room(3, 3, 2)]) == Room(4, 5, 3)
    assert total_room([Room(1, None, 1), Room(3, 3, None)]) == Room(4, None, None)
    assert total_room([Room(unbounded=True), Room(3, 3, 3)]).unbounded


@pytest.mark.parametrize("seed", range(30))
def test_first_fit_picks_what_the_search_finds_first_wherever_the_dive_ends(seed):
    rng = random.Random(seed)
    members = [device(f"d{number}", g=rng.choice("abc"), k=rng.choice("xy")) for number in range(rng.randint(5, 9))]
    requests = [want(name, rng.randint(1, 2)) for name in ("r0", "r1")]
    asked = question(pool(*members), claim(*requests, constraints=(match(f"{DRIVER}/g"), match(f"{DRIVER}/k", "r0"))))
    session = Session(Cluster.of([]), FeatureGates.all_on(), "strict", 0)
    found = FirstFitDecider(session, visits=1).decide(asked.problem, asked.in_use, None)
    first = DepthFirstDecider().decide(asked.problem, asked.in_use, None)
    assert (found.status, found.picks) == (first.status, first.picks)
