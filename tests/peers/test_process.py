import json

import pytest

from drasat.models.formats.errors import PeerError
from drasat.peers.process import PeerLimits, PeerProcess

ECHO = "hello()\nfor request in requests(): say(request)"


def start(command, **limits):
    return PeerProcess(command, name="fake", limits=PeerLimits(**limits))


def failure_of(command, *, line=b"{}", time_limit=20.0, **limits):
    with start(command, **limits) as peer, pytest.raises(PeerError) as caught:
        converse(peer, line, time_limit)
    assert not peer.running
    return str(caught.value)


def converse(peer, line, time_limit):
    peer.greeting()
    return peer.ask(line, time_limit)


def test_greeting_is_the_first_line_without_its_end(fake):
    with start(fake(ECHO)) as peer:
        assert json.loads(peer.greeting())["version"] == "v1.2.3"


def test_questions_are_answered_in_turn(fake):
    with start(fake(ECHO)) as peer:
        peer.greeting()
        assert [json.loads(peer.ask(b'{"n": %d}' % n)) for n in range(3)] == [{"n": 0}, {"n": 1}, {"n": 2}]
        assert peer.running


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000], ids=["small", "beyond-a-pipe", "beyond-a-chunk"])
def test_long_questions_and_answers_pass_unchanged(fake, size):
    with start(fake(ECHO)) as peer:
        peer.greeting()
        text = json.dumps(["x" * size]).encode()
        assert peer.ask(text, 20) == text


def test_an_answer_may_come_in_pieces(fake):
    code = """
hello()
for request in requests():
    for piece in '{"a', '": ', '1}', chr(10):
        sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.01)
"""
    with start(fake(code)) as peer:
        peer.greeting()
        assert peer.ask(b"{}", 20) == b'{"a": 1}'


def test_a_second_line_that_nobody_asked_for_is_refused(fake):
    """It would be taken for the answer to the next question."""
    code = "hello()\nfor request in requests(): say('one\\ntwo')"
    assert failure_of(fake(code)) == "peer fake wrote more than it was asked for"


CRASHES = {
    "exit-status": ("sys.exit(3)", "peer fake ended with status 3"),
    "last-words": ("sys.exit('no such thing')", "peer fake ended with status 1: no such thing"),
    "signal": ("os.kill(os.getpid(), signal.SIGSEGV)", "peer fake was ended by signal 11"),
    "panic": (
        "print('starting', file=sys.stderr)\nprint('panic: nil map\\n\\ngoroutine 1', file=sys.stderr)\nsys.exit(2)",
        "peer fake ended with status 2: panic: nil map",
    ),
    "go-memory": (
        "print('runtime: out of memory: cannot allocate 4194304-byte block', file=sys.stderr)\nsys.exit(2)",
        "peer fake ran out of memory (limit 8589934592 bytes)",
    ),
}


@pytest.mark.parametrize(("code", "message"), CRASHES.values(), ids=CRASHES)
def test_a_crash_after_a_question_is_one_clear_line(fake, code, message):
    assert failure_of(fake(f"hello()\nsys.stdin.readline()\n{code}")) == message


@pytest.mark.parametrize(("code", "message"), CRASHES.values(), ids=CRASHES)
def test_a_crash_before_the_greeting_is_the_same_line(fake, code, message):
    assert failure_of(fake(code)) == message


def test_a_crash_while_a_long_question_is_sent_is_reported_as_such(fake):
    code = "hello()\nsys.stdin.read(10)\nsys.exit('cannot go on')"
    assert failure_of(fake(code), line=b"x" * 5_000_000) == "peer fake ended with status 1: cannot go on"


def test_a_peer_that_hangs_is_ended_at_the_time_limit(fake):
    assert failure_of(fake("hello()\ntime.sleep(60)"), time_limit=0.2) == "peer fake gave no answer within 0.2 s"


def test_half_an_answer_does_not_count_as_one(fake):
    code = "hello()\nsys.stdin.readline()\nsys.stdout.write('{')\nsys.stdout.flush()\ntime.sleep(60)"
    assert failure_of(fake(code), time_limit=0.3) == "peer fake gave no answer within 0.3 s"


def test_a_peer_that_never_greets_is_ended(fake):
    assert failure_of(fake("time.sleep(60)"), start=0.2) == "peer fake gave no answer within 0.2 s"


def test_a_peer_that_does_not_read_is_ended_at_the_time_limit(fake):
    code = "hello()\ntime.sleep(60)"
    assert failure_of(fake(code), line=b"x" * 5_000_000, time_limit=0.3) == "peer fake gave no answer within 0.3 s"


def test_an_answer_to_half_a_question_is_refused(fake):
    code = "hello()\nsys.stdin.read(10)\nsay({})\ntime.sleep(60)"
    assert failure_of(fake(code), line=b"x" * 5_000_000) == "peer fake answered before it had read the request"


def test_endless_output_is_cut_off(fake):
    code = "hello()\nsys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)"
    assert failure_of(fake(code), answer=1_000_000) == "peer fake wrote more than 1000000 bytes in one answer"


def test_endless_complaints_do_not_block_the_peer(fake):
    code = "hello()\nfor request in requests():\n    sys.stderr.write('x' * 3_000_000)\n    say(request)"
    with start(fake(code)) as peer:
        peer.greeting()
        assert peer.ask(b"{}", 20) == b"{}"


def test_the_memory_limit_ends_a_greedy_peer(fake):
    memory = 400 << 20
    code = "hello()\nsys.stdin.readline()\nx = bytearray(600 << 20)\nsay({})"
    assert failure_of(fake(code), memory=memory) == f"peer fake ran out of memory (limit {memory} bytes)"


def test_without_a_memory_limit_the_same_peer_answers(fake):
    code = "hello()\nsys.stdin.readline()\nx = bytearray(600 << 20)\nsay({})"
    with start(fake(code), memory=None) as peer:
        peer.greeting()
        assert peer.ask(b"{}", 20) == b"{}"


def test_closed_output_is_a_failure_though_the_process_lives(fake):
    code = "hello()\nsys.stdin.readline()\nos.close(1)\ntime.sleep(60)"
    assert failure_of(fake(code)) == "peer fake closed its output"


@pytest.mark.parametrize("command", [["/no/such/program"], ["/"]], ids=["missing", "folder"])
def test_a_program_that_cannot_be_started_is_named(command):
    with pytest.raises(PeerError, match="peer fake cannot be started: "):
        start(command)


def test_a_closed_peer_is_not_asked(fake):
    peer = start(fake(ECHO))
    peer.close()
    peer.close()
    with pytest.raises(PeerError, match="peer fake is not running"):
        peer.ask(b"{}")


def test_nothing_is_asked_after_an_interrupted_question(fake):
    """A late answer to the interrupted question must not pass as the answer to the next."""
    code = "hello()\nsys.stdin.readline()\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"
    with start(fake(code)) as peer:
        peer.greeting()
        with pytest.raises(KeyboardInterrupt):
            peer.ask(b"{}", 20)
        assert not peer.running
