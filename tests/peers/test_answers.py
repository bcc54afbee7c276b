import json

import pytest

from drasat.models.formats.errors import PeerError
from drasat.peers.answers import AllocateAnswer, Handshake, ScheduleAnswer, decode_answer, decode_handshake

HELLO = {"peer": "kube-scheduler", "protocol": 1, "module": "m", "version": "v0.37.2", "go": "go1.26.8"}
VERDICT = {"outcome": "unallocatable", "fatal": False, "allocations": None, "seconds": 0.5, "steps": 16}


def answer(line, kind=AllocateAnswer, number=7):
    return decode_answer("p", line if isinstance(line, bytes) else json.dumps(line).encode(), kind, number)


def test_handshake_says_what_the_peer_was_built_from():
    got = decode_handshake("kube-scheduler", json.dumps(HELLO).encode(), 1)
    assert got == Handshake(peer="kube-scheduler", protocol=1, module="m", version="v0.37.2", go="go1.26.8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protocol": 2}, "speaks protocol 2 instead of 1: run 'drasat peers build'"),
        ({"peer": "cat"}, "peer kube-scheduler introduced itself as 'cat'"),
        ({"version": 3}, "answered nonsense: .*version"),
    ],
    ids=["other-protocol", "other-peer", "bad-version"],
)
def test_a_stranger_is_refused(change, message):
    with pytest.raises(PeerError, match=message):
        decode_handshake("kube-scheduler", json.dumps({**HELLO, **change}).encode(), 1)


def test_verdict_is_decoded_with_the_models():
    results = [
        {"request": "r", "driver": "d", "pool": "p", "device": "x", "shareID": "u", "consumedCapacity": {"m": "1Gi"}}
    ]
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": []}}
    got = answer({**VERDICT, "id": 7, "outcome": "allocated", "allocations": [allocation]})
    assert got.allocations is not None
    device = got.allocations[0].devices.results[0]
    assert (device.device, device.share_id, device.consumed_capacity) == ("x", "u", {"m": "1Gi"})
    assert got.allocations[0].node_selector.node_selector_terms == ()
    assert (got.outcome, got.seconds, got.steps) == ("allocated", 0.5, 16)


def test_missing_steps_are_told_from_none():
    assert answer({**VERDICT, "id": 7, "steps": None}).steps is None
    assert answer({**VERDICT, "id": 7, "steps": 0}).steps == 0


def test_pods_keep_their_order_and_names():
    pods = [{**VERDICT, "namespace": "a", "name": n, "claims": [], "nodesTried": i} for i, n in enumerate("yx")]
    got = answer({"id": 7, "pods": pods, "seconds": 1.5}, ScheduleAnswer)
    assert [(pod.name, pod.nodes_tried, pod.node) for pod in got.pods] == [("y", 0, ""), ("x", 1, "")]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"garbage",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"id": 7',
        json.dumps({**VERDICT, "id": 7, "outcome": "perhaps"}).encode(),
        json.dumps({**VERDICT, "id": 7, "seconds": "long"}).encode(),
        json.dumps({**VERDICT, "id": 7, "allocations": [{"devices": {"results": [{"device": 3}]}}]}).encode(),
        json.dumps({key: value for key, value in VERDICT.items() if key != "outcome"} | {"id": 7}).encode(),
        json.dumps(VERDICT).encode(),
    ],
    ids=["empty", "text", "bytes", "list", "null", "cut", "outcome", "seconds", "device", "no-outcome", "no-id"],
)
def test_nonsense_is_never_a_verdict(line):
    with pytest.raises(PeerError, match=r"^peer p answered nonsense: [^\n]+$"):
        answer(line)


def test_the_answer_to_another_question_is_refused():
    with pytest.raises(PeerError, match="peer p answered request 6 instead of 7"):
        answer({**VERDICT, "id": 6})


@pytest.mark.parametrize("number", [7, None], ids=["numbered", "unnumbered"])
def test_a_failure_is_an_error_with_its_text(number):
    with pytest.raises(PeerError, match=r"^peer p failed: panic: nil map$"):
        answer({"id": number, "failure": "panic: nil map", "stack": "goroutine 1\nmain"})


def test_a_failure_with_several_causes_is_still_one_line():
    with pytest.raises(PeerError, match=r"^peer p failed: unknown field a; unknown field b$"):
        answer({"id": 7, "failure": "unknown field a\nunknown field b"})
