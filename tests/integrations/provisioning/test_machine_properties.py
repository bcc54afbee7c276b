"""What holds after any sequence of events: attempts, back-offs, ownership, names, equal answers to equal questions."""

import random

import pytest
from support.provisioning_play import STANDARD, Play, check, config, pods, queue, workload

from drasat.integrations.provisioning import machine
from drasat.integrations.provisioning.checks import CONDITION_TYPES, wait_seconds
from drasat.integrations.provisioning.requests import attempt_of
from drasat.integrations.provisioning.reservation import default_reservation
from drasat.models.kubernetes.meta import Condition
from drasat.models.kubernetes.provisioning import ProvisioningRetryStrategy

LENGTH = 200
NAMES = ("wl", "wb")


def random_config(rng, name):
    retry = {"backoffLimitCount": rng.choice([0, 1, 3]), "backoffBaseSeconds": rng.choice([0, 10, 60])}
    managed = rng.choice([{}, {}, {"managedResources": ["example.com/gpu"]}, {"managedResources": ["other"]}])
    return config(
        name,
        provisioningClassName=rng.choice(["class1", "class2"]),
        parameters=rng.choice([{}, {"p1": "v1"}, {"p1": "v2"}]),
        retryStrategy=retry | rng.choice([{}, {"backoffMaxSeconds": 100}]),
        **managed,
    )


def random_event(rng, state):
    key = ("team", rng.choice(NAMES))
    requests = [*state.requests, ("team", "none-check1-1")]
    existing = state.workloads.get(key)

    def condition():
        status = rng.choice(["True", "True", "False"])
        made = Condition(type=rng.choice(CONDITION_TYPES), status=status, message=rng.choice(["", "text"]))
        return machine.AnswerRequest(rng.choice(requests), (made,), {"Pool": "p"})

    def reserve():
        if existing is None:
            return machine.AdvanceClock(1)
        return machine.ReserveQuota(key, default_reservation(state, existing))

    def repair():
        """Bring back what keeps this workload from going on, so that sequences do not end early."""
        if state.refused:
            return machine.RefuseKind(next(iter(state.refused)), "")
        if "check1" not in state.checks or state.check_status["check1"].status != "True":
            return Play.applied(rng.choice([check(), random_config(rng, "config1")]))
        if state.cluster_queues["cq"].spec.stop_policy != "None":
            return Play.applied(queue())
        if existing is None:
            return Play.applied(workload(*STANDARD, name=key[1]))
        requeued = existing.conditions.get("Requeued")
        stuck = requeued is not None and requeued.reason == "DeactivatedDueToAdmissionCheck"
        if existing.is_true("Finished") or (stuck and existing.active):
            return machine.DeleteObject("Workload", key)
        return machine.SetActive(key, True) if not existing.active else reserve()

    choices = [
        (20, repair),
        (12, condition),
        (6, reserve),
        (5, lambda: machine.AdvanceClock(rng.choice([1, 10, 60, 500]))),
        (2, lambda: machine.EvictWorkload(key, "Preempted", "m", "InClusterQueue")),
        (1, lambda: machine.EvictWorkload(key, "PodsReadyTimeout", "m")),
        (1, lambda: machine.FinishWorkload(key)),
        (2, lambda: machine.SetActive(key, rng.random() < 0.7)),
        (2, lambda: Play.applied(random_config(rng, rng.choice(["config1", "config2"])))),
        (1, lambda: Play.applied(workload(*STANDARD, name=key[1]))),
        (1, lambda: Play.applied(queue(stopPolicy=rng.choice(["None", "None", "Hold", "HoldAndDrain"])))),
        (1, lambda: Play.applied(check(target=rng.choice(["config1", "config2", "missing"])))),
        (1, lambda: machine.DeleteObject("ProvisioningRequestConfig", ("", "config1"))),
        (1, lambda: machine.DeleteObject("ProvisioningRequest", rng.choice(requests))),
        (1, lambda: machine.DeleteObject("AdmissionCheck", ("", "check1"))),
        (1, lambda: machine.DeleteObject("Workload", key)),
        (1, lambda: machine.DeleteObject("PodTemplate", rng.choice([*state.templates, ("team", "x")]))),
        (1, lambda: machine.RefuseKind(rng.choice(["PodTemplate", "ProvisioningRequest"]), rng.choice(["no", ""]))),
    ]
    weights, makers = zip(*choices, strict=True)
    return rng.choices(makers, weights)[0]()


def assert_sound(state):
    """What must hold in every state that the controllers have come to rest in."""
    assert not state.looping
    for (namespace, name), request in state.requests.items():
        owner = state.workloads.get((namespace, request.owner))
        assert owner is not None, "a request outlives its workload"
        assert not owner.is_true("Finished"), "a finished workload owns a request"
        assert len({entry.template for entry in request.pod_sets}) == len(request.pod_sets)
        for entry in request.pod_sets:
            assert entry.count >= 1
        attempts = [attempt_of(name, request.owner, one.name) for one in owner.checks]
        assert all(one is None or one >= 1 for one in attempts)
    for (namespace, _), template in state.templates.items():
        kind, owner = template.owner
        owners = state.workloads if kind == "Workload" else state.requests
        assert (namespace, owner) in owners, "a template outlives its owner"
    for one in state.workloads.values():
        assert (one.reservation is not None) == one.is_true("QuotaReserved")
        assert not one.is_true("Admitted") or one.is_true("QuotaReserved")
        assert len({progress.name for progress in one.checks}) == len(one.checks)
        for progress in one.checks:
            assert progress.state in ("Pending", "Ready", "Retry", "Rejected")
            assert progress.since <= state.now


def play_for(seed, backoff):
    rng = random.Random(seed)
    sets = (pods("ps1", 4), pods("ps2", 3, {"cpu": "1", "example.com/gpu": "1"}))
    own = [workload(*sets, name=name) for name in NAMES]
    cleanup = rng.random() < 0.7
    play = Play(
        random_config(rng, "config1"), random_config(rng, "config2"), *own, free=False, cleanup=cleanup, backoff=backoff
    )
    return rng, play


@pytest.mark.parametrize("backoff", ["as-coded", "intended"])
@pytest.mark.parametrize("seed", range(40))
def test_no_sequence_of_events_breaks_the_machine(seed, backoff):
    rng, play = play_for(seed, backoff)
    for _ in range(LENGTH):
        before = play.state
        event = random_event(rng, before)
        play.run(event)
        again = machine.step(before, event, backoff=backoff)
        assert_sound(play.state)
        assert again.state == play.state, "the same event in the same state leads elsewhere"


@pytest.mark.parametrize("seed", range(30))
def test_no_attempt_is_beyond_the_limit_and_waits_are_those_of_the_formula(seed):
    """Only failures: attempts are counted one by one, and each wait is twice the one before, up to the maximum."""
    rng = random.Random(seed)
    limit, base, most = rng.randrange(6), rng.choice([10, 60, 200]), rng.choice([100, 300, 1800])
    retry = {"backoffLimitCount": limit, "backoffBaseSeconds": base, "backoffMaxSeconds": most}
    play = Play(config(retryStrategy=retry))
    for attempt in range(1, limit + 2):
        assert set(play.requests) == {f"wl-check1-{attempt}"}
        pending_since = play.check().since
        play.fail_after(rng.randrange(1, 10))
        if attempt > limit:
            break
        wait = base if attempt == 1 else min(base * 2 ** (attempt - 1), most)
        assert (play.check().state, play.check().requeue_after) == ("Retry", wait)
        assert play.one.requeue_at == pending_since + wait
        play.advance(play.one.requeue_at - play.state.now)
    assert (play.requests, play.one.active) == ({}, False)


@pytest.mark.parametrize(
    ("base", "most", "waits"),
    [
        (60, 1800, [60, 120, 240, 480, 960, 1800, 1800]),
        (60, 0, [60, 120, 240, 480]),
        (0, 100, [0, 0, 0]),
        (2**30, 0, [2**30, 2**31 - 1, 2**31 - 1]),
    ],
)
def test_waits_by_their_number(base, most, waits):
    """Section 5.1 of provisioning-request; without a maximum they grow up to what the field holds."""
    retry = ProvisioningRetryStrategy(backoff_base_seconds=base, backoff_max_seconds=most)
    assert [wait_seconds(retry, number) for number in range(1, len(waits) + 1)] == waits


def test_a_step_leaves_the_state_before_it_as_it_was():
    play = Play()
    before = play.state
    frozen = repr(before)
    play.answer("Failed")
    play.advance(100)
    assert repr(before) == frozen


def test_the_clock_in_one_step_or_in_many_leads_to_the_same_state():
    once, often = Play(), Play()
    for play in (once, often):
        play.answer("Failed")
    once.advance(100)
    for _ in range(100):
        often.advance(1)
    assert once.state == often.state
