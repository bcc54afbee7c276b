import os

import pytest
from support.fake_go import install_peer

from drasat.models.formats.errors import PeerError
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.peers.clients import KubeScheduler, peer_statuses
from drasat.peers.process import PeerLimits
from drasat.peers.programs import KUBE_SCHEDULER
from drasat.peers.requests import AllocateRequest, ScheduleRequest

VERDICT = '"outcome": "unallocatable", "fatal": False, "seconds": 0.0, "steps": 1'
ANSWERING = f"hello()\nfor r in requests(): say({{'id': r['id'], {VERDICT}, 'variant': r['kind']}})"
REQUEST = AllocateRequest(node=Node(metadata=ObjectMeta(name="n")))


@pytest.fixture
def peer(fake):
    peers = []

    def make(code, **limits):
        peers.append(KubeScheduler(fake(code), limits=PeerLimits(**limits)))
        return peers[-1]

    yield make
    for started in peers:
        started.close()


def test_handshake_needs_no_question(peer):
    assert peer(ANSWERING).handshake.version == "v1.2.3"


def test_one_process_answers_all_questions(peer):
    code = f"hello()\nfor r in requests(): say({{'id': r['id'], {VERDICT}, 'error': str(os.getpid())}})"
    asked = peer(code)
    first, second = asked.allocate(REQUEST), asked.allocate(REQUEST)
    assert first.error == second.error
    assert (first.id, second.id) == (1, 2)


def test_both_kinds_of_question_reach_the_peer(peer):
    code = f"""
hello()
for r in requests():
    pods = [{{"namespace": "a", "name": r["kind"], "claims": [], "nodesTried": 0, {VERDICT}}}]
    say({{"id": r["id"], "pods": pods, "seconds": 0.25}} if r["kind"] == "schedule" else {{"id": r["id"], {VERDICT}}})
"""
    asked = peer(code)
    assert asked.allocate(REQUEST).outcome == "unallocatable"
    answer = asked.schedule(ScheduleRequest())
    assert (answer.seconds, answer.pods[0].name) == (0.25, "schedule")


BAD_ANSWERS = {
    "garbage": ("say('lorem ipsum')", "answered nonsense"),
    "wrong-id": (f"say({{'id': 99, {VERDICT}}})", "answered request 99 instead of 1"),
    "failure": ("say({'id': r['id'], 'failure': 'panic: boom'})", "failed: panic: boom"),
    "crash": ("sys.exit(2)", "ended with status 2"),
}


@pytest.mark.parametrize(("code", "message"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_bad_answers_are_errors(peer, code, message):
    with pytest.raises(PeerError, match=f"^peer kube-scheduler {message}"):
        peer(f"hello()\nfor r in requests(): {code}").allocate(REQUEST)


@pytest.mark.parametrize("greeting", ["say('usage: peer')", "hello(protocol=99)", "hello(peer='cat')", "sys.exit(1)"])
def test_a_peer_of_another_version_or_kind_is_not_asked(peer, greeting):
    asked = peer(f"{greeting}\nfor r in requests(): say({{'id': r['id'], {VERDICT}}})")
    with pytest.raises(PeerError):
        asked.allocate(REQUEST)
    with pytest.raises(PeerError):
        _ = asked.handshake


def test_after_a_failure_the_next_question_starts_another_process(peer, tmp_path):
    marker = tmp_path / "crashed"
    code = f"""
hello()
for r in requests():
    if not os.path.exists({str(marker)!r}):
        open({str(marker)!r}, "w").close()
        sys.exit(1)
    say({{"id": r["id"], {VERDICT}}})
"""
    asked = peer(code)
    with pytest.raises(PeerError):
        asked.allocate(REQUEST)
    assert asked.allocate(REQUEST).outcome == "unallocatable"


def test_a_late_answer_is_never_taken_for_the_next(peer):
    code = f"hello()\nfor r in requests():\n    time.sleep(30 * (r['id'] == 1))\n    say({{'id': r['id'], {VERDICT}}})"
    asked = peer(code, grace=0.1)
    with pytest.raises(PeerError, match=r"gave no answer within 0\.2 s"):
        asked.allocate(AllocateRequest(node=REQUEST.node, time_limit_seconds=0.1))
    assert asked.allocate(REQUEST).id == 2


def test_closing_ends_the_process_and_asking_starts_another(peer):
    asked = peer(ANSWERING.replace("r['kind']", "f\"{r['kind']} {os.getpid()}\""))
    with asked:
        kind, first = asked.allocate(REQUEST).variant.split()
    assert kind == "allocate"
    with pytest.raises(ProcessLookupError):
        os.kill(int(first), 0)
    assert asked.allocate(REQUEST).variant.split()[1] != first


def test_the_catalogue_shows_what_is_built(fake, tmp_path, monkeypatch):
    program = install_peer(tmp_path, monkeypatch, fake(ANSWERING))
    (entry,) = peer_statuses([KUBE_SCHEDULER])
    assert (entry.name, entry.program, entry.problem) == ("kube-scheduler", program, "")
    assert entry.handshake.version == "v1.2.3"


def test_the_catalogue_says_why_a_peer_does_not_work(tmp_path, monkeypatch):
    install_peer(tmp_path, monkeypatch, None)
    (entry,) = peer_statuses([KUBE_SCHEDULER])
    assert entry.handshake is None
    assert entry.problem.startswith("peer kube-scheduler cannot be started: ")


def test_the_catalogue_names_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (entry,) = peer_statuses([KUBE_SCHEDULER])
    assert (entry.program, entry.handshake) == (None, None)
    assert entry.problem.startswith("the kube-scheduler peer ")
